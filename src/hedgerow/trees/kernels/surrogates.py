"""Surrogate splits: other streams that tell on which side of a split a place goes that has no value for it.

A surrogate is a stream, and which of its bins go to the true side. The rows of a leaf that have a value for its split
vote: `votes` has, for each bin and offset, the weight of the true side, and of both.
"""

from hedgerow.jit import part
from hedgerow.trees.kernels.histograms import add_run
from hedgerow.trees.kernels.sides import ask_surrogates
from hedgerow.trees.kernels.state import FALSE, HISTOGRAM, KNOWN_WEIGHT, LOST, TRUE, TRUE_WEIGHT, N
from hedgerow.trees.nodes import (
    BLOCK_BASE,
    BLOCK_BINS,
    BLOCK_KIND,
    BLOCK_STREAM,
    BLOCK_STRIDE,
    BLOCK_WIDTH,
    LABEL,
    MISSING_BIN,
    N_SPECIAL,
    ORDERED,
    STREAM,
)


@part
def _weight(data, bits, member, p, parts):
    """The weight of the rows of a leaf at a place."""
    K, n, mask = data.words.shape[1], 0, (1 << bits) - 1
    if data.first[p]:
        return (data.words[p, 0] & mask) * parts
    for u in range(K):
        n += (data.words[p, u] & mask) * member[u]
    return n * parts


@part
def _count_votes(columns, data, rules, buffers, pair, surrogates, i, begin, end):
    """OUT votes int64[B, 2]: of the rows of leaf i that its split has a value for, the weight of the true side, all.

    Counted are the rows without a value, which are taken from the leaf's histogram, and the smaller of the two sides.

    IN   begin, end: where in the arena the rows are, with their side in `state`; the false side may be left out
    """
    split, rows, votes, voters, m = buffers.split[i], buffers.rows, surrogates.votes, surrogates.voters, 0
    small = TRUE if 2 * split[TRUE_WEIGHT] <= split[KNOWN_WEIGHT] else FALSE
    for q in range(begin, end):
        side = buffers.state[q - begin]
        if side in (small, LOST):
            weight = _weight(data, rules.bits, buffers.member[i], rows[q], buffers.amount[q])
            voters[m], pair[m, 0], pair[m, 1] = rows[q], weight, weight
            pair[m, 0 if side == LOST else 1] = 0
            m += 1
    votes[:] = 0
    add_run(columns.bins, columns.blocks, voters[:m], pair, votes)
    hist = buffers.hist[buffers.leaf[HISTOGRAM, i]]
    for x in range(len(votes)):
        votes[x, 1] = hist[x, 1] - votes[x, 1]
        if small == FALSE:
            votes[x, 0] = votes[x, 1] - votes[x, 0]


@part
def _vote_codes(votes, n_bins, stride, missing_bin, true, false):
    """The one code against the rest that agrees most with a split: how much, the code, and whether it goes false."""
    most, code, turned = -1, 0, 0
    for x in range(n_bins):
        t = votes[x * stride, 0]
        f = votes[x * stride, 1] - t
        for turn in range(2 if x != missing_bin else 0):
            agree = f + true - t if turn else t + false - f
            if agree > most:
                most, code, turned = agree, x, turn
    return most, code, turned


