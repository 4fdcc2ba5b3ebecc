"""IOHMM as tensors and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.estimators.schema_files import Tensors, count, tensor
from hedgerow.legend import CODE, INDEX
from hedgerow.linear.index import WeightIndex
from hedgerow.linear.streams import Streams
from hedgerow.models.iohmm.regression import Regressions
from hedgerow.models.iohmm.training import Weights

_NAMES = ("moves", "outputs")


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's weights to the tensors; return its part of the header. Each feature that was seen has all
    its weights, so one row of flags says where they are."""
    for name, own, weights in zip(_NAMES, model.regressions_, model.parameters_):
        tensors[f"{name}.weights"] = weights
        tensors[f"{name}.seen"] = np.diff(own.index.row_ptr) > 0
    return {"n_states": model.n_states_}


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    n, K = count(header, "n_states", 0), len(model.schema_.labels)
    if n < 1:
        raise ModelFileError("there are no states")
    streams = Streams.of(model.schema_)
    found, weights = [], []
    for name, blocks, outputs in zip(_NAMES, (n + 1, n), (n, K)):
        seen = tensor(tensors, f"{name}.seen", np.bool_, (streams.n_rows,))
        width = blocks * outputs
        pointers = np.concatenate([[0], np.cumsum(seen) * width]).astype(INDEX)
        labels = np.tile(np.arange(width, dtype=CODE), int(seen.sum()))
        own = Regressions(WeightIndex(streams, width, pointers, labels), blocks, outputs)
        found.append(own)
        weights.append(tensor(tensors, f"{name}.weights", np.float64, (own.n_weights,)))
        if not np.isfinite(weights[-1]).all():
            raise ModelFileError("a weight is not a number")
    model.n_states_ = n
    model.regressions_ = tuple(found)
    model.parameters_ = Weights(*weights)
