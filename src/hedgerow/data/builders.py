"""Columns under construction: what one pass over a corpus gathers, before the kinds are settled."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.rows import Field
from hedgerow.data.sequences import Kind
from hedgerow.data.values import Locate, Values, changed_type, read_values
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.legend import CODE, FIRST_VALUE, INDEX, MISSING, AnyArray, CodeArray, FloatArray, IndexArray

NUMBER_KINDS = ("numeric", "boolean")


def growing_vocabulary() -> defaultdict[str, int]:
    """A dict that gives the next number to each string it has not seen."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def growing_codes(vocabulary: defaultdict[str, int], texts: list[str]) -> CodeArray:
    return np.fromiter(map(vocabulary.__getitem__, texts), dtype=CODE, count=len(texts))


class ColumnBuilder:
    """The values of one key so far: positions, and codes or numbers, in parts.

    A kind that is declared holds from the start, but "attributes": such a key may hold a str, a number or a list, and
    always ends among the attributes. `typed` says that the key was declared or came with a dtype: it stays a column
    however rare it is, and an absent number is missing and not 0.
    """

    def __init__(self, name: str, declared: Kind | None = None) -> None:
        self.name = name
        self.declared = declared
        self.kind: Kind | None = None if declared == "attributes" else declared
        self.typed = declared is not None
        self.n_values = 0
        self.vocabulary: defaultdict[str, int] = growing_vocabulary()
        self.parts: list[tuple[IndexArray, Any]] = []

    def read(self, field: Field, where: IndexArray, locate: Locate) -> None:
        """Add the values of a field."""
        self.typed |= field.kind is not None
        values = read_values(
            field,
            where,
            locate,
            declared=None if self.declared == "attributes" else self.declared,
            known=None if self.kind == "boolean" else self.kind,  # a flag may turn into a number
            nan_is_missing=self.declared is not None,
        )
        if values is not None:
            self.add(values, locate)

    def add(self, values: Values, locate: Locate) -> None:
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

    def write(self, out: AnyArray, places: IndexArray) -> Vocabulary | None:
        """Write the codes or numbers into `out` and forget them; return the vocabulary of a categorical column."""
        for where, values in self.parts:
            if self.kind == "boolean":
                out[places[where]] = flag_codes(values)
            else:
                out[places[where]] = values + FIRST_VALUE if self.kind == "categorical" else values
        self.parts.clear()
        if self.kind != "categorical":
            return None
        names = list(self.vocabulary)
        self.vocabulary.clear()
        order, rank = first_appearance(out, len(names))
        np.copyto(out, rank[out])
        return Vocabulary([names[i] for i in order])

    def to_attributes(self, attributes: AttributeBuilder) -> None:
        """Hand the values over as attributes, named as python-crfsuite does: key:text, or key."""
        if not self.parts:
            return
        where, found = (np.concatenate(arrays) for arrays in zip(*self.parts))
        self.parts.clear()
        if self.kind in NUMBER_KINDS:
            kept = np.flatnonzero(found == found)
            attributes.add_coded(where[kept], np.zeros(len(kept), dtype=CODE), [self.name], found[kept])
        else:
            names = [attribute_name(self.name, text) for text in self.vocabulary]
            attributes.add_coded(where, found, names, None)


def attribute_name(key: str, text: str) -> str:
    """The name of the value of a category, or of an item of a list."""
    return f"{key}:{text}"


def flag_codes(numbers: FloatArray) -> CodeArray:
    """Codes of flags: MISSING for NaN, then false, then true."""
    return np.where(np.isnan(numbers), MISSING, (numbers != 0) + FIRST_VALUE).astype(CODE)


def first_appearance(codes: CodeArray, n_values: int) -> tuple[IndexArray, CodeArray]:
    """The values that occur, in order of their first place in `codes`, and the map from old codes to new ones."""
    first = np.full(n_values + FIRST_VALUE, len(codes), dtype=INDEX)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    order = np.argsort(first[FIRST_VALUE:], kind="stable")
    order = order[: np.count_nonzero(first[FIRST_VALUE:] < len(codes))]
    rank = np.arange(n_values + FIRST_VALUE, dtype=CODE)
    rank[FIRST_VALUE + order] = np.arange(FIRST_VALUE, len(order) + FIRST_VALUE, dtype=CODE)
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

    @property
    def n_entries(self) -> int:
        return sum(len(where) for where, _, _ in self.parts)

    def rows(self, places: IndexArray, size: int) -> tuple[AttributeRows, Vocabulary]:
        """CSR by padded position, and the vocabulary in order of first appearance."""
        where, ids, values = _by_position(self.parts)
        self.parts.clear()
        names = list(self.vocabulary)
        codes = ids + CODE(FIRST_VALUE)
        order, rank = first_appearance(codes, len(names))
        ids = rank[codes] - CODE(FIRST_VALUE)
        return attribute_rows([(where, ids, values)], places, size), Vocabulary([names[i] for i in order])


class AttributeRows(NamedTuple):
    """Attributes by padded position: ids[ptr[p]:ptr[p+1]] and their values (None: all 1)."""

    ptr: IndexArray
    ids: CodeArray
    values: FloatArray | None


def attribute_rows(
    parts: list[tuple[IndexArray, CodeArray, FloatArray | None]], places: IndexArray, size: int
) -> AttributeRows:
    """Sort (position, attribute, weight) triples by position, and by attribute within a position.

    The second makes the rows independent of the order in which the keys of a dict stand.
    """
    where, ids, values = _by_position(parts)
    key = where * (int(ids.max(initial=0)) + 1) + ids
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        ids = ids[order]  # `where` is sorted already
        values = None if values is None else values[order]
    ptr = np.zeros(size + 1, dtype=INDEX)
    np.cumsum(np.bincount(places[where], minlength=size), out=ptr[1:])
    return AttributeRows(ptr, ids, values)


def _by_position(
    parts: list[tuple[IndexArray, CodeArray, FloatArray | None]],
) -> tuple[IndexArray, CodeArray, FloatArray | None]:
    """The triples of all parts, sorted by position; those of one position keep their order."""
    where = np.concatenate([np.empty(0, dtype=INDEX), *(p[0] for p in parts)])
    ids = np.concatenate([np.empty(0, dtype=CODE), *(p[1] for p in parts)])
    values: FloatArray | None = None
    if any(p[2] is not None for p in parts):
        values = np.concatenate([np.ones(len(p[0])) if p[2] is None else p[2] for p in parts])
        values = None if np.all(values == 1.0) else values
    if np.any(where[1:] < where[:-1]):
        order = np.argsort(where, kind="stable")
        where, ids = where[order], ids[order]
        values = None if values is None else values[order]
    return where, ids, values
