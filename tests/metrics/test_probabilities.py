"""Log-loss, Brier's score and confusion: as scikit-learn has them; and the test by sequence."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
from scipy import stats

from hedgerow import LinearCRF
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.metrics import brier_score, confusion_matrix, get_scorer, log_loss, macro_f1, make_scorer, sequence_test


def flat_of(rows):
    return [label for row in rows for label in row]


@pytest.fixture
def answers(rng):
    classes = ["a", "b", "c"]
    probs = [rng.dirichlet([0.7, 0.7, 0.7], n) for n in (4, 1, 6)]
    return [[classes[k] for k in rng.integers(0, 3, len(row))] for row in probs], probs, classes


def test_log_loss_and_brier(answers):
    y, probs, classes = answers
    flat, stacked = flat_of(y), np.concatenate(probs)
    assert log_loss(y, probs, classes) == pytest.approx(sklearn.metrics.log_loss(flat, stacked, labels=classes))
    hot = np.array([[label == k for k in classes] for label in flat])
    assert brier_score(y, probs, classes) == pytest.approx(((stacked - hot) ** 2).sum(axis=1).mean())


def test_labels_that_no_model_knows(answers):
    _, probs, classes = answers
    y = [["d"] * len(row) for row in probs]
    assert log_loss(y, probs, classes) == pytest.approx(-np.log(np.finfo(float).eps))
    squares = np.concatenate([(row**2).sum(axis=1) for row in probs])
    assert brier_score(y, probs, classes) == pytest.approx(1 + squares.mean())
    with pytest.raises(InputError, match="no labelled position"):
        log_loss([[None] * len(row) for row in probs], probs, classes)


def test_confusion(answers, rng):
    y, _, classes = answers
    predicted = [[str(rng.choice(classes)) for _ in row] for row in y]
    found = confusion_matrix(y, predicted)
    np.testing.assert_array_equal(found.counts, sklearn.metrics.confusion_matrix(flat_of(y), flat_of(predicted)))
    few = confusion_matrix(y, predicted, labels=["c", "a"])
    wanted = sklearn.metrics.confusion_matrix(flat_of(y), flat_of(predicted), labels=["c", "a"])
    np.testing.assert_array_equal(few.counts, wanted)
    worst = found.most_confused(1)[0]
    off = found.counts - np.diag(np.diag(found.counts))
    assert worst[2] == off.max()
    assert str(found).splitlines()[0].split() == ["true", "\\", "predicted", "a", "b", "c"]


def test_scorers_by_name():
    X, y = make_sequences(20, mean_length=6, random_state=0)
    model = LinearCRF(window=0).fit(X, y)
    probs = model.predict_proba(X)
    assert get_scorer("neg_log_loss")(model, X, y) == -log_loss(y, probs, model.classes_)
    assert get_scorer("macro_f1")(model, X, y) == macro_f1(y, model.predict(X))
    assert repr(make_scorer(brier_score, False, of_probabilities=True)).endswith("of_probabilities=True)")
    with pytest.raises(InputError, match="the scorer 'f7' is unknown"):
        get_scorer("f7")


def test_by_sequence_where_none_is_all_right(rng):
    """McNemar's test by whole sequences sees nothing there; errors do differ."""
    y = [["a"] * 30 for _ in range(12)]
    first, second = ([["b" if wrong else "a" for wrong in rng.random(30) < rate] for _ in y] for rate in (0.1, 0.4))
    for rows in (first, second):
        for row in rows:
            row[0] = "b"
    found = sequence_test(y, first, second)
    errors = [[row.count("b") for row in rows] for rows in (first, second)]
    wanted = stats.permutation_test(
        errors, lambda a, b: np.sum(np.subtract(a, b)), permutation_type="samples", n_resamples=np.inf
    )
    assert found.p_value == pytest.approx(wanted.pvalue, abs=1e-9)
    assert found.p_value < 0.01
    assert (found.mean_errors_a, found.mean_errors_b) == (np.mean(errors[0]), np.mean(errors[1]))
    assert sequence_test(y, first, first).p_value == 1.0
