"""Reading a corpus: blocks in, places named, and at training the values of each column gathered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import accumulate, compress
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.columns import AttributeBuilder, ColumnBuilder, Locate, check_numbers, to_numbers, window_offsets
from hedgerow.data.dataset import OUTSIDE_COLUMN, Window, locate
from hedgerow.data.rows import Block, Field, MixedTypesError, blocks, is_null
from hedgerow.data.sequences import KINDS, Kind, Sequences, entry_names, is_vector, stack
from hedgerow.errors import InputError, among
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray


class Reader:
    """Takes a corpus in blocks and hands on their parts, with rows counted from the start of the corpus.

    learns : whether any list of numbers is a vector; else only those that are known to be
    """

    learns = False

    def __init__(self) -> None:
        self.ends: list[int] = [0]  # of the sequences read so far, counted from the start of the corpus
        self.n_positions = 0
        self.widths: dict[str, int] = {}  # of the features that are vectors

    def read(self, X: Any, y: Any, lengths: Any, *, may_be_empty: bool = False) -> tuple[Any, IndexArray]:
        """Take all of X, in any shape: y cut like X, and int64[S+1], where the sequences begin and end."""
        if lengths is not None:
            from hedgerow.data.readers.arrays import split_lengths

            X, y = split_lengths(X, lengths, y)
        for block in blocks_of(X):
            self.add(block)
        if len(self.ends) == 1 and not may_be_empty:
            raise InputError("X has no sequences", hint="Give at least one sequence.")
        return y, np.array(self.ends, dtype=INDEX)

    def add(self, block: Block) -> None:
        first = len(self.ends) - 1
        self.ends.extend(accumulate(block.lengths[1:], initial=self.n_positions + block.lengths[0]))
        size = self.ends[-1] - self.n_positions
        everywhere = np.arange(self.n_positions, self.n_positions + size, dtype=INDEX)
        shifted: dict[int, IndexArray] = {}  # fields of one group of rows share one array
        for field in block.fields:
            self._check_names([field.name], field.where, self.n_positions)
            if field.where is None:
                where = everywhere
            elif id(field.where) in shifted:
                where = shifted[id(field.where)]
            else:
                where = shifted[id(field.where)] = field.where + self.n_positions
            for one, rows in self._entries(field, where, self.locate):
                self.add_field(one, rows)
        for rows, names, weights in block.entries:
            self._add_entries(rows + self.n_positions, names, weights)
        for rows, names, numbers in block.weights:
            self._check_names(names, rows, self.n_positions)
            self._add_weights(rows + self.n_positions, names, numbers)
        for field in block.constants:
            where = np.arange(len(block.lengths), dtype=INDEX) if field.where is None else field.where
            if not isinstance(field.name, str):
                raise InputError(f"the key {field.name!r} is not a str", sequence=first + int(where[0]))
            for one, rows in self._entries(field, where + first, self.locate_sequence):
                self.add_constant(one, rows)
        self.n_positions += size

    def _entries(self, field: Field, where: IndexArray, locate: Locate) -> Iterator[tuple[Field, IndexArray]]:
        """A field and its rows; of vectors a field for each of their numbers, which are measurements."""
        values: Any = field.values
        sample: Any = next((value for value in values if not is_null(value)), None) if field.kind is None else None
        if is_vector(sample) and (self.learns or isinstance(sample, np.ndarray)):
            self.widths.setdefault(field.name, len(sample))
        elif sample is None or field.name not in self.widths:
            yield field, where
            return
        kept = [i for i, value in enumerate(values) if not is_null(value)]
        if len(kept) < len(values):
            values, where = [values[i] for i in kept], where[kept]

        def refuse(row: int, what: str, hint: str) -> NoReturn:
            sequence, position = locate(int(where[row]))
            raise InputError(what, hint=hint, sequence=sequence, position=position, column=field.name)

        matrix = stack(values, self.widths[field.name], refuse)
        for j, name in enumerate(entry_names(field.name, matrix.shape[1])):
            yield Field(name, None, matrix[:, j], "numeric", entry=True), where

    def locate(self, flat: int) -> tuple[int, int | None]:
        return locate(np.array(self.ends, dtype=INDEX), flat)

    def locate_sequence(self, sequence: int) -> tuple[int, int | None]:
        return sequence, None

    def _check_names(self, names: list[Any], rows: IndexArray | None, base: int) -> None:
        if all(issubclass(kind, str) for kind in set(map(type, names))):
            return
        bad = next(i for i, name in enumerate(names) if not isinstance(name, str))
        flat = base + (0 if rows is None else int(rows[bad]))
        raise among(MixedTypesError(f"the key {names[bad]!r} is not a str"), self.ends, flat)

    def _add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        """Attributes by name. A weight of 0 says nothing and is left out."""
        if weights is not None:
            self._check_finite(where, names, weights)
            kept = np.flatnonzero(weights)
            if len(kept) < len(weights):
                where, names, weights = where[kept], [names[i] for i in kept], weights[kept]
        self.add_entries(where, names, weights)

    def _add_weights(self, where: IndexArray, names: list[str], numbers: list[Any]) -> None:
        """Numbers of many keys in bulk. A key that has to be a column is gathered and read as one."""
        columns = self.column_keys(set(names))
        if columns:
            mask = np.fromiter(map(columns.__contains__, names), np.bool_, len(names))
            members: dict[str, list[int]] = {}
            for i in np.flatnonzero(mask).tolist():
                members.setdefault(names[i], []).append(i)
            for name, rows in members.items():
                self.add_field(Field(name, None, [numbers[i] for i in rows]), where[rows])
            where, names, numbers = where[~mask], list(compress(names, ~mask)), list(compress(numbers, ~mask))
        values = to_numbers(numbers)
        self._check_finite(where, names, values)
        flags = np.fromiter(map({bool, np.bool_}.__contains__, map(type, numbers)), np.bool_, len(numbers))
        self.add_numbers(where, names, values, flags)

    def _check_finite(self, where: IndexArray, names: list[str], numbers: FloatArray) -> None:
        bad = np.flatnonzero(~np.isfinite(numbers))[:1]
        if len(bad):
            check_numbers(names[bad[0]], numbers[bad], where[bad], self.locate, nan_is_missing=False)

    def column_keys(self, names: Set[str]) -> Set[str]:
        """Those of the keys whose values must be read as a column, not in bulk."""
        raise NotImplementedError

    def add_field(self, field: Field, where: IndexArray) -> None:
        raise NotImplementedError

    def add_constant(self, field: Field, where: IndexArray) -> None:
        raise NotImplementedError

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        raise NotImplementedError

    def add_numbers(self, where: IndexArray, names: list[str], numbers: FloatArray, flags: AnyArray) -> None:
        """One number per key and position; `flags` says which of them are bool."""
        raise NotImplementedError


class Learner(Reader):
    """Gathers a training corpus by column; `settling.settle` decides what becomes a column and makes the Dataset."""

    learns = True

    def __init__(self, columns: Mapping[str, str] | None, window: Window) -> None:
        super().__init__()
        self.declared = _check_declared(columns)
        for name in window if isinstance(window, Mapping) else ("*",):
            window_offsets(window, name)
        self.window = window
        self.builders: dict[str, ColumnBuilder] = {}
        self.constants: dict[str, ColumnBuilder] = {}
        self.attributes = AttributeBuilder()
        self.numbers = AttributeBuilder()
        self.number_flags: list[AnyArray] = []
        self.typed: dict[str, list[IndexArray]] = {}  # where columns of frames, arrays and files are

    def read(self, X: Any, y: Any, lengths: Any, *, may_be_empty: bool = False) -> tuple[Any, IndexArray]:
        """As that of all readers; and every frame must have all columns."""
        y, offsets = super().read(X, y, lengths, may_be_empty=may_be_empty)
        for name, parts in self.typed.items():
            if sum(map(len, parts)) < self.n_positions:
                absent = np.ones(self.n_positions, dtype=bool)
                absent[np.concatenate(parts)] = False
                sequence, _ = self.locate(int(np.argmax(absent)))
                hint = "Give all frames the same columns."
                raise InputError(f"there is no column {name!r}, which others have", hint=hint, sequence=sequence)
        return y, offsets

    def builder(self, name: str, *, constant: bool = False) -> ColumnBuilder:
        """The values of a key so far; made where it is new."""
        builders = self.constants if constant else self.builders
        if name not in builders:
            builders[name] = ColumnBuilder(name, self.declared.get(name, self.declared.get("*")))
        return builders[name]

    def column_keys(self, names: Set[str]) -> Set[str]:
        return names if "*" in self.declared else names & self.declared.keys()

    def add_field(self, field: Field, where: IndexArray) -> None:
        if field.name == OUTSIDE_COLUMN:
            hint = "Use another name: this one is for what lies outside a sequence."
            raise among(InputError("the name is taken", hint=hint, column=field.name), self.ends, int(where[0]))
        if field.kind is not None and not field.entry:
            self.typed.setdefault(field.name, []).append(where)
        self.builder(field.name).read(field, where, self.locate)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        builder = self.builder(field.name, constant=True)
        builder.read(field, where, self.locate_sequence)
        if builder.kind == "attributes":
            what = "a feature of the whole sequence is a list"
            hint = "Give it one value, or each item a key of its own: {'topic:sport': True}."
            raise InputError(what, hint=hint, sequence=int(where[0]), column=field.name)

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        self.attributes.add(where, names, weights)

    def add_numbers(self, where: IndexArray, names: list[str], numbers: FloatArray, flags: AnyArray) -> None:
        self.numbers.add(where, names, numbers)
        self.number_flags.append(flags)


def _check_declared(columns: Mapping[str, str] | None) -> dict[str, Kind]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        hint = 'Give a mapping of column to kind: ⟦columns={"length": "numeric"}⟧.'
        raise InputError(f"⟦columns⟧ is of type {type(columns).__name__}", hint=hint)
    for name, kind in columns.items():
        if kind not in KINDS:
            raise InputError(f"is declared {kind!r}", hint=f"Kinds are {', '.join(KINDS)}.", column=str(name))
    return dict(columns)  # type: ignore[arg-type]


def blocks_of(X: Any) -> Iterable[Block]:
    """Whole sequences as columns, of a corpus in any shape."""
    hint = "X is a list of sequences, a sequence a list of positions."
    if isinstance(X, Sequences):
        return [_columnar_block(X)] if len(X) else []
    if isinstance(X, tuple) and len(X) == 2 and isinstance(X[0], Sequences):
        raise InputError("X is the pair that hedgerow.sequences gives", hint="Unpack it: X, y = sequences(…).")
    if isinstance(X, (str, bytes, Mapping, Set)):
        raise InputError(f"X is a {type(X).__name__}", hint=hint)
    if (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "tocsr"):
        hint = "Give a list of arrays (one per sequence), a 3-D array, or ⟦lengths=⟧ with the flat array."
        raise InputError("X is one 2-D array", hint=hint)
    if not isinstance(X, np.ndarray) and hasattr(X, "columns") and hasattr(X, "shape"):
        hint = 'Say how it is cut: fit(frame, by="machine", label="state"); predict then cuts frames alike.'
        raise InputError("X is one data frame", hint=hint)
    if not isinstance(X, Iterable) or (isinstance(X, np.ndarray) and X.ndim == 0):
        raise InputError(f"X is of type {type(X).__name__}", hint=hint)
    return blocks(X)


def _columnar_block(X: Sequences) -> Block:
    columns, offsets, constants = X.compact()
    lengths = np.diff(offsets).tolist()
    if 0 in lengths:
        raise InputError("is empty", hint="Leave out sequences without positions.", sequence=lengths.index(0))
    block = Block(lengths)
    block.fields = [Field(name, None, values, X.kinds[name]) for name, values in columns.items()]
    block.constants = [Field(name, None, values, X.kinds[name]) for name, values in constants.items()]
    block.matrix = list(columns) == [str(j) for j in range(len(columns))]  # as `split_lengths` names them
    return block
