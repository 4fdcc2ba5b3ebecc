"""Block-coordinate Frank–Wolfe for the margin of a linear chain (Lacoste-Julien et al. 2013): steps over a chunk.

The dual variables of a sequence are probabilities α of its labelings. All that is kept of them is how far the labels
that they expect are from the truth, in cells: of a label v at position t it is [v = y_t] − Σ_Y α(Y)·[Y_t = v], and of
a transition the same, summed over the sequence, or one cell per position where features score pairs of labels. In a
sequence of T positions the cells are numbered t·K + v, then T·K + e·K² + to·K + from, e = t or 0. Cells that are 0 are
not stored: a sequence costs memory where it was once labelled wrong. The weights are

    w = Σ_i c_i / (2·l2) · Σ_cells D_i(cell) · features of the cell,    c_i the weight of the sequence.

A step finds the best labeling Ŷ by score + cost and moves D_i by B = ([truth] − [Ŷ]) − D_i, as far as is best. With s
the scores, costs added, the dual rises at first by −c_i Σ B·s and bends by 2·l2·‖dw‖², dw being what B does to w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.chain.kernels.search import best_step
from hedgerow.jit import kernel, part
from hedgerow.legend import AnyArray


class Features(NamedTuple):
    """The lists of positions, of M outputs, as `kernels.online.list_rows` makes them.

    spread_ptr int64[n+1], spread int32[·]: position p has the weights w[r] … w[r+M−1], one an output, for each r of
    spread[spread_ptr[p]:spread_ptr[p+1]]; entry_ptr int64[n+1], entry_slot, entry_output int32[·]: and single weights
    spread_value, entry_value float64[·]: the values of the features, empty where all are 1
    begin int64[s]: where each sequence of the chunk has its first position
    """

    spread_ptr: AnyArray
    spread: AnyArray
    spread_value: AnyArray
    entry_ptr: AnyArray
    entry_slot: AnyArray
    entry_output: AnyArray
    entry_value: AnyArray
    begin: AnyArray


class Chunk(NamedTuple):
    """Some sequences: nodes and pairs (Features; pairs are read only where has_pairs); labels int32[N] of
    the corpus, begin and length int64[s] in it; importance float64[s], the weights c."""

    nodes: Features
    pairs: Features
    labels: AnyArray
    begin: AnyArray
    length: AnyArray
    importance: AnyArray


class Chain(NamedTuple):
    """start, end float64[K], scores; arc_from, arc_to int64[A], the transitions with a weight, the first at arc_base;
    arc_slot int32[K, K] [from, to], their weights' places, −1: none; real uint8[W], 0 where a spread row has buffers
    and no weight; costs float64[K, K] [true, predicted], zeros on the diagonal; has_pairs: whether pairs are scored."""

    start: AnyArray
    end: AnyArray
    arc_from: AnyArray
    arc_to: AnyArray
    arc_base: int
    arc_slot: AnyArray
    real: AnyArray
    costs: AnyArray
    has_pairs: bool


class Blocks(NamedTuple):
    """Cells of the sequences of a chunk: those of i are begin[i] … end[i]−1 of cells int64[·], values float64[·]."""

    begin: AnyArray
    end: AnyArray
    cells: AnyArray
    values: AnyArray


class State(NamedTuple):
    """weights float64[W]; edges float64[K, K], the transition weights as a table, −inf: forbidden; late float64[W],
    Σ_k k(k−1)·dw of step k; totals float64[3]: steps so far, the dual's cost Σ_i c_i Σ_Y α(Y) Δ(Y), and its `late`."""

    weights: AnyArray
    edges: AnyArray
    late: AnyArray
    totals: AnyArray


class Buffers(NamedTuple):
    """Buffers for the longest sequence: node, best float64[T, K], pairs float64[T or 1, K²] [t, to·K + from], labels
    int32[T]; cells float64[C], seen uint8[C] (zeros), listed int64[C]; moved float64[W], marked uint8[W] (zeros),
    touched int64[W]."""

    node: AnyArray
    best: AnyArray
    pairs: AnyArray
    labels: AnyArray
    cells: AnyArray
    seen: AnyArray
    listed: AnyArray
    moved: AnyArray
    marked: AnyArray
    touched: AnyArray


@part
def _add_scores(features, i, T, w, scores):
    """scores[t] += the weights of position t of sequence i. OUT scores float64[≥ T, M]."""
    M, begin = scores.shape[1], features.begin[i]
    spread, outputs, slots = features.spread, features.entry_output, features.entry_slot
    valued = len(features.spread_value) + len(features.entry_value) > 0
    for t in range(T):
        row = scores[t]
        for q in range(features.spread_ptr[begin + t], features.spread_ptr[begin + t + 1]):
            weights = w[spread[q] : spread[q] + M]  # a slice, so that the loop vectorises
            x = features.spread_value[q] if valued else 1.0
            for k in range(M):
                row[k] += x * weights[k]
        for q in range(features.entry_ptr[begin + t], features.entry_ptr[begin + t + 1]):
            row[outputs[q]] += (features.entry_value[q] if valued else 1.0) * w[slots[q]]


