r"""CRF++ and Wapiti templates: lines such as `U05:%x[-1,0]/%x[0,0]` that make features out of columns.

A line makes a column: its name is what stands before the colon, its values are the rest with every command replaced.

    U…           a feature of the position's label       %x[row,col]            the value itself
    B…           a feature of the pair of labels         %m[row,col,"regexp"]   the part that matches
    B            the label pairs themselves              %t[row,col,"regexp"]   true or false: does it match
    *…           both U and B (Wapiti)                   %X %M %T               the same in lower case

`row` counts from the position, `col` counts columns from 0. Beyond the start and the end of a sequence a command
gives _B-1, _B-2, … and _B+1, _B+2, ….
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable
from typing import Literal

from hedgerow.data.readers.expansion import Command, Rule, expand
from hedgerow.data.readers.source import read_lines
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError

_HEAD = re.compile(r"[^:%\s]*")
_COMMENT = re.compile(r"(^|\s)#")
_COMMAND = re.compile(r'%(?P<name>[xXtTmM])\[(?P<row>[+-]?\d+),(?P<col>\d+)(?:,"(?P<regexp>(?:\\.|[^"\\])*)")?\]')
_KNOWN_COMMAND = re.compile(r"%[xXtTmM]\[")
_OTHER_OFFSET = re.compile(r"%[xXtTmM]\[[@*]")


class Template:
    """The rules of a template file. Make one with `Template.read` or `Template.parse`.

    Attributes
    ----------
    text : str
        The template as it was read.
    rules : tuple of Rule
    unigram_columns, bigram_columns : list of str
        The columns of `apply` whose values score a label, and those whose values score a pair of labels.
    transitions : bool
        Whether the template has a bare `B` (or `*`): weights of the label pairs themselves.
    """

    def __init__(self, lines: Iterable[str], path: str | None = None) -> None:
        numbered = list(lines)
        self.text = "\n".join(numbered)
        self.path = path
        filled = [(i, line) for i, line in enumerate(numbered, start=1) if line.strip() and line.lstrip()[0] != "#"]
        self.rules = tuple(_parse_line(line, i, path) for i, line in filled)
        if not self.rules:
            raise InputError("has no rules", path=path, hint="A template has lines such as U00:%x[0,0].")
        features = [rule for rule in self.rules if rule.unigram or rule.commands]
        # Names in the order of the file; a name that stands on several lines is one column.
        self.unigram_columns = list(dict.fromkeys(rule.name for rule in features if rule.unigram))
        self.bigram_columns = list(dict.fromkeys(rule.name for rule in features if rule.bigram and rule.commands))
        self.transitions = any(rule.bigram and not rule.commands for rule in self.rules)

    @classmethod
    def read(cls, source: str | os.PathLike[str] | Iterable[str], *, encoding: str = "utf-8") -> Template:
        """Read a template from a path, an open file or an iterable of lines."""
        path, lines = read_lines(source, encoding)
        return cls(lines, path)

    @classmethod
    def parse(cls, text: str) -> Template:
        """Read a template from its text."""
        return cls(text.replace("\r\n", "\n").split("\n"))

    def __repr__(self) -> str:
        pairs = f", {len(self.bigram_columns)} for label pairs" if self.bigram_columns else ""
        transitions = ", transitions" if self.transitions else ""
        return f"Template({len(self.unigram_columns)} features{pairs}{transitions})"

    def apply(self, X: Sequences) -> Sequences:
        """The columns that the rules make of X's columns, for the same sequences.

        A value is None where a value that it is made of is None. A name that stands on several lines makes one
        column of attributes, with a value for each line: the lines then share their weights, as in CRF++.
        """
        self.check(X)
        return expand(self.rules, X)

    def check(self, X: Sequences) -> None:
        """Raise an InputError with the template's line where a rule asks for a column that X cannot give."""
        names = list(X[:0].columns)  # an empty part has the names, and nothing to copy
        for rule in self.rules:
            for command in rule.commands:
                if command.col >= len(names):
                    what = f"asks for column {command.col}; there are {len(names)}: {', '.join(map(repr, names))}"
                    hint = "Columns count from 0, and the label's column is not one of them."
                    raise InputError(what, path=self.path, line=rule.line, hint=hint)
                kind = X.kinds[names[command.col]]
                if kind != "categorical":
                    what = f"asks for column {names[command.col]!r}, which is {kind}"
                    raise InputError(what, path=self.path, line=rule.line, hint="Templates read categorical columns.")


