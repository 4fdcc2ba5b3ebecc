"""Numbers of single precision are kept as they are, and mean the same as the same numbers in double precision."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from hedgerow import HMM, LinearCRF, SlidingWindow, TreeCRF
from hedgerow.data.encoding import encode, learn
from hedgerow.linear.kernels import numbers

MODELS = (
    LinearCRF(window=1, max_iter=20, calibrate=False),
    LinearCRF(window=0, trainer="adagrad", max_iter=3, missing="impute", calibrate=False, random_state=0),
    TreeCRF(window=1, n_estimators=5, early_stopping=False, random_state=0),
    SlidingWindow(window=1, random_state=0),
    HMM(),
)


def corpus(seed=0, n=30, D=6):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(int(rng.integers(3, 9)), D)).astype(np.float32) for _ in range(n)]
    return X, [["a" if row[0] + row[1] > 0 else "b" for row in rows] for rows in X]


def as_double(X):
    return [rows.astype(np.float64) for rows in X]


def test_single_precision_stays_single_and_takes_half_the_memory():
    X, y = corpus()
    single, double = learn(X, y, window=1), learn(as_double(X), y, window=1)
    assert single.numeric.dtype == np.float32
    assert single.numeric.nbytes * 2 == double.numeric.nbytes
    np.testing.assert_array_equal(single.numeric, double.numeric)
    assert single.schema == double.schema
    assert encode(single.schema, X).numeric.dtype == np.float32
    assert encode(single.schema, as_double(X)).numeric.dtype == np.float64


@pytest.mark.parametrize("shape", ["flat", "padded", "frames", "one frame"])
def test_every_way_in_keeps_it(shape):
    X, y = corpus()
    X, y = [rows[:3] for rows in X], [labels[:3] for labels in y]
    lengths = None
    if shape == "flat":
        X, y, lengths = np.concatenate(X), np.concatenate(y), [3] * len(X)
    elif shape == "padded":
        X, y, lengths = np.stack(X), np.array(y), [3] * len(X)
    elif shape == "frames":
        X = [pd.DataFrame(rows, columns=list("abcdef")) for rows in X]
    else:
        from hedgerow import sequences

        frame = pd.DataFrame(np.concatenate(X), columns=list("abcdef"))
        X, y = sequences(frame.assign(by=np.arange(len(frame)) // 3, label=np.concatenate(y)), by="by", label="label")
    assert learn(X, y, lengths=lengths).numeric.dtype == np.float32


def test_one_column_of_double_precision_makes_all_double():
    X, y = corpus()
    frames = [pd.DataFrame(rows, columns=list("abcdef")).assign(g=0.1) for rows in X]
    dataset = learn(frames, y)
    assert dataset.numeric.dtype == np.float64
    assert (dataset.numeric[-1] == 0.1).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_model_is_the_same_to_the_bit(model):
    X, y = corpus()
    if getattr(model, "missing", None) == "impute":
        X[0][1, 2] = np.nan
    single = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(np.concatenate(single), np.concatenate(model.predict_proba(as_double(X))))
    model.fit(as_double(X), y)
    np.testing.assert_array_equal(np.concatenate(single), np.concatenate(model.predict_proba(X)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, 150])  # few and many different numbers
def test_rounding_after_training_moves_no_number_across_a_threshold(n, weighted):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(8, 3)) for _ in range(n)]
    y = [["a" if row[0] + row[1] > 0 else "b" for row in rows] for rows in X]
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    model = TreeCRF(window=1, n_estimators=10, early_stopping=False, random_state=0).fit(X, y, sample_weight=weights)
    rounded = [rows.astype(np.float32) for rows in X]
    assert any((one != other).any() for one, other in zip(X, rounded))
    np.testing.assert_array_equal(np.concatenate(model.predict_proba(X)), np.concatenate(model.predict_proba(rounded)))


@pytest.mark.parametrize(
    ("mean", "window", "tol", "stored"), [(1.0, 0, 1e-8, True), (100.0, 0, 1e-8, False), (0.0, (0, 1), 1e-3, False)]
)
def test_many_numbers_are_trained_on_in_single_precision_to_the_same_end(mean, window, tol, stored, monkeypatch):
    """As they are stored, or standardised before: means far from 0 would cost digits, and outside there are none."""
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(30, 90)) + mean).astype(np.float32) for _ in range(150)]
    y = [["a" if row[:3].sum() > 3 * mean else "b" for row in rows + rng.normal(size=rows.shape)] for rows in X]
    calls = []
    for name in ("gather_clean", "scatter_clean"):
        kernel = getattr(numbers, name)
        monkeypatch.setattr(numbers, name, lambda *given, kernel=kernel: calls.append(kernel) or kernel(*given))
    model = LinearCRF(tol=tol, window=window)
    single = clone(model).fit(X, y)
    assert (len(set(calls)) == 2) == stored
    double = clone(model).fit(as_double(X), y)
    assert not np.array_equal(single.weights_, double.weights_)
    np.testing.assert_allclose(single.weights_, double.weights_, atol=2e-4)
    np.testing.assert_allclose(single.history_[-1].loss, double.history_[-1].loss, rtol=1e-7)
    np.testing.assert_array_equal(clone(single).set_params(n_jobs=3).fit(X, y).weights_, single.weights_)
    prediction = np.concatenate(single.predict_proba(X))  # which is in double precision
    np.testing.assert_array_equal(prediction, np.concatenate(single.predict_proba(as_double(X))))


@pytest.mark.parametrize("scale", [1e-36, 1e36])
def test_numbers_near_the_ends_of_single_precision_are_trained_on_in_double(scale):
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(30, 90)) * scale).astype(np.float32) for _ in range(60)]
    y = [["a" if row[:3].sum() > 0 else "b" for row in rows] for rows in X]
    single, double = LinearCRF(tol=0.01, window=0).fit(X, y), LinearCRF(tol=0.01, window=0).fit(as_double(X), y)
    np.testing.assert_array_equal(single.weights_, double.weights_)


@pytest.mark.parametrize("model", [LinearCRF(window=1, max_iter=20), TreeCRF(window=1, n_estimators=5)], ids=type)
def test_what_is_derived_of_it_is_the_same_to_the_bit(model):
    X, y = corpus()
    model.set_params(features=["difference", "rolling_std(3)"], random_state=0)
    single = np.concatenate(model.fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(single, np.concatenate(model.fit(as_double(X), y).predict_proba(X)))
