"""Covariances along a direction: how all marginals of a chunk move when its scores move that way.

They are the gradient of any function of the node marginals, and the Hessian of log Z times a direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import passes
from hedgerow.chain.inference.messages import LogMessages, Messages, messages
from hedgerow.chain.inference.workspace import Workspace, slices, slices_back
from hedgerow.chain.potentials import ArcLists, ChainPotentials, PositionEdges, SharedEdges
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray


@dataclass(frozen=True, slots=True)
class Covariance:
    """Cov(indicator, S) of every node and edge, S = Σ_t c_t(y_t) + Σ_t C_t(y_{t−1}, y_t) along a labeling.

    node : (n, K), Σ_v = 0 at each position
    edges : (K, K) [from, to], summed over the chunk, for shared edges; (K, n, K) [to, position, from] for others
    edge_marginals : as `edges`, Σ_t P_t(u, v) or P_t(u, v); None where the direction has no edges
    """

    node: FloatArray
    edges: FloatArray
    edge_marginals: FloatArray | None = None


def covariance(
    potentials: ChainPotentials,
    node_direction: FloatArray,
    edge_direction: FloatArray | None = None,
    *,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> Covariance:
    """The covariances with S of a chunk, each sequence times its weight.

    Parameters
    ----------
    node_direction : (n, K), c_t(v)
    edge_direction : C, optional
        (K, K) [from, to] for shared edges, (K, n, K) [to, position, from] for per-position edges. Finite, and not
        read where a transition is forbidden.
    weights : (s,), optional
    workspace : Workspace, optional
        `node` then lives in it, and the next call overwrites it.
    """
    n, K = potentials.node_scores.shape
    if node_direction.shape != (n, K):
        raise InputError(f"a direction of shape {node_direction.shape} does not fit nodes {(n, K)}")
    shape = (K, n, K) if isinstance(potentials.tables, PositionEdges) else (K, K)
    if edge_direction is not None and edge_direction.shape != shape:
        raise InputError(f"a direction of shape {edge_direction.shape} does not fit edges {shape}")
    state = messages(potentials, workspace)
    state.work.reserve_moments()
    terms = np.multiply(node_direction, state.node_probs, out=state.work.terms)
    return covariance_of(state, terms, edge_direction, weights)


def covariance_of(
    state: Messages, terms: FloatArray, edge_direction: FloatArray | None = None, weights: FloatArray | None = None
) -> Covariance:
    """The same from messages that are there, with c given as terms (n, K) = c_t(v) P_t(v), which stay finite where a
    label is all but impossible. The messages are used up."""
    work, potentials = state.work, state.potentials
    work.reserve_moments()
    _recursions(state, terms, edge_direction)
    per_position = isinstance(potentials.tables, PositionEdges)
    spread = None if weights is None else np.repeat(weights, np.diff(potentials.offsets))[:, None]
    if spread is not None and not per_position:  # sums over a chunk cannot be weighted afterwards
        work.node_exp *= spread
        work.future *= spread
    edges, edge_marginals = _edges(state, edge_direction)
    for i, found in state.redone.items():
        rows = potentials.rows(i)
        own = edge_direction if edge_direction is None or not per_position else edge_direction[:, rows]
        work.moved[rows], moved, probs = _of_sequence(found, terms[rows], own)
        for array, own_array in ((edges, moved), (edge_marginals, probs)):
            if array is not None and per_position:
                array[:, rows] = own_array
            elif array is not None:
                array += own_array[:, 0].T * (1.0 if weights is None else weights[i])
    if spread is not None:
        work.moved *= spread
        for array in (edges, edge_marginals):
            if per_position and array is not None:
                array *= spread
    return Covariance(work.moved, edges, edge_marginals)


def _recursions(state: Messages, terms: FloatArray, edge_direction: FloatArray | None) -> None:
    """Carry the past forward and the future backward: `moved` becomes the covariances of the nodes."""
    edges = state.potentials.tables
    if isinstance(edges, PositionEdges):
        _position_recursions(state, terms, edges.exps, edge_direction)
    elif edges.arcs is not None:
        _arc_recursions(state, terms, edges.arcs, edge_direction)
    else:
        _table_recursions(state, terms, edges, edge_direction)


def _table_recursions(
    state: Messages, terms: FloatArray, edges: SharedEdges, edge_direction: FloatArray | None
) -> None:
    work, K = state.work, edges.n_labels
    n, width = work.alpha.shape
    given = state.first, work.alpha, work.node_probs, work.carried
    ahead, back = (work.past, work.future, work.moved), (work.future, work.moved)
    if edge_direction is None:
        for t0, t1 in slices(n, width * width):
            kernels.covariance.forward(terms, work.node_exp, edges.exps_to, *given, *ahead, t0, t1)
        for t0, t1 in slices_back(n, width * width):
            kernels.covariance.backward(work.node_exp, edges.exps, *given, *back, t0, t1)
        return
    moves = np.zeros((width, width))
    moves[:K, :K] = edges.exps[:K, :K] * edge_direction
    moves_to = np.ascontiguousarray(moves.T)
    for t0, t1 in slices(n, 2 * width * width):
        kernels.covariance.forward_along(terms, work.node_exp, edges.exps_to, moves_to, *given, *ahead, t0, t1)
    for t0, t1 in slices_back(n, 2 * width * width):
        kernels.covariance.backward_along(work.node_exp, edges.exps, moves, *given, *back, t0, t1)


def _arc_recursions(state: Messages, terms: FloatArray, arcs: ArcLists, edge_direction: FloatArray | None) -> None:
    work = state.work
    n, K = work.node_probs.shape
    given = state.first, work.alpha, work.node_probs
    ahead, back = (work.past, work.future, work.moved), (work.future, work.moved)
    into, out = (arcs.into_ptr, arcs.into_from, arcs.into_exps), (arcs.out_ptr, arcs.out_to, arcs.out_exps)
    cells = 20 * K + 5 * len(arcs.out_to)
    if edge_direction is None:
        for t0, t1 in slices(n, cells):
            kernels.arc_covariance.forward(terms, work.node_exp, *into, *given, *ahead, t0, t1)
        for t0, t1 in slices_back(n, cells):
            kernels.arc_covariance.backward(work.node_exp, *out, *given, *back, t0, t1)
        return
    into_to = np.repeat(np.arange(K), np.diff(arcs.into_ptr))
    into_moves = arcs.into_exps * edge_direction[arcs.into_from, into_to]
    out_moves = arcs.out_exps * edge_direction[arcs.out_from, arcs.out_to]
    for t0, t1 in slices(n, 2 * cells):
        kernels.arc_covariance.forward_along(terms, work.node_exp, *into, into_moves, *given, *ahead, t0, t1)
    for t0, t1 in slices_back(n, 2 * cells):
        kernels.arc_covariance.backward_along(work.node_exp, *out, out_moves, *given, *back, t0, t1)


def _position_recursions(
    state: Messages, terms: FloatArray, exps: FloatArray, edge_direction: FloatArray | None
) -> None:
    work = state.work
    n, K = work.node_probs.shape
    given = state.first, work.alpha, work.node_probs
    ahead, back = (work.past, work.future, work.moved), (work.carried, work.future, work.moved)
    if edge_direction is None:
        for t0, t1 in slices(n, K * K):
            kernels.position_covariance.forward(terms, work.node_exp, exps, *given, *ahead, t0, t1)
        for t0, t1 in slices_back(n, K * K):
            kernels.position_covariance.backward(work.node_exp, exps, *given, *back, t0, t1)
        return
    both = exps, edge_direction
    for t0, t1 in slices(n, 2 * K * K):
        kernels.position_covariance.forward_along(terms, work.node_exp, *both, *given, *ahead, t0, t1)
    for t0, t1 in slices_back(n, 2 * K * K):
        kernels.position_covariance.backward_along(work.node_exp, *both, *given, *back, t0, t1)


def _edges(state: Messages, edge_direction: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
    """The covariances of the edges, and their marginals where there is a direction for them."""
    work, edges = state.work, state.potentials.tables
    n, K = state.potentials.node_scores.shape
    given = work.alpha, work.node_exp, work.past, work.future
    pieces = [(t0 + 1, t1 + 1) for t0, t1 in slices(n - 1, 3 * work.alpha.shape[1] ** 2)]
    if isinstance(edges, PositionEdges):
        return _position_edges(given, edges.exps, edge_direction, pieces)
    if edges.arcs is not None:
        return _arc_edges(given, edges.arcs, edge_direction, pieces)
    work.sums[:] = 0.0
    for t0, t1 in pieces:
        kernels.covariance.sum_edges(*given, work.sums, t0, t1)
    moved = work.sums[:K, :K] * edges.exps[:K, :K]
    if edge_direction is None:
        return moved, None
    probs = passes.edge_marginals(state.potentials, work)
    moved += edge_direction * probs
    return moved, probs


def _arc_edges(
    given: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    arcs: ArcLists,
    edge_direction: FloatArray | None,
    pieces: list[tuple[int, int]],
) -> tuple[FloatArray, FloatArray | None]:
    """The same over lists of arcs, from alpha, β', past and future."""
    K, cells = len(arcs.out_ptr) - 1, (arcs.out_from, arcs.out_to)
    lists, sums, prob_sums = (arcs.out_ptr, arcs.out_to), np.zeros(len(arcs.out_to)), np.zeros(len(arcs.out_to))
    moved, probs = np.zeros((K, K)), np.zeros((K, K))
    for t0, t1 in pieces:
        if edge_direction is None:
            kernels.arc_covariance.sum_edges(*given, *lists, sums, t0, t1)
        else:
            kernels.arc_covariance.sum_edges_along(*given, *lists, sums, prob_sums, t0, t1)
    moved[cells] = sums * arcs.out_exps
    if edge_direction is None:
        return moved, None
    probs[cells] = prob_sums * arcs.out_exps
    moved += edge_direction * probs
    return moved, probs


