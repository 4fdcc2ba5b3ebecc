"""Row-wise input (dicts, tokens, attribute lists, arrays) recognised and turned into columns, block by block.

A block is some thousand positions of whole sequences. Its rows are turned over with `zip`, so that the work on each
value is a call from C and not a step of a Python loop, and the user's rows can be freed as soon as a block is done:
a corpus may come from a generator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any, Literal

import numpy as np

from hedgerow.data.sequences import Item as Item
from hedgerow.data.sequences import Kind, apart, described, number_type, unmasked
from hedgerow.errors import InputError, among, placed
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

BLOCK_POSITIONS = 8192
NUMBERS = (int, float, np.integer, np.floating, np.bool_)
LISTS = (list, tuple, set, frozenset)


class MixedTypesError(InputError):
    """A value, a key or a row of another type than others, or than any that can be. `compat` takes some of them."""


# "blank": every position is missing. It goes with tokens, dicts and attribute lists alike.
Shape = Literal[
    "blank", "tokens", "dicts", "attribute lists", "rows of numbers", "rows of values", "sparse rows", "data frames"
]


@dataclass
class Field:
    """Values of one column at some rows of a block. `kind` is None where it has to be told from the values. `entry`:
    the column is a number of vectors, which came among other values."""

    name: str
    where: IndexArray | None
    values: Sequence[Any] | AnyArray
    kind: Kind | None = None
    entry: bool = False


@dataclass
class Block:
    """Whole sequences as columns.

    `entries` are attributes by name: rows, names, and weights (None: all 1). `weights` are numbers whose keys hardly
    repeat: rows, keys, values. `constants` are features of whole sequences: fields over the sequences of the block.
    `matrix` says that the fields are the columns of a matrix, which have numbers for names.
    """

    lengths: list[int]
    fields: list[Field] = field(default_factory=list)
    entries: list[tuple[IndexArray, list[str], FloatArray | None]] = field(default_factory=list)
    weights: list[tuple[IndexArray, list[str], list[Any]]] = field(default_factory=list)
    constants: list[Field] = field(default_factory=list)
    matrix: bool = False


def blocks(corpus: Iterable[Any]) -> Iterator[Block]:
    """Cut a corpus of row-wise sequences into blocks; errors name the sequence and the position."""
    shape: Shape = "blank"
    pending: list[Any] = []
    features: list[Mapping[str, Any]] = []
    first = size = width = 0
    for i, item in enumerate(corpus):
        features.append(item.features if isinstance(item, Item) else {})
        shape_of_item, rows = recognise(item.positions if isinstance(item, Item) else item, i)
        shape = _agree(shape, shape_of_item, i)
        if shape_of_item in ("rows of numbers", "rows of values", "sparse rows"):
            width = rows.shape[1] if i == 0 else width
            if rows.shape[1] != width:
                raise InputError(f"has {rows.shape[1]} columns where the sequences before have {width}", sequence=i)
        pending.append(rows)
        size += n_rows(rows)
        if size >= BLOCK_POSITIONS:
            yield _turn(shape, pending, features, first)
            pending, features, size, first = [], [], 0, i + 1
    if pending:
        yield _turn(shape, pending, features, first)


def _agree(shape: Shape, new: Shape, i: int) -> Shape:
    """The shape of a corpus so far, with one more sequence."""
    if shape == new or (new == "blank" and shape in ("tokens", "dicts", "attribute lists")):
        return shape
    if shape == "blank" and (i == 0 or new in ("tokens", "dicts", "attribute lists")):
        return new
    what = f"is of the shape {new!r} where the sequences before it are of the shape {shape!r}"
    raise MixedTypesError(what, hint="Mixed types: give all sequences in one shape.", sequence=i)


def _turn(shape: Shape, sequences: list[Any], features: list[Mapping[str, Any]], first: int) -> Block:
    block = Block([n_rows(rows) for rows in sequences])
    if shape == "dicts":
        _check_types(sequences, (dict, Mapping), first)
        rows = [row if type(row) is dict or isinstance(row, Mapping) else {} for row in chain.from_iterable(sequences)]
        add_dicts(block, rows, np.arange(len(rows), dtype=INDEX), "")
    elif shape in ("tokens", "blank"):
        _check_types(sequences, (str,), first)
        block.fields.append(Field("token", None, list(chain.from_iterable(sequences)), "categorical"))
    elif shape == "attribute lists":
        _turn_attribute_lists(block, sequences, first)
    elif shape == "sparse rows":
        _turn_sparse(block, sequences, first)
    elif shape == "data frames":
        _turn_frames(block, sequences, first)
    else:
        _turn_matrices(block, sequences)
    if any(features):
        block.constants = _turn_features(features)
    return block


def _turn_features(features: list[Mapping[str, Any]]) -> list[Field]:
    """The features of whole sequences, as fields over the sequences of the block."""
    turned = Block([])
    add_dicts(turned, features, np.arange(len(features), dtype=INDEX), "")
    singles = (
        Field(name, rows[[i]], [number])
        for rows, names, numbers in turned.weights
        for i, (name, number) in enumerate(zip(names, numbers))
    )
    return [*turned.fields, *singles]


def _check_types(sequences: list[Any], wanted: tuple[type, ...], first: int) -> None:
    types = set(map(type, chain.from_iterable(sequences)))
    if all(issubclass(kind, wanted) or is_nothing(kind) for kind in types):
        return
    for i, rows in enumerate(sequences, first):
        for t, row in enumerate(rows):
            if not isinstance(row, wanted) and not is_null(row):
                what = f"{row!r} is {described(row)} where other positions are {wanted[0].__name__}"
                hint = "Mixed types: give every position in one shape."
                raise MixedTypesError(what, hint=hint, sequence=i, position=t)


def add_dicts(block: Block, rows: Sequence[Mapping[str, Any]], where: IndexArray, prefix: str) -> None:
    """Turn dict rows over: rows with the same keys together where keys repeat, one value at a time elsewhere."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    most = 8 + len(rows) // 8
    for i, keys in enumerate(map(tuple, rows)):
        try:
            groups[keys].append(i)
        except KeyError:
            groups[keys] = [i]
            if len(groups) > most:
                _add_scattered(block, rows, where, prefix)
                return
    for keys, members in groups.items():
        if len(members) == len(rows):
            places, picked = where, rows
        else:
            places = where[np.array(members, dtype=INDEX)]
            picked = [rows[i] for i in members]
        # One row after the other, and then each key's in steps: half the time of going through all rows for each key.
        flat = list(chain.from_iterable([row.values() for row in picked]))
        for j, key in enumerate(keys):
            _add_column(block, _joined(prefix, key), places, flat[j :: len(keys)])


