"""What hedgerow raises and warns with. An error says what is wrong, where, and what to do.

Texts mark the parameters that they name: "Use ⟦edges='shared'⟧, or a lower ⟦order⟧." Readers never see the marks. They
let the command line say `--edges shared` where Python says edges='shared'.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Self

MOST_SHOWN = 80  # characters of a value that is named in a message
LONGEST_LINE = 2000  # characters of what is shown on a terminal
_LONG = 1000  # characters of a message that has to hold somebody's data
_QUOTED = re.compile(rf"(?:'[^']{{{MOST_SHOWN},}}')|(?:\"[^\"]{{{MOST_SHOWN},}}\")")


class Message(str):
    """A text without its marks, which `named` can write in other words. Where it is long, long values are cut."""

    marked: str

    def __new__(cls, text: str) -> Self:
        marked = text.marked if isinstance(text, Message) else text
        if len(marked) > _LONG:
            marked = _QUOTED.sub(lambda found: f"{found[0][: MOST_SHOWN - 2]}…{found[0][-1]}", marked)
            marked = marked if len(marked) <= LONGEST_LINE else f"{marked[:LONGEST_LINE]}…"
        message = super().__new__(cls, marked.replace("⟦", "").replace("⟧", ""))
        message.marked = marked
        return message

    def named(self, write: Callable[[str], str]) -> str:
        """The text with write("order") in place of ⟦order⟧, and write("order=2") in place of ⟦order=2⟧."""
        parts = self.marked.replace("⟧", "⟦").split("⟦")
        return "".join(write(part) if i % 2 else part for i, part in enumerate(parts))

    @property
    def parameter(self) -> str | None:
        """The first parameter that is named; None where none is."""
        _, mark, rest = self.marked.partition("⟦")
        return rest.partition("⟧")[0].partition("=")[0] if mark else None


class HedgerowError(Exception):
    """The base of every error that hedgerow raises on purpose."""


class InputError(HedgerowError, ValueError):
    """Data or a parameter that cannot be used. The message names the place; so do the attributes.

    Sequences and positions count from 0, as Python indexes them, sequences within the `partition` where one is named;
    lines of a file count from 1. `parameter` is the one that is wrong, or the first one that the message names.
    """

    def __init__(
        self,
        what: str,
        *,
        hint: str = "",
        parameter: str | None = None,
        sequence: int | None = None,
        position: int | None = None,
        column: str | None = None,
        path: str | None = None,
        line: int | None = None,
        partition: int | None = None,
    ) -> None:
        self.what = what
        self.hint = hint
        self.parameter = parameter or Message(what).parameter
        self.sequence = sequence
        self.position = position
        self.column = column
        self.path = path
        self.line = line
        self.partition = partition
        places = (
            ("", path), ("line ", line), ("partition ", partition), ("sequence ", sequence), ("position ", position)
        )  # fmt: skip
        named = [f"{word}{place}" for word, place in places if place is not None]
        where = ", ".join(named if column is None else [*named, f"column {column!r}"])
        what = _brief(Message(what).marked)  # values in quotes are cut first
        message = f"{where}: {what}" if where else what
        super().__init__(Message(f"{message}. {hint}" if hint else message))


class NumbersError(InputError, FloatingPointError):
    """Numbers, or weights, that are too large to compute with."""

    HINT = "Numbers or weights are too large: give columns in other units, and weights of about 1."

    def __init__(self, what: str, hint: str = HINT, **place: Any) -> None:
        super().__init__(what, hint=hint, **place)


def _brief(text: str, most: int = 400) -> str:
    """A text in which no value is shown at length: a whole frame, or a row of a thousand numbers."""
    words = " ".join(text.split()) if len(text) > most else text
    return words if len(words) <= most else f"{words[: 2 * most // 3]} … {words[-most // 3 :]}"


class ModelFileError(HedgerowError, ValueError):
    """A model file that is damaged, truncated, foreign, or of a version this hedgerow cannot read."""


class MissingExtraError(HedgerowError, ImportError):
    """An optional dependency is not installed; the message gives the pip command."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'hedgerow[{extra}]'")


class HedgerowWarning(UserWarning):
    """The base of hedgerow's own warnings."""


def placed(error: InputError, **place: Any) -> InputError:
    """The same error with its place (path, line, partition, sequence, position, column), from who knows more."""
    known = {name: getattr(error, name) for name in ("path", "line", "partition", "sequence", "position", "column")}
    kind = type(error) if type(error).__init__ is InputError.__init__ else InputError  # who has arguments of its own
    return kind(error.what, hint=error.hint, parameter=error.parameter, **(known | place))


def among(error: InputError, offsets: Any, flat: int, **place: Any) -> InputError:
    """The same error at a flat position of sequences that begin and end at the offsets."""
    sequence = bisect_right(offsets, flat) - 1
    return placed(error, sequence=sequence, position=flat - int(offsets[sequence]), **place)


def shown(names: Sequence[Any], most: int = 10) -> str:
    """The first of some names, as messages list them."""
    return ", ".join(map(quoted, names[:most])) + (", …" if len(names) > most else "")


def quoted(value: Any) -> str:
    """A value as Python writes it, of at most MOST_SHOWN characters."""
    text = " ".join(repr(value).split())  # in one line
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 2]}…{text[-1]}"


def plain(value: Any, most: int = MOST_SHOWN) -> str:
    """A label or a name for a terminal: at most so many characters, and those escaped that a terminal obeys."""
    text = (value if isinstance(value, str) else str(value))[: most + 1]
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def warn(text: str, category: type[Warning] = HedgerowWarning, *, stacklevel: int = 1) -> None:
    """warnings.warn for a text that marks parameters; `stacklevel` 1 is the caller of this function."""
    warnings.warn(Message(text), category, stacklevel=stacklevel + 1)
