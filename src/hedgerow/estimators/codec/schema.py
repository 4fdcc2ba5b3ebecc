"""Schemas as files keep them, legal moves, what stands in for missing values, and what all chain models have."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Derived, Schema, Vocabulary
from hedgerow.data.derived import FUNCTIONS, MOST
from hedgerow.data.imputation import Imputation
from hedgerow.data.plan import Plan
from hedgerow.data.readers.times import Timing
from hedgerow.data.sequences import KINDS
from hedgerow.data.words import RECIPES
from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.parts import Each, Part, Record, made_by
from hedgerow.estimators.codec.steps import Allocates, Check, Let, Scope, refuse
from hedgerow.estimators.codec.values import Value, anything, choice, flag, mapping, real, text, texts, whole
from hedgerow.legend import FIRST_VALUE, INDEX

_FURTHEST = 1_000_000  # offset of a window
_LEAST_SPREAD = 1e-300  # numbers are divided by it
_OFFSETS = "the offsets of a window, which follow each other"

VOCABULARY = Record(
    (Array("utf8", np.uint8, ("bytes",)), Array("ends", INDEX, ("V",), low=0, rises="weakly")),
    lambda scope: Vocabulary.from_arrays(scope["utf8"], scope["ends"]),
)


# ------------------------------------------------------------------------------------------------ columns


def _is_window(value: Any, *, with_here: bool = True) -> bool:
    """Whether offsets go from some place before, or 0, to some place after, or 0, in order and without a gap."""
    if not isinstance(value, list) or not value or any(type(o) is not int or abs(o) > _FURTHEST for o in value):
        return False
    window = range(min(0, *value), max(0, *value) + 1)
    return value == [o for o in window if o != 0 or with_here]


def _is_column_window(value: Any, scope: Scope) -> bool:
    """The same of a column. The one that says "outside" does not say it of the position itself."""
    return _is_window(value, with_here=scope["name"] != OUTSIDE_COLUMN or scope["constant"])


def check_column(scope: Scope) -> None:
    """A feature of the whole sequence has no window; and what says "outside" has no values of its own."""
    if scope["constant"] and scope["offsets"] != (0,):
        refuse(f"the column {scope['name']!r} is of the whole sequence and has a window")
    outside = scope["name"] == OUTSIDE_COLUMN and not scope["constant"]
    if outside and (scope["kind"] != "categorical" or len(scope["vocabulary"])):
        refuse(f"the column {OUTSIDE_COLUMN!r} has values")
    derived = scope["derived"]
    if derived is not None and (scope["kind"] != "numeric" or scope["constant"] or scope["absent"] != "missing"):
        refuse(f"the column {scope['name']!r} cannot be derived")


def _is_derived(value: Any, scope: Scope) -> bool:
    """Whether it is a function of a column: its name, its span and the name of the column."""
    if not isinstance(value, list) or [type(part) for part in value] != [str, int, str]:
        return False
    return value[0] in FUNCTIONS and 1 <= value[1] <= MOST


COLUMN = Record(
    (
        text("name"),
        choice("kind", tuple(kind for kind in KINDS if kind != "attributes")),
        flag("constant"),
        Value("offsets", _is_column_window, _OFFSETS, back=tuple),
        choice("absent", ("missing", "zero"), of=lambda column: "missing" if np.isnan(column.fill) else "zero"),
        real("center"),
        real("spread", above=_LEAST_SPREAD),
        Part("vocabulary", VOCABULARY, when=lambda scope: scope["kind"] == "categorical"),
        Value("derived", _is_derived, "a function, a span and a column", back=lambda x: Derived(*x), optional=True),
        Check(check_column),
        Let("fill", lambda scope: np.nan if scope["absent"] == "missing" else 0.0),
    ),
    made_by(Column, "name", "kind", "offsets", "vocabulary", "constant", "center", "spread", "fill", "derived"),
)


# ------------------------------------------------------------------------------------------------ schemas


def _are_labels(value: Any, scope: Scope) -> bool:
    """Whether labels are strings, flags, or integers of 64 bits, all different and in order."""
    types = {type(label) for label in value} if isinstance(value, list) else set()
    if types not in ({str}, {int}, {bool}) or any(a >= b for a, b in itertools.pairwise(value)):
        return False
    return types != {int} or (value[0] >= -(2**63) and value[-1] < 2**63)


def check_columns(scope: Scope) -> None:
    """No two columns of positions, or of sequences, share a name: the encoder finds them by it. And a column is of
    the kind that was declared for it: the encoder reads values as declared. And a derived one has its source."""
    columns = scope["columns"]
    if len({(column.name, column.constant) for column in columns}) < len(columns):
        refuse("two columns have the same name")
    numbers = {c.name for c in columns if c.kind == "numeric" and not c.constant and c.derived is None}
    for column in columns:
        if column.derived is not None:
            if column.derived.source not in numbers:
                refuse(f"the column {column.name!r} is derived from none that there is")
            continue
        declared = scope["declared"].get(column.name, scope["declared"].get("*"))
        if declared not in (None, "attributes", column.kind) and column.name != OUTSIDE_COLUMN:
            refuse(f"the column {column.name!r} is {column.kind}, and was declared {declared}")


def labels(**more: Any) -> tuple[Value, Allocates]:
    """The labels. Arrays of strings take as much for each as for the longest."""

    def n_bytes(scope: Scope) -> int:
        return 4 * len(scope["labels"]) * max(len(str(label)) for label in scope["labels"])

    field = Value("labels", _are_labels, "distinct texts, or distinct whole numbers, in order", back=tuple, **more)
    return field, Allocates("an array of the labels", n_bytes)


SCHEMA = Record(
    (
        *labels(),
        Each("columns", COLUMN),
        Part("attributes", VOCABULARY),
        Value("attribute_offsets", lambda value, scope: _is_window(value), _OFFSETS, back=tuple),
        anything("window"),
        mapping("declared", lambda given, scope: all(kind in KINDS for kind in given.values())),
        Check(check_columns),
    ),
    made_by(Schema, "columns", "attributes", "attribute_offsets", "labels", "window", "declared"),
)

SPACE = Record(
    (Array("start", np.bool_, ("K",)), Array("transitions", np.bool_, ("K", "K")), Array("end", np.bool_, ("K",))),
    made_by(StateSpace, "start", "transitions", "end"),
)


# ------------------------------------------------------------------------------------------------ missing values


def _are_codes(given: dict[str, Any], scope: Scope) -> bool:
    sizes: dict[str, int] = {}  # of columns of positions and of sequences, which may share a name
    for column in scope["schema"].columns:
        n_codes = column.n_codes if column.kind != "numeric" else 0
        sizes[column.name] = min(n_codes, sizes.get(column.name, n_codes))
    return all(type(code) is int and FIRST_VALUE <= code < sizes.get(name, 0) for name, code in given.items())


def _are_numbers(given: dict[str, Any], scope: Scope) -> bool:
    measured = {column.name for column in scope["schema"].columns if column.kind == "numeric"}
    return given.keys() <= measured and all(type(x) is float and math.isfinite(x) for x in given.values())


def check_flags(scope: Scope) -> None:
    """Columns with flags are listed as the data is stored: codes before numbers, those of sequences after both."""
    kinds: tuple[tuple[Any, ...], ...] = (("categorical", "boolean"), ("numeric",))
    flags, schema = set(scope["flags"]), scope["schema"]
    groups = (schema.of(*kind, constant=constant) for constant in (False, True) for kind in kinds)
    stored = [column.name for group in groups for column in group if column.name in flags]
    if stored != list(scope["flags"]) or len(stored) > len(flags):
        refuse("the flags of missing values do not fit the columns")


IMPUTATION = Record(
    (mapping("codes", _are_codes), mapping("numbers", _are_numbers), texts("flags"), Check(check_flags)),
    made_by(Imputation, "codes", "numbers", "flags"),
)


# ------------------------------------------------------------------------------------------------ frames


def _is_gap(value: Any, scope: Scope) -> bool:
    return isinstance(value, (str, int, float)) and Timing.of("time", value, ()) is not None


PLAN = Record(
    (
        texts("by"),
        text("label", nullable=True),
        text("time", nullable=True),
        Value("max_gap", _is_gap, "a stretch of time", nullable=True),
        texts("time_columns"),
        texts("columns", optional=True),
        text("tokens", optional=True),
        choice("words", tuple(RECIPES), optional=True),
        mapping("kinds", lambda given, scope: all(kind in KINDS for kind in given.values())),
        Let("timing", lambda scope: Timing.of(scope["time"], scope["max_gap"], scope["time_columns"])),
    ),
    made_by(Plan, "by", "label", "time", "max_gap", "time_columns", "columns", "kinds", "tokens", "words"),
)


# ------------------------------------------------------------------------------------------------ every chain model


def _seen(scope: Scope) -> Schema:
    """The columns that the model sees: those of the data, and flags."""
    schema: Schema = scope["schema"]
    return schema if scope["imputation"] is None else scope["imputation"].extend(schema)


FITTED = (
    whole("n_iter", of="n_iter_"),
    whole("best_iteration", of="best_iteration_"),
    real("loss", of="loss_"),
    text("outcome", of="outcome_"),
)

CHAIN = (
    *FITTED,
    Part("schema", SCHEMA, of="schema_"),
    Let("classes", lambda scope: scope["schema"].classes, of="classes_"),
    Let("K", lambda scope: len(scope["schema"].labels)),
    Part("imputation", IMPUTATION, of="imputation_", optional=True),
    Let("seen", _seen),
    Part("plan", PLAN, of="plan_", optional=True),
)

# Of models that are fitted to held-out sequences, too; older files say nothing of them.
CALIBRATED = (
    *CHAIN,
    real("temperature", 0.01, 100.0, of=lambda model: model.temperature_, optional=True),
    Let("tempered", lambda scope: scope["temperature"] or 1.0, of="temperature_"),
    scores("tilt", ("K",), of="tilt_", optional=True),
)
