"""What a file of a TreeLatticeCRF holds."""

from __future__ import annotations

import numpy as np

from hedgerow.estimators.codec.arrays import scores
from hedgerow.estimators.codec.parts import Part, Record, State
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.trees import BINNING, ensemble
from hedgerow.lattice.boosting import Bins
from hedgerow.lattice.files import LATTICE, RENAMED, made_form
from hedgerow.lattice.tree_rows import row_dataset


def _level(name: str, n_columns: str, n_values: str) -> Part:
    """The bins and trees of nodes, or of edges, which have so many columns and values."""
    record = Record(
        (
            Let("columns", lambda scope: row_dataset(np.empty((1, scope.size(n_columns)))).schema),
            Part("binning", BINNING, of=lambda model: getattr(model.bins_, f"{name}s")),
            Part("ensemble", ensemble(lambda scope: int(scope[n_values])), of=f"{name}_trees_"),
        ),
        lambda scope: (scope["binning"], scope["ensemble"]),
    )
    return Part(name, record, of=lambda model: model)


def check_iterations(scope: Scope) -> None:
    """Every iteration has trees of nodes; and of edges, where there were some."""
    nodes, edges = scope["node"][1].n_iterations, scope["edge"][1].n_iterations
    if edges not in (0, nodes):
        refuse(f"there are trees of nodes for {nodes} iterations, and of edges for {edges}")


STATE = State(
    (
        *LATTICE,
        scores("start_values", ("P",), of="start_values_"),
        _level("node", "F", "P"),
        _level("edge", "E+1", "Q"),  # the last column is the direction
        Check(check_iterations),
        Let("made form", made_form, of="form_"),
        Let("bins", lambda scope: Bins(scope["node"][0], scope["edge"][0]), of="bins_"),
        Let("node trees", lambda scope: scope["node"][1], of="node_trees_"),
        Let("edge trees", lambda scope: scope["edge"][1], of="edge_trees_"),
    ),
    renamed=RENAMED,
)
