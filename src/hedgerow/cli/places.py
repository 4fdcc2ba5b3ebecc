"""Where in its files a position of a training corpus stands, for errors that come from training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hedgerow.cli.inputs import STANDARD, TABLES, Input
from hedgerow.cli.recipe import Recipe
from hedgerow.data.readers.source import read_lines
from hedgerow.data.readers.table_files import table_lines
from hedgerow.errors import InputError, placed


def in_files(error: InputError, data: Sequence[str], recipe: Recipe) -> InputError:
    """An error at a sequence of the corpus, with the file and the line where that is, if they can be told."""
    if error.sequence is None or error.line is not None or STANDARD in data:
        return error
    sequence = error.sequence
    for path in data:
        lines = _lines(Input(path), recipe)
        if sequence < len(lines):
            here = lines[sequence]
            line = here[0] if len(here) == 1 or error.position is None else here[error.position]
            return placed(error, path=path, line=line, sequence=None, position=None)
        sequence -= len(lines)
    return error


def _lines(source: Input, recipe: Recipe) -> list[list[int]]:
    """The lines of the positions of each sequence of a file; one for all where a line is a sequence."""
    if recipe.format in TABLES:
        how = {"format": recipe.format, "time": recipe.time, "max_gap": recipe.max_gap, "encoding": recipe.encoding}
        return table_lines(source.stream(), list(recipe.by), **how)  # type: ignore[arg-type]
    _, lines = read_lines(source.stream(), recipe.encoding)
    blank = [not line.strip() or line.startswith("-DOCSTART-") for line in lines]
    numbers = 1 + np.flatnonzero(~np.array(blank, dtype=bool))
    if recipe.format == "jsonl":
        return [[number] for number in numbers.tolist()]
    ends = [0, *(1 + np.flatnonzero(np.diff(numbers) > 1)).tolist(), len(numbers)]
    return [numbers[begin:end].tolist() for begin, end in pairwise(ends)]
