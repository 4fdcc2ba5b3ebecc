"""Values in place of missing ones, and flags that say where: learnt from a training corpus, used at every prediction.

A column is filled before any window or bin is made of it, so a value that is missing is the same in all windows that
reach it. What lies outside a sequence is not missing, and stays as it is; nor is a number missing where its absence
means 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema, padded_places
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FIRST_VALUE, MISSING, OUTSIDE, AnyArray, CodeArray, FloatArray, IndexArray

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
        return replace(schema, columns=schema.columns + tuple(_flag(named[name]) for name in self.flags))

    def apply(self, dataset: Dataset) -> Dataset:
        """The corpus with its gaps filled, and with flags as its last columns."""
        schema, (_, places, _) = dataset.schema, padded_places(dataset.offsets, dataset.schema.gap)
        everywhere: IndexArray = np.arange(dataset.n_sequences)
        codes, numeric = _Stored(schema, False, dataset.codes, dataset.numeric, places).filled(self)
        seq_codes, seq_numeric = _Stored(schema, True, dataset.seq_codes, dataset.seq_numeric, everywhere).filled(self)
        return replace(
            dataset,
            schema=self.extend(schema),
            codes=codes,
            numeric=numeric,
            seq_codes=seq_codes,
            seq_numeric=seq_numeric,
        )


@dataclass(frozen=True)
class _Stored:
    """The stored columns of a corpus, of positions or of sequences. where : the places that have values."""

    schema: Schema
    constant: bool
    codes: CodeArray
    numeric: FloatArray
    where: IndexArray

    def filled(self, imputation: Imputation) -> tuple[CodeArray, FloatArray]:
        """Codes, with those of flags after them, and numbers."""
        codes, numeric, flags = self.codes.copy(), self.numeric.copy(), []
        for row, column in enumerate(self.schema.of("categorical", "boolean", constant=self.constant)):
            missing = self.where[codes[row, self.where] == MISSING]
            if column.name in imputation.flags:
                flags.append(self._flags(missing))
            if column.name in imputation.codes:
                codes[row, missing] = imputation.codes[column.name]
        for row, column in enumerate(self.schema.of("numeric", constant=self.constant)):
            missing = self.where[np.isnan(numeric[row, self.where])]
            if column.name in imputation.flags:
                flags.append(self._flags(missing))
            if column.name in imputation.numbers:
                numeric[row, missing] = imputation.numbers[column.name]
        return np.concatenate([codes, np.array(flags, dtype=CODE).reshape(-1, codes.shape[1])]), numeric

    def _flags(self, missing: IndexArray) -> AnyArray:
        flags = np.full(self.codes.shape[1], OUTSIDE, dtype=CODE)
        flags[self.where] = FIRST_VALUE
        flags[missing] = FIRST_VALUE + 1
        return flags


def _flag(column: Column) -> Column:
    return Column(FLAG.format(column.name), "boolean", column.offsets, constant=column.constant)


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
    names: set[str] = set()
    for column, values in stored_columns(dataset):
        if column.name in names:
            what = "is the name of a feature of positions and of one of whole sequences"
            raise InputError(what, hint="Rename one of them.", column=column.name)
        names.add(column.name)
        if column.kind == "numeric":
            found_numbers[column.name] = _middle(column, values, numbers)
        elif codes:
            found_codes[column.name] = _most_common(column, values)
    flagged = [
        column.name
        for column, _ in stored_columns(dataset)
        if flags and (column.kind == "numeric" or codes or flag_codes)
    ]
    return Imputation(found_codes, found_numbers, tuple(flagged))


def fill(imputation: Imputation | None, dataset: Dataset) -> Dataset:
    """The corpus as a model sees it."""
    return dataset if imputation is None else imputation.apply(dataset)


class FittedModel(Protocol):
    """What has a schema; and `imputation_`, where its estimator knows such."""

    schema_: Schema


def seen_schema(model: FittedModel) -> Schema:
    """The columns that a fitted model sees: those of the data, and flags."""
    imputation: Imputation | None = getattr(model, "imputation_", None)
    return model.schema_ if imputation is None else imputation.extend(model.schema_)


def stored_columns(dataset: Dataset) -> Iterator[tuple[Column, AnyArray]]:
    """The columns in which a value may be missing, as they are stored, with their values of positions or sequences."""
    _, places, _ = padded_places(dataset.offsets, dataset.schema.gap)
    for constant, coded, measured in (
        (False, dataset.codes, dataset.numeric),
        (True, dataset.seq_codes, dataset.seq_numeric),
    ):
        where: IndexArray = np.arange(dataset.n_sequences) if constant else places
        for row, column in enumerate(dataset.schema.of("categorical", "boolean", constant=constant)):
            if column.name != OUTSIDE_COLUMN:
                yield column, coded[row, where]
        for row, column in enumerate(dataset.schema.of("numeric", constant=constant)):
            if np.isnan(column.fill):
                yield column, measured[row, where]


def check_values(dataset: Dataset) -> None:
    """Refuse a column without any value."""
    for column, values in stored_columns(dataset):
        known = ~np.isnan(values) if column.kind == "numeric" else values != MISSING
        if not known.any():
            raise _all_missing(column)


def _most_common(column: Column, values: CodeArray) -> int:
    counts = np.bincount(values, minlength=column.n_codes)[FIRST_VALUE:]
    if not counts.any():
        raise _all_missing(column)
    return FIRST_VALUE + int(np.argmax(counts))


def _middle(column: Column, values: FloatArray, by: str) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        raise _all_missing(column)
    return float(np.mean(known) if by == "mean" else np.median(known))


def _all_missing(column: Column) -> InputError:
    return InputError("every value is missing in the training sequences", hint="Leave it out.", column=column.name)
