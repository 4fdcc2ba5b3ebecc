"""One short sequence at a time, straight into codes: what `encode` makes of it, without blocks, fields and parts.

A corpus pays for columns of NumPy arrays once; a sentence would pay for them each time. So values are looked up one by
one, into lists that become the arrays of a Dataset. What is out of the ordinary (values of other types, features of
whole sequences, repeated attributes, anything that `encode` refuses or warns of) is left to `encode`: `encode_short`
gives None, and there is no other place that decides it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from hedgerow.data.columns import attribute_name
from hedgerow.data.dataset import OUTSIDE_COLUMN, Dataset, Schema
from hedgerow.data.labels import encode_labels
from hedgerow.legend import CODE, FIRST_VALUE, INDEX, MISSING, OUTSIDE, AnyArray, CodeArray, FloatArray, IndexArray

SHORT = 64  # positions: beyond, `encode` takes no longer

_NUMBERS = (float, int, np.floating, np.integer)
_TEXT = {str}
_Attributes = tuple[IndexArray, CodeArray, FloatArray | None]


class _Blank:
    """What sequences of one length have before any value is in them, and share."""

    def __init__(self, coder: ShortCoder, n: int) -> None:
        gap = coder.gap
        self.n, self.size = n, n + 2 * gap
        self.codes = ([OUTSIDE] * gap + [MISSING] * n + [OUTSIDE] * gap) * coder.n_codes
        self.texts = {name: (look_up, coder.columns[name][1] * self.size) for name, look_up in coder.values.items()}
        self.numbers = [np.nan] * (self.size * coder.n_numbers)
        self.numeric: FloatArray = np.full((coder.n_numbers, self.size), np.nan)
        self.offsets: IndexArray = np.array([0, n], dtype=INDEX)
        self.start: IndexArray = np.array([gap], dtype=INDEX)
        self.no_codes: CodeArray = np.empty((0, 1), dtype=CODE)
        self.no_numbers: FloatArray = np.empty((0, 1))
        self.no_attributes: _Attributes = np.zeros(self.size + 1, dtype=INDEX), np.empty(0, dtype=CODE), None


class ShortCoder:
    """Codes sequences of at most SHORT positions by a schema. Any number of threads may use it.

    columns : of each column of positions its kind, its row of `codes` or `numeric`, and whether NaN is a missing value
        there
    values : of each column of texts what looks one up
    """

    def __init__(self, schema: Schema) -> None:
        self.schema, self.gap = schema, schema.gap
        codes, numbers, *constants = ([c for c in group if c.derived is None] for group in schema.groups())
        self.columns: dict[str, tuple[str, int, bool]] = {}
        self.values: dict[str, Callable[..., Any]] = {}
        for group in (codes, numbers):
            for row, column in enumerate(group):
                if column.vocabulary is not None and column.name != OUTSIDE_COLUMN:
                    self.values[column.name] = column.vocabulary.lookup.get
                loose = bool(np.isnan(column.fill)) or schema.declared_kind(column.name) is not None
                self.columns[column.name] = column.kind, row, loose
        self.columns.pop(OUTSIDE_COLUMN, None)
        self.rows_of = {name: row for name, (kind, row, _) in self.columns.items() if kind == "numeric"}
        self.n_codes, self.n_numbers = len(codes), len(numbers)
        self._numbered = self._lines(list(map(str, range(len(numbers)))))
        self.has_constants = any(map(len, constants))
        self.attributes = schema.attributes.lookup if schema.n_attributes else None
        # All that comes is an attribute, as in a model of CRFsuite.
        self.bare = self.attributes is not None and not self.columns and not schema.declared
        self._blanks: dict[int, _Blank] = {}

    def encode(self, X: Any, y: Any = None) -> Dataset | None:
        """The Dataset of a corpus of one short sequence; None where `encode` has to say what it is."""
        if type(X) not in (list, tuple) or len(X) != 1 or self.has_constants:
            return None
        rows = X[0]
        dataset = None
        if type(rows) is list or type(rows) is tuple:
            if 0 < len(rows) <= SHORT:
                first = type(rows[0])
                if first is dict:
                    dataset = self._texts(rows) if self.bare else None
                    dataset = self._dicts(rows) if dataset is None else dataset
                elif first is str:
                    dataset = self._tokens(rows)
                elif first is list:
                    dataset = self._attribute_lists(rows)
        elif isinstance(rows, np.ndarray):
            dataset = self._matrix(rows, None)
        elif hasattr(rows, "to_numpy") and hasattr(rows, "columns") and len(rows) <= SHORT:
            dataset = self._matrix(rows.to_numpy(), list(rows.columns))
        if dataset is None or y is None:
            return dataset
        labels, allowed = encode_labels(y, dataset.offsets, self.schema.label_codes)
        return replace(dataset, labels=labels, allowed=allowed)

    def _blank(self, n: int) -> _Blank:
        blank = self._blanks.get(n)
        if blank is None:
            blank = self._blanks[n] = _Blank(self, n)
        return blank

    def _dataset(self, blank: _Blank, codes: list[int], numeric: FloatArray, attributes: _Attributes | None) -> Dataset:
        coded: CodeArray = np.frombuffer(array("i", codes), np.intc).astype(CODE, copy=False)
        coded = coded.reshape(self.n_codes, blank.size)
        rest = *(attributes or blank.no_attributes), blank.no_codes, blank.no_numbers
        return Dataset(self.schema, blank.offsets, blank.start, coded, numeric, *rest)

    def _dicts(self, rows: Any) -> Dataset | None:
        blank, size, place = self._blank(len(rows)), len(rows) + 2 * self.gap, self.gap
        codes, numbers, columns, attributes = blank.codes.copy(), None, self.columns, self.attributes
        ids: list[list[int]] = []
        weights: list[list[float]] = []
        kinds: dict[str, type] = {}
        texts, first_value = blank.texts, FIRST_VALUE
        for row in rows:
            if type(row) is not dict:
                return None
            own: list[int] = []
            values: list[float] = []
            for key, value in row.items():
                kind = type(value)
                text = texts.get(key)
                if text is not None and kind is str:  # by far the most frequent
                    code = text[0](value)
                    if code is not None:
                        codes[text[1] + place] = code + first_value
                    continue
                column = columns.get(key)
                if column is not None:
                    wanted, line, loose = column
                    if wanted == "numeric" and isinstance(value, _NUMBERS):
                        number = _finite(value, loose)
                        if number is None:
                            return None
                        numbers = blank.numbers.copy() if numbers is None else numbers
                        numbers[line * size + place] = number
                    elif kind is bool and wanted == "boolean":
                        codes[line * size + place] = FIRST_VALUE + value
                    elif value is not None:
                        return None
                    continue
                if value is None and type(key) is str:
                    continue
                entry = self._attribute(key, value, kinds)
                if entry is None:
                    return None
                own.append(entry[0])
                values.append(entry[1])
            ids.append(own)
            weights.append(values)
            place += 1
        entries = _compressed(ids, weights, self.gap) if attributes is not None else None
        if entries is None and attributes is not None:
            return None
        if (entries is None or not len(entries[1])) and all(map(columns.keys().isdisjoint, rows)):
            return None
        numeric = blank.numeric
        if numbers is not None:
            numeric = np.array(numbers).reshape(self.n_numbers, size)
        return self._dataset(blank, codes, numeric, entries)

    def _texts(self, rows: Any) -> Dataset | None:
        """Dicts of texts by a model without columns, as `_dicts` has them; None for all others."""
        ids: list[list[int]] = []
        look_up = self.schema.attributes.lookup.get
        for row in rows:
            if type(row) is not dict or {*map(type, row), *map(type, row.values())} != _TEXT:
                return None
            ids.append([look_up(f"{key}:{value}", -1) for key, value in row.items()])
        entries = _compressed(ids, None, self.gap)
        if entries is None or not len(entries[1]):
            return None
        blank = self._blank(len(rows))
        return self._dataset(blank, blank.codes, blank.numeric, entries)

    def _attribute(self, key: Any, value: Any, kinds: dict[str, type]) -> tuple[int, float] | None:
        """The attribute that a value of no column is, −1 where it is not known, and its weight. None for what `encode`
        has to look at: among it keys with values of several types, which depend on how rows are read together."""
        kind = float if isinstance(value, _NUMBERS) else type(value)
        if type(key) is not str or kind not in (str, float) or kinds.setdefault(key, kind) is not kind:
            return None
        name, number = (attribute_name(key, value), 1.0) if kind is str else (key, _finite(value, False))
        if number is None or (self.schema.declared and self.schema.declared_kind(key)):
            return None
        return -1 if self.attributes is None else self.attributes.get(name, -1), number

    def _tokens(self, rows: Any) -> Dataset | None:
        if self.columns.keys() != {"token"} or set(map(type, rows)) != {str}:
            return None
        blank = self._blank(len(rows))
        if "token" not in blank.texts:
            return None
        look_up, begin = blank.texts["token"]
        codes, begin, unknown = blank.codes.copy(), begin + self.gap, MISSING - FIRST_VALUE
        codes[begin : begin + blank.n] = [code + FIRST_VALUE for code in map(look_up, rows, repeat(unknown))]
        return self._dataset(blank, codes, blank.numeric, None)

    def _attribute_lists(self, rows: Any) -> Dataset | None:
        if self.attributes is None or set(map(type, rows)) != {list}:
            return None
        if any(set(map(type, row)) != {str} for row in rows):
            return None
        blank, ids = self._blank(len(rows)), [list(map(self.attributes.get, row, repeat(-1))) for row in rows]
        entries = _compressed(ids, None, self.gap)
        return None if entries is None else self._dataset(blank, blank.codes, blank.numeric, entries)

    def _lines(self, names: list[Any]) -> IndexArray | None:
        """The rows of `numeric` that the columns of a matrix have; None where they are not those of the model."""
        lines = [self.rows_of.get(name, -1) for name in names]
        if len(set(names)) != len(names) or len(self.rows_of) != len(self.columns) or len(lines) != len(self.rows_of):
            return None
        return None if -1 in lines else np.array(lines, dtype=INDEX)

    def _matrix(self, rows: AnyArray, names: list[Any] | None) -> Dataset | None:
        """names : of the columns, None where they are numbered"""
        if rows.ndim != 2 or rows.dtype.kind not in "fiu" or not 0 < len(rows) <= SHORT:
            return None
        if isinstance(rows, np.ma.MaskedArray):
            return None
        lines = self._numbered if names is None else self._lines(names)
        if lines is None or rows.shape[1] != self.n_numbers or np.isinf(rows).any():
            return None
        blank = self._blank(len(rows))
        numeric = blank.numeric.copy()
        numeric[lines, self.gap : self.gap + blank.n] = rows.T
        return self._dataset(blank, blank.codes, numeric, None)


def _finite(value: Any, loose: bool) -> float | None:
    """A number as float64; NaN only where that is a missing value, and None for what is refused."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number - number == 0.0 or (loose and number != number) else None


def _compressed(ids: list[list[int]], weights: list[list[float]] | None, gap: int) -> _Attributes | None:
    """`attr_ptr`, `attr_id` and `attr_val` of a Dataset; None where a position has an attribute twice. Without weights
    all are 1."""
    ends: list[int] = [0] * (gap + 1)
    flat: list[int] = []
    values: list[float] = []
    for i, own in enumerate(ids):
        known = {*own}
        known.discard(-1)
        if len(known) + own.count(-1) != len(own):
            return None
        order = sorted(known)
        flat += order
        if weights is not None:
            values += map(dict(zip(own, weights[i])).__getitem__, order)
        ends.append(len(flat))
    ends.extend([len(flat)] * gap)
    val = None if values.count(1.0) == len(values) else np.array(values)
    return np.array(ends, dtype=INDEX), np.array(flat, dtype=CODE), val
