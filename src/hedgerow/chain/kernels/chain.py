"""Scaled forward-backward and boolean reachability along chains, for every form of edges; its sums for shared edges.

All work on a chunk: n positions of whole sequences, `first[t] = 1` where a sequence starts and `first[n] = 1`.
A call covers positions t0 … t1−1 and leaves its state in the arrays, so that a long sequence is cut into short
calls. Rows of messages are padded with zeros to P columns, P the next multiple of four: the inner loops then have
no remainder. IN arrays are read, OUT arrays are written, IN/OUT both.

What a form of edges does in a recursion is its `carry`: product = edges · vector for one step, with zeros in the
padding. A recursion stands once, here with the carry of one table (P, P) for all positions; other files bind theirs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.jit import chain_kernel, chain_part, kernel
from hedgerow.legend import AnyArray, FloatArray

# Under this size a message has lost digits, or has lost a way that is still possible: see `forward`.
UNDERFLOW = 1e-280

_SMALLEST = -708.0  # exp of less is under the normal floats
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # 32 bits of log 2, so that k · high is exact
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to an integer, which then sits in the lowest bits


@chain_part
def _shift(node, shifted, top, t0, t1):
    """shifted[(t − t0) P + v] = node[t, v] − top[t], with top[t] = max_v node[t, v], or 0 where all are −inf.

    node (n, K) IN, shifted ((t1 − t0) P,) OUT with −inf in the padding, top (n,) OUT.
    """
    K = node.shape[1]
    P = shifted.shape[0] // (t1 - t0)
    for t in range(t0, t1):
        largest = node[t, 0]
        for v in range(1, K):
            largest = node[t, v] if node[t, v] > largest else largest
        if largest == -np.inf:
            largest = 0.0
        top[t] = largest
        row = shifted[(t - t0) * P : (t - t0 + 1) * P]
        for v in range(K):
            row[v] = node[t, v] - largest
        for v in range(K, P):
            row[v] = -np.inf


@chain_part
def _exponentials(x, exps, whole, whole_bits, rest, power, power_bits):
    """exps = exp(x) for x ≤ 0, to two units in the last place; 0 under −708; NaN stays NaN.

    exp(x) = 2^k · exp(r), k = round(x / log 2), r = x − k log 2, exp(r) by its Taylor series to r^12. Every loop
    reads and writes different arrays: that lets it vectorise (three times as fast as a call of the C library), and
    keeps the roundings of k and r, which a compiler free to reorder one expression would undo.

    x (m,) IN, exps (m,) OUT; whole, rest, power (≥ m,) scratch, and `*_bits` the same memory seen as int64.
    """
    m = x.shape[0]
    for i in range(m):
        whole[i] = (_SMALLEST if x[i] < _SMALLEST else x[i]) * _LOG2_E + _ROUND
    for i in range(m):
        power_bits[i] = (whole_bits[i] + 1023) << 52
    for i in range(m):
        whole[i] -= _ROUND
    for i in range(m):
        rest[i] = (_SMALLEST if x[i] < _SMALLEST else x[i]) - whole[i] * _LN2_HIGH
    for i in range(m):
        r = rest[i] - whole[i] * _LN2_LOW
        s = 1.0 / 39916800.0 + r * (1.0 / 479001600.0)
        s = 1.0 / 362880.0 + r * (1.0 / 3628800.0 + r * s)
        s = 1.0 / 5040.0 + r * (1.0 / 40320.0 + r * s)
        s = 1.0 / 120.0 + r * (1.0 / 720.0 + r * s)
        s = 1.0 / 6.0 + r * (1.0 / 24.0 + r * s)
        s = 1.0 + (r + r * r * (0.5 + r * s))
        exps[i] = 0.0 if x[i] < _SMALLEST else s * power[i]


@chain_kernel
def exponentials(node, node_exp, top, scratch, bits, t0, t1):
    """node_exp[t, v] = exp(node[t, v] − top[t]), top[t] = max_v node[t, v], a few rows at a time.

    A row that is −inf everywhere has top 0 and exponentials 0.

    node (n, K) IN, node_exp (n, P) OUT, padding 0, top (n,) OUT; scratch (4, ≥ P), and bits the same memory seen as
    int64.
    """
    P = node_exp.shape[1]
    rows = scratch.shape[1] // P
    flat = node_exp.reshape(-1)
    for begin in range(t0, t1, rows):
        end = min(begin + rows, t1)
        m = (end - begin) * P
        shifted = scratch[3, :m]
        _shift(node, shifted, top, begin, end)
        exps = flat[begin * P : end * P]
        _exponentials(shifted, exps, scratch[0], bits[0], scratch[1], scratch[2], bits[2])


class MessageRows(NamedTuple):
    """The messages of a chunk.

    first (n+1,); node_exp (n, P), which becomes β'; alpha (n, P); scale (n,), c_t; underflows (n,); beta (P,), the
    backward message where a call stopped; node_probs (n, K)
    """

    first: AnyArray
    node_exp: FloatArray
    alpha: FloatArray
    scale: FloatArray
    underflows: AnyArray
    beta: FloatArray
    node_probs: FloatArray


@chain_part
def carry(table, t, vector, other, product):
    """product = table · vector, four rows at a time. table (P, P) IN, vector (P,) IN, product (P,) OUT.

    t is the position that the step leads to, or back from. Only where scores move along a direction does `other` count:
    product = edges · vector + (edges ∘ direction) · other.
    """
    P = table.shape[0]
    for i in range(0, P, 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(P):
            x = vector[j]
            s0 += table[i, j] * x
            s1 += table[i + 1, j] * x
            s2 += table[i + 2, j] * x
            s3 += table[i + 3, j] * x
        product[i] = s0
        product[i + 1] = s1
        product[i + 2] = s2
        product[i + 3] = s3


@chain_kernel
def forward(edges, rows, t0, t1):
    """Scaled forward messages:

        x_t(v) = e^{node_t(v)} · Σ_u α_{t−1}(u) e^{edge(u,v)},   c_t = Σ_v x_t(v),   α_t(v) = x_t(v) / c_t,

    with e^{node_t(v)} alone at a first position. underflows[t] counts the labels with x_t(v) under 1e-280. Exponentials
    lose what is under 1e-308, so a state whose x is larger has lost nothing that can be seen; one that is possible
    and smaller may have lost everything. A sum under 1e-280 is stored as c_t = 1: the
    sequence is then redone or illegal, and 1 / c_t must not overflow.

    rows: first, node_exp IN; alpha IN/OUT (row t0−1 is read), scale, underflows OUT.
    edges: e^{edge} IN, as [to, from].
    """
    first, node_exp, alpha, scale = rows.first, rows.node_exp, rows.alpha, rows.scale
    P = alpha.shape[1]
    for t in range(t0, t1):
        total = 0.0
        small = 0
        if first[t]:
            for v in range(P):
                x = node_exp[t, v]
                alpha[t, v] = x
                total += x
                small += x < UNDERFLOW
        else:
            carry(edges, t, alpha[t - 1], alpha[t - 1], alpha[t])
            for v in range(P):
                x = alpha[t, v] * node_exp[t, v]
                alpha[t, v] = x
                total += x
                small += x < UNDERFLOW
        rows.underflows[t] = small
        scale[t] = 1.0 if total < UNDERFLOW else total
        inverse = 1.0 / scale[t]
        for v in range(P):
            alpha[t, v] *= inverse


@chain_kernel
def backward(edges, rows, t0, t1):
    """Scaled backward messages, from t1−1 down to t0:

        β_T(v) = 1,   β'_t(v) = e^{node_t(v)} β_t(v) / c_t,   β_{t−1}(u) = Σ_v e^{edge(u,v)} β'_t(v),
        P_t(v) = α_t(v) β_t(v).

    β'_t takes the place of e^{node_t}, and is 0 at a first position: the sum of α_{t−1} β'_t over a whole chunk
    then needs no mask. It is 0, too, where α_t(v) is 0: β can grow past all bounds where nothing leads, and 0 · ∞
    is not 0. underflows[t] is raised by the number of labels with β_t(v) under 1e-280.

    rows: first, alpha, scale IN; node_exp, beta, underflows IN/OUT; node_probs OUT.
    edges: e^{edge} IN, as [from, to].
    """
    first, node_exp, alpha, beta = rows.first, rows.node_exp, rows.alpha, rows.beta
    K = rows.node_probs.shape[1]
    P = alpha.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            for v in range(P):
                beta[v] = 1.0
        small = 0
        for v in range(K):
            small += beta[v] < UNDERFLOW
            rows.node_probs[t, v] = alpha[t, v] * beta[v] if alpha[t, v] != 0.0 else 0.0
        rows.underflows[t] += small
        if first[t]:
            for v in range(P):
                node_exp[t, v] = 0.0
        else:
            inverse = 1.0 / rows.scale[t]
            for v in range(P):
                x = node_exp[t, v] * beta[v] * inverse
                node_exp[t, v] = x if alpha[t, v] != 0.0 else 0.0
            carry(edges, t, node_exp[t], node_exp[t], beta)


@chain_kernel
def sum_edges(alpha, beta_prime, sums, t0, t1):
    """sums(u, v) += Σ_t α_{t−1}(u) β'_t(v) for t0 ≤ t < t1, t0 ≥ 1; times e^{edge(u,v)} these are Σ_t P_t(u, v).

    Eight positions at a time, so that a row of sums is read and written once for eight of them.

    alpha (n, P) IN, beta_prime (n, P) IN (0 at first positions), sums (P, P) IN/OUT.
    """
    P = alpha.shape[1]
    whole = t0 + max(0, t1 - t0) // 8 * 8
    for t in range(t0, whole, 8):
        for u in range(P):
            a0, a1, a2, a3 = alpha[t - 1, u], alpha[t, u], alpha[t + 1, u], alpha[t + 2, u]
            a4, a5, a6, a7 = alpha[t + 3, u], alpha[t + 4, u], alpha[t + 5, u], alpha[t + 6, u]
            for v in range(P):
                x = a0 * beta_prime[t, v] + a1 * beta_prime[t + 1, v]
                x += a2 * beta_prime[t + 2, v] + a3 * beta_prime[t + 3, v]
                y = a4 * beta_prime[t + 4, v] + a5 * beta_prime[t + 5, v]
                y += a6 * beta_prime[t + 6, v] + a7 * beta_prime[t + 7, v]
                sums[u, v] += x + y
    for t in range(whole, t1):
        for u in range(P):
            a0 = alpha[t - 1, u]
            for v in range(P):
                sums[u, v] += a0 * beta_prime[t, v]


@kernel
def reach(possible, arcs, first, reached, n_reached, t0, t1):
    """reached[t, v] = 1 where label v at t is possible and some legal way from the start leads to it.

    possible (n, K) uint8 IN, arcs (K, n | 1, K) [from, ·, to] uint8 IN, first (n+1,) IN; reached (n, K) uint8 IN/OUT
    (row t0−1 is read), n_reached (n,) OUT: how many labels are.
    """
    K = possible.shape[1]
    for t in range(t0, t1):
        row = 0 if arcs.shape[1] == 1 else t
        for v in range(K):
            reached[t, v] = first[t]
        for u in range(K):
            if not first[t] and reached[t - 1, u]:
                for v in range(K):
                    reached[t, v] |= arcs[u, row, v]
        count = 0
        for v in range(K):
            reached[t, v] &= possible[t, v]
            count += reached[t, v]
        n_reached[t] = count


@kernel
def reach_end(reached, arcs_to, first, open_, n_open, t0, t1):
    """open_[t, u] = 1 where a legal way leads from label u at t to the end of its sequence; t from t1−1 down to t0.

    reached (n, K) uint8 IN, arcs_to (K, n | 1, K) [to, ·, from] uint8 IN, first (n+1,) IN; open_ (n, K) uint8 IN/OUT
    (row t1 is read), n_open (n,) OUT: how many labels are.
    """
    K = reached.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        row = 0 if arcs_to.shape[1] == 1 else t + 1
        for u in range(K):
            open_[t, u] = first[t + 1]
        for v in range(K):
            if not first[t + 1] and reached[t + 1, v] and open_[t + 1, v]:
                for u in range(K):
                    open_[t, u] |= arcs_to[v, row, u]
        count = 0
        for u in range(K):
            count += open_[t, u]
        n_open[t] = count
