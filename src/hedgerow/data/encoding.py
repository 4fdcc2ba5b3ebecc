"""One encoder to one Dataset: `learn` at training, `encode` at prediction, for every shape of input."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Set
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from hedgerow.data.columns import Locate, attribute_name, flag_codes, read_values
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema, Vocabulary, Window, padded_places
from hedgerow.data.derived import parse_features, with_features
from hedgerow.data.labels import CodedLabels, counted, encode_labels, learn_labels, with_weights
from hedgerow.data.readers.arrays import split_lengths
from hedgerow.data.reading import Learner, Reader
from hedgerow.data.rows import Block, Field
from hedgerow.data.sequences import vector_widths
from hedgerow.data.settling import (
    Entries,
    Learnt,
    blank_columns,
    by_position,
    by_weight,
    compress_rows,
    places_of,
    settle,
)
from hedgerow.errors import HedgerowWarning, InputError, shown, warn
from hedgerow.legend import CODE, FIRST_VALUE, MISSING, AnyArray, CodeArray, FloatArray, IndexArray

MANY_TEXTS = 100_000


def learn(
    X: Any,
    y: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    window: Window = 0,
    features: Any = None,
    lengths: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
) -> Dataset:
    """Encode a training corpus and learn its schema: columns, vocabularies, labels.

    Parameters
    ----------
    X : iterable of S sequences, each a list of dicts, of tokens or of attribute lists, a 2-D array, a data frame or an
        Item; or Sequences; or flat arrays with `lengths`. A generator is read once, a block at a time.
    y : iterable of S lists of labels, str or int; None is unlabelled, a set gives the allowed labels
    columns : mapping of column to "categorical", "numeric", "boolean" or "attributes"; "*" for all others
    window : half-width, pair (before, after), or mapping of column to one of these
    features : list of what is derived of every numeric column, such as "rolling_mean(10)"
    lengths : the lengths of the sequences where X and y are flat
    sample_weight : S weights ≥ 0, or S arrays of 0 (take the position as unlabelled) and 1; a sequence of weight 0 is
        left out
    classes : labels that may come later and need not be in y, all str or all int
    """
    names = parse_features(features)
    if sample_weight is not None and lengths is not None:
        X, y, lengths = *split_lengths(X, lengths, y), None
    _, (sample_weight, X, y) = counted(sample_weight, X, y)
    learnt = learn_corpus(X, y, columns=columns, window=window, lengths=lengths, classes=classes)
    dataset = with_weights(with_features(learnt.dataset, names), sample_weight)
    return replace(dataset, schema=by_weight(dataset))


def learn_corpus(
    X: Any, y: Any, *, columns: Mapping[str, str] | None, window: Window, lengths: Any = None, classes: Any = None
) -> Learnt:
    """As `learn`, with what is needed to learn once more from some of the sequences."""
    learner = Learner(columns, window)
    y, offsets = learner.read(X, y, lengths)
    names, labels = learn_labels(y, offsets, classes=classes)
    learnt = settle(learner, offsets, names, labels)
    schema = learnt.dataset.schema
    if len(schema.attributes) + sum(len(column.vocabulary or ()) for column in schema.columns) > MANY_TEXTS:
        del learner
        gc.collect()  # tuples that Python keeps for later lie among the texts just dropped, and hold their memory
    return learnt


def encode(
    schema: Schema, X: Any, y: Any = None, *, lengths: Any = None, sample_weight: Any = None, may_be_empty: bool = False
) -> Dataset:
    """Encode a corpus by a schema learnt before. Attributes and values that it does not know are ignored.

    With `may_be_empty` an X without sequences is a Dataset without any, and not an error.
    """
    coder = Coder(schema)
    y, offsets = coder.read(X, y, lengths, may_be_empty=may_be_empty)
    labels = None if y is None else encode_labels(y, offsets, schema.label_codes)
    return with_weights(coder.finish(offsets, labels), sample_weight)


class Coder(Reader):
    """Codes a corpus by a schema block by block; `finish` makes the Dataset."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self.schema = schema
        made = {c.name for c in schema.columns if c.derived is not None or c.name == OUTSIDE_COLUMN}
        self.columns = {c.name: c for c in schema.columns if not c.constant and c.name not in made}
        self.constants = {c.name: c for c in schema.columns if c.constant}
        numbers = (c.name for c in schema.columns if c.kind == "numeric" and np.isnan(c.fill))
        own = {c.name for c in schema.columns}
        self.widths = {name: width for name, width in vector_widths(numbers).items() if name not in own}
        self.parts: dict[tuple[str, bool], list[tuple[IndexArray, AnyArray]]] = {}
        self.attributes: list[Entries] = []
        self.given: set[str] = set()
        self.typed = False  # the columns came with their kinds: an array, a frame, a file
        self.unknown: set[str] = set()  # columns of a matrix that hold values and are not the model's

    def add(self, block: Block) -> None:
        super().add(block)
        if block.matrix:
            others = (f for f in block.fields if f.name not in self.columns)
            # A column of None is not learnt in training either.
            self.unknown.update(f.name for f in others if any(value is not None for value in f.values))

    def column_keys(self, names: Set[str]) -> Set[str]:
        if "*" in self.schema.declared:
            return names
        return names & (self.columns.keys() | self.schema.declared.keys())

    def add_field(self, field: Field, where: IndexArray) -> None:
        self.given.add(field.name)
        self.typed |= field.kind is not None and not field.entry
        column = self.columns.get(field.name)
        if column is not None:
            self._add_column(column, field, where, self.locate)
        else:
            self.add_unknown(field, where)

    def add_unknown(self, field: Field, where: IndexArray) -> None:
        """Take a field that is no column of the schema."""
        if self.schema.n_attributes:
            self._add_attributes(field, where)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        column = self.constants.get(field.name)
        if column is not None:
            self._add_column(column, field, where, self.locate_sequence)

    def _add_column(self, column: Column, field: Field, where: IndexArray, locate: Locate) -> None:
        declared = self.schema.declared_kind(column.name)
        values = read_values(
            field,
            where,
            locate,
            declared=None if declared == "attributes" else declared,
            known=column.kind,
            nan_is_missing=declared is not None or bool(np.isnan(column.fill)),
        )
        if values is None:
            return
        if values.numbers is not None:
            coded = flag_codes(values.numbers) if column.kind == "boolean" else values.numbers
        else:
            assert values.texts is not None
            assert column.vocabulary is not None
            codes = self.look_up(column.vocabulary, values.texts)
            coded = np.where(codes >= 0, codes + CODE(FIRST_VALUE), CODE(MISSING))
        self.parts.setdefault((column.name, column.constant), []).append((values.where, coded))

    def _add_attributes(self, field: Field, where: IndexArray) -> None:
        declared = self.schema.declared_kind(field.name)
        values = read_values(field, where, self.locate, nan_is_missing=declared is not None)
        if values is None:
            return
        if values.texts is None:
            weights: FloatArray = np.nan_to_num(values.numbers, nan=0.0)  # type: ignore[arg-type]
            self.add_entries(values.where, [field.name] * len(values.where), weights)
        else:
            prefix = attribute_name(field.name, "")
            self.add_entries(values.rows, list(map(prefix.__add__, values.texts)), None)

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        ids = self.look_up(self.schema.attributes, names)
        known = ids >= 0
        if not known.all():
            where, ids = where[known], ids[known]
            weights = None if weights is None else weights[known]
        self.attributes.append((where, ids, weights))

    def add_numbers(self, where: IndexArray, names: list[str], numbers: FloatArray, flags: AnyArray) -> None:
        self.add_entries(where, names, numbers)

    def look_up(self, vocabulary: Vocabulary, texts: list[str]) -> CodeArray:
        """The places of texts in a vocabulary of the schema, −1 where it does not have them."""
        return np.fromiter(map(vocabulary.lookup.get, texts, repeat(-1)), dtype=CODE, count=len(texts))

    def _check_columns(self) -> None:
        """Refuse a table or tokens that lack a column of the model, and a matrix that is wider than that of training.

        A dict may lack keys; one that has none is odd. A column with a name of its own that the model does not know is
        not read. Where there are attributes, columns of few values are among them.
        """
        absent = [name for name in self.columns if name not in self.given]
        has = f"The model reads {shown(sorted(self.columns), 6)}; the data has {shown(sorted(self.given), 6)}"
        if not absent and self.unknown and not self.schema.n_attributes:
            what = f"the data has {len(self.given)} columns where the model expects {len(self.columns)}"
            raise InputError(what, hint=f"{has}.")
        if not absent or not self.given:
            return
        if self.typed or self.given == {"token"}:
            raise InputError(f"there is no column {absent[0]!r} in the data", hint=f"{has}.")
        if len(absent) == len(self.columns) and not any(len(ids) for _, ids, _ in self.attributes):
            warn(f"nothing that the model reads is in the data. {has}.", HedgerowWarning, stacklevel=2)

    def finish(self, offsets: IndexArray, labels: CodedLabels | None) -> Dataset:
        self._check_columns()
        schema = self.schema
        start, places, size = padded_places(offsets, schema.gap)
        stored = [c for c in schema.columns if c.derived is None]
        rows, (codes, numeric, *constants) = blank_columns(
            [(c.kind, c.constant) for c in stored],
            places,
            size,
            len(start),
            [v for (_, constant), parts in self.parts.items() if not constant for _, v in parts if v.dtype.kind == "f"],
        )
        for column, row in zip(stored, rows):
            for where, values in self.parts.pop((column.name, column.constant), ()):
                row[where if column.constant else places_of(where, places)] = values
        attributes = compress_rows(by_position(self.attributes), places, size)
        return Dataset(schema, offsets, start, codes, numeric, *attributes, *constants, *(labels or ()))
