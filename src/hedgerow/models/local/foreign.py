"""Any scikit-learn classifier as a classifier of positions: it sees the window of each as a row of a matrix.

The features are those of a linear model: a column of 0 and 1 for each value of a categorical column and each offset of
its window, numbers standardised. The matrix copies every window. It is sparse, unless all columns are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from hedgerow.data.dataset import OUTSIDE_COLUMN, Dataset
from hedgerow.errors import InputError
from hedgerow.estimators.base import ChainModel
from hedgerow.estimators.values import class_weights
from hedgerow.legend import CODE, UNLABELLED, CodeArray, FloatArray, IndexArray
from hedgerow.linear.index import Streams
from hedgerow.models.local.rows import Rows, score_each

_LEAST = np.finfo(np.float64).tiny  # a probability of 0 would make a label impossible for good


def check_classifier(classifier: Any) -> None:
    """Refuse what cannot serve as a classifier of positions."""
    if isinstance(classifier, str) or not hasattr(classifier, "fit") or not hasattr(classifier, "get_params"):
        hint = "Give 'trees', 'linear', a TreeCRF, a LinearCRF or a scikit-learn classifier."
        raise InputError(f"⟦estimator⟧ is {classifier!r}", hint=hint)
    if isinstance(classifier, type) or not hasattr(classifier, "predict_proba"):
        what = f"⟦estimator⟧ is {classifier!r}, which has no predict_proba"
        raise InputError(what, hint="Wrap it in sklearn.calibration.CalibratedClassifierCV.")
    if isinstance(classifier, ChainModel):
        what = f"⟦estimator⟧ is {classifier!r}, which classifies sequences and not rows"
        raise InputError(what, hint="Give 'trees', 'linear', a TreeCRF, a LinearCRF or a scikit-learn classifier.")


def fit_classifier(classifier: Any, dataset: Dataset, histories: CodeArray, class_weight: Any = None) -> float:
    """Fit a classifier to the positions whose label, and labels before it, are known; their negative log-likelihood."""
    assert dataset.labels is not None
    known = (dataset.labels != UNLABELLED) & (histories != UNLABELLED).all(axis=1)
    rows = np.flatnonzero(known)
    matrix = Matrix(dataset, 0, dataset.n_sequences).of(rows, histories[rows])
    weights, of_labels = {}, class_weights(class_weight, dataset)
    if dataset.weight_seq is not None or of_labels is not None:
        if not has_fit_parameter(classifier, "sample_weight"):
            raise InputError(f"{type(classifier).__name__} takes no sample_weight", hint="Leave the weights out.")
        of_sequences = np.ones(len(dataset)) if dataset.weight_seq is None else dataset.weight_seq
        weights["sample_weight"] = np.repeat(of_sequences, np.diff(dataset.offsets))[rows]
        if of_labels is not None:
            weights["sample_weight"] *= of_labels[dataset.labels[rows]]
    classifier.fit(matrix, dataset.labels[rows], **weights)
    column = np.searchsorted(classifier.classes_, dataset.labels[rows])
    probs = classifier.predict_proba(matrix)[np.arange(len(rows)), column]
    losses = -np.log(np.maximum(probs, _LEAST))
    return float((losses * weights.get("sample_weight", 1.0)).sum())


class Matrix:
    """The windows of some sequences as rows of a matrix, with the labels before them as columns of 0 and 1."""

    def __init__(self, dataset: Dataset, first: int, last: int) -> None:
        from scipy.sparse import csr_array

        schema = dataset.schema
        begin, end = int(dataset.offsets[first]), int(dataset.offsets[last])
        streams = Streams.of(schema)
        rows, columns, values = [np.empty(0, int)], [np.empty(0, int)], [np.empty(0)]
        for base, _, which, ids, numbers in streams.observed_at(dataset, np.arange(begin, end)):
            rows.append(which)
            columns.append(base + ids)
            values.append(np.broadcast_to(numbers, which.shape))
        # Indices of 32 bits: some classifiers take no others.
        where_ = (np.concatenate(part).astype(CODE) for part in (rows, columns))
        cells = np.concatenate(values), tuple(where_)
        self.inputs: Any = csr_array(cells, shape=(end - begin, streams.n_rows))
        self.n_labels = dataset.n_labels
        coded = [column for column in schema.columns if column.kind != "numeric" and column.name != OUTSIDE_COLUMN]
        if not coded and not schema.n_attributes:
            self.inputs = self.inputs.toarray()

    def of(self, rows: IndexArray, histories: CodeArray) -> Any:
        """The matrix of some positions, with these labels before them."""
        from scipy.sparse import csr_array, hstack, issparse

        inputs, order = self.inputs[rows], histories.shape[1]
        if not order:
            return inputs
        labels = (histories[:, :, None] == np.arange(self.n_labels + 1)).reshape(len(rows), -1).astype(np.float64)
        if issparse(inputs):
            return hstack([inputs, csr_array(labels)], format="csr")
        return np.hstack([inputs, labels])


class ForeignScores:
    """Log-probabilities by a classifier that was fitted to rows."""

    def __init__(self, classifier: Any, n_labels: int, order: int) -> None:
        self.classifier, self.n_labels, self.order = classifier, n_labels, order

    def rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        return _ForeignRows(self, Matrix(dataset, first, last))


class _ForeignRows:
    def __init__(self, scorer: ForeignScores, matrix: Matrix) -> None:
        self.scorer, self.matrix = scorer, matrix

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        logs: FloatArray = np.full((len(rows), self.scorer.n_labels), np.log(_LEAST))
        if len(rows):
            probs = self.scorer.classifier.predict_proba(self.matrix.of(rows, histories))
            logs[:, self.scorer.classifier.classes_] = np.log(np.maximum(probs, _LEAST))
        return logs

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        return score_each(self.scores, rows, older, self.scorer.n_labels)
