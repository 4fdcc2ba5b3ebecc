"""What a file of a SlidingWindow, a RecurrentSlidingWindow or an MEMM holds: the classifier of rows is a model too."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.estimators.codec.arrays import Array, Ragged
from hedgerow.estimators.codec.parts import Part, Record, State
from hedgerow.estimators.codec.schema import CALIBRATED, SPACE
from hedgerow.estimators.codec.steps import Check, Scope, refuse
from hedgerow.estimators.codec.upgrade import with_trainer
from hedgerow.estimators.codec.values import flag, texts, whole
from hedgerow.estimators.files import Model
from hedgerow.legend import INDEX
from hedgerow.models.crf.tree_files import RENAMED
from hedgerow.models.local.previous_labels import MAX_ORDER, LabelRuns, label_schema
from hedgerow.models.local.training import NAMED, named_estimator

# What older files have among the parameters of a model.
_OF_ESTIMATORS = (
    "l2", "l1", "max_iter", "tol", "pairs", "n_estimators", "max_leaf_nodes", "l2_regularization", "learning_rate",
    "min_samples_leaf", "max_features", "max_bins", "categorical", "subsample", "refit", "early_stopping",
    "validation_fraction", "n_iter_no_change", "scoring", "warm_start",
)  # fmt: skip
_HINT = "Use 'linear' or 'trees'; or pickle the model, where you trust whoever may write to the file."


def check_columns(scope: Scope) -> None:
    """The classifier has the labels of the model and sees its columns; trees see those of the last labels besides,
    in which codes stand for labels."""
    seen, of_rows = scope["seen"], scope["scorer"].schema_
    if of_rows.labels != seen.labels:
        refuse("the classifier of rows has other labels")
    wanted = seen
    if scope["runs"] is None:
        wanted = label_schema(seen, scope["order"], backward=scope["backward"])
        if of_rows.attributes != seen.attributes or of_rows.attribute_offsets != seen.attribute_offsets:
            refuse("the trees do not fit the attributes")
    if of_rows.columns != wanted.columns:
        refuse("the classifier of rows does not fit the columns")
    if scope["scorer"].imputation_ is not None or getattr(scope["scorer"], "order_", 0) != 0:
        refuse("the classifier of rows does not classify single rows")


def _make_runs(scope: Scope) -> LabelRuns:
    fixed = scope["order"], scope["backward"], scope["columns"], scope["conjoined"]
    return LabelRuns(*fixed, tuple(scope["runs"]))


def check_keys(scope: Scope) -> None:
    """Runs of i labels are numbers below (K+1)^i, and conjunctions below (K+1) times the features; all of them rise."""
    made, K = _make_runs(scope), scope["K"]
    ends = [made.streams(scope["seen"]).n_rows * (K + 1), *((K + 1) ** (i + 1) for i in range(scope["order"]))]
    for keys, end in zip((scope["conjoined"], *scope["runs"]), ends):
        if len(keys) and (int(keys[0]) < 0 or int(keys[-1]) >= end or not np.all(keys[1:] > keys[:-1])):
            refuse("the runs of labels do not fit the labels")
    if len(scope["conjoined"]) and not scope["order"]:
        refuse("features are conjoined with a last label, and rows see none")


RUNS = Record(
    (
        texts("columns", nullable=True),
        Array("conjoined", INDEX, ("C",)),
        Ragged("runs", "order", Array("runs", INDEX, ("all",))),
        Check(check_keys),
    ),
    _make_runs,
)


def check_runs(scope: Scope) -> None:
    """The attributes of the linear model are its own, the conjunctions and the runs of labels, in this order."""
    runs, seen = scope["runs"], scope["seen"]
    if (runs is None) == (type(scope["scorer"]).__name__ == "LinearCRF"):
        refuse("a linear classifier of rows sees runs of labels, and no other one does")
    if runs is None:
        return
    n = len(seen.attributes) * len(seen.attribute_offsets) + len(runs.conjoined) + sum(map(len, runs.runs))
    of_rows = scope["scorer"].schema_
    if len(of_rows.attributes) != n or runs.schema(seen) != of_rows:  # the first bounds what the second makes
        refuse("the runs of labels do not fit the linear model")


def with_estimator(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with an estimator of rows as an object; older files have its parameters beside its name."""
    given, estimator = dict(parameters), parameters.get("estimator", "trees")
    if isinstance(estimator, dict):
        kinds = {kind.__name__: kind for kind in NAMED.values()}
        renamed = RENAMED if estimator["kind"] == "TreeCRF" else {}
        named = {renamed.get(name, name): value for name, value in estimator["parameters"].items()}
        return given | {"estimator": kinds[estimator["kind"]](**with_trainer(named))}
    inner = {name: given.pop(name) for name in _OF_ESTIMATORS if name in given}
    if estimator in NAMED and inner:
        defaults = NAMED[estimator]().get_params(deep=False)
        given_before = {name: x for name, x in inner.items() if name in defaults and x not in (defaults[name], "auto")}
        changed = {name: x for name, x in given_before.items() if (name, x) != ("n_iter_no_change", 20)}
        if estimator == "trees":
            changed["leaves"] = "mean"  # as all were when parameters stood so
        given["estimator"] = named_estimator(estimator, **changed) if changed else estimator
    return given


STATE = State(
    (
        *CALIBRATED,
        Part("space", SPACE, of="space_"),
        whole("order", high=MAX_ORDER, of="order_"),
        flag("backward", of="backward_"),
        flag("refitted", of="refitted_"),
        Model("scorer", ("LinearCRF", "TreeCRF"), of="estimator_", hint=_HINT),
        Part("runs", RUNS, of="runs_", optional=True),
        Check(check_columns),
        Check(check_runs),
    ),
    parameters=with_estimator,
    renamed={"classifier": "estimator", "scorer": "estimator", "history": "order"},
)
