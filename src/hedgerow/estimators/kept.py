"""How `fit` is kept in a checkpoint: what must be the same for a training to go on."""

from __future__ import annotations

import dis
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import partial
from numbers import Number
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeAlias

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.training.callbacks import listening
from hedgerow.training.checkpoint import Checkpoint, current_checkpoint, kept_in

# What `fit` takes for `checkpoint`.
Kept: TypeAlias = Checkpoint | str | os.PathLike[str] | None

_SETTINGS = (Number, str, bytes, tuple, frozenset, np.ndarray, FunctionType, partial, type, type(None))
_OF_THE_RUN = ("n_jobs", "verbose", "client")  # parameters that change no bit of a model


@contextmanager
def keeping(model: Any, checkpoint: Kept, callbacks: Any = None) -> Iterator[None]:
    """Around a `fit`: tell callbacks of it; keep it in a checkpoint, or in that of the fit around it, and go on only
    with the parameters that it began with."""
    if checkpoint is not None:
        model._check_kept()
    with listening(callbacks), kept_in(checkpoint) as found:
        if found is not None:
            found.check("another model", {"kind": type(model).__name__})
            found.check("other parameters", _parameters(model))
        yield


def _parameters(model: Any) -> dict[str, str]:
    """Name → a word for its value. Names of models inside stand before their parameters."""
    known = {name: value for name, value in model.get_params().items() if name.split("__")[-1] not in _OF_THE_RUN}
    for name, value in known.items():
        if isinstance(value, np.random.RandomState):
            what = f"⟦{name}⟧ is a RandomState, whose next numbers no file holds"
            raise InputError(what, hint="Give a whole number, or leave ⟦checkpoint⟧ out.")
    words = {name: _word(value) for name, value in known.items() if not hasattr(value, "get_params")}
    words |= {name: type(value).__name__ for name, value in known.items() if hasattr(value, "get_params")}
    if hasattr(model, "classes_") and any(name.endswith("warm_start") and known[name] for name in known):
        from hedgerow.estimators.files import pack_model

        header, tensors = pack_model(model)
        words["the model that training goes on from"] = digest([header["state"], tensors])
    return words


def _word(value: Any) -> str:
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value)[:80] if plain and len(repr(value)) <= 80 else digest(value)


def same_data(dataset: Dataset | SharedCorpus | None) -> None:
    """Refuse to go on from a checkpoint of other data: what users gave, encoded."""
    checkpoint = current_checkpoint()
    if checkpoint is not None and dataset is not None:
        parts = dataset.each(_digests) if isinstance(dataset, SharedCorpus) else [_digests(dataset)]
        whole = {name: digest([one[name] for one in parts]) for name in parts[0]}
        checkpoint.check("other data", parts[0] if len(parts) == 1 else whole)


def _digests(dataset: Dataset) -> dict[str, str]:
    labels = [dataset.schema.labels, dataset.labels, dataset.allowed]
    names = ("offsets", "start", "codes", "numeric", "attr_ptr", "attr_id", "attr_val", "seq_codes", "seq_numeric")
    values = [dataset.schema, *(getattr(dataset, name) for name in names)]
    found = {"labels": labels, "values": values, "weights": dataset.weight_seq}
    return {name: digest(value) for name, value in found.items()}


def same_graphs(**datasets: Any) -> None:
    """Refuse to go on from a checkpoint of other graphs or labels."""
    checkpoint = current_checkpoint()
    if checkpoint is not None:
        checkpoint.check("other data", {name: digest(value) for name, value in datasets.items()})


def refuse_checkpoint(what: str, hint: str) -> None:
    """Raise the error for something that cannot be kept in a checkpoint."""
    raise InputError(f"⟦checkpoint⟧ is not supported with {what}", hint=hint)


def digest(value: Any) -> str:
    """SHA-256 of a value: of numbers, text, arrays, and what is made of them."""
    found = hashlib.sha256()
    _feed(found, value)
    return found.hexdigest()


def _closed_over(function: FunctionType) -> dict[str, Any]:
    """What a function reads of the functions around it; what it sets there, or can change, may be a counter."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    own = {step.argval for step in dis.get_instructions(function) if step.opname == "STORE_DEREF"}
    known: dict[str, Any] = {}
    for name, cell in zip(names, cells):
        with suppress(ValueError):  # a cell that is empty
            if name not in own and cell.cell_contents is not function and isinstance(cell.cell_contents, _SETTINGS):
                known[name] = cell.cell_contents
    return known


def _feed(found: Any, value: Any) -> None:
    """Add a value to a hash, so that values that differ in anything have different hashes."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        found.update(f"{value.dtype.str}{value.shape}".encode())
        found.update(np.ascontiguousarray(value).data if value.size else b"")
    elif isinstance(value, Mapping):
        found.update(f"dict{len(value)}".encode())
        for name, inner in value.items():
            _feed(found, name)
            _feed(found, inner)
    elif isinstance(value, (list, tuple, np.ndarray)):
        found.update(f"list{len(value)}".encode())
        for inner in value:
            _feed(found, inner)
    elif isinstance(value, (set, frozenset)):
        _feed(found, sorted(map(digest, value)))
    elif is_dataclass(value) and not isinstance(value, type):
        _feed(found, [type(value).__name__, *(getattr(value, field.name) for field in fields(value))])
    elif isinstance(value, FunctionType):
        code = value.__code__
        found.update(f"{value.__module__}.{value.__qualname__}{code.co_names}".encode() + code.co_code)
        constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
        _feed(found, [constants, value.__defaults__, value.__kwdefaults__, _closed_over(value)])
    elif isinstance(value, MethodType):
        _feed(found, [value.__func__, value.__self__])
    elif isinstance(value, partial):
        _feed(found, [value.func, value.args, value.keywords])
    elif isinstance(value, type) or (callable(value) and not hasattr(value, "__dict__")):
        found.update(f"{value.__module__}.{value.__qualname__}".encode())
    elif hasattr(value, "get_params"):
        _feed(found, [type(value).__name__, value.get_params(deep=False)])
    elif hasattr(value, "__dict__"):
        private = callable(value)  # a scorer keeps its metric so; elsewhere such names are of caches
        known = {name: one for name, one in vars(value).items() if private or name[0] != "_"}
        _feed(found, [type(value).__qualname__, known])
    else:
        found.update(f"{type(value).__name__}{value!r}".encode())
