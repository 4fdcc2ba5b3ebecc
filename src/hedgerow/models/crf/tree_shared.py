"""Training of a TreeCRF on a corpus whose parts lie elsewhere: its pools, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.estimators.values import LOG_LIKELIHOOD
from hedgerow.legend import AnyArray, IndexArray
from hedgerow.models.crf.parameters import TreeParameters
from hedgerow.models.crf.tree_form import gathers
from hedgerow.parallel import MAX_LANES, Lanes, plan_chunks
from hedgerow.training.boosting.arc_steps import known_moves
from hedgerow.training.boosting.chain import Iteration, plan_shards
from hedgerow.training.boosting.pooled import PooledBooster, TreeMember, how_many_growers
from hedgerow.training.boosting.rows import Totals
from hedgerow.training.boosting.scores import Start, write_below
from hedgerow.training.memory import check_leaves_memory
from hedgerow.training.pool import Operation, Pool
from hedgerow.trees.binning import Binning, bin_dataset, learn_binning
from hedgerow.trees.growing import SURROGATE, WEIGHTING
from hedgerow.trees.nodes import BLOCK_BINS, BLOCK_WIDTH
from hedgerow.trees.shared import SPARE
from hedgerow.trees.shared_binning import bin_piece, join_bins, join_labels, learn_shared_binning


def choose_binning(settings: TreeParameters, corpus: Dataset | SharedCorpus, ways: Sequence[str]) -> Binning:
    """How the columns of a training corpus become bins. ways : the forms of edges of the trees that split on them"""
    limits, gather = (int(settings.max_bins), settings.min_frequency), gathers(settings, ways, corpus.schema)
    if isinstance(corpus, SharedCorpus):
        return learn_shared_binning(corpus, *limits, gather=gather)
    gaps = settings.missing in (WEIGHTING, SURROGATE)
    return learn_binning(corpus, *limits, keep_missing=gaps, gather=gather)


def shared_booster(
    corpus: SharedCorpus, binning: Binning, lanes: Lanes, *, start: Start, **options: Any
) -> PooledBooster:
    """What boosts a shared corpus, with its members."""
    nothing, K, blocks = corpus.nothing(), corpus.n_labels, binning.blocks
    totals = Totals.of(corpus)
    n_cells = int((blocks[:, BLOCK_BINS] * blocks[:, BLOCK_WIDTH]).sum())
    shared: dict[str, Any] = {"start": start, "totals": totals, **options}
    n_members, n_before = corpus.engine.n_members, K if options["edges"] == "joint" else 1
    shares = n_cells / n_members, corpus.n_positions / n_members
    if options["vectors"]:
        check_leaves_memory(SPARE * options["max_leaf_nodes"], shares[0], K, corpus.engine.memory)
    most = K, options["max_leaf_nodes"], *shares, n_before, corpus.engine.memory
    shared["n_growers"] = how_many_growers(*most)
    pool = _pool(corpus, plan_shards(corpus.offsets), binning, TreeMember, shared)
    counted = corpus.each(known_moves) if corpus.weight_seq is None else [known_moves(corpus.together())]
    moves, inner = (sum(parts) for parts in zip(*counted))
    no_data = bin_dataset(binning, nothing, postings=True)
    return PooledBooster(pool, nothing, no_data, lanes, moves=moves, inner=inner, **shared)


def _pool(corpus: SharedCorpus, plan: IndexArray, binning: Binning, make: Any, options: dict[str, Any]) -> Pool:
    """Members that have bins, and what trees stand on."""
    start, below = options["start"], None
    if start.linear is not None:
        below, start = partial(write_below, start.linear), replace(start, linear=None)
    given = corpus.nothing(), binning, corpus.engine.n_threads, options | {"start": start}
    return corpus.pool(plan, bin_piece, (binning, below), make, *given)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------ held-out sequences


class StagesMember:
    """A run of the held-out sequences, and their part in the score of each iteration. Chunks are cut one after the
    other, so that a run of them is cut as in the whole corpus: it needs no plan."""

    def __init__(
        self, nothing: Dataset, binning: Binning, n_jobs: int, options: dict[str, Any], plan: Any, pieces: Any
    ) -> None:
        from hedgerow.models.crf.tree_training import Stages

        dataset = join_labels(pieces, nothing)
        data = join_bins(binning, pieces, nothing.schema.gap, growing=False)
        lanes = Lanes(n_jobs, MAX_LANES).__enter__()  # for as long as it lives
        start = options["start"].on([piece.below for piece in pieces])
        self.stages = Stages(dataset, data, iterations=[], lanes=lanes, **options | {"start": start})
        self._labels = None if options["scoring"] == LOG_LIKELIHOOD else dataset.labels

    def measure(self, added: list[Iteration]) -> list[AnyArray]:
        """What it adds to the score after more iterations: log-probabilities, or which labels are right."""
        self.stages.iterations.extend(added)
        found = self.stages.measured(len(self.stages.iterations))
        if self._labels is None:
            return found
        return [(np.concatenate(found) == self._labels)[self._labels >= 0]]


class SharedStages:
    """The score of shared held-out sequences after each iteration, as `Stages` gives it."""

    def __init__(
        self, corpus: SharedCorpus, binning: Binning, iterations: list[Iteration], chunk: int, **options: Any
    ) -> None:
        self.iterations, self.scoring = iterations, options["scoring"]
        self.pool = _pool(corpus, plan_chunks(corpus.offsets, chunk), binning, StagesMember, options)
        self._history: list[Operation] = []
        self._n_added = 0

    def __call__(self) -> float:
        return self.score(len(self.iterations))

    def score(self, n_iterations: int) -> float:
        """The score with the first iterations; no fewer than at the call before."""
        # Those of an earlier fit together; then one after the other, as they were made, also from a checkpoint.
        first = min(self._n_added + 1, n_iterations) if self._history else n_iterations
        for n_next in range(first, n_iterations + 1):
            asked = Operation("measure", (self.iterations[self._n_added : n_next],))
            answers = self.pool.call([asked], self._history)
            self._history.append(asked)
            self._n_added = n_next
        values = np.concatenate([part for (parts,) in answers for part in parts])
        return float(values.sum()) if self.scoring == LOG_LIKELIHOOD else float(values.mean())
