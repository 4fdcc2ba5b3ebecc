"""A beam over the histories of one sequence: at each position the w with the best scores. Decoding, and sums over what
the beam keeps.

node (T, K) are the scores of the sequence. Row 0 of the arrays of the beam is the time before the first label, row t
the time after t labels; a call covers the positions t0 … t1−1 and writes the rows t0+1 … t1. Other conventions as in
`histories`; scores are logs throughout. `place` (S,) is −1 everywhere, before and after a call.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.jit import kernel
from hedgerow.legend import CodeArray, FloatArray, IndexArray


@kernel
def _list_arcs(s: int, back_off: CodeArray, arc_ptr: CodeArray, arc_back_off: CodeArray, listed: CodeArray) -> int:
    """As in `histories`: the arcs that labels take after history s. listed (K,) OUT; returns how many."""
    count = 0
    for a in range(arc_ptr[s], arc_ptr[s + 1]):
        listed[count] = a
        count += 1
    longer, q = s, back_off[s]
    while q >= 0:
        seen = arc_ptr[longer]
        for a in range(arc_ptr[q], arc_ptr[q + 1]):
            if seen < arc_ptr[longer + 1] and arc_back_off[seen] == a:
                seen += 1
            else:
                listed[count] = a
                count += 1
        longer, q = q, back_off[q]
    return count


@kernel
def _expand(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    states: CodeArray,
    scores: FloatArray,
    n_kept: int,
    place: CodeArray,
    new_states: CodeArray,
    new_scores: FloatArray,
    came_by: IndexArray,
    listed: CodeArray,
) -> int:
    """The histories that those of a beam lead to by one label, each once, with its best score; returns how many.

    node (K,) IN, states, scores (w,) IN; place (S,) OUT, the number of each new history; new_states, new_scores,
    came_by (C,) OUT, came_by = r · A + a for arc a after the r-th of the beam; listed (K,) scratch.
    """
    A = arc_label.shape[0]
    count = 0
    for r in range(n_kept):
        for i in range(_list_arcs(states[r], back_off, arc_ptr, arc_back_off, listed)):
            a = listed[i]
            score = scores[r] + arc_scores[a] + node[arc_label[a]]
            if score == -np.inf:
                continue
            c = place[arc_next[a]]
            if c < 0:
                c = count
                place[arc_next[a]] = c
                new_states[c], new_scores[c] = arc_next[a], -np.inf
                count += 1
            if score > new_scores[c]:
                new_scores[c], came_by[c] = score, r * A + a
    return count


@kernel
def _choose(new_scores: FloatArray, count: int, kept: IndexArray) -> int:
    """The places of the w best scores, best first, the earlier of equal ones. kept (w,) OUT; returns how many."""
    width = kept.shape[0]
    n_kept = 0
    for c in range(count):
        at = n_kept
        if n_kept == width:
            if not new_scores[c] > new_scores[kept[width - 1]]:
                continue
            at = width - 1
        else:
            n_kept += 1
        while at > 0 and new_scores[c] > new_scores[kept[at - 1]]:
            kept[at] = kept[at - 1]
            at -= 1
        kept[at] = c
    return n_kept


@kernel
def search(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    always: CodeArray,
    states: CodeArray,
    scores: FloatArray,
    n_kept: IndexArray,
    came_by: IndexArray,
    place: CodeArray,
    new_states: CodeArray,
    new_scores: FloatArray,
    new_came_by: IndexArray,
    kept: IndexArray,
    listed: CodeArray,
    t0: int,
    t1: int,
) -> int:
    """Extend the beam by one label after the other; returns the position where nothing is left, or t1.

    always (T,) IN: a history that is kept in place of the last where it is not among the best, −1 for none; states,
    scores, came_by (T+1, w), n_kept (T+1,) IN/OUT (row t0 is read), came_by as in `_expand`; new_states, new_scores,
    new_came_by (min(w K, S),), kept (w,), listed (K,) scratch.
    """
    for t in range(t0, t1):
        count = _expand(
            node[t],
            arc_scores,
            back_off,
            arc_ptr,
            arc_label,
            arc_next,
            arc_back_off,
            states[t],
            scores[t],
            n_kept[t],
            place,
            new_states,
            new_scores,
            new_came_by,
            listed,
        )
        n_kept[t + 1] = _choose(new_scores, count, kept)
        wanted = place[always[t]] if always[t] >= 0 else -1
        for r in range(n_kept[t + 1]):
            if kept[r] == wanted:
                wanted = -1
        if wanted >= 0:
            kept[n_kept[t + 1] - 1] = wanted
        for r in range(n_kept[t + 1]):
            c = kept[r]
            states[t + 1, r], scores[t + 1, r], came_by[t + 1, r] = new_states[c], new_scores[c], new_came_by[c]
        for c in range(count):
            place[new_states[c]] = -1
        if count == 0:
            return t
    return t1


@kernel
def _score_kept(
    s: int,
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    place: CodeArray,
    log_beta: FloatArray,
    listed: CodeArray,
    totals: FloatArray,
) -> int:
    """ψ(a) + node(k) + log β(next(a)) of the arcs after s that lead to a history with a place; returns how many.

    node (K,), place (S,) and log_beta (w,) of the position they lead to IN; listed, totals (K,) OUT.
    """
    kept = 0
    for i in range(_list_arcs(s, back_off, arc_ptr, arc_back_off, listed)):
        a = listed[i]
        c = place[arc_next[a]]
        if c >= 0:
            listed[kept] = a
            totals[kept] = arc_scores[a] + node[arc_label[a]] + log_beta[c]
            kept += 1
    return kept


@kernel
def backward(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    states: CodeArray,
    n_kept: IndexArray,
    log_beta: FloatArray,
    tops: FloatArray,
    place: CodeArray,
    listed: CodeArray,
    totals: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """log β − top of the kept histories, over the ways that stay in the beam; rows t1−1 down to t0 from row t1.

    states (T+1, w), n_kept (T+1,) of `search` IN; log_beta (T+1, w) IN/OUT, its row T is 0; tops (T+1,) OUT: what makes
    the largest log β of a row 0; listed, totals (K,) scratch.
    """
    for t in range(t1 - 1, t0 - 1, -1):
        for c in range(n_kept[t + 1]):
            place[states[t + 1, c]] = c
        top = -np.inf
        for r in range(n_kept[t]):
            s = states[t, r]
            count = _score_kept(
                s,
                node[t],
                arc_scores,
                back_off,
                arc_ptr,
                arc_label,
                arc_next,
                arc_back_off,
                place,
                log_beta[t + 1],
                listed,
                totals,
            )
            largest = -np.inf
            for i in range(count):
                largest = max(largest, totals[i])
            log_beta[t, r] = -np.inf
            if largest > -np.inf:
                total = 0.0
                for i in range(count):
                    total += math.exp(totals[i] - largest)
                log_beta[t, r] = largest + math.log(total)
            top = max(top, log_beta[t, r])
        tops[t] = top
        for r in range(n_kept[t]):
            log_beta[t, r] -= top
        for c in range(n_kept[t + 1]):
            place[states[t + 1, c]] = -1


@kernel
def forward(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    states: CodeArray,
    n_kept: IndexArray,
    log_beta: FloatArray,
    sequence_weight: float,
    probs: FloatArray,
    node_probs: FloatArray,
    arc_sums: FloatArray,
    place: CodeArray,
    listed: CodeArray,
    totals: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """Probabilities of the kept histories, labels and arcs among the labelings that stay in the beam.

    states, n_kept, log_beta as in `backward` IN; probs (T+1, w) IN/OUT (row t0 is read), node_probs (T, K) OUT,
    arc_sums (A,) += sequence_weight · P_t(a) IN/OUT; listed, totals (K,) scratch.
    """
    for t in range(t0, t1):
        for v in range(node_probs.shape[1]):
            node_probs[t, v] = 0.0
        for c in range(n_kept[t + 1]):
            place[states[t + 1, c]] = c
            probs[t + 1, c] = 0.0
        for r in range(n_kept[t]):
            if probs[t, r] == 0.0:
                continue
            s = states[t, r]
            count = _score_kept(
                s,
                node[t],
                arc_scores,
                back_off,
                arc_ptr,
                arc_label,
                arc_next,
                arc_back_off,
                place,
                log_beta[t + 1],
                listed,
                totals,
            )
            largest = -np.inf
            for i in range(count):
                largest = max(largest, totals[i])
            total = 0.0
            for i in range(count):
                totals[i] = math.exp(totals[i] - largest)
                total += totals[i]
            for i in range(count):
                a, p = listed[i], totals[i] / total * probs[t, r]
                arc_sums[a] += sequence_weight * p
                node_probs[t, arc_label[a]] += p
                probs[t + 1, place[arc_next[a]]] += p
        for c in range(n_kept[t + 1]):
            place[states[t + 1, c]] = -1
