"""Beam search with a score for every label after every history, and what in its beam competes with the truth.

A history is a number: Σ_i u_i (K+1)^i of the last n labels, the newest first, K before the first label. The beam is
kept as in `search_learning`: label, came and score [step, rank], slot b the truth.

Arrays that both kernels take
    IN   begin, length int64[m]: the flat positions of each sequence; sign: 1 from left to right, −1 from right to left;
         table float64[N, (K+1)^n, K]; moves uint8[K, K] [from, to]; open_ uint8[N, K]: labels that can go on to an end
    OUT  label, came int32[≥ T, b+1], score float64[≥ T, b+1], path int32[≥ T]: scratch
"""

import math

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.models.search.kernels.learning import insert, unroll

EARLY, BEAM, MAX_VIOLATION, FULL = 0, 1, 2, 3  # as in `search_learning`


@part
def _history(label, came, j, r, K, n):
    """The number of the history of the labeling of rank r before step j."""
    code, unit, i = 0, 1, j - 1
    for _ in range(n):
        code += unit * (K if i < 0 else label[i, r])
        unit *= K + 1
        if i >= 0:
            r = came[i, r]
            i -= 1
    return code


@part
def _advance(j, n_before, width, p, n, table, moves, open_, label, came, score):
    """Step j of the beam, at position p; returns how many labelings there are then."""
    K, kept = table.shape[2], 0
    for r in range(n_before if j > 0 else 1):
        row = table[p, _history(label, came, j, r, K, n)]
        base = score[j - 1, r] if j > 0 else 0.0
        for v in range(K):
            if open_[p, v] and (j == 0 or moves[label[j - 1, r], v]):
                kept = insert(base + row[v], v, r if j > 0 else -1, kept, width, score[j], label[j], came[j])
    return kept


@kernel
def search(begin, length, sign, n, table, moves, open_, width, label, came, score, path, predicted):
    """The labels that the search finds. OUT found int32[N]."""
    for i in range(len(begin)):
        kept = 1
        for j in range(length[i]):
            p = begin[i] + j if sign > 0 else begin[i] + length[i] - 1 - j
            kept = _advance(j, kept, width, p, n, table, moves, open_, label, came, score)
        unroll(label, came, length[i] - 1, 0, path)
        for j in range(length[i]):
            predicted[begin[i] + (j if sign > 0 else length[i] - 1 - j)] = path[j]


@part
def _mark(at, r, share, begin, length, sign, n, K, label, came, truth, path, wrong, history, shares):
    """Note what the labeling of rank r at step `at` has, from where it leaves the truth."""
    unroll(label, came, at, r, path)
    first = 0
    while path[first] == truth[first]:
        first += 1
    for j in range(first, at + 1):
        p = begin + j if sign > 0 else begin + length - 1 - j
        wrong[p], shares[p] = path[j], share
        code, unit = 0, 1
        for d in range(n):
            code += unit * (path[j - 1 - d] if d < j else K)
            unit *= K + 1
        history[p] = code


@part
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@part
def _follow(
    begin, length, sign, n, table, moves, open_, width, label, came, score, path,
    truth, update, wrong, history, shares,
):  # fmt: skip
    """Search one sequence, note what competes with the truth, and return the loss."""
    K, b = table.shape[2], width
    kept, rank, loss, most, worst, rival = 1, -1, 0.0, -np.inf, -1, 0
    for j in range(length):
        p = begin + j if sign > 0 else begin + length - 1 - j
        kept = _advance(j, kept, width, p, n, table, moves, open_, label, came, score)
        gain = table[p, _history(label, came, j, b, K, n), truth[j]]
        label[j, b], came[j, b], score[j, b] = truth[j], b if j > 0 else -1, gain + (score[j - 1, b] if j > 0 else 0.0)
        before, rank = rank, -1
        for r in range(kept):
            if label[j, r] == truth[j] and came[j, r] == before and (before >= 0 or j == 0):
                rank = r
        last, lost = j == length - 1, rank < 0
        other = 1 if rank == 0 else 0
        if other < kept:
            above = score[j, other] - score[j, b]
            whole = update != MAX_VIOLATION
            if (whole and (last or (lost and update <= BEAM))) or (not whole and above >= most):
                most, worst, rival = above, j, other
        if worst >= 0 and (last or (lost and update <= BEAM)):
            loss += _softplus(most)
            share = 0.5 + 0.5 * math.tanh(0.5 * most)
            _mark(worst, rival, share, begin, length, sign, n, K, label, came, truth, path, wrong, history, shares)
            if update != BEAM:
                break
            label[j, 0], came[j, 0], score[j, 0], score[j, b] = truth[j], came[j, b], 0.0, 0.0
            kept, rank, worst = 1, 0, -1
    return loss


@kernel
def follow(
    begin, length, sign, n, table, moves, open_, width, label, came, score, path,
    labels, truth, weight, update, wrong, history, shares,
):  # fmt: skip
    """What competes with the truth; Σ w log(1 + e^Δ), Δ how far above the truth it stands.

    The rival is the best labeling in the beam that is not the truth: where the truth falls out of the beam (early, and
    beam, which goes on from the truth), where Δ is largest (max_violation), and else at the end.

    IN   labels int32[N], all known; weight float64[m]
    OUT  wrong int32[N], IN −1 everywhere: the labels of rivals, from where they leave the truth; history int64[N]: the
         histories that they have there; shares float64[N]: 1 / (1 + e^−Δ); truth int32[≥ T]: scratch
    """
    loss = 0.0
    for i in range(len(begin)):
        for j in range(length[i]):
            truth[j] = labels[begin[i] + (j if sign > 0 else length[i] - 1 - j)]
        loss += weight[i] * _follow(
            begin[i], length[i], sign, n, table, moves, open_, width, label, came, score, path,
            truth, update, wrong, history, shares,
        )  # fmt: skip
    return loss
