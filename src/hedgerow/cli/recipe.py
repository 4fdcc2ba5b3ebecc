"""How the files of a model are read, and written again with labels. `train` is told once; the model keeps it for `tag`
and `eval`."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.cli.inputs import FORMATS, STANDARD, TABLES, Input, check_format, format_of
from hedgerow.data.plan import Plan
from hedgerow.data.readers import Template, label_conll, label_table, read_conll, read_crfsuite, read_jsonl, read_table
from hedgerow.data.readers.columns import is_number, nested
from hedgerow.data.readers.grouping import check_roles
from hedgerow.data.readers.jsonl import parse_record
from hedgerow.data.readers.source import read_lines
from hedgerow.data.readers.table_files import table_lines
from hedgerow.data.sequences import KINDS, Sequences
from hedgerow.errors import InputError, ModelFileError, placed
from hedgerow.estimators.codec.parts import Record, made_by, pack, unpack
from hedgerow.estimators.codec.values import anything, choice, mapping, text, texts
from hedgerow.legend import INDEX, AnyArray

MOST_FRACTIONS = 20  # labels may be 1.5 and 2.5


@dataclass(frozen=True)
class Recipe:
    """How a corpus is read.

    format    "conll", "csv", "tsv", "parquet", "jsonl" or "crfsuite"
    columns   of CoNLL files all columns, the label's too; of tables the features; empty where the file tells
    label     the column of the labels, of CoNLL files and tables; the key of JSON lines
    by        of tables, the columns that tell sequences apart
    time, max_gap, time_columns  of tables, as in `read_table`
    kinds     of tables, what the columns mean
    template  the text of a CRF++ template that makes features of the columns
    encoding  of files of text
    separator what stands between the columns of a CoNLL file; None for any run of spaces and tabs
    complete  of tables, whether every number must be there: a linear model that does not fill them in takes none that
              is missing. It follows from the model, and is not kept with it
    names     of tables, labels by their text, where a model has numbers for labels; not kept either
    """

    format: str
    columns: tuple[str, ...] = ()
    label: str | None = None
    by: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    template: str | None = None
    separator: str | None = None
    time: str | None = None
    max_gap: str | float | None = None
    time_columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    complete: bool = False
    names: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As a model's metadata holds it."""
        return pack(_STORED, self)[0]

    @classmethod
    def from_json(cls, stored: Any) -> Recipe:
        """What `to_json` gave; a model may hold anything in its place."""
        try:
            known = unpack(_STORED, dict(stored), {})
            return cls(**{name: value for name, value in known.items() if value is not None})
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model does not say how its data is read: {error}") from error

    def plan(self, made: Plan | None) -> Plan | None:
        """How a model that was trained by this reads frames, where that was a table. made : what `fit` made"""
        if self.format not in TABLES or self.template is not None:
            return made
        timing, words = (self.time, self.max_gap, self.time_columns), None if made is None else made.words
        return Plan(self.by, self.label, *timing, columns=self.columns, kinds=self.kinds, words=words)  # type: ignore[arg-type]

    def read(self, source: Input) -> tuple[Any, AnyArray | None]:
        """The sequences of a file, and their labels where it has labels. The labels of a table are left out."""
        X, y = self._read_plain(source)
        return self.apply_template(X, source), y

    def read_labelled(self, source: Input, hint: str = "") -> tuple[Any, AnyArray]:
        """The sequences of a file and their labels, which must be there. hint : what to do where they are not"""
        try:
            X, y = self._read_table(source, self.label) if self.format in TABLES else self._read_plain(source)
        except InputError as error:
            if not hint or error.parameter != "label":
                raise
            raise InputError(f"{error.what}, where the labels should be", path=source.name, hint=hint) from error
        if y is None:
            raise InputError("has no labels", path=source.name, hint=hint)
        return self.apply_template(X, source), y

    def apply_template(self, X: Any, source: Input) -> Any:
        """The features that the template makes of X; X itself where there is none."""
        if self.template is None:
            return X
        if not isinstance(X, Sequences):
            hint = 'In JSON lines give "columns", not tokens or features.'
            raise InputError("a template works on columns, and this input has none", path=source.name, hint=hint)
        return Template.parse(self.template).apply(X)

    def _read_plain(self, source: Input) -> tuple[Any, AnyArray | None]:
        if self.format == "conll":
            X = read_conll(source.stream(), label=None, separator=self.separator, encoding=self.encoding)[0]
            return _split_label(X, self, source)
        if self.format == "jsonl":
            return read_jsonl(source.stream(), label=self.label or "labels", encoding=self.encoding)
        if self.format == "crfsuite":
            return read_crfsuite(source.stream(), encoding=self.encoding)
        return self._read_table(source, None)

    def _read_table(self, source: Input, label: str | None) -> tuple[Sequences, AnyArray | None]:
        X, y = read_table(
            source.stream(),
            list(self.by),
            label,
            format=self.format,  # type: ignore[arg-type]
            time=self.time,
            max_gap=self.max_gap,
            time_columns=self.time_columns,
            columns=list(self.columns) or None,
            kinds=self.kinds,  # type: ignore[arg-type]
            allow_missing=not self.complete,
            encoding=self.encoding,
        )
        for row in () if y is None or not self.names else y:
            row[:] = [self.names.get(_whole(label), label) for label in row]
        return X, y


