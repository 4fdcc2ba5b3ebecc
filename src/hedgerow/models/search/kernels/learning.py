"""Beam search with weights that see the labels before a position, and learning as search optimisation.

A labeling grows label by label. What it has at step j is kept in a beam: label[j, r] and score[j, r] of the labeling
of rank r, came[j, r] its rank one step before (−1 at the first). Slot b, after the b of the beam, is the truth.

Weights stand in one vector w: first those of input features (row r has slots row_ptr[r] … row_ptr[r+1]−1, each for
the label slot_label[s]); then, from `origin` on, rows of K weights, one per label, for what a labeling looks back at:

    child[m, u] − 1                   the run of the last labels at node child[m, u] of a tree of runs, the newest label
                                      first (node 0 is no label, −1 a run that has no weights)
    M + (i − 2)·(K+1) + u             the label u, i ≥ 2 places back; K stands before the first label
    M + (n − 1)·(K+1) + u·C + c       label u came more than c times before, c < C

with M = len(child) − 1 and n the order. `counts` has how often each label came (up to C), `sums` their weights.

Arrays that all kernels here take
    IN   ptr int64[·], row int64[·], value float64[·] of the input features of listed positions (kernels.online);
         row_ptr int64[R+1], slot_label int32[·], child int32[M+1, K+1]; origin, order n, C
         moves uint8[K, K] [from, to], open uint8[·, K]: the labels that can go on to a legal end, by listed position
    OUT  label, came int32[≥ T, b+1], score float64[≥ T, b+1]; sums float64[2, b+1, K], counts int32[2, b+1, K];
         recent int32[n], rows int32[≥ 2n], vector float64[K], node float64[K]: scratch
"""

import numpy as np

from hedgerow.jit import kernel, part

EARLY, BEAM, MAX_VIOLATION, FULL = 0, 1, 2, 3  # the first two mend what they find on the way


@part
def _score_input(ptr, row, value, row_ptr, slot_label, w, p, node):
    """node[v] = Σ of the weights of the features of listed position p for label v."""
    for v in range(len(node)):
        node[v] = 0.0
    for q in range(ptr[p], ptr[p + 1]):
        for s in range(row_ptr[row[q]], row_ptr[row[q] + 1]):
            node[slot_label[s]] += value[q] * w[s]


@part
def _look_back(label, came, j, r, K, recent):
    """The labels before step j of the labeling of rank r, the newest first, and K before the first."""
    i = j - 1
    for d in range(len(recent)):
        recent[d] = K if i < 0 else label[i, r]
        if i >= 0:
            r = came[i, r]
            i -= 1


@part
def _find_rows(child, recent, K, rows):
    """The rows of runs and of single labels that a labeling with these last labels has; returns how many."""
    n, m = 0, 0
    for d in range(len(recent)):
        if m >= 0:
            m = child[m, recent[d]]
            if m >= 0:
                rows[n] = m - 1
                n += 1
        if d > 0:
            rows[n] = len(child) - 1 + (d - 1) * (K + 1) + recent[d]
            n += 1
    return n


@part
def _score_labels(label, came, j, r, node, child, w, origin, sums, recent, rows, vector):
    """vector[v]: what label v adds at step j to the labeling of rank r. sums [b+1, K] are those of step j − 1."""
    K = len(vector)
    _look_back(label, came, j, r, K, recent)
    n = _find_rows(child, recent, K, rows)
    for v in range(K):
        vector[v] = node[v]
    for q in range(n):
        a = origin + rows[q] * K
        for v in range(K):
            vector[v] += w[a + v]
    if j > 0 and sums.shape[0] > 0:
        for v in range(K):
            vector[v] += sums[r, v]


