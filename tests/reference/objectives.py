"""Every objective by its definition, over the table of all labelings of each sequence. Slow, and meant to be read.

A rule takes the table of one sequence and gives its loss and the derivative of that loss by the score of each labeling.
Whatever the objective, the gradient by the node and edge scores follows from those derivatives alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow.legend import AnyArray, BoolArray, CodeArray, FloatArray
from tests.reference.chain import labelings, log_sum, score, sequences


@dataclass(frozen=True)
class Table:
    """All labelings of one sequence, and what is known of the truth.

    every (m, T) labelings, scores (m,); right (T, K): what the true labels may be; labels (T,), −1 where not known
    """

    every: CodeArray
    scores: FloatArray
    right: BoolArray
    labels: AnyArray

    @property
    def probs(self) -> FloatArray:
        """P(y), (m,)."""
        probs: FloatArray = np.exp(self.scores - log_sum(self.scores, axis=0))
        return probs

    @property
    def fits(self) -> BoolArray:
        """(m,): the labelings that may be the truth."""
        places = np.arange(self.every.shape[1])
        return np.array([bool(self.right[places, y].all()) for y in self.every])

    def marginals(self) -> FloatArray:
        """P_t(v), (T, K)."""
        T, K = self.right.shape
        return np.array([[self.probs[self.every[:, t] == v].sum() for v in range(K)] for t in range(T)])

    def from_marginals(self, slopes: FloatArray) -> FloatArray:
        """d loss / d score of each labeling (m,), from d loss / d P_t(v) (T, K)."""
        places = np.arange(self.every.shape[1])
        along = np.array([slopes[places, y].sum() for y in self.every])
        derivatives: FloatArray = self.probs * (along - (self.probs * along).sum())
        return derivatives

    def costs(self, costs: FloatArray) -> FloatArray:
        """Δ(y), (m,): the sum of costs[y_t, ·] over the known labels."""
        known = self.labels >= 0
        return np.array([costs[self.labels[known], y[known]].sum() for y in self.every])


Rule = Callable[[Table], tuple[float, FloatArray]]


def loss_and_gradient(
    rule: Rule,
    node: FloatArray,
    edges: FloatArray,
    offsets: AnyArray,
    labels: AnyArray,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
) -> tuple[float, FloatArray, FloatArray]:
    """The loss of a chunk, and its gradient by the nodes (n, K) and by the edges, shaped as those."""
    K = node.shape[1]
    total, nodes, pairs = 0.0, np.zeros(node.shape), np.zeros(edges.shape)
    for i, (begin, end) in enumerate(sequences(offsets)):
        rows = slice(begin, end)
        local = edges if edges.ndim == 2 else edges[:, rows]
        every = labelings(K, end - begin)
        scores = np.array([score(node[rows], local, np.array([0, end - begin]), y)[0] for y in every])
        free = np.ones((end - begin, K), dtype=bool) if allowed is None else allowed[rows]
        known = labels[rows, None]
        right = np.where(known < 0, free, np.arange(K) == known)
        loss, slopes = rule(Table(every, scores, right, labels[rows]))
        weight = 1.0 if weights is None else float(weights[i])
        total += weight * loss
        for y, slope in zip(every, weight * slopes):
            for t in range(end - begin):
                nodes[begin + t, y[t]] += slope
                if t > 0:
                    place = (y[t - 1], y[t]) if edges.ndim == 2 else (y[t], begin + t, y[t - 1])
                    pairs[place] += slope
    return total, nodes, pairs


def log_likelihood(table: Table) -> tuple[float, FloatArray]:
    """log Z − log Z_allowed."""
    inside = np.where(table.fits, table.scores, -np.inf)
    own = log_sum(inside, axis=0)
    return float(log_sum(table.scores, axis=0) - own), table.probs - np.exp(inside - own)


def pointwise(table: Table) -> tuple[float, FloatArray]:
    """−Σ_t log P_t(A_t)."""
    probs = table.marginals()
    true_probs = (probs * table.right).sum(axis=1)
    return float(-np.log(true_probs).sum()), table.from_marginals(-1.0 * table.right / true_probs[:, None])


def expected_accuracy(costs: FloatArray) -> Rule:
    """Σ_t Σ_v P_t(v) min_{y∈A_t} costs[y, v]."""

    def rule(table: Table) -> tuple[float, FloatArray]:
        slopes = np.array([costs[right].min(axis=0) for right in table.right])
        return float((slopes * table.marginals()).sum()), table.from_marginals(slopes)

    return rule


def labelwise(sharpness: float, softness: float | None = None) -> Rule:
    """Σ_t 1 − Q(P_t(A_t) − max_{v∉A_t} P_t(v)), or with (1/s) log Σ_{v∉A_t} e^{s P_t(v)} for the maximum."""

    def rule(table: Table) -> tuple[float, FloatArray]:
        probs, loss, slopes = table.marginals(), 0.0, np.zeros(table.right.shape)
        for t, right in enumerate(table.right):
            if right.all():
                continue
            rivals = np.where(right, -np.inf, probs[t])
            if softness is None:
                shares = (np.arange(len(right)) == np.argmax(rivals)).astype(float)
                rival = rivals.max()
            else:
                rival = log_sum(softness * rivals, axis=0) / softness
                shares = np.exp(softness * (rivals - rival))
            error = 1.0 / (1.0 + np.exp(sharpness * (probs[t, right].sum() - rival)))
            loss += error
            slopes[t] = -sharpness * error * (1.0 - error) * (right - shares)
        return float(loss), table.from_marginals(slopes)

    return rule


def margin(costs: FloatArray) -> Rule:
    """(5): max_y [Δ(y) + score(y)] − score of the truth, which is the best labeling that fits."""

    def rule(table: Table) -> tuple[float, FloatArray]:
        augmented = table.scores + table.costs(costs)
        truth = np.where(table.fits, table.scores, -np.inf)
        return float(augmented.max() - truth.max()), _difference(augmented, truth)

    return rule


def perceptron(table: Table) -> tuple[float, FloatArray]:
    """max_y score(y) − score of the truth."""
    truth = np.where(table.fits, table.scores, -np.inf)
    return float(table.scores.max() - truth.max()), _difference(table.scores, truth)


def slack_margin(costs: FloatArray) -> Rule:
    """(6): max_y Δ(y) (1 − score of the truth + score(y)), at least 0."""

    def rule(table: Table) -> tuple[float, FloatArray]:
        heights = table.costs(costs)
        truth = np.where(table.fits, table.scores, -np.inf)
        rest = 1.0 - truth.max() + table.scores
        values = np.array([h * r if h > 0.0 else 0.0 for h, r in zip(heights, rest)])
        best = int(np.argmax(values))
        if values[best] <= 0.0:
            return 0.0, np.zeros(len(values))
        return float(values[best]), heights[best] * _difference(values, truth)

    return rule


def classification_error(sharpness: float, softness: float | None = None) -> Rule:
    """Q(best wrong labeling's score − score of the truth), or with (1/s) log Σ_{y wrong} e^{s · score(y)} for it."""

    def rule(table: Table) -> tuple[float, FloatArray]:
        truth = np.where(table.fits, table.scores, -np.inf)
        wrong = np.where(table.fits, -np.inf, table.scores)
        if np.isneginf(wrong).all():
            return 0.0, np.zeros(len(wrong))
        rival = wrong.max() if softness is None else log_sum(softness * wrong, axis=0) / softness
        error = 1.0 / (1.0 + np.exp(sharpness * (truth.max() - rival)))
        shares = _difference(wrong, truth)
        if softness is not None:
            shares = np.exp(softness * (wrong - rival)) - (np.arange(len(truth)) == np.argmax(truth))
        return float(error), sharpness * error * (1.0 - error) * shares

    return rule


def _difference(values: FloatArray, truth: FloatArray) -> FloatArray:
    """1 for the largest value, less 1 for the largest of the truth, (m,)."""
    places = np.arange(len(values))
    difference: FloatArray = (places == np.argmax(values)) * 1.0 - (places == np.argmax(truth))
    return difference
