"""Row-wise input (dicts, tokens, attribute lists, arrays) turned into columns, block by block.

A block is some thousand positions of whole sequences. Its rows are turned over with `zip`, so that the work on each
value is a call from C and not a step of a Python loop, and the user's rows can be freed as soon as a block is done:
a corpus may come from a generator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.data.sequences import Kind
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

BLOCK_POSITIONS = 8192
NUMBERS = (int, float, np.integer, np.floating, np.bool_)
LISTS = (list, tuple, set, frozenset)


class Item:
    """One sequence with features of the whole sequence: `Item(positions, {"language": "de"})`.

    `positions` is any sequence that hedgerow takes; the features are one value each and cost no copies.
    """

    def __init__(self, positions: Any, features: Mapping[str, Any]) -> None:
        self.positions = positions
        self.features = dict(features)

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"Item({self.positions!r}, {self.features!r})"


@dataclass
class Field:
    """Values of one column at some rows of a block. `kind` is None where it has to be told from the values."""

    name: str
    where: IndexArray | None
    values: Sequence[Any] | AnyArray
    kind: Kind | None = None


@dataclass
class Block:
    """Whole sequences as columns.

    `entries` are attributes by name: rows, names, and weights (None: all 1). `weights` are numbers whose keys hardly
    repeat: rows, keys, values. `constants` has the features of each sequence, or they come as `constant_fields`.
    """

    lengths: list[int]
    fields: list[Field] = field(default_factory=list)
    entries: list[tuple[IndexArray, list[str], FloatArray | None]] = field(default_factory=list)
    weights: list[tuple[IndexArray, list[str], list[Any]]] = field(default_factory=list)
    constants: list[dict[str, Any]] = field(default_factory=list)
    constant_fields: list[Field] = field(default_factory=list)


def blocks(corpus: Iterable[Any]) -> Iterator[Block]:
    """Cut a corpus of row-wise sequences into blocks; errors name the sequence and the position."""
    shape, first, pending = "", 0, []
    size = 0
    constants: list[dict[str, Any]] = []
    for i, item in enumerate(corpus):
        features = item.features if isinstance(item, Item) else {}
        found, rows = recognise(item.positions if isinstance(item, Item) else item, i)
        if shape and found != shape:
            raise InputError(
                f"is a sequence of {found} where the sequences before it are of {shape}",
                hint="Give all sequences in one shape.",
                sequence=i,
            )
        shape = found
        pending.append(rows)
        constants.append(features)
        size += _n_rows(rows)
        if size >= BLOCK_POSITIONS:
            yield _turn(shape, pending, constants, first)
            pending, constants, size, first = [], [], 0, i + 1
    if pending:
        yield _turn(shape, pending, constants, first)


def _n_rows(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def recognise(item: Any, i: int) -> tuple[str, Any]:
    """The shape of one sequence, by name, and its rows."""
    if isinstance(item, (str, bytes)):
        raise InputError(
            "is a str, not a sequence of positions", hint="Split it: list(text) or text.split().", sequence=i
        )
    if isinstance(item, Mapping):
        raise InputError(
            "is a dict", hint="A sequence is a list with one dict a position; wrap it in a list.", sequence=i
        )
    if hasattr(item, "tocsr"):
        return _nonempty("sparse rows", item.tocsr(), i)
    if isinstance(item, np.ndarray):
        if item.ndim == 2:
            return _nonempty("number rows" if item.dtype.kind in "fiub" else "value rows", item, i)
        if item.ndim != 1:
            raise InputError(f"is an array of {item.ndim} dimensions, not 2", sequence=i)
        item = item.tolist()
    elif hasattr(item, "columns") and hasattr(item, "shape"):
        return _nonempty("data frame", item, i)
    try:
        rows = item if isinstance(item, (list, tuple)) else list(item)
    except TypeError:
        raise InputError(f"is {_type(item)}, not a sequence of positions", sequence=i) from None
    return _recognise_list(_nonempty("", rows, i)[1], i)


def _nonempty(shape: str, rows: Any, i: int) -> tuple[str, Any]:
    if _n_rows(rows) == 0:
        raise InputError("is empty", hint="Leave out sequences without positions.", sequence=i)
    return shape, rows


def _recognise_list(rows: Sequence[Any], i: int) -> tuple[str, Any]:
    sample = next((row for row in rows if row is not None), None)
    if sample is None or isinstance(sample, str):
        return "tokens", rows
    if isinstance(sample, Mapping):
        return "dicts", rows
    if isinstance(sample, np.ndarray):
        return recognise(np.stack(rows), i)
    if isinstance(sample, LISTS):
        inner = next((value for row in rows if row for value in row), "")
        if isinstance(inner, NUMBERS):
            return recognise(_matrix(rows, i), i)
        return "attribute lists", rows
    if isinstance(sample, NUMBERS):
        raise InputError(
            "is a list of numbers",
            hint="Give numeric features as a 2-D array (one row a position), symbols as str.",
            sequence=i,
            position=0,
        )
    raise InputError(
        f"a position is {_type(sample)}",
        hint="A position is a dict of features, a token, a list of attributes or a row of numbers.",
        sequence=i,
        position=next(t for t, row in enumerate(rows) if row is sample),
    )


def _matrix(rows: Sequence[Any], i: int) -> FloatArray:
    width = len(rows[0])
    for t, row in enumerate(rows):
        if not isinstance(row, LISTS) or len(row) != width:
            raise InputError(f"does not have {width} numbers as position 0 has", sequence=i, position=t)
        for value in row:
            if not isinstance(value, NUMBERS):
                raise InputError(
                    f"{value!r} is {_type(value)} among numbers", hint="Mixed types.", sequence=i, position=t
                )
    return np.array(rows, dtype=np.float64)


def _type(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _turn(shape: str, sequences: list[Any], constants: list[dict[str, Any]], first: int) -> Block:
    block = Block([_n_rows(rows) for rows in sequences], constants=constants)
    if shape == "dicts":
        _turn_dicts(block, sequences, first)
    elif shape == "tokens":
        _check_types(sequences, (str,), first)
        block.fields.append(Field("token", None, list(chain.from_iterable(sequences))))
    elif shape == "attribute lists":
        _turn_attribute_lists(block, sequences, first)
    elif shape == "sparse rows":
        _turn_sparse(block, sequences, first)
    elif shape == "data frame":
        _turn_frames(block, sequences, first)
    else:
        _turn_matrices(block, sequences, first)
    return block


def _check_types(sequences: list[Any], wanted: tuple[type, ...], first: int) -> None:
    found = set(map(type, chain.from_iterable(sequences)))
    if all(issubclass(kind, wanted) or kind is type(None) for kind in found):
        return
    for i, rows in enumerate(sequences, first):
        for t, row in enumerate(rows):
            if row is not None and not isinstance(row, wanted):
                raise InputError(
                    f"{row!r} is {_type(row)} where other positions are {wanted[0].__name__}",
                    hint="Mixed types: give every position in one shape.",
                    sequence=i,
                    position=t,
                )


def _turn_dicts(block: Block, sequences: list[Any], first: int) -> None:
    _check_types(sequences, (dict, Mapping), first)
    rows = [row or {} for row in chain.from_iterable(sequences)]
    add_dicts(block, rows, np.arange(len(rows), dtype=INDEX), "")


def add_dicts(block: Block, rows: list[Any], where: IndexArray, prefix: str) -> None:
    """Turn dict rows over: rows with the same keys together where keys repeat, one value at a time elsewhere."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, keys in enumerate(map(tuple, rows)):
        try:
            groups[keys].append(i)
        except KeyError:
            groups[keys] = [i]
    if len(groups) > 8 + len(rows) // 8:
        _add_scattered(block, rows, where, prefix)
        return
    for keys, members in groups.items():
        if len(members) == len(rows):
            places, picked = where, rows
        else:
            places = where[np.array(members, dtype=INDEX)]
            picked = [rows[i] for i in members]
        turned = zip(*[row.values() for row in picked])
        for key, values in zip(keys, turned):
            _add_column(block, f"{prefix}{key}" if isinstance(key, str) else key, places, values)


