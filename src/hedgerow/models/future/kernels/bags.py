"""Sums over bags: the positions just ahead of, or just behind, each position of a sequence."""

from hedgerow.jit import kernel


@kernel
def sum_ahead(values, offsets, reach, sums):
    """sums[t] = Σ values[s] over s = t+1 … t+reach within the sequence of t, by a running sum: O(N) for any reach.

    It runs from the end, where bags are empty and the sum is a true 0.

    values (N,) IN, offsets (S+1,) IN, sums (N,) OUT.
    """
    for i in range(len(offsets) - 1):
        total = 0.0
        for t in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            sums[t] = total
            total += values[t]
            if t + reach < offsets[i + 1]:
                total -= values[t + reach]


@kernel
def sum_behind(values, offsets, reach, sums):
    """sums[t] = Σ values[s] over s = t−reach … t−1 within the sequence of t, as `sum_ahead` has it from the start."""
    for i in range(len(offsets) - 1):
        total = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            sums[t] = total
            total += values[t]
            if t - reach >= offsets[i]:
                total -= values[t - reach]
