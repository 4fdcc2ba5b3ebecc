"""Input/output hidden Markov models in plain NumPy, by their definition. Slow, and meant to be read.

start (n,), moves (T, n, n) [position, from, to] (that of position 0 is not read), outputs (T, n, K): probabilities of
one sequence, whose input they depend on. n states, K labels.
"""

from __future__ import annotations

import itertools

import numpy as np

from hedgerow.legend import FloatArray

Path = tuple[int, ...]


def softmax(scores: FloatArray) -> FloatArray:
    """exp(scores) as shares of its sum, along the last axis."""
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: FloatArray = exps / exps.sum(axis=-1, keepdims=True)
    return shares


def loss_and_gradient(scores: FloatArray, targets: FloatArray) -> tuple[float, FloatArray]:
    """−Σ targets · log softmax(scores), and its gradient with respect to the scores. Both (n, B, K)."""
    probs = softmax(scores)
    loss = -float((targets * np.log(probs)).sum())
    return loss, probs * targets.sum(axis=-1, keepdims=True) - targets


def joint(start: FloatArray, moves: FloatArray, outputs: FloatArray, states: Path, labels: Path) -> float:
    """P(states, labels | input) of one sequence."""
    total = float(start[states[0]] * outputs[0, states[0], labels[0]])
    for t in range(1, len(states)):
        total *= float(moves[t, states[t - 1], states[t]] * outputs[t, states[t], labels[t]])
    return total


def every_joint(start: FloatArray, moves: FloatArray, outputs: FloatArray) -> dict[tuple[Path, Path], float]:
    """(states, labels) → P, for all of them."""
    T, n, K = outputs.shape
    return {
        (states, labels): joint(start, moves, outputs, states, labels)
        for states in itertools.product(range(n), repeat=T)
        for labels in itertools.product(range(K), repeat=T)
    }
