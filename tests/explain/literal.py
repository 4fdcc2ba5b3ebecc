"""Reads the text of a condition as a person would, and says whether it holds in raw data."""

from __future__ import annotations

import re

from .made import LETTERS

_ATTRIBUTE = re.compile(r"'(?P<name>[^']*)' \[(?P<offset>[-+]?\d+)\]")
_COLUMN = re.compile(r"(?P<name>\w+)\[(?P<offset>[-+]?\d+)\]")
_MEMBER = re.compile(r"'([^']*)'|\((\w+)\)|([^\s,{}]+)")
_NUMBER = r"-?\d[\d.e+-]*"


def holds(text, sequence, t, previous):
    """Whether a condition holds at position t of a list of dicts, after a label (None at the start)."""
    if text.startswith("previous label"):
        return _compare(text.removeprefix("previous label "), previous or "(start)")
    found = _ATTRIBUTE.search(text) or _COLUMN.match(text) or re.search(r"(?P<name>\w+)\[(?P<offset>[-+]?\d+)\]", text)
    place, name = t + int(found["offset"]), found["name"]
    inside = 0 <= place < len(sequence)
    if _ATTRIBUTE.search(text):
        return _attribute(text, _value_of(name, sequence[place]) if inside else None)
    if name == "position":
        return text.endswith("inside") == inside
    value = _column(name, sequence[place]) if inside else "outside"
    rest = text.replace(found[0], "x", 1)
    if rest.startswith("x is "):
        return _special(rest.removeprefix("x is "), value)
    if name == "size":
        return _range(rest, value)
    return _compare(rest.removeprefix("x "), f"({value})" if value in ("missing", "outside") else value)


def _column(name, row):
    """The value of a column, as conditions write it."""
    if name not in row or (name == "letter" and row[name] not in LETTERS):
        return "missing"
    return {True: "true", False: "false"}[row[name]] if name == "flag" else row[name]


def _value_of(name, row):
    """The value of an attribute, None where it is absent."""
    key, _, item = name.partition(":")
    if key == "tag":
        return 1.0 if item in row["tag"] else None
    return row.get(key)


def _special(words, value):
    no = words.startswith("not ")
    found = (
        value not in ("missing", "outside") if words == "known" else value in words.removeprefix("not ").split(" or ")
    )
    return found != no


def _compare(words, value):
    operator, _, rest = words.partition(" ")
    if operator in ("=", "!="):
        return (rest.strip("'") == value) == (operator == "=")
    members = {"".join(parts) if parts[1] == "" else f"({parts[1]})" for parts in _MEMBER.findall(rest.split("{")[1])}
    assert "…" not in members, "the text leaves values out"
    return (value in members) != words.startswith("not in")


def _range(words, value):
    if value in ("missing", "outside"):
        return value in words.split(" or ")[1:]
    return _between(words.split(" or ")[0], "x", value)


def _attribute(text, value):
    if text.startswith("has"):
        return (value is None) == text.startswith("has not")
    interval, _, absent = text.partition(" or ")
    return absent == "absent" if value is None else _between(interval, _ATTRIBUTE.search(text)[0], value)


def _between(interval, name, value):
    """low < name <= high, where one of the two may not be there."""
    high = re.search(rf"<= ({_NUMBER})$", interval)
    low = re.match(rf"({_NUMBER}) < ", interval) or re.search(rf"> ({_NUMBER})$", interval)
    assert high or low, interval
    assert name in interval
    return (high is None or value <= float(high[1])) and (low is None or value > float(low[1]))