def _position_edges(
    given: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    exps: FloatArray,
    edge_direction: FloatArray | None,
    pieces: list[tuple[int, int]],
) -> tuple[FloatArray, FloatArray | None]:
    """The same for edges of their own at every position."""
    moved = np.empty(exps.shape)
    moved[:, :1] = 0.0
    if edge_direction is None:
        for t0, t1 in pieces:
            kernels.position_covariance.edges(*given, exps, moved, t0, t1)
        return moved, None
    probs = np.empty(exps.shape)
    probs[:, :1] = 0.0
    for t0, t1 in pieces:
        kernels.position_covariance.edges_along(*given, exps, edge_direction, moved, probs, t0, t1)
    return moved, probs


def _of_sequence(
    found: LogMessages, terms: FloatArray, edge_direction: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """In the log domain: the covariances of the nodes (T, K) and of the edges (to, T | 1, from), and the marginals of
    the edges, which are left 0 where there is no direction for them."""
    one, scores = found.potentials, found.potentials.tables.scores_to
    n, K = one.node_scores.shape
    direction, edge_probs = np.zeros(scores.shape), np.zeros(scores.shape)
    if edge_direction is not None:
        direction[:] = edge_direction if edge_direction.ndim == 3 else edge_direction.T[:, None]
        edge_probs = found.edge_probs()
    own, past, future, moved = np.empty((n, K)), np.empty((n, K)), np.empty((n, K)), direction * edge_probs
    chain = one.node_scores, scores, one.first()
    ahead, behind = (found.log_beta, found.beta_tops), (found.log_alpha, found.alpha_tops)
    probs = np.exp(found.log_probs)
    for t0, t1 in slices(n, 30 * K * K):
        kernels.log_covariance.centre(*chain, *behind, probs, direction, terms, own, past, future, t0, t1)
    for t0, t1 in slices(n, 30 * K * K):
        kernels.log_covariance.forward(*chain, *ahead, past, moved, t0, t1)
    for t0, t1 in slices_back(n, 30 * K * K):
        kernels.log_covariance.backward(*chain, *behind, future, moved, t0, t1)
    return past + future - own, moved, edge_probs
