"""The values of template rules for all positions at once, by integer codes.

A string is built once for every distinct combination of values, never once per position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.data.readers.columns import objects
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.legend import INDEX, AnyArray, IndexArray

Text = str | None


@dataclass(frozen=True)
class Command:
    """One `%x[row,col]`: which column to read, how far from the position, and what to do with the value."""

    action: Literal["value", "test", "match"]
    row: int
    col: int
    lower: bool = False
    regexp: str = ""  # in Python's syntax; empty for "value"


@dataclass(frozen=True)
class Rule:
    """One line of a template. `parts` are literal texts and commands, in order."""

    name: str
    parts: tuple[str | Command, ...]
    unigram: bool
    bigram: bool
    line: int

    @property
    def commands(self) -> list[Command]:
        return [part for part in self.parts if isinstance(part, Command)]


@dataclass(frozen=True)
class _Coded:
    """N values as codes into a list of distinct values."""

    codes: IndexArray
    values: list[Text]


def expand(rules: Sequence[Rule], X: Sequences) -> Sequences:
    """The columns that the rules make of X's columns. Every rule's columns must exist and be categorical."""
    columns, offsets, constants = X.compact()
    reader = _Reader(list(columns.values()), offsets)
    made: dict[str, list[AnyArray]] = {}
    for rule in rules:
        if rule.unigram or rule.commands:
            made.setdefault(rule.name, []).append(_expand_rule(rule, reader))
    features: dict[str, AnyArray] = {}
    kinds: dict[str, Kind] = {name: X.kinds[name] for name in constants}
    for name, values in made.items():
        features[name], kinds[name] = values[0], "categorical"
        if len(values) > 1:
            rows = zip(*(column.tolist() for column in values))
            features[name] = objects([[value for value in row if value is not None] for row in rows])
            kinds[name] = "attributes"
    return Sequences(features, offsets, kinds, constants)


def _expand_rule(rule: Rule, reader: _Reader) -> AnyArray:
    """The values of one rule, N strings or None. Equal strings are one object."""
    if not rule.commands:
        return np.full(reader.n_positions, "".join(map(str, rule.parts)), dtype=object)
    coded = [reader.read(command) for command in rule.commands]
    combined, members = _combine(coded)
    picked = [[column.values[code] for code in codes.tolist()] for column, codes in zip(coded, members)]
    frame = "".join("%s" if isinstance(part, Command) else part.replace("%", "%%") for part in rule.parts)
    texts = [None if None in values else frame % values for values in zip(*picked)]
    return objects(texts)[combined]


def _combine(coded: list[_Coded]) -> tuple[IndexArray, list[IndexArray]]:
    """Number the distinct combinations of several coded columns.

    Returns the number of the combination at each position, and for each column its code in each combination.
    """
    combined, members = coded[0].codes, [np.arange(len(coded[0].values), dtype=INDEX)]
    for column in coded[1:]:
        size = len(column.values)
        # Both factors are below the number of positions plus a few, so that the key fits 64 bits.
        keys, combined = np.unique(combined * size + column.codes, return_inverse=True)
        members = [codes[keys // size] for codes in members] + [keys % size]
    return combined, members


class _Reader:
    """Columns as codes, read at an offset and through a command. What is read twice is made once."""

    def __init__(self, columns: list[AnyArray], offsets: IndexArray) -> None:
        self.columns = columns
        self.n_positions = int(offsets[-1])
        lengths = np.diff(offsets)
        self.from_start = np.arange(self.n_positions, dtype=INDEX) - np.repeat(offsets[:-1], lengths)
        self.to_end = np.repeat(lengths, lengths) - 1 - self.from_start
        self._plain: dict[int, _Coded] = {}
        self._read: dict[Command, _Coded] = {}

    def read(self, command: Command) -> _Coded:
        """What the command gives at every position; the values beyond the ends come after the column's own."""
        if command not in self._read:
            self._read[command] = self._shifted(self._values(command), command.row)
        return self._read[command]

    def _values(self, command: Command) -> _Coded:
        """The column after the command's action, at offset 0."""
        if command.col not in self._plain:
            self._plain[command.col] = _distinct(self.columns[command.col].tolist())
        plain, change = self._plain[command.col], _change(command)
        if change is None:
            return plain
        changed = _distinct([None if value is None else change(value) for value in plain.values])
        return _Coded(changed.codes[plain.codes], changed.values)

    def _shifted(self, column: _Coded, row: int) -> _Coded:
        if row == 0:
            return column
        first_outside = len(column.values)
        beyond = (-row - self.from_start) if row < 0 else (row - self.to_end)
        inside = np.clip(np.arange(self.n_positions) + row, 0, self.n_positions - 1)
        codes = np.where(beyond > 0, first_outside + beyond - 1, column.codes[inside])
        sign = "-" if row < 0 else "+"
        outside: list[Text] = [f"_B{sign}{distance}" for distance in range(1, int(beyond.max(initial=0)) + 1)]
        return _Coded(codes, column.values + outside)


