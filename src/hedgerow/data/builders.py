"""Columns under construction: what one pass over a corpus gathers, before the kinds are settled."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.sequences import Kind
from hedgerow.data.values import Locate, Values, changed_type
from hedgerow.legend import CODE, FIRST_VALUE, INDEX, CodeArray, FloatArray, IndexArray

NUMBER_KINDS = ("numeric", "boolean")


def growing_vocabulary() -> defaultdict[str, int]:
    """A dict that gives the next number to each string it has not seen."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def growing_codes(vocabulary: defaultdict[str, int], texts: list[str]) -> CodeArray:
    return np.fromiter(map(vocabulary.__getitem__, texts), dtype=CODE, count=len(texts))


class ColumnBuilder:
    """The values of one key so far: positions, and codes or numbers, in parts."""

    def __init__(self, name: str, declared: Kind | None) -> None:
        self.name = name
        self.declared = declared
        self.kind: Kind | None = declared
        self.typed = declared is not None  # came with a kind: stays a column, and absent means missing
        self.n_values = 0
        self.vocabulary: defaultdict[str, int] = growing_vocabulary()
        self.parts: list[tuple[IndexArray, Any]] = []

    def add(self, values: Values, locate: Locate) -> None:
        if len(values.where) == 0:
            return
        if self.kind is None or (self.kind == "boolean" and values.kind == "numeric"):
            self.kind = values.kind
        elif self.kind != values.kind and not (self.kind == "numeric" and values.kind == "boolean"):
            changed_type(self.name, self.kind, values.kind, values.where, locate)
        self.n_values += len(values.where)
        if values.numbers is not None:
            self.parts.append((values.where, values.numbers))
        else:
            assert values.texts is not None
            codes = growing_codes(self.vocabulary, values.texts)
            where = values.where if values.sizes is None else np.repeat(values.where, values.sizes)
            self.parts.append((where, codes))

    def gathered(self) -> tuple[IndexArray, Any]:
        """All positions and all codes or numbers, in the order they came."""
        if not self.parts:
            return np.empty(0, dtype=INDEX), np.empty(0, dtype=CODE)
        return np.concatenate([p[0] for p in self.parts]), np.concatenate([p[1] for p in self.parts])

    def code_column(self, out: CodeArray, places: IndexArray) -> list[str]:
        """Write the codes into `out` (padded) and return the vocabulary, in order of first appearance."""
        for where, codes in self.parts:
            out[places[where]] = (codes if self.kind == "categorical" else (codes != 0)) + FIRST_VALUE
            if self.kind == "boolean":
                out[places[where[np.isnan(codes)]]] = 0
        if self.kind == "boolean":
            return []
        order, rank = first_appearance(out, len(self.vocabulary))
        names = list(self.vocabulary)
        if np.array_equal(order, np.arange(len(order))):
            return names
        np.copyto(out, rank[out])
        return [names[i] for i in order]

    def number_column(self, out: FloatArray, places: IndexArray) -> None:
        """Write the numbers into `out` (padded)."""
        for where, numbers in self.parts:
            out[places[where]] = numbers


def first_appearance(codes: CodeArray, n_values: int) -> tuple[IndexArray, CodeArray]:
    """The values in order of their first place in `codes`, and the map from old codes to new ones."""
    first = np.full(n_values + FIRST_VALUE, len(codes), dtype=INDEX)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    order = np.argsort(first[FIRST_VALUE:], kind="stable")
    rank = np.arange(n_values + FIRST_VALUE, dtype=CODE)
    rank[FIRST_VALUE + order] = np.arange(FIRST_VALUE, n_values + FIRST_VALUE, dtype=CODE)
    return order, rank


class AttributeBuilder:
    """Sparse attributes so far: (position, attribute, weight) triples from any number of sources."""

    def __init__(self) -> None:
        self.vocabulary = growing_vocabulary()
        self.parts: list[tuple[IndexArray, CodeArray, FloatArray | None]] = []

    def add(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        """One name an entry."""
        self.parts.append((where, growing_codes(self.vocabulary, names), weights))

    def add_coded(self, where: IndexArray, codes: CodeArray, names: list[str], weights: FloatArray | None) -> None:
        """Codes into a list of names: one string is made for each name, not for each entry."""
        self.parts.append((where, growing_codes(self.vocabulary, names)[codes], weights))

    def rows(self, places: IndexArray, size: int) -> tuple[AttributeRows, list[str]]:
        """CSR by padded position, and the vocabulary in order of first appearance."""
        rows = attribute_rows(self.parts, places, size)
        names = list(self.vocabulary)
        order, rank = first_appearance(rows.ids + CODE(FIRST_VALUE), len(names))
        return rows._replace(ids=rank[rows.ids + FIRST_VALUE] - CODE(FIRST_VALUE)), [names[i] for i in order]


class AttributeRows(NamedTuple):
    """Attributes by padded position: ids[ptr[p]:ptr[p+1]] and their values (None: all 1)."""

    ptr: IndexArray
    ids: CodeArray
    values: FloatArray | None


def attribute_rows(
    parts: list[tuple[IndexArray, CodeArray, FloatArray | None]], places: IndexArray, size: int
) -> AttributeRows:
    """Sort (position, attribute, weight) triples by position; entries of one position keep their order."""
    if not parts:
        return AttributeRows(np.zeros(size + 1, dtype=INDEX), np.empty(0, dtype=CODE), None)
    where = np.concatenate([p[0] for p in parts])
    ids = np.concatenate([p[1] for p in parts])
    values = None
    if any(p[2] is not None for p in parts):
        values = np.concatenate([np.ones(len(p[0])) if p[2] is None else p[2] for p in parts])
        values = None if np.all(values == 1.0) else values
    if np.any(where[1:] < where[:-1]):
        order = np.argsort(where, kind="stable")
        where, ids = where[order], ids[order]
        values = None if values is None else values[order]
    ptr = np.zeros(size + 1, dtype=INDEX)
    np.cumsum(np.bincount(places[where], minlength=size), out=ptr[1:])
    return AttributeRows(ptr, ids, values)
