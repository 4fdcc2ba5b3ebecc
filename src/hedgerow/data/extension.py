"""More data for a schema that is there: values, attributes and labels that are new are added to it.

What the schema has keeps its code, and what is new comes after it: weights that were learnt stay where they belong.
Labels alone are sorted anew, as they are everywhere, so their codes may move.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.builders import first_appearance, flag_codes, growing_codes, growing_vocabulary
from hedgerow.data.coder import Coder
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Label, Schema, Window, locate, window_offsets
from hedgerow.data.encoding import _read, _require_sequences, _with_labels, learn
from hedgerow.data.labels import flatten_labels, learn_labels
from hedgerow.data.rows import Field
from hedgerow.data.shapes import is_iterable
from hedgerow.data.values import Locate, read_values
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.legend import CODE, FIRST_VALUE, CodeArray, FloatArray, IndexArray


def begin(
    X: Any,
    y: Any,
    *,
    columns: Mapping[str, str] | None = None,
    window: Window = 0,
    classes: Any = None,
    sample_weight: Any = None,
) -> Dataset:
    """The first of several portions of data: `learn`, where labels that are not in y may be announced by `classes`."""
    dataset = learn(X, columns=columns, window=window)
    flat = _flat_labels(y, dataset.offsets)
    labels = _merged_labels((), flat, dataset.offsets, classes)
    schema = replace(dataset.schema, labels=labels)
    return _with_labels(replace(dataset, schema=schema), flat, sample_weight)


def extend(schema: Schema, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> Dataset:
    """Encode more labelled sequences by a schema learnt before, and add to it what is new.

    The Dataset has the schema that is extended; it is the same object where nothing is new. Codes of values and
    attributes stay the same. Window, columns and their kinds stay too, and so do the mean and the deviation by which
    numbers are standardised, since a weight has its meaning only with them: let the first portion be typical.

    A key of a dict that the schema does not have becomes an attribute: key:text, or key for a number. A column of a
    table, one that was declared, or a feature of the whole sequence cannot be added, and is an error.

    Parameters
    ----------
    X, y, sample_weight : as in `learn`
    classes : labels to come, beside those of y and of the schema; all str or all int
    """
    reader = Extender(schema)
    y = _read(reader, X, y, None)
    _require_sequences(reader)
    offsets = reader.offsets()
    flat = _flat_labels(y, offsets)
    labels = _merged_labels(schema.labels, flat, offsets, classes)
    return _with_labels(reader.finish_with(offsets, labels), flat, sample_weight)


class Extender(Coder):
    """A Coder that gives codes to what its schema does not know; `finish_with` adds it to the schema."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self.new_values: dict[tuple[str, bool], defaultdict[str, int]] = {}  # by column and constancy, as `parts`
        self.new_attributes = growing_vocabulary()

    def add_field(self, field: Field, where: IndexArray) -> None:
        self.given.add(field.name)
        self.typed |= field.kind is not None
        column = self.columns.get(field.name)
        if column is not None:
            self._add_column(column, field, where, self.locate)
        elif (self.schema.declared_kind(field.name) or field.kind) in (None, "attributes"):
            self._add_attributes(field, where)
        else:
            self._refuse_column(field, where, self.locate)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        column = self.constants.get(field.name)
        if column is not None:
            self._add_column(column, field, where, self.locate_sequence)
        else:
            self._refuse_column(field, where, self.locate_sequence)

    def _refuse_column(self, field: Field, where: IndexArray, locate: Locate) -> None:
        """Raise for a column that the schema lacks, if it has any value."""
        values = read_values(field, where, locate, nan_is_missing=True)
        if values is None:
            return
        sequence, position = locate(int(values.where[0]))
        raise InputError(
            "the column is new: the data that the model began with had no value in it",
            hint="Begin anew with data that has it. New values, keys of dicts and labels can be added, columns cannot.",
            sequence=sequence,
            position=position,
            column=field.name,
        )

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
        key = column.name, column.constant
        if values.numbers is not None:
            coded = flag_codes(values.numbers) if column.kind == "boolean" else values.numbers
        else:
            assert values.texts is not None
            assert column.vocabulary is not None
            new = self.new_values.setdefault(key, growing_vocabulary())
            coded = _codes(column.vocabulary, new, values.texts) + CODE(FIRST_VALUE)
        self.parts.setdefault(key, []).append((values.where, coded))

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        self.attributes.append((where, _codes(self.schema.attributes, self.new_attributes, names), weights))

    def finish_with(self, offsets: IndexArray, labels: tuple[Label, ...]) -> Dataset:
        super()._check_columns()
        self._check_known()
        old = self.schema
        attributes = self._grow_attributes()
        columns = tuple(self._grow_column(column) for column in old.columns)
        if any(self.new_values.values()) or self.new_attributes or labels != old.labels:
            places = old.attribute_offsets
            if len(attributes) and not len(old.attributes):  # the first ones: their window was not needed before
                places = window_offsets(old.window, "*")
                columns = _with_outside(columns, places)
            self.schema = replace(old, columns=columns, attributes=attributes, attribute_offsets=places, labels=labels)
        return self.finish(offsets)

    def _check_columns(self) -> None:
        """Done in `finish_with`: the schema as it was says which columns there must be."""

    def _check_known(self) -> None:
        """Warn where dicts have none of the columns and only attributes that are new: names may be misspelt."""
        old = len(self.schema.attributes)
        foreign = bool(self.given) and bool(self.columns) and self.given.isdisjoint(self.columns)
        if foreign and self.attributes and all((ids >= old).all() for _, ids, _ in self.attributes):
            what = f"nothing that the model knows is in the data: none of its columns {sorted(self.columns)[:6]}"
            warnings.warn(f"{what}. All of the data is new to it.", HedgerowWarning, stacklevel=2)

    def _grow_column(self, column: Column) -> Column:
        key = column.name, column.constant
        if not self.new_values.get(key):
            return column
        assert column.vocabulary is not None
        parts = self.parts[key]
        end = len(column.vocabulary) + FIRST_VALUE
        names, codes = _by_appearance(list(self.new_values[key]), end, parts)
        self.parts[key] = [(where, own) for (where, _), own in zip(parts, codes)]
        return replace(column, vocabulary=_grown(column.vocabulary, names))

    def _grow_attributes(self) -> Vocabulary:
        known = self.schema.attributes
        if not self.new_attributes:
            return known
        parts = [(where, ids) for where, ids, _ in self.attributes]
        names, codes = _by_appearance(list(self.new_attributes), len(known), parts)
        self.attributes = [(where, own, weights) for (where, _, weights), own in zip(self.attributes, codes)]
        return _grown(known, names)


