"""From node marginals to the terms c_t(v) P_t(v) of losses that are sums over positions, c = d loss / d P_t(v).

The truth at t is a set A_t, with one label where that is known, and P_t(A) = Σ_{v∈A} P_t(v). right (n, K) bool IN has
these sets: all labels where nothing is known, and then there is no loss.
"""

import numpy as np

from hedgerow.jit import kernel


@kernel
def pointwise(probs, labels, allowed, weights, true_probs, terms, t0, t1):
    """true_probs[t] = P_t(A), 1 where there is no loss; terms of −w log P_t(A): −w P_t(v) / P_t(A) for v in A, else 0.

    labels (n,) int IN, −1 where not known; allowed (n, K) uint8 IN, or (0, K) for none: what an unknown one may be;
    probs (n, K) IN, weights (n,) IN, true_probs (n,) OUT, terms (n, K) OUT.
    """
    K = probs.shape[1]
    for t in range(t0, t1):
        y = labels[t]
        for v in range(K):
            terms[t, v] = 0.0
        true_probs[t] = 1.0
        if y >= 0:
            true_probs[t] = probs[t, y]
            terms[t, y] = -weights[t]
        elif allowed.shape[0] > 0:
            total = 0.0
            for v in range(K):
                if allowed[t, v]:
                    total += probs[t, v]
            true_probs[t] = total
            for v in range(K):
                if allowed[t, v] and total > 0.0:
                    terms[t, v] = -weights[t] * probs[t, v] / total


@kernel
def expected_costs(probs, right, costs, weights, terms, t0, t1):
    """terms of the expected cost w Σ_v cost(A, v) P_t(v), which is their sum; cost(A, v) = min_{y∈A} costs[y, v].

    probs (n, K) IN, costs (K, K) as [true, predicted] IN, weights (n,) IN, terms (n, K) OUT.
    """
    K = probs.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            terms[t, v] = np.inf
        for y in range(K):
            if right[t, y]:
                for v in range(K):
                    terms[t, v] = min(terms[t, v], costs[y, v])
        for v in range(K):
            terms[t, v] = weights[t] * terms[t, v] * probs[t, v]


@kernel
def rivals(probs, right, margins, rival, t0, t1):
    """margins[t] = P_t(A) − max_{v∉A} P_t(v), and rival[t] that label, the lowest of equal ones.

    rival is −1 and the margin 0 where no label is wrong.

    probs (n, K) IN, margins (n,) OUT, rival (n,) int32 OUT.
    """
    for t in range(t0, t1):
        chosen = -1
        true_prob = 0.0
        largest = -1.0
        for v in range(probs.shape[1]):
            if right[t, v]:
                true_prob += probs[t, v]
            elif probs[t, v] > largest:
                largest = probs[t, v]
                chosen = v
        rival[t] = chosen
        margins[t] = true_prob - largest if chosen >= 0 else 0.0


@kernel
def rival_terms(probs, right, rival, slopes, terms, t0, t1):
    """terms of a loss with derivative slopes[t] by the margin of `rivals`: slope · P_t(v) on A, −slope · P_t(rival).

    probs (n, K) IN, rival (n,) IN, slopes (n,) IN, terms (n, K) OUT.
    """
    for t in range(t0, t1):
        for v in range(probs.shape[1]):
            terms[t, v] = slopes[t] * probs[t, v] if rival[t] >= 0 and right[t, v] else 0.0
        if rival[t] >= 0:
            terms[t, rival[t]] = -slopes[t] * probs[t, rival[t]]


@kernel
def wrong_scores(probs, right, softness, scores, t0, t1):
    """scores[t, v] = softness · P_t(v) where v is wrong, −inf where it is right. probs (n, K) IN, scores (n, K) OUT."""
    for t in range(t0, t1):
        for v in range(probs.shape[1]):
            scores[t, v] = -np.inf if right[t, v] else softness * probs[t, v]


@kernel
def soft_margins(probs, right, exps, margins, totals, t0, t1):
    """totals[t] = Σ_v exps_t(v), 0 where no label is wrong; margins[t] = P_t(A), of which the soft maximum is taken.

    probs (n, K) IN, exps (n, P) of the `wrong_scores` less the largest of a row IN; margins, totals (n,) OUT.
    """
    for t in range(t0, t1):
        total = 0.0
        true_prob = 0.0
        for v in range(probs.shape[1]):
            total += exps[t, v]
            true_prob += probs[t, v] if right[t, v] else 0.0
        totals[t] = total
        margins[t] = true_prob


@kernel
def soft_terms(probs, right, exps, totals, slopes, terms, t0, t1):
    """As `rival_terms`, with each wrong label the rival to the share exps_t(v) / totals_t.

    probs (n, K) IN, exps (n, P), totals, slopes (n,) IN, terms (n, K) OUT.
    """
    for t in range(t0, t1):
        inverse = slopes[t] / totals[t] if totals[t] > 0.0 else 0.0
        slope = slopes[t] if totals[t] > 0.0 else 0.0
        for v in range(probs.shape[1]):
            terms[t, v] = slope * probs[t, v] if right[t, v] else -inverse * exps[t, v] * probs[t, v]
