"""What a file of an AutoLabeler holds: the models that it averages, and what was tried."""

from __future__ import annotations

import math
from typing import Any

from hedgerow.data.windows import same_columns
from hedgerow.estimators.codec.parts import State
from hedgerow.estimators.codec.schema import CHAIN
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.estimators.codec.values import Value, real, text
from hedgerow.estimators.files import Models, model_of
from hedgerow.models.auto.candidates import changed_parameters
from hedgerow.models.auto.leaderboard import FIELDS, Leaderboard
from hedgerow.models.auto.parameters import KINDS


def check_members(scope: Scope) -> None:
    """All members read the columns of the first one, each under its own window, and know the same labels."""
    if scope["imputation"] is not None:
        refuse("missing values are filled in by the models of an average, and not before them")
    if scope["estimators"][0].schema_ != scope["schema"]:
        refuse("the columns are not those of the best model")
    for member in scope["estimators"]:
        if not same_columns(member.schema_, scope["schema"]):
            refuse("the models of an average have other columns, or labels")


def _are_records(value: Any, scope: Scope) -> bool:
    dicts = isinstance(value, list) and all(isinstance(one, dict) and one.keys() == FIELDS.keys() for one in value)
    return dicts and all(isinstance(one[name], kind) for one in value for name, kind in FIELDS.items())


def _score(model: Any) -> float | None:
    return None if math.isnan(model.best_score_) else float(model.best_score_)


def with_candidates(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with candidates as models."""
    given = parameters.get("candidates")
    return parameters if given is None else parameters | {"candidates": [model_of(one) for one in given]}


def settle(model: Any, scope: Scope) -> None:
    """What follows from what was read."""
    model.best_score_ = math.nan if scope["best_score"] is None else scope["best_score"]
    model.temperature_ = 1.0 if scope["temperature"] is None else scope["temperature"]  # files of before have none
    model.doubt_ = scope["doubt"] or 0.0
    model.best_params_ = changed_parameters(model.best_estimator_)
    model.chosen_ = model._line()


STATE = State(
    (
        *CHAIN,
        Models("estimators", KINDS, of="estimators_"),
        Check(check_members),
        Let("best_estimator", lambda scope: scope["estimators"][0], of="best_estimator_"),
        real("best_score", of=_score, nullable=True),
        real("temperature", above=0.0, of="temperature_", optional=True),
        real("doubt", 0.0, 1.0, of=lambda model: model.doubt_ or None, optional=True),
        text("scoring_used", of="scoring_"),
        Value("leaderboard", _are_records, "a list of records", back=Leaderboard, of="leaderboard_"),
    ),
    settle=settle,
    parameters=with_candidates,
)
