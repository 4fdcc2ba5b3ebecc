"""Finding a future feature: boosting of a score G of positions, of which only bags are known to matter.

Position t has the bag B_t of the positions ahead of it. With p_s = σ(G_s) the bag is positive with probability
Q_t = 1 − Π_{s ∈ B_t} (1 − p_s), and Q_t is added to the score of one label at t. Trees for G are fitted to the gradient
of the likelihood, summed over the bags that a position lies in (Hao 2009, Proposition 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.models.future import kernels
from hedgerow.training.boosting.scores import all_first
from hedgerow.trees import kernels as trees_kernels
from hedgerow.trees.binning import BinnedData, Binning
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.growing import LEARNED, Grower, Tree

_UNIT_BITS = 12  # at most so many go to the fraction of a weight
_MOST_WEIGHT = 2**24  # whole weights that add up to more are scaled, lest sums of words overflow
# How far G may move in a step, in turn; the best is then looked for between its neighbours.
_MOVES = 2.0 ** np.arange(-3, 5)
_REFINEMENTS = 6
_HALVINGS = 30  # at most, of the search for a step of a convex loss; a few do
_PRECISION = 0.01  # of that step
SMALL = 1e-2  # a loss of so much per position is as good as none; `tol` is a share of no less
_NOTHING = 1e-3  # a loss of no more per position leaves nothing to be found
_SHARE = 0.003  # a tree that adds less than this share to what a feature has gained is its last


class Bags:
    """The bags of a corpus. reach : so many positions, or None for all to the end; backward : those before instead."""

    def __init__(self, offsets: IndexArray, reach: int | None, *, backward: bool) -> None:
        self.offsets = offsets
        longest = int(np.diff(offsets).max(initial=1))
        self._reach = longest if reach is None else min(int(reach), longest)
        self._backward = backward

    def total(self, values: FloatArray) -> FloatArray:
        """(N,): Σ_{s ∈ B_t} values_s."""
        return self._sum(values, ahead=not self._backward)

    def spread(self, values: FloatArray) -> FloatArray:
        """(N,): Σ_{t: s ∈ B_t} values_t, over the bags that a position lies in."""
        return self._sum(values, ahead=self._backward)

    def probs(self, G: FloatArray) -> FloatArray:
        """(N,): Q_t, the noisy-or over each bag of instances with the scores G."""
        return -np.expm1(-np.maximum(self.total(np.logaddexp(0.0, G)), 0.0))

    def _sum(self, values: FloatArray, *, ahead: bool) -> FloatArray:
        sums: FloatArray = np.empty(len(values))
        add = kernels.bags.sum_ahead if ahead else kernels.bags.sum_behind
        add(np.ascontiguousarray(values), self.offsets, self._reach, sums)
        return sums


@dataclass(frozen=True)
class FutureFeature:
    """What was found: G = start + trees, and how much a positive bag adds to the score of a label.

    label : the number of the label
    weight : η
    start : G₀
    trees : with their steps β in the values
    """

    label: int
    weight: float
    start: float
    trees: tuple[Tree, ...]

    def scores(self, data: BinnedData) -> FloatArray:
        """(N,): G of every position; `data` has the bins of the input."""
        return self.start + tree_scores(all_first(data), self.trees)


def tree_scores(data: BinnedData, trees: Sequence[Tree]) -> FloatArray:
    """(N,): the sum of trees, where ⊥ stands before every position."""
    scores: FloatArray = np.zeros(len(data.place))
    add_trees(data, data.place, trees, np.zeros((1, len(data.place), 1)), scores[None])
    return scores


class Growth(NamedTuple):
    """How trees grow; named as the parameters of TreeCRF are."""

    max_leaf_nodes: int
    l2_regularization: float
    min_samples_leaf: float = 1.0
    subsets: bool = True
    missing: str = LEARNED


class RowTrees:
    """Grows regression trees on weighted positions: the value of a leaf is Σ target / (Σ weights + λ)."""

    def __init__(self, binning: Binning, data: BinnedData, weights: FloatArray, growth: Growth) -> None:
        self.data = all_first(data)
        total, largest = float(weights.sum()), float(weights.max(initial=0.0))
        whole = bool((weights == np.rint(weights)).all()) and total < _MOST_WEIGHT
        self._scale, self._unit = 1.0, 1
        if not whole:
            self._scale = float(2.0 ** np.frexp(largest)[1])
            total /= self._scale
            spare = 40 - 2 * int(total).bit_length()
            self._unit = 1 << max(0, min(_UNIT_BITS, spare))
            total += len(weights) / self._unit  # rounding may add a unit to each row
        self._weights = weights / self._scale
        self._grower = Grower(
            self.data,
            1,
            max_leaf_nodes=growth.max_leaf_nodes,
            l2_regularization=growth.l2_regularization / self._scale,
            min_samples_leaf=growth.min_samples_leaf / self._scale,
            subsets=growth.subsets,
            total_weight=total,
            unit=self._unit,
            missing=growth.missing,
        )

    def fit(self, target: FloatArray) -> tuple[Tree, FloatArray]:
        """A tree for the targets (N,), which are those of one row times its weight, and its values (N,) there.

        A position of weight 0 is no row, and has the value 0.
        """
        grower, data, N = self._grower, self.data, len(target)
        weighted = self._weights > 0.0
        size = float(np.max(np.abs(target[weighted]) / self._weights[weighted], initial=0.0)) or 1.0
        if data.grouped:
            grower.words[:] = 0
        nothing: FloatArray = np.zeros((0, 1))
        trees_kernels.boosting.make_weighted_words(
            nothing, target / -size, nothing, self._weights, data.window_place, data.window_first, 0, N,
            grower.one, self._unit, False, grower.bits, data.grouped, grower.words,
        )  # fmt: skip
        tree, leaves = grower.grow()
        factor = size / self._scale
        tree = tree.scaled(factor)._replace(
            gains=factor**2 * self._scale * tree.gains, counts=self._scale * tree.counts
        )
        # By instance weighting a row has several leaves: the tree is walked.
        values = tree_scores(data, [tree]) if leaves is None else grower.row_values(leaves, factor)
        return tree, np.where(weighted, values, 0.0)


class Margins(NamedTuple):
    """One label against the rest: the log odds of a label as they are, whether it is the true one, and weights; (N,).

    What is added to the score of the label alone is added to its odds, so the rest need not be known.
    """

    odds: FloatArray
    truth: FloatArray
    weights: FloatArray

    def loss(self, added: FloatArray) -> float:
        """−log P of the truth, with so much added to the odds."""
        odds = self.odds + added
        return float((self.weights * (np.logaddexp(0.0, odds) - self.truth * odds)).sum())

    def residuals(self, added: FloatArray) -> FloatArray:
        """(N,): w_t (I(y_t = k) − P(y_t = k)), the derivative of −loss."""
        return self.weights * (self.truth - 0.5 * (1.0 + np.tanh(0.5 * (self.odds + added))))


class Candidate(NamedTuple):
    """A feature, its Q_t (N,), and by how much η·Q lowers the loss."""

    feature: FutureFeature
    probs: FloatArray
    gain: float


def discover(
    margins: Margins,
    bags: Bags,
    trees: RowTrees,
    *,
    label: int,
    start: float,
    max_steps: int,
    max_weight: float,
    tol: float,
) -> Candidate | None:
    """A future feature for one label, in at most `max_steps` trees; None where none lowers the loss by the share `tol`.

    η is 1 while trees are added, and is then looked for between 0 and `max_weight`.
    """
    before, total = margins.loss(np.zeros(1)), float(margins.weights.sum())
    if before <= _NOTHING * total:
        return None
    least = tol * max(before, SMALL * total)
    G: FloatArray = np.full(len(margins.odds), start)
    Q = bags.probs(G)
    loss, kept = margins.loss(Q), []
    for _ in range(max_steps):
        tree, direction = trees.fit(instance_gradient(margins, bags, G, Q))
        step, lower = _step_of_bags(margins, bags, G, direction, loss)
        if loss - lower <= _SHARE * max(before - lower, 0.0):
            break
        G += step * direction
        Q, loss = bags.probs(G), lower
        kept.append(tree.scaled(step))
    if not kept:
        return None
    weight = best_eta(margins, Q, max_weight)
    gain = before - margins.loss(weight * Q)
    if gain <= least:
        return None
    return Candidate(FutureFeature(label, weight, start, tuple(kept)), Q, gain)


def instance_gradient(margins: Margins, bags: Bags, G: FloatArray, Q: FloatArray, eta: float = 1.0) -> FloatArray:
    """(N,): the derivative of −loss by G_s where η·Q is added: p_s Σ_{t: s ∈ B_t} η r_t (1 − Q_t)."""
    p = 0.5 * (1.0 + np.tanh(0.5 * G))
    return p * bags.spread(eta * margins.residuals(eta * Q) * (1.0 - Q))


def best_eta(margins: Margins, Q: FloatArray, most: float) -> float:
    """η between 0 and `most` that lowers the loss most."""
    return best_step(lambda eta: -float((margins.residuals(eta * Q) * Q).sum()), most)


def _step_of_bags(
    margins: Margins, bags: Bags, G: FloatArray, direction: FloatArray, loss: float
) -> tuple[float, float]:
    """β, and the loss with it; (0, loss) where every step is worse than none. The loss need not be convex in β."""
    size = float(np.abs(direction).max(initial=0.0))
    if size == 0.0:
        return 0.0, loss

    def at(move: float) -> float:
        return margins.loss(bags.probs(G + move / size * direction))

    losses = [loss, *(at(move) for move in _MOVES)]
    moves = [0.0, *_MOVES.tolist()]
    i = int(np.argmin(losses))
    low, high = moves[max(i - 1, 0)], moves[min(i + 1, len(moves) - 1)]
    best, least = moves[i], losses[i]
    for _ in range(_REFINEMENTS):  # the middle of the longer side
        middle = 0.5 * (low + best) if best - low > high - best else 0.5 * (best + high)
        value = at(middle)
        if value < least:
            low, high = (low, best) if middle < best else (best, high)
            best, least = middle, value
        elif middle < best:
            low = middle
        else:
            high = middle
    return best / size, least


def best_step(slope: Callable[[float], float], most: float, first: float = 1.0) -> float:
    """Where a convex function, of which the slope is given, is least between 0 and `most`."""
    low, at_low = 0.0, slope(0.0)
    if at_low >= 0.0:
        return 0.0
    high = min(first, most)
    at_high = slope(high)
    while at_high < 0.0:
        if high >= most:
            return most
        low, at_low = high, at_high
        high = min(2.0 * high, most)
        at_high = slope(high)
    for _ in range(_HALVINGS):
        # Halving and the secant in turn: the first is sure, the second fast.
        for middle in (low - at_low * (high - low) / (at_high - at_low), 0.5 * (low + high)):
            if not low < middle < high:
                continue
            at_middle = slope(middle)
            if at_middle < 0.0:
                low, at_low = middle, at_middle
            else:
                high, at_high = middle, at_middle
        if high - low <= _PRECISION * high:
            break
    return low if -at_low < at_high else high
