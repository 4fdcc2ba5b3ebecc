"""Scorers as scikit-learn calls them, and metrics by name."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from hedgerow import metrics
from hedgerow.errors import InputError
from hedgerow.metrics import get_metric, label_f1, make_scorer, span_f1


class Copier:
    """Predicts what it is given."""

    def predict(self, X: Any) -> Any:
        return X


def errors(y_true: Any, y_pred: Any, cost: float = 1.0) -> float:
    return cost * sum(a != b for row in zip(y_true, y_pred) for a, b in zip(*row))


TRUE = [["B-X", "I-X", "O"], ["B-Y"], ["O", "O"]]
PREDICTED = [["B-X", "O", "O"], ["B-Y"], ["O", "O"]]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("label_accuracy_scorer", "label_accuracy"),
        ("label_f1_scorer", "label_f1"),
        ("span_f1_scorer", "span_f1"),
        ("sequence_accuracy_scorer", "sequence_accuracy"),
    ],
)
def test_the_scorers_score(name: str, metric: str) -> None:
    scorer = getattr(metrics, name)
    expected = getattr(metrics, metric)(TRUE, PREDICTED)
    assert 0.0 < expected < 1.0
    assert scorer(Copier(), PREDICTED, TRUE) == expected
    assert repr(scorer) == f"make_scorer({metric})"
    assert pickle.loads(pickle.dumps(scorer))(Copier(), PREDICTED, TRUE) == expected


def test_the_truth_is_the_first_argument() -> None:
    assert label_f1(TRUE, PREDICTED, "weighted") != label_f1(PREDICTED, TRUE, "weighted")
    assert metrics.label_f1_scorer(Copier(), PREDICTED, TRUE) == label_f1(TRUE, PREDICTED)


def test_options_and_losses() -> None:
    scorer = make_scorer(errors, greater_is_better=False, cost=2.0)
    assert scorer(Copier(), PREDICTED, TRUE) == -2.0
    assert repr(scorer) == "make_scorer(errors, greater_is_better=False, cost=2.0)"
    with pytest.raises(InputError, match="scheme 'iob2'"):
        make_scorer(span_f1, scheme="iob2")(Copier(), [["S-X"]], [["S-X"]])


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("accuracy", "label_accuracy"),
        ("span_f1", "span_f1"),
        ("label_f1", "label_f1"),
        ("sequence_accuracy", "sequence_accuracy"),
    ],
)
def test_metrics_by_name(name: str, metric: str) -> None:
    assert get_metric(name) is getattr(metrics, metric)
    assert isinstance(get_metric(name)(TRUE, PREDICTED), float)


def test_other_metrics() -> None:
    assert get_metric(errors) is errors
    with pytest.raises(InputError, match=r"'f1' is unknown.*accuracy, label_f1, macro_f1, sequence_accuracy, span_f1"):
        get_metric("f1")
