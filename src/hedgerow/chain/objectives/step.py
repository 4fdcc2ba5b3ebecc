"""The smoothed step of losses that count errors."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import FloatArray


def smoothed_errors(margins: FloatArray, sharpness: float) -> tuple[FloatArray, FloatArray]:
    """1 − Q(margin) with Q(x) = 1 / (1 + e^{−sharpness · x}), and its derivatives by the margins, both (m,)."""
    x = sharpness * margins
    falling = np.exp(-np.abs(x))  # of the positive side, so that nothing overflows
    small = falling / (1.0 + falling)  # the smaller one of Q and 1 − Q
    losses: FloatArray = np.where(x >= 0.0, small, 1.0 - small)
    slopes: FloatArray = small / (1.0 + falling)
    slopes *= -sharpness
    return losses, slopes
