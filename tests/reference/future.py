"""Future features word for word: bags of positions, noisy-or, and the gradients of Hao's thesis (2009), section 5.3.

Position t sees the bag B_t of the next u positions of its sequence (u None: of all that follow; backward: of the u
positions before it). A future feature scores instances by G; p_s = 1 / (1 + exp(−G_s)), and the bag is positive with
probability Q_t = 1 − Π_{s ∈ B_t} (1 − p_s), equations (5.10) and (5.11).
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.legend import CodeArray, FloatArray, IndexArray


def bag_of(t: int, begin: int, end: int, reach: int | None, *, backward: bool) -> range:
    """The flat positions of the bag of t, whose sequence is begin … end−1."""
    if backward:
        return range(begin if reach is None else max(begin, t - reach), t)
    return range(t + 1, end if reach is None else min(end, t + 1 + reach))


def bags(offsets: IndexArray, reach: int | None, *, backward: bool) -> list[range]:
    """The bag of every position."""
    found = []
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        found += [bag_of(t, begin, end, reach, backward=backward) for t in range(begin, end)]
    return found


def bag_probs(G: FloatArray, offsets: IndexArray, reach: int | None, *, backward: bool) -> FloatArray:
    """(N,): Q(B_t), the noisy-or of equation (5.11); 0 where a bag is empty."""
    Q = []
    for bag in bags(offsets, reach, backward=backward):
        product = 1.0
        for s in bag:
            product *= 1.0 - 1.0 / (1.0 + math.exp(-G[s]))
        Q.append(1.0 - product)
    return np.array(Q)


def local_loss(scores: FloatArray, labels: CodeArray, weights: FloatArray) -> float:
    """−Σ_t w_t log P(y_t), P the softmax of the scores (K, N) over labels; a label of −1 is not known, and costs 0."""
    total = 0.0
    for t, label in enumerate(labels.tolist()):
        if label >= 0:
            exps = [math.exp(score) for score in scores[:, t]]
            total -= weights[t] * math.log(exps[label] / sum(exps))
    return total


def residuals(scores: FloatArray, labels: CodeArray, weights: FloatArray) -> FloatArray:
    """(K, N): w_t (I(y_t = k) − P(y_t = k)), what the trees of the top level are fitted to (Proposition 5.1)."""
    found = np.zeros_like(scores)
    for t, label in enumerate(labels.tolist()):
        if label >= 0:
            exps = np.exp(scores[:, t])
            found[:, t] = weights[t] * ((np.arange(len(scores)) == label) - exps / exps.sum())
    return found


def feature_loss(
    G: FloatArray,
    scores: FloatArray,
    labels: CodeArray,
    weights: FloatArray,
    offsets: IndexArray,
    reach: int | None,
    *,
    label: int,
    eta: float,
    backward: bool,
) -> float:
    """The loss where η·Q(B_t) is added to the scores of one label, equation (5.9)."""
    moved = scores.copy()
    moved[label] += eta * bag_probs(G, offsets, reach, backward=backward)
    return local_loss(moved, labels, weights)


def feature_gradient(
    G: FloatArray,
    scores: FloatArray,
    labels: CodeArray,
    weights: FloatArray,
    offsets: IndexArray,
    reach: int | None,
    *,
    label: int,
    eta: float,
    backward: bool,
) -> tuple[FloatArray, FloatArray]:
    """(N,) the derivative of −`feature_loss` by G_s, and (N,) the weight of the bags that s lies in.

    Each pair (t, s ∈ B_t) has η r_t (1 − Q_t) p_s, Proposition 5.2; an instance has the sum over the bags it lies in.
    """
    Q = bag_probs(G, offsets, reach, backward=backward)
    moved = scores.copy()
    moved[label] += eta * Q
    r = residuals(moved, labels, weights)[label]
    gradient, count = np.zeros(len(G)), np.zeros(len(G))
    for t, bag in enumerate(bags(offsets, reach, backward=backward)):
        for s in bag:
            gradient[s] += eta * r[t] * (1.0 - Q[t]) / (1.0 + math.exp(-G[s]))
            count[s] += weights[t] if labels[t] >= 0 else 0.0
    return gradient, count


def thermometer(Q: FloatArray, n_bins: int) -> FloatArray:
    """(n_bins − 1, N) of 0 and 1: whether Q is above 1/n, 2/n, …; what trees of the top level may ask for."""
    return np.array([[float(q > b / n_bins) for q in Q] for b in range(1, n_bins)])