def _parse_line(line: str, number: int, path: str | None) -> Rule:
    prefix = line[0].upper()
    name = _HEAD.match(line)[0]  # type: ignore[index]
    try:
        if prefix not in "UB*":
            raise ValueError(f"a rule starts with U, B or *, not with {line[0]!r}")
        parts = _parse_parts(line[len(name) :].removeprefix(":"))
    except ValueError as error:
        raise InputError(str(error), path=path, line=number, hint=f"The line is {line!r}.") from None
    if not parts:
        parts = [name]  # a rule without text or commands: one value that holds everywhere
    return Rule(name, tuple(parts), unigram=prefix in "U*", bigram=prefix in "B*", line=number)


def _parse_parts(text: str) -> list[str | Command]:
    """Literal texts and commands of a line, up to a comment (a # at its start or behind a space); ValueError where one
    cannot be read."""
    parts: list[str | Command] = []
    place = 0
    while place < len(text):
        if text[place] == "%":
            match = _COMMAND.match(text, place)
            if match is None:
                raise ValueError(_what_is_wrong(text, place))
            parts.append(_command(match))
            place = match.end()
            continue
        end = text.find("%", place)
        literal = text[place : end if end >= 0 else len(text)]
        comment = _COMMENT.search(literal)
        parts.append(literal[: comment.start()] if comment else literal)
        place = len(text) if comment else place + len(literal)
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return [part for part in parts if part != ""]


def _command(match: re.Match[str]) -> Command:
    letter, regexp = match["name"], match["regexp"]
    for text in (match["row"], match["col"]):
        if len(text) > 6:
            raise ValueError(f"{text[:6]}… is too far")
    row, col = int(match["row"]), int(match["col"])
    action: Literal["value", "test", "match"] = {"x": "value", "t": "test", "m": "match"}[letter.lower()]  # type: ignore[assignment]
    if action == "value":
        if regexp is not None:
            raise ValueError(f"{match[0]!r} takes no regular expression")
        return Command(action, row, col, letter.isupper())
    if regexp is None:
        raise ValueError(f'{match[0]!r} needs a regular expression, as in %{letter}[0,0,"^\\u"]')
    return Command(action, row, col, letter.isupper(), translate(regexp))


def _what_is_wrong(text: str, place: int) -> str:
    if _OTHER_OFFSET.match(text, place):
        return "offsets with @ or * are not supported, only offsets from the position"
    if _KNOWN_COMMAND.match(text, place):
        return f"cannot read the brackets of {text[place:]!r}; they look like %x[-1,0]"
    return f"unknown command {text[place : place + 2]!r}; there are %x, %t and %m"


# -------------------------------------------------------------------------------------------- regular expressions

# Wapiti's classes are those of the C locale.
_CLASSES = {
    "a": "A-Za-z",
    "d": "0-9",
    "l": "a-z",
    "p": re.escape(string.punctuation),
    "s": r" \t\n\r\f\v",
    "u": "A-Z",
    "w": "A-Za-z0-9",
}


def translate(regexp: str) -> str:
    r"""Wapiti's regular expression in Python's syntax.

    It knows `.`, the classes `\a \d \l \p \s \u \w` and their complements in upper case, `^` at the start, `$` at the
    end, and `*` and `?` behind a character. Everything else stands for itself, a backslash before it or not. As in
    Wapiti, `*` takes as little as it can.
    """
    place = 1 if regexp.startswith("^") else 0
    pieces = [r"\A" if place else ""]
    while place < len(regexp):
        character = regexp[place]
        if character == "$" and place == len(regexp) - 1:
            pieces.append(r"\Z")
            break
        if character in "*?":
            raise ValueError(f"{character!r} in {regexp!r} has nothing to repeat; write \\{character} for itself")
        width = 2 if character == "\\" and place + 1 < len(regexp) else 1
        pieces.append(_single(regexp[place : place + width]))
        place += width
        if place < len(regexp) and regexp[place] in "*?":
            pieces.append("*?" if regexp[place] == "*" else "?")
            place += 1
    return "".join(pieces)


def _single(text: str) -> str:
    """One character, escaped or not, as a Python pattern of one character."""
    if text == ".":
        return r"[\s\S]"
    if len(text) == 1:
        return re.escape(text)
    character = text[1]
    if character.lower() in _CLASSES:
        return f"[{'^' if character.isupper() else ''}{_CLASSES[character.lower()]}]"
    return re.escape(character)
