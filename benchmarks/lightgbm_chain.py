"""A chain boosted by LightGBM: what one has to write to train the trees of TreeCRF with it."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tree_tables import Corpus, Setup, windows

Floats = npt.NDArray[Any]


def replicate(corpus: Corpus, width: int) -> Floats:
    """(N·K, width+1) float32: the window and the previous label of row t·K + u. ⊥ is K.

    A first position has K rows like any other, so that rows stay aligned; all but one get no weight.
    """
    K = corpus.n_labels
    table = np.empty((corpus.n_positions, K, width + 1), dtype=np.float32)
    table[:, :, :width] = windows(corpus, width)[:, None, :]
    table[:, :, width] = np.arange(K)
    table[corpus.first(), :, width] = K
    return table.reshape(-1, width + 1)


def to_binary(table: Floats) -> Any:
    """The table as sparse binary columns, one for each value of each column."""
    from scipy.sparse import csr_matrix

    sizes = table.max(axis=0).astype(np.int64) + 1
    columns = (table.astype(np.int32) + (np.cumsum(sizes) - sizes).astype(np.int32)).ravel()
    starts = np.arange(0, table.size + 1, table.shape[1])
    ones = np.ones(table.size, dtype=np.float32)
    return csr_matrix((ones, columns, starts), shape=(len(table), int(sizes.sum())))


class OnTable:
    """LightGBM on the replicated table. Its scores and gradients, (K, N, K) as [to, t, from], fit hedgerow's layout."""

    def __init__(self, corpus: Corpus, width: int, encoding: str, setup: Setup) -> None:
        import lightgbm

        self.corpus, self.width, self.encoding, self.setup = corpus, width, encoding, setup
        parameters = {
            "objective": "none", "num_class": corpus.n_labels,
            "num_leaves": setup.max_leaf_nodes, "lambda_l2": setup.l2_regularization,
            "learning_rate": 1.0, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0, "min_data_in_bin": 1,
            "max_cat_to_onehot": 1000, "feature_pre_filter": False, "num_threads": setup.threads, "verbosity": -1,
        }  # fmt: skip
        columns = [] if encoding == "binary" else list(range(width + 1))
        data = lightgbm.Dataset(self._table(), params=parameters, categorical_feature=columns, free_raw_data=True)
        self.booster = lightgbm.Booster(parameters, data.construct())
        K, n = corpus.n_labels, corpus.n_positions
        self.gradient = np.zeros((K, n, K), dtype=np.float32)
        self.weight = np.ones((K, n, K), dtype=np.float32)
        self.weight[:, corpus.first(), 1:] = 0.0
        self.shards = [_Shard(corpus, int(a), int(b)) for a, b in _shard_ends(corpus)]

    def _table(self) -> Any:
        table = replicate(self.corpus, self.width)
        return to_binary(table) if self.encoding == "binary" else table

    def step(self) -> dict[str, float]:
        clock = self.setup.clock
        marks = [clock()]

        def objective(scores: Floats, _: Any) -> tuple[Floats, Floats]:
            marks.append(clock())
            K, n = self.corpus.n_labels, self.corpus.n_positions
            by_label = scores.T.reshape(K, n, K)  # no copy: LightGBM keeps the rows of a class together
            self.setup.lanes.run(lambda _, s: self.shards[s].evaluate(by_label, self.gradient), len(self.shards))
            found = self.gradient.reshape(K, n * K).T, self.weight.reshape(K, n * K).T
            marks.append(clock())
            return found

        self.booster.update(fobj=objective)
        marks.append(clock())
        copying, forward_backward, trees = np.diff(marks).tolist()
        return {
            "trees": trees,
            "forward_backward": forward_backward,
            "copying": copying,
            "iteration": trees + forward_backward + copying,
        }

    def loss(self) -> float:
        return sum(shard.loss for shard in self.shards)

    def leaves(self) -> float:
        lines = self.booster.model_to_string().splitlines()
        return statistics.mean(int(line.split("=")[1]) for line in lines if line.startswith("num_leaves="))

    def predict(self) -> float:
        table = self._table()
        begin = self.setup.clock()
        self.booster.predict(table, raw_score=True, num_threads=self.setup.threads)
        return self.setup.clock() - begin


def _shard_ends(corpus: Corpus) -> npt.NDArray[np.int64]:
    """(·, 2): cut as the booster of hedgerow cuts its corpus."""
    from hedgerow.parallel import MAX_LANES, plan_chunks

    plan = plan_chunks(corpus.offsets, max(1, corpus.n_positions // MAX_LANES))
    return np.stack([plan[:-1], plan[1:]], axis=1)


class _Shard:
    """Forward-backward of some sequences, from LightGBM's scores to LightGBM's gradients."""

    def __init__(self, corpus: Corpus, first: int, last: int) -> None:
        from hedgerow.chain.inference import Workspace

        self.begin, self.end = int(corpus.offsets[first]), int(corpus.offsets[last])
        self.offsets = corpus.offsets[first : last + 1] - self.begin
        self.labels = corpus.labels[self.begin : self.end].astype(np.int32)
        self.starts = self.offsets[:-1]
        self.workspace = Workspace()
        self.loss = 0.0

    def evaluate(self, scores: Floats, gradient: Floats) -> None:
        """scores (K, N, K) IN, gradient (K, N, K) OUT; the row of ⊥ is row 0 of a first position."""
        from hedgerow.chain.edges import PositionEdges
        from hedgerow.chain.objectives.log_likelihood import log_likelihood
        from hedgerow.chain.potentials import ChainPotentials, Truth

        own = np.ascontiguousarray(scores[:, self.begin : self.end])
        n, K = own.shape[1:]
        nodes = np.zeros((n, K))
        nodes[self.starts] = own[:, self.starts, 0].T
        edges = PositionEdges(np.exp(own), np.zeros(n), own)
        found = log_likelihood(ChainPotentials(nodes, self.offsets, edges), Truth(self.labels), self.workspace)
        self.loss = found.loss
        mine = gradient[:, self.begin : self.end]
        mine[...] = found.edge_gradient
        mine[:, self.starts, :] = 0.0
        mine[:, self.starts, 0] = found.node_gradient[self.starts].T
