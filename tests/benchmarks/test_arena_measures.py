"""The measures of the arena, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.arena.measures import calibration_error, count_errors, macro_f1, measure, segment_f1, segments


def test_runs_of_equal_labels_are_segments():
    assert segments(["a", "a", "b", "a"]) == {(0, 2, "a"), (2, 3, "b"), (3, 4, "a")}
    assert segments([]) == set()


def test_a_segment_is_right_when_begin_end_and_label_are():
    truth = [["a", "a", "b", "b"], ["c"]]
    predicted = [["a", "a", "b", "a"], ["c"]]
    # right: (0, 2, a) and the c; 3 true ones, 4 found
    assert segment_f1(truth, predicted) == pytest.approx(2 * 2 / 7)


def test_macro_f1_is_over_the_labels_of_the_truth():
    truth, predicted = ["a", "a", "b", "b"], ["a", "c", "b", "a"]
    # a: 2·1/(2+2), b: 2·1/(2+1); c is not in the truth
    assert macro_f1(truth, predicted) == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_calibration_error_by_hand():
    confidence = np.array([0.95, 0.85, 0.15, 1.0])
    right = np.array([True, False, False, True])
    # Two bins: the upper has 0.95, 0.85 and 1.0 with two of three right, the lower 0.15 with none.
    expected = 3 / 4 * abs((0.95 + 0.85 + 1.0) / 3 - 2 / 3) + 1 / 4 * 0.15
    assert calibration_error(confidence, right, n_bins=2) == pytest.approx(expected)


def test_bins_keep_faults_of_both_signs_apart():
    confidence, right = np.array([0.9, 0.6]), np.array([False, True])
    assert calibration_error(confidence, right, n_bins=10) == pytest.approx((0.9 + 0.4) / 2)
    assert calibration_error(confidence, right, n_bins=1) == pytest.approx(0.25)


def test_log_loss_leaves_out_labels_that_training_lacks():
    truth = [["a", "b", "z"]]
    probs = [np.array([[0.8, 0.2], [0.5, 0.5], [0.9, 0.1]])]
    found = measure(truth, [["a", "a", "a"]], probs, [["a", "b"]], spans=False)
    assert found["log_loss"] == pytest.approx(-(math.log(0.8) + math.log(0.5)) / 2)
    assert found["accuracy"] == pytest.approx(1 / 3)


def test_each_training_has_its_own_order_of_labels():
    probs = [np.array([[0.8, 0.2]]), np.array([[0.2, 0.8]])]
    found = measure([["a"], ["a"]], [["a"], ["a"]], probs, [["a", "b"], ["b", "a"]], spans=False)
    assert found["log_loss"] == pytest.approx(-math.log(0.8))


def test_spans_are_those_of_iob():
    truth, predicted = [["B-x", "I-x", "O"]], [["B-x", "I-x", "B-y"]]
    assert measure(truth, predicted, None, None, spans=True)["segment_f1"] == pytest.approx(2 / 3)
    assert measure(truth, predicted, None, None, spans=False)["segment_f1"] == pytest.approx(4 / 6)


def test_errors_by_sequence_and_by_block():
    truth, predicted = [["a"] * 5, ["b"]], [["a", "b", "a", "b", "b"], ["b"]]
    assert count_errors(truth, predicted) == ([3, 0], [5, 1])
    assert count_errors(truth, predicted, block=2) == ([1, 1, 1, 0], [2, 2, 1, 1])
