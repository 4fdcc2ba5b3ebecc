"""What the splits of a model's trees read, and which bins they let through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column
from hedgerow.data.imputation import seen_schema
from hedgerow.errors import InputError, shown
from hedgerow.explain import fields
from hedgerow.explain.fields import PREVIOUS, START, Attribute, Choice, Field, Number, Value
from hedgerow.legend import FIRST_VALUE, MISSING, OUTSIDE
from hedgerow.trees.binning import ATTRIBUTES
from hedgerow.trees.nodes import (
    AT_MOST_OR_SPECIAL,
    BIN,
    CODES,
    COLUMN,
    EQUAL,
    HAS,
    ITEMS,
    LABEL,
    MISSING_BIN,
    N_BINS,
    OFFSET,
    ORDERED,
    RULE,
    STREAM,
    SUBSET,
)

_SPECIAL = [fields.MISSING_VALUE, fields.OUTSIDE_VALUE]  # by their codes
_FLAGS = [Value("false", alone=True), Value("true", alone=True)]


class Input(NamedTuple):
    """What a split reads: a stream of the binning, and in the stream of attributes which one (−1 elsewhere)."""

    stream: int
    attribute: int = -1


class Splits:
    """The splits of one model's trees.

    Parameters
    ----------
    model : any object with schema_, classes_, binning_ and ensemble_, as a fitted TreeCRF has them
    most : the most values of a set to write out in a text
    """

    def __init__(self, model: Any, most: int = 6) -> None:
        require_trees(model)
        self.binning = model.binning_
        self.schema = seen_schema(model)
        order = getattr(model, "order_", 1)  # trees of joint edges tell histories apart from order 2 on
        joint = order > 1 and model.edge_tables_ is None
        self._histories = HistoryTable.full(len(model.schema_.labels), order) if joint else None
        self._gaps = getattr(model.ensemble_, "shares", None) is not None
        self._most = most
        columns = {column.name: column for column in self.schema.columns}
        self._columns: list[Column | None] = [columns.get(name) for name in self.binning.names]
        self._fields: dict[Input, Field] = {}
        self._attribute_names: list[str] | None = None
        self._used = self._used_codes(model.ensemble_.nodes)

    def _used_codes(self, nodes: Any) -> dict[int, dict[int, int]]:
        """Of the columns of very many codes: the codes that some split asks for, or that have a bin, each with its bin.
        No condition can tell the others apart, so that they share one bin, the last."""
        has = nodes[(nodes[:, STREAM] >= 0) & (nodes[:, RULE] == HAS)]
        used = {}
        for c, (name, kind) in enumerate(zip(self.binning.names, self.binning.kinds)):
            if kind == ITEMS and name != ATTRIBUTES:
                items = np.unique(has[self.binning.streams[COLUMN, has[:, STREAM]] == c, BIN])
                used[c] = {code: b for b, code in enumerate(self.binning.item_source[c][items].tolist())}
            elif kind == CODES and self.binning.item_source[c] is not None:
                used[c] = {code: b for b, code in enumerate(self.binning.item_source[c].tolist())}
        return used

    def read(self, node: Sequence[int]) -> Input:
        """What a split reads. node: stream, bin, rule, …"""
        stream, b, rule = node[:3]
        c = self._column(stream)
        return Input(stream, self._source(c, b) if rule == HAS and c not in self._used else -1)

    def ask(self, node: Sequence[int], sets: Any) -> tuple[Input, int]:
        """What a split reads, and the bins of its true side. `sets` are those of its tree."""
        stream, b, rule = node[:3]
        read = self.read(node)
        if rule == HAS:
            c = self._column(stream)
            if c in self._used:
                return read, 1 << self._used[c][self._source(c, b)]
            items = self._items(c, read.attribute)
            return read, (2 << len(items)) - (2 << items.index(b))  # the items: it is there, exceeds c, exceeds c', …
        if rule == SUBSET:
            packed = np.packbits(sets[b] != 0, bitorder="little").tobytes()
            return read, int.from_bytes(packed, "little") & self.field(read).possible
        if rule == EQUAL:
            return read, 1 << b
        special = 0b11 << (self._n_bins(stream) - 2) if rule == AT_MOST_OR_SPECIAL else 0
        return read, (2 << b) - 1 | special

    def without_value(self, tree: Any, i: int) -> tuple[str, ...]:
        """What tells the way of rows that have no value for split i of a tree, one after the other; nothing where that
        cannot be, or is a value."""
        stream = tree.nodes[i, 0]
        if tree.shares is None or stream == LABEL or self.binning.streams[MISSING_BIN, stream] < 0:
            return ()
        share, stand_ins = float(tree.shares[i]), tree.surrogates[:, 0] == i
        if 0.0 < share < 1.0:
            return (f"{share:.1%} yes",)
        surrogates = zip(tree.surrogates[stand_ins, 1], tree.surrogate_sets[stand_ins])
        return *(f"as {self._surrogate(int(s), way)}" for s, way in surrogates), "yes" if share == 1.0 else "no"

    def _surrogate(self, stream: int, way: Any) -> str:
        """A surrogate as a condition. Of the previous label it knows whether there is one."""
        bins = int.from_bytes(way.tobytes(), "little")
        if stream == LABEL:
            start = 1 << len(self.schema.labels)
            bins = start if bins & 2 else start - 1
        return self.text(Input(stream), bins)

    def column(self, read: Input) -> str:
        """The name of what is read: a column, an attribute, or the previous label."""
        if read.stream == LABEL:
            return PREVIOUS
        if read.attribute < 0:
            return str(self.binning.names[self._column(read.stream)])
        if self._attribute_names is None:
            self._attribute_names = self.schema.attributes.names()
        return self._attribute_names[read.attribute]

    def offset(self, read: Input) -> int | None:
        """The window offset that is read; None for the previous label."""
        return None if read.stream == LABEL else int(self.binning.streams[OFFSET, read.stream])

    def field(self, read: Input) -> Field:
        """The possible bins of what is read, and how to say what it has to be."""
        if read not in self._fields:
            self._fields[read] = self._make_field(read)
        return self._fields[read]

    def text(self, read: Input, bins: int) -> str:
        """What it means that an input is in one of these bins: "length[0] <= 3.5"."""
        return self.field(read).text(bins)

    def _make_field(self, read: Input) -> Field:
        """Nothing is outside at offset 0. Nothing is missing where an absent number means one, nor where trees take a
        missing value for none: their conditions are about values."""
        if read.stream == LABEL and self._histories is not None:
            histories = [Value(self._histories.name(h, self.schema.labels)) for h in range(self._histories.n_histories)]
            return Choice(f"{PREVIOUS}s", histories, (1 << len(histories)) - 1, self._most)
        if read.stream == LABEL:
            labels = [*(Value(str(label)) for label in self.schema.labels), Value(START)]
            return Choice(PREVIOUS, labels, (1 << len(labels)) - 1, self._most)
        offset = self.offset(read)
        place = f"{offset:+d}" if offset else "0"
        c = self._column(read.stream)
        if read.attribute >= 0:
            cuts = [float(self.binning.item_cut[c][item]) for item in self._items(c, read.attribute)[1:]]
            return Attribute(self.column(read), place, cuts)
        column = self._columns[c]
        assert column is not None
        name = column.name if column.constant else f"{column.name}[{place}]"
        if self.binning.kinds[c] == ORDERED:
            n_bins = self._n_bins(read.stream)
            missing_never = self._gaps or not np.isnan(column.fill)
            barred = [b for b, never in ((n_bins - 2, missing_never), (n_bins - 1, offset == 0)) if never]
            return Number(name, self.binning.thresholds[c].tolist(), _all_but(n_bins, barred))
        if column.name == OUTSIDE_COLUMN:
            return Choice(f"position[{place}]", [Value("inside", alone=True), _SPECIAL[OUTSIDE]], 0b11, self._most)
        return self._choice(name, column, self._used.get(c), outside=offset != 0)

    def _choice(self, name: str, column: Column, used: dict[int, int] | None, *, outside: bool) -> Choice:
        """A column of codes. Where very many are possible, all that no split asks for are the last bin."""
        texts = None if column.vocabulary is None else column.vocabulary.names()

        def write(code: int) -> Value:
            if code < FIRST_VALUE:
                return _SPECIAL[code]
            return _FLAGS[code - FIRST_VALUE] if texts is None else Value(texts[code - FIRST_VALUE])

        codes = range(column.n_codes) if used is None else list(used)
        rest = [] if used is None else [None]
        special = ((OUTSIDE, outside), (MISSING, not self._gaps))
        never = [codes.index(code) for code, possible in special if not possible and code in codes]
        return Choice(name, [*map(write, codes), *rest], _all_but(len(codes) + len(rest), never), self._most)

    def _column(self, stream: int) -> int:
        return int(self.binning.streams[COLUMN, stream])

    def _n_bins(self, stream: int) -> int:
        return int(self.binning.streams[N_BINS, stream])

    def _source(self, c: int, item: int) -> int:
        """The code or attribute behind an item."""
        return int(self.binning.item_source[c][item])

    def _items(self, c: int, source: int) -> range:
        """The items that one code or attribute stands for."""
        low, high = np.searchsorted(self.binning.item_source[c], [source, source + 1]).tolist()
        return range(low, high)


def _all_but(n_bins: int, never: Sequence[int]) -> int:
    return (1 << n_bins) - 1 - sum(1 << b for b in never)


def has_newton_leaves(model: Any) -> bool:
    """Whether the rows of a tree count as much as their curvature."""
    from hedgerow.models.crf.tree import TreeCRF  # which is heavy, and loaded where there is a model
    from hedgerow.models.crf.tree_form import make_form

    return isinstance(model, TreeCRF) and make_form(model, model.edges_, stopped=False).leaves == "newton"


def explained(model: Any) -> Any:
    """The model that is explained: of a search over models (AutoLabeler, or one of scikit-learn's) the best."""
    return getattr(model, "best_estimator_", model)


def require_trees(model: Any) -> None:
    """Refuse a model that is not fitted, or has no trees."""
    if not hasattr(model, "schema_"):
        raise InputError("the model is not fitted", hint="Call fit, or load a fitted one.")
    if not hasattr(model, "ensemble_"):
        raise InputError(f"{type(model).__name__} has no trees", hint="Trees are what TreeCRF learns.")


def note_of_gaps(model: Any) -> str:
    """What conditions do not say of a model in whose trees a missing value is none; "" of all others."""
    if getattr(model.ensemble_, "shares", None) is None:
        return ""
    surrogates = len(model.ensemble_.surrogates) > 0
    way = "what surrogate splits, or else the larger side, tell" if surrogates else "the mean of both sides, by shares"
    return f"Where a value is missing, its conditions neither hold nor fail: what counts is {way}."


def label_code(model: Any, label: Any) -> int:
    """The number of a label, or an error that names those there are."""
    labels = model.schema_.labels
    if label not in labels:
        raise InputError(f"the label {label!r} is not one of those seen in training", hint=f"Known: {shown(labels)}.")
    return int(labels.index(label))
