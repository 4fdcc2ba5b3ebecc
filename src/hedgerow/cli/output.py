"""What `tag` writes: the input with more columns, in the format of the input."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.cli.inputs import Input
from hedgerow.cli.recipe import Recipe
from hedgerow.data.readers import label_conll, label_table
from hedgerow.data.readers.jsonl import parse_record
from hedgerow.data.readers.source import read_lines

Columns = Mapping[str, Sequence[Sequence[Any]]]


def labelled(source: Input, recipe: Recipe, columns: Columns, y: Any) -> bytes:
    """The input as bytes, with more columns: name → values, a list per sequence. `y` are its labels, if it has any."""
    if recipe.format == "conll":
        return _conll(source, recipe, columns)
    if recipe.format == "jsonl":
        return _jsonl(source, recipe, columns)
    if recipe.format == "crfsuite":
        return _crfsuite(recipe, columns, y)
    return _table(source, recipe, columns)


def _text(lines: Sequence[str], recipe: Recipe) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(recipe.encoding)


def _conll(source: Input, recipe: Recipe, columns: Columns) -> bytes:
    """None, a value that is not there, is written as "_": a column may not be empty."""
    _, lines = read_lines(source.stream(), recipe.encoding)
    for values in columns.values():
        filled = [["_" if value is None else value for value in sequence] for sequence in values]
        lines = list(label_conll(lines, filled, separator=recipe.separator))
    return _text(lines, recipe)


def _jsonl(source: Input, recipe: Recipe, columns: Columns) -> bytes:
    _, lines = read_lines(source.stream(), recipe.encoding)
    records = [parse_record(line) for line in lines if line.strip()]
    added = [dict(zip(columns, values)) for values in zip(*columns.values())]
    return _text([json.dumps(record | new, ensure_ascii=False) for record, new in zip(records, added)], recipe)


def _crfsuite(recipe: Recipe, columns: Columns, y: Any) -> bytes:
    """The label of the file and the new columns, as the tagger of CRFsuite prints them."""
    lines = []
    for sequence in zip(y, *columns.values()):
        lines += ["\t".join("_" if value is None else str(value) for value in row) for row in zip(*sequence)]
        lines.append("")
    return _text(lines, recipe)


def _table(source: Input, recipe: Recipe, columns: Columns) -> bytes:
    content, text = source.stream(), recipe.format != "parquet"
    how: Any = {"format": recipe.format, "time": recipe.time, "max_gap": recipe.max_gap, "encoding": recipe.encoding}
    for name, values in columns.items():
        target: Any = io.StringIO(newline="") if text else io.BytesIO()
        label_table(content, values, target, list(recipe.by), name=name, **how)
        content = io.BytesIO(target.getvalue().encode(recipe.encoding) if text else target.getvalue())
    return content.getvalue()
