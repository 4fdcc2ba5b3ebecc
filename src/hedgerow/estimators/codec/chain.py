"""Histories, and which weights of features there are, as files keep them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow.chain.structure.histories import MAX_ORDER, NOTHING, Histories
from hedgerow.estimators.codec.arrays import Array, pointers
from hedgerow.estimators.codec.parts import Record, made_by, made_by_order
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.values import whole
from hedgerow.legend import CODE, INDEX
from hedgerow.linear.index import Streams, WeightIndex

_ARRAYS = ("labels", "back_off", "arc_state", "arc_label", "arc_next", "legal")


def check_labels(scope: Scope) -> None:
    """The labels of a history are those of the one it backs off to, and one more before them."""
    labels, below = scope["labels"], scope["back_off"]
    if labels.size and int(labels.max()) >= scope["K"]:
        refuse("the histories do not fit the labels")
    there = labels != NOTHING
    lengths = there.sum(axis=1)
    filled = np.arange(labels.shape[1]) >= labels.shape[1] - lengths[:, None]
    if not np.array_equal(there, filled):
        refuse("the labels of a history have a gap")
    longer = np.flatnonzero(below >= 0)
    shorter = below[longer]
    same = (labels[longer] == labels[shorter]) | (labels[shorter] == NOTHING)
    if np.any(shorter >= longer) or not same.all() or np.any(lengths[longer] != lengths[shorter] + 1):
        refuse("a history does not back off to a shorter one")


def check_arcs(scope: Scope) -> None:
    """Arcs are sorted by state and label. Numbers are small enough here for their product."""
    keys = scope["arc_state"].astype(INDEX) * scope["K"] + scope["arc_label"]
    if not np.all(keys[1:] > keys[:-1]):
        refuse("the arcs of the histories are not in order")


# `Histories.linked` makes the rest of what kernels follow, and refuses an arc without one to back off to.
HISTORIES = Record(
    (
        whole("order", high=MAX_ORDER),
        Array("labels", CODE, ("S", "width"), low=NOTHING),
        Array("back_off", CODE, ("S",), low=-1, rises="weakly"),
        Check(check_labels),
        Array("arc_state", CODE, ("A",), points_into="S"),
        Array("arc_label", CODE, ("A",), points_into="K"),
        Array("arc_next", CODE, ("A",), points_into="S"),
        Array("legal", np.bool_, ("A",)),
        Check(check_arcs),
        whole("start", points_into="S"),
        Let("n_labels", lambda scope: scope["K"]),
    ),
    made_by(Histories.linked, "n_labels", "order", "start", *_ARRAYS),
)


# ------------------------------------------------------------------------------------------------ weights


def check_slots(scope: Scope) -> None:
    """The outputs of a row rise: no row has two weights for one output."""
    inner = np.ones(len(scope["slot_label"]), dtype=bool)
    begins = scope["row_ptr"][:-1]
    inner[begins[begins < len(inner)]] = False
    if np.any(inner[1:] & (scope["slot_label"][1:] <= scope["slot_label"][:-1])):
        refuse("a feature has two weights for one label")


def weight_index(
    streams: Callable[[Scope], Streams], n_outputs: Callable[[Scope], int] = lambda scope: int(scope["K"])
) -> Record:
    """The weights of the features of some streams, for so many outputs."""
    return Record(
        (
            Let("streams", streams),
            Let("R", lambda scope: scope["streams"].n_rows),
            Let("outputs", n_outputs),
            Array("slot_label", CODE, ("slots",), points_into="outputs"),
            pointers("row_ptr", "R", "slots"),
            Check(check_slots),
        ),
        made_by_order(WeightIndex, "streams", "outputs", "row_ptr", "slot_label"),
    )