def _joined(prefix: str, key: Any) -> Any:
    """The name of a nested key. A key that is no str stays as it is, to be refused where its place is known."""
    return f"{prefix}{key}" if isinstance(key, str) else key


def _add_column(block: Block, name: str, where: IndexArray, values: Sequence[Any]) -> None:
    if any(issubclass(kind, Mapping) for kind in set(map(type, values))):
        nested = [i for i, value in enumerate(values) if isinstance(value, Mapping)]
        add_dicts(block, [values[i] for i in nested], where[nested], f"{name}:")
        rest = [i for i, value in enumerate(values) if not isinstance(value, Mapping)]
        where, values = where[rest], [values[i] for i in rest]
    if len(values):
        block.fields.append(Field(name, where, values))


def _add_scattered(block: Block, rows: Sequence[Mapping[str, Any]], where: IndexArray, prefix: str) -> None:
    """Rows whose keys hardly repeat ({"word=the": 1}): numbers in one bulk, other values gathered by key."""
    sizes = np.fromiter(map(len, rows), dtype=INDEX, count=len(rows))
    keys: list[str] = list(chain.from_iterable(rows))
    values: list[Any] = list(chain.from_iterable(row.values() for row in rows))
    places = np.repeat(where, sizes)
    if prefix:
        keys = [_joined(prefix, key) for key in keys]
    if not set(map(type, values)) <= {int, float, bool}:
        gathered: dict[str, list[int]] = {}
        kept = []
        for i, (key, value) in enumerate(zip(keys, values)):
            if isinstance(value, NUMBERS):
                kept.append(i)
            else:
                gathered.setdefault(key, []).append(i)
        for key, members in gathered.items():
            _add_column(block, key, places[members], [values[i] for i in members])
        places = places[kept]
        keys, values = [keys[i] for i in kept], [values[i] for i in kept]
    if keys:
        block.weights.append((places, keys, values))


