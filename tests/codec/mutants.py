"""Forged model files: those of `tests/golden`, changed in ways that fit together, sealed again, loaded and used.

Whoever changes a file can recompute its checksum. So a file may hold anything, and must be refused or give sane
labels: no access beyond an array, no crash, no error but hedgerow's own.

    python -m tests.codec.mutants --each 10000      so many mutants of every kind of model; see `make fuzz`

Run it with NUMBA_BOUNDSCHECK=1 (compiled, and bounds are checked) or NUMBA_DISABLE_JIT=1 (plain Python: slow to run,
but nothing is compiled). Without either an access beyond an array may go unnoticed.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import hashlib
import json
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from hedgerow import load, persistence
from hedgerow.errors import HedgerowError, ModelFileError
from tests.fuzz.clock import limited
from tests.golden.models import corpora, paths

EDGES = (0, 1, -1, 2, 3, 255, 256, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-300, 1e300, -1e300, np.nan, np.inf, -np.inf)
JUNK: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2**31, 2**63, 10**30, 0.5, -1e300, float("nan"), "", "é\ud800"),
    *([], {}, [0]),
)

Header = dict[str, Any]
Tensors = dict[str, np.ndarray]
Change = Callable[[np.random.Generator, Header, Tensors], None]


# ------------------------------------------------------------------------------------------------ sealing


def seal(header: Header, tensors: Tensors, version: int = persistence.FORMAT_VERSION) -> bytes:
    """A file with this contents and a checksum that is right. Unlike `persistence.write` it takes NaN in the header."""
    fields = {"sha256": "0" * 64, "format_version": version, "hedgerow_version": "0", "header": header}
    metadata = {"hedgerow": json.dumps(fields, separators=(",", ":"))}
    data = safetensors.numpy.save({name: np.asarray(own, order="C") for name, own in tensors.items()}, metadata)
    digits = persistence._DIGITS
    return data[: digits.start] + hashlib.sha256(data).hexdigest().encode() + data[digits.stop :]


# ------------------------------------------------------------------------------------------------ changes


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a header."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*here, key)
        yield from places(item, (*here, key))


def at(header: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        header = header[key]
    return header


def pick(rng: np.random.Generator, options: Any) -> Any:
    options = sorted(options, key=str)  # a file's tensors come in any order
    return options[int(rng.integers(len(options)))]


def state_places(rng: np.random.Generator, header: Header) -> tuple[Any, ...]:
    """A place in the header; parameters are many, and are changed less often."""
    found = list(places(header))
    own = [place for place in found if "parameters" not in place and place != ("kind",)]
    return tuple(pick(rng, own if rng.random() < 0.8 else found))


def change_value(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """A value of the header becomes another, near it or not."""
    *keys, last = state_places(rng, header)
    own = at(header, tuple(keys))
    value = own[last]
    if isinstance(value, bool):
        own[last] = not value
    elif isinstance(value, (int, float)) and rng.random() < 0.8:
        near = (
            value + 1,
            value - 1,
            2 * value,
            -value,
            int(pick(rng, [a.shape[0] for a in tensors.values() if a.ndim])),
        )
        own[last] = type(value)(pick(rng, near))
    elif isinstance(value, list) and value and rng.random() < 0.8:
        change_list(rng, value)
    elif rng.random() < 0.5:
        own[last] = copy.deepcopy(at(header, state_places(rng, header)))
    else:
        own[last] = copy.deepcopy(pick(rng, JUNK))


def change_list(rng: np.random.Generator, value: list[Any]) -> None:
    i, j = (int(rng.integers(len(value))) for _ in range(2))
    match rng.integers(4):
        case 0:
            del value[i]
        case 1:
            value.insert(j, copy.deepcopy(value[i]))
        case 2:
            value[i], value[j] = value[j], value[i]
        case _:
            value[i] = copy.deepcopy(value[j])


def change_key(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """Something of the header is dropped, or stands under another name."""
    *keys, last = state_places(rng, header)
    own = at(header, tuple(keys))
    if isinstance(own, dict):
        value = own.pop(last)
        if rng.random() < 0.5:
            own[str(pick(rng, [name for place in places(header) for name in place if isinstance(name, str)]))] = value


def change_numbers(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """Some numbers of a tensor become others."""
    name = pick(rng, [name for name, array in tensors.items() if array.size])
    array = tensors[name].copy()
    for _ in range(int(rng.integers(1, 4))):
        where, kind = int(rng.integers(array.size)), array.dtype.kind
        other = array.flat[int(rng.integers(array.size))]
        sizes = [n for own in tensors.values() for n in own.shape]
        if kind == "b":
            array.flat[where] ^= True
        elif kind == "f":
            array.flat[where] = pick(rng, (*FLOATS, other, 10.0 * other))
        else:
            info = np.iinfo(array.dtype)
            near = (*EDGES, int(other), int(other) + 1, int(other) - 1, pick(rng, sizes), pick(rng, sizes) - 1)
            array.flat[where] = pick(rng, [value for value in near if info.min <= value <= info.max])
    tensors[name] = array


def change_order(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """The rows of a tensor stand in another order, or some of them become others."""
    name = pick(rng, [name for name, array in tensors.items() if array.ndim and len(array) > 1])
    array = tensors[name].copy()
    begin, end = sorted(int(i) for i in rng.choice(len(array) + 1, size=2, replace=False))
    match rng.integers(3):
        case 0:
            array[begin:end] = array[begin:end][::-1]
        case 1:
            array[begin:end] = array[rng.permutation(np.arange(begin, end))]
        case _:
            array[begin:end] = array[int(rng.integers(len(array)))]
    tensors[name] = array


def change_pointers(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """Pointers that still begin and end where they should, and wrap or fall on the way."""
    known = [name for name, array in tensors.items() if array.dtype == np.int64 and array.ndim == 1 and len(array) > 4]
    if known:
        name = pick(rng, known)
        array = tensors[name].copy()
        t, last = int(rng.integers(1, len(array) - 3)), int(array[-1])
        detours = ((2**63 - 1, -(2**63), -1), (2**62, -(2**62), 0), (last + 1, last, last), (-1, 0, 0), (last, 0, last))
        array[t : t + 3] = pick(rng, detours)
        tensors[name] = array


def change_nodes(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """A node of a tree asks for something else, or leads elsewhere."""
    known = [name for name, array in tensors.items() if name.endswith("nodes") and array.ndim == 2 and len(array)]
    if known:
        name = pick(rng, known)
        array = tensors[name].copy()
        i, j = (int(i) for i in rng.integers(len(array), size=2))
        field = int(rng.integers(array.shape[1]))
        array[i, field] = pick(rng, (array[j, field], array[i, field] + 1, array[i, field] - 1, rng.integers(-3, 300)))
        tensors[name] = array


def share_children(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """Splits of a tree lead to nodes that other splits lead to."""
    known = [name for name, array in tensors.items() if name.endswith("nodes") and array.ndim == 2 and len(array)]
    if known:
        name = pick(rng, known)
        array = tensors[name].copy()
        ptr = tensors[name.removesuffix("nodes") + "ptr"]
        tree = int(rng.integers(len(ptr) - 1))
        own = array[ptr[tree] : ptr[tree + 1]]
        splits = np.flatnonzero(own[:, 0] != -2)
        for i in splits[rng.random(len(splits)) < 0.7]:
            own[i, 3:] = rng.integers(i + 1, len(own), size=2)
        tensors[name] = array


def change_words(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """A vocabulary gets some more words, or loses its last ones."""
    name = pick(rng, [name.removesuffix("ends") for name in tensors if name.endswith("ends")])
    text, ends = tensors[name + "utf8"], tensors[name + "ends"]
    n = int(pick(rng, (1, 2, 50, 300)))
    if rng.random() < 0.7:
        more = np.frombuffer("".join(f"{i:03}" for i in range(n)).encode(), dtype=np.uint8)
        tensors[name + "utf8"] = np.concatenate([text, more])
        tensors[name + "ends"] = np.concatenate([ends, len(text) + 3 * np.arange(1, n + 1)])
    else:
        tensors[name + "ends"] = ends[:-n]
        tensors[name + "utf8"] = text[: ends[-n - 1] if len(ends) > n else 0]


def change_entries(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """An entry of a list in the header, with its tensors, is taken away, stands twice or takes the place of another."""
    found = [place for place in places(header) if isinstance(at(header, place), list) and at(header, place)]
    *keys, last = pick(rng, [place for place in found if isinstance(at(header, place)[0], dict)])
    own = at(header, tuple(keys))[last]
    prefix = ".".join(str(key) for key in (*keys, last) if key != "state")
    n = len(own)
    order = list(range(n))
    change_list(rng, order)
    kept = {name: array for name, array in tensors.items() if name.startswith(f"{prefix}.")}
    for name in kept:
        del tensors[name]
    at(header, tuple(keys))[last] = [copy.deepcopy(own[i]) for i in order]
    for new, i in enumerate(order):
        begin = f"{prefix}.{i}."
        tensors |= {f"{prefix}.{new}.{k.removeprefix(begin)}": a for k, a in kept.items() if k.startswith(begin)}


def change_type(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """A tensor becomes one of another type or shape, or takes the place of another."""
    name, other = pick(rng, tensors), pick(rng, tensors)
    match rng.integers(5):
        case 0:
            with np.errstate(invalid="ignore"):
                tensors[name] = tensors[name].astype(pick(rng, ("f8", "f4", "i8", "i4", "u1", "?")))
        case 1:
            tensors[name] = tensors[name].reshape(pick(rng, ((-1,), (-1, 1), (1, -1))))
        case 2:
            tensors[name] = tensors[other]
        case 3:
            del tensors[name]
        case _:
            tensors[name], tensors[other] = tensors[other], tensors[name]


def change_size(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """Everything of one size gets another: all axes of it, of one more and of its square, lists and numbers of the
    header, and what pointers end with. So a label, a column, a node or a tree is added or taken away throughout."""
    size = int(pick(rng, [n for array in tensors.values() for n in array.shape if n]))
    step = int(pick(rng, (-1, 1)))
    where = int(rng.integers(size))
    only = rng.random() < 0.3 and pick(rng, tensors).partition(".")[0]  # in one part of the file alone
    for name, array in list(tensors.items()):
        if only and not name.startswith(only):
            continue
        for axis, n in enumerate(array.shape):
            if n in (size, size + 1):
                more = array.take(where, axis)
                array = np.delete(array, where, axis) if step < 0 else np.insert(array, where, more, axis)
        if array.dtype == np.int64 and array.ndim == 1 and len(array) and array[-1] == size:
            array = np.where(array > where, array + step, array)
        tensors[name] = array
    for *keys, last in reversed(list(places(header))):  # what is inside before what it is in
        own = at(header, tuple(keys))
        value = own[last]
        if isinstance(value, list) and len(value) == size and rng.random() < 0.9:
            own[last] = value[:where] + value[where + 1 :] if step < 0 else [*value, copy.deepcopy(value[where])]
            if isinstance(value[0], str) and step > 0:
                own[last][-1] = max(value) + "z"
        elif type(value) is int and value == size and rng.random() < 0.5:
            own[last] = value + step


def change_kind(rng: np.random.Generator, header: Header, tensors: Tensors) -> None:
    """The file says that it holds another kind of model, or that a model inside is another."""
    found = [place for place in places(header) if place[-1] == "kind" and isinstance(at(header, place), str)]
    kinds = ("LinearCRF", "TreeCRF", "HMM", "IOHMM", "MEMM", "SlidingWindow", "BeamSearchTagger", "numeric", "boolean")
    *keys, last = pick(rng, found)
    at(header, tuple(keys))[last] = pick(rng, kinds)


CHANGES: dict[Change, float] = {
    change_value: 5,
    change_key: 1,
    change_numbers: 5,
    change_order: 2,
    change_pointers: 2,
    change_nodes: 3,
    share_children: 2,
    change_words: 2,
    change_entries: 1,
    change_type: 1,
    change_size: 4,
    change_kind: 0.5,
}


def mutate(
    rng: np.random.Generator, header: Header, tensors: Tensors, only: str | None = None
) -> tuple[Header, Tensors, list[str]]:
    """A changed file, and what was done to it. only : the one change to make"""
    header, tensors = copy.deepcopy(header), dict(tensors)
    known = [change for change in CHANGES if only in (None, change.__name__)]
    weights = np.array([CHANGES[change] for change in known])
    done = []
    for _ in range(int(pick(rng, (1, 1, 1, 2, 2, 3)))):
        change = known[int(rng.choice(len(known), p=weights / weights.sum()))]
        try:
            change(rng, header, tensors)
        except (IndexError, KeyError, TypeError, ValueError, OverflowError):
            continue  # an earlier change left nothing to change in this way
        done.append(change.__name__)
    return header, tensors, done


# ------------------------------------------------------------------------------------------------ use


class Insane(Exception):
    """A model that was loaded gave what is no answer."""


def use(model: Any, X: list[Any]) -> None:
    """Ask a model for labels and, where it has them, probabilities; raise for an answer that is none."""
    classes = set(model.classes_.tolist())
    found = model.predict(X)
    if not all(label in classes for labels in found for label in np.ravel(np.asarray(labels, dtype=object)).tolist()):
        raise Insane(f"labels {found!r}")
    if hasattr(model, "predict_proba") and type(model).__name__ != "BeamSearchTagger":
        for probs in model.predict_proba(X):
            if not np.all((probs >= 0) & (probs <= 1 + 1e-6)) or not np.allclose(probs.sum(axis=-1), 1.0, atol=1e-6):
                raise Insane(f"probabilities {probs!r}")


def attempt(data: bytes, X: list[Any], path: Path) -> str:
    """What becomes of a file: "refused", "used", or "declined" where the model is loaded and has hedgerow's own error
    for X. Anything else is raised."""
    path.write_bytes(data)
    with limited(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError:
            return "refused"
        try:
            use(model, X)
        except HedgerowError:
            return "declined"
        return "used"


def items(name: str) -> list[Any]:
    """What a golden model is asked about: little, and of every shape that its corpus has."""
    X = corpora()[name][1]
    return list(X[:1] if isinstance(X[0], np.ndarray) else X[:6])


def told(error: Exception) -> str:
    """An error, and where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r:.200} in {Path(place.filename).name}, line {place.lineno}"


