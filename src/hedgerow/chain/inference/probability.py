"""The score and the probability of a given labeling, of a labelled span, and the entropy over all labelings."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import history_likelihood, history_tables
from hedgerow.chain.inference.forward import check_legal, legal_sequences, log_backward, log_partition
from hedgerow.chain.inference.known import checked_labels
from hedgerow.chain.inference.workspace import slices_back
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables, PositionEdges
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, FloatArray


def position_scores(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """What each position adds to the score of a labeling, (n,): node_t(y_t), and edge_t(y_{t−1}, y_t) from t = 2 on.

    With histories it is node_t(y_t) and the arc that y_t takes. labels (n,), all known.
    """
    if isinstance(potentials.edges, HistoryEdges):
        return history_likelihood.position_scores(potentials, labels)
    if isinstance(potentials.edges, HistoryTables):
        return history_tables.position_scores(potentials, labels)
    rows = np.arange(potentials.n_positions)
    scores: FloatArray = potentials.node_scores[rows, labels]
    inner = np.flatnonzero(potentials.first()[:-1] == 0)
    edges = potentials.tables
    if isinstance(edges, PositionEdges):
        scores[inner] += edges.scores_at(labels[inner], inner, labels[inner - 1])
    else:
        scores[inner] += edges.scores[labels[inner - 1], labels[inner]]
    return scores


def log_probability(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """log P(y) of the labeling `labels` (n,) of each sequence, (s,); −inf where it is not legal."""
    labels = checked_labels(potentials, labels, complete=True)
    scores = np.add.reduceat(position_scores(potentials, labels), potentials.offsets[:-1])
    log_probs: FloatArray = np.minimum(scores - log_partition(potentials), 0.0)
    return log_probs


def span_log_probability(potentials: ChainPotentials, i: int, begin: int, labels: AnyArray) -> float:
    """log of the probability that sequence i has `labels` from its position `begin` on; the rest is summed over."""
    one = potentials.sequence(i)
    end = begin + len(labels)
    if not 0 <= begin < end <= one.n_positions:
        raise InputError(
            f"a span from {begin} to {end} is not inside {one.n_positions} positions",
            sequence=potentials.sequence_number(i),
        )
    whole = log_partition(one)[0]
    allowed = np.ones(one.node_scores.shape, dtype=bool)
    allowed[begin:end] = np.arange(one.n_labels) == np.asarray(labels)[:, None]
    restricted = one.restrict(allowed)
    if not legal_sequences(restricted)[0]:
        return float("-inf")
    return min(float(log_partition(restricted)[0] - whole), 0.0)


def entropy(potentials: ChainPotentials) -> FloatArray:
    """The entropy of the distribution over labelings, in nats, for each sequence, (s,).

    It is summed from conditional entropies, which are all positive, and not taken as log Z minus the expected score,
    which are large and nearly equal.
    """
    if isinstance(potentials.edges, HistoryTables):
        parts = [entropy(history_tables.unfold(potentials.sequence(i))) for i in range(potentials.n_sequences)]
        return np.concatenate([np.empty(0), *parts])
    edge_scores = potentials.tables.scores_to
    check_legal(potentials)
    n, K = potentials.node_scores.shape
    first = potentials.first()
    log_beta, tops = log_backward(potentials)
    ahead = np.empty((n, K))
    for t0, t1 in slices_back(n, 25 * K * K):
        kernels.search.entropy(potentials.node_scores, edge_scores, first, log_beta, tops, ahead, t0, t1)
    begins = potentials.offsets[:-1]
    starts = potentials.node_scores[begins] + log_beta[begins]
    log_probs = starts - np.logaddexp.reduce(starts, axis=1, keepdims=True)
    possible = log_probs > -np.inf
    terms = np.exp(log_probs) * (ahead[begins] - np.where(possible, log_probs, 0.0))
    values: FloatArray = terms.sum(axis=1)
    return values
