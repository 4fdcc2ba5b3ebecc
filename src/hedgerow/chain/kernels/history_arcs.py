"""The arcs of histories (see `structure.histories`): which ones labels take, and what a labeling or a chunk can reach.

An index that is cast to uint32 is known not to be negative: without Python's rule for negative ones, loops that gather
and scatter take half the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.legend import CodeArray, FloatArray


class HistoryArcs(NamedTuple):
    """S histories and A arcs, as the arrays of `Histories`, all IN."""

    start: int
    back_off: CodeArray  # (S,)
    children: CodeArray  # (S+1,)
    arc_ptr: CodeArray  # (S+1,)
    arc_state: CodeArray  # (A,), and so are all that follow
    arc_label: CodeArray
    arc_next: CodeArray
    arc_back_off: CodeArray


class HistoryBuffers(NamedTuple):
    """What sums over histories work in; nothing in it lives from one call to the next."""

    by_label: FloatArray  # (K,)
    by_arc: FloatArray  # (A,)
    by_state: FloatArray  # (2, S)
    listed: CodeArray  # (K,)


@part
def list_arcs(histories, s, listed):
    """The arcs that labels take after history s: those of s, then those of shorter ones for labels s has not seen.

    listed (K,) OUT; returns how many.
    """
    back_off, arc_ptr, arc_back_off = histories.back_off, histories.arc_ptr, histories.arc_back_off
    count = 0
    for a in range(arc_ptr[s], arc_ptr[s + 1]):
        listed[count] = a
        count += 1
    longer, q = s, back_off[s]
    while q >= 0:
        seen = arc_ptr[longer]  # the arcs of the longer history name those at q in rising order
        for a in range(arc_ptr[q], arc_ptr[q + 1]):
            if seen < arc_ptr[longer + 1] and arc_back_off[seen] == a:
                seen += 1
            else:
                listed[count] = a
                count += 1
        longer, q = q, back_off[q]
    return count


@part
def find_arc(histories, s, label):
    """The arc of history s for a label, −1 where it has none."""
    arc_ptr, arc_label = histories.arc_ptr, histories.arc_label
    low, high = arc_ptr[s], arc_ptr[s + 1]
    while low < high:
        middle = (low + high) // 2
        if arc_label[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low if low < arc_ptr[s + 1] and arc_label[low] == label else -1


@kernel
def follow(labels, first, histories, arcs):
    """The arc that each label of a labeling takes; −1 where there is none, and to the end of that sequence.

    labels (n,) all known IN, first (n+1,) IN, 1 where a sequence starts; arcs (n,) OUT.
    """
    s = histories.start
    for t in range(labels.shape[0]):
        if first[t]:
            s = histories.start
        a = -1
        while s >= 0 and a < 0:
            a = find_arc(histories, s, labels[t])
            s = histories.back_off[s] if a < 0 else histories.arc_next[a]
        arcs[t] = a


@part
def all_flows(histories, alpha, subtree, flows):
    """subtree(s) = the α of s and of all that back off to it, directly or not, and

        flows(s,k) = subtree(s) − Σ_{c: b(c)=s, k∈O(c)} subtree(c),   O(c) the labels seen after c:

    the α of the histories whose label k takes the arc of s.

    alpha (S,) IN, subtree (S,), flows (A,) OUT.
    """
    back_off, arc_state, arc_back_off = histories.back_off, histories.arc_state, histories.arc_back_off
    S = back_off.shape[0]
    for s in range(S):
        subtree[s] = alpha[s]
    for s in range(S - 1, -1, -1):
        if back_off[s] >= 0:
            subtree[np.uint32(back_off[s])] += subtree[s]
    for a in range(arc_state.shape[0]):
        x = subtree[np.uint32(arc_state[a])]
        flows[a] = x
        if arc_back_off[a] >= 0:
            flows[np.uint32(arc_back_off[a])] -= x


@kernel
def reach(node, arc_scores, histories, reached, subtree, flows, t0, t1):
    """The first position from t0 on that no legal way reaches, t1 where there is none. Flows count histories: exactly.

    node (n, K) IN; reached (S,), 1 for the histories possible at t0−1, IN/OUT; subtree (S,), flows (A,) scratch.
    """
    arc_label, arc_next = histories.arc_label, histories.arc_next
    for t in range(t0, t1):
        all_flows(histories, reached, subtree, flows)
        for s in range(reached.shape[0]):
            reached[s] = 0
        ways = 0
        for a in range(arc_label.shape[0]):
            if flows[a] > 0 and arc_scores[a] + node[t, arc_label[a]] > -np.inf:
                reached[arc_next[a]] = 1
                ways += 1
        if ways == 0:
            return t
    return t1
