"""Lags, differences and rolling values of a column. What stands at a place depends on the values of its span alone:
nothing is summed up along a sequence, so that the bits are the same wherever a sequence stands."""

import math

from hedgerow.jit import kernel, part

LAG, DIFFERENCE, MEAN, STD, MIN, MAX = range(6)


@part
def _rolling(x, first, last, what):
    """The mean, the deviation (divided by n), the least or the greatest of x[first … last], without NaN."""
    n, total, least, greatest = 0, 0.0, math.inf, -math.inf
    for i in range(first, last + 1):
        if x[i] == x[i]:
            n += 1
            total += x[i]
            least, greatest = min(least, x[i]), max(greatest, x[i])
    if n == 0:
        return math.nan
    if what == MIN:
        return least
    if what == MAX:
        return greatest
    mean = total / n
    if what == MEAN:
        return mean
    squares = 0.0
    for i in range(first, last + 1):
        if x[i] == x[i]:
            squares += (x[i] - mean) * (x[i] - mean)
    return math.sqrt(squares / n)


@kernel
def derive(x, start, length, what, span, out):
    """out[t] of every sequence: x[t−span], x[t] − x[t−span], or a rolling value of x[t−span+1 … t], as far as there is
    any; NaN where nothing is, and where the result is not finite.

    IN   x float64[P], start/length int64[S], what, span
    OUT  out float64[P], NaN between sequences where it was before
    """
    for s in range(len(start)):
        begin = start[s]
        for t in range(begin, begin + length[s]):
            if what > DIFFERENCE:
                value = _rolling(x, max(begin, t - span + 1), t, what)
            elif t - span < begin:
                value = math.nan
            else:
                value = x[t - span] if what == LAG else x[t] - x[t - span]
            out[t] = value if abs(value) < math.inf else math.nan
