"""More data for a schema that is there: values, attributes and labels that are new are added to it.

What the schema has keeps its code, and what is new comes after it: weights that were learnt stay where they belong.
Labels alone are sorted anew, as they are everywhere, so their codes may move.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.data.columns import Locate, growing_codes, growing_vocabulary, read_values, window_offsets
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Label, Schema, Vocabulary
from hedgerow.data.encoding import Coder
from hedgerow.data.labels import CodedLabels, counted, learn_labels, with_weights
from hedgerow.data.rows import Field
from hedgerow.data.settling import first_appearance
from hedgerow.errors import HedgerowWarning, InputError, warn
from hedgerow.legend import CODE, FIRST_VALUE, CodeArray, IndexArray


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
    if y is None:
        raise InputError("y is missing", hint="Give the labels of the sequences.")
    _, (sample_weight, X, y) = counted(sample_weight, X, y)
    extender = Extender(schema)
    y, offsets = extender.read(X, y, None)
    names, labels = learn_labels(y, offsets, classes=classes, known=schema.labels)
    return with_weights(extender.extend(offsets, names, labels), sample_weight)


NewCodes = dict[int, defaultdict[str, int]]  # of strings, by the id of the vocabulary that lacks them


class OpenCoder(Coder):
    """A Coder that gives codes to values and attributes that its schema does not know, too.

    new : their codes beyond the end of each vocabulary, which several coders may share
    """

    def __init__(self, schema: Schema, new: NewCodes) -> None:
        super().__init__(schema)
        self.new = new

    def look_up(self, vocabulary: Vocabulary, texts: list[str]) -> CodeArray:
        """The places of texts in a vocabulary; new ones stand after its end, in order of their appearance."""
        codes = super().look_up(vocabulary, texts)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            new = self.new.setdefault(id(vocabulary), growing_vocabulary())
            codes[unknown] = growing_codes(new, [texts[i] for i in unknown.tolist()]) + CODE(len(vocabulary))
        return codes

    def _check_columns(self) -> None:
        """Left to others, who know whether columns may be missing."""


class Extender(OpenCoder):
    """A Coder that adds what its schema does not know to it."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, {})

    def add_unknown(self, field: Field, where: IndexArray) -> None:
        if (self.schema.declared_kind(field.name) or field.kind) in (None, "attributes"):
            self._add_attributes(field, where)
        else:
            self._refuse_column(field, where, self.locate)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        if field.name in self.constants:
            super().add_constant(field, where)
        else:
            self._refuse_column(field, where, self.locate_sequence)

    def _refuse_column(self, field: Field, where: IndexArray, locate: Locate) -> None:
        """Raise for a column that the schema lacks, if it has any value."""
        values = read_values(field, where, locate, nan_is_missing=True)
        if values is None:
            return
        sequence, position = locate(int(values.where[0]))
        what = "the column is new: the data that the model began with had no value in it"
        hint = "Begin anew with data that has it. New values, keys of dicts and labels can be added, columns cannot."
        raise InputError(what, hint=hint, sequence=sequence, position=position, column=field.name)

    def extend(self, offsets: IndexArray, names: tuple[Label, ...], labels: CodedLabels | None) -> Dataset:
        """The Dataset by the schema with what is new, and all labels sorted."""
        Coder._check_columns(self)  # the schema as it was says which columns there must be
        self._check_known()
        old = self.schema
        attributes = self._grow_attributes()
        columns = tuple(self._grow_column(column) for column in old.columns)
        if self.new or names != old.labels:
            places = old.attribute_offsets
            if len(attributes) and not len(old.attributes):  # the first ones: their window was not needed before
                places = window_offsets(old.window, "*")
                columns = _with_outside(columns, places)
            self.schema = replace(old, columns=columns, attributes=attributes, attribute_offsets=places, labels=names)
        return self.finish(offsets, labels)

    def _check_known(self) -> None:
        """Warn where dicts have none of the columns and only attributes that are new: names may be misspelt."""
        old = self.schema.n_attributes
        foreign = bool(self.given) and bool(self.columns) and self.given.isdisjoint(self.columns)
        if foreign and self.attributes and all((ids >= old).all() for _, ids, _ in self.attributes):
            what = f"nothing that the model knows is in the data: none of its columns {sorted(self.columns)[:6]}"
            warn(f"{what}. All of the data is new to it.", HedgerowWarning, stacklevel=2)

    def _grow_column(self, column: Column) -> Column:
        new = self.new.get(id(column.vocabulary))
        if new is None or column.vocabulary is None:
            return column
        parts = self.parts[column.name, column.constant]
        names, codes = _by_appearance(list(new), len(column.vocabulary) + FIRST_VALUE, parts)
        parts[:] = [(where, new_codes) for (where, _), new_codes in zip(parts, codes)]
        return replace(column, vocabulary=column.vocabulary.extended(names))

    def _grow_attributes(self) -> Vocabulary:
        known = self.schema.attributes
        new = self.new.get(id(known))
        if new is None:
            return known
        names, codes = _by_appearance(list(new), len(known), [(where, ids) for where, ids, _ in self.attributes])
        self.attributes = [(where, ids, weights) for (where, _, weights), ids in zip(self.attributes, codes)]
        return known.extended(names)


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
    return [names[i] for i in order], [moved[part_codes] for _, part_codes in parts]


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
