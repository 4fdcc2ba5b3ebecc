"""Minimum classification error (003, §5): loss Σ_i w Q(best wrong labeling's score − score of the truth).

Q(x) = 1 / (1 + e^{−λx}) is the smoothed step, so the loss counts the sequences that Viterbi decoding gets wrong. Where
labels are not known the truth is the best labeling among the allowed, and a labeling is wrong if it leaves the allowed
sets. A sequence without a wrong labeling adds nothing. Of equal labelings the one that `best_labelings` gives.

The wrong labelings are a chain of their own, with three labels for each one. A label comes `clean` (right, as all
before it), `first` (the first wrong one) or `after` (behind a wrong one, right or not). Only first and after may end a
sequence. Each wrong labeling is one labeling of this chain with the same score, and each right one none: so the best of
them and sums over them need no subtraction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.edges.tables import tables_of
from hedgerow.chain.edges.unfolding import Unfolded
from hedgerow.chain.inference import Workspace, best_labelings, legal_sequences, log_partition, marginals
from hedgerow.chain.objectives.labelings import best_truth, difference, zero_gradients
from hedgerow.chain.objectives.labelwise import smoothed_errors
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Gradients, Truth
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray

# Under this share of wrong labelings, all labelings less the right ones have lost digits.
_SURE = 1e-3
_MOVES = ((0, 0), (0, 1), (1, 2), (2, 2))  # from and to: clean 0, first 1, after 2


@dataclass(frozen=True, slots=True)
class ClassificationError:
    """The objective with its sharpness λ.

    softness : None, or s > 0: (1/s) log Σ_{y wrong} e^{s · score(y)} in place of the best wrong labeling's score. It
        has no kinks, and costs two forward-backward passes, and for sequences whose truth is all but sure one more
        over three times the labels.
    """

    sharpness: float = 15.0
    softness: float | None = None

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score."""
        truth, _ = potentials.check_truth(truth)
        labels, scores = best_truth(potentials, truth)
        right = potentials.permitted(truth)
        weights = np.ones(potentials.n_sequences) if truth.weights is None else truth.weights
        if self.softness is not None:
            return self._soft(potentials, right, labels, scores, weights, self.softness)
        wrong, best = _best_wrong(potentials, right, labels)
        losses, slopes = _losses(scores, best, self.sharpness)
        loss = float((weights * losses).sum())
        return LossAndGradient(loss, *difference(potentials, wrong, labels, weights * slopes))

    def _soft(
        self,
        potentials: ChainPotentials,
        right: BoolArray,
        truth: AnyArray,
        scores: FloatArray,
        weights: FloatArray,
        softness: float,
    ) -> LossAndGradient:
        """The loss where every wrong labeling counts by its share: gradient slope · (their marginals − truth)."""
        scaled = potentials.scaled(softness)
        fitting = scaled.restrict(right)
        log_all, log_right = log_partition(scaled), log_partition(fitting)
        wrong_share = -np.expm1(np.minimum(log_right - log_all, 0.0))
        sure = wrong_share < _SURE
        log_wrong = log_all + np.log(np.where(sure, 1.0, wrong_share))
        wrong = _wrong_part(scaled, right, np.flatnonzero(sure))
        chosen = wrong.sequences
        log_wrong[sure] = -np.inf
        if len(chosen):
            log_wrong[chosen] = log_partition(wrong.chain)
        losses, slopes = _losses(scores, log_wrong / softness, self.sharpness)
        slopes *= weights
        nodes, edges = zero_gradients(potentials)
        every, per_wrong = np.arange(len(truth)), np.where(sure, 0.0, slopes / np.where(sure, 1.0, wrong_share))
        _add_expected(scaled, per_wrong, every, nodes, edges)
        _add_expected(fitting, -per_wrong * (1.0 - wrong_share), every, nodes, edges)
        if len(chosen):
            _add_expected(wrong.chain, slopes[chosen], wrong.rows, nodes, edges, wrong)
        spread = np.repeat(slopes, np.diff(potentials.offsets))
        potentials.edges.subtract_labeling(potentials, truth, spread, (nodes, edges))
        return LossAndGradient(float((weights * losses).sum()), nodes, edges)


def _add_expected(
    chain: ChainPotentials,
    slopes: FloatArray,
    rows: IndexArray,
    nodes: FloatArray,
    edges: FloatArray,
    wrong: _Wrong | None = None,
) -> None:
    """Add the marginals of a chain, each sequence times its slope, to gradients at some rows, in place.

    wrong : where the chain is that of its wrong labelings
    """
    sums = marginals(chain, None, slopes)
    spread = np.repeat(slopes, np.diff(chain.offsets))
    chain.edges.weigh(sums.edges, spread)
    expected, pairs = spread[:, None] * sums.node_probs, sums.edges
    if wrong is not None:
        expected, pairs = wrong.fold(expected, pairs)
    nodes[rows] += expected
    if edges.ndim == 3:
        edges[:, rows] += pairs
    else:
        edges += pairs


