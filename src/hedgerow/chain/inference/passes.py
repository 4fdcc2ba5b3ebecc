"""Which kernel runs for which edges: dense tables, lists of arcs, edges of their own at every position.

Where all arcs score the same, every position is a chain of its own, and both passes cost K a position, not K².
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference.workspace import Workspace, slices, slices_back
from hedgerow.chain.potentials import ChainPotentials, PositionEdges, SharedEdges
from hedgerow.legend import AnyArray, FloatArray, IndexArray


def forward(potentials: ChainPotentials, first: AnyArray, work: Workspace) -> None:
    """Scaled forward messages: fill node_exp, top, alpha, scale and faint of the workspace."""
    n, K = potentials.node_scores.shape
    work.reserve(n, K)
    edges = potentials.tables
    begins = np.ones_like(first) if _even(edges) else first
    node_exp, into = work.node_exp, (begins, work.alpha, work.scale, work.faint)
    width = work.alpha.shape[1]
    for t0, t1 in slices(n, width * (width + 20)):
        kernels.chain.exponentials(potentials.node_scores, node_exp, work.top, work.scratch, work.scratch_bits, t0, t1)
        if isinstance(edges, PositionEdges):
            kernels.position_chain.forward(node_exp, edges.exps, *into, t0, t1)
        elif edges.arcs is not None:
            lists = edges.arcs.into_ptr, edges.arcs.into_from, edges.arcs.into_exps
            kernels.arcs.forward(node_exp, *lists, *into, t0, t1)
        else:
            kernels.chain.forward(node_exp, edges.exps_to, *into, t0, t1)


def backward(potentials: ChainPotentials, first: AnyArray, work: Workspace) -> None:
    """Scaled backward messages: fill node_probs, add to faint; node_exp becomes β'."""
    n, width = work.alpha.shape
    node_exp = work.node_exp
    edges = potentials.tables
    begins = np.ones_like(first) if _even(edges) else first
    into = begins, work.alpha, work.scale, work.beta, work.node_probs, work.faint
    for t0, t1 in slices_back(n, width * width):
        if isinstance(edges, PositionEdges):
            kernels.position_chain.backward(node_exp, edges.exps, *into, t0, t1)
        elif edges.arcs is not None:
            lists = edges.arcs.out_ptr, edges.arcs.out_to, edges.arcs.out_exps
            kernels.arcs.backward(node_exp, *lists, *into, t0, t1)
        else:
            kernels.chain.backward(node_exp, edges.exps, *into, t0, t1)
    if _even(edges):  # β is 1 everywhere, and so β' is α
        np.multiply(work.alpha, first[:-1, None] == 0, out=node_exp)


def _even(edges: SharedEdges | PositionEdges) -> bool:
    return isinstance(edges, SharedEdges) and edges.even


def edge_marginals(potentials: ChainPotentials, work: Workspace) -> FloatArray:
    """Σ_t P_t(u, v) as (K, K) [from, to] for shared edges, P_t(u, v) as (K, n, K) for per-position edges."""
    n, K = potentials.node_scores.shape
    alpha, beta_prime, edges = work.alpha, work.node_exp, potentials.tables
    pieces = [(t0 + 1, t1 + 1) for t0, t1 in slices(n - 1, work.alpha.shape[1] ** 2)]
    if isinstance(edges, PositionEdges):
        probs = np.empty(edges.exps.shape)
        probs[:, :1] = 0.0
        for t0, t1 in pieces:
            kernels.position_chain.edge_probs(alpha, beta_prime, edges.exps, probs, t0, t1)
        return probs
    if edges.arcs is not None:
        arcs = edges.arcs
        arc_sums = np.zeros(len(arcs.out_to))
        for t0, t1 in pieces:
            kernels.arcs.sum_edges(alpha, beta_prime, arcs.out_ptr, arcs.out_to, arc_sums, t0, t1)
        table = np.zeros((K, K))
        table[arcs.out_from, arcs.out_to] = arc_sums * arcs.out_exps
        return table
    work.sums[:] = 0.0
    for t0, t1 in pieces:
        kernels.chain.sum_edges(alpha, beta_prime, work.sums, t0, t1)
    sums: FloatArray = work.sums[:K, :K] * edges.exps[:K, :K]
    return sums


def reach(potentials: ChainPotentials, first: AnyArray) -> tuple[AnyArray, IndexArray]:
    """uint8 (n, K), 1 where a legal way from the start leads to the label; and how many labels that are, (n,)."""
    n, K = potentials.node_scores.shape
    possible = (potentials.node_scores > -np.inf).view(np.uint8)
    reached = np.empty((n, K), dtype=np.uint8)
    count = np.empty(n, dtype=np.int64)
    edges = potentials.tables
    for t0, t1 in slices(n, K * K):
        if isinstance(edges, PositionEdges):
            kernels.position_chain.reach(possible, edges.scores, first, reached, count, t0, t1)
        else:
            arcs = (edges.scores > -np.inf).view(np.uint8)
            kernels.chain.reach(possible, arcs, first, reached, count, t0, t1)
    return reached, count


def reach_end(potentials: ChainPotentials, first: AnyArray, reached: AnyArray) -> IndexArray:
    """How many labels of each position have a legal way to the end, (n,)."""
    n, K = potentials.node_scores.shape
    ending = np.empty((n, K), dtype=np.uint8)
    count = np.empty(n, dtype=np.int64)
    edges = potentials.tables
    for t0, t1 in slices_back(n, K * K):
        if isinstance(edges, PositionEdges):
            kernels.position_chain.reach_end(reached, edges.scores, first, ending, count, t0, t1)
        else:
            arcs_to = (edges.scores_to[:, 0] > -np.inf).view(np.uint8)
            kernels.chain.reach_end(reached, arcs_to, first, ending, count, t0, t1)
    return count
