"""The split of a leaf with the largest gain. Ties go to the first in (stream, bin, rule) order, then to labels.

The gain is A_L²/(λ+n_L) + A_R²/(λ+n_R) − A²/(λ+n) over the rows of the leaf, A sums of gradients and n of weights.
Where a missing value is none, a split on a column is judged by the rows that have a value there, so that every stream
has an A and an n of its own: `known`, those of the leaf less those of the missing bin. Its `lift` makes scores of
streams with different A²/(λ+n) comparable: it is 0 where nothing is missing. Where a missing value is a value, `known`
and `lift` are None.
"""

import numpy as np

from hedgerow.jit import part
from hedgerow.trees.kernels.histograms import add_to, cell, read
from hedgerow.trees.kernels.state import HIGH, HISTOGRAM, KNOWN_WEIGHT, LOW, NODE, TRUE_WEIGHT, G, N
from hedgerow.trees.nodes import (
    AT_MOST,
    BIN,
    BLOCK_BASE,
    BLOCK_BINS,
    BLOCK_KIND,
    BLOCK_STREAM,
    BLOCK_STRIDE,
    BLOCK_WIDTH,
    COLUMN,
    EQUAL,
    FIRST_ITEM,
    HAS,
    LABEL,
    MISSING_BIN,
    N_SPECIAL,
    ORDERED,
    RULE,
    STREAM,
    SUBSET,
)

NO_SPLIT = -9  # in place of a stream
CODES, THRESHOLDS = 16, 32  # cells of a histogram that are looked at together
LABEL_FEATURE, ITEM_FEATURE = 1 << 20, 1 << 21  # numbers of features beyond those of dense streams, for draws


@part
def _base(g, n, l2_regularization):
    """A²/(λ+n), and a little more, so that no gain is a matter of rounding."""
    a = float(g)
    return a * a / (l2_regularization + n) * (1.0 + 1e-12) if l2_regularization + n > 0 else 0.0


@part
def _score(g, n, known_g, known_n, lift, rules, best):
    """A_L²/(λ+n_L) + A_R²/(λ+n_R) + lift of a split of (g, n) from what is known; −inf where surely under the best."""
    if min(n, known_n - n) < rules.least:
        return -np.inf
    a, m = float(g), float(n)
    r = float(known_g) - a
    d_left, d_right = rules.l2_regularization + m, rules.l2_regularization + (float(known_n) - m)
    over = a * a * d_right + r * r * d_left
    under = d_left * d_right
    if over < (best - lift - 1e-12 * (best + abs(lift))) * under:
        return -np.inf
    return over / under + lift


@part
def may_use(seed, node, feature, share):
    """Whether a node may use a feature: a hash in place of a random number, so order and threads do not matter."""
    if share >= 1.0:
        return True
    x = (seed * 7919 + node * 104729 + feature * 1299709 + 12345) & 0x7FFFFFFF
    for _ in range(3):
        x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
        x = ((x ^ (x >> 12)) * 0x297A2D39) & 0x7FFFFFFF
    return x < share * 2147483648.0


@part
def _write(split, stream, bin_, rule, weight, known):
    split[STREAM], split[BIN], split[RULE], split[TRUE_WEIGHT], split[KNOWN_WEIGHT] = stream, bin_, rule, weight, known


@part
def _try_split(stream, bin_, rule, g, n, known_g, known_n, lift, rules, best, split):
    """Write a split of (g, n) from what is known down where it is better than the best; returns the best."""
    score = _score(g, n, known_g, known_n, lift, rules, best)
    if score > best:
        _write(split, stream, bin_, rule, n, known_n)
        return score
    return best


@part
def _known_at(known, lift, back, g, n):
    """The pair of the rows with a value in a stream, and its lift."""
    if known is None:
        return g, n, 0.0
    return known[back, 0], known[back, 1], lift[back]


@part
def _know(hist, block, missing_bin, g, n, base, rules, known, lift):
    """OUT known int64[width, 2], lift float64[width]: of each offset of a column."""
    first = block[BLOCK_BASE] + missing_bin * block[BLOCK_STRIDE]
    for back in range(block[BLOCK_WIDTH]):
        known[back, 0], known[back, 1], lift[back] = g, n, 0.0
        if missing_bin >= 0:
            known[back, 0] -= hist[first + back, 0]
            known[back, 1] -= hist[first + back, 1]
            lift[back] = base - _base(known[back, 0], known[back, 1], rules.l2_regularization)