@part
def _vote_ordered(votes, n_bins, stride, true, false):
    """As _vote_codes: the threshold, and 1 where what is at most that goes false, plus 2 where outside goes along."""
    t_out = votes[(n_bins - 1) * stride, 0]
    f_out = votes[(n_bins - 1) * stride, 1] - t_out
    most, code, turned = -1, 0, 0
    t = f = 0
    for x in range(n_bins - N_SPECIAL):
        t += votes[x * stride, 0]
        f += votes[x * stride, 1] - votes[x * stride, 0]
        for way in range(4):
            below_t, below_f = t + t_out * (way // 2), f + f_out * (way // 2)
            agree = below_f + true - below_t if way % 2 else below_t + false - below_f
            if agree > most:
                most, code, turned = agree, x, way
    return most, code, turned


@part
def _vote_sets(votes, n_bins, stride, missing_bin):
    """How much agrees where every code goes to the side that has more of it."""
    agree = 0
    for x in range(n_bins):
        if x != missing_bin:
            t = votes[x * stride, 0]
            agree += max(t, votes[x * stride, 1] - t)
    return agree


@part
def _write_way(votes, n_bins, stride, missing_bin, ordered, subsets, code, turned, majority, way):
    """OUT way uint8[32]: a bit for each bin that goes to the true side."""
    way[:] = 0
    for x in range(n_bins):
        if x == missing_bin:
            continue
        if ordered:
            true = (x <= code or (turned >= 2 and x == n_bins - 1)) != (turned % 2 == 1)
        elif subsets:
            twice = 2 * votes[x * stride, 0]
            true = twice > votes[x * stride, 1] or (twice == votes[x * stride, 1] and majority)
        else:
            true = (x == code) != (turned == 1)
        if true:
            way[x >> 3] |= 1 << (x & 7)


@part
def _enter(surrogates, rating, m):
    """Put a rating among the m best, behind equals; its number, or −1: it is too poor."""
    ratings, limit, j = surrogates.rating, len(surrogates.rating) - 1, m
    while j > 0 and ratings[j - 1] < rating:
        j -= 1
    if j >= limit:
        return -1
    for k in range(min(m, limit - 1), j, -1):
        ratings[k], surrogates.stream[k] = ratings[k - 1], surrogates.stream[k - 1]
        for b in range(surrogates.ways.shape[1]):
            surrogates.ways[k, b] = surrogates.ways[k - 1, b]
    ratings[j] = rating
    return j


@part
def _vote_streams(columns, surrogates, subsets, split_stream):
    """The streams that agree best with a split where both have a value, and better than the majority does.

    IN   votes, subsets: whether codes are split into sets; split_stream: the stream of the split
    OUT  surrogates.stream int64[·], the best first; ways uint8[·, 32]: what goes true; returns how many
    """
    m, limit = 0, len(surrogates.rating) - 1
    for c in range(len(columns.blocks)):
        block = columns.blocks[c]
        n_bins, width, stride, ordered = (
            block[BLOCK_BINS], block[BLOCK_WIDTH], block[BLOCK_STRIDE], block[BLOCK_KIND] == ORDERED,
        )  # fmt: skip
        missing_bin = columns.streams[MISSING_BIN, block[BLOCK_STREAM]]
        for j in range(width):
            votes = surrogates.votes[block[BLOCK_BASE] + width - 1 - j :]
            true = known = code = turned = 0
            for x in range(n_bins):
                true += votes[x * stride, 0] if x != missing_bin else 0
                known += votes[x * stride, 1] if x != missing_bin else 0
            if ordered:
                agree, code, turned = _vote_ordered(votes, n_bins, stride, true, known - true)
            elif subsets:
                agree = _vote_sets(votes, n_bins, stride, missing_bin)
            else:
                agree, code, turned = _vote_codes(votes, n_bins, stride, missing_bin, true, known - true)
            if block[BLOCK_STREAM] + j == split_stream or agree <= max(true, known - true):
                continue
            at = _enter(surrogates, agree / known, m)
            if at >= 0:
                way, majority = surrogates.ways[at], 2 * true >= known
                _write_way(votes, n_bins, stride, missing_bin, ordered, subsets, code, turned, majority, way)
                surrogates.stream[at], m = block[BLOCK_STREAM] + j, min(m + 1, limit)
    return m


@part
def _vote_first(data, rules, buffers, surrogates, i, begin, end, m):
    """As _vote_streams, after m streams: whether a place is first in its sequence, with ⊥ before it.

    Bit 1 of its way is for first places, bit 0 for all others. IN begin, end as in _count_votes.
    """
    f1 = buffers.labels[i, data.words.shape[1], 1]
    f0, t0, t1 = buffers.leaf[N, i] - f1, 0, 0
    for q in range(begin, end):
        side, p = buffers.state[q - begin], buffers.rows[q]
        if side != FALSE:
            weight = _weight(data, rules.bits, buffers.member[i], p, buffers.amount[q])
            if data.first[p]:
                t1 += weight if side == TRUE else 0
                f1 -= weight
            else:
                t0 += weight if side == TRUE else 0
                f0 -= weight
    agree = max(t1 + f0, f1 + t0)
    if agree > max(t0 + t1, f0 + f1):
        at = _enter(surrogates, agree / (t0 + t1 + f0 + f1), m)
        if at >= 0:
            surrogates.ways[at, :] = 0
            surrogates.ways[at, 0] = 2 if t1 + f0 >= f1 + t0 else 1
            surrogates.stream[at], m = LABEL, min(m + 1, len(surrogates.rating) - 1)
    return m


@part
def find_surrogates(columns, data, rules, buffers, gaps, surrogates, i, begin, end):
    """The surrogates of the split of leaf i, the best first; returns how many. IN begin, end as in _count_votes."""
    _count_votes(columns, data, rules, buffers, gaps.pair, surrogates, i, begin, end)
    m = _vote_streams(columns, surrogates, rules.subsets, buffers.split[i, STREAM])
    return _vote_first(data, rules, buffers, surrogates, i, begin, end, m)


@part
def place_lost(columns, first, rows, chosen, ways, share, state):
    """Give LOST places the side that their surrogates tell. OUT state; IN chosen, ways as in ask_surrogates."""
    for r in range(len(rows)):
        if state[r] == LOST:
            start = first[rows[r]] != 0
            true = ask_surrogates(columns.bins, columns.streams, chosen, ways, share, start, rows[r])
            state[r] = TRUE if true else FALSE
