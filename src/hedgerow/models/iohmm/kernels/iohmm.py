"""Kernels of the IOHMM: softmax regressions side by side, whose targets are probabilities.

A row of scores holds B regressions ("blocks") of K outputs each, end to end.
"""

import numpy as np

from hedgerow.jit import chain_kernel


@chain_kernel
def take_tops(scores, tops):
    """tops[t, b] = max_k scores[t, b, k], and scores[t, b, k] −= tops[t, b].

    scores (n, B, K) IN/OUT, tops (n, B) OUT.
    """
    n, B, K = scores.shape
    for t in range(n):
        for b in range(B):
            top = -np.inf
            for k in range(K):
                top = scores[t, b, k] if scores[t, b, k] > top else top
            tops[t, b] = top
            for k in range(K):
                scores[t, b, k] -= top


@chain_kernel
def normalise(exps, sums):
    """sums[t, b] = Σ_k exps[t, b, k], and exps[t, b, k] /= sums[t, b]. exps (n, B, K) IN/OUT, sums (n, B) OUT."""
    n, B, K = exps.shape
    for t in range(n):
        for b in range(B):
            total = 0.0
            for k in range(K):
                total += exps[t, b, k]
            sums[t, b] = total
            for k in range(K):
                exps[t, b, k] /= total


@chain_kernel
def gradient(probs, targets):
    """probs[t, b, k] ← probs[t, b, k] · Σ_j targets[t, b, j] − targets[t, b, k]: the gradient, with respect to the
    scores, of −Σ targets · log probs.

    probs (n, B, K) IN/OUT, targets (n, B, K) IN.
    """
    n, B, K = probs.shape
    for t in range(n):
        for b in range(B):
            whole = 0.0
            for k in range(K):
                whole += targets[t, b, k]
            for k in range(K):
                probs[t, b, k] = probs[t, b, k] * whole - targets[t, b, k]