def _add_column(block: Block, name: str, where: IndexArray, values: Sequence[Any]) -> None:
    if dict in map(type, values):
        nested = [i for i, value in enumerate(values) if isinstance(value, Mapping)]
        add_dicts(block, [values[i] for i in nested], where[nested], f"{name}:")
        rest = [i for i, value in enumerate(values) if not isinstance(value, Mapping)]
        where, values = where[rest], [values[i] for i in rest]
    if len(values):
        block.fields.append(Field(name, where, values))


def _add_scattered(block: Block, rows: list[Any], where: IndexArray, prefix: str) -> None:
    """Rows whose keys hardly repeat ({"word=the": 1}): numbers in one bulk, other values gathered by key."""
    sizes = np.fromiter(map(len, rows), dtype=INDEX, count=len(rows))
    keys = list(chain.from_iterable(rows))
    values = list(chain.from_iterable(row.values() for row in rows))
    places = np.repeat(where, sizes)
    if prefix:
        keys = [f"{prefix}{key}" for key in keys]
    if not set(map(type, values)) <= {int, float, bool}:
        gathered: dict[str, tuple[list[int], list[Any]]] = {}
        number = [isinstance(value, (*NUMBERS, bool)) for value in values]
        for i, (key, value) in enumerate(zip(keys, values)):
            if not number[i]:
                members = gathered.setdefault(key, ([], []))
                members[0].append(i)
                members[1].append(value)
        for key, (members_of_key, values_of_key) in gathered.items():
            _add_column(block, key, places[members_of_key], values_of_key)
        kept = np.flatnonzero(number)
        places = places[kept]
        keys, values = [keys[i] for i in kept], [values[i] for i in kept]
    if keys:
        block.weights.append((places, keys, values))


