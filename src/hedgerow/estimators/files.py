"""Models to files and back: every kind by the declaration of its state."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import IO, Any

from hedgerow import persistence
from hedgerow.errors import HedgerowError, HedgerowWarning, InputError, ModelFileError, warn
from hedgerow.estimators.codec.parts import State, check_all_read, read_steps, write_steps
from hedgerow.estimators.codec.steps import Field, Let, Scope, Section, Tensors, refuse
from hedgerow.estimators.codec.values import plain, tupled

# The module with the STATE of each estimator, by name: a file is read without importing every family.
_KINDS = {
    "AutoLabeler": "models.auto.files",
    "BeamSearchTagger": "models.search.files",
    "FutureFeatureMEMM": "models.future.files",
    "HMM": "models.hmm.files",
    "IOHMM": "models.iohmm.files",
    "LatticeCRF": "lattice.files",
    "LinearCRF": "models.crf.linear_files",
    "MaxMarginMarkovNetwork": "models.crf.linear_files",
    "MEMM": "models.local.files",
    "RecurrentSlidingWindow": "models.local.files",
    "SlidingWindow": "models.local.files",
    "TreeCRF": "models.crf.tree_files",
    "TreeLatticeCRF": "lattice.tree_files",
    "VirtualEvidence": "models.crf.tree_files",
}
# Parameters of any kind that had another name when a file was written.
_RENAMED = {"max_leaves": "max_leaf_nodes", "metric": "scoring", "shrinkage": "l2_regularization"}
_WIDEST = 100_000  # beam: a search keeps so many labelings at every position
_PARTS = {"kind", "parameters", "metadata", "state"}  # of the header of a model


def find_kind(name: Any) -> tuple[Callable[..., Any], State]:
    """The estimator of this name, and how its state is declared."""
    if not isinstance(name, str) or name not in _KINDS:
        refuse(f"it holds a {name!r:.80}, which this version does not know")
    package, files = (importlib.import_module(module) for module in ("hedgerow", f"hedgerow.{_KINDS[name]}"))
    return getattr(package, name), files.STATE


# ------------------------------------------------------------------------------------------------ to files


def save(model: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a fitted model."""
    _check_parameters(model)  # as `load` does: a file that is written can be read
    header, tensors = pack_model(model)
    for what in _lost(model, header):
        warn(what, HedgerowWarning, stacklevel=3)
    persistence.write(path, header, tensors)


