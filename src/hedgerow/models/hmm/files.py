"""What a file of an HMM holds."""

from __future__ import annotations

from typing import Any

from hedgerow.data.derived import stored_numbers
from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.chain import HISTORIES
from hedgerow.estimators.codec.parts import Part, Record, State, made_by_order
from hedgerow.estimators.codec.schema import CHAIN, SPACE
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.legend import FLOAT
from hedgerow.models.hmm.emissions import Emissions, check_columns, fills_of, row_bases
from hedgerow.models.hmm.moves import HistoryMoves, TableMoves
from hedgerow.models.hmm.training import Parameters

_LOGS: dict[str, Any] = {"high": 1e-9, "infinite": True}  # of probabilities


def _make_moves(scope: Scope) -> TableMoves | HistoryMoves:
    histories = scope["histories"]
    if histories is None:
        return TableMoves(scope["space"])
    if histories.n_arcs != histories.n_states * scope["K"]:
        refuse("a history has no probability for some label")
    return HistoryMoves(histories)


EMISSIONS = Record(
    (
        Let("base", lambda scope: row_bases(scope["schema"])),
        Let("rows", lambda scope: int(scope["base"][-1])),
        Let("numbers", lambda scope: len(stored_numbers(scope["schema"]))),
        Let("M", lambda scope: len(scope["schema"].attributes)),
        Array("codes", FLOAT, ("rows", "K"), **_LOGS),
        Array("means", FLOAT, ("numbers", "K")),
        Array("variances", FLOAT, ("numbers", "K"), above=0.0),
        Array("attributes", FLOAT, ("M", "K"), **_LOGS),
        Let("fills", lambda scope: fills_of(scope["schema"])),
    ),
    made_by_order(Emissions, "base", "codes", "means", "variances", "attributes", "fills"),
)


STATE = State(
    (
        *CHAIN,
        scores("tilt", ("K",), of="tilt_", optional=True),
        Check(lambda scope: check_columns(scope["schema"])),
        Part("space", SPACE, of="space_"),
        Part("histories", HISTORIES, of=lambda model: getattr(model.moves_, "histories", None), optional=True),
        Let("made moves", _make_moves, of="moves_"),
        Let("H", lambda scope: len(scope["made moves"].legal)),
        Array("moves", FLOAT, ("H", "K"), of=lambda model: model.parameters_.moves.rows, **_LOGS),
        Part("emissions", EMISSIONS, of=lambda model: model.parameters_.emissions),
        Let("scored moves", lambda scope: scope["made moves"].scores(scope["moves"])),
        Let("parameters", made_by_order(Parameters, "scored moves", "emissions"), of="parameters_"),
    )
)
