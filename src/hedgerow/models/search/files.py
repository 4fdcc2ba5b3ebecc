"""What a file of a BeamSearchTagger holds: weights, or trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.chain import weight_index
from hedgerow.estimators.codec.parts import Part, Record, State, made_by, made_by_order
from hedgerow.estimators.codec.schema import CHAIN, SPACE
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.trees import BINNING, ensemble
from hedgerow.estimators.codec.values import flag, whole
from hedgerow.estimators.files import Model
from hedgerow.legend import CODE
from hedgerow.linear.index import Streams
from hedgerow.models.local.previous_labels import MAX_ORDER, label_schema
from hedgerow.models.search.features import MAX_COUNTS, MAX_WEIGHTS, SearchLayout
from hedgerow.models.search.ranking import RankingTrees
from hedgerow.models.search.training import thermometer_schema


def check_future(scope: Scope) -> None:
    """Future features are of the columns that the tagger sees, and no more of them than a file of its size holds."""
    if (finder := scope["future"]) is None:
        return
    if finder.schema_ != scope["seen"] or finder.imputation_ is not None:
        refuse("the future features are of other columns")
    if finder.n_features_ * int(finder.feature_bins) > scope["n_bytes"] // 8:
        refuse("there are more columns of future features than the file can hold")


# ------------------------------------------------------------------------------------------------ weights


def check_run_tree(scope: Scope) -> None:
    """Runs of labels are a tree, each node after its parent, and no deeper than the order."""
    child = scope["child"]
    parents, _ = np.nonzero(child >= 0)
    nodes = child[child >= 0]
    if not len(child) or not np.array_equal(np.sort(nodes), np.arange(1, len(child))) or np.any(nodes <= parents):
        refuse("the runs of labels do not form a tree")
    depth = np.zeros(len(child), dtype=int)
    for node, parent in sorted(zip(nodes.tolist(), parents.tolist())):
        depth[node] = depth[parent] + 1
    if depth.max() > scope["order"]:
        refuse("the runs of labels are longer than the order")


def _layout(scope: Scope) -> SearchLayout:
    layout: SearchLayout = made_by(SearchLayout, "nodes", "child", "order", "label_counts", "space", "backward")(scope)
    if layout.n_weights > MAX_WEIGHTS:
        refuse(f"{layout.n_weights:,} weights are too many")
    return layout


def _of_layout(name: str) -> Callable[[Any], Any]:
    return lambda model: getattr(model.layout_, name)


LINEAR = Record(
    (
        whole("order", high=MAX_ORDER, of=_of_layout("order")),
        flag("backward", of=_of_layout("backward")),
        whole("label_counts", high=MAX_COUNTS, of=_of_layout("label_counts")),
        Part("nodes", weight_index(lambda scope: Streams.of(scope["input"])), of=_of_layout("nodes")),
        Array("child", CODE, ("M", "K+1"), low=-1, of=_of_layout("child")),
        Check(check_run_tree),
        Let("layout", _layout),
        Let("W", lambda scope: scope["layout"].n_weights),
        scores("weights", ("W",), of="weights_"),
    ),
    lambda scope: (scope["layout"], scope["weights"]),
)


# ------------------------------------------------------------------------------------------------ trees


TREES = Record(
    (
        whole("order", high=MAX_ORDER),
        flag("backward"),
        Let("columns", lambda scope: label_schema(scope["input"], scope["order"], backward=scope["backward"])),
        Part("binning", BINNING, of="binning_"),
        Part("ensemble", ensemble(), of="ensemble_"),
    ),
    made_by_order(RankingTrees, "classes", "ensemble", "binning", "order", "backward"),
)


def check_one(scope: Scope) -> None:
    """Either weights rank labels, or trees do."""
    if (scope["linear"] is None) == (scope["trees"] is None):
        refuse("labels are ranked by weights or by trees, one of them")


def settle(model: Any, scope: Scope) -> None:
    """A model has only what ranks its labels."""
    if scope["trees"] is not None:
        model.trees_ = scope["trees"]
    else:
        model.layout_, model.weights_ = scope["linear"]


STATE = State(
    (
        *CHAIN,
        Part("space", SPACE, of="space_"),
        flag("refitted", of="refitted_"),
        Model("future", ("FutureFeatureMEMM",), of="future_", optional=True),
        Check(check_future),
        Let("input", lambda scope: thermometer_schema(scope["seen"], scope["future"])),
        Part("linear", LINEAR, of=lambda model: model if hasattr(model, "weights_") else None, optional=True),
        Part("trees", TREES, of=lambda model: getattr(model, "trees_", None), optional=True),
        Check(check_one),
    ),
    settle,
)