@part
def _score(chunk, chain, i, w, buffers):
    """The scores of sequence i, costs added to those of the nodes. OUT its node and pairs; where it begins, T."""
    begin, T = chunk.begin[i], chunk.length[i]
    K = len(chain.start)
    for t in range(T):
        for v in range(K):
            buffers.node[t, v] = chain.costs[chunk.labels[begin + t], v]
    for v in range(K):
        buffers.node[0, v] += chain.start[v]
        buffers.node[T - 1, v] += chain.end[v]
    _add_scores(chunk.nodes, i, T, w, buffers.node)
    if chain.has_pairs:
        buffers.pairs[:T] = 0.0
        _add_scores(chunk.pairs, i, T, w, buffers.pairs)
    return begin, T


@part
def _forward(edges, pairs, has_pairs, node, best, T):
    """best_t(v) = node_t(v) + max_u [best_{t−1}(u) + edge_t(u, v)]. OUT best float64[≥ T, K]."""
    K = node.shape[1]
    for v in range(K):
        best[0, v] = node[0, v]
    for t in range(1, T):
        before, row = best[t - 1], best[t]
        if has_pairs:
            for v in range(K):
                row[v] = -np.inf
                for u in range(K):
                    y0 = before[u] + (edges[u, v] + pairs[t, v * K + u])
                    row[v] = y0 if y0 > row[v] else row[v]
        else:
            best_step(before, edges, row)
        for v in range(K):
            row[v] += node[t, v]


@part
def _search(edges, has_pairs, T, buffers):
    """Viterbi: the best labeling, buffers.labels, and its score. IN buffers.node, buffers.pairs; WORK buffers.best."""
    best, pairs, labels = buffers.best, buffers.pairs, buffers.labels
    K = best.shape[1]
    _forward(edges, pairs, has_pairs, buffers.node, best, T)
    last = 0
    for v in range(1, K):
        if best[T - 1, v] > best[T - 1, last]:
            last = v
    labels[T - 1] = last
    for t in range(T - 1, 0, -1):
        v, u, largest = labels[t], 0, -np.inf
        for k in range(K):
            y = best[t - 1, k] + (edges[k, v] + pairs[t, v * K + k] if has_pairs else edges[k, v])
            if y > largest:
                u, largest = k, y
        labels[t - 1] = u
    return best[T - 1, last]


@kernel
def losses(chunk, chain, w, edges, buffers):
    """Σ_i c_i (max_Y [cost(Y) + score(Y)] − score of the truth) over a chunk, at weights w. IN edges as in State."""
    K, total = len(chain.start), 0.0
    for i in range(len(chunk.importance)):
        if chunk.importance[i] == 0.0:
            continue
        begin, T = _score(chunk, chain, i, w, buffers)
        value = _search(edges, chain.has_pairs, T, buffers)
        for t in range(T):
            v = chunk.labels[begin + t]
            value -= buffers.node[t, v]
            if t > 0:
                u = chunk.labels[begin + t - 1]
                value -= edges[u, v] + (buffers.pairs[t, v * K + u] if chain.has_pairs else 0.0)
        total += chunk.importance[i] * value
    return total


@part
def _add(values, seen, listed, n, at, amount):
    """values[at] += amount; where it is new it starts from 0 and is listed. Returns how many are."""
    if not seen[at]:
        seen[at] = 1
        values[at] = 0.0
        listed[n] = at
        n += 1
    values[at] += amount
    return n


@part
def _list(buffers, n, cell, amount):
    """Add to a cell of the direction; a new one is listed. Returns how many are."""
    return _add(buffers.cells, buffers.seen, buffers.listed, n, cell, amount)


@part
def _direct(chain, labels, begin, T, old, i, buffers):
    """The direction B in cells; `listed` has its cells, first those of the block in its order. How many."""
    K, n = len(chain.start), 0
    for q in range(old.begin[i], old.end[i]):
        n = _list(buffers, n, old.cells[q], -old.values[q])
    for t in range(T):
        v, predicted = labels[begin + t], buffers.labels[t]
        if v != predicted:
            n = _list(buffers, n, t * K + v, 1.0)
            n = _list(buffers, n, t * K + predicted, -1.0)
        if t > 0:
            u, before = labels[begin + t - 1], buffers.labels[t - 1]
            if v != predicted or u != before:
                base = T * K + (t * K * K if chain.has_pairs else 0)
                n = _list(buffers, n, base + v * K + u, 1.0)
                n = _list(buffers, n, base + predicted * K + before, -1.0)
    return n