@part
def _may_gain(sums, more_g, more_n, g, n, rules, best):
    """Whether one of some cells, with (more_g, more_n) added, may split (g, n) better than the best: whether `_score`
    does not rule all of them out, as it does with most, told of several at once.

    With d = λ + n_L and D = 2λ + n, its A_L²(D−d) + (A−A_L)²d ≥ limit·d(D−d) is DA_L² + d(A² − limit·D + limit·d −
    2AA_L) ≥ 0. The limit of D is a little lower here: what is left of a difference has rounding in it.
    """
    found, limit, double = False, best - 1e-12 * best, 2.0 * float(g)
    low, high, both = float(rules.least), float(n - rules.least), 2.0 * rules.l2_regularization + float(n)
    rest = float(g) * float(g) - limit * both * (1.0 - 1e-9)
    for x in range(len(sums)):
        bin_g, bin_n = read(sums, x, rules.bits)
        a, m = _real(bin_g + more_g), _real(bin_n + more_n)
        d = rules.l2_regularization + m
        found |= (m >= low) & (m <= high) & (both * a * a + d * (rest + limit * d - double * a) >= 0.0)
    return found


@part
def _real(x):
    """An int64 of at most 62 bits as a float64, from two of 32 bits: four are made at once."""
    return float(np.int32(x >> 31)) * 2147483648.0 + float(np.int32(x & 0x7FFFFFFF))


