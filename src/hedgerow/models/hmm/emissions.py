"""What a hidden Markov model knows of its columns: P(x | label), from counts and with smoothing.

Columns are independent given the label. A category or a flag is drawn from a table, a number from a normal
distribution, and each attribute of a position by itself from one table of all attributes (multinomial: a value is how
often it was drawn). What is missing, or was never seen in training, adds no factor.

One rule smooths all of them: to the observations of each label so many are added that are spread as the column is over
all labels together. So the penalised likelihood that is maximised is

    log P(x, y) + smoothing · Σ_label Σ_column E[log P(x | label)],   the mean over all observations of the column.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hedgerow.data.dataset import Dataset, Schema, locate
from hedgerow.data.derived import stored_numbers
from hedgerow.data.showing import code_text, number_text
from hedgerow.errors import InputError, NumbersError
from hedgerow.legend import FLOAT, INDEX, MISSING, FloatArray, IndexArray
from hedgerow.models.hmm import kernels

FAR = 1e100  # deviations from a mean, and no number is farther
SMALLEST_SHARE = 1e-9  # of the variance of a column: no label has a smaller one


def check_columns(schema: Schema) -> None:
    """Refuse what no position can draw from its label: windows, and features of the whole sequence."""
    if schema.gap:
        hint = "Use ⟦window=0⟧, or a model of labels given the input, such as LinearCRF."
        raise InputError("an HMM draws each position from its own label, and the Dataset has a window", hint=hint)
    constant = [column.name for column in schema.columns if column.constant]
    if constant:
        what = "an HMM draws each position from its label, and this is a feature of the whole sequence"
        hint = "Leave it out, or use a model of labels given the input, such as LinearCRF."
        raise InputError(what, hint=hint, column=constant[0])


def check_values(dataset: Dataset) -> None:
    """Refuse attributes with negative values: nothing is drawn so many times."""
    values = dataset.attr_val
    if values is None or not len(values) or values.min() >= 0:
        return
    entry = int(np.argmin(values))
    flat = int(np.searchsorted(dataset.attr_ptr, entry, side="right")) - 1
    sequence, position = locate(dataset.offsets, flat)
    name = dataset.schema.attributes.names()[int(dataset.attr_id[entry])]
    what = f"the attribute {name!r} has the value {values[entry]:g}"
    hint = "In an HMM the value says how often an attribute is drawn; it must not be negative."
    raise InputError(what, hint=hint, sequence=sequence, position=position)


@dataclass(frozen=True)
class Emissions:
    """log P(x | label) of every column.

    base : int64[C+1], the rows of each coded column: code c of column j has row base[j] + c
    codes : (R, K), log P(code | label), 0 for codes that say nothing
    means, variances : (D, K), of the numeric columns
    attributes : (M, K), log P(attribute | label)
    fills : (D,), what an absent number means; NaN where it is missing
    """

    base: IndexArray
    codes: FloatArray
    means: FloatArray
    variances: FloatArray
    attributes: FloatArray
    fills: FloatArray

    def scores(self, dataset: Dataset, rows: slice) -> FloatArray:
        """log P(x_t | k) of some flat positions, (n, K)."""
        n, K = rows.stop - rows.start, self.codes.shape[1]
        scores: FloatArray = np.zeros((n, K))
        for base, codes in zip(self.base, dataset.codes[:, rows]):
            scores += self.codes[base + codes]
        for d, (which, numbers) in enumerate(_numbers(dataset, self.fills, rows)):
            spread = self.variances[d]
            away = numbers[:, None] - self.means[d]
            if np.abs(away).max(initial=0.0) > FAR:  # its square is no number
                away = np.clip(away / np.sqrt(spread), -FAR, FAR) * np.sqrt(spread)
            scores[which] -= 0.5 * (np.log(2.0 * np.pi * spread) + away * away / spread)
        if len(self.attributes):
            kernels.hmm.gather(*_attributes(dataset, rows), self.attributes, scores)
        return scores

    def parts(self, dataset: Dataset, t: int, a: int, b: int) -> Iterator[tuple[str, str, float]]:
        """(column, value, log P(x | a) − log P(x | b)) of what stands at flat position t; an attribute has its own
        name, and no value where it was drawn once."""
        schema, here = dataset.schema, slice(t, t + 1)
        for column, base, code in zip(schema.of("categorical", "boolean"), self.base, dataset.codes[:, t].tolist()):
            logs = self.codes[base + code]
            yield column.name, code_text(column, code), float(logs[a] - logs[b])
        columns = zip(stored_numbers(schema), _numbers(dataset, self.fills, here), self.means, self.variances)
        for column, (_, numbers), mean, spread in columns:
            for x in numbers.tolist():
                logs = -0.5 * (np.log(spread) + (x - mean) ** 2 / spread)
                yield column.name, number_text(x), float(logs[a] - logs[b])
        ids, _, counts = _attributes(dataset, here)
        names = schema.attributes.names() if len(ids) else []
        for i, count in zip(ids.tolist(), counts.tolist()):
            logs = count * self.attributes[i]
            yield names[i], "" if count == 1.0 else number_text(count), float(logs[a] - logs[b])


def row_bases(schema: Schema) -> IndexArray:
    """int64[C+1], where the rows of the coded columns begin."""
    sizes = [column.n_codes for column in schema.of("categorical", "boolean")]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX)


def fills_of(schema: Schema) -> FloatArray:
    """(D,), what an absent number of each numeric column means."""
    return np.array([column.fill for column in stored_numbers(schema)], dtype=np.float64)


def _numbers(dataset: Dataset, fills: FloatArray, rows: slice) -> Iterator[tuple[IndexArray, FloatArray]]:
    """Of each numeric column, the positions (from 0) that have a number, and these."""
    for fill, values in zip(fills, dataset.numeric[:, rows]):
        numbers = np.where(np.isnan(values), fill, values.astype(FLOAT, copy=False))
        which = np.flatnonzero(~np.isnan(numbers))
        yield which, numbers[which]


def _attributes(dataset: Dataset, rows: slice) -> tuple[IndexArray, IndexArray, FloatArray]:
    """The attributes of some positions: their ids, positions (from 0) and values."""
    ptr = dataset.attr_ptr[rows.start : rows.stop + 1]
    entries = slice(int(ptr[0]), int(ptr[-1]))
    ids = dataset.attr_id[entries].astype(INDEX)
    which = np.repeat(np.arange(rows.stop - rows.start, dtype=INDEX), np.diff(ptr))
    values = np.ones(len(ids)) if dataset.attr_val is None else dataset.attr_val[entries].copy()
    return ids, which, values


@dataclass(frozen=True)
class Spread:
    """How the columns are spread over all labels together; what smoothing adds.

    codes : (R,), the share of each code in its column; attributes : (M,), that of each attribute
    means, variances : (D,)
    """

    codes: FloatArray
    attributes: FloatArray
    means: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, dataset: Dataset, weights: FloatArray) -> Spread:
        """weights (N,) of the positions."""
        schema, rows = dataset.schema, slice(0, dataset.n_positions)
        base = row_bases(schema)
        shares = [np.empty(0)]
        for j, codes in enumerate(dataset.codes):
            counts = np.bincount(codes, weights=weights, minlength=int(base[j + 1] - base[j]))
            counts[MISSING] = 0.0
            shares.append(_shares(counts.astype(np.float64)))
        moments = [_moments(numbers, weights[which]) for which, numbers in _numbers(dataset, fills_of(schema), rows)]
        ids, which, values = _attributes(dataset, rows)
        drawn = np.bincount(ids, weights=weights[which] * values, minlength=schema.n_attributes)
        means, variances = np.array(moments, dtype=np.float64).reshape(-1, 2).T
        if not np.isfinite(variances).all():
            column = stored_numbers(schema)[int(np.argmin(np.isfinite(variances)))].name
            raise NumbersError("the numbers are too large to have a variance", column=column)
        return cls(np.concatenate(shares), _shares(drawn.astype(np.float64)), means, variances)


def _shares(counts: FloatArray) -> FloatArray:
    total = counts.sum()
    return counts / total if total > 0 else np.zeros(len(counts))


def _moments(numbers: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Mean and variance; 0 and 1 of a column without numbers. Where all are equal, 1 again: any variance fits."""
    total = weights.sum()
    if total <= 0:
        return 0.0, 1.0
    if numbers.min() == numbers.max():
        return float(numbers[0]), 1.0
    mean = float((weights * numbers).sum() / total)
    variance = float((weights * (numbers - mean) ** 2).sum() / total)
    return mean, variance if variance > 1e-24 * mean * mean and variance > 0 else 1.0


