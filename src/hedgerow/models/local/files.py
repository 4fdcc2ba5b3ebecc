"""SlidingWindow, RecurrentSlidingWindow and MEMM as tensors and back: the classifier of rows is a model of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.data.imputation import seen_schema
from hedgerow.errors import InputError, ModelFileError
from hedgerow.estimators.schema_files import Tensors, pack_space, tensor, unpack_space
from hedgerow.legend import INDEX, IndexArray
from hedgerow.models.local.previous_labels import MAX_ORDER, LabelRuns, column_names

_SCORER = "scorer."  # how the tensors of the classifier of rows are called


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's classifier of rows to the tensors; return its part of the header."""
    from hedgerow.estimators.files import pack_model

    kind = type(model.scorer_).__name__
    if kind not in ("LinearCRF", "TreeCRF"):
        raise InputError(
            f"a model file cannot hold a {kind}: it is never a pickle",
            hint="Use 'linear' or 'trees'; or pickle the model, where you trust whoever may write to the file.",
        )
    pack_space(model.space_, tensors)
    scorer, own = pack_model(model.scorer_)
    tensors |= {f"{_SCORER}{name}": array for name, array in own.items()}
    # What was fitted, which parameters no longer say once they are set anew.
    header: dict[str, Any] = {
        "scorer": scorer,
        "order": model.order_,
        "backward": model.backward_,
        "refitted": model.refitted_,
    }
    if model.runs_ is not None:
        header["conjoined"] = None if model.runs_.columns is None else list(model.runs_.columns)
        tensors["conjoined"] = model.runs_.conjoined
        tensors |= {f"runs.{i}": keys for i, keys in enumerate(model.runs_.runs, 1)}
    return header


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    from hedgerow.estimators.files import unpack_model

    K = len(model.schema_.labels)
    model.space_ = unpack_space(K, tensors)
    if header["scorer"]["kind"] not in ("LinearCRF", "TreeCRF"):
        raise ModelFileError(f"rows are classified by a {header['scorer']['kind']!r}")
    own = {name.removeprefix(_SCORER): array for name, array in tensors.items() if name.startswith(_SCORER)}
    model.scorer_ = unpack_model(header["scorer"], own)
    if model.scorer_.schema_.labels != model.schema_.labels:
        raise ModelFileError("the classifier of rows has other labels")
    model.order_, model.backward_ = header["order"], header["backward"]
    if type(model.order_) is not int or not 0 <= model.order_ <= MAX_ORDER or type(model.backward_) is not bool:
        raise ModelFileError(f"rows see {model.order_!r} labels, backward is {model.backward_!r}")
    linear = header["scorer"]["kind"] == "LinearCRF"
    model.runs_ = _unpack_runs(model, header, tensors) if linear else None
    if not linear:
        _check_columns(model)
    if type(header["refitted"]) is not bool:
        raise ModelFileError(f"refitted is {header['refitted']!r}")
    model.refitted_ = header["refitted"]


def _unpack_runs(model: Any, header: Mapping[str, Any], tensors: Tensors) -> LabelRuns:
    """The runs of labels, whose attributes must be those that the linear model has weights for."""
    K, order, schema = len(model.schema_.labels), model.order_, seen_schema(model)
    columns = None if header["conjoined"] is None else tuple(str(name) for name in header["conjoined"])
    runs = LabelRuns(
        order,
        model.backward_,
        columns,
        tensor(tensors, "conjoined", INDEX),
        tuple(tensor(tensors, f"runs.{i}", INDEX) for i in range(1, order + 1)),
    )
    sound = _rises(runs.conjoined, runs.streams(schema).n_rows * (K + 1))
    sound = sound and all(_rises(keys, (K + 1) ** (i + 1)) for i, keys in enumerate(runs.runs))
    if not sound or runs.schema(schema) != model.scorer_.schema_:
        raise ModelFileError("the runs of labels do not fit the linear model")
    return runs


def _rises(keys: IndexArray, end: int) -> bool:
    """Whether keys rise from at least 0 to below `end`."""
    return not len(keys) or bool(keys[0] >= 0 and keys[-1] < end and np.all(keys[1:] > keys[:-1]))


def _check_columns(model: Any) -> None:
    """Refuse trees whose columns are not those of the model and of the labels that it sees."""
    given = seen_schema(model)
    columns = model.scorer_.schema_.columns
    names = column_names(model.order_, backward=model.backward_)
    n = len(given.columns)
    if columns[:n] != given.columns or [column.name for column in columns[n:]] != names:
        raise ModelFileError("the trees do not fit the columns")
