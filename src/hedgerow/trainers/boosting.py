"""Gradient tree boosting of a chain (TreeCRF): one tree a label and iteration, fitted to the functional gradient."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hedgerow import kernels
from hedgerow.data.dataset import Dataset
from hedgerow.inference import Workspace
from hedgerow.legend import FloatArray
from hedgerow.objectives.log_likelihood import log_likelihood
from hedgerow.parallel import MAX_LANES, Lanes, plan_chunks
from hedgerow.potentials import ChainPotentials, PositionEdges
from hedgerow.trees.binning import BinnedData, Binning
from hedgerow.trees.growing import Grower, Tree

LARGE = 500.0  # a score beyond this size: exponentials are made anew from the sums, lest one underflow for good


class Shard:
    """A run of whole sequences with its scores: edges (K, n, K) [to, t, from], and ⊥ scores (K, n)."""

    def __init__(self, dataset: Dataset, first: int, last: int, n_labels: int) -> None:
        self.first_sequence = first
        self.sequences = slice(first, last)
        self.begin, self.end = int(dataset.offsets[first]), int(dataset.offsets[last])
        self.offsets = dataset.offsets[first : last + 1] - self.begin
        n = self.end - self.begin
        self.edge_scores: FloatArray = np.zeros((n_labels, n, n_labels))
        self.edge_exps: FloatArray = np.ones((n_labels, n, n_labels))
        self.start_scores: FloatArray = np.zeros((n_labels, n))
        self.workspace = Workspace()

    def potentials(self) -> ChainPotentials:
        edges = PositionEdges(self.edge_scores, self.edge_exps, np.zeros(self.end - self.begin))
        nodes = np.ascontiguousarray(self.start_scores.T)
        return ChainPotentials(nodes, self.offsets, edges, sequence_base=self.first_sequence)

    def rebuild(self) -> None:
        """Exponentials from the sums, where a score has grown large."""
        if np.abs(self.edge_scores).max(initial=0.0) > LARGE:
            np.exp(np.minimum(self.edge_scores, 700.0), out=self.edge_exps)


class Booster:
    """The state of boosting on one corpus. `step` adds an iteration; use inside `with Lanes(...)`."""

    def __init__(
        self,
        dataset: Dataset,
        binning: Binning,
        data: BinnedData,
        lanes: Lanes,
        *,
        max_leaves: int,
        shrinkage: float,
        learning_rate: float,
    ) -> None:
        self.dataset = dataset
        self.data = data
        self.lanes = lanes
        self.learning_rate = learning_rate
        K = dataset.n_labels
        plan = plan_chunks(dataset.offsets, max(1, dataset.n_positions // MAX_LANES))
        self.shards = [Shard(dataset, int(a), int(b), K) for a, b in pairwise(plan)]
        options = {"max_leaves": max_leaves, "shrinkage": shrinkage}
        self._growers = [Grower(binning, data, K, **options) for _ in range(min(lanes.n_lanes, K))]  # type: ignore[arg-type]
        self._gradients: list[tuple[FloatArray, FloatArray]] = [(np.empty(0), np.empty(0))] * len(self.shards)
        self._losses = np.zeros(len(self.shards))
        self._trees: list[Tree] = []

    def evaluate(self) -> float:
        """The loss, and in each shard its gradient with respect to every score."""
        self.lanes.run(self._evaluate_shard, len(self.shards))
        return float(self._losses.sum())

    def _evaluate_shard(self, lane: int, s: int) -> None:
        shard, data = self.shards[s], self.dataset
        rows = slice(shard.begin, shard.end)
        assert data.labels is not None
        found = log_likelihood(
            shard.potentials(),
            data.labels[rows],
            allowed=None if data.allowed is None else data.allowed[rows],
            weights=None if data.weight_seq is None else data.weight_seq[shard.sequences],
            workspace=shard.workspace,
        )
        self._losses[s] = found.loss
        self._gradients[s] = np.ascontiguousarray(found.node_gradient.T), found.edge_gradient

    def step(self) -> list[Tree]:
        """One tree a label, fitted to the gradient that `evaluate` left, and added to the scores."""
        K = self.dataset.n_labels
        self._trees = [Tree(np.empty((0, 5), np.int64), np.empty(0))] * K
        lanes = Lanes(None, 1) if len(self._growers) == 1 else self.lanes
        lanes.run(self._grow_label, K)
        for shard in self.shards:
            shard.rebuild()
        return self._trees

    def _grow_label(self, lane: int, k: int) -> None:
        grower = self._growers[lane % len(self._growers)]
        first = self.data.first
        for shard, (nodes, edges) in zip(self.shards, self._gradients):
            kernels.boosting.make_words(
                edges[k], nodes[k], first, shard.begin, shard.end, grower.one, grower.bits, grower.words
            )
        tree, leaves = grower.grow()
        self._trees[k] = Tree(tree.nodes, self.learning_rate * tree.values)
        values = self.learning_rate * leaves.values
        for shard in self.shards:
            kernels.boosting.add_leaves(
                *leaves[:6], values, np.exp(values), first, shard.begin, shard.end,
                shard.edge_scores[k], shard.edge_exps[k], shard.start_scores[k],
            )  # fmt: skip
