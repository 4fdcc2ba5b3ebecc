"""Models on graphs to files and back. Every number read is checked before a kernel sees it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow import persistence
from hedgerow.errors import HedgerowError, HedgerowWarning, ModelFileError, warn
from hedgerow.estimators.files import plain_parameters, unpack_parameters
from hedgerow.estimators.schema_files import Tensors, tensor
from hedgerow.lattice.boosting import Bins
from hedgerow.lattice.forms import FORMS, Form
from hedgerow.lattice.linear import Layout, Scaling
from hedgerow.lattice.model import LatticeCRF
from hedgerow.lattice.tree_model import TreeLatticeCRF
from hedgerow.lattice.tree_rows import row_dataset
from hedgerow.legend import FloatArray
from hedgerow.models.crf.tree_files import LABEL, pack_binning, pack_trees, unpack_binning, unpack_trees
from hedgerow.trees.ensemble import Ensemble

KINDS: dict[str, Any] = {"LatticeCRF": LatticeCRF, "TreeLatticeCRF": TreeLatticeCRF}
_FITTED = {"n_iter_": int, "best_iteration_": int, "loss_": float, "outcome_": str, "converged_": bool}
_MOST = 10**6  # features or directions


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    model._check_parameters()  # as `load` does: a file that is written can be read
    header, tensors = pack(model)
    lost = sorted(model.get_params(deep=False).keys() - header["parameters"].keys())
    if lost:
        what = f"the file cannot hold {', '.join(lost)}; a loaded model has the default instead"
        warn(what, HedgerowWarning, stacklevel=3)
    persistence.write(path, header, tensors)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote."""
    header, tensors = persistence.read(path)
    try:
        return unpack(header, tensors)
    except KeyError as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model (no {error})") from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, HedgerowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model ({error})") from error


def pack(model: Any) -> tuple[dict[str, Any], Tensors]:
    """A fitted model as a JSON header and tensors."""
    linear = isinstance(model, LatticeCRF)
    header = {
        "kind": type(model).__name__,
        "parameters": plain_parameters(model),
        "labels": model.classes_.tolist(),
        "n_features": list(model.n_features_),
        "form": _form_name(model.layout_.form if linear else model.form_),  # the parameter may be another one by now
        "differences": bool(model.differences),
        "fitted": {name: getattr(model, name) for name in _FITTED},
    }
    tensors: Tensors = {}
    if linear:
        header["n_directions"] = model.layout_.n_directions
        tensors["weights"] = model.weights_
        for name in ("node_center", "node_spread", "edge_spread"):
            tensors[name] = getattr(model.scaling_, name)
        return header, tensors
    tensors["start_values"] = model.start_values_
    for name in ("node", "edge"):
        own: Tensors = {}
        pack_binning(getattr(model.bins_, f"{name}s"), own)
        pack_trees(getattr(model, f"{name}_trees_"), own)
        tensors |= {f"{name}.{part}": array for part, array in own.items()}
    return header, tensors


def unpack(header: Mapping[str, Any], tensors: Tensors) -> Any:
    """The model that `pack` packed; what is not sound raises an error of one kind or another."""
    if header["kind"] not in KINDS:
        raise ModelFileError(f"holds a {header['kind']!r}, which this version does not know")
    model = KINDS[header["kind"]](**unpack_parameters(header))
    labels = tuple(header["labels"])
    if {type(label) for label in labels} not in ({str}, {int}) or list(labels) != sorted(set(labels)):
        raise ModelFileError("the labels are not distinct strings, or distinct integers, in order")
    if header["form"] not in FORMS or header["differences"] is not bool(model.differences):
        raise ModelFileError("the form or the features of edges are not those of the parameters")
    form = Form.of(header["form"], len(labels))
    n_nodes, n_given = (_count(n) for n in header["n_features"])
    n_edges = n_given + (n_nodes if model.differences else 0)
    model.classes_ = np.array(labels)
    model.n_features_ = n_nodes, n_given
    if isinstance(model, LatticeCRF):
        _unpack_weights(model, Layout(form, n_nodes, n_edges, _count(header["n_directions"])), tensors)
    else:
        _unpack_trees(model, form, (n_nodes, n_edges + 1), tensors)
    for name, own in _FITTED.items():
        if type(header["fitted"][name]) is not own:
            raise ModelFileError(f"{name} is {header['fitted'][name]!r}")
        setattr(model, name, header["fitted"][name])
    model.history_ = []
    model._check_parameters()
    return model


def _unpack_weights(model: LatticeCRF, layout: Layout, tensors: Tensors) -> None:
    if layout.n_directions < 1:
        raise ModelFileError("edges have no direction")
    model.layout_ = layout
    model.weights_ = _numbers(tensors, "weights", layout.n_weights)
    n_nodes = layout.n_node_features
    spreads = _numbers(tensors, "node_spread", n_nodes), _numbers(tensors, "edge_spread", layout.n_edge_features)
    if any((spread <= 0).any() for spread in spreads):
        raise ModelFileError("a feature has no spread")
    model.scaling_ = Scaling(_numbers(tensors, "node_center", n_nodes), *spreads)


def _unpack_trees(model: TreeLatticeCRF, form: Form, n_columns: tuple[int, int], tensors: Tensors) -> None:
    model.form_ = form
    model.start_values_ = _numbers(tensors, "start_values", len(form.node_tables))
    bins, trees = [], []
    for name, n, n_values in zip(("node.", "edge."), n_columns, (len(form.node_tables), len(form.edge_tables))):
        own = {part.removeprefix(name): array for part, array in tensors.items() if part.startswith(name)}
        bins.append(unpack_binning(row_dataset(np.empty((1, n))).schema, own))
        trees.append(_check_trees(unpack_trees(bins[-1], n_values, 1, own, with_gaps=False)))
    model.bins_ = Bins(*bins)
    model.node_trees_, model.edge_trees_ = trees


def _check_trees(trees: Ensemble) -> Ensemble:
    """Rows have no label before them that a tree could split on."""
    if (trees.nodes[:, 0] == LABEL).any():
        raise ModelFileError("a tree splits on what is not there")
    return trees


def _form_name(form: Form) -> str:
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
