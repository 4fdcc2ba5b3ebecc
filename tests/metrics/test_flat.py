"""sklearn-crfsuite's metrics, against that package."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn_crfsuite import metrics as theirs

from hedgerow import metrics as ours
from hedgerow.errors import InputError

TRUE = [["B", "I", "O"], ["B"], ["O", "O", "I", "B"]]
PREDICTED = [["B", "O", "O"], ["B"], ["O", "I", "I", "O"]]

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("flat_accuracy_score", {}),
    ("flat_precision_score", {"average": "macro"}),
    ("flat_recall_score", {"average": "weighted", "labels": ["B", "I"]}),
    ("flat_f1_score", {"average": "micro", "labels": ["B", "I"]}),
    ("flat_fbeta_score", {"beta": 2.0, "average": "macro"}),
    ("flat_classification_report", {"labels": ["I", "B"], "digits": 3}),
    ("sequence_accuracy_score", {}),
]


@pytest.mark.parametrize(("name", "options"), CALLS, ids=[name for name, _ in CALLS])
def test_same_value_and_same_face(name: str, options: dict[str, Any]) -> None:
    our, their = getattr(ours, name), getattr(theirs, name)
    assert our(TRUE, PREDICTED, **options) == their(TRUE, PREDICTED, **options)
    named = [p.name for p in inspect.signature(their).parameters.values() if p.kind is not p.VAR_KEYWORD]
    assert [p for p in inspect.signature(our).parameters if p != "options"] == named


def test_sequences_of_equal_length_are_still_sequences() -> None:
    # sklearn-crfsuite turns these into a table and counts positions.
    assert ours.sequence_accuracy_score([["a", "b"], ["a", "a"]], [["a", "b"], ["a", "b"]]) == 0.5
    assert ours.sequence_accuracy_score([], []) == 0.0


def test_lengths_that_differ_are_an_error() -> None:
    with pytest.raises(InputError, match="sequence 1: y_true has 2 labels and y_pred has 1"):
        ours.flat_f1_score([["a"], ["a", "b"]], [["a"], ["a"]], average="micro")
