"""Conjunctions of features: which of them hold at a position, and how much one more of them would raise the likelihood.

An atom is a feature as the data has it: a weight row of the streams of a schema, with a value. A conjunction is a set
of atoms, and its value the product of theirs. Conjunctions are paths in a trie, whose nodes have rows that rise from
the root on; node 0 is the root, the conjunction of nothing, which is the constant 1.
"""

import numpy as np

from hedgerow.jit import kernel, part

RANK = 1e-9  # what is left to gain is compared in such units: last bits, which a processor decides, do not decide
MARKED = 16  # places are marked up to so many for one that is looked at
NEWTON_STEPS = 60
LARGEST_WEIGHT = 20.0  # without a penalty some have no best weight
CLOSE_ENOUGH = 1e-4  # of a weight: the gain is then off by its square


@part
def _find(ptr, rows, i, row):
    """Where a row stands among rows[ptr[i]:ptr[i + 1]], which rise; −1 where it does not."""
    low, high = ptr[i], ptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low if low < ptr[i + 1] and rows[low] == row else -1


@kernel
def meet(set_ptr, set_row, place_ptr, place_t, atom_ptr, atom_row, atom_value, mark, ptr, t, value):
    """Where all atoms of a set stand: the positions of its rarest atom at which the others stand too. Returns how many
    there are in all.

    The places of the second rarest are marked, if they are not many times as many: a look at a mark takes a fraction of
    a search among the atoms of a position, and few positions are left for those.

    IN   set_ptr int64[C+1], set_row int64[] (atoms of each set; the constant has none), place_ptr int64[R+1], place_t
         int32[] (the positions of each atom, which rise), atom_ptr int64[n+1], atom_row int32[], atom_value float64[]
         (the atoms of each position, which rise; no values where all are 1)
    WORK mark int32[n] (zeros before)
    OUT  ptr int64[C+1], t int32[], value float64[] (of each set, with the products of values)
    """
    q = 0
    for c in range(len(set_ptr) - 1):
        ptr[c], rarest, second, begin, end = q, -1, -1, 0, len(atom_ptr) - 1
        for i in range(set_ptr[c], set_ptr[c + 1]):
            row = set_row[i]
            size = place_ptr[row + 1] - place_ptr[row]
            if rarest < 0 or size < end - begin:
                rarest, second, begin, end = row, rarest, place_ptr[row], place_ptr[row + 1]
            elif second < 0 or size < place_ptr[second + 1] - place_ptr[second]:
                second = row
        marked = second >= 0 and place_ptr[second + 1] - place_ptr[second] < MARKED * (end - begin)
        if marked:
            for e in range(place_ptr[second], place_ptr[second + 1]):
                mark[place_t[e]] = c + 1
        for e in range(begin, end):
            p = e if rarest < 0 else place_t[e]
            if marked and mark[p] != c + 1:
                continue
            holds, v = True, 1.0
            for i in range(set_ptr[c], set_ptr[c + 1]):
                row = set_row[i]
                if not holds or (len(value) == 0 and (row == rarest or (marked and row == second))):
                    continue
                a = _find(atom_ptr, atom_row, p, row)
                holds = a >= 0
                if holds and len(value) > 0:
                    v *= atom_value[a]
            if holds:
                t[q] = p
                if len(value) > 0:
                    value[q] = v
                q += 1
    ptr[len(set_ptr) - 1] = q
    return q


@part
def _is_new(node, row, parent, node_row, child_ptr, child_row, child_node, feature, path):
    """Whether the conjunction of a node with one atom more is none of the model's, and is none that another of the
    model's makes with a larger atom: each candidate is made once. WORK path int64[J+1]"""
    n, larger = 0, 0
    while node > 0:
        if node_row[node] == row:
            return False
        if node_row[node] > row:
            larger = n + 1
        elif n == larger:
            path[n], n = row, n + 1
        path[n], n = node_row[node], n + 1
        node = parent[node]
    if n == larger:
        path[n], n = row, n + 1
    for without in range(-1, larger):
        found = 0
        for i in range(n - 1, -1, -1):
            if i != without and found >= 0:
                at = _find(child_ptr, child_row, found, path[i])
                found = child_node[at] if at >= 0 else -1
        if found >= 0 and feature[found] >= 0:
            return False
    return True


