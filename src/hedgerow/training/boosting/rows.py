"""The rows that a tree is fitted to: which they are, how much each counts, and both as words for the grower.

A row is (position, previous label), as `kernels.state` has it. Forbidden arcs are no rows, nor is what sampling and
trimming leave out. A row counts as much as its sequence weighs, or as its curvature where leaves are Newton's.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from hedgerow.chain.structure.history_table import HistoryTable, legal_moves
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import check_largest
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import HedgerowWarning, InputError, warn
from hedgerow.legend import INDEX, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.training.boosting.scores import TreeScores
from hedgerow.training.counting import n_known
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import WORD_BITS, Grower, word_format
from hedgerow.trees.vectors import VectorGrower

_GRADIENT_BITS = 20  # at least so many are left for gradients when weights take bits of a word
_NEWTON_GRADIENT_BITS = 16  # a gradient is rounded to the nearest number, which averages out; a curvature never to 0
_NEWTON_UNIT_BITS = 9  # of the fraction of a curvature: more are taken where gradients have all of theirs
_NEWTON_UNIT = 64  # coarser curvatures are no longer Newton's
_UNIT_BITS = 12  # at most so many go to the fraction of a weight


# Of a shard: (K, n) of nodes and (K, n, K') of edges; None where it has the messages to make them from.
Gradient = tuple[FloatArray, FloatArray] | None


AnyGrower = TypeVar("AnyGrower", bound=Grower)


class Totals(NamedTuple):
    """What is known of all sequences of a fit, of which a part may be elsewhere.

    weight : Σ over positions of the weight of their sequence; None where all weigh 1
    largest, smallest : of the weights above 0
    whole : whether all weights are whole numbers
    labelled : whether every label is known
    """

    n_positions: int
    weight: float | None = None
    largest: float = 1.0
    smallest: float = 1.0
    whole: bool = True
    labelled: bool = True

    @classmethod
    def of(cls, dataset: Dataset | SharedCorpus) -> Totals:
        n, weights = dataset.n_positions, dataset.weight_seq
        labelled = n_known(dataset) == n
        if weights is None:
            return cls(n, labelled=labelled)
        total = float((weights * np.diff(dataset.offsets)).sum())
        whole = bool((weights == np.rint(weights)).all()) and total < 2**24
        least = float(weights[weights > 0].min(initial=np.inf))
        return cls(n, total, float(weights.max(initial=0.0)), least, whole, labelled)


class RowWeights:
    """What rows count. One for all trees of a fit.

    totals : of all sequences, where `dataset` has a part of them
    scale : weights are divided by this power of two, so that sums of words fit whatever the weights are
    unit : what a weight of 1, after that, adds to a word; 1 where all are whole numbers
    noisy : whether noise is added to gradients, of which words have few bits
    curvatures : of shared edges (n, K) of each shard, in place of p(1−p); none where p(1−p) serves
    """

    def __init__(
        self,
        dataset: Dataset,
        data: BinnedData,
        space: StateSpace,
        totals: Totals,
        *,
        newton: bool,
        joint: bool,
        trim: float,
        table: HistoryTable | None = None,
    ) -> None:
        assert dataset.labels is not None
        self.data = data
        self._labels = dataset.labels
        self.newton = newton
        self.joint = joint
        self.trim = trim
        self.n_before = dataset.n_labels if joint else 1
        arcs = space.transitions if joint else np.ones((1, dataset.n_labels), dtype=bool)
        start = space.start if joint else np.ones(dataset.n_labels, dtype=bool)
        self._there: BoolArray | None = None
        self._depth: IndexArray = np.empty(0, dtype=INDEX)
        self._questions: AnyArray | None = None
        if table is not None:  # histories in place of previous labels
            self.n_before = table.n_histories
            arcs = legal_moves(space, table).T
            self._there, self._depth = table.possible, _depths(dataset, table.order)
            self._questions = table.questions()[0]
        self.possible = np.ascontiguousarray(np.vstack([arcs, start]).T).astype(np.uint8)
        self._may_end = space.end
        self._last = _last_positions(dataset) if not space.end.all() else None
        self._weights: FloatArray | None = None
        self.curvatures: list[FloatArray] = []
        self.total, self.scale = float(totals.n_positions), 1.0
        self._weigh(dataset, totals)
        whole = totals.whole
        # Every row there may be is one: it counts 1, or its curvature.
        self.even = self._weights is None and trim == 0.0 and self._last is None and table is None
        self.unit, self.noisy, self._total_count = 1, False, None
        if newton:
            self.unit, self._total_count = newton_unit(self.total, totals.n_positions, self.n_before)
            self.noisy = word_format(self._total_count, self.total)[1] < 1 << _NEWTON_GRADIENT_BITS
            if self.unit < _NEWTON_UNIT:
                what = "⟦leaves='newton'⟧: with so many rows, curvatures are rounded up to 1 / {:,}; steps are shorter"
                warn(what.format(self.unit), HedgerowWarning, stacklevel=2)
        elif not whole:
            bits = int(self.total * self.n_before).bit_length() + int(self.total).bit_length()
            self.unit = 1 << max(0, min(_UNIT_BITS, WORD_BITS - 1 - bits - _GRADIENT_BITS))
            self.total += totals.n_positions / self.unit  # rounding may add a unit to each row
        if not whole:
            _warn_of_rounding(totals, self.unit)

    def _weigh(self, dataset: Dataset, totals: Totals) -> None:
        """Set the weight of every position, their total and scale."""
        if dataset.weight_seq is None or totals.weight is None:
            return
        self.total = totals.weight
        if not 0.0 < self.total < np.inf:
            what = f"the weights of all positions add up to {self.total}"
            raise InputError(what, hint="Give at least one sequence a weight above 0, and none that is infinite.")
        check_largest(np.array([totals.largest]))  # those of sequences that are held out do not count here
        if not totals.whole and totals.largest > 0:
            self.scale = float(2.0 ** np.frexp(totals.largest)[1])
            self.total /= self.scale
        self._weights = np.repeat(dataset.weight_seq / self.scale, np.diff(dataset.offsets))

    def grower(
        self, kind: type[AnyGrower], *, l2_regularization: float, min_samples_leaf: float, **options: Any
    ) -> AnyGrower:
        """A grower for words of these rows."""
        options |= {"total_weight": self.total, "total_count": self._total_count, "unit": self.unit}
        options |= {"l2_regularization": l2_regularization / self.scale, "questions": self._questions}
        n_words = len(self.possible) if issubclass(kind, VectorGrower) else self.n_before
        return kind(self.data, n_words, min_samples_leaf=min_samples_leaf / self.scale, **options)

    def fill(
        self, grower: Grower, k: int, shards: list[TreeScores], gradients: list[Gradient], sample: BoolArray | None
    ) -> None:
        """Write the words of label k, or of all, from the gradients of each shard. sample bool[N]."""
        if self.data.grouped:
            grower.words[:] = 0
        if not self.joint and self.trim == 0.0:
            self._fill_positions(grower, k, shards, gradients, sample)
            return
        if self.even and sample is None:
            for shard, gradient in zip(shards, gradients):
                self._fill_even(grower, k, shard, gradient)
            return
        of_label = [(nodes[k], edges[k]) for nodes, edges in filter(None, gradients)]
        counted = [self._count(shard, k, *gradient, sample) for shard, gradient in zip(shards, of_label)]
        if self.trim > 0.0:
            self._trim(counted, of_label)
        for shard, gradient, counts in zip(shards, of_label, counted):
            self._fill_counted(grower, shard, gradient, counts)

    def _fill_positions(
        self, grower: Grower, k: int, shards: list[TreeScores], gradients: list[Gradient], sample: BoolArray | None
    ) -> None:
        """Write the words of label k, or of all, where ⊥ stands before every position."""
        labels = slice(0, grower.n_labels) if isinstance(grower, VectorGrower) else slice(k, k + 1)
        for s, (shard, gradient) in enumerate(zip(shards, gradients)):
            assert gradient is not None
            of_labels, base = np.ascontiguousarray(gradient[0][labels].T), self._base(shard, labels, sample)
            if self.curvatures:
                base *= self.curvatures[s][:, labels]
            kernels.boosting.make_position_words(
                of_labels, base, self.scale, self.newton and not self.curvatures, self.data.window_place,
                shard.begin, shard.end, grower.one / self.scale, self.unit, self.noisy, grower.bits, self.data.grouped,
                grower.words,
            )  # fmt: skip

    def position_weights(self, shard: TreeScores) -> FloatArray:
        """(n,): what gradients of a shard are multiplied with."""
        if self._weights is None:
            return np.ones(shard.end - shard.begin)
        return self._weights[shard.begin : shard.end] * self.scale

    def _base(self, shard: TreeScores, labels: slice, sample: BoolArray | None) -> FloatArray:
        """(n, m): how much a row of each of these labels counts, but for its curvature; 0: no row."""
        positions = slice(shard.begin, shard.end)
        base: FloatArray = np.ones((shard.end - shard.begin, labels.stop - labels.start))
        if self._weights is not None:
            base *= self._weights[positions, None]
        if sample is not None:
            base *= sample[positions, None]
        if self._last is not None:
            base *= self._may_end[labels] | ~self._last[positions, None]
        return base

    def _fill_even(self, grower: Grower, k: int, shard: TreeScores, gradient: Gradient) -> None:
        """Write the words of label k of one shard, where every row there may be is one."""
        if gradient is not None:
            of_label = gradient[0][k], gradient[1][k]
            self._fill_counted(grower, shard, of_label, self._count(shard, k, *of_label, None))
            return
        where = self.data.window_place, self.data.window_first, shard.begin, shard.end, self.possible[k]
        into = grower.bits, self.data.grouped, grower.words
        labels, (alpha, ahead) = self._labels[shard.begin : shard.end], shard.messages
        messages = alpha, ahead, shard.edge_exps[k], ahead
        if self.newton:
            kernels.boosting.make_newton_words(*messages, labels, k, *where, grower.one, self.unit, self.noisy, *into)
        else:
            kernels.boosting.make_chain_words(*messages, labels, k, *where, grower.one, *into)

    def _fill_counted(
        self,
        grower: Grower,
        shard: TreeScores,
        gradient: tuple[FloatArray, FloatArray],
        counts: tuple[FloatArray, FloatArray],
    ) -> None:
        """Write the words of a label of one shard, each row with its own count."""
        data, (nodes, edges), (node_counts, edge_counts) = self.data, gradient, counts
        kernels.boosting.make_weighted_words(
            edges, nodes, edge_counts, node_counts, data.window_place, data.window_first, shard.begin, shard.end,
            grower.one / self.scale, self.unit, self.noisy, grower.bits, data.grouped, grower.words,
        )  # fmt: skip

    def _count(
        self, shard: TreeScores, k: int, node_gradient: FloatArray, edge_gradient: FloatArray, sample: BoolArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """How much the rows of label k count: (n,) with ⊥ and (n, K') with the other previous labels; 0: no row."""
        positions, base = slice(shard.begin, shard.end), self._base(shard, slice(k, k + 1), sample)[:, 0]
        nodes: FloatArray = base * self.possible[k, -1]
        edges: FloatArray = base[:, None] * self.possible[k, :-1]
        if self._there is not None:
            edges *= self._there[self._depth[positions]]
        first = self.data.first[self.data.place[positions]] != 0
        nodes[~first] = 0.0
        edges[first] = 0.0
        if self.newton:
            full = np.maximum(base, np.finfo(np.float64).tiny) * self.scale
            nodes *= _curvature(node_gradient / full)
            edges *= _curvature(edge_gradient / full[:, None])
        return nodes, edges

    def _trim(
        self, counted: list[tuple[FloatArray, FloatArray]], gradients: list[tuple[FloatArray, FloatArray]]
    ) -> None:
        """Leave out the rows with the smallest gradients, which make up at most the share `trim` of their sum."""
        sizes = [np.abs(g[c > 0]) for counts, at in zip(counted, gradients) for c, g in zip(counts, at)]
        ordered = np.sort(np.concatenate(sizes))
        sums = np.cumsum(ordered)
        n = int(np.searchsorted(sums, self.trim * sums[-1], side="right")) if len(sums) else 0
        if n < len(ordered):
            for counts, at in zip(counted, gradients):
                for c, g in zip(counts, at):
                    c[np.abs(g) < ordered[n]] = 0.0


def newton_unit(total: float, n_positions: int, n_before: int) -> tuple[int, float]:
    """What a curvature of 1 counts, and a bound of what all rows count. total: Σ over positions of their weight.

    A row's is p(1−p), less than its gradient, and those of a position add up to 3 at most. Where gradients cannot have
    all of their bits, noise is added to them, and they have as many as curvatures.
    """
    for bits in range(_UNIT_BITS, -1, -1):
        unit, least = 1 << bits, _NEWTON_GRADIENT_BITS if bits > _NEWTON_UNIT_BITS else bits
        most = total * unit * min(n_before, 3) + n_positions * n_before  # each is rounded up to 1, or by less
        if int(most).bit_length() + int(2 * total).bit_length() + least <= WORD_BITS:
            break
    return unit, most


def _warn_of_rounding(totals: Totals, unit: int) -> None:
    """Say so where weights are so far apart that the smallest are rounded up."""
    ratio = totals.largest / max(totals.smallest, 1e-290)  # which is finite
    times = f"{ratio:,.0f}" if ratio < 1e12 else f"{ratio:.0e}"
    if ratio > unit:
        what = (
            f"the largest sample_weight is {times} times the smallest; trees tell weights apart down to"
            f" 1 / {unit:,} of the largest, and count smaller ones as that"
        )
        warn(what, HedgerowWarning, stacklevel=3)


def _curvature(gradient: FloatArray) -> FloatArray:
    """p(1−p) of rows with gradient p − 1 or p, which is the same of its size; never 0, which would be no row."""
    size = np.minimum(np.abs(gradient), 1.0)
    return np.maximum(size * (1.0 - size), 1e-9)


def _depths(dataset: Dataset, order: int) -> IndexArray:
    """(N,): how many labels stand before each position of its sequence, at most `order`."""
    lengths = np.diff(dataset.offsets)
    place = np.arange(dataset.n_positions) - np.repeat(dataset.offsets[:-1], lengths)
    return np.minimum(place, order).astype(INDEX)


def _last_positions(dataset: Dataset) -> BoolArray:
    last = np.zeros(dataset.n_positions, dtype=bool)
    last[dataset.offsets[1:] - 1] = True
    return last


class Sampler:
    """Draws the positions that a tree is fitted to: the same for the same seed, iteration and tree.

    share : of the sequences, or of the positions; 1 draws none
    """

    def __init__(self, dataset: Dataset, share: float, by: str, seed: int) -> None:
        self.share, self.by, self.seed = share, by, seed
        self._offsets = dataset.offsets

    def draw(self, iteration: int, tree: int) -> BoolArray | None:
        """bool[N], or None where every position is taken."""
        if self.share >= 1.0:
            return None
        lengths = np.diff(self._offsets) if self.by == "sequences" else None
        n = int(self._offsets[-1]) if lengths is None else len(lengths)
        rng = np.random.default_rng([self.seed, iteration, tree])
        taken: AnyArray = np.zeros(n, dtype=bool)
        taken[rng.choice(n, size=max(1, round(self.share * n)), replace=False, shuffle=False)] = True
        return taken if lengths is None else np.repeat(taken, lengths)


def tree_seed(seed: int, iteration: int, tree: int, label: int) -> int:
    """The seed of what a tree draws while it grows."""
    return int(np.random.SeedSequence([seed, iteration, tree, label]).generate_state(1)[0])
