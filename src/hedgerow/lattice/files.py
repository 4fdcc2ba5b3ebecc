"""Models on graphs to files and back. Every number read is checked before a kernel sees it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow import persistence
from hedgerow.errors import HedgerowError, HedgerowWarning, ModelFileError
from hedgerow.lattice.forms import FORMS, Form
from hedgerow.lattice.linear import Layout, Scaling
from hedgerow.legend import FloatArray
from hedgerow.models.files import plain_parameters
from hedgerow.models.schema_files import Tensors, back, tensor

_FITTED = {"n_iter_": int, "best_iteration_": int, "loss_": float, "outcome_": str, "converged_": bool}
_MOST = 10**6  # features or directions


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    model._check_parameters()
    header, tensors = pack(model)
    lost = sorted(model.get_params(deep=False).keys() - header["parameters"].keys())
    if lost:
        what = f"the file cannot hold {', '.join(lost)}; a loaded model has the default instead"
        warnings.warn(what, HedgerowWarning, stacklevel=3)
    persistence.write(path, header, tensors)


def pack(model: Any) -> tuple[dict[str, Any], Tensors]:
    """A fitted model as a JSON header and tensors."""
    layout, scaling = model.layout_, model.scaling_
    header = {
        "kind": type(model).__name__,
        "parameters": plain_parameters(model),
        "labels": model.classes_.tolist(),
        "n_features": list(model.n_features_),
        "n_edge_features": layout.n_edge_features,
        "n_directions": layout.n_directions,
        "form": _form_name(layout.form),
        "fitted": {name: getattr(model, name) for name in _FITTED},
    }
    tensors = {
        "weights": model.weights_,
        "node_center": scaling.node_center,
        "node_spread": scaling.node_spread,
        "edge_spread": scaling.edge_spread,
    }
    return header, tensors


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote."""
    header, tensors = persistence.read(path)
    try:
        return unpack(header, tensors)
    except KeyError as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model (no {error})") from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, HedgerowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model ({error})") from error


def unpack(header: Mapping[str, Any], tensors: Tensors) -> Any:
    """The model that `pack` packed; what is not sound raises an error of one kind or another."""
    from hedgerow.lattice.model import LatticeCRF

    if header["kind"] != "LatticeCRF":
        raise ModelFileError(f"holds a {header['kind']!r}, which this version does not know")
    model = LatticeCRF(**{name: back(value) for name, value in header["parameters"].items()})
    labels = tuple(header["labels"])
    if {type(label) for label in labels} not in ({str}, {int}) or list(labels) != sorted(set(labels)):
        raise ModelFileError("the labels are not distinct strings, or distinct integers, in order")
    n_nodes, n_given = (_count(n) for n in header["n_features"])
    n_edges, n_directions = _count(header["n_edge_features"]), _count(header["n_directions"])
    if n_edges != n_given + (n_nodes if model.differences else 0) or n_directions < 1 or header["form"] not in FORMS:
        raise ModelFileError("the features of edges do not fit those of nodes")
    model.classes_ = np.array(labels)
    model.n_features_ = n_nodes, n_given
    model.layout_ = Layout(Form.of(header["form"], len(labels)), n_nodes, n_edges, n_directions)
    model.weights_ = _numbers(tensors, "weights", model.layout_.n_weights)
    spreads = _numbers(tensors, "node_spread", n_nodes), _numbers(tensors, "edge_spread", n_edges)
    if any((spread <= 0).any() for spread in spreads):
        raise ModelFileError("a feature has no spread")
    model.scaling_ = Scaling(_numbers(tensors, "node_center", n_nodes), *spreads)
    for name, own in _FITTED.items():
        if type(header["fitted"][name]) is not own:
            raise ModelFileError(f"{name} is {header['fitted'][name]!r}")
        setattr(model, name, header["fitted"][name])
    model.history_ = []
    model._check_parameters()
    return model


def _form_name(form: Form) -> str:
    """The name of a form, which parameters no longer say once they are set anew."""
    return next(name for name in FORMS if np.array_equal(Form.of(name, form.n_labels).edge_tables, form.edge_tables))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ModelFileError(f"{value!r} is no number of features")
    return value


def _numbers(tensors: Tensors, name: str, n: int) -> FloatArray:
    values = tensor(tensors, name, np.float64, (n,))
    if not np.isfinite(values).all():
        raise ModelFileError(f"{name} holds what is not a number")
    return values
