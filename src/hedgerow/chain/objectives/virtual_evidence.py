"""Virtual evidence (Liao, Choudhury, Fox and Kautz 2007): −Σ_t w log p_t(A_t), each label given soft neighbours.

    p_t(v) ∝ e^{node_t(v)} · Σ_u a_{t−1}(u) e^{edge_t(u, v)} · Σ_k b_{t+1}(k) e^{edge_{t+1}(v, k)}

The true neighbours of the pseudo-likelihood are not looked at. In their place stands what belief propagation sends from
them with the scores as they are: a from the left, b from the right. The messages are those of the whole chain, so
p_t is the marginal P_t, and the value that of the pointwise likelihood. The gradient is not: messages count as input,
as evidence, and are held fixed. With r_t(v) = [v ∈ A_t] / P_t(A_t), A_t the labels that are right,

    node_t(v)       w P_t(v) (1 − r_t(v))
    edge_t(u, v)    w P_t(u, v) (2 − r_t(v) − r_{t−1}(u))

since an edge takes part in the scores of both its ends. It is for boosting, where each iteration makes the evidence
anew; the value need not fall with each step.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hedgerow.chain.edges import PositionEdges, tables_of
from hedgerow.chain.inference import Workspace, marginals
from hedgerow.chain.objectives.labelings import check_legal_truth
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.legend import INDEX, BoolArray, FloatArray
from hedgerow.parallel import plan_chunks

_PIECE = 4_000_000  # edge probabilities held at once, where edges are shared
_SMALLEST = 1e-290


def virtual_evidence(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """The loss of a chunk, and its gradient with the messages held fixed.

    For chains of order 1 and 0. A position of which nothing is known adds nothing.
    """
    truth, spread = potentials.check_truth(truth)
    check_legal_truth(potentials, truth)
    right = potentials.permitted(truth)
    if potentials.edges.per_position:
        return _of_piece(potentials, right, spread, workspace)
    scores_to = tables_of(potentials).scores_to
    n, K = potentials.node_scores.shape
    nodes, edges, loss = np.empty((n, K)), np.zeros((K, K)), 0.0
    plan = plan_chunks(potentials.offsets, max(1, _PIECE // (K * K)))
    for first, last in pairwise(plan.tolist()):
        part, rows = potentials.take(np.arange(first, last, dtype=INDEX))
        table = np.repeat(scores_to, len(rows), axis=1)
        part = ChainPotentials(part.node_scores, part.offsets, PositionEdges.from_scores(table))
        piece = _of_piece(part, right[rows], spread[rows], None)
        nodes[rows] = piece.node_gradient
        edges += piece.edge_gradient.sum(axis=1).T
        loss += piece.loss
    return LossAndGradient(loss, nodes, edges)


def _of_piece(
    potentials: ChainPotentials, right: BoolArray, spread: FloatArray, workspace: Workspace | None
) -> LossAndGradient:
    """Of chains with edges of their own at every position."""
    sums = marginals(potentials, workspace)
    probs = sums.node_probs
    true_probs = np.maximum((probs * right).sum(axis=1), _SMALLEST)
    excess = (1.0 - right / true_probs[:, None]) * spread[:, None]  # 1 − r, times the weight
    loss = -float((spread * np.log(true_probs)).sum())
    before = np.zeros_like(excess)
    before[1:] = excess[:-1]  # first positions have no edge: their probabilities are 0
    edges = sums.edge_probs * (excess.T[:, :, None] + before[None])
    return LossAndGradient(loss, probs * excess, edges)
