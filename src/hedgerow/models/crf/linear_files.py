"""What a file of a LinearCRF, or of a MaxMarginMarkovNetwork, holds."""

from __future__ import annotations

import numpy as np

from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.chain import HISTORIES, weight_index
from hedgerow.estimators.codec.parts import Part, Record, State, made_by
from hedgerow.estimators.codec.schema import CALIBRATED, SPACE
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.upgrade import Old, with_trainer
from hedgerow.estimators.codec.values import texts, whole
from hedgerow.legend import INDEX
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import Streams


def check_arcs(scope: Scope) -> None:
    """Transitions are in order, and none has two weights; where there are histories, their arcs have the weights."""
    keys = scope["arc_from"] * scope["K"] + scope["arc_to"]
    if not np.all(keys[1:] > keys[:-1]):
        refuse("the transitions are not in order")
    if scope["histories"] is not None and (len(keys) or scope["pairs"] is not None):
        refuse("there are weights of transitions beside those of histories")


_PAIRS = weight_index(
    lambda scope: Streams.of(scope["seen"], set(scope["pair_columns"])), lambda scope: int(scope["K"] ** 2)
)
# Of the columns that the model sees, `scope["seen"]`.
LAYOUT = Record(
    (
        Part("space", SPACE),
        Part("nodes", weight_index(lambda scope: Streams.of(scope["seen"]))),
        texts("pair_columns"),
        Part("pairs", _PAIRS, optional=True),
        Part("histories", HISTORIES, optional=True),
        Array("arc_from", INDEX, ("A",), points_into="K"),
        Array("arc_to", INDEX, ("A",), points_into="K"),
        Check(check_arcs),
    ),
    made_by(ChainLayout, "nodes", "arc_from", "arc_to", "space", "pairs", "pair_columns", "histories"),
)


def upgrade(old: Old) -> None:
    """The state of a file of format 1."""
    old.schema()
    old.part("layout", pair_columns=old.header["pair_columns"])
    old.space("layout.space")
    old.move("layout.nodes", "nodes")
    if "pairs.row_ptr" in old.tensors:
        old.move("layout.pairs", "pairs")
    old.histories("layout.histories")
    old.keep("arc_from", "arc_to", path="layout.")
    old.keep("weights")
    old.state["n_sequences"] = old.header.get("n_sequences", 0)  # the first files did not have it


STATE = State(
    (
        *CALIBRATED,
        Part("layout", LAYOUT, of="layout_"),
        Let("W", lambda scope: scope["layout"].n_weights),
        scores("weights", ("W",), of="weights_", frozen=True),
        whole("n_sequences", of="n_sequences_"),
    ),
    upgrade,
    parameters=with_trainer,
)
