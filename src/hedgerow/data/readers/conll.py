"""CoNLL columns: one position per line, columns side by side, a blank line after each sequence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import nested, objects, shared
from hedgerow.data.readers.source import Source, check_width, read_lines
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, IndexArray

_DOCUMENT = "-DOCSTART-"
# str.split() also cuts at these, but a no-break space may be part of a token.
_OTHER_SPACE = re.compile(r"[^\S \t\r\n]")


def read_conll(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    label: int | str | None = -1,
    separator: str | None = None,
    comment: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Sequences, AnyArray | None]:
    """Read CoNLL columns. Every column is categorical.

    Parameters
    ----------
    source : path, open file or iterable of lines
    columns : sequence of str, optional
        A name for every column of the file, the label's too. Default "0", "1", …
    label : int, str or None
        The label's column, by index or name; None where the input has no labels.
    separator : str, optional
        What stands between columns; by default any run of spaces and tabs. With a separator a field may be
        empty, which means a missing value or an unlabelled position.
    comment : str, optional
        Lines that start with this are left out. Off by default, because "#" is a token in many files.
    encoding : str

    Returns
    -------
    X : Sequences
    y : object array of S lists of str, or None where label is None

    Several blank lines count as one. A line whose first column is -DOCSTART- ends a sequence and is left out.
    """
    file = _File(source, separator, comment, encoding)
    width = file.check_width()
    check_width(width, file.path)
    offsets = file.offsets()
    names = _names(columns, width, file.path)
    place = _label_place(label, names, file.path)
    values = [shared(file.fields[j::width]) for j in range(width)]
    if separator is not None:
        values = [[value or None for value in column] for column in values]
    y = None if place is None else nested(values[place], offsets)
    features = {name: objects(values[j]) for j, name in enumerate(names) if j != place}
    return Sequences(features, offsets, dict.fromkeys(features, "categorical")), y


def label_conll(
    source: Source,
    y: Iterable[Sequence[Any]],
    *,
    separator: str | None = None,
    comment: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[str]:
    """The lines of the input, each position's line with its label as one more column, without line ends.

    `source`, `separator` and `comment` are those that read_conll was given. Blank lines, comments and
    -DOCSTART- lines come back as they are. Without a separator the new column stands behind a tab where its
    line has one, and behind a space elsewhere.
    """
    file = _File(source, separator, comment, encoding)
    labels = [label for sequence in y for label in sequence]
    n_positions = int(np.count_nonzero(file.widths))
    if n_positions != len(labels):
        raise InputError(f"has {n_positions} positions where {len(labels)} labels were given", path=file.path)
    return _labelled(file, labels, separator)


def _labelled(file: _File, labels: list[Any], separator: str | None) -> Iterator[str]:
    remaining = iter(labels)
    for line, width in zip(file.lines, file.widths.tolist()):
        if width == 0:
            yield line
            continue
        gap = separator or ("\t" if "\t" in line else " ")
        text = line if separator else line.rstrip(" \t\r")
        yield f"{text}{gap}{next(remaining)}"


class _File:
    """The lines of a file, the fields of all positions in one flat list, and how many each line has.

    A list of fields a line would be simpler, but so many lists keep the garbage collector busy.
    """

    def __init__(self, source: Source, separator: str | None, comment: str | None, encoding: str) -> None:
        if separator == "" or comment == "":
            raise InputError("⟦separator⟧ and comment must not be empty text", hint="Use None instead.")
        self.path, self.lines = read_lines(source, encoding)
        self.fields: list[str] = []
        self.comments: list[int] = []
        split = _splitter(self.lines, separator)
        widths = []
        for i, line in enumerate(self.lines):
            row = split(line)
            if comment and line.startswith(comment):
                self.comments.append(i)
                row = []
            elif row and row[0] == _DOCUMENT:
                row = []
            widths.append(len(row))
            self.fields += row
        self.widths = np.array(widths, dtype=INDEX)

    def check_width(self) -> int:
        """The number of columns, which every position must have."""
        filled = np.flatnonzero(self.widths)
        if len(filled) == 0:
            raise InputError("has no positions", path=self.path, hint="Is the file empty, or all comments?")
        width = int(self.widths[filled[0]])
        ragged = filled[self.widths[filled] != width]
        if len(ragged):
            what = f"expected {width} columns, as in line {filled[0] + 1}, and found {self.widths[ragged[0]]}"
            hint = "If values hold spaces, give the ⟦separator⟧, such as a tab."
            raise InputError(what, path=self.path, line=int(ragged[0]) + 1, hint=hint)
        return width

    def offsets(self) -> IndexArray:
        """The offsets of the sequences: blank lines and -DOCSTART- end one, comments do not."""
        filled = np.flatnonzero(self.widths)
        ends = self.widths == 0
        ends[self.comments] = False
        starts = np.flatnonzero(np.diff(np.cumsum(ends)[filled], prepend=-1))
        return np.append(starts, len(filled)).astype(INDEX)


def _splitter(lines: list[str], separator: str | None) -> Callable[[str], list[str]]:
    """The function that cuts a line into its fields, none for a blank line."""
    if separator is not None:
        return lambda line: line.split(separator) if line.strip() else []
    if _OTHER_SPACE.search("\n".join(lines)) is None:
        return str.split
    return lambda line: [field for field in re.split("[ \t\r]+", line) if field]


def _names(columns: Sequence[str] | None, width: int, path: str | None) -> list[str]:
    if columns is None:
        return [str(j) for j in range(width)]
    names = list(columns)
    if len(names) != width:
        what = f"has {width} columns and {len(names)} names were given: {', '.join(map(repr, names))}"
        raise InputError(what, path=path, hint="Name every column of the file, the label's too.")
    if len(set(names)) < width:
        raise InputError(f"two columns have the same name: {', '.join(map(repr, names))}", path=path)
    return names


def _label_place(label: int | str | None, names: list[str], path: str | None) -> int | None:
    """The index of the label's column; None where there are no labels."""
    if label is None:
        return None
    if len(names) == 1:
        hint = "Use ⟦label=None⟧ to read unlabelled input."
        raise InputError("has one column, and it is taken for the label", path=path, hint=hint)
    if isinstance(label, str):
        if label not in names:
            raise InputError(f"has no column {label!r}; it has {', '.join(map(repr, names))}", path=path)
        return names.index(label)
    if not -len(names) <= label < len(names):
        raise InputError(f"has no column {label}; it has {len(names)} columns", path=path)
    return label % len(names)
