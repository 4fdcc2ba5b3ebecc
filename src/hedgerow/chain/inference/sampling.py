"""Labelings drawn from the distribution over them: forward filtering, backward sampling."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import histories, history_tables, passes
from hedgerow.chain.inference.forward import checked, faint_sequences, log_forward, scaled_log_partition
from hedgerow.chain.inference.workspace import Workspace, slices_back
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables
from hedgerow.errors import InputError
from hedgerow.legend import CODE, CodeArray, FloatArray


def sample(potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
    """Draw labelings, int32 (m, n). uniforms (m, n): numbers in [0, 1), one a sample and position."""
    if isinstance(potentials.edges, HistoryEdges):
        return histories.sample(potentials, uniforms)
    uniforms = np.ascontiguousarray(uniforms, dtype=np.float64)
    n, K = potentials.node_scores.shape
    if uniforms.ndim != 2 or uniforms.shape[1] != n:
        raise InputError(f"uniforms must be (samples, {n} positions), not of shape {uniforms.shape}")
    if isinstance(potentials.edges, HistoryTables):
        names, parts = history_tables.last_labels(potentials), [np.empty((len(uniforms), 0), dtype=CODE)]
        for i in range(potentials.n_sequences):
            one = history_tables.unfold(potentials.sequence(i))
            parts.append(names[sample(one, uniforms[:, potentials.rows(i)])])
        return np.concatenate(parts, axis=1)
    log_alpha = _filtered(potentials)
    first, weights = potentials.first(), np.empty(K)
    labels = np.empty(uniforms.shape, dtype=CODE)
    for drawn, row in zip(labels, uniforms):
        for t0, t1 in slices_back(n, 50 * K):
            kernels.search.sample(log_alpha, potentials.tables.scores_to, first, row, weights, drawn, t0, t1)
    return labels


def _filtered(potentials: ChainPotentials) -> FloatArray:
    """log α_t, (n, K), up to a constant of each position, which sampling does not need."""
    work = Workspace()
    first = potentials.first()
    passes.forward(potentials, first, work)
    faint = faint_sequences(potentials, work, both_ways=False)
    checked(scaled_log_partition(potentials, first, work), potentials)
    with np.errstate(divide="ignore"):
        log_alpha: FloatArray = np.log(work.alpha[:, : potentials.n_labels])
    for i in faint:
        log_alpha[potentials.rows(i)] = log_forward(potentials.sequence(i))[0]
    return log_alpha
