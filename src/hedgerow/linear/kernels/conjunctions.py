"""Conjunctions of features: which of them hold at a position, and how much one more of them would raise the likelihood.

An atom is a feature as the data has it: a weight row of the streams of a schema, with a value. A conjunction is a set
of atoms, and its value the product of theirs. Conjunctions are paths in a trie, whose nodes have rows that rise from
the root on; node 0 is the root, the conjunction of nothing, which is the constant 1.
"""

from __future__ import annotations

import numpy as np

from hedgerow.jit import kernel, part

KEY_MASK = (1 << 61) - 1  # keys of sets are sums of the keys of their atoms, under this
NEWTON_STEPS = 60
LARGEST_WEIGHT = 20.0  # without a penalty some have no best weight
CLOSE_ENOUGH = 1e-4  # of a weight: the gain is then off by its square


@part
def _find_child(child_ptr, child_row, child_node, node, row):
    """The child of a node with this row, −1 where there is none."""
    low, high = child_ptr[node], child_ptr[node + 1]
    while low < high:
        middle = (low + high) // 2
        if child_row[middle] < row:
            low = middle + 1
        else:
            high = middle
    return child_node[low] if low < child_ptr[node + 1] and child_row[low] == row else -1


@kernel
def list_conjunctions(
    ptr, rows, values, child_ptr, child_row, child_node, feature, nodes, last, products, out_ptr, out_id, out_value
):
    """Which conjunctions hold at each of n positions. Returns how many there are. Empty `out_id`: count only.

    IN   ptr int64[n+1], rows int64[], values float64[] (atoms of position t: ptr[t]:ptr[t+1], rows rise; no values
         where all are 1), child_ptr int64[J+1], child_row, child_node int64[] (children of node j, rows rise),
         feature int64[J] (the number of a conjunction that ends at the node, or −1)
    WORK nodes, last int64[J], products float64[J]
    OUT  out_ptr int64[n+1], out_id int32[], out_value float64[] (empty where all are 1)
    """
    e, fill = 0, len(out_id) > 0
    for t in range(len(ptr) - 1):
        out_ptr[t] = e
        nodes[0], last[0], products[0], n_nodes, q = 0, ptr[t] - 1, 1.0, 1, 0
        while q < n_nodes:
            node = nodes[q]
            if feature[node] >= 0:
                if fill:
                    out_id[e] = feature[node]
                    if len(out_value) > 0:
                        out_value[e] = products[q]
                e += 1
            if child_ptr[node + 1] > child_ptr[node]:
                for a in range(last[q] + 1, ptr[t + 1]):
                    if a > ptr[t] and rows[a] == rows[a - 1]:  # listed twice: it holds once
                        continue
                    child = _find_child(child_ptr, child_row, child_node, node, rows[a])
                    if child >= 0:
                        nodes[n_nodes], last[n_nodes] = child, a
                        products[n_nodes] = products[q] * (values[a] if len(values) > 0 else 1.0)
                        n_nodes += 1
            q += 1
    out_ptr[len(ptr) - 1] = e
    return e


@part
def _holds(row, node, parent, node_row):
    """Whether the conjunction of a node has an atom."""
    while node > 0:
        if node_row[node] == row:
            return True
        node = parent[node]
    return False


@kernel
def fill_table(keys, slots, table):
    """Put keys into a table that is looked up from key & (H − 1) on. IN keys, slots int64[n] OUT table int64[H, 4]: key
    (−1: free), slot, the last position, and nothing; H is a power of 2."""
    mask = len(table) - 1
    for i in range(len(keys)):
        place = keys[i] & mask
        while table[place, 0] >= 0:
            place = (place + 1) & mask
        table[place, 0], table[place, 1] = keys[i], slots[i]


