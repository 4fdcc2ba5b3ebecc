"""How a data frame is cut into sequences. A model keeps the plan of its fit, so that later frames are cut alike, and
what it says of them goes back to their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import SETS
from hedgerow.data.readers.columns import BadValue, nested, objects, plain_label
from hedgerow.data.readers.grouping import Names, as_names, check_roles, cut
from hedgerow.data.readers.tables import FrameTable
from hedgerow.data.readers.times import Timing
from hedgerow.data.readers.token_rows import has_rows, token_rows
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.data.words import word_features, word_kind
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray


@dataclass(frozen=True)
class Plan:
    """How frames are cut.

    by, label, time, max_gap, time_columns : as in `hedgerow.sequences`
    columns : the features, in the order of the frame; None before a frame was seen
    kinds : of columns that are declared
    tokens : the column whose values are lists of tokens, where a row is a sequence
    words : the kind of features that are made of words
    """

    by: tuple[str, ...] = ()
    label: str | None = None
    time: str | None = None
    max_gap: str | float | None = None
    time_columns: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    tokens: str | None = None
    words: str | None = None

    @property
    def timing(self) -> Timing:
        return Timing(self.time, self.max_gap, self.time_columns)

    def read(self, X: Any, y: Any = None, *, labelled: bool = False) -> Given:
        """X, in any shape that `fit` takes, as sequences. y : its labels; with `labelled` they may be in X instead"""
        if isinstance(X, Dataset):
            return Given(X, y, self)
        if is_frame(X) and self.tokens is None:
            read = self.cut(X, y, labelled=labelled)
        else:
            read = Given(X, y, self)
            if self.time is not None and isinstance(X, (list, tuple)) and any(map(is_frame, X[:1])):
                what = "the model was fitted to a frame with ⟦time⟧, and X is a list of frames"
                raise InputError(what, hint="Give one frame: it is sorted and cut as that of fit was.")
            if is_frame(X) or has_rows(X):
                found, labels = token_rows(X, self.tokens, self.label, labelled=labelled and y is None)
                read = Given(found, labels if y is None else y, self)
        return read if self.words is None else read._replace(X=word_features(read.X, self.words))  # type: ignore[arg-type]

    def cut(self, frame: Any, y: Any = None, *, labelled: bool = False) -> Given:
        """A frame as sequences. y : the labels of its rows; with `labelled` they may be in the frame instead"""
        table = FrameTable(frame)
        flat = None if y is None else _row_labels(y, len(table))
        if len(table) == 0 and self.columns is not None:  # a model says nothing of no rows
            return Given([], [] if labelled or y is not None else None, self, table.frame, np.empty(0, INDEX))
        wanted = self.label if labelled and flat is None else None
        columns = self.columns
        if columns is None:
            own = (*self.by, self.label, self.time)
            columns = tuple(name for name in table.names if name not in own)
        kinds = {name: kind for name, kind in self.kinds.items() if name in columns}
        X, labels, order = cut(table, self.by, wanted, columns, (), kinds, timing=self.timing)
        if flat is not None:
            labels = nested(objects(flat)[order].tolist(), X.offsets)
        return Given(X, labels, replace(self, columns=columns), table.frame, order)


class Given(NamedTuple):
    """What a method was given, as sequences; and how what is said of them goes back to the rows of a frame."""

    X: Any
    y: Any = None
    plan: Plan | None = None
    frame: Any = None  # narwhals'
    order: IndexArray | None = None

    def also(self, X: Any, y: Any) -> tuple[Any, Any]:
        """More sequences and their labels, such as held-out ones: a frame is cut as this one was."""
        return (X, y) if X is None or self.plan is None else self.plan.read(X, y, labelled=True)[:2]

    def labels(self, found: AnyArray) -> Any:
        """Labels of the sequences: of a frame, a Series like its rows."""
        if self.order is None:
            return found
        import narwhals as nw

        rows: AnyArray = np.empty(len(self.order), dtype=object)
        rows[self.order] = objects([label for labels in found for label in labels])
        name = self.plan.label if self.plan is not None and self.plan.label is not None else "predicted"
        made = nw.new_series(name, rows.tolist(), backend=self.frame.implementation)
        return self._indexed(made)

    def table(self, found: list[FloatArray], classes: AnyArray) -> Any:
        """Probabilities of the labels of the sequences: of a frame, a frame like its rows with a column a label."""
        if self.order is None:
            return found
        import narwhals as nw

        rows: FloatArray = np.empty((len(self.order), len(classes)))
        rows[self.order] = np.concatenate([rows[:0], *found])
        columns = {str(label): rows[:, k] for k, label in enumerate(classes.tolist())}
        return self._indexed(nw.from_dict(columns, backend=self.frame.implementation))

    def _indexed(self, made: Any) -> Any:
        """What narwhals made, as the frame's library has it, with the frame's index where it has one."""
        import narwhals as nw

        index, native = nw.maybe_get_index(self.frame), made.to_native()
        if index is not None:
            native.index = index
        return native


def lay_out(
    model: Any,
    X: Any,
    y: Any,
    by: Names = None,
    label: Any = None,
    time: str | None = None,
    max_gap: Any = None,
    time_columns: Any = None,
    tokens: str | None = None,
    lengths: Any = None,
) -> Given:
    """What `fit` of a model is given, as sequences."""
    words = word_kind(getattr(model, "features", None))
    named = {"by": by, "time": time, "max_gap": max_gap, "time_columns": time_columns}
    if lengths is not None:
        named |= {"label": label, "tokens": tokens}
        both = next((name for name, value in named.items() if value is not None), None)
        if both is not None:
            raise InputError(f"⟦{both}⟧ is not supported with ⟦lengths⟧", hint="Give one of them.")
        return Given(X, y)
    odd = next((name for name, value in named.items() if value is not None), None)
    frame, rows = is_frame(X) and tokens is None, is_frame(X) or has_rows(X)
    if odd is not None and not frame:
        raise InputError(f"⟦{odd}⟧ is for a data frame, and X is {_what(X)}", hint=f"Leave ⟦{odd}⟧ out.")
    if (label is not None or tokens is not None) and not rows:
        raise InputError(f"⟦label⟧ and ⟦tokens⟧ name columns, and X is {_what(X)}", hint="Give y.")
    if not rows and words is None:
        return Given(X, y)
    if frame and y is None and label is None:
        raise InputError("y is missing", hint="Name the column of labels: ⟦label='state'⟧.")
    timing = Timing.of(time, max_gap, time_columns)
    declared: Any = {name: kind for name, kind in (model.columns or {}).items() if name != "*"}
    if frame and label is None and getattr(y, "name", None) in list(X.columns):
        label = y.name  # the labels are a column of the frame: it is not one of the features
    label = None if label is None else str(label)
    check_roles(as_names(by), label)
    plan = Plan(tuple(as_names(by)), label, *timing, kinds=declared, tokens=tokens, words=words)
    return plan.read(X, y, labelled=True)


def is_frame(X: Any) -> bool:
    """Whether X is one data frame."""
    if isinstance(X, (list, tuple, np.ndarray, Sequences)):
        return False
    return hasattr(X, "columns") and hasattr(X, "shape")


def _what(X: Any) -> str:
    several = isinstance(X, (list, tuple)) and any(map(is_frame, X[:1]))
    return "a list of frames, a sequence each" if several else f"of type {type(X).__name__}"


def _row_labels(y: Any, n_rows: int) -> list[Any]:
    """The labels of rows, one after the other."""
    values = y.to_list() if hasattr(y, "to_list") else y.tolist() if hasattr(y, "tolist") else list(y)
    if len(values) != n_rows:
        hint = "Give one label per row, or name their column with ⟦label⟧."
        raise InputError(f"X is a frame of {n_rows:,} rows and y has {len(values):,} labels", hint=hint)
    try:
        return [value if isinstance(value, SETS) else plain_label(value, row) for row, value in enumerate(values)]
    except BadValue as bad:
        raise InputError(f"row {bad.row}: {bad.what}", hint=bad.hint) from None
