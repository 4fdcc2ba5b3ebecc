"""LightGBM on windows, without a chain: what one would try first."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.encoding import encode, learn
from hedgerow.data.sequences import take_sequences
from hedgerow.errors import InputError, MissingExtraError
from hedgerow.estimators.holding_out import choose_folds
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.crf.tree_form import make_form


def window_table(dataset: Dataset) -> tuple[FloatArray, list[int]]:
    """(N, columns times offsets): what a model sees at each position, codes and numbers, NaN for a number that is
    missing; and which of the columns are codes.

    Codes have values of their own for "missing" and "outside the sequence".
    """
    schema = dataset.schema
    if len(schema.attributes) or any(column.constant for column in schema.columns):
        raise InputError("a table of windows has no place for attributes or for features of whole sequences")
    lengths = np.diff(dataset.offsets)
    places = np.repeat(dataset.start - dataset.offsets[:-1], lengths) + np.arange(dataset.n_positions)
    coded = list(zip(schema.of("categorical", "boolean"), dataset.codes))
    table = [values[places + o].astype(np.float64) for column, values in coded for o in column.offsets]
    categorical = list(range(len(table)))
    for column, values in zip(schema.of("numeric"), dataset.numeric):
        for o in column.offsets:
            read = values[places + o]
            table.append(np.where(np.isnan(read), column.fill, read))
    return np.column_stack(table), categorical


def require_lightgbm() -> Any:
    """The package; an error names the extra that brings it."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtraError("lightgbm", "experiments", "The comparison with LightGBM") from error
    return lightgbm


class WindowBooster:
    """LightGBM with its defaults on the windows of a chain model, each position by itself.

    The same sequences are held out for early stopping as by `like`, which gives the window, the number of iterations
    and the patience too.
    """

    def __init__(self, like: TreeCRF) -> None:
        self.like = like

    def fit(self, X: Any, y: Any) -> WindowBooster:
        """Train on sequences; stop when the loss on the held-out ones no longer falls."""
        lightgbm = require_lightgbm()
        parts = choose_folds(list(map(set, y)), self.like.validation_fraction, self.like.random_state)[0]
        (X, y), (X_val, y_val) = ([take_sequences(given, part) for given in (X, y)] for part in parts)
        window: Any = self.like.window
        dataset = learn(X, y, window=window)
        self.schema_ = dataset.schema
        n_labels = dataset.n_labels
        goal = {"objective": "multiclass", "num_class": n_labels} if n_labels > 2 else {"objective": "binary"}
        table, categorical = window_table(dataset)
        train = lightgbm.Dataset(table, dataset.require_labels("training"), categorical_feature=categorical)
        held_out = encode(dataset.schema, X_val, y_val)
        self.booster_ = lightgbm.train(
            {**goal, "num_threads": self.like.n_jobs or 1, "seed": self.like.random_state, "verbosity": -1},
            train,
            num_boost_round=make_form(self.like, "shared", stopped=True).n_estimators,
            valid_sets=[train.create_valid(window_table(held_out)[0], held_out.require_labels("early stopping"))],
            callbacks=[lightgbm.early_stopping(self.like.n_iter_no_change, verbose=False)],
        )
        return self

    def predict(self, X: Any) -> list[list[Any]]:
        """The labels of each sequence, position by position."""
        dataset = encode(self.schema_, X)
        names: AnyArray = np.array(self.schema_.labels, dtype=object)
        scores = self.booster_.predict(window_table(dataset)[0])
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.5).astype(np.int64)
        return [part.tolist() for part in np.split(names[codes], dataset.offsets[1:-1])]
