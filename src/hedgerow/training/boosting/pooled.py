"""Boosting of a corpus whose parts lie elsewhere: the members of a pool, and what leads them.

The loss, the gradient of a shared table and the trees are those of `Booster` on the whole corpus, to the bit. Shards
are cut by the whole corpus, each is in one member, and what they give is added up in their order; words are whole
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.chain.objectives.result import Objective
from hedgerow.data.dataset import Dataset
from hedgerow.estimators.codec.steps import refuse
from hedgerow.estimators.codec.trees import plain_trees, trees_of
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.boosting.arc_steps import TableSteps
from hedgerow.training.boosting.chain import Booster, Iteration
from hedgerow.training.boosting.rows import Totals, tree_seed
from hedgerow.training.boosting.scores import Start
from hedgerow.training.checkpoint import checked
from hedgerow.training.pool import Lost, Operation, Pool
from hedgerow.trees.binning import BinnedData, Binning
from hedgerow.trees.growing import Grower, Tree
from hedgerow.trees.shared import SPARE, Counted, Cut, Found, LeadGrower, MemberGrower, SplitFinder, best, own_cells
from hedgerow.trees.shared_binning import join_bins, join_labels
from hedgerow.trees.shared_vectors import LeadVectors, MemberVectors, VectorFinder

OBJECTIVES = {"log_likelihood": log_likelihood, "pseudo_likelihood": pseudo_likelihood}
HISTOGRAM_BYTES = 1 << 29  # of the trees that grow at once, in one member


class Request(NamedTuple):
    """Plant the tree of a label in a grower, or, where the label is −1, cut the one that grows there."""

    slot: int
    label: int
    seed: int
    cuts: list[Cut]


class TreeMember(Booster):
    """A part of the corpus, and some of the columns of all of it: it evaluates its shards, plants and cuts trees on its
    rows, and finds splits on its columns. Its methods are the operations of a pool."""

    grows: ClassVar[tuple[type[Grower], type[Grower]]] = MemberGrower, MemberVectors

    def __init__(
        self, nothing: Dataset, binning: Binning, n_jobs: int, options: dict[str, Any], plan: IndexArray, pieces: Any
    ) -> None:
        """nothing : a corpus of no sequence; pieces : the sequences as bins and labels, each a `BinnedPiece`"""
        lanes = Lanes(n_jobs, MAX_LANES).__enter__()  # for as long as it lives
        data, start = join_bins(binning, pieces, nothing.schema.gap), options["start"].on([p.below for p in pieces])
        own = {"plan": plan, "start": start, "max_leaf_nodes": SPARE * options["max_leaf_nodes"]}
        super().__init__(join_labels(pieces, nothing), data, lanes, **options | own)
        self._requests, self._cells, self._finders = list[Request](), list[IndexArray](), list[Any]()

    def evaluate_shards(self, objective: str, overshot: bool) -> tuple[FloatArray, list[FloatArray]]:
        self.overshot = overshot
        losses, tables = self._evaluate(OBJECTIVES[objective])
        return losses.copy(), tables

    def touch(self) -> None:
        """What an evaluation does to scores."""
        for shard in self.shards:
            shard.potentials()

    def grow(self, requests: Sequence[Request], n_rows: int, n_members: int) -> list[list[list[Counted]]]:
        """Plant trees, cut leaves, and count both: for every member, by request and leaf, what is of its columns.
        n_rows : positions of all members"""
        self._requests = list(requests)
        self._cells = self._cells or own_cells(self.data.growing.blocks, n_members)
        counted: list[list[list[Counted]]] = [[] for _ in requests]

        def work(lane: int, r: int) -> None:
            slot, k, _, cuts = requests[r]
            grower = self._growers[slot]
            if k >= 0:
                self._rows.fill(grower, k, self.shards, self._gradients, None)
                counted[r].append(grower.plant(self._cells))
            counted[r].extend(grower.cut(cut, n_rows, self._cells) for cut in cuts)

        self.lanes.run(work, len(requests))
        return [[[leaf[m] for leaf in leaves] for leaves in counted] for m in range(n_members)]

    def find(self, m: int, parcels: Sequence[list[list[Counted]]]) -> list[list[Found]]:
        """The best splits on its columns, by request: of the root, or of both sides of every cut. m : its number"""
        kinds, owner = (SplitFinder, VectorFinder), (m, len(parcels))
        self._finders = self._finders or [self._make_grower(kinds, owner=owner) for _ in self._growers]
        found: list[list[Found]] = [[] for _ in self._requests]

        def work(lane: int, r: int) -> None:
            slot, k, seed, cuts = self._requests[r]
            finder, parts = self._finders[slot], list(zip(*(parcel[r] for parcel in parcels)))
            if k >= 0:
                found[r].extend(finder.plant(parts[0], seed))
            for cut, of_leaf in zip(cuts, parts):
                found[r].extend(finder.cut(cut, of_leaf))

        self.lanes.run(work, len(found))
        return found

    def add_grown(self, grown: Sequence[tuple[int, int, FloatArray]], scale: float) -> None:
        """Add the trees of labels to their scores: (grower, label, values of its leaves)."""
        self.scale = scale

        def work(lane: int, r: int) -> None:
            slot, k, values = grown[r]
            leaves = self._growers[slot].leaves(values)
            self._add_leaves(k, leaves.leaf_of, leaves.values)

        self.lanes.run(work, len(grown))

    def grow_again(self, first: int, trees: Sequence[Tree], scale: float) -> None:
        """Add the trees of labels, from the first on, to the scores that `add_grown` made: by walking them."""
        for shard in self.shards:
            shard.add(self.data, trees, scale=scale, first=first, stale=False)

    def add_iteration(self, trees: list[Tree], scale: float) -> None:
        self._add(Iteration(trees), scale)


class PooledBooster(Booster):
    """Boosting of all parts: evaluates and steps by asking the members of a pool.

    nothing, no_data : a corpus of no sequence, and its bins; totals : of all parts
    moves : (K, K), how often known labels follow each other; inner : positions that are not first in their sequence
    """

    grows: ClassVar[tuple[type[Grower], type[Grower]]] = LeadGrower, LeadVectors

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
        self._queue: list[Operation] = []
        self._table_counts = moves, inner
        self._n_rows, self._each = totals.n_positions, nothing.n_labels if options.get("vectors") else 1
        own: dict[str, Any] = {"plan": np.zeros(1, dtype=np.int64), "totals": totals, "n_growers": n_growers}
        super().__init__(nothing, no_data, lanes, start=start, **own, **options)

    def _make_edge_steps(self, start: Start) -> TableSteps:
        return TableSteps(*self._table_counts, start.space.transitions, newton=self.options.leaves == "newton")

    def _ask(self, name: str, *arguments: Any) -> list[Any]:
        """What each member gives for an operation, after all that waited for it."""
        asked = Operation(name, arguments)
        answers = self.pool.call([*self._queue, asked], self.history)
        self._remember(asked)
        return [answer[-1] for answer in answers]

    def _later(self, name: str, *arguments: Any, again: Operation | None = None) -> None:
        """Let members do something with the next question."""
        self._queue.append(Operation(name, arguments, again))

    def _remember(self, *asked: Operation) -> None:
        """Keep what a member that is made anew has to do over: all that waited, and what was asked. Of evaluations none
        but the last has to be."""
        for done in [*self._queue, *asked]:
            if done.name == "evaluate_shards":
                self.history[:] = [Operation("touch") if one.name == done.name else one for one in self.history]
            self.history.append(done if done.again is None else done.again)
        self._queue = []

    def _evaluate(self, objective: Objective) -> tuple[FloatArray, list[FloatArray]]:
        answers = self._ask("evaluate_shards", _name(objective), self.overshot)
        return np.concatenate([losses for losses, _ in answers]), [table for _, tables in answers for table in tables]

    def _grow_trees(self) -> None:
        K, G = len(self._direction.trees), len(self._growers)
        for first in range(0, K, G):
            self._grow_some(range(first, min(first + G, K)))

    def _grow_some(self, labels: range) -> None:
        """The trees of some labels at once. Where a member is lost, its sums are, and they grow over."""
        growers: list[LeadGrower] = self._growers[: len(labels)]
        while not self._grow_together(growers, labels):
            pass
        grown = []
        for slot, k in enumerate(labels):
            tree, values = growers[slot].tree()
            self._direction.trees[k] = tree.rescaled(self._unit, self._rows.scale)
            grown.append((slot, k, values * self._unit))
        again = labels.start, self._direction.trees[labels.start : labels.stop], self.scale
        self._later("add_grown", grown, self.scale, again=Operation("grow_again", again))

    def _grow_together(self, growers: Sequence[LeadGrower], labels: range) -> bool:
        """A round of cuts of all trees in each swap; whether they are whole."""
        draws = self.options.max_features < 1.0
        seeds = [tree_seed(self.options.seed, len(self.iterations), 0, k) if draws else 0 for k in labels]
        for grower in growers:
            grower.begin()
        requests = [Request(slot, k, seed, []) for slot, (k, seed) in enumerate(zip(labels, seeds))]
        while requests:
            asked = Operation("grow", (requests, self._n_rows, self.pool.n_members))
            try:
                answers = self.pool.swap([*self._queue, asked], "find", self.history)
            except Lost:
                return False
            finally:
                self._remember()
            for request, *found in zip(requests, *answers):
                growers[request.slot].take([best(of_leaf) for of_leaf in zip(*found)])
            next_cuts = [(request.slot, growers[request.slot].ask()) for request in requests]
            requests = [Request(slot, -1, 0, cuts) for slot, cuts in next_cuts if cuts]
        return True

    def _add(self, iteration: Iteration, scale: float) -> None:
        self._later("add_iteration", list(iteration.trees), scale)
        self._add_tables(iteration.table, scale)

    def _add_tables(self, table: Any, scale: float = 1.0) -> None:
        if table is not None and not self.joint:
            self._later("_add_tables", table, scale)

    def _moved(self, largest: float) -> None:
        self._later("_moved", largest)

    def _refresh(self) -> None:
        self._later("_refresh")

    def state(self, ended: bool) -> dict[str, Any]:
        """As that of `Booster`; in place of the scores what was done to them, which members do over."""
        taken = super().state(True)
        if ended:
            return taken
        done = [one if one.again is None else one.again for one in [*self.history, *self._queue]]
        return taken | {"done": [_plain(one, self._each) for one in done]}

    def restore(self, state: Any, objective: Objective) -> None:
        super().restore(state, objective)
        if "done" not in state:
            return
        n_before, K = self._rows.n_before if self.joint else 0, self.dataset.n_labels
        forms = {"first": int, "trees": list, "table": self._table_gradient, "scale": float}
        for name, given in checked(state["done"], [(frozenset(_KEPT), list)], "done"):
            arguments = checked(given, tuple(forms[field] for field in _KEPT[name]), name)
            if "trees" in _KEPT[name]:
                at = _KEPT[name].index("trees")
                trees = trees_of(arguments[at], self._each, self.data.columns, n_before)
                if sum(arguments[:at]) + len(trees) > K:
                    refuse(f"there are more trees than {K} labels")
                arguments = [*arguments[:at], trees, *arguments[at + 1 :]]
            self._later(name, *arguments)
        self.evaluate(objective)


# What a checkpoint keeps of operations that change scores.
_KEPT: dict[str, tuple[str, ...]] = {
    "grow_again": ("first", "trees", "scale"), "add_iteration": ("trees", "scale"),
    "_add_tables": ("table", "scale"), "_moved": ("scale",), "_refresh": (), "touch": (),
}  # fmt: skip


def _plain(done: Operation, n_labels: int) -> list[Any]:
    """An operation as plain values; what is evaluated is evaluated anew. n_labels : of a tree"""
    if done.name == "evaluate_shards":
        return ["touch", []]
    fields = zip(_KEPT[done.name], done.arguments, strict=True)
    plain: dict[str, Any] = {"trees": lambda trees: plain_trees(n_labels, trees), "scale": float}
    return [done.name, [plain[field](one) if field in plain else one for field, one in fields]]


def _name(objective: Objective) -> str:
    return next(name for name, known in OBJECTIVES.items() if known is objective)


def how_many_growers(n_labels: int, n_leaves: int, n_cells: float, n_rows: float, n_before: int, memory: float) -> int:
    """How many trees grow at once: those of all labels, or as many as a member has memory for, a quarter of it for rows
    and as much for histograms. n_cells, n_rows : of a member; n_before : previous labels; memory : of a member"""
    summed = min(HISTOGRAM_BYTES, 0.25 * memory) // max(1.0, 8 * SPARE * n_leaves * n_cells)
    return int(max(1, min(n_labels, summed, 0.25 * memory // max(1.0, n_rows * (52 + 10 * n_before)))))
