"""Bins: codes as they are, few numbers exactly, many by quantiles; missing and outside have bins of their own."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.encoding import encode, learn
from hedgerow.errors import InputError
from hedgerow.trees.binning import CODES, ORDERED, bin_dataset, learn_binning


def test_codes_keep_their_numbers_and_windows_see_outside():
    dataset = learn([["a", "b", "a"], ["c"]], [["x", "y", "x"], ["y"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    assert binning.kinds == (CODES,)
    assert binning.streams[1].tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(data.bins, dataset.codes)
    assert data.bins[0, data.place[0] - 1] == 1  # outside
    np.testing.assert_array_equal(data.flat[data.place], np.arange(4))
    assert data.first.tolist() == [True, False, False, True]


def test_postings_list_every_place_of_a_code():
    dataset = learn([["a", "b", "a"], ["c", "a"]], [["x", "y", "x"], ["y", "x"]], window=1)
    data = bin_dataset(learn_binning(dataset), dataset, postings=True)
    for code in range(5):
        run = data.postings[data.posting_ptr[0, code] : data.posting_ptr[0, code + 1]]
        np.testing.assert_array_equal(run, data.place[data.bins[0, data.place] == code])


def test_few_numbers_are_exact_and_nan_is_missing():
    values = np.array([[1.0], [3.0], [np.nan], [2.0], [3.0]])
    dataset = learn([values], [["x", "y", "x", "y", "x"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=False)
    assert binning.kinds == (ORDERED,)
    assert binning.n_bins == (5,)  # three values, missing, outside
    assert data.bins[0, data.place].tolist() == [0, 2, 3, 1, 2]
    assert data.bins[0, data.place[0] - 1] == 4


def test_many_numbers_go_by_quantiles(rng):
    values = rng.normal(size=(5000, 1))
    dataset = learn([values], [["x", "y"] * 2500])
    binning = learn_binning(dataset, max_bins=16)
    data = bin_dataset(binning, dataset, postings=False)
    counts = np.bincount(data.bins[0], minlength=binning.n_bins[0])
    assert binning.n_bins == (18,)
    assert counts[:16].min() > 250
    order = np.argsort(values[:, 0])
    assert np.all(np.diff(data.bins[0, order].astype(int)) >= 0)


def test_new_numbers_fall_into_the_bins_of_training():
    dataset = learn([np.array([[1.0], [2.0], [4.0]])], [["x", "y", "x"]])
    binning = learn_binning(dataset)
    new = encode(dataset.schema, [np.array([[-9.0], [1.4], [2.9], [3.1], [99.0]])])
    assert bin_dataset(binning, new, postings=False).bins[0].tolist() == [0, 0, 1, 2, 2]


def test_attributes_are_refused():
    dataset = learn([[["a", "b"], ["c"]]], [["x", "y"]])
    with pytest.raises(InputError, match="sparse attributes"):
        learn_binning(dataset)
