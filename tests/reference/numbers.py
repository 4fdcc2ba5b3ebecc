"""Numbers into bins, by NumPy's search."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray, IndexArray


def bin_numbers(
    numeric: FloatArray,
    lines: IndexArray,
    columns: IndexArray,
    ends: FloatArray,
    end_ptr: IndexArray,
    fill: FloatArray,
    missing: IndexArray,
    inside: IndexArray,
    place: IndexArray,
    bins: AnyArray,
) -> None:
    """Write the bins, as the kernel of this name does."""
    for d in range(len(lines)):
        values = numeric[lines[d], inside]
        values = np.where(np.isnan(values), fill[d], values)
        found = np.searchsorted(ends[end_ptr[d] : end_ptr[d + 1]], values, side="left")
        bins[columns[d], place] = np.where(np.isnan(values), missing[d], found)
