"""Which features a model leans on: per column and window offset, and for the previous label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Schema
from hedgerow.data.imputation import seen_schema
from hedgerow.errors import InputError, plain
from hedgerow.explain.fields import PREVIOUS
from hedgerow.explain.splits import Splits, explained, require_trees
from hedgerow.legend import FloatArray
from hedgerow.linear.index import stream_columns
from hedgerow.trees.nodes import HAS, LEAF, RULE, STREAM

_SHOWN = 20  # rows of a table that is printed

_Key = tuple[str, int | None]


class Share(NamedTuple):
    """One feature. `offset` is its place in the window, None for the previous label and in totals of columns;
    `value` is its gain, use or weight, `share` that value as a part of the whole."""

    column: str
    offset: int | None
    value: float
    share: float


@dataclass(frozen=True, repr=False)
class Importance:
    """What `importance` returns: `rows`, the most important first. `pandas.DataFrame(found.rows)` makes a table."""

    by: str
    rows: tuple[Share, ...]

    @property
    def columns(self) -> tuple[Share, ...]:
        """The totals of the columns over their windows, the most important first."""
        totals: dict[_Key, float] = defaultdict(float)
        for row in self.rows:
            totals[row.column, None] += row.value
        return _ranked(totals)

    def share(self, column: str, offset: int | None = None) -> float:
        """The share of a column at one offset, or at all offsets together; 0 where it is not used."""
        return sum(row.share for row in self.rows if row.column == column and offset in (None, row.offset))

    def table(self, top: int = _SHOWN) -> str:
        """The first rows as text."""
        lines = [f"  {row.share:6.1%}  {_name(row)}" for row in self.rows[:top]]
        rest = [f"  and {len(self.rows) - top} more"] if len(self.rows) > top else []
        return "\n".join([f"importance by {self.by}", *lines, *rest])

    def __repr__(self) -> str:
        return self.table()


def importance(model: Any, by: str | None = None) -> Importance:
    """How much of a model rests on each feature.

    Parameters
    ----------
    model : a fitted TreeCRF, or any object with its schema_, binning_ and ensemble_; or a fitted LinearCRF. Of an
        AutoLabeler its best model is meant
    by : "gain" (how much the splits on a feature lessened the squared error; the default for trees) or "use" (how many
        splits ask for it); for a LinearCRF "weight", the sum of |w|

    An attribute of a sparse position is a feature of its own, by its name. A table of transitions that is no part of
    the trees, as with edges="shared", is not counted, nor is a linear model that the trees stand on, nor are surrogate
    splits.
    """
    model = explained(model)
    linear = hasattr(model, "weights_")
    choices = ("weight",) if linear else ("gain", "use")
    by = choices[0] if by is None else by
    if not linear:
        require_trees(model)
    if by not in choices:
        hint = f"For {type(model).__name__} choose {' or '.join(map(repr, choices))}."
        raise InputError(f"⟦by⟧ is {by!r}", hint=hint)
    totals: dict[_Key, float] = defaultdict(float)
    for key, value in _of_weights(model) if linear else _of_splits(model, by):
        totals[key] += value
    return Importance(by, _ranked(totals))


def _ranked(totals: dict[_Key, float]) -> tuple[Share, ...]:
    """Shares of the whole, the largest first; those of 0 are left out."""
    whole = sum(totals.values())
    rows = [Share(*key, value, value / whole) for key, value in totals.items() if value > 0]
    return tuple(sorted(rows, key=lambda row: -row.value))


def _name(row: Share) -> str:
    name = plain(row.column)
    return name if row.offset is None else f"{name}[{row.offset or 0:{'+' if row.offset else ''}d}]"


def _of_splits(model: Any, by: str) -> Iterator[tuple[_Key, float]]:
    """Gain or number of the splits of each input, in the order of streams."""
    ensemble, splits = model.ensemble_, Splits(model)
    is_split = ensemble.nodes[:, STREAM] != LEAF
    nodes = ensemble.nodes[is_split]
    values = ensemble.gains[is_split] if by == "gain" else np.ones(len(nodes))
    items = np.where(nodes[:, RULE] == HAS, nodes[:, 1], -1)
    kinds, which = np.unique(np.stack([nodes[:, STREAM], items, nodes[:, RULE]], axis=1), axis=0, return_inverse=True)
    sums = np.bincount(which.ravel(), weights=values, minlength=len(kinds))
    for node, value in zip(kinds.tolist(), sums.tolist()):
        read = splits.read(node)
        yield (splits.column(read), splits.offset(read)), value


def _of_weights(model: Any) -> Iterator[tuple[_Key, float]]:
    """Σ|w| of each feature of a LinearCRF. Weights of label pairs count for the column that they belong to."""
    layout, schema = model.layout_, seen_schema(model)
    nodes, arcs, pairs = layout.split(np.abs(model.weights_))
    yield from _of_rows(schema, layout.nodes, nodes, None)
    yield (PREVIOUS, None), float(arcs.sum())
    if layout.pairs is not None:
        yield from _of_rows(schema, layout.pairs, pairs, set(layout.pair_columns))


def _of_rows(schema: Schema, index: Any, weights: FloatArray, names: set[str] | None) -> Iterator[tuple[_Key, float]]:
    """Sums of weights by column and offset; `names` are those of the columns that have weights, None for all."""
    sums = np.bincount(index.slot_rows(), weights=weights, minlength=index.streams.n_rows)
    begin = 0
    for column, offset in stream_columns(schema, names):
        if column is not None:
            end = begin + (1 if column.kind == "numeric" else column.n_codes)
            yield (column.name, offset), float(sums[begin:end].sum())
            begin = end
    texts = schema.attributes.names() if begin < len(sums) else []  # the rows that are left
    keys = [(text, offset) for offset in schema.attribute_offsets for text in texts]
    yield from zip(keys, sums[begin:].tolist())
