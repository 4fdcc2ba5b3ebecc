"""Values in place of missing ones, and flags that say where: learnt from a training corpus, used at every prediction.

A column is filled before any window or bin is made of it, so a value that is missing is the same in all windows that
reach it. What lies outside a sequence is not missing, and stays as it is; nor is a number missing where its absence
means 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FIRST_VALUE, FLOAT, MISSING, OUTSIDE, AnyArray, BoolArray, FloatArray

MIDDLES = ("mean", "median")
FLAG = "{} (missing)"  # the name of the column that says where another one is missing


@dataclass(frozen=True)
class Imputation:
    """What stands in for missing values.

    codes : the code for each categorical or boolean column that is filled, by name
    numbers : the number for each numeric column
    flags : the columns that get a column of flags, boolean, with the same window
    """

    codes: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def extend(self, schema: Schema) -> Schema:
        """The schema of what `apply` gives: with the columns of flags."""
        named = {column.name: column for column in schema.columns}
        flags = [
            Column(FLAG.format(name), "boolean", named[name].offsets, constant=named[name].constant)
            for name in self.flags
        ]
        return replace(schema, columns=(*schema.columns, *flags))

    def apply(self, dataset: Dataset) -> Dataset:
        """The corpus with its gaps filled, and with flags as its last columns."""
        own: list[AnyArray] = [dataset.codes, dataset.numeric, dataset.seq_codes, dataset.seq_numeric]
        arrays = [array.astype(FLOAT if array.dtype.kind == "f" else array.dtype) for array in own]
        codes, numeric, seq_codes, seq_numeric = arrays
        flags: dict[bool, list[AnyArray]] = {False: [], True: []}
        for column, row, where in dataset.stored(*arrays):
            missing = where[_is_missing(column, row[where])]
            if column.name in self.flags:
                flag = np.full(len(row), OUTSIDE, dtype=CODE)
                flag[where] = FIRST_VALUE
                flag[missing] = FIRST_VALUE + 1
                flags[column.constant].append(flag)
            fills = self.numbers if column.kind == "numeric" else self.codes
            if column.name in fills:
                row[missing] = fills[column.name]
        return replace(
            dataset,
            schema=self.extend(dataset.schema),
            codes=np.vstack([codes, *flags[False]]),
            numeric=numeric,
            seq_codes=np.vstack([seq_codes, *flags[True]]),
            seq_numeric=seq_numeric,
        )


def learn_imputation(
    dataset: Dataset, *, numbers: str = "mean", flags: bool = False, codes: bool = True, flag_codes: bool = False
) -> Imputation:
    """What to put in place of missing values: the most common code, and the mean or the median of the numbers.

    Parameters
    ----------
    numbers : "mean" or "median"
    flags : whether each column that is filled gets a column of flags (the method of indicator features)
    codes : whether codes are filled; where flags are wanted they need not
    flag_codes : whether columns of codes get flags even so; to trees a missing code is one more code, and flag enough
    """
    if numbers not in MIDDLES:
        raise InputError(f"numbers={numbers!r}", hint="Known are 'mean' and 'median'.")
    found_codes: dict[str, int] = {}
    found_numbers: dict[str, float] = {}
    check_names(dataset)
    check_values(dataset, count_values(dataset))
    for column, values in stored_columns(dataset):
        there, weights = ~_is_missing(column, values), dataset.spread_weights()
        known = values[there]
        if weights is not None:
            weights = (dataset.weight_seq if column.constant else weights)[there]  # type: ignore[index]
        if column.kind == "numeric":
            found_numbers[column.name] = _middle(known.astype(FLOAT), weights, numbers)
        elif codes:
            found_codes[column.name] = int(np.argmax(np.bincount(known, weights)))
    flagged = [
        column.name
        for column, _ in stored_columns(dataset)
        if flags and (column.kind == "numeric" or codes or flag_codes)
    ]
    return Imputation(found_codes, found_numbers, tuple(flagged))


def check_names(dataset: Dataset) -> None:
    """Refuse two columns of one name, of which values are known by."""
    for name, n in Counter(column.name for column, _ in stored_columns(dataset)).items():
        if n > 1:
            what = "is the name of a feature of positions and of one of whole sequences"
            raise InputError(what, hint="Rename one of them.", column=name)


def _middle(numbers: FloatArray, weights: FloatArray | None, which: str) -> float:
    """The mean or the median of numbers, which may count more than one or less."""
    if which == "mean":
        return float(np.average(numbers, weights=weights))
    if weights is None:
        return float(np.median(numbers))
    order = np.argsort(numbers)
    up_to = np.cumsum(weights[order])
    both = [int(np.searchsorted(up_to, up_to[-1] / 2, side=side)) for side in ("left", "right")]
    return float(np.mean(numbers[order[both]]))


def fill(imputation: Imputation | None, dataset: Dataset) -> Dataset:
    """The corpus as a model sees it."""
    return dataset if imputation is None else imputation.apply(dataset)


def seen_schema(model: Any) -> Schema:
    """The columns that a fitted model sees: those of the data, and flags; or conjunctions of these."""
    induced, imputation = getattr(model, "induced_", None), getattr(model, "imputation_", None)
    schema: Schema = model.schema_ if induced is None else induced.seen
    return schema if induced is not None or imputation is None else imputation.extend(schema)


def seen(model: Any, dataset: Dataset) -> Dataset:
    """A corpus as a fitted model sees it."""
    induced, filled = getattr(model, "induced_", None), fill(model.imputation_, dataset)
    return filled if induced is None else induced.apply(filled)


def stored_columns(dataset: Dataset) -> Iterator[tuple[Column, AnyArray]]:
    """The columns in which a value may be missing, as they are stored, with their values of positions or sequences."""
    for column, row, where in dataset.stored():
        if np.isnan(column.fill) if column.kind == "numeric" else column.name != OUTSIDE_COLUMN:
            yield column, row[where]


def count_values(dataset: Dataset) -> AnyArray:
    """How many values of each column are there."""
    return np.array([np.count_nonzero(~_is_missing(*one)) for one in stored_columns(dataset)])


def check_values(dataset: Dataset, counts: AnyArray) -> None:
    """Refuse a column without any value. dataset : of these columns; counts : as of `count_values`"""
    for (column, _), n in zip(stored_columns(dataset), counts):
        if not n:
            what = "every value is missing in the training sequences"
            raise InputError(what, hint="Leave it out.", column=column.name)


def _is_missing(column: Column, values: AnyArray) -> BoolArray:
    return np.isnan(values) if column.kind == "numeric" else values == MISSING