def _change(command: Command) -> Callable[[str], str] | None:
    """What the command does to a value; None where it leaves it as it is."""
    if command.action == "value":
        return str.lower if command.lower else None
    search = searcher(command.regexp)
    if command.action == "test":
        return lambda value: "true" if search(value) else "false"

    def match(value: str) -> str:
        found = search(value)
        text = value[slice(*found)] if found else ""
        return text.lower() if command.lower else text

    return match


def _distinct(values: Sequence[Text]) -> _Coded:
    """Values as codes, in order of first appearance."""
    numbers: dict[Text, int] = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return _Coded(np.fromiter(map(numbers.__getitem__, values), dtype=INDEX, count=len(values)), list(numbers))


# ------------------------------------------------------------------------------------------------ searching


MOST_WAYS = 100_000  # that Python's engine may try

_START, _END = r"\A", r"\Z"
_ITEM = re.compile(r"(\[(?:\\.|[^\]\\])*\]|\\.|[^\\])(\*\?|\?)?", re.DOTALL)


def searcher(pattern: str) -> Callable[[str], tuple[int, int] | None]:
    """What finds the first place of an expression in a text, where it begins and ends, or None, in bounded time:
    templates travel in model files, and whoever wrote one chose the expression.

    Expressions are those that `templates.translate` makes: characters or sets of them, each once, perhaps, or any
    number of times, and anchors. Python's engine tries the ways to match one after the other, which are as many as a
    power of the length of the text with one factor per star; `bounded_search` is for those that may be too many.
    """
    quick = re.compile(pattern).search
    stars, questions = pattern.count("*?"), pattern.count("?")

    def search(text: str) -> tuple[int, int] | None:
        if (1 + stars) * math.log(len(text) + 2) + (questions - stars) * math.log(2) > math.log(MOST_WAYS):
            return bounded_search(pattern, text)
        found = quick(text)
        return found.span() if found else None

    return search


def bounded_search(pattern: str, text: str) -> tuple[int, int] | None:
    """As `re.search`, in at most len(pattern) · len(text) steps: the ways to match are tried in the same order, and
    none twice, since a place in the expression and one in the text that once failed together always do."""
    anchored, ends = pattern.startswith(_START), pattern.endswith(_END)
    body = pattern[len(_START) if anchored else 0 : len(pattern) - len(_END) if ends else None]
    items = [(re.compile(found[1], re.DOTALL).match, found[2]) for found in _ITEM.finditer(body)]
    failed: set[tuple[int, int]] = set()
    for begin in range(1 if anchored else len(text) + 1):
        ahead = [(0, begin)]  # what is still to be tried, the next last
        while ahead:
            place = i, t = ahead.pop()
            if place in failed:
                continue
            failed.add(place)  # where it does not fail, all is done
            if i == len(items):
                if ends and t < len(text):
                    continue
                return begin, t
            match, repeat = items[i]
            here = t < len(text) and match(text, t) is not None
            if repeat == "*?":  # as few as can be: go on first
                ahead += [(i, t + 1)] * here + [(i + 1, t)]
            elif repeat == "?":
                ahead += [(i + 1, t)] + [(i + 1, t + 1)] * here
            elif here:
                ahead.append((i + 1, t + 1))
    return None
