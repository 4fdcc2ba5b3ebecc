"""What `fit` was given, as a training Dataset."""

from __future__ import annotations

import warnings
from typing import Any

from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.encoding import encode, learn
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.estimators.parameters import same_window


def cut_flat(X: Any, y: Any, lengths: Any) -> tuple[Any, Any]:
    """X and y as one item a sequence, where they are flat arrays with lengths."""
    if lengths is None:
        return X, y
    if isinstance(X, Dataset):
        raise InputError("a Dataset has its own lengths", hint="Leave ⟦lengths⟧ out.")
    from hedgerow.data.readers.arrays import split_lengths

    return split_lengths(X, lengths, y)


def _encode_more(schema: Schema, X: Any, y: Any, sample_weight: Any) -> Dataset:
    """More of the data that a schema was learnt from; data in which it finds nothing is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", HedgerowWarning)
        try:
            return encode(schema, X, y, sample_weight=sample_weight)
        except HedgerowWarning as warning:
            raise InputError(str(warning), hint="Set ⟦warm_start=False⟧ to begin anew.") from warning


def training_dataset(model: Any, X: Any, y: Any, sample_weight: Any, schema: Schema | None = None) -> Dataset:
    """The training corpus as a Dataset: by `schema` where training goes on, by one that is learnt where it begins.

    One made by `learn` is taken as it is, with its labels and its window.
    """
    if not isinstance(X, Dataset):
        if y is None:
            raise InputError("y is missing", hint="fit needs the labels of the training sequences.")
        if schema is not None:
            return _encode_more(schema, X, y, sample_weight)
        return learn(X, y, columns=model.columns, window=model.window, sample_weight=sample_weight)
    if X.labels is None:
        raise InputError("the Dataset has no labels", hint="Make it with hedgerow.data.encoding.learn(X, y).")
    if y is not None or sample_weight is not None:
        raise InputError("a Dataset brings its own labels and weights", hint="Give them to learn().")
    if schema is not None and X.schema != schema:
        hint = "Make it with this model's encode(X, y)."
        raise InputError("the Dataset has another schema than the model that training goes on with", hint=hint)
    if model.window != 0 and not same_window(model.window, X.schema.window):
        what = f"⟦window⟧ is {model.window!r} and the Dataset was made with {X.schema.window!r}"
        raise InputError(what, hint="Give the window to learn(), and leave it out here.")
    if model.columns is not None and dict(model.columns) != dict(X.schema.declared):
        what = f"⟦columns⟧ is {model.columns!r} and the Dataset was made with {dict(X.schema.declared)!r}"
        raise InputError(what, hint="Give the columns to learn(), and leave them out here.")
    return X