@part
def _find_codes(hist, block, missing_bin, node, share, g, n, known, lift, rules, best, split):
    """The best one-against-rest split of a column of codes; ties go to the first offset, then to the first code."""
    width, stride, first, n_bins = block[BLOCK_WIDTH], block[BLOCK_STRIDE], block[BLOCK_BASE], block[BLOCK_BINS]
    step = max(CODES // max(stride, 1), 1)  # columns that others own have no cells
    for begin in range(0, n_bins, step):
        end = min(begin + step, n_bins)
        run = hist[first + begin * stride : first + end * stride]
        if known is None and not _may_gain(run, 0, 0, g, n, rules, best):
            continue
        for x in range(begin, end):
            for back in range(width if x != missing_bin else 0):
                bin_g, bin_n = read(hist, first + x * stride + back, rules.bits)
                s = block[BLOCK_STREAM] + width - 1 - back
                known_g, known_n, raised = _known_at(known, lift, back, g, n)
                score = _score(bin_g, bin_n, known_g, known_n, raised, rules, best)
                if (score > best or (score == best and split[STREAM] > s)) and may_use(rules.seed, node, s, share):
                    best = score
                    _write(split, s, x, np.int64(EQUAL), bin_n, known_n)
    return best


@part
def _rank(sums, n_bins, missing_bin, stride, rules, ratio, order):
    """Codes with rows, ordered by Σg/(n+λ), ties by code; returns how many. sums[x·stride] of code x < n_bins."""
    m = 0
    for x in range(n_bins):
        g, n = read(sums, x * stride, rules.bits)
        if n != 0 and x != missing_bin:
            value = float(g) / (rules.l2_regularization + n)
            j = m
            while j > 0 and ratio[j - 1] > value:
                ratio[j], order[j] = ratio[j - 1], order[j - 1]
                j -= 1
            ratio[j], order[j] = value, x
            m += 1
    return m


@part
def _find_subset(sums, n_bins, missing_bin, stride, stream, known_g, known_n, lift, rules, ratio, order, best, split):
    """The best prefix of the ranked codes. OUT split: stream, length of the prefix less one, SUBSET, and weights."""
    m = _rank(sums, n_bins, missing_bin, stride, rules, ratio, order)
    g, n, rule = 0, 0, np.int64(SUBSET)
    for j in range(m - 1):
        bin_g, bin_n = read(sums, order[j] * stride, rules.bits)
        g += bin_g
        n += bin_n
        best = _try_split(stream, j, rule, g, n, known_g, known_n, lift, rules, best, split)
    return best


@part
def _find_ordered(hist, block, node, share, g, n, known, lift, below, rules, best, split):
    """The best threshold of a numeric column; outside, its last bin, goes where it gains more, and missing with it
    where that is a value."""
    n_bins, width, stride = block[BLOCK_BINS], block[BLOCK_WIDTH], block[BLOCK_STRIDE]
    below = below[: n_bins - N_SPECIAL]
    for j in range(width):
        s, back = block[BLOCK_STREAM] + j, width - 1 - j
        if not may_use(rules.seed, node, s, share):
            continue
        known_g, known_n, raised = _known_at(known, lift, back, g, n)
        first = block[BLOCK_BASE] + back
        special_g, special_n = read(hist, first + (n_bins - 1) * stride, rules.bits)
        if known is None:
            missing_g, missing_n = read(hist, first + (n_bins - N_SPECIAL) * stride, rules.bits)
            special_g, special_n = special_g + missing_g, special_n + missing_n
        below[:] = 0
        for x in range(len(below)):  # all up to x
            add_to(below, x, cell(hist, first + x * stride))
            if x > 0:
                add_to(below, x, cell(below, x - 1))
        for begin in range(0, len(below), THRESHOLDS):
            run = below[begin : begin + THRESHOLDS]
            if (
                known is None
                and not _may_gain(run, 0, 0, g, n, rules, best)
                and (special_n == 0 or not _may_gain(run, special_g, special_n, g, n, rules, best))
            ):
                continue
            for x in range(len(run)):
                below_g, below_n = read(run, x, rules.bits)
                for extra in range(1 if special_n == 0 else 2):
                    true_g, true_n, rule = below_g + extra * special_g, below_n + extra * special_n, AT_MOST + extra
                    best = _try_split(s, begin + x, rule, true_g, true_n, known_g, known_n, raised, rules, best, split)
    return best


@part
def _sparse_stream(streams, n_sparse, x):
    """Which of the sparse streams has item x, counted over all of them."""
    low, high = streams.shape[1] - n_sparse, streams.shape[1]
    while high - low > 1:
        middle = (low + high) // 2
        if x < streams[FIRST_ITEM, middle]:
            high = middle
        else:
            low = middle
    return low


@part
def _know_items(streams, n_sparse, ids, sums, g, n, base, rules, known, lift):
    """OUT known int64[n_sparse, 2], lift float64[n_sparse]: of each sparse stream. Returns whether one has gaps."""
    first, gaps = streams.shape[1] - n_sparse, False
    for j in range(n_sparse):
        known[j, 0], known[j, 1], lift[j] = g, n, 0.0
        gaps |= streams[MISSING_BIN, first + j] >= 0
    if gaps:
        for q in range(len(ids)):
            s = _sparse_stream(streams, n_sparse, ids[q])
            j = s - first
            if ids[q] - streams[FIRST_ITEM, s] == streams[MISSING_BIN, s]:
                known[j, 0] -= sums[q, 0]
                known[j, 1] -= sums[q, 1]
                lift[j] = base - _base(known[j, 0], known[j, 1], rules.l2_regularization)
    return gaps


@part
def _find_items(streams, n_sparse, ids, sums, node, share, g, n, base, known, lift, rules, best, split):
    """The best sparse item; ties go to the first in the order of streams and items."""
    first, gaps, chosen = streams.shape[1] - n_sparse, False, -1
    if known is not None:
        gaps = _know_items(streams, n_sparse, ids, sums, g, n, base, rules, known, lift)
    for q in range(len(ids)):
        s = first
        if gaps:
            s = _sparse_stream(streams, n_sparse, ids[q])
            if ids[q] - streams[FIRST_ITEM, s] == streams[MISSING_BIN, s]:
                continue
        bin_g, bin_n = read(sums, q, rules.bits)
        known_g, known_n, raised = _known_at(known, lift, s - first, g, n)
        score = _score(bin_g, bin_n, known_g, known_n, raised, rules, best)
        if (score > best or (chosen >= 0 and score == best and ids[q] < chosen)) and may_use(
            rules.seed, node, ITEM_FEATURE + np.int64(ids[q]), share
        ):
            best, chosen = score, np.int64(ids[q])
            split[TRUE_WEIGHT], split[KNOWN_WEIGHT] = bin_n, known_n
    if chosen >= 0:
        s = _sparse_stream(streams, n_sparse, chosen)
        split[STREAM], split[BIN], split[RULE] = s, chosen - streams[FIRST_ITEM, s], HAS
    return best


@part
def _find_questions(labels, questions, node, share, g, n, rules, best, split):
    """The best question about a history; ties go to the first."""
    label, rule = np.int64(LABEL), np.int64(SUBSET)
    for m in range(len(questions)):
        if may_use(rules.seed, node, LABEL_FEATURE + m, share):
            true_g = true_n = 0
            for u in range(len(labels)):
                if questions[m, u]:
                    bin_g, bin_n = read(labels, u, rules.bits)
                    true_g += bin_g
                    true_n += bin_n
            best = _try_split(label, m, rule, true_g, true_n, g, n, 0.0, rules, best, split)
    return best


@part
def _find_dense(blocks, streams, hist, node, share, g, n, base, known, lift, ratio, order, below, rules, best, split):
    """The best split on a dense column. hist [B] sums."""
    for c in range(len(blocks)):
        block = blocks[c]
        missing_bin, width = np.int64(-1), block[BLOCK_WIDTH]
        if known is not None:
            missing_bin = streams[MISSING_BIN, block[BLOCK_STREAM]]
            _know(hist, block, missing_bin, g, n, base, rules, known, lift)
        if block[BLOCK_KIND] == ORDERED:
            best = _find_ordered(hist, block, node, share, g, n, known, lift, below, rules, best, split)
        elif not rules.subsets:
            best = _find_codes(hist, block, missing_bin, node, share, g, n, known, lift, rules, best, split)
        else:
            for back in range(width - 1, -1, -1):
                s, sums = block[BLOCK_STREAM] + width - 1 - back, hist[block[BLOCK_BASE] + back :]
                if may_use(rules.seed, node, s, share):
                    known_g, known_n, raised = _known_at(known, lift, back, g, n)
                    best = _find_subset(
                        sums, block[BLOCK_BINS], missing_bin, block[BLOCK_STRIDE], s, known_g, known_n, raised, rules,
                        ratio, order, best, split,
                    )  # fmt: skip
    return best


@part
def _find_labels(labels, questions, node, share, g, n, ratio, order, rules, best, split):
    """The best split on the previous label, which is never missing. labels [K+1] sums."""
    if len(questions):
        return _find_questions(labels, questions, node, share, g, n, rules, best, split)
    if not may_use(rules.seed, node, np.int64(LABEL_FEATURE), share):
        return best
    label, rule = np.int64(LABEL), np.int64(EQUAL)
    if rules.subsets:
        none, one = np.int64(-1), np.int64(1)
        return _find_subset(labels, len(labels), none, one, label, g, n, 0.0, rules, ratio, order, best, split)
    for u in range(len(labels)):
        bin_g, bin_n = read(labels, u, rules.bits)
        best = _try_split(label, u, rule, bin_g, bin_n, g, n, 0.0, rules, best, split)
    return best


@part
def find_split(columns, rules, buffers, sparse, gaps, i):
    """The split of leaf i: of the features drawn for it, or of all where none of these gains.

    OUT  split of the leaf; returns the gain, 0 where nothing gains
    """
    leaf, split, ratio, order, blocks = buffers.leaf, buffers.split[i], buffers.ratio, buffers.order, columns.blocks
    hist, streams, labels = buffers.hist[leaf[HISTOGRAM, i]], columns.streams, buffers.labels[i]
    node, g, n = leaf[NODE, i], leaf[G, i], leaf[N, i]
    known = None if len(gaps) == 0 else gaps.known
    lift = None if len(gaps) == 0 else gaps.lift
    base = _base(g, n, rules.l2_regularization)
    best = base
    for share in (rules.share, 1.0):
        split[STREAM] = NO_SPLIT
        best = _find_dense(
            blocks, streams, hist, node, share, g, n, base, known, lift, ratio, order, buffers.below, rules, best, split
        )
        if len(sparse) > 0:
            run = slice(leaf[LOW, i], leaf[HIGH, i])
            best = _find_items(
                streams, columns.n_sparse, sparse.ids[run], sparse.sums[run], node, share, g, n, base, known, lift,
                rules, best, split,
            )  # fmt: skip
        best = _find_labels(labels, buffers.questions, node, share, g, n, ratio, order, rules, best, split)
        if best > base or share >= 1.0:
            break
    return best - base if best > base else 0.0


@part
def write_set(columns, rules, buffers, gaps, i, chosen):
    """OUT chosen: the set of leaf i's SUBSET split, from the ranking that found it; of an EQUAL split on labels, the
    label."""
    split, labels, ratio, order = buffers.split[i], buffers.labels[i], buffers.ratio, buffers.order
    s = split[STREAM]
    chosen[:] = 0
    if split[RULE] == EQUAL:
        chosen[split[BIN]] = 1
        return
    if s == LABEL and len(buffers.questions):
        for u in range(len(labels)):
            chosen[u] = buffers.questions[split[BIN], u] * buffers.member[i, u]
        return
    if s == LABEL:
        _rank(labels, len(labels), np.int64(-1), np.int64(1), rules, ratio, order)
    else:
        block = columns.blocks[columns.streams[COLUMN, s]]
        first = block[BLOCK_BASE] + block[BLOCK_WIDTH] - 1 - (s - block[BLOCK_STREAM])
        sums = buffers.hist[buffers.leaf[HISTOGRAM, i]][first:]
        missing_bin = np.int64(-1) if len(gaps) == 0 else columns.streams[MISSING_BIN, s]
        _rank(sums, block[BLOCK_BINS], missing_bin, block[BLOCK_STRIDE], rules, ratio, order)
    for j in range(split[BIN] + 1):
        chosen[order[j]] = 1
