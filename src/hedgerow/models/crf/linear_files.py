"""What a file of a LinearCRF, or of a MaxMarginMarkovNetwork, holds."""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import Schema
from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.chain import HISTORIES, weight_index
from hedgerow.estimators.codec.parts import Part, Record, State, made_by
from hedgerow.estimators.codec.schema import CALIBRATED, SPACE
from hedgerow.estimators.codec.steps import Allocates, Check, Let, Scope, refuse
from hedgerow.estimators.codec.upgrade import with_trainer
from hedgerow.estimators.codec.values import texts, whole
from hedgerow.legend import INDEX
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.conjunctions import Conjunctions
from hedgerow.linear.index import Streams

MOST_ATOMS = 200  # of an induced feature: a round adds one


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


def check_trie(scope: Scope) -> None:
    """Every node but the root adds an atom to one before it, and atoms rise along a path."""
    parent, row = scope["parent"], scope["row"]
    if not len(parent) or parent[0] != 0 or row[0] != -1 or row.max() >= scope["atoms"]:
        refuse("the induced features have no root, or atoms that are none")
    if np.any(parent[1:] >= np.arange(1, len(parent))) or np.any(row[1:] <= row[parent[1:]]):
        refuse("the atoms of the induced features are not in order")
    above = parent
    for _ in range(MOST_ATOMS):
        above = parent[above]
    if above.any():
        refuse(f"an induced feature has more than {MOST_ATOMS} atoms")


def name_bytes(scope: Scope) -> int:
    """What the names of the induced features take: that of an atom is not longer than the texts of its schema."""
    schema: Schema = scope["seen"]
    texts = [schema.attributes, *(column.vocabulary for column in schema.columns if column.vocabulary is not None)]
    longest = max([int(np.diff(text.ends, prepend=0).max(initial=0)) for text in texts])
    longest += max([0, *(len(column.name.encode("utf-8", "surrogatepass")) for column in schema.columns)])
    depth, above = 1, scope["parent"]
    while above.any():
        depth, above = depth + 1, scope["parent"][above]
    return len(scope["node"]) * depth * (longest + 20)


# Of the columns that the data has, gaps filled.
INDUCED = Record(
    (
        Let("atoms", lambda scope: Streams.of(scope["seen"]).n_rows),
        Array("parent", INDEX, ("J",), points_into="J"),
        Array("row", INDEX, ("J",), low=-1),
        Check(check_trie),
        Array("node", INDEX, ("F",), points_into="J"),
        Allocates("names of the induced features", name_bytes),
        Let("schema", lambda scope: scope["seen"]),
    ),
    made_by(Conjunctions, "schema", "parent", "row", "node"),
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


STATE = State(
    (
        *CALIBRATED,
        Part("induced", INDUCED, of="induced_", optional=True),
        Let("seen", lambda scope: scope["seen"] if scope["induced"] is None else scope["induced"].seen),
        Part("layout", LAYOUT, of="layout_"),
        Let("W", lambda scope: scope["layout"].n_weights),
        scores("weights", ("W",), of="weights_", frozen=True),
        whole("n_sequences", of="n_sequences_"),
    ),
    parameters=with_trainer,
)
