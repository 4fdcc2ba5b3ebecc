"""What a file of a TreeCRF, or of VirtualEvidence, holds."""

from __future__ import annotations

from typing import Any

from hedgerow.chain.structure.histories import MAX_ORDER
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.estimators.codec.arrays import scores
from hedgerow.estimators.codec.chain import HISTORIES
from hedgerow.estimators.codec.parts import Part, State
from hedgerow.estimators.codec.schema import CALIBRATED, SPACE
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.trees import BINNING, ensemble
from hedgerow.estimators.codec.values import choice, flag, whole
from hedgerow.estimators.files import Model
from hedgerow.estimators.values import OF_TREES
from hedgerow.trees.growing import SURROGATE, WEIGHTING

RENAMED = {"start": "init"}


def check_histories(scope: Scope) -> None:
    """Shared edges of order 2 and more have histories of that order, and other edges have none."""
    wanted = scope["shared_edges"] and scope["order"] > 1
    if (scope["histories"] is not None) != wanted or (wanted and scope["histories"].order != scope["order"]):
        refuse(f"the histories do not fit order {scope['order']}")


def _constant_shape(scope: Scope) -> tuple[int, ...]:
    """Of the start of a chain of order 2 and more."""
    if scope["order"] < 2:
        refuse("a chain of this order has no scores of histories to start from")
    return (scope["histories"].n_arcs,) if scope["shared_edges"] else (int(scope["K"]), _n_before(scope))


def _n_before(scope: Scope) -> int:
    """How many previous labels, or histories, trees tell apart."""
    if scope["order"] > 1 and not scope["shared_edges"]:
        return HistoryTable.full(scope["K"], scope["order"]).n_histories
    return int(scope["K"]) if scope["order"] else 0


def check_gaps(scope: Scope) -> None:
    """Trees take a missing value for none where the way with missing values says so."""
    gaps = scope["missing"] in (WEIGHTING, SURROGATE) and scope["ensemble"].n_trees > 0
    if gaps != (scope["ensemble"].shares is not None):
        refuse(f"the trees do not do what missing={scope['missing']!r} says")
    if scope["ensemble"].vectors and (not scope["shared_edges"] or not scope["order"] or gaps):
        refuse("trees for all labels are for shared edges, from order 1 on, and take a missing value for a value")


def _table_shape(scope: Scope) -> tuple[int, ...]:
    """Of what all iterations add to shared edges."""
    n, K = scope["ensemble"].n_iterations, scope["K"]
    if scope["histories"] is not None:
        return n, scope["histories"].n_arcs
    return (n, K, K) if scope["order"] else (n, 0)


def check_linear(scope: Scope) -> None:
    """Refuse a linear model that the trees cannot stand on."""
    linear = scope["linear"]
    if linear is None:
        return
    if linear.schema_.labels != scope["schema"].labels:
        refuse("the linear model below the trees has other labels")
    if scope["order"] != 1 or linear.layout_.histories is not None:
        refuse("trees of this order do not stand on a linear model, or not on one of its order")
    if scope["shared_edges"] and linear.layout_.pairs is not None:
        refuse("shared edges stand on a linear model with edges of each position")


def _init(scope: Scope) -> Any:
    """The parameter: a linear model stands for itself, where nothing else was set."""
    return scope["model"].init if scope["linear"] is None or "init" in scope["parameters"] else scope["linear"]


STATE = State(
    (
        *CALIBRATED,
        Part("space", SPACE, of="space_"),
        scores("constant", ("K+1", "K"), of="constant_"),
        choice("missing", OF_TREES, of="missing_"),
        whole("order", high=MAX_ORDER, of="order_"),
        flag("shared_edges", of=lambda model: model.edge_tables_ is not None),
        Part("histories", HISTORIES, of="histories_", optional=True),
        Check(check_histories),
        scores("history_constant", _constant_shape, of="history_constant_", optional=True),
        Let("columns", lambda scope: scope["seen"]),
        Part("binning", BINNING, of="binning_"),
        Part("ensemble", ensemble(before=_n_before, gaps=True, vectors=True), of="ensemble_"),
        Check(check_gaps),
        scores("edge_tables", _table_shape, of="edge_tables_", when=lambda scope: scope["shared_edges"]),
        Model("linear", ("LinearCRF",), of="linear_", optional=True),
        Check(check_linear),
        Let("init", _init, of="init"),
        flag("refitted", of="refitted_"),
        whole("likelihood_iterations", of="likelihood_iterations_"),
    ),
    renamed=RENAMED,
)