def _turn_attribute_lists(block: Block, sequences: list[Any], first: int) -> None:
    _check_types(sequences, LISTS, first)
    rows = [row or () for row in chain.from_iterable(sequences)]
    sizes = np.fromiter(map(len, rows), dtype=INDEX, count=len(rows))
    names = list(chain.from_iterable(rows))
    if not set(map(type, names)) <= {str}:
        bad = next(i for i, name in enumerate(names) if not isinstance(name, str))
        flat = int(np.searchsorted(np.cumsum(sizes), bad, side="right"))
        offsets = np.concatenate([[0], np.cumsum(block.lengths)])
        i = int(np.searchsorted(offsets, flat, side="right")) - 1
        raise InputError(
            f"the attribute {names[bad]!r} is {_type(names[bad])}, not str",
            sequence=first + i,
            position=flat - int(offsets[i]),
        )
    block.entries.append((np.repeat(np.arange(len(rows), dtype=INDEX), sizes), names, None))


def _turn_sparse(block: Block, sequences: list[Any], first: int) -> None:
    _check_widths([rows.shape[1] for rows in sequences], first)
    base = 0
    for rows in sequences:
        counts = np.diff(rows.indptr)
        where = np.repeat(np.arange(base, base + rows.shape[0], dtype=INDEX), counts)
        block.entries.append((where, list(map(str, rows.indices.tolist())), rows.data.astype(np.float64)))
        base += rows.shape[0]


def _turn_matrices(block: Block, sequences: list[Any], first: int) -> None:
    _check_widths([rows.shape[1] for rows in sequences], first)
    whole = np.concatenate(sequences)
    for j in range(whole.shape[1]):
        if whole.dtype.kind == "b":
            block.fields.append(Field(str(j), None, whole[:, j], "boolean"))
        elif whole.dtype.kind in "fiu":
            block.fields.append(Field(str(j), None, whole[:, j].astype(np.float64), "numeric"))
        else:
            block.fields.append(Field(str(j), None, whole[:, j].tolist()))


def _check_widths(widths: list[int], first: int) -> None:
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise InputError(f"has {width} columns where others have {widths[0]}", sequence=first + i)


def _turn_frames(block: Block, sequences: list[Any], first: int) -> None:
    from hedgerow.data.readers.tables import frame_columns

    base = 0
    for i, frame in enumerate(sequences, first):
        columns, kinds = frame_columns(frame, sequence=i)
        n = _n_rows(frame)
        where = np.arange(base, base + n, dtype=INDEX)
        block.fields.extend(Field(name, where, values, kinds[name]) for name, values in columns.items())
        base += n
