"""Lines of the heads of scientific papers, each labelled by what it tells (ParsCit's header data)."""

from __future__ import annotations

import os
import re

from hedgerow.errors import InputError
from reproduction.datasets.parscit import Document, read_documents

FILE = "tagged_headers.txt"
_MARKS = re.compile(r"(</?\w+>|\+L\+|\+PAGE\+)")
_OPENING = re.compile(r"<\w+>")
_ENDS = ("+L+", "+PAGE+")


def load_header_lines(folder: str | os.PathLike[str] | None = None) -> tuple[list[list[str]], list[list[str]]]:
    """The heads of 935 papers as `lines, y`: a list of lines for each, 18,631 in all, and the label of each line.

    There are 14 labels: "title", "author", "affiliation", "address", "email", "abstract" and so on; half of the lines
    are "abstract". A line that tells several things has the label of its longest part; the few words outside all
    parts are left out. `line_features` makes columns of the lines.

    `folder` holds tagged_headers.txt. Without it, the folder parscit inside the one that the environment variable
    HEDGEROW_DATA names is read.
    """
    return read_documents(folder, FILE, _read_head)


def _read_head(head: str, path: str, number: int) -> Document:
    """The lines of one head, which is one line of the file, and their labels."""
    texts: list[str] = []
    labels: list[str] = []
    line: list[tuple[str, str]] = []  # its parts so far, each with its label
    inside: str | None = None

    def close() -> None:
        if line:
            texts.append(" ".join(text for text, _ in line))
            labels.append(max(line, key=lambda part: len(part[0]))[1])
            line.clear()

    for piece in _MARKS.split(head):
        if piece in _ENDS:
            close()
        elif inside is None and _OPENING.fullmatch(piece):
            inside = piece[1:-1]
        elif piece == f"</{inside}>":
            inside = None
        elif piece.strip() and inside is not None:
            line.append((piece.strip(), inside))
    if inside is not None:
        raise InputError(f"has a section {inside!r} that does not end", path=path, line=number)
    close()
    return texts, labels
