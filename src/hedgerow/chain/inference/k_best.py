"""The k best labelings of every sequence, exactly, with their probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import history_search, history_tables
from hedgerow.chain.inference.forward import check_legal, log_partition
from hedgerow.chain.inference.labelings import KBest
from hedgerow.chain.inference.workspace import slices, slices_back
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables
from hedgerow.errors import InputError
from hedgerow.legend import CODE


def k_best(potentials: ChainPotentials, k: int) -> list[KBest]:
    """The k best labelings of each sequence of the chunk. Time grows with k · K², memory with k · K a position."""
    if k < 1:
        raise InputError(f"⟦k={k}⟧ labelings were asked for", hint="⟦k⟧ must be at least 1")
    if isinstance(potentials.edges, HistoryEdges):
        return history_search.k_best(potentials, k)
    log_z = log_partition(potentials)
    return [_of_sequence(potentials.sequence(i), k, float(log_z[i])) for i in range(potentials.n_sequences)]


def _of_sequence(one: ChainPotentials, k: int, log_z: float) -> KBest:
    if isinstance(one.edges, HistoryTables):
        found = _of_sequence(history_tables.unfold(one), k, log_z)
        return replace(found, labels=history_tables.last_labels(one)[found.labels])
    n, K = one.node_scores.shape
    if n * np.log(K) < 40:
        k = min(k, K**n)  # there are no more labelings than that
    first = one.first()
    best = np.empty((n, K, k))
    back = np.empty((n, K, k), dtype=CODE)
    for t0, t1 in slices(n, 10 * K * (K + k * k)):
        kernels.search.k_best(one.node_scores, one.tables.scores_to, first, best, back, t0, t1)
    last = best[-1].reshape(-1)
    order = np.argsort(-last, kind="stable")[:k]
    order = order[last[order] > -np.inf]
    if not len(order):
        check_legal(one)
    labels = np.empty((len(order), n), dtype=CODE)
    for row, place in zip(labels, order):
        label, rank = int(place) // k, int(place) % k
        for t0, t1 in slices_back(n, 100):
            label, rank = kernels.search.trace_k(back, label, rank, row, t0, t1)
    scores = last[order]
    return KBest(labels, scores, np.exp(np.minimum(scores - log_z, 0.0)))
