"""The inputs that trees split on, and how to say in words what an input has to be.

An input has some possible bins, and a condition on it is a set of them: an int whose bit b stands for bin b. A path
through a tree is then, for each input that it reads, an intersection of sets. That is exact, merges intervals, and
drops what is said twice, by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, Protocol

from hedgerow.errors import plain, quoted

PREVIOUS = "previous label"
START = "(start)"

_LETTERS = 60  # of the values of a set; the rest is counted
_LONGEST = 20  # letters of a value in a set; what is longer loses its middle

_PLAIN = re.compile(r"[^\s,{}'\"]+")


class Field(Protocol):
    """An input: the bins that can occur at all, and what it means to be in one of some bins."""

    @property
    def possible(self) -> int: ...

    def text(self, bins: int) -> str: ...


class Value(NamedTuple):
    """How a bin is written: a string of the data, or a word of ours."""

    text: str
    alone: bool = False


MISSING_VALUE, OUTSIDE_VALUE = Value("missing", alone=True), Value("outside", alone=True)


@dataclass(frozen=True)
class Choice:
    """One of some values: the previous label, or a column of codes.

    values : how each bin is written; None for the last one where it stands for all values that are not named
    most : the most values to write out in a set, fewer where they are long; the rest is counted
    """

    name: str
    values: Sequence[Value | None]
    possible: int
    most: int

    def text(self, bins: int) -> str:
        """One of some values, or none of the others: whichever is shorter to say."""
        inside, without = _bits(bins & self.possible), _bits(self.possible & ~bins)
        rest_inside = None in self.values and len(self.values) - 1 in inside
        no = rest_inside or (None not in self.values and len(inside) > len(without))
        if {MISSING_VALUE, OUTSIDE_VALUE} == {self.values[b] for b in without}:
            return f"{self.name} is known"
        chosen = [value for b in (without if no else inside) if (value := self.values[b]) is not None]
        if {MISSING_VALUE, OUTSIDE_VALUE} == set(chosen):
            return f"{self.name} is missing or outside"
        if len(chosen) == 1 and chosen[0].alone:
            return f"{self.name} is {'not ' * no}{chosen[0].text}"
        if len(chosen) == 1:
            text = plain(chosen[0].text) if self.name == PREVIOUS else quoted(chosen[0].text)
            return f"{self.name} {'!' * no}= {text}"
        if self.name != PREVIOUS:
            chosen.sort(key=lambda value: (not value.alone, value.text))
        shown = _first(list(map(_in_set, chosen)), self.most)
        rest = [f"… {len(chosen) - len(shown)} more"] if len(chosen) > len(shown) else []
        return f"{self.name} {'not ' * no}in {{{', '.join(shown + rest)}}}"


@dataclass(frozen=True)
class Number:
    """A numeric column. thresholds: the upper ends of its bins but the last; then come missing and outside."""

    name: str
    thresholds: Sequence[float]
    possible: int

    def text(self, bins: int) -> str:
        """An interval, and whether the number may be missing or outside."""
        last = len(self.thresholds)
        words = {last + 1: "missing", last + 2: "outside"}
        inside = _bits(bins & self.possible)
        numbers, special = [b for b in inside if b not in words], [words[b] for b in inside if b in words]
        if not numbers:
            return f"{self.name} is {' or '.join(special)}"
        if len(numbers) <= last:
            return " or ".join([_interval(self.name, self.thresholds, numbers), *special])
        barred = [words[b] for b in _bits(self.possible & ~bins)]
        return f"{self.name} is not {barred[0]}" if special and barred else f"{self.name} is known"


@dataclass(frozen=True)
class Attribute:
    """An attribute of a sparse position. Bin 0: it is absent; then as in Number, of the values that it may have."""

    name: str
    place: str
    cuts: Sequence[float]

    @property
    def possible(self) -> int:
        return (4 << len(self.cuts)) - 1

    def text(self, bins: int) -> str:
        """Whether it is there, or how large its value is."""
        inside = _bits(bins)
        name = f"{self.name!r} [{self.place}]"
        levels = [b - 1 for b in inside if b > 0]
        if not levels or len(levels) > len(self.cuts):
            return f"has {name}" if levels else f"has not {name}"
        interval = _interval(name, self.cuts, levels)
        return f"{interval} or absent" if inside[0] == 0 else interval


def _interval(name: str, thresholds: Sequence[float], numbers: list[int]) -> str:
    """Bins in a row as an interval; not all bins there are."""
    low = _threshold_text(thresholds, numbers[0] - 1) if numbers[0] > 0 else ""
    high = _threshold_text(thresholds, numbers[-1]) if numbers[-1] < len(thresholds) else ""
    if low and high:
        return f"{low} < {name} <= {high}"
    return f"{name} > {low}" if low else f"{name} <= {high}"


def _threshold_text(thresholds: Sequence[float], i: int) -> str:
    """A threshold with as many digits as set it apart from its neighbours; ten where it has none."""
    exact = float(thresholds[i])
    beside = [abs(exact - float(thresholds[j])) for j in (i - 1, i + 1) if 0 <= j < len(thresholds)]
    for digits in range(4, 17):
        text = f"{exact:.{digits}g}"
        if beside and abs(float(text) - exact) < 0.1 * min(beside):
            return text
    return f"{exact:.10g}"


def signed(value: float, decimals: int) -> str:
    """A number with its sign and so many decimals; with two digits that count where these would show fewer."""
    small = 0.0 < abs(value) < 10.0 ** (1 - decimals)
    return f"{value:+.1e}" if small else f"{value:+.{decimals}f}"


def _first(texts: list[str], most: int) -> list[str]:
    """The first texts, at most so many, and no more than fit; one in any case."""
    ends = accumulate(len(text) for text in texts[:most])
    return texts[: max(1, sum(end <= _LETTERS for end in ends))]


def _in_set(value: Value) -> str:
    if value in (MISSING_VALUE, OUTSIDE_VALUE):
        return f"({value.text})"
    text, half = value.text, _LONGEST // 2
    if len(text) > _LONGEST:
        text = f"{text[:half]}…{text[1 - half :]}"
    return text if _PLAIN.fullmatch(text) or text == START else repr(text)


def _bits(mask: int) -> list[int]:
    return [b for b, bit in enumerate(reversed(bin(mask)[2:])) if bit == "1"]
