"""What stands at the positions of a sequence, as people look at it: text where there is text, else numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from hedgerow.data.reading import blocks_of
from hedgerow.data.rows import Block, Field, is_null
from hedgerow.errors import InputError
from hedgerow.explain import importance
from hedgerow.legend import FloatArray
from hedgerow.report.page.tested import Tested

_NAMES = ("word", "token", "text", "form", "letter", "char", "w")  # of a column that people would read
_ATTRIBUTES = ("w[0]=", "w=", "word=", "word.lower=", "token=", "w[0]:", "word:")
_TRIED = 50  # sequences that tell which column is text
_MANY = 30  # values of a column that is text beside numbers
_LINES = 3  # columns of numbers that are drawn
_LONGEST = 60  # letters of a token


@dataclass(frozen=True)
class View:
    """How sequences are shown: `text` names the column of tokens ("" for attributes), None where there is none;
    `numbers` the columns that are lines."""

    text: str | None
    numbers: tuple[str, ...]

    def tokens(self, tested: Tested, i: int) -> list[str]:
        """The text at each position of a sequence."""
        block = _block(tested, i)
        if self.text == "":
            return _attributes(block)
        values = next((_filled(field, block) for field in block.fields if field.name == self.text), None)
        return [""] * sum(block.lengths) if values is None else [_short(value) for value in values]

    def lines(self, tested: Tested, i: int) -> dict[str, FloatArray]:
        """Column → its numbers, NaN where one is missing."""
        block = _block(tested, i)
        found = {field.name: _filled(field, block) for field in block.fields if field.name in self.numbers}
        as_numbers = {name: [np.nan if is_null(v) else float(v) for v in row] for name, row in found.items()}
        return {name: np.array(as_numbers[name]) for name in self.numbers if name in as_numbers}


def view_of(tested: Tested) -> View:
    """How the tested sequences are best shown."""
    if tested.shapes is not None:
        return View(None, ())
    values: dict[str, Counter[str]] = {}
    numbers: list[str] = []
    attributes = False
    for i in range(min(_TRIED, tested.n_sequences)):
        block = _block(tested, i)
        attributes |= bool(block.entries)
        for field in block.fields:
            known = [value for value in field.values if not is_null(value)]
            if known and all(isinstance(value, str) for value in known):
                values.setdefault(field.name, Counter()).update(known)
            elif known and all(np.isscalar(value) and not isinstance(value, (bool, str)) for value in known):
                numbers += [field.name] * (field.name not in numbers)
    named = [name for name in values if name.lower() in _NAMES]
    text = named[0] if named else max(values, key=lambda name: len(values[name]), default=None)
    if text is None and attributes:
        return View("", ())
    if numbers and (text is None or (len(values[text]) <= _MANY and not named)):
        text = None
    return View(text, tuple(_important(tested.model, numbers)[:_LINES]))


def _important(model: Any, names: list[str]) -> list[str]:
    """The columns that a model leans on most, first."""
    try:
        shares = {row.column: row.share for row in importance(model).columns}
    except (InputError, AttributeError):
        shares = {}
    return sorted(names, key=lambda name: -shares.get(name, 0.0))


def value_reader(view: View) -> Callable[[Tested, int, int], str]:
    """A function that tells what stands at a position, and remembers the sequences that it was asked about."""

    @cache
    def read(tested: Tested, i: int) -> list[str]:
        if tested.shapes is not None:
            return []
        if view.text is not None:
            return view.tokens(tested, i)
        lines = view.lines(tested, i)
        return [", ".join(f"{name} {row[t]:.4g}" for name, row in lines.items()) for t in range(tested.lengths[i])]

    def value(tested: Tested, i: int, t: int) -> str:
        if tested.shapes is not None:
            return str(tuple(map(int, np.unravel_index(t, tested.shapes[i]))))
        return read(tested, i)[t]

    return value


def _block(tested: Tested, i: int) -> Block:
    return next(iter(blocks_of([tested.X[i]])))


def _filled(field: Field, block: Block) -> list[Any]:
    """The value of a column at every position; None where it has none."""
    if field.where is None:
        return list(field.values)
    row: list[Any] = [None] * sum(block.lengths)
    for place, value in zip(field.where.tolist(), field.values):
        row[place] = value
    return row


def _attributes(block: Block) -> list[str]:
    """Of positions that are lists of attributes: the one that looks like the word, else the first."""
    rows: list[list[str]] = [[] for _ in range(sum(block.lengths))]
    for places, names, _ in block.entries:
        for place, name in zip(places.tolist(), names):
            rows[place].append(name)
    return [_short(next(_words(row), row[0] if row else "")) for row in rows]


def _words(row: list[str]) -> Iterator[str]:
    return islice((name[len(mark) :] for mark in _ATTRIBUTES for name in row if name.startswith(mark)), 1)


def _short(value: Any) -> str:
    text = "" if is_null(value) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
