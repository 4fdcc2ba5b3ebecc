"""What a file of a FutureFeatureMEMM holds: trees of two levels, each with its bins."""

from __future__ import annotations

from typing import Any

from hedgerow.estimators.codec.arrays import LARGEST
from hedgerow.estimators.codec.parts import Each, Part, Record, State
from hedgerow.estimators.codec.schema import CALIBRATED, SPACE
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.trees import BINNING, ensemble
from hedgerow.estimators.codec.values import count, flag, real, whole
from hedgerow.models.future.corpus import future_schema
from hedgerow.models.future.multiple_instance import FutureFeature
from hedgerow.models.future.training import FutureTrees
from hedgerow.models.local.previous_labels import MAX_ORDER, label_schema
from hedgerow.trees.ensemble import Ensemble


def _top_columns(scope: Scope) -> Any:
    """What trees of the top level see: the input, the last labels, and future features."""
    return future_schema(label_schema(scope["seen"], scope["order"], backward=scope["backward"]), scope["n_columns"])


TOP = Record(
    (
        Let("columns", _top_columns),
        Part("binning", BINNING, of="binning_"),
        Part("ensemble", ensemble(gaps=True), of="ensemble_"),
    ),
    lambda scope: (scope["binning"], scope["ensemble"]),
)


def _feature_trees(scorer: FutureTrees) -> Ensemble:
    return Ensemble.of(1, [tree for feature in scorer.features for tree in feature.trees])


# The trees of all features, end to end.
LOWER = Record(
    (
        Let("columns", lambda scope: scope["seen"]),
        Part("binning", BINNING, of="inputs"),
        Part("ensemble", ensemble(lambda scope: 1, gaps=True), of=_feature_trees),
    ),
    lambda scope: (scope["binning"], scope["ensemble"]),
)

FEATURE = Record(
    (
        whole("label", points_into="K"),
        real("weight", -LARGEST, LARGEST),
        real("start", -LARGEST, LARGEST),
        count("n_trees", of=lambda feature: len(feature.trees)),
    ),
    lambda scope: (scope["label"], scope["weight"], scope["start"], scope["n_trees"]),
)


def check_features(scope: Scope) -> None:
    """Every feature has a column, and every tree of the lower level a feature."""
    if len(scope["features"]) > scope["n_columns"]:
        refuse("there are more future features than columns for them")
    if sum(n for _, _, _, n in scope["features"]) != scope["lower"][1].n_trees:
        refuse("the trees of future features are not as many as these say")


def _make(scope: Scope) -> FutureTrees:
    (binning, trees), (inputs, lower) = scope["top"], scope["lower"]
    left = iter(lower.trees())
    features = tuple(
        FutureFeature(label, weight, start, tuple(next(left) for _ in range(n)))
        for label, weight, start, n in scope["features"]
    )
    rest = scope["n_columns"], scope["bag"], scope["backward"]
    return FutureTrees(scope["schema"].classes, trees, binning, inputs, features, *rest)


SCORER = Record(
    (
        whole("bag", low=1, nullable=True),
        count("n_columns", each=24),  # three pointers to the bins of each
        Part("top", TOP, of=lambda scorer: scorer),
        Part("lower", LOWER, of=lambda scorer: scorer),
        Each("features", FEATURE),
        Check(check_features),
    ),
    _make,
)


STATE = State(
    (
        *CALIBRATED,
        Part("space", SPACE, of="space_"),
        whole("order", high=MAX_ORDER, of="order_"),
        flag("backward", of="backward_"),
        flag("refitted", of="refitted_"),
        Part("scorer", SCORER, of="scorer_"),
        Let("runs", lambda scope: None, of="runs_"),
    ),
    renamed={"max_features": "max_future_features"},
)