@part
def insert(total, v, r, n, width, score, label, came):
    """Put a labeling among the n best so far, best first; of equal ones the lower label, then the lower rank."""
    at = n
    if n == width:
        at = width - 1
        worse = total < score[at] or (
            total == score[at] and (v > label[at] or (v == label[at] and r > came[at]))
        )  # fmt: skip
        if worse:
            return n
    else:
        n += 1
    while at > 0 and (
        total > score[at - 1]
        or (total == score[at - 1] and (v < label[at - 1] or (v == label[at - 1] and r < came[at - 1])))
    ):
        score[at], label[at], came[at] = score[at - 1], label[at - 1], came[at - 1]
        at -= 1
    score[at], label[at], came[at] = total, v, r
    return n


@part
def _advance(j, n_before, width, moves, open_, node, child, w, origin, label, came, score, sums, recent, rows, vector):
    """Step j of the beam, whose n_before labelings all go on; returns how many there are then."""
    n = 0
    for r in range(n_before if j > 0 else 1):
        _score_labels(label, came, j, r, node, child, w, origin, sums[(j + 1) % 2], recent, rows, vector)
        base = score[j - 1, r] if j > 0 else 0.0
        rank = r if j > 0 else -1
        for v in range(len(vector)):
            if open_[v] and (j == 0 or moves[label[j - 1, r], v]):
                n = insert(base + vector[v], v, rank, n, width, score[j], label[j], came[j])
    return n


@part
def _add_count(u, K, C, first_count, w, counts, sums):
    """One label u more of a labeling: its counts (K,), and the sums (K,) of their weights."""
    if counts[u] < C:
        a = first_count + (u * C + counts[u]) * K
        counts[u] += 1
        for v in range(K):
            sums[v] += w[a + v]


@part
def _count(j, r, C, first_count, w, label, came, sums, counts):
    """Counts of the labeling of rank r after step j, from those after step j − 1."""
    K = sums.shape[2]
    new, old = j % 2, (j + 1) % 2
    for v in range(K):
        counts[new, r, v] = counts[old, came[j, r], v] if j > 0 else 0
        sums[new, r, v] = sums[old, came[j, r], v] if j > 0 else 0.0
    _add_count(label[j, r], K, C, first_count, w, counts[new, r], sums[new, r])


@part
def unroll(label, came, j, r, path):
    """The labels up to step j of the labeling of rank r. OUT path int32[≥ j+1]."""
    for i in range(j, -1, -1):
        path[i] = label[i, r]
        r = came[i, r]


@part
def _search(
    begin, length, sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, open_,
    width, w, label, came, score, sums, counts, recent, rows, vector, node, path,
):  # fmt: skip
    """Search one sequence; the labels of the best labeling, in the order of the steps, are left in `path`."""
    K = len(node)
    first_count = origin + (len(child) - 1 + max(order - 1, 0) * (K + 1)) * K
    n = 1
    for j in range(length):
        p = begin + j if sign > 0 else begin + length - 1 - j
        _score_input(ptr, row, value, row_ptr, slot_label, w, p, node)
        n = _advance(
            j, n, width, moves, open_[p], node, child, w, origin, label, came, score, sums, recent, rows, vector
        )  # fmt: skip
        if C > 0:
            for r in range(n):
                _count(j, r, C, first_count, w, label, came, sums, counts)
    unroll(label, came, length - 1, 0, path)


@kernel
def search(
    begin, length, sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, open_,
    width, w, label, came, score, sums, counts, recent, rows, vector, node, path, predicted,
):  # fmt: skip
    """The labels that the search finds for some sequences.

    IN   begin, length int64[m]: the listed positions of each; sign: 1 from left to right, −1 from right to left
    OUT  found int32[·], by listed position
    """
    for i in range(len(begin)):
        _search(
            begin[i], length[i], sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, open_,
            width, w, label, came, score, sums, counts, recent, rows, vector, node, path,
        )  # fmt: skip
        for j in range(length[i]):
            predicted[begin[i] + j] = path[j if sign > 0 else length[i] - 1 - j]


@part
def _add(w, total, a, step, age):
    w[a] += step
    total[a] += age * step


