"""The side of a split that a value goes to, and that of a place without a value, by surrogates."""

import numpy as np

from hedgerow.jit import part
from hedgerow.trees.nodes import AT_MOST_OR_SPECIAL, COLUMN, EQUAL, LABEL, MISSING_BIN, N_SPECIAL, OFFSET, SUBSET


@part
def goes_true(rule, bin_, x, n_bins, sets, which):
    """Whether bin x of n_bins is on the true side of a split, which has no sparse item; sets[which] is a SUBSET's."""
    if rule == EQUAL:
        return x == bin_
    if rule == SUBSET:
        return sets[which, x] != 0
    return x <= bin_ or (rule == AT_MOST_OR_SPECIAL and x >= n_bins - N_SPECIAL)


@part
def ask_surrogates(bins, streams, chosen, ways, share, start, p):
    """Whether place p, which a split has no value for, goes to its true side: the first surrogate that it has a value
    for tells, else the larger side has it.

    IN   chosen int64[·], ways uint8[·, 32]: the streams of the surrogates, and the bins that go true; start: whether
         the place is first in its sequence
    """
    for q in range(len(chosen)):
        s = chosen[q]
        x = np.int64(start) if s == LABEL else np.int64(bins[streams[COLUMN, s], p + streams[OFFSET, s]])
        if s == LABEL or x != streams[MISSING_BIN, s]:
            return (ways[q, x >> 3] >> (x & 7)) & 1 == 1
    return share == 1.0
