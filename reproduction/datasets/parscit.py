"""The files of ParsCit: a document stands on one line, and marks tell where its own lines end."""

from __future__ import annotations

import os
from collections.abc import Callable

from reproduction.datasets.folders import find_folder

Document = tuple[list[str], list[str]]  # the lines of a document and their labels


def read_documents(
    folder: str | os.PathLike[str] | None, file: str, read: Callable[[str, str, int], Document]
) -> tuple[list[list[str]], list[list[str]]]:
    """The lines and the labels of each document of a file in `folder`, else in the parscit of HEDGEROW_DATA.

    `read` takes the text of one document, and the file and the line where it stands, for its errors.
    """
    path = find_folder(folder, "parscit", (file,)) / file
    lines: list[list[str]] = []
    y: list[list[str]] = []
    for number, document in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if document.strip():
            texts, labels = read(document, os.fspath(path), number)
            lines.append(texts)
            y.append(labels)
    return lines, y
