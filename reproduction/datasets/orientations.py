"""Which way the edges in a block of a photograph run: what tells man-made structure from the rest of the world.

Kumar and Hebert 2003 describe their features in words; these follow them. The gradient of the brightness, smoothed, is
gathered in histograms of its direction (0 to π), each pixel by the gradient's size.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, FloatArray, IndexArray

BLOCK = 16
N_COARSE, N_FINE = 5, 16  # bins: of the histogram that is a feature itself, and of those that are summed up
SCALES = (16, 32, 64)  # pixels on a side of the windows around a block
_SMOOTHING = 1.0  # standard deviation, in pixels


def orientation_features(image: AnyArray) -> tuple[FloatArray, FloatArray]:
    """What the gradients of each block of 16×16 pixels say: `bins` (H/16, W/16, 5) and `scales` (H/16, W/16, 14).

    image : (H, W), brightness from 0 to 255; H and W are multiples of 16

    bins : log(1 + mean size of the gradient) for each of five ranges of its direction, in the block
    scales : for windows of 16, 32 and 64 pixels around the block, of a histogram with 16 bins: its mean; the mean
        height above that of the bins above it, weighted by it, and its square likewise (all as logs); and |sin| of the
        angle between its two highest peaks, 1 for right angles. Then |cos 2·angle| between the highest peaks of
        neighbouring scales, 1 where they run the same way.
    """
    from scipy.ndimage import gaussian_filter

    if image.ndim != 2 or image.shape[0] % BLOCK or image.shape[1] % BLOCK:
        raise InputError(f"the image has the shape {image.shape}", hint=f"Sides should be multiples of {BLOCK} pixels.")
    down, right = np.gradient(gaussian_filter(np.asarray(image, dtype=np.float64), _SMOOTHING))
    size, angle = np.hypot(down, right), np.arctan2(down, right) % np.pi
    bins = np.log1p(_histograms(size, angle, N_COARSE, BLOCK))
    per_scale, tops = [], []
    for scale in SCALES:
        histogram = _histograms(size, angle, N_FINE, scale)
        histogram = (np.roll(histogram, 1, axis=-1) + 2.0 * histogram + np.roll(histogram, -1, axis=-1)) / 4.0
        moments, first, second = _summary(histogram)
        per_scale.append(np.concatenate([moments, np.abs(np.sin(first - second))[..., None]], axis=-1))
        tops.append(first)
    alike = [np.abs(np.cos(2.0 * (one - other)))[..., None] for one, other in pairwise(tops)]
    return bins, np.concatenate([*per_scale, *alike], axis=-1)


def quadratic_features(rows: FloatArray) -> FloatArray:
    """Features (…, F) and all products of two of them: (…, F + F(F + 1)/2)."""
    one, other = np.triu_indices(rows.shape[-1])
    return np.concatenate([rows, rows[..., one] * rows[..., other]], axis=-1)


def _histograms(size: FloatArray, angle: FloatArray, n_bins: int, window: int) -> FloatArray:
    """(blocks down, blocks right, n_bins): the mean size over a window around each block, bin by bin."""
    cell = BLOCK // 2  # windows begin and end at cells
    H, W = size.shape[0] // cell, size.shape[1] // cell
    which = np.minimum((angle * n_bins / np.pi).astype(np.int64), n_bins - 1)
    rows, columns = np.indices(size.shape) // cell
    flat = np.bincount(((rows * W + columns) * n_bins + which).ravel(), size.ravel(), minlength=H * W * n_bins)
    sums: FloatArray = np.zeros((H + 1, W + 1, n_bins))  # over all cells above and left
    sums[1:, 1:] = flat.reshape(H, W, n_bins).cumsum(axis=0).cumsum(axis=1)
    top, bottom = _window(H, window // cell)
    left, right = _window(W, window // cell)
    inside = (
        sums[np.ix_(bottom, right)] - sums[np.ix_(top, right)] - sums[np.ix_(bottom, left)] + sums[np.ix_(top, left)]
    )
    area = cell**2 * ((bottom - top)[:, None] * (right - left)[None])[..., None]
    found: FloatArray = np.maximum(inside, 0.0) / area
    return found


def _window(n_cells: int, window: int) -> tuple[IndexArray, IndexArray]:
    """The cells where the windows around the blocks of a side begin and end; blocks are two cells wide."""
    middle: IndexArray = 2 * np.arange(n_cells // 2) + 1
    return np.maximum(middle - window // 2, 0), np.minimum(middle + window // 2, n_cells)


def _summary(histogram: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Moments (…, 3) of histograms (…, B), and the angles of their highest and second highest peak."""
    mean = histogram.mean(axis=-1, keepdims=True)
    above = np.maximum(histogram - mean, 0.0)
    whole = np.maximum(above.sum(axis=-1), 1e-12)
    moments = [mean[..., 0], (above**2).sum(axis=-1) / whole, np.sqrt((above**3).sum(axis=-1) / whole)]
    higher = (histogram >= np.roll(histogram, 1, axis=-1)) & (histogram > np.roll(histogram, -1, axis=-1))
    peaks = np.where(higher, histogram, 0.0)
    order = np.argsort(-peaks, axis=-1, kind="stable")
    first, second = order[..., 0], order[..., 1]
    lonely = np.take_along_axis(peaks, second[..., None], axis=-1)[..., 0] == 0.0
    second = np.where(lonely, first, second)
    width = np.pi / histogram.shape[-1]
    return np.log1p(np.stack(moments, axis=-1)), first * width, second * width