@kernel
def tally_candidates(
    begin, atom_ptr, atom_row, atom_value, has_ptr, has_id, has_value, node_of, parent, node_row, atom_key, set_key,
    lost, more, n, table, made_of, sums,
):  # fmt: skip
    """Every candidate, a conjunction of the model and one more atom; and for each the sum of v² times what is lost at
    the positions where it holds with the value v.

    Positions are taken in order from `begin` on. Returns the position where it stopped, which is their number where all
    were taken, and the number of candidates. Where there may not be room for all of the next position it stops if there
    can be `more`, and else goes on with those that it has.

    IN   atom_ptr, atom_row, atom_value as in `list_conjunctions`; has_ptr int64[n+1], has_id int32[], has_value
         float64[] (the conjunctions of the model at each position; no values where all are 1), node_of int64[F],
         parent, node_row int64[J], atom_key int64[R], set_key int64[F], lost float64[n]
    OUT  n candidates so far, table int64[H, 4] as in `fill_table` (H more than twice the candidates; the slot of a
         conjunction of the model is −1), made_of int64[C, 2] (a conjunction and an atom), sums float64[C]
    """
    mask, room = len(table) - 1, len(sums)
    for t in range(begin, len(atom_ptr) - 1):
        if more and n + (has_ptr[t + 1] - has_ptr[t]) * (atom_ptr[t + 1] - atom_ptr[t]) > room:
            return t, n
        for f in range(has_ptr[t], has_ptr[t + 1]):
            conjunction = has_id[f]
            for a in range(atom_ptr[t], atom_ptr[t + 1]):
                row = atom_row[a]
                key = (set_key[conjunction] + atom_key[row]) & KEY_MASK
                place = key & mask
                while table[place, 0] >= 0 and table[place, 0] != key:
                    place = (place + 1) & mask
                if table[place, 0] < 0:
                    if n == room or _holds(row, node_of[conjunction], parent, node_row):
                        continue
                    table[place, 0], table[place, 1], table[place, 2] = key, n, -1
                    made_of[n, 0], made_of[n, 1] = conjunction, row
                    n += 1
                c = table[place, 1]
                if c < 0 or table[place, 2] == t:  # of the model already; or counted here by another way to it
                    continue
                table[place, 2] = t
                v = 1.0
                if len(atom_value) > 0:
                    v = atom_value[a] * has_value[f]
                sums[c] += v * v * lost[t]
    return len(atom_ptr) - 1, n


@part
def _slopes(entries, values, probs, truth, weights, m, mu, l2):
    """First and second derivative of the gain of one feature for output m at the weight mu."""
    first, second = -2.0 * l2 * mu, -2.0 * l2
    e, all_ones = np.exp(mu), len(values) == 0
    for j in range(len(entries)):
        t = entries[j]
        v = 1.0
        if not all_ones:
            v = values[j]
            e = np.exp(mu * v)
        p = probs[m, t]
        risen = p * e / (1.0 - p + p * e)
        first += weights[t] * v * ((truth[t] == m) - risen)
        second -= weights[t] * v * v * risen * (1.0 - risen)
    return first, second


@part
def _value(entries, values, probs, truth, weights, m, mu, l2):
    """The gain of one feature for output m at the weight mu."""
    total, e, all_ones = -l2 * mu * mu, np.exp(mu), len(values) == 0
    for j in range(len(entries)):
        t = entries[j]
        v = 1.0
        if not all_ones:
            v = values[j]
            e = np.exp(mu * v)
        p = probs[m, t]
        total += weights[t] * (v * mu * (truth[t] == m) - np.log(1.0 - p + p * e))
    return total


@kernel
def find_gains(ptr, entries, values, probs, truth, weights, l2, gains):
    """How much the likelihood rises by one feature more, its best weight found and all else fixed, in the mean-field
    form: every position is by itself, with the marginals that the model gives it.

        gain(c, m) = max over μ of  Σ_t w_t·(v_t·μ·1[y_t = m] − log(1 − p_t(m) + p_t(m)·e^{μ·v_t})) − l2·μ²

    which is concave in μ: Newton's steps, and halves where they leave what is known to hold the maximum or do
    not get shorter.

    IN   ptr int64[C+1], entries int64[], values float64[] (positions where a feature holds, and its values; none where
         all are 1), probs float64[M, n], truth int32[n], weights float64[n], l2
    OUT  gains float64[C], summed over outputs
    """
    for c in range(len(ptr) - 1):
        gains[c] = 0.0
        own = entries[ptr[c] : ptr[c + 1]]
        own_values = values[ptr[c] : ptr[c + 1]] if len(values) > 0 else values
        for m in range(probs.shape[0]):
            low, high, mu, moved = -LARGEST_WEIGHT, LARGEST_WEIGHT, 0.0, 4 * LARGEST_WEIGHT
            for _ in range(NEWTON_STEPS):
                first, second = _slopes(own, own_values, probs, truth, weights, m, mu, l2)
                if first > 0:
                    low = mu
                else:
                    high = mu
                reached = mu + first / max(-second, 1e-300)
                if not low < reached < high or abs(reached - mu) > moved / 2:
                    reached = (low + high) / 2
                moved = abs(reached - mu)
                mu = reached
                if moved < CLOSE_ENOUGH:
                    break
            gains[c] += max(0.0, _value(own, own_values, probs, truth, weights, m, mu, l2))
