"""Linear scores of numbers: a matrix of numbers times weights, and the transpose of it for gradients.

Columns lie one after the other, so a run of places is copied out of a few columns, standardised, and multiplied while
it is in the cache of the processor: position by position, every number would be read from another place. A run is cut
by the padded places, so that all loops go over neighbours; what lies between sequences is NaN and counts as 0. `block`
float[4 + K, B] is the caller's: four columns, and a row for each label, with two to spare for those that take three
labels at a time. Its type is that of the products: in single precision twice as many are done at once, and what a run
adds up to is then added to sums of double precision.

Most training is on numbers that are all there and whose means are near 0. Such `clean` ones need not be copied: weights
are multiplied by the scale, and what the centers add up to is subtracted.
"""

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


@part
def _stored_rows(numeric, place, n, column, shift, s):
    """The rows of the streams s … s+3, as they are stored; the last one again where there is no such stream."""
    S = len(column) - 1
    b, c, d = min(s + 1, S), min(s + 2, S), min(s + 3, S)
    return (
        numeric[column[s], place + shift[s] : place + shift[s] + n],
        numeric[column[b], place + shift[b] : place + shift[b] + n],
        numeric[column[c], place + shift[c] : place + shift[c] + n],
        numeric[column[d], place + shift[d] : place + shift[d] + n],
    )


@part
def _scaled(weights, scale, s, k, block):
    """weights[s, k] · scale[s], 0 where there is no such stream or label."""
    here = s < weights.shape[0] and k < weights.shape[1]
    return block.dtype.type(weights[s, k] * scale[s] if here else 0.0)


@part
def _four_scaled(weights, scale, s, k, block):
    return (
        _scaled(weights, scale, s, k, block),
        _scaled(weights, scale, s + 1, k, block),
        _scaled(weights, scale, s + 2, k, block),
        _scaled(weights, scale, s + 3, k, block),
    )


@chain_kernel
def gather_clean(numeric, places, column, shift, center, scale, weights, block, scores):
    """As gather_numbers, where no x is NaN. Three labels at a time, so that an x is loaded a third as often."""
    S, K, first = len(column), scores.shape[1], 0
    while first < len(places):
        end = _run_end(places, first, block.shape[1])
        n = places[end - 1] - places[first] + 1
        for k in range(K):
            rest = 0.0
            for s in range(S):
                rest += weights[s, k] * scale[s] * center[s]
            block[4 + k, :n] = -rest
        for s in range(0, S, 4):
            a, b, c, d = _stored_rows(numeric, places[first], n, column, shift, s)
            for k in range(0, K, 3):
                x, y, z = block[4 + k], block[5 + k], block[6 + k]
                xa, xb, xc, xd = _four_scaled(weights, scale, s, k, block)
                ya, yb, yc, yd = _four_scaled(weights, scale, s, k + 1, block)
                za, zb, zc, zd = _four_scaled(weights, scale, s, k + 2, block)
                for i in range(n):
                    x[i] += xa * a[i] + xb * b[i] + xc * c[i] + xd * d[i]
                    y[i] += ya * a[i] + yb * b[i] + yc * c[i] + yd * d[i]
                    z[i] += za * a[i] + zb * b[i] + zc * c[i] + zd * d[i]
        for t in range(first, end):
            for k in range(K):
                scores[t, k] += block[4 + k, places[t] - places[first]]
        first = end


@chain_kernel
def scatter_clean(numeric, places, column, shift, center, scale, probs, block, grad):
    """As scatter_numbers, where no x is NaN; three labels at a time."""
    S, K, first, zero = len(column), probs.shape[1], 0, block.dtype.type(0.0)
    while first < len(places):
        end = _run_end(places, first, block.shape[1])
        n = places[end - 1] - places[first] + 1
        _spread(probs, places, first, end, block)
        for k in range(K):
            total = zero
            for i in range(n):
                total += block[4 + k, i]
            for s in range(S):
                grad[s, k] -= total * center[s] * scale[s]
        for s in range(0, S, 4):
            a, b, c, d = _stored_rows(numeric, places[first], n, column, shift, s)
            for k in range(0, K, 3):
                p, q, r = block[4 + k], block[5 + k], block[6 + k]
                pa = pb = pc = pd = qa = qb = qc = qd = ra = rb = rc = rd = zero
                for i in range(n):
                    pa += p[i] * a[i]
                    pb += p[i] * b[i]
                    pc += p[i] * c[i]
                    pd += p[i] * d[i]
                    qa += q[i] * a[i]
                    qb += q[i] * b[i]
                    qc += q[i] * c[i]
                    qd += q[i] * d[i]
                    ra += r[i] * a[i]
                    rb += r[i] * b[i]
                    rc += r[i] * c[i]
                    rd += r[i] * d[i]
                for l, sums in enumerate(((pa, pb, pc, pd), (qa, qb, qc, qd), (ra, rb, rc, rd))):
                    for j, x in enumerate(sums):
                        if s + j < S and k + l < K:
                            grad[s + j, k + l] += x * scale[s + j]
        first = end
