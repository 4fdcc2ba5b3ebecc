"""Binary images with noise, as in section 5.1 of Vishwanathan et al. 2006: what is labelled.

64×64 pixels, 40 images to train and 10 to test. A node has the features [1, s], an edge [1, |s_i − s_j|]. The paper
drew its shapes by hand and does not say how strong its noise is. Ours are shapes that are made, and parts of drawings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hedgerow.datasets.shapes import make_shapes
from hedgerow.lattice.graphs import grid
from hedgerow.legend import AnyArray
from reproduction.datasets.denoise import load_denoise
from reproduction.lattice.methods import Images, Task
from reproduction.settings import Settings

NOISE = 0.7  # its standard deviation, with shapes of brightness 1 on 0
N_TRAIN, N_TEST, SIZE = 40, 10, 64
QUICK = (4, 2, 16)
N_TEST_DRAWINGS = 2
N_PASSES = 10


def load_shapes(settings: Settings, seed: int, noise: float = NOISE) -> Images:
    """Made shapes, new ones for each seed."""
    n_train, n_test, size = QUICK if settings.quick else (N_TRAIN, N_TEST, SIZE)
    images, masks = make_shapes(n_train + n_test, size=size, noise=noise, random_state=seed)
    return _split(images, masks, n_train)


def load_drawings(settings: Settings, seed: int) -> Images:
    """Parts of the seven large drawings of the folder denoise: of five to train on and of two others to test on.

    Which two, where the parts lie and the noise are drawn by the seed.
    """
    n_train, n_test, size = QUICK if settings.quick else (N_TRAIN, N_TEST, SIZE)
    drawings = load_denoise(None if settings.folder is None else Path(settings.folder) / "denoise")[1:]
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(len(drawings)).tolist()
    test, train = order[:N_TEST_DRAWINGS], order[N_TEST_DRAWINGS:]
    chosen = [train[i % len(train)] for i in range(n_train)] + [test[i % len(test)] for i in range(n_test)]
    masks = [_part(drawings[which], size, rng) for which in chosen]
    return _split([mask + rng.normal(scale=NOISE, size=mask.shape) for mask in masks], masks, n_train)


def _part(drawing: AnyArray, size: int, rng: np.random.Generator) -> AnyArray:
    top, left = (int(rng.integers(side - size + 1)) for side in drawing.shape)
    return drawing[top : top + size, left : left + size]


def _split(images: list[AnyArray], masks: list[AnyArray], n_train: int) -> Images:
    graphs = [grid(image) for image in images]
    return Images(graphs[:n_train], masks[:n_train], graphs[n_train:], masks[n_train:], {})


# Two features of about the same size: they are weighted as they are, as in the paper.
SHAPES = Task("made shapes", load_shapes, N_PASSES, 1, {"standardize": False}, {"n_estimators": 60})
DRAWINGS = Task("parts of drawings", load_drawings, N_PASSES, 1, {"standardize": False}, {"n_estimators": 60})