def _turn_attribute_lists(block: Block, sequences: list[Any], first: int) -> None:
    _check_types(sequences, LISTS, first)
    rows = [row if isinstance(row, LISTS) else () for row in chain.from_iterable(sequences)]
    sizes = np.fromiter(map(len, rows), dtype=INDEX, count=len(rows))
    names = list(chain.from_iterable(map(ordered, rows)))
    if not all(issubclass(kind, str) for kind in set(map(type, names))):
        bad = next(i for i, name in enumerate(names) if not isinstance(name, str))
        flat = int(np.searchsorted(np.cumsum(sizes), bad, side="right"))
        error: InputError = MixedTypesError(f"the attribute {names[bad]!r} is {described(names[bad])}, not str")
        error = among(error, np.cumsum([0, *block.lengths]), flat)
        raise placed(error, sequence=first + (error.sequence or 0))
    block.entries.append((np.repeat(np.arange(len(rows), dtype=INDEX), sizes), names, None))


def ordered(values: Any) -> Any:
    """The members of a set in an order that does not change from run to run; anything else as it is."""
    return sorted(values, key=str) if isinstance(values, (set, frozenset)) else values


def _turn_sparse(block: Block, sequences: list[Any], first: int) -> None:
    base = 0
    for i, rows in enumerate(sequences, first):
        if rows.dtype.kind not in "fiub":
            raise InputError(f"is a sparse matrix of {rows.dtype}, not of numbers", sequence=i)
        counts = np.diff(rows.indptr)
        where = np.repeat(np.arange(base, base + rows.shape[0], dtype=INDEX), counts)
        block.entries.append((where, list(map(str, rows.indices.tolist())), rows.data.astype(np.float64)))
        base += rows.shape[0]


def _turn_matrices(block: Block, sequences: list[Any]) -> None:
    whole = np.concatenate(sequences)
    block.matrix = True
    for j in range(whole.shape[1]):
        if whole.dtype.kind == "b":
            block.fields.append(Field(str(j), None, whole[:, j], "boolean"))
        elif whole.dtype.kind in "fiu":
            block.fields.append(Field(str(j), None, whole[:, j].astype(number_type(whole)), "numeric"))
        else:
            block.fields.append(Field(str(j), None, whole[:, j].tolist()))


def _turn_frames(block: Block, sequences: list[Any], first: int) -> None:
    from hedgerow.data.readers.tables import frame_columns

    base = i = 0
    for _, alike in groupby(sequences, _layout):  # one by one, most of the time would be spent on asking for columns
        frames = list(alike)
        columns, kinds = frame_columns(frames, first + i)
        n, i = sum(map(n_rows, frames)), i + len(frames)
        where = np.arange(base, base + n, dtype=INDEX)
        block.fields.extend(Field(name, where, values, kinds[of]) for name, (of, values) in apart(columns).items())
        base += n


def _layout(frame: Any) -> Any:
    """Names and types of a frame's columns, as its library has them; of one that does not say, the frame itself."""
    return (type(frame), list(frame.columns), list(frame.dtypes)) if hasattr(frame, "dtypes") else id(frame)


# ------------------------------------------------------------------------------------------------ shapes


