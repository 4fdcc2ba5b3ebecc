"""JSON lines: one sequence per line, as tokens, as dicts of features, or as columns.

    {"tokens": ["the", "cat"], "labels": ["DT", "NN"]}
    {"features": [{"word": "the", "length": 3}, {"word": "cat", "length": 3}], "labels": ["DT", "NN"]}
    {"columns": {"word": ["the", "cat"], "length": [3, 3], "language": "en"}, "labels": ["DT", "NN"]}

In a line of columns a value that is no list is a feature of the whole sequence. A label that is null is unlabelled; a
label that is a list says which labels are allowed. Other keys of a line are ignored, and all lines have one form.
NaN is read as null; Infinity, and a key that stands twice in one object, are errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.data.dataset import locate
from hedgerow.data.readers.columns import BadValue, column_of, plain_label, read_columns
from hedgerow.data.readers.source import Source, read_lines
from hedgerow.data.readers.token_rows import IGNORED
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.errors import InputError, placed, quoted
from hedgerow.legend import INDEX, AnyArray

_FORMS = ("tokens", "features", "columns")
MAX_DEPTH = 100  # of lists and objects in each other: a walk over them never runs out of stack


def read_jsonl(
    source: Source, *, label: str = "labels", encoding: str = "utf-8"
) -> tuple[list[list[Any]] | Sequences, AnyArray | None]:
    """Read JSON lines. label : the key of the labels; where it is given, −100 is unlabelled

    Returns
    -------
    X : list of S sequences (from tokens or features), or Sequences (from columns)
    y : object array of S lists of str, int, None or sets of these; None where no line has labels
    """
    path, records = _records(source, encoding)
    if not records:
        raise InputError("has no lines", path=path, hint='A line is a sequence, such as {"tokens": ["the", "cat"]}.')
    forms: list[str] = []
    lengths: list[int] = []
    y = np.empty(len(records), dtype=object)
    for i, (number, record) in enumerate(records):
        try:
            forms.append(_form(record))
            if forms[i] != forms[0]:
                hint = "Write all lines in one form."
                raise InputError(f"has {forms[i]!r} where the lines before have {forms[0]!r}", hint=hint)
            lengths.append(_length(record[forms[0]], forms[0]))
            y[i] = _labels(record.get(label), lengths[i])
            if label != "labels":
                y[i] = [None if one == IGNORED else one for one in y[i]]
        except InputError as error:
            raise placed(error, path=path, line=number) from None
    X = _columns(records, lengths, path) if forms[0] == "columns" else [record[forms[0]] for _, record in records]
    return X, y if any(label in record for _, record in records) else None


def label_jsonl(source: Source, y: Iterable[Sequence[Any]], *, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of the input with "labels" set to y, without line ends. Blank lines are left out."""
    path, records = _records(source, encoding)
    labelings = list(y)
    if len(records) != len(labelings):
        raise InputError(f"has {len(records)} sequences where {len(labelings)} lists of labels were given", path=path)
    for (_, record), labels in zip(records, labelings):
        yield json.dumps(record | {"labels": list(labels)}, ensure_ascii=False)


def _records(source: Source, encoding: str) -> tuple[str | None, list[tuple[int, dict[str, Any]]]]:
    """The path, and the objects of all lines that are not blank, each with its line."""
    path, lines = read_lines(source, encoding)
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                records.append((number, _record(line)))
        except InputError as error:
            raise placed(error, path=path, line=number) from None
    return path, records


def _record(line: str) -> dict[str, Any]:
    record = parse_record(line)
    if not isinstance(record, dict):
        raise InputError(f"is JSON, but not an object: {line[:40]!r}")
    if _is_deep(record):
        raise InputError(f"has more than {MAX_DEPTH} lists and objects in each other")
    try:
        if "\\u" in line:  # JSON can say \ud800, half of a surrogate pair, and no file can hold it
            json.dumps(record, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, RecursionError):
        raise InputError("holds text that is not valid Unicode") from None
    return record


def parse_record(line: str) -> Any:
    """What a line says. NaN, which is no JSON and which many programs write, is null; a key that stands twice is an
    error, and so are infinite numbers."""
    try:
        return _DECODER.decode(line)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"has the key {quoted(twice)} twice in one object", hint="Give it one value.")
    return record


def _constant(name: str) -> None:
    if name != "NaN":
        raise InputError(f"holds {name}: an infinite number is not JSON", hint="Write null, or clip it.")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant)


def _is_deep(record: Any) -> bool:
    level = [record]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _form(record: dict[str, Any]) -> str:
    forms = [form for form in _FORMS if form in record]
    if len(forms) != 1:
        what = f"has {' and '.join(map(repr, forms))}" if forms else "has no sequence"
        raise InputError(what, hint='Give one of "tokens", "features" and "columns".')
    return forms[0]


def _length(items: Any, form: str) -> int:
    """The number of positions of a sequence whose outer shape is right; what the values may be the encoder says."""
    wanted = dict if form == "columns" else list
    if not isinstance(items, wanted):
        raise InputError(f"{form!r} is {type(items).__name__}, not {wanted.__name__}")
    if isinstance(items, dict):
        lists = {name: values for name, values in items.items() if isinstance(values, list)}
        if not lists:
            raise InputError("has no column that is a list")
        first, items = next(iter(lists.items()))
        for name, values in lists.items():
            if len(values) != len(items):
                raise InputError(f"has {len(values)} values where {first!r} has {len(items)}", column=name)
    for t, item in enumerate(items if form != "columns" else ()):
        is_list = isinstance(item, list) and all(isinstance(name, str) for name in item)
        is_token = item is None or isinstance(item, str) or is_list
        if not (isinstance(item, dict) if form == "features" else is_token):
            wish = "a dict of features" if form == "features" else "text or a list of text"
            raise InputError(f"{item!r} is not {wish}", position=t)
    if not items:
        raise InputError("is an empty sequence", hint="Leave it out.")
    return len(items)


def _labels(labels: Any, length: int) -> list[Any]:
    if labels is None:
        return [None] * length
    if not isinstance(labels, list) or len(labels) != length:
        size = f"{len(labels)} labels" if isinstance(labels, list) else f"labels {labels!r}"
        raise InputError(f"has {length} positions and {size}")
    return [_label(label, t) for t, label in enumerate(labels)]


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
    varying = [name for name, sample in first.items() if isinstance(sample, list)]

    def read(name: str) -> tuple[Kind, AnyArray]:
        pieces = [record["columns"][name] for _, record in records]
        return column_of(list(chain.from_iterable(pieces)) if name in varying else pieces)

    def place(bad: BadValue, name: str) -> InputError:
        sequence, position = locate(offsets, bad.row) if name in varying else (bad.row, None)
        return placed(bad, sequence=sequence, position=position, column=name, path=path, line=records[sequence][0])

    columns, kinds = read_columns(first, read, place)
    constants = {name: columns.pop(name) for name in first if name not in varying}
    return Sequences(columns, offsets, kinds, constants)
