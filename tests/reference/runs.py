"""Plain NumPy twin of `training/kernels/runs.py`."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from tests.reference.chain import sequences


def run_curvature(probs: FloatArray, stays: FloatArray, offsets: AnyArray, known: AnyArray) -> FloatArray:
    """(K, n) from probs (n, K) and stays (n, K), the probability that a label is that of t and of the position before:
    every pair of positions by itself. known bool[n]."""
    n, K = probs.shape
    found = np.zeros((K, n))
    for v in range(K):
        variance = probs[:, v] * (1 - probs[:, v])
        covariance = np.append(0.0, stays[1:, v] - probs[1:, v] * probs[:-1, v])
        for begin, end in sequences(offsets):
            for t in range(begin, end):
                total = 1.0
                for way in (range(t + 1, end), range(t - 1, begin - 1, -1)):
                    product, here = 1.0, t
                    for s in way:
                        joined = known[s] and known[here] and variance[here] > 1e-9
                        product *= np.clip(covariance[max(s, here)] / variance[here], 0.0, 1.0) if joined else 0.0
                        total, here = total + product, s
                found[v, t] = np.clip(variance[t] * total, 1e-9, 1.0)
    return found
