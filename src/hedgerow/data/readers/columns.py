"""One column of plain Python values becomes an array with a kind, labels become a list per sequence; a value that does
not fit is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.rows import NUMBERS
from hedgerow.data.rows import is_null as is_null
from hedgerow.data.sequences import Kind, is_vector, stack
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, AnyArray, IndexArray

_WORDS: dict[Kind, str] = {
    "categorical": "text",
    "numeric": "a number",
    "boolean": "true or false",
    "attributes": "a list of text",
}


_NOTHING = {"na", "n/a", "#n/a", "null", "none", "missing", "-", "?"}  # what people write for a missing number
FEW = 10  # numbers in a column, below which a word among them is nothing odd


class BadValue(InputError):
    """A value that cannot be used, by its row. Whoever knows the place gives the error that names it."""

    def __init__(self, row: int, what: str, hint: str = "") -> None:
        super().__init__(what, hint=hint, position=row)
        self.row = row


def is_number(value: str) -> bool:
    """Whether a text is one of a number."""
    try:
        float(value)
    except ValueError:
        return False
    return "_" not in value  # Python reads 1_2 as 12


def refuse_slips(values: Sequence[str | None], wrong: Sequence[str], missing: str, declared: str = "⟦kinds⟧") -> None:
    """Refuse the values of a column that are no numbers where nearly all others are: each is a slip more often than a
    word.

    wrong : those that are no numbers; missing : what to do where a value is missing; declared : by what kinds are
    """
    n = sum(value is not None for value in values) - len(wrong)
    few = len(wrong) <= max(1, n // 100) or (len(wrong) <= n and {value.lower() for value in wrong} <= _NOTHING)
    if wrong and n >= FEW and few:
        what = f"{wrong[0]!r} is not a number, as {n:,} other values of the column are"
        hint = f"{missing} where a value is missing. If these are words, declare the column 'categorical' with"
        raise BadValue(list(values).index(wrong[0]), what, f"{hint} {declared}.")


def read_columns(
    names: Iterable[str], read: Callable[[str], tuple[Kind, AnyArray]], place: Callable[[BadValue, str], InputError]
) -> tuple[dict[str, AnyArray], dict[str, Kind]]:
    """The columns of these names, and their kinds. `place` gives the error for a bad value of a column."""
    columns: dict[str, AnyArray] = {}
    kinds: dict[str, Kind] = {}
    for name in names:
        try:
            kinds[name], columns[name] = read(name)
        except BadValue as bad:
            raise place(bad, name) from None
    return columns, kinds


def kind_of(value: Any) -> Kind | None:
    """The kind of column that a single value fits; None where it fits none."""
    if isinstance(value, str):
        return "categorical"
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, NUMBERS):
        return "numeric"
    is_list = isinstance(value, (list, tuple, np.ndarray))
    return "attributes" if is_list and all(isinstance(item, str) for item in value) else None


def column_of(values: Sequence[Any]) -> tuple[Kind, AnyArray]:
    """The kind of N values and the array of them, as `Sequences` holds it. Raises BadValue on a mixture.

    A column with nothing but missing values counts as categorical. Vectors of d numbers are an array (N, d).
    """
    sample: Any = next((value for value in values if not is_null(value)), None)
    if is_vector(sample):
        return "numeric", _vectors(values, len(sample))
    kind: Kind | None = None
    for row, value in enumerate(values):
        if is_null(value):
            continue
        value_kind = kind_of(value)
        if value_kind is None:
            raise BadValue(row, f"a value of type {type(value).__name__} cannot be a feature")
        if kind is None:
            kind = value_kind
        elif value_kind != kind:
            hint = "A column holds text, numbers, booleans or lists of text, not a mixture."
            raise BadValue(row, f"{value!r} is {_WORDS[value_kind]} where the rows before hold {_WORDS[kind]}", hint)
    return kind or "categorical", _array(values, kind or "categorical")


def _vectors(values: Sequence[Any], width: int) -> AnyArray:
    """Vectors of one width as an array (N, width); a row of NaN where there is none."""
    known = np.array([i for i, value in enumerate(values) if not is_null(value)])

    def refuse(row: int, what: str, hint: str) -> NoReturn:
        raise BadValue(int(known[row]), what, hint)

    matrix = stack([values[i] for i in known], width, refuse)
    if len(known) == len(values):
        return matrix
    padded = np.full((len(values), width), np.nan, dtype=matrix.dtype)
    padded[known] = matrix
    return padded


def _array(values: Sequence[Any], kind: Kind) -> AnyArray:
    if kind == "numeric":
        numbers = np.array([np.nan if is_null(value) else _number(value) for value in values], dtype=FLOAT)
        check_finite(numbers)
        return numbers
    if kind == "boolean":
        return booleans([None if is_null(value) else bool(value) for value in values])
    if kind == "attributes":
        return objects([[] if is_null(value) else [str(item) for item in value] for value in values])
    return objects(shared([None if is_null(value) else str(value) for value in values]))


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer past the range of floats
        return np.inf


def check_finite(numbers: AnyArray) -> None:
    """Raises BadValue at the first infinite value. NaN is a missing value and fine."""
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise BadValue(int(infinite[0]), "infinite value", "Use NaN for a missing value, or clip it.")


def check_known(numbers: AnyArray) -> None:
    """Raises BadValue at the first missing value."""
    missing = np.flatnonzero(np.isnan(numbers).reshape(len(numbers), -1).any(axis=1))
    if len(missing):
        hint = "Fill it, or let the model do so: ⟦missing='impute'⟧ or 'indicator'. Trees take missing numbers."
        raise BadValue(int(missing[0]), "a number is missing", hint)


def booleans(values: Sequence[bool | None]) -> AnyArray:
    """A boolean array, or an object array where None marks a missing value."""
    return objects(values) if None in values else np.array(values, dtype=np.bool_)


def objects(values: Sequence[Any]) -> AnyArray:
    """A one-dimensional object array of these values, also where they are lists of one length."""
    return np.fromiter(values, dtype=object, count=len(values))


def shared(values: Sequence[Any]) -> list[Any]:
    """The same values, with equal ones kept in memory once."""
    kept: dict[Any, Any] = {}
    return list(map(kept.setdefault, values, values))


# ------------------------------------------------------------------------------------------------ labels


def plain_label(value: Any, row: int) -> str | int | None:
    """The label as plain str, int, bool or None.

    An integral float counts as its integer, because data frames turn integers with a gap into floats.
    """
    if type(value) is str or type(value) is int:
        return value
    if is_null(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    hint = "Labels are strings, integers or booleans, and None where unlabelled."
    raise BadValue(row, f"{value!r} cannot be a label", hint)


def plain_labels(values: Iterable[Any]) -> list[Any]:
    """The labels of N positions as plain Python values. Raises BadValue with the row."""
    values = list(values)
    if set(map(type, values)) <= {str, int}:
        return values
    return [plain_label(value, row) for row, value in enumerate(values)]


def nested(labels: Sequence[Any], offsets: IndexArray) -> AnyArray:
    """The labels of N positions as a one-dimensional object array of S lists."""
    return objects([list(labels[begin:end]) for begin, end in pairwise(offsets.tolist())])
