"""Docstrings are plain text, laid out as numpydoc's are. Napoleon reads them as they are meant after this."""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"(`[^`]*`)")
# What means something in reStructuredText and nothing here: names_, |w| and **parameters.
_MARKS = re.compile(r"(?<=\w)_(?!\w)|[|*]")
_ENTRY = re.compile(r"(\S[^:]*?) : (.*)")


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: change the lines of a docstring in place."""
    lines[:] = as_rest(lines)


def as_rest(lines: list[str]) -> list[str]:
    """Escape marks; put paragraphs that follow a list of parameters before it; make sentences out of types that are."""
    text, sections = _cut(lines)
    prose, rest = list(map(_escaped, text)), []
    for title, body in sections:
        if title in ("Parameters", "Attributes"):
            entries, after = _entries(body)
            rest += [title, "-" * len(title), *(line for entry in entries for line in _entry(entry)), ""]
            prose += [*map(_escaped, after), ""]
        elif title == "Examples":
            rest += [title, "-" * len(title), *body]
        else:
            rest += [title, "-" * len(title), *map(_escaped, body)]
    return [*prose, "", *rest]


def _cut(lines: list[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The text before the first title, and each title with what stands below it."""
    text: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    below = text
    for line, after in zip(lines, [*lines[1:], ""]):
        if line and re.fullmatch("-{3,}", after):
            below = []
            sections.append((line, below))
        elif not (sections and not below and re.fullmatch("-{3,}", line)):
            below.append(line)
    return text, sections


def _entries(body: list[str]) -> tuple[list[list[str]], list[str]]:
    """The entries of a list of parameters, and the paragraphs that follow it."""
    entries: list[list[str]] = []
    for number, line in enumerate(body):
        if line and not line.startswith(" "):
            if entries and not body[number - 1]:
                return entries, body[number:]
            entries.append([line])
        elif line and entries:
            entries[-1].append(line.strip())
    return entries, []


def _entry(entry: list[str]) -> list[str]:
    """An entry. What stands behind the colon is a type where a sentence follows, and itself the sentence elsewhere."""
    head, *body = entry
    found = _ENTRY.fullmatch(head)
    if found is None:
        return [head, *(f"    {_escaped(line)}" for line in body)]
    if body and re.match(r"[A-Z0-9\"`(λΣ]", body[0]) and not found[2].endswith((",", ";")) and len(head) < 100:
        return [f"{found[1]} : {_escaped(found[2])}", *(f"    {_escaped(line)}" for line in body)]
    return [found[1], *(f"    {_escaped(line)}" for line in (found[2], *body))]


def _escaped(line: str) -> str:
    if line.lstrip().startswith(">>>"):
        return line
    parts = _CODE.split(line)
    return "".join(part if k % 2 else _MARKS.sub(r"\\\g<0>", part) for k, part in enumerate(parts))