@part
def _move(
    path, first, end, begin, length, sign, ptr, row, value, row_ptr, slot_label, child, origin, C, first_count,
    w, total, age, share, truth, label_weight, counts, recent, rows,
):  # fmt: skip
    """w += share · label_weight of the true label · the features, for steps first … end−1 of a labeling;
    total += age · that. counts int32[K] scratch."""
    K = len(counts)
    for u in range(K):
        counts[u] = 0
    for j in range(end):
        v = path[j]
        if j >= first:
            step = share * label_weight[truth[j]]
            p = begin + j if sign > 0 else begin + length - 1 - j
            for q in range(ptr[p], ptr[p + 1]):
                for s in range(row_ptr[row[q]], row_ptr[row[q] + 1]):
                    if slot_label[s] == v:
                        _add(w, total, s, step * value[q], age)
            for d in range(len(recent)):
                recent[d] = path[j - 1 - d] if d < j else K
            for q in range(_find_rows(child, recent, K, rows)):
                _add(w, total, origin + rows[q] * K + v, step, age)
            if C > 0:
                for u in range(K):
                    for c in range(counts[u]):
                        _add(w, total, first_count + (u * C + c) * K + v, step, age)
        counts[v] += 1 if counts[v] < C else 0


@part
def _fix(
    j, n_wrong, truth, step, label_weight, begin, length, sign, ptr, row, value, row_ptr, slot_label, child, origin, C,
    first_count, w, total, age, label, came, tally, recent, rows, path,
):  # fmt: skip
    """Towards the truth, and away from the first n_wrong labelings of step j, a share each."""
    for r in range(n_wrong):
        unroll(label, came, j, r, path)
        at = 0
        while path[at] == truth[at]:  # before the first difference both have the same features
            at += 1
        for right in range(2):
            _move(
                truth if right else path, at, j + 1, begin, length, sign, ptr, row, value, row_ptr, slot_label,
                child, origin, C, first_count, w, total, age, (step if right else -step) / n_wrong, truth, label_weight,
                tally, recent, rows,
            )  # fmt: skip


@part
def _restart(j, b, C, first_count, w, label, came, score, sums, counts):
    """The truth alone is in the beam after step j, with sums of the weights as they are now."""
    K = sums.shape[2]
    label[j, 0], came[j, 0], score[j, 0], score[j, b] = label[j, b], came[j, b], 0.0, 0.0
    if C > 0:
        new = j % 2
        for r in (b, 0):
            for v in range(K):
                counts[new, r, v] = counts[new, b, v]
                sums[new, r, v] = 0.0
            for u in range(K):
                for c in range(counts[new, r, u]):
                    a = first_count + (u * C + c) * K
                    for v in range(K):
                        sums[new, r, v] += w[a + v]


@part
def _rank_of_truth(j, before, n, b, label, came):
    """The rank of the truth after step j, where `before` was its rank; −1 where it is not in the beam."""
    for r in range(n):
        if label[j, r] == label[j, b] and came[j, r] == before:
            return r
    return -1


