"""Columns that are computed from others when somebody reads them: lags, differences and rolling values of numbers.

A derived column stands in the schema and nowhere else. Readers take its numbers from here, a column or a chunk of
sequences at a time, and keep what they make of them: bins of trees, compiled chunks of weights. It has the window of
its source, and looks back alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data import kernels
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Derived, Schema, padded_places
from hedgerow.data.words import RECIPES
from hedgerow.errors import InputError, shown
from hedgerow.legend import FLOAT, FloatArray

MOST = 1000  # positions of a span: each is read anew at every position


class Function(NamedTuple):
    """A function of a numeric column: its name among the kernel's, and how far it goes where nothing is said."""

    code: str
    span: int


FUNCTIONS = {
    "lag": Function("LAG", 1),
    "difference": Function("DIFFERENCE", 1),
    "rolling_mean": Function("MEAN", 10),
    "rolling_std": Function("STD", 10),
    "rolling_min": Function("MIN", 10),
    "rolling_max": Function("MAX", 10),
}
_WRITTEN = re.compile(r"\s*(\w+)\s*(?:\(\s*(\d+)\s*\))?\s*")


def parse_features(given: Any) -> tuple[str, ...]:
    """Features of numbers as they are named everywhere, "rolling_mean(10)", from a list of features or one."""
    if given is not None and not isinstance(given, (str, list, tuple)):
        raise InputError(f"⟦features⟧ is {given!r}", hint=f"Give None, 'auto', or a list of {_known()}.")
    listed = [given] if isinstance(given, str) else given or ()
    return tuple(dict.fromkeys(_parse(one) for one in listed if one not in RECIPES))  # those of words are made before


def _parse(one: Any) -> str:
    written = _WRITTEN.fullmatch(one) if isinstance(one, str) else None
    name = written[1] if written else one
    if written is None or name not in FUNCTIONS:
        from difflib import get_close_matches

        near = get_close_matches(str(name), FUNCTIONS, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise InputError(f"⟦features⟧ has {one!r}", hint=f"{hint}Known are {_known()}; rolling_mean(5) gives the span.")
    span = int(written[2] or FUNCTIONS[name].span)
    if not 1 <= span <= MOST:
        raise InputError(f"⟦features⟧ has {one!r}", hint=f"A span is from 1 to {MOST} positions.")
    return f"{name}({span})"


def _known() -> str:
    return ", ".join([*FUNCTIONS, *RECIPES])


def with_features(dataset: Dataset, features: tuple[str, ...]) -> Dataset:
    """The corpus with these features of every numeric column of positions, as `parse_features` names them."""
    if not features:
        return dataset
    old, sources = dataset.schema, stored_numbers(dataset.schema)
    if not sources:
        names = shown([column.name for column in old.columns], 6)
        hint = f"Leave them out, or declare ⟦columns⟧ as 'numeric'. The data has {names}."
        raise InputError("⟦features⟧ are of numeric columns, and the data has none", hint=hint)
    own = [c for c in old.columns if not (c.constant or c.name == OUTSIDE_COLUMN)]
    for feature in features:
        function, span = feature[:-1].split("(")
        for source in sources:
            made = Derived(function, int(span), source.name)
            own.append(Column(f"{made.feature} of {source.name}", "numeric", source.offsets, fill=np.nan, derived=made))
    if len({column.name for column in own}) < len(own):
        raise InputError("a column has the name of one of the ⟦features⟧", hint="Rename it.")
    rest = [c for c in old.columns if c.constant or c.name == OUTSIDE_COLUMN]
    whole = replace(dataset, schema=replace(old, columns=(*own, *rest)))
    columns = tuple(c if c.derived is None else standardised(whole, c) for c in whole.schema.columns)
    return replace(whole, schema=replace(whole.schema, columns=columns))


def stored_numbers(schema: Schema) -> list[Column]:
    """The columns of the rows of `numeric`."""
    return [column for column, _ in schema.number_rows.values()]


def standardised(dataset: Dataset, column: Column) -> Column:
    """A derived column with the mean and the deviation that it has in a corpus."""
    numbers, low = number_row(dataset, column)
    weights = dataset.spread_weights()
    if weights is not None:
        numbers = numbers[padded_places(dataset.offsets, dataset.schema.gap)[1] - low]
    center, spread = standard(numbers, weights)
    return replace(column, center=center, spread=spread)


def standard(numbers: FloatArray, weights: FloatArray | None = None) -> tuple[float, float]:
    """Mean and standard deviation of a column of measurements, some of which may count more than others. A column of
    one value has the deviation 1, so that it becomes one of zeros."""
    there = numbers == numbers
    known = (numbers if there.all() else numbers[there]).astype(FLOAT, copy=False)
    if len(known) == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if low == high:
        return low, 1.0
    counted = None if weights is None else weights[there]
    scale = 1.0
    if max(-low, high) > 1e150:  # its square is no number
        scale = 2.0**600
        known = known / scale
    center = float(np.average(known, weights=counted))
    if counted is None:
        spread = float(known.std())
    else:
        spread = float(np.sqrt(np.average((known - center) ** 2, weights=counted)))
    center, spread = scale * center, scale * spread
    return (center, spread) if spread > 1e-12 * abs(center) else (center, 1.0)


# ------------------------------------------------------------------------------------------------ reading


def number_row(dataset: Dataset, column: Column, first: int = 0, last: int | None = None) -> tuple[FloatArray, int]:
    """The numbers of a numeric column of positions, and the padded place where they begin. Those of a derived column
    are computed, at sequences first … last−1; a stored one is given as it is stored, from place 0 on."""
    derived = column.derived
    source, d = dataset.schema.number_rows[column.name if derived is None else derived.source]
    if derived is None:
        return dataset.numeric[d], 0
    lengths = np.diff(dataset.offsets)[first:last]
    start, gap, low, high = dataset.start[first:last], dataset.schema.gap, 0, 0
    if len(start):
        low, high = int(start[0]) - gap, int(start[-1] + lengths[-1]) + gap
    x = dataset.numeric[d, low:high].astype(FLOAT, copy=False)
    if not np.isnan(source.fill):  # an absent number means one
        x = np.where(np.isnan(x), source.fill, x)
    x.flags.writeable = False  # as stored ones are: one compiled form serves all
    out: FloatArray = np.full(len(x), np.nan)
    code = getattr(kernels.derived, FUNCTIONS[derived.function].code)
    kernels.derived.derive(x, start - low, lengths, code, derived.span, out)
    return out, low


def number_rows(dataset: Dataset, first: int, last: int) -> tuple[FloatArray, int]:
    """(D, ·), the numbers of all numeric columns at sequences first … last−1, and the padded place where they begin:
    the stored array itself, from place 0 on, where no column is derived."""
    columns = dataset.schema.of("numeric")
    if all(column.derived is None for column in columns):
        return dataset.numeric, 0
    found = [number_row(dataset, column, first, last) for column in columns]
    low, size = next((low, len(row)) for column, (row, low) in zip(columns, found) if column.derived is not None)
    rows = np.stack([row if column.derived else row[low : low + size] for column, (row, _) in zip(columns, found)])
    rows.flags.writeable = False
    return rows, low