def _whole(label: Any) -> str:
    """A label as models print it: flags in lower case are flags, and 3.0, as tables with gaps have it, is 3."""
    return str(label).capitalize().removesuffix(".0")


_FIELDS = (
    choice("format", FORMATS),
    texts("columns"),
    text("label", nullable=True),
    texts("by"),
    mapping("kinds", lambda given, scope: all(kind in KINDS for kind in given.values())),
    text("template", nullable=True),
    text("separator", nullable=True),
    text("time", optional=True),
    anything("max_gap", optional=True),
    texts("time_columns", optional=True),
    text("encoding", optional=True),
)
_STORED = Record(_FIELDS, made_by(dict, *(field.name for field in _FIELDS)))


def read_training(sources: Sequence[Input], recipe: Recipe) -> tuple[Any, AnyArray, Recipe]:
    """Read the training files. The recipe comes back with what the first file showed: its columns and their kinds.

    `recipe.label` may be an index here, as text; None means the last column, or "label" in a table.
    """
    first = sources[0]
    X, y, recipe = _read_first(first, recipe)
    if y is None:
        raise InputError("has no labels", path=first.name)
    parts = [(recipe.apply_template(X, first), y), *(recipe.read_labelled(source) for source in sources[1:])]
    return _join([X for X, _ in parts], sources), np.concatenate([y for _, y in parts]), recipe


def _read_first(source: Input, recipe: Recipe) -> tuple[Any, AnyArray | None, Recipe]:
    """The first training file, without the template, and the recipe with its columns."""
    if recipe.format == "conll":
        columns = recipe.columns or None
        plain, _ = read_conll(
            source.stream(), columns=columns, label=None, separator=recipe.separator, encoding=recipe.encoding
        )
        names = tuple(plain.columns)
        if len(names) == 1:
            raise InputError("has one column; training needs another one with the labels", path=source.name)
        recipe = replace(recipe, columns=names, label=_label_name(recipe.label, names, source))
        return *_split_label(plain, recipe, source), recipe
    if recipe.format in TABLES:
        recipe = replace(recipe, label=recipe.label or "label")
        check_roles(recipe.by, recipe.label)
        X, y = recipe._read_table(source, recipe.label)
        _refuse_measurements(y, recipe.label, source)
        made = {f"{name} of {recipe.time}" for name in recipe.time_columns}
        kinds = {name: kind for name, kind in X.kinds.items() if name not in made}
        return X, y, replace(recipe, columns=tuple(kinds), kinds=kinds)
    return *recipe._read_plain(source), recipe


def _refuse_measurements(y: Any, label: str | None, source: Input) -> None:
    """Refuse labels that are many numbers with fractions: a column of measurements was named."""
    found = {str(value) for row in y for value in row if value is not None}
    if len(found) > MOST_FRACTIONS and all(map(is_number, found)) and any(0 < float(one) % 1 < 1 for one in found):
        what = f"the labels are {len(found):,} different numbers, such as {min(found)}: these are measurements"
        hint = "Labels are classes: name another column with --label, or cut the numbers into classes first."
        raise InputError(what, path=source.name, column=label, hint=hint)