def _losses(scores: FloatArray, rivals: FloatArray, sharpness: float) -> tuple[FloatArray, FloatArray]:
    """Q(rival − score of the truth) and its derivative by the rival, (s,); 0 where no rival is, −inf."""
    exists = rivals > -np.inf
    losses, slopes = smoothed_errors(scores - np.where(exists, rivals, scores), sharpness)
    return np.where(exists, losses, 0.0), np.where(exists, -slopes, 0.0)


def _best_wrong(potentials: ChainPotentials, right: BoolArray, truth: AnyArray) -> tuple[AnyArray, FloatArray]:
    """The best wrong labeling (n,) of each sequence and its score (s,); the truth and −inf where there is none."""
    wrong, best = best_labelings(potentials)
    is_right = np.logical_and.reduceat(right[np.arange(len(wrong)), wrong], potentials.offsets[:-1])
    if is_right.any():
        again = np.flatnonzero(is_right)
        _, rows = potentials.take(again)
        wrong[rows], best[again] = truth[rows], -np.inf
        part = _wrong_part(potentials, right, again)
        if len(part.sequences):
            states, best[part.sequences] = best_labelings(part.chain)
            wrong[part.rows] = part.labels(states)
    return wrong, best


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Those of some sequences that have a wrong labeling, their rows, and the chain of those labelings; unfolded, where
    they have an order above 1."""

    sequences: IndexArray
    rows: IndexArray
    chain: ChainPotentials
    unfolded: Unfolded | None

    def labels(self, states: AnyArray) -> AnyArray:
        """(n,): the labels of a labeling of the chain."""
        folded = states % (self.chain.n_labels // 3)
        return folded if self.unfolded is None else self.unfolded.moves.last[folded]

    def fold(self, nodes: FloatArray, edges: FloatArray) -> Gradients:
        """Gradients of the chain as those of the potentials."""
        nodes, edges = fold_nodes(nodes), fold_edges(edges)
        return (nodes, edges) if self.unfolded is None else self.unfolded.fold(nodes, edges)


def _wrong_part(potentials: ChainPotentials, right: BoolArray, sequences: IndexArray) -> _Wrong:
    """The wrong labelings of some sequences."""
    part, rows = potentials.take(sequences)
    unfolded = part.edges.unfolded(part) if len(sequences) else None
    if not len(sequences):
        return _Wrong(sequences, rows, part, None)
    chain = _wrong_labelings(part, unfolded, right[rows])
    exists = np.flatnonzero(legal_sequences(chain))
    if len(exists) < len(sequences):  # of the others nothing is to be folded
        return _wrong_part(potentials, right, sequences[exists])
    return _Wrong(sequences, rows, chain, unfolded)


def _wrong_labelings(part: ChainPotentials, unfolded: Unfolded | None, right: BoolArray) -> ChainPotentials:
    if unfolded is None:
        return wrong_chain(part, right)
    return wrong_chain(unfolded.chain, unfolded.moves.spread(right).astype(bool))


def wrong_chain(potentials: ChainPotentials, right: BoolArray) -> ChainPotentials:
    """The chain of 3K labels: clean, first, after. right (n, K): the labels that do not make a labeling wrong."""
    nodes, K = potentials.node_scores, potentials.n_labels
    layers = np.concatenate([np.where(right, nodes, -np.inf), np.where(right, -np.inf, nodes), nodes], axis=1)
    layers[potentials.offsets[:-1], 2 * K :] = -np.inf
    layers[potentials.offsets[1:] - 1, :K] = -np.inf
    edges = tables_of(potentials)
    scores = edges.scores_to
    table = np.full((3 * K, scores.shape[1], 3 * K), -np.inf)
    for before, after in _MOVES:
        _block(table, after, before)[:] = scores
    numbers = np.array([potentials.sequence_number(i) for i in range(potentials.n_sequences)])
    return ChainPotentials(layers, potentials.offsets, edges.from_scores_to(table), sequence_numbers=numbers)


def fold_nodes(values: FloatArray) -> FloatArray:
    """(n, K) of (n, 3K): the three of each label added."""
    sums: FloatArray = values.reshape(len(values), 3, -1).sum(axis=1)
    return sums


def fold_edges(values: FloatArray) -> FloatArray:
    """(K, K) of (3K, 3K), or (K, n, K) of (3K, n, 3K): the moves of each pair of labels added."""
    order = 1 if values.ndim == 2 else -1  # [from, to] or [to, position, from]
    return sum((_block(values, *move[::order]) for move in _MOVES), start=np.zeros(1))


def _block(values: AnyArray, i: int, j: int) -> AnyArray:
    K = len(values) // 3
    return values[i * K : (i + 1) * K, ..., j * K : (j + 1) * K]
