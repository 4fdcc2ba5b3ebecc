from __future__ import annotations

import numpy as np
import pytest

from hedgerow.datasets.shapes import make_shapes
from hedgerow.errors import InputError


def test_images_are_masks_with_noise():
    images, masks = make_shapes(30, size=48, noise=0.5, random_state=3)
    rest = np.concatenate([(image - mask).ravel() for image, mask in zip(images, masks)])
    assert rest.std() == pytest.approx(0.5, rel=0.02)
    assert rest.mean() == pytest.approx(0.0, abs=0.01)
    assert {mask.shape for mask in masks} == {(48, 48)}
    assert all(set(np.unique(mask)) == {0, 1} for mask in masks)
    assert 0.03 < np.mean([mask.mean() for mask in masks]) < 0.4  # most of an image is ground


def test_an_image_does_not_depend_on_how_many_there_are():
    few, many = make_shapes(2, random_state=5), make_shapes(4, random_state=5)
    assert np.array_equal(few[0][1], many[0][1])
    assert np.array_equal(few[1][1], many[1][1])
    assert not np.array_equal(few[1][0], make_shapes(2, random_state=6)[1][0])
    assert not np.array_equal(many[1][0], many[1][1])


def test_without_noise_an_image_is_its_mask():
    images, masks = make_shapes(2, noise=0.0)
    assert np.array_equal(images[0], masks[0])


@pytest.mark.parametrize("options", [{"n_images": 0}, {"size": 4}, {"noise": -1.0}, {"n_shapes": 0}])
def test_what_cannot_be_drawn_is_refused(options):
    with pytest.raises(InputError, match="make_shapes needs"):
        make_shapes(**options)