def recipe_of(model: Any, source: Input, format: str | None) -> Recipe:
    """How a model reads this input: in the format asked for, else the one its suffix tells, else that of training."""
    stored = getattr(model, "metadata_", {}).get("reader")
    trained = Recipe.from_json(stored) if stored else _of_frame(model)
    name = format_of(source.path) if format is None else check_format(format)
    if format is None and name == "tsv" and trained is not None and trained.format not in TABLES:
        name = trained.format  # CoNLL files with tabs are often called .tsv
    name = name or (trained.format if trained is not None else None)
    if name is None:
        raise InputError("cannot tell the format of the input", path=source.name, hint="Give --format.")
    if name in ("jsonl", "crfsuite"):
        if trained is None:
            return Recipe(name)
        label = trained.label if trained.format == name else None
        return Recipe(name, label=label, template=trained.template, encoding=trained.encoding)
    family = TABLES if name in TABLES else ("conll",)
    if trained is None or trained.format not in family:
        origin = "was not made by hedgerow train" if trained is None else f"was trained on {trained.format}"
        what = f"the model {origin}, so that it does not say what the columns of a {name} file mean"
        raise InputError(what, path=source.name, hint="Give the input as JSON lines, or predict in Python.")
    fills = getattr(model, "imputation_", None) is not None
    return replace(trained, format=name, complete=hasattr(model, "weights_") and not fills)


def _of_frame(model: Any) -> Recipe | None:
    """How a model that was fitted to one frame in Python reads tables; None where it was fitted to something else."""
    plan = getattr(model, "plan_", None)
    if plan is None or plan.columns is None or plan.words is not None or plan.tokens is not None:
        return None
    kinds = {column.name: column.kind for column in model.schema_.columns if column.name in plan.columns}
    names = {str(label): label for label in model.schema_.labels if not isinstance(label, str)}
    timing = plan.time, plan.max_gap, plan.time_columns
    return Recipe("csv", plan.columns, plan.label, plan.by, kinds, None, None, *timing, names=names)


def _label_name(label: str | None, names: tuple[str, ...], source: Input) -> str:
    if label is None:
        return names[-1]
    if label in names:
        return label
    try:
        return names[int(label)]
    except (ValueError, IndexError):
        raise InputError(f"has no column {label!r}; it has {', '.join(names)}", path=source.name) from None


def _split_label(X: Sequences, recipe: Recipe, source: Input) -> tuple[Sequences, AnyArray | None]:
    """Name the columns of a CoNLL file, and take the label's out where it is there."""
    features = tuple(name for name in recipe.columns if name != recipe.label)
    width = len(X.columns)
    if width not in (len(features), len(recipe.columns)):
        what = f"has {width} columns where the model needs {len(features)}: {', '.join(features)}"
        hint = f"Labelled files have {len(recipe.columns)}, with {recipe.label!r}."
        raise InputError(what, path=source.name, hint=hint)
    names = recipe.columns if width == len(recipe.columns) else features
    columns = dict(zip(names, X.columns.values()))
    labels = columns.pop(recipe.label, None) if recipe.label is not None else None
    y = None if labels is None else nested(labels.tolist(), X.offsets)
    return Sequences(columns, X.offsets, dict.fromkeys(columns, "categorical")), y


def _join(parts: list[Any], sources: Iterable[Input]) -> Any:
    """Several corpora as one."""
    if len(parts) == 1:
        return parts[0]
    if not any(isinstance(part, Sequences) for part in parts):
        return [sequence for part in parts for sequence in part]
    first = parts[0]
    for part, source in zip(parts, sources):
        if not (isinstance(part, Sequences) and isinstance(first, Sequences) and part.kinds == first.kinds):
            raise InputError("has other columns, or other kinds of columns, than the first file", path=source.name)
    lengths = np.concatenate([part.lengths for part in parts])
    return Sequences(
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
        np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX),
        first.kinds,
        {name: np.concatenate([part.constants[name] for part in parts]) for name in first.constants},
    )


# ------------------------------------------------------------------------------------------------ places


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


# ------------------------------------------------------------------------------------------------ writing


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
