"""JSON lines: one sequence per line, as tokens, as dicts of features, or as columns.

    {"tokens": ["the", "cat"], "labels": ["DT", "NN"]}
    {"features": [{"word": "the", "length": 3}, {"word": "cat", "length": 3}], "labels": ["DT", "NN"]}
    {"columns": {"word": ["the", "cat"], "length": [3, 3], "language": "en"}, "labels": ["DT", "NN"]}

In a line of columns a value that is no list is a feature of the whole sequence. A label that is null is unlabelled; a
label that is a list says which labels are allowed. Other keys of a line are ignored, and all lines have one form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import BadValue, column_of, plain_label
from hedgerow.data.readers.source import Source, read_lines
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray

_FORMS = ("tokens", "features", "columns")


def read_jsonl(source: Source, *, encoding: str = "utf-8") -> tuple[list[list[Any]] | Sequences, AnyArray | None]:
    """Read JSON lines.

    Returns
    -------
    X : list of S sequences (from tokens or features), or Sequences (from columns)
    y : object array of S lists of str, int, None or sets of these; None where no line has labels
    """
    path, lines = read_lines(source, encoding)
    records = [(number, _record(line, path, number)) for number, line in enumerate(lines, start=1) if line.strip()]
    if not records:
        raise InputError("has no lines", path=path, hint='A line is a sequence, such as {"tokens": ["the", "cat"]}.')
    form = _form(records[0][1], path, records[0][0])
    for number, record in records:
        form_here = _form(record, path, number)
        if form_here != form:
            what = f"has {form_here!r} where the lines before have {form!r}"
            raise InputError(what, path=path, line=number, hint="Write all lines in one form.")
        _check_items(record[form], form, path, number)
    lengths = [_length(record[form], path, number) for number, record in records]
    y = _labels(records, lengths, path)
    if form == "columns":
        return _columns(records, lengths, path), y
    return [record[form] for _, record in records], y


def label_jsonl(source: Source, y: Iterable[Sequence[Any]], *, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of the input with "labels" set to y, without line ends. Blank lines are left out."""
    path, lines = read_lines(source, encoding)
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    labelings = list(y)
    if len(filled) != len(labelings):
        raise InputError(f"has {len(filled)} sequences where {len(labelings)} lists of labels were given", path=path)
    for (number, line), labels in zip(filled, labelings):
        yield json.dumps(_record(line, path, number) | {"labels": list(labels)}, ensure_ascii=False)


def _record(line: str, path: str | None, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", path=path, line=number) from None
    if not isinstance(record, dict):
        raise InputError(f"is JSON, but not an object: {line[:40]!r}", path=path, line=number)
    if "\\u" in line:
        _check_text(record, path, number)
    return record


def _check_text(record: dict[str, Any], path: str | None, number: int) -> None:
    r"""Refuse half of a surrogate pair: JSON can say \ud800, and no file can hold it."""
    try:
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, RecursionError):
        raise InputError("holds text that is not valid Unicode", path=path, line=number) from None


def _form(record: dict[str, Any], path: str | None, number: int) -> str:
    forms = [form for form in _FORMS if form in record]
    if len(forms) != 1:
        what = f"has {' and '.join(map(repr, forms))}" if forms else "has no sequence"
        raise InputError(what, path=path, line=number, hint='Give one of "tokens", "features" and "columns".')
    return forms[0]


def _check_items(items: Any, form: str, path: str | None, number: int) -> None:
    """The outer shape of a sequence; what the values may be is for the encoder to say."""
    wanted = dict if form == "columns" else list
    if not isinstance(items, wanted):
        raise InputError(f"{form!r} is {type(items).__name__}, not {wanted.__name__}", path=path, line=number)
    for t, item in enumerate(items if form != "columns" else ()):
        is_list = isinstance(item, list) and all(isinstance(name, str) for name in item)
        is_token = item is None or isinstance(item, str) or is_list
        if not (isinstance(item, dict) if form == "features" else is_token):
            wish = "a dict of features" if form == "features" else "text or a list of text"
            raise InputError(f"{item!r} is not {wish}", position=t, path=path, line=number)


def _length(items: Any, path: str | None, number: int) -> int:
    if isinstance(items, dict):
        lists = {name: values for name, values in items.items() if isinstance(values, list)}
        if not lists:
            raise InputError("has no column that is a list", path=path, line=number)
        first = next(iter(lists))
        for name, values in lists.items():
            if len(values) != len(lists[first]):
                what = f"has {len(values)} values where {first!r} has {len(lists[first])}"
                raise InputError(what, column=name, path=path, line=number)
        items = lists[first]
    if not items:
        raise InputError("is an empty sequence", path=path, line=number, hint="Leave it out.")
    return len(items)


def _labels(records: list[tuple[int, dict[str, Any]]], lengths: list[int], path: str | None) -> AnyArray | None:
    if not any("labels" in record for _, record in records):
        return None
    y = np.empty(len(records), dtype=object)
    for i, (number, record) in enumerate(records):
        labels = record.get("labels")
        if labels is None:
            y[i] = [None] * lengths[i]
            continue
        if not isinstance(labels, list) or len(labels) != lengths[i]:
            size = f"{len(labels)} labels" if isinstance(labels, list) else f"labels {labels!r}"
            raise InputError(f"has {lengths[i]} positions and {size}", path=path, line=number)
        try:
            y[i] = [_label(label, t) for t, label in enumerate(labels)]
        except BadValue as bad:
            raise InputError(bad.what, hint=bad.hint, position=bad.row, path=path, line=number) from None
    return y


def _label(label: Any, t: int) -> Any:
    if not isinstance(label, list):
        return plain_label(label, t)
    allowed = {plain_label(one, t) for one in label}
    if not allowed or None in allowed:
        raise BadValue(t, f"{label!r} is not a list of allowed labels", "Use null for an unlabelled position.")
    return allowed


def _columns(records: list[tuple[int, dict[str, Any]]], lengths: list[int], path: str | None) -> Sequences:
    first = records[0][1]["columns"]
    for number, record in records:
        columns = record["columns"]
        if columns.keys() != first.keys():
            what = f"has the columns {sorted(columns)} where the first line has {sorted(first)}"
            raise InputError(what, path=path, line=number)
        for name, values in columns.items():
            if isinstance(values, list) != isinstance(first[name], list):
                raise InputError("is a list in some lines and one value in others", column=name, path=path, line=number)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
    kinds: dict[str, Kind] = {}
    stored: dict[str, AnyArray] = {}
    constants: dict[str, AnyArray] = {}
    for name, sample in first.items():
        varies = isinstance(sample, list)
        pieces = [record["columns"][name] for _, record in records]
        flat = [value for piece in pieces for value in piece] if varies else pieces
        try:
            kinds[name], (stored if varies else constants)[name] = column_of(flat)
        except BadValue as bad:
            if not varies:
                line = records[bad.row][0]
                raise InputError(bad.what, hint=bad.hint, sequence=bad.row, column=name, path=path, line=line) from None
            line = records[int(np.searchsorted(offsets, bad.row, side="right")) - 1][0]
            raise bad.at(offsets, name, path=path, line=line) from None
    return Sequences(stored, offsets, kinds, constants)
