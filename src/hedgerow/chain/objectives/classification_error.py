"""Minimum classification error (003, §5): loss Σ_i w Q(best wrong labeling's score − score of the truth).

Q(x) = 1 / (1 + e^{−λx}) is the smoothed step, so the loss counts the sequences that Viterbi decoding gets wrong. Where
labels are not known the truth is the best labeling among the allowed, and a labeling is wrong if it leaves the allowed
sets. A sequence without a wrong labeling adds nothing. Of equal labelings the one that `best_labelings` gives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.chain.inference import Workspace, best_labelings, log_partition, marginals
from hedgerow.chain.inference.known import checked_labels, permitted, spread_weights
from hedgerow.chain.objectives.labelings import add_labeling, difference, zero_gradients
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.step import smoothed_errors
from hedgerow.chain.objectives.truth import best_truth
from hedgerow.chain.objectives.wrong_labelings import fold_edges, fold_nodes, has_labeling, wrong_chain
from hedgerow.chain.potentials import ChainPotentials, PositionEdges, SharedEdges
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray

# Under this share of wrong labelings, all labelings less the right ones have lost digits.
_SURE = 1e-3


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
        self,
        potentials: ChainPotentials,
        labels: AnyArray,
        *,
        allowed: BoolArray | None = None,
        weights: FloatArray | None = None,
        workspace: Workspace | None = None,
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score. Arguments as `Objective` has them."""
        labels = checked_labels(potentials, labels)
        spread_weights(potentials, weights)
        truth, scores = best_truth(potentials, labels, allowed)
        right = permitted(potentials, labels, allowed, np.arange(len(labels)))
        given = np.ones(potentials.n_sequences) if weights is None else weights
        if self.softness is not None:
            return self._soft(potentials, right, truth, scores, given, self.softness)
        wrong, best = _best_wrong(potentials, right, truth)
        losses, slopes = _losses(scores, best, self.sharpness)
        loss = float((given * losses).sum())
        return LossAndGradient(loss, *difference(potentials, wrong, truth, given * slopes))

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
        scaled = _scaled(potentials, softness)
        fitting = scaled.restrict(right)
        log_all, log_right = log_partition(scaled), log_partition(fitting)
        wrong_share = -np.expm1(np.minimum(log_right - log_all, 0.0))
        sure = wrong_share < _SURE
        log_wrong = log_all + np.log(np.where(sure, 1.0, wrong_share))
        chosen, rows, chain = _wrong_part(scaled, right, np.flatnonzero(sure))
        log_wrong[sure] = -np.inf
        if len(chosen):
            log_wrong[chosen] = log_partition(chain)
        losses, slopes = _losses(scores, log_wrong / softness, self.sharpness)
        slopes *= weights
        nodes, edges = zero_gradients(potentials)
        every, per_wrong = np.arange(len(truth)), np.where(sure, 0.0, slopes / np.where(sure, 1.0, wrong_share))
        _add_expected(scaled, per_wrong, every, nodes, edges)
        _add_expected(fitting, -per_wrong * (1.0 - wrong_share), every, nodes, edges)
        if len(chosen):
            _add_expected(chain, slopes[chosen], rows, nodes, edges, fold=True)
        spread = np.repeat(slopes, np.diff(potentials.offsets))
        add_labeling(truth, -spread, every, every[potentials.first()[:-1] == 0], nodes, edges)
        return LossAndGradient(float((weights * losses).sum()), nodes, edges)


def _add_expected(
    chain: ChainPotentials,
    slopes: FloatArray,
    rows: IndexArray,
    nodes: FloatArray,
    edges: FloatArray,
    *,
    fold: bool = False,
) -> None:
    """Add the marginals of a chain, each sequence times its slope, to gradients at some rows, in place.

    fold : the chain is one of `wrong_chain`
    """
    found = marginals(chain, None, slopes)
    spread = np.repeat(slopes, np.diff(chain.offsets))[:, None]
    own_edges = fold_edges(found.edges) if fold else found.edges
    nodes[rows] += spread * (fold_nodes(found.node_probs) if fold else found.node_probs)
    if edges.ndim == 3:
        edges[:, rows] += spread * own_edges
    else:
        edges += own_edges


def _losses(scores: FloatArray, rivals: FloatArray, sharpness: float) -> tuple[FloatArray, FloatArray]:
    """Q(rival − score of the truth) and its derivative by the rival, (s,); 0 where no rival is, −inf."""
    exists = rivals > -np.inf
    losses, slopes = smoothed_errors(scores - np.where(exists, rivals, scores), sharpness)
    return np.where(exists, losses, 0.0), np.where(exists, -slopes, 0.0)


def _best_wrong(potentials: ChainPotentials, right: BoolArray, truth: AnyArray) -> tuple[AnyArray, FloatArray]:
    """The best wrong labeling (n,) of each sequence and its score (s,); the truth and −inf where there is none."""
    found, best = best_labelings(potentials)
    is_right = np.logical_and.reduceat(right[np.arange(len(found)), found], potentials.offsets[:-1])
    if is_right.any():
        again = np.flatnonzero(is_right)
        _, rows = potentials.take(again)
        found[rows], best[again] = truth[rows], -np.inf
        chosen, rows, chain = _wrong_part(potentials, right, again)
        if len(chosen):
            labels, best[chosen] = best_labelings(chain)
            found[rows] = labels % potentials.n_labels
    return found, best


def _wrong_part(
    potentials: ChainPotentials, right: BoolArray, sequences: IndexArray
) -> tuple[IndexArray, IndexArray, ChainPotentials]:
    """Those of some sequences that have a wrong labeling, their rows, and the chain of those labelings."""
    part, rows = potentials.take(sequences)
    chain = wrong_chain(part, right[rows])
    exists = np.flatnonzero(has_labeling(chain)) if len(sequences) else np.arange(0)
    chain, inner = chain.take(exists)
    return sequences[exists], rows[inner], chain


def _scaled(chain: ChainPotentials, factor: float) -> ChainPotentials:
    """The same chain with every score times a factor."""
    if factor == 1.0:
        return chain
    scores = chain.tables.scores * factor
    edges = PositionEdges.from_scores(scores) if scores.ndim == 3 else SharedEdges.from_scores(scores)
    return replace(chain, node_scores=chain.node_scores * factor, edges=edges)
