"""The small regular expressions of Wapiti's templates, in Python's syntax."""

from __future__ import annotations

import re
import string

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
