"""Boosting of a corpus whose parts lie elsewhere: the members of a pool, and what leads them.

The loss, the gradient of a shared table and the trees are those of `Booster` on the whole corpus, to the bit. Shards
are cut by the whole corpus, each is in one member, and what they give is added up in their order; words are whole
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.chain.objectives.result import Objective
from hedgerow.data.dataset import Dataset
from hedgerow.legend import FloatArray
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.boosting.arc_steps import TableSteps
from hedgerow.training.boosting.chain import Booster, Iteration
from hedgerow.training.boosting.rows import Totals, tree_seed
from hedgerow.training.boosting.scores import Start
from hedgerow.training.pool import Operation, Pool
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import Grower, Tree
from hedgerow.trees.shared import SPARE, Counted, Cut, LeadGrower, MemberGrower, add_counted

OBJECTIVES = {"log_likelihood": log_likelihood, "pseudo_likelihood": pseudo_likelihood}
LEAD_BYTES = 1 << 29  # of the histograms of trees that are led at once

# (grower, label or −1, cuts): plant the tree of a label, or cut the one that grows there.
Request = tuple[int, int, list[Cut]]


class TreeMember(Booster):
    """A part of the corpus: it evaluates its shards, and plants and cuts trees on its rows. Its methods are the
    operations of a pool."""

    grows: ClassVar[type[Grower]] = MemberGrower

    def __init__(
        self, dataset: Dataset, data: BinnedData, *, n_jobs: int | None, max_leaf_nodes: int, **options: Any
    ) -> None:
        lanes = Lanes(n_jobs, MAX_LANES).__enter__()  # for as long as it lives
        super().__init__(dataset, data, lanes, max_leaf_nodes=SPARE * max_leaf_nodes, **options)

    def evaluate_shards(self, objective: str, overshot: bool) -> tuple[FloatArray, list[FloatArray]]:
        self.overshot = overshot
        losses, tables = self._evaluate(OBJECTIVES[objective])
        return losses.copy(), tables

    def touch(self) -> None:
        """What an evaluation does to scores."""
        for shard in self.shards:
            shard.potentials()

    def grow(self, requests: Sequence[Request], n_rows: int) -> list[list[Counted]]:
        """Plant trees, cut leaves, and count both. n_rows : positions of all members"""
        counted: list[list[Counted]] = [[] for _ in requests]

        def work(lane: int, r: int) -> None:
            slot, k, cuts = requests[r]
            grower = self._growers[slot]
            if k >= 0:
                self._rows.fill(grower, k, self.shards, self._gradients, None)
                counted[r].append(grower.plant())
            counted[r].extend(grower.cut(cut, n_rows) for cut in cuts)

        self.lanes.run(work, len(requests))
        return counted

    def add_grown(self, grown: Sequence[tuple[int, int, FloatArray]], scale: float) -> None:
        """Add the trees of labels to their scores: (grower, label, values of its leaves)."""
        self.scale = scale

        def work(lane: int, r: int) -> None:
            slot, k, values = grown[r]
            leaves = self._growers[slot].leaves(values)
            self._add_leaves(k, leaves.leaf_of, leaves.values)

        self.lanes.run(work, len(grown))

    def grow_again(self, grown: Sequence[tuple[int, list[Cut], FloatArray]], scale: float, n_rows: int) -> None:
        """Add trees as `add_grown` did, from their cuts alone: (label, cuts, values of leaves)."""
        grower = self._growers[0]
        for k, cuts, values in grown:
            grower.words[:] = 1  # every place is a row; those that are none have scores of −inf
            grower.plant()
            for cut in cuts:
                grower.cut(cut._replace(counted=False), n_rows)
            self.add_grown([(0, k, values)], scale)

    def add_iteration(self, trees: list[Tree], scale: float) -> None:
        self._add(Iteration(trees), scale)

    def add_table(self, table: FloatArray, scale: float) -> None:
        self._add_tables(table, scale)

    def note_move(self, largest: float) -> None:
        self._moved(largest)

    def refresh(self) -> None:
        self._refresh()


class PooledBooster(Booster):
    """Boosting of all parts: evaluates and steps by asking the members of a pool.

    nothing, no_data : a corpus of no sequence, and its bins; totals : of all parts
    moves : (K, K), how often known labels follow each other; inner : positions that are not first in their sequence
    """

    grows: ClassVar[type[Grower]] = LeadGrower

    def __init__(
        self,
        pool: Pool,
        nothing: Dataset,
        no_data: BinnedData,
        lanes: Lanes,
        *,
        start: Start,
        totals: Totals,
        moves: FloatArray,
        inner: float,
        n_growers: int,
        **options: Any,
    ) -> None:
        self.pool, self.history = pool, list[Operation]()
        self._queue: list[tuple[Operation, Operation]] = []  # what to do, and how to do it over
        self._table_counts = moves, inner
        self._n_rows = totals.n_positions
        own: dict[str, Any] = {"plan": np.zeros(1, dtype=np.int64), "totals": totals, "n_growers": n_growers}
        super().__init__(nothing, no_data, lanes, start=start, **own, **options)

    def _make_edge_steps(self, start: Start) -> TableSteps:
        return TableSteps(*self._table_counts, start.space.transitions, newton=self.options.leaves == "newton")

    def _ask(self, name: str, *arguments: Any) -> list[Any]:
        """What each member gives for an operation, after all that waited for it."""
        asked = Operation(name, arguments)
        answers = self.pool.call([*(one for one, _ in self._queue), asked], self.history)
        for _, again in [*self._queue, (asked, asked)]:
            self._remember(again)
        self._queue = []
        return [answer[-1] for answer in answers]

    def _later(self, name: str, *arguments: Any, again: Operation | None = None) -> None:
        """Let members do something with the next question."""
        one = Operation(name, arguments)
        self._queue.append((one, one if again is None else again))

    def _remember(self, done: Operation) -> None:
        """Keep what a member that is made anew has to do over. Of trees that are added no counts are wanted again, and
        of evaluations none but the last."""
        if done.name == "evaluate_shards":
            self.history[:] = [Operation("touch") if one.name == done.name else one for one in self.history]
        elif done.name == "grow_again":
            self.history[:] = [one for one in self.history if one.name != "grow"]
        self.history.append(done)

    def _evaluate(self, objective: Objective) -> tuple[FloatArray, list[FloatArray]]:
        answers = self._ask("evaluate_shards", _name(objective), self.overshot)
        return np.concatenate([losses for losses, _ in answers]), [table for _, tables in answers for table in tables]

    def _grow_labels(self) -> None:
        K, G = self.dataset.n_labels, len(self._growers)
        for first in range(0, K, G):
            self._grow_some(range(first, min(first + G, K)))

    def _grow_some(self, labels: range) -> None:
        """The trees of some labels at once, a round of cuts of all of them in each call."""
        draws = self.options.max_features < 1.0
        growers: list[LeadGrower] = self._growers[: len(labels)]
        for grower, k in zip(growers, labels):
            grower.begin(tree_seed(self.options.seed, len(self.iterations), 0, k) if draws else 0)
        requests: list[Request] = [(slot, k, []) for slot, k in enumerate(labels)]
        while requests:
            answers = self._ask("grow", requests, self._n_rows)
            added = [[add_counted(parts) for parts in zip(*of_tree)] for of_tree in zip(*answers)]

            def take(lane: int, r: int, requests: list[Request] = requests, added: Any = added) -> None:
                slot, k, _ = requests[r]
                if k >= 0:
                    growers[slot].plant(added[r][0])
                else:
                    growers[slot].take(added[r])

            self.lanes.run(take, len(requests))
            asked = [(slot, -1, growers[slot].ask()) for slot, _, _ in requests]
            requests = [one for one in asked if one[2]]
        grown, cuts = [], []
        for slot, k in enumerate(labels):
            tree, values = growers[slot].tree()
            self._direction.trees[k] = tree.rescaled(self._unit, self._rows.scale)
            grown.append((slot, k, values * self._unit))
            cuts.append((k, growers[slot].cuts, values * self._unit))
        again = Operation("grow_again", (cuts, self.scale, self._n_rows))
        self._later("add_grown", grown, self.scale, again=again)

    def _add(self, iteration: Iteration, scale: float) -> None:
        self._later("add_iteration", list(iteration.trees), scale)
        self._add_tables(iteration.table, scale)

    def _add_tables(self, table: Any, scale: float = 1.0) -> None:
        if table is not None and not self.joint:
            self._later("add_table", table, scale)

    def _moved(self, largest: float) -> None:
        self._later("note_move", largest)

    def _refresh(self) -> None:
        self._later("refresh")

    def state(self, ended: bool) -> dict[str, Any]:
        raise NotImplementedError  # checkpoints are refused before training

    def restore(self, state: Any, objective: Objective) -> None:
        raise NotImplementedError  # and so is going on from one


def _name(objective: Objective) -> str:
    return next(name for name, known in OBJECTIVES.items() if known is objective)


def how_many_growers(n_labels: int, n_leaves: int, n_cells: int, n_rows: float, n_before: int, memory: float) -> int:
    """How many trees grow at once: those of all labels, or as many as the lead's memory has histograms for, and a
    quarter of a member's the rows. n_rows : of a member; n_before : previous labels; memory : of a member"""
    led, grown = LEAD_BYTES // max(1, 8 * n_leaves * n_cells), 0.25 * memory // max(1.0, n_rows * (52 + 10 * n_before))
    return int(max(1, min(n_labels, led, grown)))
