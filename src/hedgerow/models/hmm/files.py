"""HMM as tensors and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import ModelFileError
from hedgerow.estimators.history_files import pack_histories, unpack_histories
from hedgerow.estimators.schema_files import Tensors, pack_space, tensor, unpack_space
from hedgerow.legend import FloatArray
from hedgerow.models.hmm.emissions import Emissions, fills_of, row_bases
from hedgerow.models.hmm.moves import HistoryMoves, TableMoves
from hedgerow.models.hmm.training import Parameters


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's probabilities to the tensors; return its part of the header."""
    moves, emissions = model.parameters_
    pack_space(model.space_, tensors)
    tensors |= {
        "moves": moves.rows,
        "emissions.codes": emissions.codes,
        "emissions.means": emissions.means,
        "emissions.variances": emissions.variances,
        "emissions.attributes": emissions.attributes,
    }
    if isinstance(model.moves_, HistoryMoves):
        pack_histories(model.moves_.histories, tensors)
    return {}


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    schema = model.schema_
    K, base, n_numbers = len(schema.labels), row_bases(schema), len(schema.of("numeric"))
    model.space_ = unpack_space(K, tensors)
    model.moves_ = moves = _unpack_moves(model.space_, tensors)
    rows = _log_probs(tensors, "moves", moves.legal.shape)
    emissions = Emissions(
        base,
        _log_probs(tensors, "emissions.codes", (int(base[-1]), K)),
        tensor(tensors, "emissions.means", np.float64, (n_numbers, K)),
        tensor(tensors, "emissions.variances", np.float64, (n_numbers, K)),
        _log_probs(tensors, "emissions.attributes", (len(schema.attributes), K)),
        fills_of(schema),
    )
    if not np.isfinite(emissions.means).all() or not (emissions.variances > 0).all():
        raise ModelFileError("a mean or a variance is not a number")
    model.parameters_ = Parameters(moves.scores(rows), emissions)


def _unpack_moves(space: StateSpace, tensors: Tensors) -> TableMoves | HistoryMoves:
    histories = unpack_histories(space.n_labels, tensors)
    if histories is None:
        return TableMoves(space)
    if histories.n_arcs != histories.n_states * space.n_labels:
        raise ModelFileError("a history has no probability for some label")
    return HistoryMoves(histories)


def _log_probs(tensors: Tensors, name: str, shape: tuple[int, ...]) -> FloatArray:
    values = tensor(tensors, name, np.float64, shape)
    if np.isnan(values).any() or (values > 1e-9).any():
        raise ModelFileError(f"{name} holds what is no log of a probability")
    return values