@part
def _learn(
    begin, length, sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, open_,
    width, w, label, came, score, sums, counts, recent, rows, vector, node, path,
    truth, update, weight, label_weight, total, age, tally,
):  # fmt: skip
    """Search one sequence and learn from it. IN truth int32[≥ T].

    Returns how far above the truth what was best stood, and in how many places the weights moved.
    """
    K, b = len(node), width
    first_count = origin + (len(child) - 1 + max(order - 1, 0) * (K + 1)) * K
    n, rank, loss, n_fixed, most, worst = 1, -1, 0.0, 0, -np.inf, 0
    for j in range(length):
        p = begin + j if sign > 0 else begin + length - 1 - j
        _score_input(ptr, row, value, row_ptr, slot_label, w, p, node)
        n = _advance(
            j, n, width, moves, open_[p], node, child, w, origin, label, came, score, sums, recent, rows, vector
        )  # fmt: skip
        _score_labels(label, came, j, b, node, child, w, origin, sums[(j + 1) % 2], recent, rows, vector)
        label[j, b], came[j, b] = truth[j], b if j > 0 else -1
        score[j, b] = (score[j - 1, b] if j > 0 else 0.0) + vector[truth[j]]
        if C > 0:
            for r in range(n):
                _count(j, r, C, first_count, w, label, came, sums, counts)
            _count(j, b, C, first_count, w, label, came, sums, counts)
        if rank >= 0 or j == 0:
            rank = _rank_of_truth(j, rank, n, b, label, came)
        above = score[j, 0] - score[j, b]
        last, n_wrong, at = j == length - 1, 0, j
        if update <= BEAM:
            if rank < 0 or (last and rank > 0):
                n_wrong = 1 if update == EARLY else (n if rank < 0 else rank)
        else:
            if rank != 0 and above >= most:
                most, worst = above, j
            if last and rank != 0:
                n_wrong, at = 1, worst if update == MAX_VIOLATION else j
        if n_wrong > 0:
            loss += weight * (score[at, 0] - score[at, b])
            _fix(
                at, n_wrong, truth, weight, label_weight, begin, length, sign, ptr, row, value, row_ptr, slot_label,
                child, origin, C, first_count, w, total, age, label, came, tally, recent, rows, path,
            )  # fmt: skip
            n_fixed += 1
            if update != BEAM:
                break
            _restart(j, b, C, first_count, w, label, came, score, sums, counts)
            n, rank = 1, 0
    return loss, n_fixed


@kernel
def learn(
    begin, length, sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, open_,
    width, w, label, came, score, sums, counts, recent, rows, vector, node, path,
    labels, good, partial, weight, update, label_weight, total, age, tally, truth,
):  # fmt: skip
    """Learn from some sequences, one after the other.

    Returns how far in all the best labelings were above the truth, and how many updates there were. Where labels are
    not all known, the truth is what the search finds among the good ones.

    IN   labels int32[·] by listed position, good uint8[·, K] as open_, with the labels that are right (empty where all
         labels are known); partial uint8[m], weight float64[m] of each sequence; label_weight float64[K], by which the
         steps of each true label are multiplied; age: sequences learnt before
    OUT  w, total float64[W]: average = w − total / sequences; tally int32[K], truth int32[≥ T]: scratch
    """
    loss, n_fixed = 0.0, 0
    for i in range(len(begin)):
        if partial[i]:
            _search(
                begin[i], length[i], sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, good,
                width, w, label, came, score, sums, counts, recent, rows, vector, node, truth,
            )  # fmt: skip
        else:
            for j in range(length[i]):
                truth[j] = labels[begin[i] + j] if sign > 0 else labels[begin[i] + length[i] - 1 - j]
        cost, fixed = _learn(
            begin[i], length[i], sign, ptr, row, value, row_ptr, slot_label, child, origin, order, C, moves, open_,
            width, w, label, came, score, sums, counts, recent, rows, vector, node, path,
            truth, update, weight[i], label_weight, total, age + i, tally,
        )  # fmt: skip
        loss += cost
        n_fixed += fixed
    return loss, n_fixed


@kernel
def close(begin, length, sign, moves, mask):
    """Leave in `mask` uint8[N, K] IN/OUT the labels from which a legal end can be reached.

    IN   begin, length int64[S]: the flat positions of each sequence
    Returns the first sequence that has no legal labeling, −1 where all have one.
    """
    K = mask.shape[1]
    stuck = -1
    for i in range(len(begin)):
        for j in range(length[i] - 2, -1, -1):
            p = begin[i] + j if sign > 0 else begin[i] + length[i] - 1 - j
            for u in range(K):
                some = False
                for v in range(K):
                    some = some or (moves[u, v] and mask[p + sign, v])
                if not some:
                    mask[p, u] = 0
        p = begin[i] if sign > 0 else begin[i] + length[i] - 1
        some = length[i] == 0
        for v in range(K):
            some = some or mask[p, v] != 0
        if not some and stuck < 0:
            stuck = i
    return stuck
