"""Sums over the labelings of a chain of histories (see `structure.histories`), one sequence after the other.

A sequence has the rows begin … end−1 of a chunk. β_t(s) sums over what may follow history s after position t, and is
kept in row t − base of `beta`; a call covers t0 … t1−1, so that a long sequence is cut into short calls and blocks. The
backward pass comes first; the forward pass then works with probabilities, which need no scale of their own.

    E_t(a) = e^{ψ(a)} e^{node_t(k)} β_t(next(a)) / c_t       the weight of arc a, with label k, into position t

IN arrays are read, OUT arrays are written, IN/OUT both. Casts to uint32 are explained in `history_arcs`.
"""

import numpy as np

from hedgerow.chain.kernels.chain import UNDERFLOW
from hedgerow.chain.kernels.history_arcs import all_flows, find_arc, list_arcs
from hedgerow.jit import kernel, part

# A difference has the digits of the larger number. One that is smaller than that by CANCELLED is summed directly.
CANCELLED = 1e-6
# How much probability may hang on a difference before it is summed directly: the error is 1e-16 of it.
AT_STAKE = 1e4
# Probabilities under this do not change a sum that is 1 in its last digit, nor do ten thousand of them.
NEGLIGIBLE = 1e-20


@part
def _weigh_arcs(node_exp, scale, arc_exp, histories, beta, label_weights, arc_weights):
    """arc_weights[a] = E_t(a). node_exp (P,), scale, beta (S,) of position t IN; label_weights (K,) scratch,
    arc_weights (A,) OUT."""
    arc_label, arc_next = histories.arc_label, histories.arc_next
    inverse = 1.0 / scale
    for v in range(label_weights.shape[0]):
        label_weights[v] = node_exp[v] * inverse
    for a in range(arc_exp.shape[0]):
        arc_weights[a] = arc_exp[a] * label_weights[np.uint32(arc_label[a])] * beta[np.uint32(arc_next[a])]


@part
def _leads_on(s, node, arc_scores, histories, beta, buffers):
    """Whether a label is possible after history s; node (K,), beta (S,) of the position that follows IN."""
    for i in range(list_arcs(histories, s, buffers.listed)):
        a = buffers.listed[i]
        if arc_scores[a] + node[histories.arc_label[a]] > -np.inf and beta[histories.arc_next[a]] > 0.0:
            return True
    return False


@kernel
def backward(node, node_exp, arc_scores, arc_exp, histories, beta, scale, buffers, base, end, t0, t1):
    """β from t1−1 down to t0, with β = 1 at end−1, O(s) the labels seen after s and b its back-off:

        β_{t−1}(s) = Σ_{k∈O(s)} E_t(s,k) + [β_{t−1}(b) − Σ_{k∈O(s)} E_t(b,k)],   c_t = max_s β_t(s).

    The bracket is the sum of the labels that are not in O(s). Where β cancels they are summed one by one; `largest` is
    the largest β that went into it by way of b. Returns at once, and True, where a β that is possible underflows: the
    sequence must then be redone.

    node (n, K), node_exp (n, P) IN, arc_scores, arc_exp (A,) IN; beta (rows, S) IN/OUT (row t1 is read), scale (n,) =
    c_t OUT.
    """
    back_off, arc_ptr, arc_back_off = histories.back_off, histories.arc_ptr, histories.arc_back_off
    arc_weights, largest, listed = buffers.by_arc, buffers.by_state[0], buffers.listed
    S = back_off.shape[0]
    for t in range(t1 - 1, t0 - 1, -1):
        row = beta[t - base]
        if t == end - 1:
            scale[t] = 1.0
            for s in range(S):
                row[s] = 1.0
            continue
        ahead = beta[t + 1 - base]
        _weigh_arcs(node_exp[t + 1], scale[t + 1], arc_exp, histories, ahead, buffers.by_label, arc_weights)
        top = 0.0
        for s in range(S):
            b = back_off[s]
            total = 0.0
            rest = 0.0 if b < 0 else row[b]
            for a in range(np.uint32(arc_ptr[s]), np.uint32(arc_ptr[s + 1])):
                total += arc_weights[a]
                if b >= 0:
                    rest -= arc_weights[np.uint32(arc_back_off[a])]
            total += max(rest, 0.0)
            before = 0.0 if b < 0 else largest[b]
            if total < CANCELLED * before:
                total = before = 0.0
                for i in range(list_arcs(histories, s, listed)):
                    total += arc_weights[listed[i]]
            row[s] = total
            largest[s] = max(total, before)
            top = max(top, total)
        for s in range(S):
            if row[s] < UNDERFLOW and _leads_on(s, node[t + 1], arc_scores, histories, ahead, buffers):
                return True
        scale[t] = top if top > 0.0 else 1.0
    return False


