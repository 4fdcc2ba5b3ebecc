"""What hedgerow raises and warns with. An error says what is wrong, where, and what to do."""

from __future__ import annotations


class HedgerowError(Exception):
    """The base of every error that hedgerow raises on purpose."""


class InputError(HedgerowError, ValueError):
    """Data or a parameter that cannot be used. The message names the place; so do the attributes.

    Sequences and positions count from 0, as Python indexes them; lines of a file count from 1.
    """

    def __init__(
        self,
        what: str,
        *,
        hint: str = "",
        sequence: int | None = None,
        position: int | None = None,
        column: str | None = None,
        path: str | None = None,
        line: int | None = None,
    ) -> None:
        self.sequence = sequence
        self.position = position
        self.column = column
        self.path = path
        self.line = line
        places = [
            f"{path}" if path is not None else "",
            f"line {line}" if line is not None else "",
            f"sequence {sequence}" if sequence is not None else "",
            f"position {position}" if position is not None else "",
            f"column {column!r}" if column is not None else "",
        ]
        where = ", ".join(place for place in places if place)
        message = f"{where}: {what}" if where else what
        super().__init__(f"{message}. {hint}" if hint else message)


class ModelFileError(HedgerowError, ValueError):
    """A model file that is damaged, truncated, foreign, or of a version this hedgerow cannot read."""


class MissingExtraError(HedgerowError, ImportError):
    """An optional dependency is not installed; the message gives the pip command."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'hedgerow[{extra}]'")


class HedgerowWarning(UserWarning):
    """The base of hedgerow's own warnings."""