@kernel
def find_candidates(
    begin, has_ptr, has_t, has_value, atom_ptr, atom_row, atom_value, lost, node_of, parent, node_row, child_ptr,
    child_row, child_node, feature, least, sums, listed, path, n, made_of, left,
):  # fmt: skip
    """The candidates, a conjunction of the model and one more atom, with more than `least` left to gain: the sum of v²
    times what is lost at the positions where it holds with the value v.

    All candidates of one conjunction are summed at once, in a cell for each atom, so that nothing is looked up but the
    few that are large enough; where all values are 1, none is larger than the sum of what is lost. Conjunctions are
    taken in order from `begin` on, their atoms in any. Returns the one before which it stopped, as there may not be
    room for all of its candidates; their number where all were taken; and the number of candidates.

    IN   has_ptr int64[F+1], has_t int32[], has_value float64[] (the positions of each conjunction of the model; no
         values where all are 1), atom_ptr int64[n+1], atom_row int32[], atom_value float64[] (atoms of each position,
         rows rise), lost float64[n] (> 0), node_of int64[F], parent, node_row int64[J], child_ptr int64[J+1],
         child_row, child_node int64[] (children of node j, rows rise), feature int64[J] (the number of a conjunction
         that ends at the node, or −1), least, in units of RANK
    WORK sums float64[R] (zeros, before and after), listed int64[R], path int64[J+1]
    OUT  n candidates so far, made_of int64[C, 2] (a conjunction and an atom), left float64[C]; C at least n + R
    """
    plain, enough = len(atom_value) == 0, max(0.0, least * RANK)  # to round every sum would take longer than to make it
    for f in range(begin, len(has_ptr) - 1):
        if n + len(sums) > len(left):
            return f, n
        n_atoms, at_most = 0, 0.0
        for e in range(has_ptr[f], has_ptr[f + 1]):
            n_atoms += atom_ptr[has_t[e] + 1] - atom_ptr[has_t[e]]
            at_most += lost[has_t[e]]
        if plain and at_most <= enough:
            continue
        few, n_listed = n_atoms < len(sums), 0  # of many atoms all sums are looked at
        for e in range(has_ptr[f], has_ptr[f + 1]):
            t, more = has_t[e], lost[has_t[e]]
            for a in range(atom_ptr[t], atom_ptr[t + 1]):
                sums[atom_row[a]] += more if plain else more * (atom_value[a] * has_value[e]) ** 2
            for a in range(atom_ptr[t], atom_ptr[t + 1] if few else 0):
                listed[n_listed], n_listed = atom_row[a], n_listed + 1
        for i in range(n_listed if few else len(sums)):
            row = listed[i] if few else i
            total, sums[row] = sums[row], 0.0
            if (
                total > enough
                and np.rint(total / RANK) > least
                and _is_new(node_of[f], row, parent, node_row, child_ptr, child_row, child_node, feature, path)
            ):
                made_of[n, 0], made_of[n, 1], left[n] = f, row, total
                n += 1
    return len(has_ptr) - 1, n


@part
def _slopes(entries, values, probs, truth, weights, m, mu, l2):
    """First and second derivative of the gain of one feature for output m at the weight mu."""
    first, second = -2.0 * l2 * mu, -2.0 * l2
    e, all_ones = np.exp(mu), len(values) == 0
    for j in range(len(entries)):
        t, v = entries[j], 1.0
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
    """The gain of one feature for output m at the weight mu. Logarithms are those of products, as far as numbers go."""
    total, e, all_ones = -l2 * mu * mu, np.exp(mu), len(values) == 0
    product, weight = 1.0, 0.0
    for j in range(len(entries)):
        t, v = entries[j], 1.0
        if not all_ones:
            v = values[j]
            e = np.exp(mu * v)
        p = probs[m, t]
        risen = 1.0 - p + p * e
        if weights[t] != weight or not 1e-300 < product * risen < 1e300:
            total -= weight * np.log(product)
            product, weight = 1.0, weights[t]
        product *= risen
        total += weight * v * mu * (truth[t] == m)
    return total - weight * np.log(product)


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
