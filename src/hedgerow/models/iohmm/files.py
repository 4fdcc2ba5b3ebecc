"""What a file of an IOHMM holds. Each feature that was seen has all its weights, so one flag says where they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow.estimators.codec.arrays import Array, scores
from hedgerow.estimators.codec.parts import Part, Record, State
from hedgerow.estimators.codec.schema import CHAIN
from hedgerow.estimators.codec.steps import Let, Scope
from hedgerow.estimators.codec.values import count
from hedgerow.legend import CODE, INDEX, FloatArray
from hedgerow.linear.index import Streams, WeightIndex
from hedgerow.models.iohmm.regression import Regressions
from hedgerow.models.iohmm.training import Weights


def _make(scope: Scope) -> tuple[Regressions, FloatArray]:
    width, seen = scope["blocks"] * scope["outputs"], scope["seen_rows"]
    pointers = np.concatenate([[0], np.cumsum(seen) * width]).astype(INDEX)
    labels = np.tile(np.arange(width, dtype=CODE), int(seen.sum()))
    index = WeightIndex(scope["streams"], width, pointers, labels)
    return Regressions(index, scope["blocks"], scope["outputs"]), scope["weights"]


def _regressions(blocks: str, outputs: str) -> Record:
    """Regressions and their weights, those of features, then a bias each; the names of how many regressions there are,
    and of how many outputs each has."""
    return Record(
        (
            Let("blocks", lambda scope: int(scope[blocks])),
            Let("outputs", lambda scope: int(scope[outputs])),
            Array("seen_rows", np.bool_, ("R",), of=lambda pair: np.diff(pair[0].index.row_ptr) > 0),
            Let("W", lambda scope: (int(scope["seen_rows"].sum()) + 1) * scope["blocks"] * scope["outputs"]),
            scores("weights", ("W",), of=lambda pair: pair[1]),
        ),
        _make,
    )


def _pair(i: int) -> Callable[[object], object]:
    return lambda model: (model.regressions_[i], model.parameters_[i])  # type: ignore[attr-defined]


STATE = State(
    (
        *CHAIN,
        scores("tilt", ("K",), of="tilt_", optional=True),
        count("n_states", low=1, of="n_states_"),
        Let("streams", lambda scope: Streams.of(scope["schema"])),
        Let("R", lambda scope: scope["streams"].n_rows),
        Let("n_before", lambda scope: scope["n_states"] + 1),  # a state that is the last one, or none
        Part("moves", _regressions("n_before", "n_states"), of=_pair(0)),
        Part("outputs", _regressions("n_states", "K"), of=_pair(1)),
        Let("regressions", lambda scope: (scope["moves"][0], scope["outputs"][0]), of="regressions_"),
        Let("parameters", lambda scope: Weights(scope["moves"][1], scope["outputs"][1]), of="parameters_"),
    )
)
