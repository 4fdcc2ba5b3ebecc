"""Sums over the labelings of a chain of histories (see `structure.histories`), one sequence after the other.

A sequence has the rows begin … end−1 of a chunk. β_t(s) sums over what may follow history s after position t, and is
kept in row t − base of `beta`; a call covers t0 … t1−1, so that a long sequence is cut into short calls and blocks. The
backward pass comes first; the forward pass then works with probabilities, which need no scale of their own.

    E_t(a) = e^{ψ(a)} e^{node_t(k)} β_t(next(a)) / c_t       the weight of arc a, with label k, into position t

The histories are the arrays back_off (S), children, arc_ptr (S+1), arc_state, arc_label, arc_next, arc_back_off (A) of
`Histories`, all IN. IN arrays are read, OUT arrays are written, IN/OUT both.

An index that is cast to uint32 is known not to be negative: without Python's rule for negative ones, loops that gather
and scatter take half the time.
"""

from __future__ import annotations

import numpy as np

from hedgerow.jit import kernel
from hedgerow.legend import AnyArray, CodeArray, FloatArray, IndexArray

FAINT = 1e-280  # as in `chain`
# A difference has the digits of the larger number. One that is smaller than that by CANCELLED is summed directly.
CANCELLED = 1e-6
# How much probability may hang on a difference before it is summed directly: the error is 1e-16 of it.
AT_STAKE = 1e4
# Probabilities under this do not change a sum that is 1 in its last digit, nor do ten thousand of them.
NEGLIGIBLE = 1e-20


@kernel
def _list_arcs(s: int, back_off: CodeArray, arc_ptr: CodeArray, arc_back_off: CodeArray, listed: CodeArray) -> int:
    """The arcs that labels take after history s: its own, then those of shorter ones for labels it has not seen.

    listed (K,) OUT; returns how many.
    """
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


