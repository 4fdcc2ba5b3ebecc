"""Dataset: a corpus as frozen arrays. Schema: what its columns mean, learnt once and used at every prediction.

Positions are stored with a gap between sequences that is as wide as the widest window reaches. So the value of a
column at t+o is the column read at padded position t+o, for every offset o of its window: no window is ever copied,
and a place outside the sequence holds the code OUTSIDE.

Numbers and attributes have nothing to hold there. Where one of them has a window, the schema therefore gets one more
categorical column, OUTSIDE_COLUMN, without values: MISSING inside a sequence and OUTSIDE in the gaps, read at those
offsets. So the start and the end of a sequence are values of their own for every kind of feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow.data.sequences import Kind
from hedgerow.errors import InputError, among, placed
from hedgerow.legend import (
    FIRST_VALUE,
    INDEX,
    OUTSIDE,
    UNLABELLED,
    AnyArray,
    BoolArray,
    CodeArray,
    FloatArray,
    IndexArray,
)

Label = str | int
Window = int | tuple[int, int] | Mapping[str, int | tuple[int, int]]

Run = slice | IndexArray

OUTSIDE_COLUMN = "(outside)"


class Vocabulary:
    """Distinct strings in a fixed order, which cost their bytes; a dict is there only while somebody looks up.

    utf8 : uint8[bytes]; ends : int64[V], string i ends at ends[i]
    """

    def __init__(self, names: Sequence[str]) -> None:
        joined = "".join(names)
        data = joined.encode("utf-8", "surrogatepass")
        if len(data) == len(joined):  # all ASCII: characters are bytes
            sizes = np.fromiter(map(len, names), dtype=INDEX, count=len(names))
        else:
            encoded = (len(name.encode("utf-8", "surrogatepass")) for name in names)
            sizes = np.fromiter(encoded, dtype=INDEX, count=len(names))
        self.utf8: npt.NDArray[np.uint8] = np.frombuffer(data, dtype=np.uint8)
        self.ends: IndexArray = np.cumsum(sizes, dtype=INDEX)
        self._lookup: dict[str, int] | None = None

    @classmethod
    def from_arrays(cls, utf8: npt.NDArray[np.uint8], ends: IndexArray) -> Vocabulary:
        """The vocabulary that these two arrays hold; ValueError where they do not fit together."""
        made = cls.__new__(cls)
        made.utf8, made.ends, made._lookup = utf8, ends, None
        fits = (ends[-1] if len(ends) else 0) == len(utf8) and np.all(ends >= 0)
        if not fits or np.any(ends[1:] < ends[:-1]):  # differences could wrap
            raise ValueError("the offsets of a vocabulary do not fit its text")
        made.names()
        return made

    def extended(self, names: Sequence[str]) -> Vocabulary:
        """This vocabulary and more strings, none of which it has. The lookup is handed on, not built again."""
        made = Vocabulary(names)
        made._lookup = self.lookup.copy()
        made._lookup.update(zip(names, range(len(self), len(self) + len(names))))
        before = int(self.ends[-1]) if len(self) else 0
        made.utf8 = np.concatenate([self.utf8, made.utf8])
        made.ends = np.concatenate([self.ends, made.ends + before])
        return made

    def __len__(self) -> int:
        return len(self.ends)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.utf8, other.utf8) and np.array_equal(self.ends, other.ends)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} strings)"

    def __getstate__(self) -> dict[str, object]:
        return {"utf8": self.utf8, "ends": self.ends, "_lookup": None}

    def names(self) -> list[str]:
        """All strings, in order."""
        text = self.utf8.tobytes()
        ends = self.ends.tolist()
        if text.isascii():
            whole = text.decode("ascii")
            return [whole[begin:end] for begin, end in zip([0, *ends], ends)]
        return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends)]

    def name(self, i: int) -> str:
        """One of them."""
        return self.utf8[self.ends[i - 1] if i else 0 : self.ends[i]].tobytes().decode("utf-8", "surrogatepass")

    @property
    def lookup(self) -> dict[str, int]:
        """String to place in the order. Built at the first use and kept; never pickled."""
        if self._lookup is None:
            self._lookup = {name: i for i, name in enumerate(self.names())}
        return self._lookup


class Derived(NamedTuple):
    """What a derived column is: a function of `data/derived.py`, how far it reaches back, and the column it is of."""

    function: str
    span: int
    source: str

    @property
    def feature(self) -> str:
        return f"{self.function}({self.span})"


@dataclass(frozen=True, eq=False)
class Column:
    """One single-valued feature.

    `offsets` are the places of its window, in order. `fill` is what an absent number means: 0 for a CRFsuite-style
    weight, NaN (missing) for a declared column. `constant` columns have one value per sequence. `center` and
    `spread` are the mean and the standard deviation of a numeric column whose numbers are measurements (declared,
    or from an array or a frame), for models that want them standardised; 0 and 1 for a CRFsuite-style weight.
    `derived` says what a column is that no Dataset stores; None for all others.
    """

    name: str
    kind: Kind
    offsets: tuple[int, ...] = (0,)
    vocabulary: Vocabulary | None = None
    fill: float = 0.0
    constant: bool = False
    center: float = 0.0
    spread: float = 1.0
    derived: Derived | None = None
    n_codes: int = field(init=False)  # in use, MISSING and OUTSIDE among them

    def __post_init__(self) -> None:
        n_values = 0 if self.vocabulary is None else len(self.vocabulary)
        object.__setattr__(self, "n_codes", FIRST_VALUE + (2 if self.kind == "boolean" else n_values))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        fills = self.fill == other.fill or (np.isnan(self.fill) and np.isnan(other.fill))
        return bool(fills) and all(
            getattr(self, name) == getattr(other, name)
            for name in ("name", "kind", "offsets", "vocabulary", "constant", "center", "spread", "derived")
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Schema:
    """Columns in their stored order, the attribute vocabulary, and the labels.

    `declared` is what the user said of the columns ("*" for all others); `window` is what the offsets were made from,
    kept for the reader; `gap` is how far the widest window reaches,
    and `classes` are the labels as an array: of str where all are str, of int where all are int, of bool where all are.
    """

    columns: tuple[Column, ...]
    attributes: Vocabulary
    attribute_offsets: tuple[int, ...]
    labels: tuple[Label, ...]
    window: Any = field(default=0, compare=False)
    declared: Mapping[str, Kind] = field(default_factory=dict)
    gap: int = field(init=False, compare=False)
    n_attributes: int = field(init=False, compare=False)
    classes: AnyArray = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        every = [o for column in self.columns for o in column.offsets] + list(self.attribute_offsets)
        object.__setattr__(self, "gap", max((abs(o) for o in every), default=0))
        object.__setattr__(self, "n_attributes", len(self.attributes))
        whole = all(isinstance(label, int) and not isinstance(label, bool) for label in self.labels)
        kind = np.int64 if whole else None  # flags and texts find their own
        object.__setattr__(self, "classes", np.array(self.labels, dtype=kind))

    def of(self, *kinds: Kind, constant: bool = False) -> list[Column]:
        """The columns of these kinds, in stored order: row i of `codes` or `numeric` belongs to entry i that is not
        derived. The list is made once, for very many columns may ask for it, and is not to be changed."""
        kept: list[Column] | None = self._kept.get((kinds, constant))
        if kept is None:
            kept = self._kept[kinds, constant] = [c for c in self.columns if c.kind in kinds and c.constant == constant]
        return kept

    @cached_property
    def _kept(self) -> dict[tuple[tuple[Kind, ...], bool], list[Column]]:
        return {}

    @property
    def features(self) -> tuple[str, ...]:
        """What is derived of the numeric columns."""
        return tuple(dict.fromkeys(column.derived.feature for column in self.columns if column.derived is not None))

    def groups(self) -> list[list[Column]]:
        """The columns of the rows of `codes`, of `numeric`, of `seq_codes` and of `seq_numeric`, and derived ones."""
        kinds: tuple[tuple[Kind, ...], ...] = ("categorical", "boolean"), ("numeric",)
        return [self.of(*some, constant=constant) for constant in (False, True) for some in kinds]

    @cached_property
    def number_rows(self) -> dict[str, tuple[Column, int]]:
        """The columns of the rows of `numeric`, by name, each with its row."""
        stored = [column for column in self.of("numeric") if column.derived is None]
        return {column.name: (column, d) for d, column in enumerate(stored)}

    def declared_kind(self, name: str) -> Kind | None:
        """The kind that the user gave a column, by name or by "*"; None where it is told from the values."""
        return self.declared.get(name, self.declared.get("*"))

    @cached_property
    def label_codes(self) -> dict[Label, int]:
        return {label: k for k, label in enumerate(self.labels)}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A corpus that a scorer can read: S sequences of N positions, K labels. All arrays are C-contiguous and read-only.
    P = N + gap·(S+1).

    offsets      int64[S+1]     flat positions of the sequences
    start        int64[S]       padded place of each sequence's first position
    codes        int32[C, P]    categorical and boolean columns: MISSING, OUTSIDE, then the values
    numeric      float[D, P]    numeric columns but derived ones, float32 where all were given so; NaN where there is
                                none (and between sequences): it means `fill`
    attr_ptr     int64[P+1]     attributes of padded position p: attr_id[attr_ptr[p]:attr_ptr[p+1]]
    attr_id      int32[nnz]
    attr_val     float64[nnz], or None where every value is 1
    seq_codes    int32[C', S]   constant categorical and boolean columns
    seq_numeric  float64[D', S] constant numeric columns
    labels       int32[N], UNLABELLED where not known; None in a corpus without labels
    allowed      bool[N, K]     labels that a position may take, or None where no position has a set
    weight_seq   float64[S], or None
    """

    schema: Schema
    offsets: IndexArray
    start: IndexArray
    codes: CodeArray
    numeric: FloatArray
    attr_ptr: IndexArray
    attr_id: CodeArray
    attr_val: FloatArray | None
    seq_codes: CodeArray
    seq_numeric: FloatArray
    labels: CodeArray | None = None
    allowed: BoolArray | None = None
    weight_seq: FloatArray | None = None
    n_sequences: int = field(init=False)
    n_positions: int = field(init=False)
    n_labels: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_sequences", len(self.start))
        object.__setattr__(self, "n_positions", int(self.offsets[-1]))
        object.__setattr__(self, "n_labels", len(self.schema.labels))
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __len__(self) -> int:
        return self.n_sequences

    def __repr__(self) -> str:
        return f"Dataset({self.n_sequences} sequences, {self.n_positions} positions)"

    def equals(self, other: Dataset) -> bool:
        """Same schema, same arrays, to the bit."""
        names = [one.name for one in fields(self) if one.init and one.name != "schema"]
        return self.schema == other.schema and all(_same(getattr(self, n), getattr(other, n)) for n in names)

    def stored(self, *arrays: AnyArray) -> Iterator[tuple[Column, AnyArray, IndexArray]]:
        """Each column with its row, and the places of the row that hold values. Rows are those of `codes`, `numeric`,
        `seq_codes` and `seq_numeric`, or of four arrays in their place."""
        own: tuple[AnyArray, ...] = (self.codes, self.numeric, self.seq_codes, self.seq_numeric)
        _, places, _ = padded_places(self.offsets, self.schema.gap)
        everywhere: IndexArray = np.arange(self.n_sequences)
        for columns, rows in zip(self.schema.groups(), arrays or own):
            for column, row in zip((column for column in columns if column.derived is None), rows):
                yield column, row, everywhere if column.constant else places

    def spread_weights(self) -> FloatArray | None:
        """The weight of each position, (N,), for statistics of columns; None where all sequences count the same."""
        weights = self.weight_seq
        if weights is None or not len(weights) or (weights == weights[0]).all():
            return None
        return np.repeat(weights, np.diff(self.offsets))

    def take(self, sequences: IndexArray) -> Dataset:
        """Some sequences, by number, as a corpus of their own; all of them are this one."""
        if np.array_equal(sequences, np.arange(self.n_sequences)):
            return self
        return self.cut(sequences, np.zeros(len(sequences), dtype=INDEX), np.diff(self.offsets)[sequences])

    def cut(self, sequences: IndexArray, first: IndexArray, lengths: IndexArray) -> Dataset:
        """Pieces of sequences as a corpus of its own. What lies beyond a piece is outside.

        sequences, first, lengths : int64 (n,), of each piece its sequence, its first position in it and its length
        """
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
        start, places, size = padded_places(offsets, self.schema.gap)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, lengths)
        old = np.repeat(self.start[sequences], lengths) + within
        rows = np.repeat(self.offsets[:-1][sequences], lengths) + within
        codes = np.full((len(self.codes), size), OUTSIDE, dtype=self.codes.dtype)
        numeric = np.full((len(self.numeric), size), np.nan, dtype=self.numeric.dtype)
        codes[:, places], numeric[:, places] = self.codes[:, old], self.numeric[:, old]
        n_own = np.zeros(size, dtype=INDEX)
        n_own[places] = np.diff(self.attr_ptr)[old]
        attr_ptr = np.concatenate([[0], np.cumsum(n_own)]).astype(INDEX)
        entries = np.repeat(self.attr_ptr[:-1][old] - attr_ptr[:-1][places], n_own[places]) + np.arange(attr_ptr[-1])
        return replace(
            self,
            offsets=offsets,
            start=start,
            codes=codes,
            numeric=numeric,
            attr_ptr=attr_ptr,
            attr_id=self.attr_id[entries],
            attr_val=None if self.attr_val is None else self.attr_val[entries],
            seq_codes=np.ascontiguousarray(self.seq_codes[:, sequences]),
            seq_numeric=np.ascontiguousarray(self.seq_numeric[:, sequences]),
            labels=None if self.labels is None else self.labels[rows],
            allowed=None if self.allowed is None else self.allowed[rows],
            weight_seq=None if self.weight_seq is None else self.weight_seq[sequences],
        )

    def require_labels(self, purpose: str) -> CodeArray:
        """The labels, where every position has one; otherwise an error that names the first that has none."""
        if self.labels is None:
            raise InputError(f"{purpose} needs the true labels")
        unknown = np.flatnonzero(self.labels == UNLABELLED)
        if len(unknown):
            raise among(InputError(f"{purpose} needs a label here"), self.offsets, int(unknown[0]))
        return self.labels

    def require_numbers(self) -> None:
        """Refuse missing numbers: a linear score has no value for them. An absent one that means 0 adds nothing."""
        if self.n_sequences == 1 and not len(self.seq_numeric):  # what follows costs more than its labels do
            inside = self.numeric[:, self.schema.gap : self.schema.gap + self.n_positions]
            if not len(inside) or not np.isnan(inside).any():
                return
        for column, row, where in self.stored():
            if column.kind == "numeric" and np.isnan(column.fill) and np.isnan(row[where]).any():
                place = int(np.argmax(np.isnan(row[where])))
                hint = "Let the model fill it in: ⟦missing='impute'⟧, or 'indicator', which adds a flag that says so."
                what = "a number is missing, and a linear model has no score for that"
                error = InputError(what, hint=hint, column=column.name)
                raise placed(error, sequence=place) if column.constant else among(error, self.offsets, place)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        numbers = a.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=numbers)
    return a is None and b is None


def locate(offsets: IndexArray, flat: int) -> tuple[int, int]:
    """The sequence and the position in it of a flat position."""
    sequence = int(np.searchsorted(offsets, flat, side="right")) - 1
    return sequence, flat - int(offsets[sequence])


def run_of(places: IndexArray) -> Run:
    """The same places, as a slice where each follows the one before: numbers are copied five times as fast by it."""
    n = len(places)
    if n and places[-1] - places[0] == n - 1 and (places[1:] - places[:-1] == 1).all():
        return slice(int(places[0]), int(places[0]) + n)
    return places


def padded_places(offsets: IndexArray, gap: int) -> tuple[IndexArray, IndexArray, int]:
    """Padded start of each sequence, padded place of each flat position, and the padded size."""
    n_sequences = len(offsets) - 1
    shift = gap * np.arange(1, n_sequences + 1, dtype=INDEX)
    start = offsets[:-1] + shift
    places = np.arange(offsets[-1], dtype=INDEX)
    if gap:
        places += np.repeat(shift, np.diff(offsets))
    return start, places, int(offsets[-1]) + gap * (n_sequences + 1)
