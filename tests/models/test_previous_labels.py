"""Labels as features: histories, columns and runs of labels, and scores by models that were fitted to them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hedgerow import MEMM, InputError, RecurrentSlidingWindow
from hedgerow.data.encoding import learn
from hedgerow.data.imputation import seen_schema
from hedgerow.legend import CODE, FIRST_VALUE, MISSING, OUTSIDE, UNLABELLED
from hedgerow.linear.index import row_names
from hedgerow.models.local.foreign import Matrix
from hedgerow.models.local.previous_labels import (
    LabelRuns,
    column_names,
    hide_unknown,
    label_histories,
    with_label_columns,
)
from hedgerow.models.local.rows import LinearScores, TreeScores
from tests.models.local_models import local

from .corpora import COLUMNS, partial_labels, rich_corpus

X, Y = rich_corpus(40, seed=3)
TRAIN = {"columns": COLUMNS, "window": 1}


def literal_histories(labels, offsets, K, order, backward):
    found = []
    for a, b in pairwise(offsets):
        for t in range(a, b):
            places = [t + i if backward else t - i for i in range(1, order + 1)]
            found.append([labels[p] if a <= p < b else K for p in places])
    return np.array(found, dtype=CODE).reshape(len(found), order)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_histories(order, backward):
    dataset = learn(X, partial_labels(Y, seed=1), **TRAIN)
    found = label_histories(dataset.labels, dataset.offsets, 3, order, backward=backward)
    np.testing.assert_array_equal(found, literal_histories(dataset.labels, dataset.offsets, 3, order, backward))


def test_columns_of_labels():
    dataset = learn([["a", "b", "c"]], [["x", None, "y"]])
    histories = label_histories(dataset.labels, dataset.offsets, 2, 2, backward=False)
    found = with_label_columns(dataset, histories, backward=False)
    assert [column.name for column in found.schema.columns[-2:]] == column_names(2, backward=False)
    assert column_names(2, backward=False) == ["(label -1)", "(label -2)"]
    assert column_names(1, backward=True) == ["(label +1)"]
    np.testing.assert_array_equal(found.codes[-2], [OUTSIDE, FIRST_VALUE, MISSING])
    np.testing.assert_array_equal(found.codes[-1], [OUTSIDE, OUTSIDE, FIRST_VALUE])
    assert found.labels.tolist() == [0, UNLABELLED, UNLABELLED]  # the last one sees a label that is not known
    with pytest.raises(InputError, match=r"\(label -1\)"):
        with_label_columns(found, histories, backward=False)


def test_unknown_histories_hide_labels_and_sets():
    dataset = learn([["a", "b", "c"]], [[{"x", "y"}, {"x", "y"}, "z"]])
    histories = label_histories(dataset.labels, dataset.offsets, 3, 1, backward=False)
    found = hide_unknown(dataset, histories)
    assert found.labels.tolist() == [UNLABELLED] * 3
    assert found.allowed[0].tolist() == [True, True, False]  # ⊥ before it is known
    assert found.allowed[1:].all()


def entries(dataset):
    """What stands at each position, by name."""
    names, places = dataset.schema.attributes.names(), []
    for i, length in enumerate(np.diff(dataset.offsets)):
        places.extend(range(dataset.start[i], dataset.start[i] + length))
    ptr = dataset.attr_ptr
    return [sorted(names[j] for j in dataset.attr_id[ptr[p] : ptr[p + 1]]) for p in places]


def test_runs_of_labels_and_conjunctions_by_name():
    dataset = learn([["u", "v", "u"], ["v"]], [["x", "y", "x"], ["y"]])
    histories = label_histories(dataset.labels, dataset.offsets, 2, 2, backward=False)
    runs = LabelRuns.observed(dataset, histories, None, backward=False)
    found = runs.attach(dataset, histories, runs.schema(dataset.schema))
    name = row_names(dataset.schema)[FIRST_VALUE].removesuffix("u")
    assert entries(found) == [
        sorted([f"{name}u & ⊥", "after ⊥"]),
        sorted([f"{name}v & x", "after x", "after ⊥ x"]),
        sorted([f"{name}u & y", "after y", "after x y"]),
        sorted([f"{name}v & ⊥", "after ⊥"]),
    ]
    turned = label_histories(dataset.labels, dataset.offsets, 2, 2, backward=True)
    back = LabelRuns.observed(dataset, turned, (), backward=True)
    found = back.attach(dataset, turned, back.schema(dataset.schema))
    assert entries(found)[0] == ["before y", "before y x"]


def test_runs_not_seen_have_no_attribute():
    dataset = learn([["u", "v"]], [["x", "y"]])
    histories = label_histories(dataset.labels, dataset.offsets, 2, 1, backward=False)
    runs = LabelRuns.observed(dataset, histories, None, backward=False)
    other = learn([["u", "v"]], [["y", "x"]])
    found = runs.attach(
        other, label_histories(other.labels, other.offsets, 2, 1, backward=False), runs.schema(dataset.schema)
    )
    assert [len(own) for own in entries(found)] == [2, 0]


@pytest.mark.parametrize("conjoin", ["all", ["word", "*", "size"], None], ids=["all", "some", "none"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_linear_rows_score_as_the_model_that_was_trained(order, conjoin):
    model = local(MEMM, order=order, conjoin=conjoin, **TRAIN).fit(X, Y)
    dataset = model.encode(X, Y)
    histories = label_histories(dataset.labels, dataset.offsets, 3, order, backward=False)
    trained = model.runs_.attach(dataset, histories, model.estimator_.schema_)
    expected = model.estimator_._potentials(trained, 0, len(X)).node_scores
    rows = LinearScores(model.estimator_, model.runs_, model.schema_).rows(dataset, 0, len(X))
    np.testing.assert_allclose(rows.scores(np.arange(len(histories)), histories), expected, atol=1e-12)
    if order:
        _check_after_each(rows, len(histories), order)


@pytest.mark.parametrize("missing", [None, "weighting", "surrogate", "indicator"])
@pytest.mark.parametrize("categorical", ["subset", "one_against_rest"])
def test_tree_rows_score_as_the_model_that_was_trained(categorical, missing):
    model = local(
RecurrentSlidingWindow,
        order=2, direction="right_to_left", n_estimators=5, early_stopping=False, l2_regularization=1.0,
        categorical=categorical, missing=missing, **TRAIN,
    ).fit(X, Y)  # fmt: skip
    dataset = model.encode(X, Y) if model.imputation_ is None else model.imputation_.apply(model.encode(X, Y))
    histories = label_histories(dataset.labels, dataset.offsets, 3, 2, backward=True)
    trained = with_label_columns(dataset, histories, backward=True)
    expected = model.estimator_._potentials(trained, 0, len(X)).node_scores
    scorer = TreeScores(model.estimator_, 2, backward=True)
    rows = scorer.rows(dataset, 0, len(X))
    np.testing.assert_allclose(rows.scores(np.arange(len(histories)), histories), expected, atol=1e-12)
    assert (scorer.label_trees is None) == (missing in ("weighting", "surrogate"))
    _check_after_each(rows, len(histories), 2)
    assert seen_schema(model).labels == model.schema_.labels


def _check_after_each(rows, n, order):
    some, older = np.arange(3, n, 2), (1,) * (order - 1)
    found = rows.after_each(some, older)
    for u in range(3):
        histories = np.tile(np.array([u, *older], dtype=CODE), (len(some), 1))
        np.testing.assert_allclose(found[:, u], rows.scores(some, histories), atol=1e-12)


def test_the_matrix_of_a_classifier_has_the_features_of_a_linear_model():
    dataset = learn(X, Y, **TRAIN)
    matrix = Matrix(dataset, 2, 7)
    begin, end = dataset.offsets[2], dataset.offsets[7]
    model = local(MEMM, order=0, **TRAIN).fit(X, Y)
    weights = np.zeros((len(row_names(dataset.schema)), 3))
    index = model.estimator_.layout_.nodes
    weights[index.slot_rows(), index.slot_label] = model.estimator_.weights_
    rows = np.arange(end - begin)
    scores = matrix.of(rows, np.empty((len(rows), 0), dtype=CODE)) @ weights
    expected = LinearScores(model.estimator_, model.runs_, model.schema_).rows(dataset, 2, 7)
    np.testing.assert_allclose(scores, expected.scores(rows, np.empty((len(rows), 0), CODE)), atol=1e-9)
    with_labels = matrix.of(rows, np.full((len(rows), 1), 3, dtype=CODE))
    assert with_labels.shape[1] == len(weights) + 4
    np.testing.assert_array_equal(with_labels[:, -1:].toarray(), 1.0)  # ⊥


def test_numbers_alone_are_a_dense_matrix():
    numbers = [np.random.default_rng(0).normal(size=(4, 2))]
    matrix = Matrix(learn(numbers, [["x", "y", "x", "y"]], window=1), 0, 1)
    assert isinstance(matrix.inputs, np.ndarray)
    assert matrix.of(np.arange(4), np.full((4, 1), 2, dtype=CODE)).shape == (4, matrix.inputs.shape[1] + 3)
