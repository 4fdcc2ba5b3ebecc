"""Hidden Markov models in plain NumPy, by their definition. Slow, and meant to be read."""

from __future__ import annotations

import itertools

import numpy as np

from hedgerow.legend import AnyArray, FloatArray, IndexArray


def gather(rows: IndexArray, which: IndexArray, values: FloatArray, table: FloatArray, scores: FloatArray) -> None:
    """As the kernel of this name."""
    for row, t, value in zip(rows, which, values):
        if value != 0.0:
            scores[t] += value * table[row]


def scatter(rows: IndexArray, which: IndexArray, values: FloatArray, probs: FloatArray, sums: FloatArray) -> None:
    """As the kernel of this name."""
    for row, t, value in zip(rows, which, values):
        sums[row] += value * probs[t]


def count_arcs(
    labels: AnyArray, offsets: IndexArray, weights: FloatArray, start: int, follows: AnyArray, counts: FloatArray
) -> None:
    """As the kernel of this name."""
    for weight, begin, end in zip(weights, offsets[:-1], offsets[1:]):
        path = [start]
        for label in labels[begin:end]:
            counts[path[-1], label] += weight
            path.append(int(follows[path[-1], label]))


def joint_probability(start: FloatArray, moves: FloatArray, emitted: FloatArray, labels: AnyArray) -> float:
    """P(x, y) = P(y_1) Π_t P(y_t | y_{t−1}) Π_t P(x_t | y_t) of one sequence.

    start (K,), moves (K, K) [from, to], emitted (T, K) = P(x_t | k), labels (T,).
    """
    probability = start[labels[0]] * emitted[0, labels[0]]
    for t in range(1, len(labels)):
        probability = probability * moves[labels[t - 1], labels[t]] * emitted[t, labels[t]]
    return float(probability)


def likelihood(start: FloatArray, moves: FloatArray, emitted: FloatArray, allowed: AnyArray | None = None) -> float:
    """P(x, y allowed) of one sequence, by adding up all its labelings. allowed bool (T, K); None for all."""
    T, K = emitted.shape
    total = 0.0
    for labels in itertools.product(range(K), repeat=T):
        if allowed is None or all(allowed[t, k] for t, k in enumerate(labels)):
            total += joint_probability(start, moves, emitted, np.array(labels))
    return total