def _lost(model: Any, header: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each thing that the file cannot hold."""
    lost = sorted(model.get_params(deep=False).keys() - header["parameters"].keys())
    if "init" in lost and "linear" in header["state"]:  # the file holds the model that the trees stand on
        lost.remove("init")
        if plain_parameters(model.init) != header["state"]["linear"]["parameters"]:
            yield "init was set anew; a loaded model has the linear model that its trees stand on instead"
    if lost:
        yield f"the file cannot hold {', '.join(lost)}; a loaded model has the default instead"


def pack_model(model: Any) -> tuple[dict[str, Any], Tensors]:
    """A fitted model as a JSON header and tensors."""
    section = Section({}, {})
    write_model(model, section)
    return section.header, section.tensors


def write_model(model: Any, section: Section) -> None:
    """Put a fitted model into a section of a file."""
    name, state = type(model).__name__, Section({}, section.tensors, section.path)
    write_steps(find_kind(name)[1].steps, model, state)
    metadata = getattr(model, "metadata_", {})
    section.header |= {"kind": name, "parameters": plain_parameters(model), "metadata": metadata, "state": state.header}


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters that JSON can hold; one it cannot (a function, a random generator) goes back to its default."""
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        if name == "estimator" and hasattr(value, "get_params"):
            value = {"kind": type(value).__name__, "parameters": plain_parameters(value)}
        elif name == "candidates" and value is not None:
            value = [_described(one) for one in value]
        with suppress(TypeError, ValueError):
            parameters[name] = plain(value)
    return parameters


def _described(model: Any) -> dict[str, Any]:
    """A model that is not fitted: its kind and its parameters, of which some may be models too."""
    inner = {name: value for name, value in model.get_params(deep=False).items() if type(value).__name__ in _KINDS}
    parameters = plain_parameters(model) | {name: _described(value) for name, value in inner.items()}
    return {"kind": type(model).__name__, "parameters": parameters}


# ------------------------------------------------------------------------------------------------ from files


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote, or CRFsuite: its models are LinearCRFs. Nothing is unpickled; a file that is not
    whole and sound is an error."""
    if _is_crfsuite(path):
        return importlib.import_module("hedgerow.compat.conversion").load(path)
    header, tensors = persistence.read(path)
    try:
        if header["kind"] == "checkpoint":
            refuse("it is the checkpoint of a training, which `fit` goes on from")
        return unpack_model(header, tensors)
    except (HedgerowError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model ({what})") from error


def _is_crfsuite(path: str | os.PathLike[str]) -> bool:
    """Whether it is a file that begins as CRFsuite's models do."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"lCRF"


def unpack_model(header: dict[str, Any], tensors: Mapping[str, Any]) -> Any:
    """The model that `pack_model` packed. What is not sound is a ModelFileError, or the error of what it would make."""
    left = dict(tensors)
    model = read_model(Section(header, left), Scope(n_bytes=sum(array.nbytes for array in left.values())))
    check_all_read(left)
    return model


def read_model(section: Section, scope: Scope) -> Any:
    """The model in a section of a file."""
    estimator, declared = find_kind(section.value("kind"))
    parameters, metadata = (section.inner(name, section.value(name)).header for name in ("parameters", "metadata"))
    renamed = {**_RENAMED, **declared.renamed}
    parameters = {renamed.get(name, name): tupled(value) for name, value in parameters.items()}
    if declared.parameters is not None:
        parameters = declared.parameters(parameters)
    model = estimator(**parameters)
    scope["model"], scope["parameters"] = model, parameters
    state = Section(section.inner("state", section.value("state")).header, section.tensors, section.path)
    read_steps(declared.steps, state, scope)
    for name in section.header.keys() - _PARTS:
        refuse(f"there is {section.path + name!r}, which has no place here")
    for step in declared.steps:
        if isinstance(step, (Field, Let)) and isinstance(step.of, str):
            setattr(model, step.of, scope[step.name])
    if declared.settle is not None:
        declared.settle(model, scope)
    model.history_, model.metadata_ = [], metadata
    _restore_labels(model)
    _check_parameters(model)
    return model


def _restore_labels(model: Any) -> None:
    """Keys of JSON are strings: weights of labels that are none get their labels back."""
    weights = getattr(model, "class_weight", None)
    if isinstance(weights, dict):
        labels = {
            json.dumps(label).strip('"'): label for label in model.classes_.tolist() if not isinstance(label, str)
        }
        model.class_weight = {labels.get(name, name): weight for name, weight in weights.items()}


def model_of(description: Any) -> Any:
    """The unfitted model that `_described` described."""
    if not isinstance(description, dict) or description.keys() != {"kind", "parameters"}:
        refuse(f"a model is described by {description!r:.80}")
    (estimator, state), given = find_kind(description["kind"]), description["parameters"]
    if not isinstance(given, dict):
        refuse(f"the parameters of a model are {given!r:.80}")
    models = {name for name, value in given.items() if isinstance(value, dict) and set(value) == {"kind", "parameters"}}
    made = {name: model_of(value) if name in models else value for name, value in given.items()}
    return estimator(**made if state.parameters is None else state.parameters(made))


def _check_parameters(model: Any) -> None:
    """Refuse parameters that cannot be meant, and one that would ask for more memory than a file should."""
    model._check_parameters()
    if getattr(model, "beam_width", 0) > _WIDEST:
        raise InputError(f"beam_width is {model.beam_width:,}", hint=f"A model file holds at most {_WIDEST:,}.")


# ------------------------------------------------------------------------------------------------ models inside


@dataclass(frozen=True)
class Model(Field):
    """A fitted model inside a model.

    kinds : the estimators that it may be, by name
    hint : what to do where it is another one, which a file cannot hold
    """

    kinds: tuple[str, ...]
    _: KW_ONLY
    hint: str = ""

    def pack(self, value: Any, section: Section) -> None:
        kind = type(value).__name__
        if kind not in self.kinds:
            raise InputError(f"a model file cannot hold a {kind}: it is never a pickle", hint=self.hint)
        header = section.header[self.name] = {}
        write_model(value, section.inner(self.name, header))

    def unpack(self, section: Section, scope: Scope) -> Any:
        inner = section.inner(self.name, section.value(self.name))
        if inner.header.get("kind") not in self.kinds:
            refuse(f"{section.path}{self.name} is not one of {', '.join(self.kinds)}")
        return read_model(inner, Scope(n_bytes=scope["n_bytes"]))


@dataclass(frozen=True)
class Models(Field):
    """A list of fitted models inside a model, of which there is at least one. kinds : as in Model"""

    kinds: tuple[str, ...]
    _: KW_ONLY
    hint: str = ""

    def pack(self, value: Any, section: Section) -> None:
        inner = Section({}, section.tensors, section.path)
        for i, one in enumerate(value):
            self._one(i).pack(one, inner)
        section.header[self.name] = list(inner.header.values())

    def unpack(self, section: Section, scope: Scope) -> list[Any]:
        headers = section.value(self.name)
        if not isinstance(headers, list) or not headers:
            refuse(f"{section.path}{self.name} is no list of models")
        named = {self._one(i).name: header for i, header in enumerate(headers)}
        inner = Section(named, section.tensors, section.path)
        return [self._one(i).unpack(inner, scope) for i in range(len(headers))]

    def _one(self, i: int) -> Model:
        return Model(f"{self.name}.{i}", self.kinds, hint=self.hint)
