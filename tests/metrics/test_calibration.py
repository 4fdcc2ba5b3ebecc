"""Reliability curves and the expected calibration error: by hand, and beside scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve as of_scikit_learn

from hedgerow.errors import InputError
from hedgerow.metrics import calibration_curve, expected_calibration_error

CLASSES = ["a", "b", "c"]
TRUE = [["a", "b", None], ["c", "d"]]
PROBS = [
    np.array([[0.6, 0.3, 0.1], [0.65, 0.25, 0.1], [0.0, 0.0, 1.0]]),
    np.array([[0.0, 0.1, 0.9], [0.0, 0.95, 0.05]]),
]


def test_by_hand():
    prob_true, prob_pred = calibration_curve(TRUE, PROBS, CLASSES, n_bins=2)
    assert prob_true.tolist() == [0.5]  # a and c are right; the third position has no label, and "d" no column
    assert prob_pred == pytest.approx([(0.6 + 0.65 + 0.9 + 0.95) / 4])
    prob_true, prob_pred = calibration_curve(TRUE, PROBS, CLASSES, n_bins=4)
    assert prob_true.tolist() == [0.5, 0.5]
    assert prob_pred == pytest.approx([0.625, 0.925])
    error = expected_calibration_error(TRUE, PROBS, CLASSES, n_bins=4)
    assert error == pytest.approx((2 * 0.125 + 2 * 0.425) / 4)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_one_label_as_in_scikit_learn(rng, strategy):
    probs = [rng.dirichlet(np.ones(3), size=n) for n in (40, 1, 60)]
    true = [rng.choice(CLASSES, size=len(rows)).tolist() for rows in probs]
    found = calibration_curve(true, probs, CLASSES, pos_label="b", n_bins=7, strategy=strategy)
    flat = np.concatenate(true) == "b"
    expected = of_scikit_learn(flat, np.concatenate(probs)[:, 1], n_bins=7, strategy=strategy)
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_probabilities_that_hold_have_no_error(rng):
    probs = rng.dirichlet(np.ones(2), size=100_000)
    true = np.where(rng.random(len(probs)) < probs[:, 0], 0, 1)
    assert expected_calibration_error([true], [probs], [0, 1]) < 0.01
    assert expected_calibration_error([true], [probs**3 / (probs**3).sum(axis=1, keepdims=True)], [0, 1]) > 0.1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ((TRUE, PROBS[:1], CLASSES), "y_true has 2 sequences and y_prob has 1"),
        ((TRUE, PROBS, ["a", "b"]), r"sequence 0.*shape \(3, 3\) where 3 labels and 2 classes"),
        ((TRUE, [PROBS[0], 2 * PROBS[1]], CLASSES), "between 0 and 1"),
        ((TRUE, [PROBS[0], np.nan * PROBS[1]], CLASSES), "between 0 and 1"),
        (([[None] * 3, [None] * 2], PROBS, CLASSES), "no labelled position"),
    ],
)
def test_what_cannot_be_scored_is_refused(given, what):
    with pytest.raises(InputError, match=what):
        expected_calibration_error(*given)


def test_options_that_are_none_are_refused():
    with pytest.raises(InputError, match="pos_label is 'd'"):
        calibration_curve(TRUE, PROBS, CLASSES, pos_label="d")
    for wrong in ({"n_bins": 0}, {"strategy": "even"}):
        with pytest.raises(InputError, match="uniform"):
            calibration_curve(TRUE, PROBS, CLASSES, **wrong)
