"""What a file of a LatticeCRF holds, and what all models of graphs have in theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.parts import State, made_by_order
from hedgerow.estimators.codec.schema import FITTED, labels
from hedgerow.estimators.codec.steps import Allocates, Let, Scope
from hedgerow.estimators.codec.upgrade import with_trainer
from hedgerow.estimators.codec.values import choice, count, flag
from hedgerow.lattice.scores import FORMS, Form, Layout, Scaling
from hedgerow.legend import FLOAT

RENAMED = {"schedule": "message_schedule"}
_LEAST_SPREAD = 1e-300  # features are divided by it


def _form_name(model: Any) -> str:
    """What was fitted: the parameter may be another one by now."""
    form = model.layout_.form if hasattr(model, "layout_") else model.form_
    return next(name for name in FORMS if np.array_equal(Form.of(name, form.n_labels).edge_tables, form.edge_tables))


def _n_edge_values(scope: Scope) -> int:
    K = len(scope["labels"])
    return {"full": K * K, "symmetric": K * (K + 1) // 2, "ising": 1}[scope["form"]]


def made_form(scope: Scope) -> Form:
    """The tables of labels and of pairs of labels; made last, for they may be larger than the file."""
    return Form.of(scope["form"], scope["K"])


LATTICE = (
    *FITTED,
    flag("converged", of="converged_"),
    *labels(of=lambda model: model.classes_.tolist()),
    Let("classes", lambda scope: np.array(scope["labels"]), of="classes_"),
    Let("K", lambda scope: len(scope["labels"])),
    scores("tilt", ("K",), of="tilt_", optional=True),
    choice("form", FORMS, of=_form_name),
    Let("Q", _n_edge_values),
    Let("P", lambda scope: 1 if scope["form"] == "ising" and scope["K"] == 2 else scope["K"]),
    Allocates("the tables of pairs of labels", lambda scope: 8 * (scope["Q"] + 1) * scope["K"] ** 2),
    count("node_features", each=8, of=lambda model: model.n_features_[0]),
    count("edge_features", each=8, of=lambda model: model.n_features_[1]),
    Let("n_features", lambda scope: (scope["node_features"], scope["edge_features"]), of="n_features_"),
    Let("F", lambda scope: scope["node_features"]),
    Let("E", lambda scope: scope["edge_features"] + (scope["F"] if scope["model"].differences else 0)),
)


STATE = State(
    (
        *LATTICE,
        count("n_directions", low=1, of=lambda model: model.layout_.n_directions),
        Let("of nodes", lambda scope: (1 + scope["F"]) * scope["P"]),
        Let("W", lambda scope: scope["of nodes"] + scope["n_directions"] * (1 + scope["E"]) * scope["Q"]),
        scores("weights", ("W",), of="weights_"),
        Array("node_center", FLOAT, ("F",), of=lambda model: model.scaling_.node_center),
        Array("node_spread", FLOAT, ("F",), above=_LEAST_SPREAD, of=lambda model: model.scaling_.node_spread),
        Array("edge_spread", FLOAT, ("E",), above=_LEAST_SPREAD, of=lambda model: model.scaling_.edge_spread),
        Let("made form", made_form),
        Let("layout", made_by_order(Layout, "made form", "F", "E", "n_directions"), of="layout_"),
        Let("scaling", made_by_order(Scaling, "node_center", "node_spread", "edge_spread"), of="scaling_"),
    ),
    parameters=with_trainer,
    renamed=RENAMED,
)
