"""Made-up binary images of simple shapes, with noise: what lattices are tried out on."""

from __future__ import annotations

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import BoolArray, FloatArray, IndexArray


def make_shapes(
    n_images: int = 50, *, size: int = 64, noise: float = 0.7, n_shapes: int = 3, random_state: int = 0
) -> tuple[list[FloatArray], list[IndexArray]]:
    """Images of discs, rings, boxes, triangles and strokes, 1 on 0, with Gaussian noise added to every pixel.

    Parameters
    ----------
    n_images : how many
    size : pixels on a side
    noise : the standard deviation of the noise
    n_shapes : the most shapes in an image; each has one at least

    Returns
    -------
    images : list of (size, size) arrays of numbers
    masks : list of (size, size) arrays of 0 and 1, without the noise
    """
    if min(n_images, n_shapes) < 1 or size < 8 or not noise >= 0.0:
        raise InputError("make_shapes needs an image, a shape, 8 pixels on a side, and noise of at least 0")
    images, masks = [], []
    for i in range(n_images):
        rng = np.random.default_rng([random_state, i])  # an image does not depend on how many there are
        inside: BoolArray = np.zeros((size, size), dtype=bool)
        for _ in range(int(rng.integers(1, n_shapes + 1))):
            inside |= _draw_shape(size, rng)
        mask = inside.astype(np.int64)
        masks.append(mask)
        images.append(mask + rng.normal(scale=noise, size=mask.shape) if noise > 0 else mask.astype(np.float64))
    return images, masks


def _draw_shape(size: int, rng: np.random.Generator) -> BoolArray:
    """The pixels of one shape, somewhere, turned by some angle."""
    center = rng.uniform(0.2, 0.8, size=2) * size
    extent = rng.uniform(0.08, 0.25, size=2) * size
    angle = rng.uniform(0.0, np.pi)
    rows, columns = np.mgrid[:size, :size] + 0.5
    down, right = rows - center[0], columns - center[1]
    along = (np.cos(angle) * right + np.sin(angle) * down) / extent[0]
    across = (np.cos(angle) * down - np.sin(angle) * right) / extent[1]
    radius = np.hypot(along, across)
    wave = 0.5 * np.sin(2.0 * along)
    kinds: list[BoolArray] = [
        radius < 1.0,
        (radius < 1.0) & (radius > 0.55),
        np.maximum(np.abs(along), np.abs(across)) < 0.9,
        (across > -0.8) & (across < 0.8 - 1.6 * np.abs(along)),
        (np.abs(across - wave) < 0.35) & (np.abs(along) < 1.6),
    ]
    return kinds[int(rng.integers(len(kinds)))]
