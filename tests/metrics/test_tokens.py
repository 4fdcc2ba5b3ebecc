"""Label metrics against scikit-learn, and by hand."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.metrics import label_accuracy, label_f1, label_report

LABELS = ["a", "b", "c", "d"]
AVERAGES = ["micro", "macro", "weighted"]
Pair = tuple[list[list[str]], list[list[str]]]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    label = st.sampled_from(LABELS)
    true = draw(st.lists(st.lists(label, min_size=1, max_size=6), min_size=1, max_size=5))
    return true, [[draw(label) for _ in labels] for labels in true]


def flat(y: list[list[str]]) -> list[str]:
    return list(chain.from_iterable(y))


@given(pairs(), st.sampled_from([0.0, 1.0]), st.sampled_from([None, ["b"], ["c", "a"], ["a", "never"]]))
def test_report_is_that_of_scikit_learn(pair: Pair, zero: float, labels: list[str] | None) -> None:
    true, predicted = pair
    report = label_report(true, predicted, labels=labels, zero_division=zero)
    options = {"labels": labels, "zero_division": zero}

    def expected(average: str | None) -> np.ndarray:
        values = sklearn.metrics.precision_recall_fscore_support(
            flat(true), flat(predicted), average=average, **options
        )
        return np.array(values[:3], dtype=float)

    names = labels or sorted({*flat(true), *flat(predicted)})
    assert list(report.per_label) == names
    rows = [[s.precision, s.recall, s.f1] for s in report.per_label.values()]
    np.testing.assert_allclose(np.transpose(rows), expected(None), rtol=1e-12)
    assert [s.support for s in report.per_label.values()] == [flat(true).count(name) for name in names]
    for average in AVERAGES:
        scores = getattr(report, average)
        np.testing.assert_allclose(
            [scores.precision, scores.recall, scores.f1], expected(average), rtol=1e-12, atol=1e-15
        )
        assert scores.support == sum(flat(true).count(name) for name in names)
        assert label_f1(true, predicted, average, labels, zero) == scores.f1
    accuracy = sklearn.metrics.accuracy_score(flat(true), flat(predicted))
    assert report.accuracy == label_accuracy(true, predicted) == pytest.approx(accuracy, rel=1e-12)


@given(pairs(), st.data())
def test_weights_are_those_of_scikit_learn(pair: Pair, data: st.DataObject) -> None:
    true, predicted = pair
    weight = st.floats(0.1, 9.0)
    by_sequence = [data.draw(weight) for _ in true]
    by_position = [[data.draw(weight) for _ in labels] for labels in true]
    spread = flat([[w] * len(labels) for w, labels in zip(by_sequence, true)])
    for given_weights, flat_weights in ((by_sequence, spread), (by_position, flat(by_position))):
        expected = sklearn.metrics.accuracy_score(flat(true), flat(predicted), sample_weight=flat_weights)
        assert label_accuracy(true, predicted, given_weights) == pytest.approx(expected, rel=1e-12)


@given(pairs(), st.data())
def test_unlabelled_positions_are_left_out(pair: Pair, data: st.DataObject) -> None:
    true, predicted = pair
    marks = [[data.draw(st.booleans()) for _ in labels] for labels in true]
    marks[0][0] = True
    partial = [[t if m else None for t, m in zip(*row)] for row in zip(true, marks)]
    kept_true = [[t for t, m in zip(*row) if m] for row in zip(true, marks)]
    kept_predicted = [[p for p, m in zip(*row) if m] for row in zip(predicted, marks)]
    assert label_report(partial, predicted) == label_report(kept_true, kept_predicted)
    assert label_accuracy(partial, predicted) == label_accuracy(kept_true, kept_predicted)


def test_default_average_is_weighted() -> None:
    true, predicted = [["a", "a", "a", "b"]], [["a", "a", "b", "b"]]
    assert label_f1(true, predicted) == pytest.approx((3 * 0.8 + 1 * 2 / 3) / 4)


def test_weights_by_hand() -> None:
    true, predicted = [["a", "b"], ["a", None]], [["a", "a"], ["b", "b"]]
    assert label_accuracy(true, predicted) == pytest.approx(1 / 3)
    assert label_accuracy(true, predicted, [2.0, 1.0]) == pytest.approx(2 / 5)
    assert label_accuracy(true, predicted, [[3.0, 0.0], [1.0, 100.0]]) == pytest.approx(3 / 4)
    assert label_accuracy(true, predicted, np.array([[3.0, 0.0], [1.0, 100.0]])) == pytest.approx(3 / 4)


def test_the_table() -> None:
    report = label_report([["B", "I", "I"], ["O"]], [["B", "I", "O"], ["O"]])
    assert str(report) == (
        "          precision  recall      f1  support\n"
        "       B     1.0000  1.0000  1.0000        1\n"
        "       I     1.0000  0.5000  0.6667        2\n"
        "       O     0.5000  1.0000  0.6667        1\n"
        "\n"
        "   micro     0.7500  0.7500  0.7500        4\n"
        "   macro     0.8333  0.8333  0.7778        4\n"
        "weighted     0.8750  0.7500  0.7500        4\n"
        "\n"
        "accuracy 0.7500"
    )


def test_a_long_label_widens_the_table() -> None:
    lines = str(label_report([["a-very-long-label", 7]], [["a-very-long-label", 7]])).splitlines()
    assert lines[1].startswith("                7  ")
    assert lines[2].startswith("a-very-long-label  ")
    assert len({len(line) for line in lines[:3]}) == 1


def test_to_dict_is_plain() -> None:
    report = label_report([["a", "b"]], [["a", "a"]])
    as_dict = json.loads(json.dumps(report.to_dict()))
    assert as_dict["per_label"]["a"] == {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 1}
    assert as_dict["accuracy"] == as_dict["micro"]["f1"] == 0.5
    assert set(as_dict) == {"per_label", "accuracy", "micro", "macro", "weighted"}


def test_errors_of_use() -> None:
    y = [["a", "b"], ["a"]]
    with pytest.raises(InputError, match=r"average is 'samples'.*micro, macro, weighted"):
        label_f1(y, y, average="samples")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"zero_division is 0\.5"):
        label_report(y, y, zero_division=0.5)
    with pytest.raises(InputError, match="each once"):
        label_report(y, y, labels=["a", "a"])
    with pytest.raises(InputError, match="at least one label"):
        label_report(y, y, labels=[])
    with pytest.raises(InputError, match="no labelled position"):
        label_accuracy([[None]], [["a"]])
    with pytest.raises(InputError, match="sample_weight has 3 items for 2 sequences"):
        label_accuracy(y, y, [1.0, 1.0, 1.0])
    with pytest.raises(InputError, match="sequence 1: sample_weight does not have 1 numbers"):
        label_accuracy(y, y, [[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="negative or infinite"):
        label_accuracy(y, y, [1.0, -1.0])
    with pytest.raises(InputError, match="weights of all labelled positions are zero"):
        label_accuracy(y, y, [0.0, 0.0])


def test_flags_stay_flags():
    report = label_report([[True, False, True]], [[True, True, True]])
    assert [type(label) for label in report.per_label] == [bool, bool]
    assert str(report).splitlines()[1].split()[0] == "False"
