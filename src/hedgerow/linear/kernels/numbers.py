"""Linear scores of numbers: a matrix of numbers times weights, and the transpose of it for gradients.

Columns lie one after the other, so a run of places is copied out of a few columns, standardised, and multiplied while
it is in the cache of the processor: position by position, every number would be read from another place. A run is cut
by the padded places, so that all loops go over neighbours; what lies between sequences is NaN and counts as 0. `block`
float[4 + K, B] is the caller's: four columns, and a row for each label. Its type is that of the products: in single
precision twice as many are done at once, and what a run adds up to is then added to sums of double precision.
"""

from __future__ import annotations

from hedgerow.jit import chain_kernel, kernel, part


@part
def _run_end(places, first, width):
    """The positions first … end-1 are those less than `width` places after the first; places rise."""
    end = first + 1
    while end < len(places) and places[end] - places[first] < width:
        end += 1
    return end


@part
def _copy_columns(numeric, place, n, column, shift, center, scale, s, block):
    """block[c, :n] = (x − center)·scale of the streams s … s+3, 0 where x is NaN or there is no such stream."""
    number = block.dtype.type
    for c in range(4):
        if s + c >= len(column):
            block[c, :n] = number(0.0)
            continue
        begin, m, f = place + shift[s + c], number(center[s + c]), number(scale[s + c])
        rest = number(center[s + c] - m)  # 0 in double precision; a center far from 0 would lose digits without it
        row = numeric[column[s + c], begin : begin + n]
        for i in range(n):
            x = ((row[i] - m) - rest) * f
            block[c, i] = x if x == x else number(0.0)


@part
def _spread(rows, places, first, end, block):
    """block[4 + k, p − the first place] = rows[t, k] for t in first … end-1, 0 between sequences."""
    block[4:, : places[end - 1] - places[first] + 1] = 0.0
    for t in range(first, end):
        for k in range(rows.shape[1]):
            block[4 + k, places[t] - places[first]] = rows[t, k]


@kernel
def gather_numbers(numeric, places, column, shift, center, scale, weights, block, scores):
    """scores[t, k] += Σ_s x · weights[s, k], x = (numeric[column[s], p + shift[s]] − center[s])·scale[s], if not NaN.

    IN   numeric float[D, P], places int64[n] rising, center/scale float64[streams], weights float64[streams, K]
    OUT  scores float64[n, K]; block is overwritten
    """
    S, K, first, number = len(column), scores.shape[1], 0, block.dtype.type
    while first < len(places):
        end = _run_end(places, first, block.shape[1])
        n = places[end - 1] - places[first] + 1
        _spread(scores, places, first, end, block)
        for s in range(0, S, 4):
            _copy_columns(numeric, places[first], n, column, shift, center, scale, s, block)
            b, c, d = min(s + 1, S - 1), min(s + 2, S - 1), min(s + 3, S - 1)  # columns of 0 where there is none
            for k in range(K):
                u, v, w, z = number(weights[s, k]), number(weights[b, k]), number(weights[c, k]), number(weights[d, k])
                for i in range(n):
                    block[4 + k, i] += u * block[0, i] + v * block[1, i] + w * block[2, i] + z * block[3, i]
        for t in range(first, end):
            for k in range(K):
                scores[t, k] = block[4 + k, places[t] - places[first]]
        first = end


@chain_kernel
def scatter_numbers(numeric, places, column, shift, center, scale, probs, block, grad):
    """grad[s, k] += Σ_t x · probs[t, k], x as in gather_numbers. OUT grad float64[streams, K]; block is overwritten."""
    S, K, first, number = len(column), probs.shape[1], 0, block.dtype.type
    while first < len(places):
        end = _run_end(places, first, block.shape[1])
        n = places[end - 1] - places[first] + 1
        _spread(probs, places, first, end, block)
        for s in range(0, S, 4):
            _copy_columns(numeric, places[first], n, column, shift, center, scale, s, block)
            for k in range(K):
                u = v = w = z = number(0.0)
                for i in range(n):
                    p = block[4 + k, i]
                    u += p * block[0, i]
                    v += p * block[1, i]
                    w += p * block[2, i]
                    z += p * block[3, i]
                for c, x in enumerate((u, v, w, z)):
                    if s + c < S:
                        grad[s + c, k] += x
        first = end