@dataclass
class EmissionCounts:
    """What was seen with each label, in part or as a whole: sums that can be added.

    codes : (R, K); attributes : (M, K)
    numbers : (3, D, K), how many, their sum and the sum of their squares, standardised by the Spread
    """

    KEPT: ClassVar[tuple[str, ...]] = ("codes", "attributes", "numbers")

    codes: FloatArray
    attributes: FloatArray
    numbers: FloatArray

    @classmethod
    def zeros(cls, schema: Schema) -> EmissionCounts:
        K = len(schema.labels)
        n_rows, n_numbers = int(row_bases(schema)[-1]), len(stored_numbers(schema))
        return cls(np.zeros((n_rows, K)), np.zeros((schema.n_attributes, K)), np.zeros((3, n_numbers, K)))

    def add(self, dataset: Dataset, rows: slice, probs: FloatArray, spread: Spread) -> None:
        """Add some flat positions, which have label k with the weight probs[t, k], (n, K)."""
        for base, codes in zip(row_bases(dataset.schema), dataset.codes[:, rows]):
            which = np.flatnonzero(codes != MISSING)
            kernels.hmm.scatter(codes[which] + base, which, np.ones(len(which)), probs, self.codes)
        for d, (which, numbers) in enumerate(_numbers(dataset, fills_of(dataset.schema), rows)):
            standard = (numbers - spread.means[d]) / np.sqrt(spread.variances[d])
            weights = probs[which]
            for power in range(3):
                self.numbers[power, d] += (standard[:, None] ** power * weights).sum(axis=0)
        if len(self.attributes):
            ids, which, values = _attributes(dataset, rows)
            kernels.hmm.scatter(ids, which, values, probs, self.attributes)

    def plus(self, other: EmissionCounts) -> EmissionCounts:
        return EmissionCounts(
            self.codes + other.codes, self.attributes + other.attributes, self.numbers + other.numbers
        )

    def estimate(self, schema: Schema, spread: Spread, smoothing: float) -> Emissions:
        """The emissions that maximise the penalised likelihood of these counts."""
        base = row_bases(schema)
        codes = np.zeros_like(self.codes)
        for begin, end in itertools.pairwise(base):
            codes[begin:end] = _log_shares(self.codes[begin:end], spread.codes[begin:end], smoothing)
            codes[begin + MISSING] = 0.0
        deviation = np.sqrt(spread.variances)[:, None]
        n, total, squares = self.numbers
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total / (n + smoothing)  # the spread has mean 0 and variance 1 here
            variance = (squares + smoothing) / (n + smoothing) - mean**2
        # A column of one value says nothing of any label, and smoothing must not make it do so.
        nothing = (n + smoothing <= 0) | (squares.sum(axis=1, keepdims=True) == 0.0)
        mean[nothing], variance[nothing] = 0.0, 1.0
        variance = np.maximum(variance, SMALLEST_SHARE)
        return Emissions(
            base,
            codes,
            spread.means[:, None] + deviation * mean,
            deviation**2 * variance,
            _log_shares(self.attributes, spread.attributes, smoothing),
            fills_of(schema),
        )

    def log_likelihood(self, emissions: Emissions, spread: Spread, smoothing: float) -> float:
        """log P of what was counted, and of what smoothing adds to it."""
        total_log = 0.0
        for counts, scores, share in (
            (self.codes, emissions.codes, spread.codes),
            (self.attributes, emissions.attributes, spread.attributes),
        ):
            seen = counts + smoothing * share[:, None]
            total_log += float((seen * np.where(seen > 0, scores, 0.0)).sum())
        n, total, squares = self.numbers + smoothing * np.array([1.0, 0.0, 1.0])[:, None, None]
        deviation = np.sqrt(spread.variances)[:, None]
        mean = (emissions.means - spread.means[:, None]) / deviation
        variance = emissions.variances / deviation**2
        away = squares - 2.0 * mean * total + mean**2 * n
        return total_log - 0.5 * float((n * np.log(2.0 * np.pi * emissions.variances) + away / variance).sum())


def _log_shares(counts: FloatArray, share: FloatArray, smoothing: float) -> FloatArray:
    """log of the smoothed shares of each column of counts (R, K). A label without any has the shares of all.

    A row that training does not show at all, such as a flag that is never set, says nothing of any label: 0.
    """
    whole = counts.sum(axis=0) + smoothing
    shares = (counts + smoothing * share[:, None]) / np.where(whole > 0, whole, 1.0)
    seen = counts.any(axis=1) | (share > 0)
    with np.errstate(divide="ignore"):
        return np.where(seen[:, None], np.log(np.where(whole > 0, shares, share[:, None])), 0.0)
