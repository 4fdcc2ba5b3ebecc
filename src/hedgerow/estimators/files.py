"""Models to files and back. Every number read is checked before a kernel sees it: kernels do not check bounds."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from hedgerow import persistence
from hedgerow.errors import HedgerowError, HedgerowWarning, ModelFileError, warn
from hedgerow.estimators.missing import pack_imputation, unpack_imputation
from hedgerow.estimators.schema_files import Tensors, back, pack_schema, plain, unpack_schema

_ON_GRAPHS = ("LatticeCRF", "TreeLatticeCRF")
_FITTED = {"n_iter_": int, "best_iteration_": int, "loss_": float, "outcome_": str}

# Parameters of files that older versions wrote.
_RENAMED = {"max_leaves": "max_leaf_nodes", "metric": "scoring", "shrinkage": "l2_regularization"}


class Kind(NamedTuple):
    """An estimator that files can hold.

    pack : (model, tensors) → header; adds what is fitted to the tensors
    unpack : (model, header, tensors); the model has its schema already
    """

    estimator: Callable[..., Any]
    pack: Callable[[Any, Tensors], dict[str, Any]]
    unpack: Callable[[Any, Mapping[str, Any], Tensors], None]


# By name, so that a file is read without importing every family: (estimator's module, module of pack and unpack).
_KINDS = {
    "BeamSearchTagger": ("search.estimator", "search.files"),
    "FutureFeatureMEMM": ("future.estimator", "future.files"),
    "HMM": ("hmm.estimator", "hmm.files"),
    "IOHMM": ("iohmm.estimator", "iohmm.files"),
    "LinearCRF": ("crf.linear", "crf.linear_files"),
    "MaxMarginMarkovNetwork": ("crf.max_margin", "crf.linear_files"),
    "MEMM": ("local.memm", "local.files"),
    "RecurrentSlidingWindow": ("local.recurrent_sliding_window", "local.files"),
    "SlidingWindow": ("local.sliding_window", "local.files"),
    "TreeCRF": ("crf.tree", "crf.tree_files"),
    "VirtualEvidence": ("crf.virtual_evidence", "crf.tree_files"),
}


def find_kind(name: Any) -> Kind:
    """The estimator of this name."""
    if name not in _KINDS:
        raise ModelFileError(f"holds a {name!r}, which this version does not know")
    estimator, files = (importlib.import_module(f"hedgerow.models.{module}") for module in _KINDS[name])
    return Kind(getattr(estimator, name), files.pack, files.unpack)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    model._check_parameters()  # as `load` does: a file that is written can be read
    header, tensors = pack_model(model)
    for what in _lost(model, header):
        warn(what, HedgerowWarning, stacklevel=3)
    persistence.write(path, header, tensors)


def _lost(model: Any, header: Mapping[str, Any]) -> Iterator[str]:
    """What the file cannot hold of a model, in words."""
    lost = sorted(model.get_params(deep=False).keys() - header["parameters"].keys())
    if "start" in lost and "linear" in header:  # the file holds the model that the trees stand on
        lost.remove("start")
        if plain_parameters(model.start) != header["linear"]["parameters"]:
            yield "start was set anew; a loaded model has the linear model that its trees stand on instead"
    if lost:
        yield f"the file cannot hold {', '.join(lost)}; a loaded model has the default instead"


def pack_model(model: Any) -> tuple[dict[str, Any], Tensors]:
    """A fitted model as a JSON header and tensors."""
    name = type(model).__name__
    header, tensors = pack_schema(model.schema_)
    header |= find_kind(name).pack(model, tensors) | pack_imputation(model)
    header |= {
        "kind": name,
        "parameters": plain_parameters(model),
        "fitted": {name: getattr(model, name) for name in _FITTED},
        "metadata": getattr(model, "metadata_", {}),
    }
    return header, tensors


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote. Nothing is unpickled; a file that is not whole and sound is an error."""
    header, tensors = persistence.read(path)
    unpack: Callable[..., Any] = unpack_model
    if header.get("kind") in _ON_GRAPHS:  # they stand above this folder
        unpack = importlib.import_module("hedgerow.lattice.files").unpack
    try:
        return unpack(header, tensors)
    except KeyError as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model (no {error})") from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, HedgerowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model ({error})") from error


def unpack_model(header: Mapping[str, Any], tensors: Tensors) -> Any:
    """The model that `pack_model` packed; what is not sound raises an error of one kind or another."""
    kind = find_kind(header["kind"])
    model = kind.estimator(**unpack_parameters(header))
    model.schema_ = unpack_schema(header, tensors)
    model.classes_ = model.schema_.classes
    model.imputation_ = unpack_imputation(model.schema_, header)
    kind.unpack(model, header, tensors)
    for name, own in _FITTED.items():
        if type(header["fitted"][name]) is not own:
            raise ModelFileError(f"{name} is {header['fitted'][name]!r}")
        setattr(model, name, header["fitted"][name])
    model.history_ = []
    model.metadata_ = dict(header.get("metadata", {}))
    model._check_parameters()
    return model


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters that JSON can hold; one it cannot (a function, a random generator) goes back to its default."""
    found = {}
    for name, value in model.get_params(deep=False).items():
        try:
            found[name] = plain(value)
        except (TypeError, ValueError):
            continue
    return found


def unpack_parameters(header: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that `plain_parameters` gave, by their names of today."""
    return {_RENAMED.get(name, name): back(value) for name, value in header["parameters"].items()}