def _codes(vocabulary: Vocabulary, new: defaultdict[str, int], texts: list[str]) -> CodeArray:
    """The places of the texts in the vocabulary; new texts stand after its end, in order of their appearance."""
    codes = np.fromiter(map(vocabulary.lookup.get, texts, repeat(-1)), dtype=CODE, count=len(texts))
    unknown = np.flatnonzero(codes < 0)
    codes[unknown] = growing_codes(new, [texts[i] for i in unknown.tolist()]) + CODE(len(vocabulary))
    return codes


def _by_appearance(
    names: list[str], end: int, parts: list[tuple[IndexArray, CodeArray]]
) -> tuple[list[str], list[CodeArray]]:
    """New values, with codes from `end` on, in order of their first position; and the codes of the parts in that order.

    So codes do not depend on the shape in which the data came: dicts are read by groups of equal keys.
    """
    where, codes = (np.concatenate(arrays) for arrays in zip(*parts))
    new = np.flatnonzero(codes >= end)
    new = new[np.argsort(where[new], kind="stable")]
    shift = CODE(end - FIRST_VALUE)
    order, rank = first_appearance(codes[new] - shift, len(names))
    moved = np.concatenate([np.arange(end, dtype=CODE), rank[FIRST_VALUE:] + shift])
    return [names[i] for i in order], [moved[own] for _, own in parts]


def _grown(vocabulary: Vocabulary, names: list[str]) -> Vocabulary:
    """The vocabulary with more strings at its end. It takes a copy of the lookup along, so none is built again."""
    grown = Vocabulary(names)
    before = int(vocabulary.ends[-1]) if len(vocabulary) else 0
    grown.utf8 = np.concatenate([vocabulary.utf8, grown.utf8])
    grown.ends = np.concatenate([vocabulary.ends, grown.ends + before])
    grown._lookup = vocabulary.lookup.copy()
    grown._lookup.update(zip(names, range(len(vocabulary), len(grown))))
    return grown


def _with_outside(columns: tuple[Column, ...], attribute_offsets: tuple[int, ...]) -> tuple[Column, ...]:
    """The columns with OUTSIDE_COLUMN, the last before the constant ones, read at the offsets of the attributes too."""
    varying = [c for c in columns if not c.constant]
    before = [o for c in varying if c.name == OUTSIDE_COLUMN for o in c.offsets]
    beside = tuple(sorted({*before, *attribute_offsets} - {0}))
    if not beside:
        return columns
    others = [c for c in varying if c.name != OUTSIDE_COLUMN]
    outside = Column(OUTSIDE_COLUMN, "categorical", beside, Vocabulary([]))
    return (*others, outside, *(c for c in columns if c.constant))


def _flat_labels(y: Any, offsets: IndexArray) -> list[Any]:
    if y is None:
        raise InputError("y is missing", hint="Give the labels of the sequences.")
    return flatten_labels(y, offsets)


def _merged_labels(known: tuple[Label, ...], flat: list[Any], offsets: IndexArray, classes: Any) -> tuple[Label, ...]:
    """The labels known, announced and found, sorted."""
    known = (*known, *_announced(classes, known))
    first = next((t for t, value in enumerate(flat) if value is not None), None)
    found = () if known and first is None else learn_labels(flat, offsets)
    if known and found and type(found[0]) is not type(known[0]):
        sequence, position = locate(offsets, first or 0)
        _refuse_label(flat[first or 0], known[0], sequence, position)
    merged: Iterable[Any] = {*known, *found}
    return tuple(sorted(merged))


def _announced(classes: Any, known: tuple[Label, ...]) -> tuple[Label, ...]:
    """The labels that `classes` announces, as str or int."""
    if classes is None:
        return ()
    hint = "Give the labels to come in a list, all str or all int."
    if isinstance(classes, (str, bytes, Mapping)) or not is_iterable(classes):
        raise InputError(f"classes is {classes!r}", hint=hint)
    labels: list[Label] = []
    for label in classes:
        plain = str(label) if isinstance(label, str) else _whole(label)
        if plain is None:
            raise InputError(f"classes holds {label!r}", hint=hint)
        labels.append(plain)
        if type(plain) is not type((*known, *labels)[0]):
            _refuse_label(plain, (*known, *labels)[0])
    return tuple(labels)


def _whole(label: Any) -> int | None:
    """An integer that fits `classes_`; None for anything else."""
    is_whole = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
    return int(label) if is_whole and -(2**63) <= int(label) < 2**63 else None


def _refuse_label(label: Any, known: Label, sequence: int | None = None, position: int | None = None) -> NoReturn:
    what = f"the label {label!r} stands beside the label {known!r}"
    raise InputError(what, hint="Labels are all str or all int.", sequence=sequence, position=position)
