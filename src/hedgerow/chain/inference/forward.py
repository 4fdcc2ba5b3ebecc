"""The log partition of a chunk, and the two things that can go wrong with it: faint messages and illegal input."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import histories, history_tables, passes
from hedgerow.chain.inference.history_rows import dead_end
from hedgerow.chain.inference.history_rows import refuse_illegal as refuse_history
from hedgerow.chain.inference.workspace import Workspace, slices, slices_back
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables, PositionEdges
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, FloatArray


def log_partition(potentials: ChainPotentials, workspace: Workspace | None = None) -> FloatArray:
    """log Z of every sequence of the chunk, (s,)."""
    if isinstance(potentials.edges, HistoryEdges):
        return histories.log_partition(potentials, workspace)
    if isinstance(potentials.edges, HistoryTables):
        return history_tables.log_partition(potentials)
    work = workspace or Workspace()
    first = potentials.first()
    passes.forward(potentials, first, work)
    values = scaled_log_partition(potentials, first, work)
    for i in faint_sequences(potentials, work, both_ways=False):
        values[i] = total_log_sum(*log_forward(potentials.sequence(i)))
    return checked(values, potentials)


def scaled_log_partition(potentials: ChainPotentials, first: AnyArray, work: Workspace) -> FloatArray:
    """log Z = Σ_t (log c_t + top_t) + Σ_{t≥2} shift_t, (s,)."""
    logs = np.log(work.scale)
    logs += work.top
    edges = potentials.tables
    if isinstance(edges, PositionEdges):
        logs += np.where(first[:-1], 0.0, edges.shifts)
        shared_shift = 0.0
    else:
        shared_shift = edges.shift
    offsets = potentials.offsets
    values: FloatArray = np.add.reduceat(logs, offsets[:-1])
    values += (offsets[1:] - offsets[:-1] - 1) * shared_shift
    return values


def faint_sequences(potentials: ChainPotentials, work: Workspace, *, both_ways: bool) -> list[int]:
    """The sequences in which a message that is possible fell under 1e-280. An illegal sequence is an error.

    The kernels count small messages; of those, the impossible ones are 0 for a good reason. Boolean reachability
    says how many: it reads the scores, since exp(−2000) is 0 and yet possible.
    """
    padding = work.alpha.shape[1] - potentials.n_labels
    noted = work.faint > padding
    if not noted.any():
        return []
    suspects = np.flatnonzero(np.logical_or.reduceat(noted, potentials.offsets[:-1]))
    part, rows = potentials.take(suspects)
    numbers = part.node_scores < np.inf  # false for NaN too, which no comparison of messages notices
    if not numbers.all():
        refuse_scores(part, int(np.argmin(numbers.all(axis=1))))
    first = part.first()
    reached, n_reached = passes.reach(part, first)
    if not n_reached.all():
        refuse_illegal(part, int(np.argmin(n_reached)))
    n_impossible = padding + part.n_labels - n_reached
    if both_ways:
        n_impossible += part.n_labels - passes.reach_end(part, first, reached)
    faint = np.logical_or.reduceat(work.faint[rows] > n_impossible, part.offsets[:-1])
    return [int(i) for i in suspects[faint]]


def check_legal(potentials: ChainPotentials) -> None:
    """Raise an error where a sequence has no legal labeling."""
    if isinstance(potentials.edges, HistoryEdges):
        for i in range(potentials.n_sequences):
            refuse_history(potentials, i)
        return
    if isinstance(potentials.edges, HistoryTables):
        history_tables.log_partition(potentials)
        return
    _, n_reached = passes.reach(potentials, potentials.first())
    if not n_reached.all():
        refuse_illegal(potentials, int(np.argmin(n_reached)))


def legal_sequences(potentials: ChainPotentials) -> BoolArray:
    """bool (s,): the sequences that have a legal labeling."""
    if isinstance(potentials.edges, HistoryEdges):
        return np.array([dead_end(potentials, i) is None for i in range(potentials.n_sequences)], dtype=bool)
    if isinstance(potentials.edges, HistoryTables):
        return history_tables.legal_sequences(potentials)
    _, n_reached = passes.reach(potentials, potentials.first())
    legal: BoolArray = np.logical_and.reduceat(n_reached > 0, potentials.offsets[:-1])
    return legal


def refuse_illegal(potentials: ChainPotentials, row: int) -> NoReturn:
    """Raise the error of a chunk whose position `row` no legal labeling passes."""
    i, position = potentials.place(row)
    raise InputError(
        "no legal labeling exists: no label that is possible here follows one that is possible before",
        hint="Allow more transitions, or more labels at this position",
        sequence=i,
        position=position,
    )


def log_forward(potentials: ChainPotentials) -> tuple[FloatArray, FloatArray]:
    """log α of a chunk, (n, K), with the largest of each position taken out, and those, (n,)."""
    n, K = potentials.node_scores.shape
    log_alpha, tops = np.empty((n, K)), np.empty(n)
    first = potentials.first()
    for t0, t1 in slices(n, 40 * K * K):
        kernels.log_chain.forward(potentials.node_scores, potentials.tables.scores_to, first, log_alpha, tops, t0, t1)
    return log_alpha, tops


def log_backward(potentials: ChainPotentials) -> tuple[FloatArray, FloatArray]:
    """log β of a chunk, (n, K), with the largest of each position taken out, and those, (n,)."""
    n, K = potentials.node_scores.shape
    log_beta, tops = np.empty((n, K)), np.empty(n)
    first = potentials.first()
    for t0, t1 in slices_back(n, 40 * K * K):
        kernels.log_chain.backward(potentials.node_scores, potentials.tables.scores_to, first, log_beta, tops, t0, t1)
    return log_beta, tops


def total_log_sum(log_alpha: FloatArray, tops: FloatArray) -> float:
    """log Z of one sequence, from what `log_forward` gives."""
    return float(np.log(np.exp(log_alpha[-1]).sum()) + tops.sum())


def checked(values: FloatArray, potentials: ChainPotentials) -> FloatArray:
    """The log partitions, or an error where the scores are not numbers."""
    bad: BoolArray = ~np.isfinite(values)
    if bad.any():
        i = int(np.argmax(bad))
        usable = (potentials.node_scores[potentials.rows(i)] < np.inf).all(axis=1)
        refuse_scores(potentials, int(potentials.offsets[i]) + int(np.argmin(usable)))
    return values


def refuse_scores(potentials: ChainPotentials, row: int) -> NoReturn:
    """Raise the error of a chunk with scores at `row` that cannot be summed."""
    i, position = potentials.place(row)
    raise InputError("the scores hold NaN or +inf, or are too large to add", sequence=i, position=position)