@part
def _touch(buffers, n, slot, amount):
    """Add to the move of a weight; a new one is listed. Returns how many are."""
    return _add(buffers.moved, buffers.marked, buffers.touched, n, slot, amount)


@part
def _spread(features, real, i, t, output, amount, buffers, n):
    """Move the weights of position t of sequence i for one output. Returns how many weights are listed."""
    p = features.begin[i] + t
    valued = len(features.spread_value) + len(features.entry_value) > 0
    for q in range(features.spread_ptr[p], features.spread_ptr[p + 1]):
        slot = features.spread[q] + output
        if real[slot]:
            n = _touch(buffers, n, slot, amount * (features.spread_value[q] if valued else 1.0))
    for q in range(features.entry_ptr[p], features.entry_ptr[p + 1]):
        if features.entry_output[q] == output:
            n = _touch(buffers, n, features.entry_slot[q], amount * (features.entry_value[q] if valued else 1.0))
    return n


@part
def _pull(chunk, chain, edges, i, factor, n_cells, buffers):
    """Take the direction to the weights, times `factor`, into buffers.moved and buffers.touched.

    Returns how many are touched, −Σ B·score, costs in it, and −Σ B·cost.
    """
    K, n, rise, cost = len(chain.start), 0, 0.0, 0.0
    T = chunk.length[i]
    for q in range(n_cells):
        cell = buffers.listed[q]
        b = buffers.cells[cell]
        if cell < T * K:
            t, v = cell // K, cell % K
            rise -= b * buffers.node[t, v]
            cost -= b * chain.costs[chunk.labels[chunk.begin[i] + t], v]
            n = _spread(chunk.nodes, chain.real, i, t, v, factor * b, buffers, n)
            continue
        t, pair = (cell - T * K) // (K * K), (cell - T * K) % (K * K)
        v, u = pair // K, pair % K
        rise -= b * edges[u, v]
        if chain.arc_slot[u, v] >= 0:
            n = _touch(buffers, n, chain.arc_slot[u, v], factor * b)
        if chain.has_pairs:
            rise -= b * buffers.pairs[t, pair]
            n = _spread(chunk.pairs, chain.real, i, t, pair, factor * b, buffers, n)
    return n, rise, cost


@part
def _move(chain, state, buffers, n, step, late):
    """weights += step·moved, late += late·step·moved, and the table of edges to match; the marks are wiped off."""
    arcs = len(chain.arc_from)
    for q in range(n):
        slot = buffers.touched[q]
        buffers.marked[slot] = 0
        state.weights[slot] += step * buffers.moved[slot]
        state.late[slot] += late * step * buffers.moved[slot]
        a = slot - chain.arc_base
        if 0 <= a < arcs:
            state.edges[chain.arc_from[a], chain.arc_to[a]] = state.weights[slot]


@part
def _keep(old, new, i, tail, buffers, n_cells, step):
    """The block after a step, D + step·B, from `tail` on; cells that are 0 are dropped. Returns the new tail."""
    begin, size = old.begin[i], old.end[i] - old.begin[i]
    new.begin[i] = tail
    for q in range(n_cells):
        cell = buffers.listed[q]
        buffers.seen[cell] = 0
        value = (old.values[begin + q] if q < size else 0.0) + step * buffers.cells[cell]
        if value != 0.0:
            new.cells[tail], new.values[tail] = cell, value
            tail += 1
    new.end[i] = tail
    return tail


@kernel
def take_steps(chunk, chain, order, l2, state, old, new, buffers):
    """A step for each sequence of a chunk, in the order given; returns how many cells the new blocks have.

    IN  chunk, chain, order int64[s], l2, old (Blocks); IN/OUT state; WORK buffers
    OUT new (Blocks), with space for all old cells and four more per position
    """
    tail = 0
    for i in order:
        c = chunk.importance[i]
        n_cells, step = 0, 0.0
        if c > 0.0:
            begin, T = _score(chunk, chain, i, state.weights, buffers)
            _search(state.edges, chain.has_pairs, T, buffers)
            n_cells = _direct(chain, chunk.labels, begin, T, old, i, buffers)
            n, rise, cost = _pull(chunk, chain, state.edges, i, c / (2.0 * l2), n_cells, buffers)
            bend = 0.0
            for q in range(n):
                bend += 2.0 * l2 * buffers.moved[buffers.touched[q]] ** 2
            rise *= c
            if rise > 0.0:  # rounding alone makes it less
                step = 1.0 if bend <= rise else rise / bend
            state.totals[0] += 1.0
            late = state.totals[0] * (state.totals[0] - 1.0)
            state.totals[1] += step * c * cost
            state.totals[2] += late * step * c * cost
            _move(chain, state, buffers, n, step, late)
        tail = _keep(old, new, i, tail, buffers, n_cells, step)
    return tail