@kernel
def start_sum(node_exp, scale, arc_exp, histories, beta, buffers):
    """β before the first label. node_exp (P,), scale, beta (S,) of the first position IN."""
    total = 0.0
    for i in range(list_arcs(histories, histories.start, buffers.listed)):
        a = buffers.listed[i]
        total += arc_exp[a] * node_exp[histories.arc_label[a]] * beta[histories.arc_next[a]]
    return total / scale


@part
def _flow(s, label, alpha, subtree, histories):
    """The α of all histories whose `label` takes the arc of s: of s, and of those that back off to it without having
    seen the label. alpha, subtree (S,) IN."""
    total = float(alpha[s])
    for c in range(histories.children[s], histories.children[s + 1]):
        if find_arc(histories, c, label) < 0:
            total += subtree[c]
    return total


@kernel
def forward(
    node_exp, arc_exp, histories, beta, scale, sequence_weight, alpha, node_probs, arc_sums, buffers, base, t0, t1
):  # fmt: skip
    """Probabilities of arcs, t from t0 to t1−1, with α_t(s) = P_t(s) / β_t(s):

        P_t(a) = flow_t(a) · E_t(a),   flow_t(s,k) = Σ α_{t−1}(r) over the histories r whose label k takes the arc of s.

    P_t(v) is the sum over the arcs of label v, P_t(s) over those that lead to s. A flow is a difference (`all_flows`);
    where more probability than AT_STAKE would hang on it, it is summed directly. A history with P_t(s) under NEGLIGIBLE
    is left out, and with it most of the work where labels are nearly certain.

    beta (rows, S), scale (n,) of `backward` IN; alpha (S,) of t0−1 IN/OUT, node_probs (n, K) OUT, arc_sums (A,) +=
    sequence_weight · P_t(a) IN/OUT.
    """
    arc_state, arc_label, arc_next = histories.arc_state, histories.arc_label, histories.arc_next
    label_weights, flows = buffers.by_label, buffers.by_arc
    subtree, state_probs = buffers.by_state[0], buffers.by_state[1]
    S = alpha.shape[0]
    for t in range(t0, t1):
        row = beta[t - base]
        label_probs = node_probs[t]
        inverse = 1.0 / scale[t]
        for v in range(label_weights.shape[0]):
            label_weights[v] = node_exp[t, v] * inverse
            label_probs[v] = 0.0
        all_flows(histories, alpha, subtree, flows)
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
                flow = _flow(arc_state[a], arc_label[a], alpha, subtree, histories)
            p = max(flow, 0.0) * weight
            arc_sums[a] += sequence_weight * p
            label_probs[k] += p
            state_probs[ahead] += p
            total += p
        for s in range(S):  # the total is 1 but for rounding, which must not add up along the sequence
            alpha[s] = state_probs[s] / (row[s] * total) if state_probs[s] > NEGLIGIBLE else 0.0


@kernel
def sums(
    node, node_exp, arc_scores, arc_exp, offsets, begin, end, histories, beta, scale, totals, weights, alpha,
    node_probs, arc_sums, buffers,
):  # fmt: skip
    """`backward`, `start_sum` and, where there are weights, `forward` of the sequences begin … end−1, each of which
    fits the rows of beta; returns the first one that must be redone, `end` where there is none.

    offsets (s+1,) IN; totals (s,) of `start_sum` OUT; weights (s,) IN, or (0,) where log Z is all that is asked for;
    all else as in these three.
    """
    for i in range(begin, end):
        t0, t1 = offsets[i], offsets[i + 1]
        if backward(
            node, node_exp, arc_scores, arc_exp, histories, beta, scale, buffers, t0, t1, t0, t1
        ):  # fmt: skip
            return i
        totals[i] = start_sum(node_exp[t0], scale[t0], arc_exp, histories, beta[0], buffers)
        if not totals[i] >= UNDERFLOW:
            return i
        if weights.shape[0] == 0:
            continue
        for s in range(alpha.shape[0]):
            alpha[s] = 0.0
        alpha[histories.start] = 1.0 / totals[i]
        forward(
            node_exp, arc_exp, histories, beta, scale, weights[i], alpha, node_probs, arc_sums, buffers, t0, t0, t1
        )  # fmt: skip
    return end