@kernel
def _find_arc(s: int, label: int, arc_ptr: CodeArray, arc_label: CodeArray) -> int:
    """The arc of history s for a label, −1 where it has none."""
    low, high = arc_ptr[s], arc_ptr[s + 1]
    while low < high:
        middle = (low + high) // 2
        if arc_label[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low if low < arc_ptr[s + 1] and arc_label[low] == label else -1


@kernel
def follow(
    labels: AnyArray,
    first: AnyArray,
    start: int,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arcs: IndexArray,
) -> None:
    """The arc that each label of a labeling takes; −1 where there is none, and to the end of that sequence.

    labels (n,) all known IN, first (n+1,) IN, 1 where a sequence starts; arcs (n,) OUT.
    """
    s = start
    for t in range(labels.shape[0]):
        if first[t]:
            s = start
        a = -1
        while s >= 0 and a < 0:
            a = _find_arc(s, labels[t], arc_ptr, arc_label)
            s = back_off[s] if a < 0 else arc_next[a]
        arcs[t] = a


@kernel
def _weigh_arcs(
    node_exp: FloatArray,
    scale: float,
    arc_exp: FloatArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    beta: FloatArray,
    label_weights: FloatArray,
    arc_weights: FloatArray,
) -> None:
    """arc_weights[a] = E_t(a). node_exp (P,), scale, beta (S,) of position t IN; label_weights (K,) scratch,
    arc_weights (A,) OUT."""
    inverse = 1.0 / scale
    for v in range(label_weights.shape[0]):
        label_weights[v] = node_exp[v] * inverse
    for a in range(arc_exp.shape[0]):
        arc_weights[a] = arc_exp[a] * label_weights[np.uint32(arc_label[a])] * beta[np.uint32(arc_next[a])]


@kernel
def _leads_on(
    n_listed: int,
    listed: CodeArray,
    node: FloatArray,
    arc_scores: FloatArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    beta: FloatArray,
) -> bool:
    """Whether one of the listed arcs into a position is possible; node (K,), beta (S,) of that position IN."""
    for i in range(n_listed):
        a = listed[i]
        if arc_scores[a] + node[arc_label[a]] > -np.inf and beta[arc_next[a]] > 0.0:
            return True
    return False


@kernel
def backward(
    node: FloatArray,
    node_exp: FloatArray,
    arc_scores: FloatArray,
    arc_exp: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    beta: FloatArray,
    scale: FloatArray,
    label_weights: FloatArray,
    arc_weights: FloatArray,
    largest: FloatArray,
    listed: CodeArray,
    base: int,
    end: int,
    t0: int,
    t1: int,
) -> bool:
    """β from t1−1 down to t0, with β = 1 at end−1, O(s) the labels seen after s and b its back-off:

        β_{t−1}(s) = Σ_{k∈O(s)} E_t(s,k) + [β_{t−1}(b) − Σ_{k∈O(s)} E_t(b,k)],   c_t = max_s β_t(s).

    The bracket is the sum of the labels that are not in O(s). Where β cancels they are summed one by one; `largest` is
    the largest β that went into it by way of b. Returns at once, and True, where a β that is possible is under 1e-280:
    the sequence must then be redone.

    node (n, K), node_exp (n, P) IN, arc_scores, arc_exp (A,) IN; beta (rows, S) IN/OUT (row t1 is read), scale (n,) =
    c_t OUT; label_weights (K,), arc_weights (A,), largest (S,), listed (K,) scratch.
    """
    S = back_off.shape[0]
    for t in range(t1 - 1, t0 - 1, -1):
        row = beta[t - base]
        if t == end - 1:
            scale[t] = 1.0
            for s in range(S):
                row[s] = 1.0
            continue
        ahead = beta[t + 1 - base]
        _weigh_arcs(node_exp[t + 1], scale[t + 1], arc_exp, arc_label, arc_next, ahead, label_weights, arc_weights)
        top = 0.0
        for s in range(S):
            b = back_off[s]
            own = 0.0
            rest = 0.0 if b < 0 else row[b]
            for a in range(np.uint32(arc_ptr[s]), np.uint32(arc_ptr[s + 1])):
                own += arc_weights[a]
                if b >= 0:
                    rest -= arc_weights[np.uint32(arc_back_off[a])]
            own += max(rest, 0.0)
            before = 0.0 if b < 0 else largest[b]
            if own < CANCELLED * before:
                own = before = 0.0
                for i in range(_list_arcs(s, back_off, arc_ptr, arc_back_off, listed)):
                    own += arc_weights[listed[i]]
            row[s] = own
            largest[s] = max(own, before)
            top = max(top, own)
        for s in range(S):
            if row[s] < FAINT:
                n_listed = _list_arcs(s, back_off, arc_ptr, arc_back_off, listed)
                if _leads_on(n_listed, listed, node[t + 1], arc_scores, arc_label, arc_next, ahead):
                    return True
        scale[t] = top if top > 0.0 else 1.0
    return False


@kernel
def start_sum(
    node_exp: FloatArray,
    scale: float,
    arc_exp: FloatArray,
    start: int,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    beta: FloatArray,
    listed: CodeArray,
) -> float:
    """β before the first label. node_exp (P,), scale, beta (S,) of the first position IN, listed (K,) scratch."""
    total = 0.0
    for i in range(_list_arcs(start, back_off, arc_ptr, arc_back_off, listed)):
        a = listed[i]
        total += arc_exp[a] * node_exp[arc_label[a]] * beta[arc_next[a]]
    return total / scale


@kernel
def _all_flows(
    back_off: CodeArray,
    arc_state: CodeArray,
    arc_back_off: CodeArray,
    alpha: AnyArray,
    subtree: AnyArray,
    flows: AnyArray,
) -> None:
    """subtree(s) = the α of s and of all that back off to it, directly or not, and

        flows(s,k) = subtree(s) − Σ_{c: b(c)=s, k∈O(c)} subtree(c),   what `_flow` sums directly.

    alpha (S,) IN, subtree (S,), flows (A,) OUT.
    """
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
def _flow(
    s: int,
    label: int,
    alpha: FloatArray,
    subtree: FloatArray,
    children: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
) -> float:
    """The α of all histories whose `label` takes the arc of s: of s, and of those that back off to it without having
    seen the label. alpha, subtree (S,) IN."""
    total = float(alpha[s])
    for c in range(children[s], children[s + 1]):
        if _find_arc(c, label, arc_ptr, arc_label) < 0:
            total += subtree[c]
    return total


@kernel
def forward(
    node_exp: FloatArray,
    arc_exp: FloatArray,
    back_off: CodeArray,
    children: CodeArray,
    arc_ptr: CodeArray,
    arc_state: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    beta: FloatArray,
    scale: FloatArray,
    sequence_weight: float,
    alpha: FloatArray,
    node_probs: FloatArray,
    arc_sums: FloatArray,
    label_weights: FloatArray,
    subtree: FloatArray,
    flows: FloatArray,
    state_probs: FloatArray,
    base: int,
    t0: int,
    t1: int,
) -> None:
    """Probabilities of arcs, t from t0 to t1−1, with α_t(s) = P_t(s) / β_t(s):

        P_t(a) = flow_t(a) · E_t(a),   flow_t(s,k) = Σ α_{t−1}(r) over the histories r whose label k takes the arc of s.

    P_t(v) is the sum over the arcs of label v, P_t(s) over those that lead to s. A flow is a difference (`_all_flows`);
    where more probability than AT_STAKE would hang on it, it is summed directly. A history with P_t(s) under NEGLIGIBLE
    is left out, and with it most of the work where labels are nearly certain.

    beta (rows, S), scale (n,) of `backward` IN; alpha (S,) of t0−1 IN/OUT, node_probs (n, K) OUT, arc_sums (A,) +=
    sequence_weight · P_t(a) IN/OUT; label_weights (K,), flows (A,), subtree, state_probs (S,) scratch.
    """
    S = back_off.shape[0]
    for t in range(t0, t1):
        row = beta[t - base]
        label_probs = node_probs[t]
        inverse = 1.0 / scale[t]
        for v in range(label_weights.shape[0]):
            label_weights[v] = node_exp[t, v] * inverse
            label_probs[v] = 0.0
        _all_flows(back_off, arc_state, arc_back_off, alpha, subtree, flows)
        for s in range(S):
            state_probs[s] = 0.0
        total = 0.0
        for a in range(arc_state.shape[0]):
            whole = subtree[np.uint32(arc_state[a])]
            if whole == 0.0:
                continue
            k, ahead = np.uint32(arc_label[a]), np.uint32(arc_next[a])
            weight = arc_exp[a] * label_weights[k] * row[ahead]
            flow = flows[a]
            if whole * weight > AT_STAKE:
                flow = _flow(arc_state[a], arc_label[a], alpha, subtree, children, arc_ptr, arc_label)
            p = max(flow, 0.0) * weight
            arc_sums[a] += sequence_weight * p
            label_probs[k] += p
            state_probs[ahead] += p
            total += p
        for s in range(S):  # the total is 1 but for rounding, which must not add up along the sequence
            alpha[s] = state_probs[s] / (row[s] * total) if state_probs[s] > NEGLIGIBLE else 0.0


@kernel
def sums(
    node: FloatArray,
    node_exp: FloatArray,
    arc_scores: FloatArray,
    arc_exp: FloatArray,
    offsets: IndexArray,
    first: int,
    last: int,
    start: int,
    back_off: CodeArray,
    children: CodeArray,
    arc_ptr: CodeArray,
    arc_state: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    beta: FloatArray,
    scale: FloatArray,
    totals: FloatArray,
    weights: FloatArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    arc_sums: FloatArray,
    label_weights: FloatArray,
    arc_weights: FloatArray,
    by_state: FloatArray,
    listed: CodeArray,
) -> int:
    """`backward`, `start_sum` and, where there are weights, `forward` of the sequences first … last−1, each of which
    fits the rows of beta; returns the first one that must be redone, last where there is none.

    offsets (s+1,) IN; totals (s,) of `start_sum` OUT; weights (s,) IN, or (0,) where log Z is all that is asked for;
    by_state (2, S) scratch; all else as in these three.
    """
    for i in range(first, last):
        t0, t1 = offsets[i], offsets[i + 1]
        if backward(
            node, node_exp, arc_scores, arc_exp, back_off, arc_ptr, arc_label, arc_next, arc_back_off, beta, scale,
            label_weights, arc_weights, by_state[0], listed, t0, t1, t0, t1,
        ):  # fmt: skip
            return i
        totals[i] = start_sum(
            node_exp[t0], scale[t0], arc_exp, start, back_off, arc_ptr, arc_label, arc_next, arc_back_off, beta[0],
            listed,
        )  # fmt: skip
        if not totals[i] >= FAINT:
            return i
        if weights.shape[0] == 0:
            continue
        for s in range(alpha.shape[0]):
            alpha[s] = 0.0
        alpha[start] = 1.0 / totals[i]
        forward(
            node_exp, arc_exp, back_off, children, arc_ptr, arc_state, arc_label, arc_next, arc_back_off, beta, scale,
            weights[i], alpha, node_probs, arc_sums, label_weights, by_state[0], arc_weights, by_state[1], t0, t0, t1,
        )  # fmt: skip
    return last


@kernel
def reach(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_state: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    reached: IndexArray,
    subtree: IndexArray,
    flows: IndexArray,
    t0: int,
    t1: int,
) -> int:
    """The first position from t0 on that no legal way reaches, t1 where there is none. Flows count histories: exactly.

    node (n, K) IN; reached (S,), 1 for the histories possible at t0−1, IN/OUT; subtree (S,), flows (A,) scratch.
    """
    for t in range(t0, t1):
        _all_flows(back_off, arc_state, arc_back_off, reached, subtree, flows)
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
