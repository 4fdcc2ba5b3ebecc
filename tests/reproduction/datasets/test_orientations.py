"""Histograms of edge orientations."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from reproduction.datasets import orientation_features, quadratic_features
from reproduction.datasets.orientations import N_FINE, _histograms

ROWS, COLUMNS = np.indices((64, 96))


def waves(angle):
    """Brightness that changes along this angle, from the right downwards."""
    return 100.0 * np.sin(0.5 * (np.cos(angle) * COLUMNS + np.sin(angle) * ROWS))


@pytest.mark.parametrize(("angle", "which"), [(0.2, 0), (0.9, 1), (1.57, 2), (2.2, 3), (2.8, 4)])
def test_waves_fill_the_bin_of_their_angle(angle, which):
    bins, _ = orientation_features(waves(angle))
    assert bins.shape == (4, 6, 5)
    assert (bins[1:-1, 1:-1].argmax(axis=-1) == which).all()


def test_a_flat_image_has_nothing():
    bins, scales = orientation_features(np.full((32, 32), 80.0))
    assert not bins.any()
    assert scales.shape == (2, 2, 14)
    assert not scales[..., [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]].any()


def test_right_angles_and_scales_that_agree():
    squares = np.maximum(waves(0.0), waves(np.pi / 2))
    _, scales = orientation_features(squares)
    inner = scales[1:-1, 1:-1]
    assert (inner[..., [3, 7, 11]] > 0.95).all()
    _, stripes = orientation_features(waves(0.6))
    assert (stripes[..., 12:] > 0.9).all()
    assert stripes[1:-1, 1:-1, 2].mean() > inner[..., 2].mean()  # one peak is higher than two


def test_histograms_are_means_over_windows_cut_at_the_border():
    rng = np.random.default_rng(0)
    size, angle = rng.random((64, 96)), rng.uniform(0.0, np.pi, size=(64, 96))
    found = _histograms(size, angle, N_FINE, 64)
    window = slice(0, 40), slice(40 - 32 + 0, 40 + 32)
    which = (angle[window] * N_FINE / np.pi).astype(int)
    expected = np.bincount(which.ravel(), size[window].ravel(), minlength=N_FINE) / size[window].size
    assert found[0, 2] == pytest.approx(expected)


def test_products_of_features():
    assert quadratic_features(np.array([2.0, 3.0])).tolist() == [2.0, 3.0, 4.0, 6.0, 9.0]
    assert quadratic_features(np.ones((4, 5))).shape == (4, 20)


@pytest.mark.parametrize("shape", [(20, 32), (32, 20), (32, 32, 3)])
def test_sides_that_are_no_multiples(shape):
    with pytest.raises(InputError, match="the image has the shape"):
        orientation_features(np.zeros(shape))