def recognise(item: Any, i: int) -> tuple[Shape, Any]:
    """The shape of sequence i, and its rows."""
    if isinstance(item, (str, bytes)):
        hint = 'If X is one sequence of tokens, wrap it: [["the", "cat"]]. Split a text: list(text) or text.split().'
        raise InputError("is a str, not a sequence of positions", hint=hint, sequence=i)
    if isinstance(item, Mapping):
        hint = "A sequence is a list with one dict per position; wrap it in a list."
        raise InputError("is a dict", hint=hint, sequence=i)
    if isinstance(item, Set):
        raise InputError("is a set, and a sequence has an order", hint="Give a list of positions.", sequence=i)
    if hasattr(item, "tocsr"):
        return "sparse rows", _filled(item.tocsr(), i)
    if isinstance(item, np.ndarray) and item.ndim != 1:
        item = unmasked(item)
        if item.ndim != 2:
            raise InputError(f"is an array of {item.ndim} dimensions, not 2", sequence=i)
        return "rows of numbers" if item.dtype.kind in "fiub" else "rows of values", _filled(item, i)
    if hasattr(item, "columns") and hasattr(item, "shape"):
        return "data frames", _filled(item, i)
    if isinstance(item, np.ndarray):
        item = item.tolist()
    try:
        rows = item if isinstance(item, (list, tuple)) else list(item)
    except TypeError:
        raise InputError(f"is {described(item)}, not a sequence of positions", sequence=i) from None
    return _recognise_list(_filled(rows, i), i)


def n_rows(rows: Any) -> int:
    """The number of positions of a sequence in any shape."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def is_null(value: Any) -> bool:
    """Whether a value means "missing": None, NaN, or pandas' NA and NaT."""
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return is_nothing(type(value))


def is_nothing(kind: type) -> bool:
    """Whether all values of a type mean "missing": that of None, and of pandas' NA and NaT, by their names."""
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def plain_text(value: Any) -> str:
    """A value of any type as text. A data frame turns integers with a gap into floats: 7.0 reads as "7"."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value) if whole else value)


def _filled(rows: Any, i: int) -> Any:
    if n_rows(rows) == 0:
        raise InputError("is empty", hint="Leave out sequences without positions.", sequence=i)
    return rows


def _recognise_list(rows: Sequence[Any], i: int) -> tuple[Shape, Any]:
    first = next((t for t, row in enumerate(rows) if not is_null(row)), None)
    if first is None:
        return "blank", rows
    sample = rows[first]
    if isinstance(sample, str):
        return "tokens", rows
    if isinstance(sample, Mapping):
        return "dicts", rows
    if isinstance(sample, np.ndarray):
        return recognise(_stacked(rows, i), i)
    if isinstance(sample, LISTS):
        inner = next((value for row in rows if isinstance(row, LISTS) for value in row), "")
        return ("rows of numbers", _matrix(rows, i)) if isinstance(inner, NUMBERS) else ("attribute lists", rows)
    if isinstance(sample, NUMBERS):
        hint = "Give numeric features as a 2-D array (one row per position), symbols as str."
        raise InputError("is a list of numbers", hint=hint, sequence=i, position=first)
    hint = "A position is a dict of features, a token, a list of attributes or a row of numbers."
    raise InputError(f"a position is {described(sample)}", hint=hint, sequence=i, position=first)


def _stacked(rows: Sequence[Any], i: int) -> AnyArray:
    """Rows that are arrays, as one array."""
    sample = next(row for row in rows if not is_null(row))
    numbers = sample.dtype.kind in "fiub"
    for t, row in enumerate(rows):
        same = isinstance(row, np.ndarray) and row.shape == sample.shape and (row.dtype.kind in "fiub") == numbers
        if not same:
            what = f"is not an array of shape {sample.shape} and type {sample.dtype} as other positions are"
            raise InputError(what, hint="Mixed types.", sequence=i, position=t)
    masked = any(isinstance(row, np.ma.MaskedArray) for row in rows)
    return np.ma.stack(rows) if masked else np.stack(rows)


def _matrix(rows: Sequence[Any], i: int) -> AnyArray:
    """Lists of numbers as one array; of bool where all are bool."""
    width = next(len(row) for row in rows if not is_null(row))
    for t, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) != width:
            raise InputError(f"is not a list of {width} numbers as other positions are", sequence=i, position=t)
        for j, value in enumerate(row):
            if not isinstance(value, NUMBERS):
                hint = "Mixed types: a row of numbers has a number in every column, NaN where it is missing."
                what = f"{value!r} is {described(value)} among numbers"
                raise InputError(what, hint=hint, sequence=i, position=t, column=str(j))
    flags = all(isinstance(value, (bool, np.bool_)) for row in rows for value in row)
    try:
        return np.array(rows, dtype=np.bool_ if flags else np.float64)
    except OverflowError:
        raise InputError("an integer is too large for a number", sequence=i) from None