def run(name: str, n: int, seed: int, folder: Path, only: str | None = None) -> tuple[Counter[str], list[str]]:
    """Try n mutants of a golden file; how many were refused, used and declined, and what went wrong."""
    header, tensors = persistence.read(paths(name)[0])
    X, outcomes, failures = items(name), Counter[str](), []
    use(load(paths(name)[0]), X)  # it is sound
    for i in range(n):
        rng = np.random.default_rng([seed, i, zlib.crc32(name.encode())])
        changed, arrays, done = mutate(rng, header, tensors, only)
        try:
            outcomes[attempt(seal(changed, arrays), X, folder / f"{name}.hedgerow")] += 1
        except Exception as error:
            outcomes["failed"] += 1
            failures.append(f"{name}, seed {seed}, mutant {i} ({', '.join(done)}): {told(error)}")
    return outcomes, failures


def by_kind() -> dict[str, list[str]]:
    """The golden files of this format, by the kind of model that they hold."""
    found: dict[str, list[str]] = {}
    for name in sorted(corpora()):
        found.setdefault(type(corpora()[name][0]).__name__, []).append(name)
    return found


def leave_out(check: str) -> None:
    """Trust files without one of the checks: to see that mutants find what it guards."""
    from hedgerow.estimators.codec.arrays import Array
    from hedgerow.estimators.codec.steps import Check

    whole = Array.check, Check.read
    if check == "rises":
        Array.check = lambda self, *given: whole[0](dataclasses.replace(self, rises=None), *given)  # type: ignore
    else:
        Check.read = lambda self, *given: None if self.function.__name__ == check else whole[1](self, *given)  # type: ignore


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=100, help="mutants of every kind of model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", help="a check to leave out: 'rises', or the name of its function")
    parser.add_argument("--only", help="the one change to make, by the name of its function")
    parser.add_argument("kinds", nargs="*", help="kinds of models; all by default")
    options = parser.parse_args()
    if options.without:
        leave_out(options.without)
    known, total, failures = by_kind(), Counter[str](), []
    plan = [
        (name, len(range(k, options.each, len(known[kind]))))
        for kind in options.kinds or known
        for k, name in enumerate(known[kind])
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, n in plan:
            begin = time.perf_counter()
            outcomes, wrong = run(name, n, options.seed, Path(folder), options.only)
            total += outcomes
            failures += wrong
            print(f"{name}: {dict(outcomes)}, {time.perf_counter() - begin:.0f} s", flush=True)
            print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
    print(f"seed {options.seed}, {total.total()} mutants: {dict(total)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
