"""Sums and searches over labelings, as functions of potentials. What a form of edges does for them is in its file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.edges.messages import Covariance
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.potentials import Marginals as Marginals
from hedgerow.chain.workspace import Workspace as Workspace
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, CodeArray, FloatArray


def log_partition(potentials: ChainPotentials, workspace: Workspace | None = None) -> FloatArray:
    """log Z of every sequence of the chunk, (s,)."""
    return potentials.edges.log_partition(potentials, workspace)


def marginals(
    potentials: ChainPotentials, workspace: Workspace | None = None, weights: FloatArray | None = None
) -> Marginals:
    """log Z and marginals.

    With a workspace, node_probs lives in it and the next call overwrites it. `weights` (s,) enter the sums of shared
    edges and of histories, which no caller could weight afterwards, and nothing else.
    """
    return potentials.edges.marginals(potentials, workspace, weights)


def node_marginals(potentials: ChainPotentials, workspace: Workspace | None = None) -> FloatArray:
    """P_t(v), (n, K), without the edges, which cost a third of the time; with a workspace as in `marginals`."""
    return potentials.edges.node_marginals(potentials, workspace)


def covariance(
    potentials: ChainPotentials,
    node_direction: FloatArray,
    edge_direction: FloatArray | None = None,
    *,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> Covariance:
    """Covariances along a direction: how all marginals of a chunk move when its scores move that way, each sequence
    times its weight. They are the gradient of any function of the node marginals, and the Hessian of log Z times a
    direction.

    Parameters
    ----------
    node_direction : (n, K), c_t(v)
    edge_direction : C, optional
        (K, K) [from, to] for shared edges, (K, n, K) [to, position, from] for per-position edges, and so on, as
        gradients are. Finite, and not read where a transition is forbidden.
    weights : (s,), optional
    workspace : Workspace, optional
        `node` then lives in it, and the next call overwrites it.
    """
    nodes, edges = potentials.node_scores.shape, potentials.edges
    pairs = edges.gradient_shape(nodes[0])
    if node_direction.shape != nodes:
        raise InputError(f"a direction of shape {node_direction.shape} does not fit nodes {nodes}")
    if edge_direction is not None and edge_direction.shape != pairs:
        raise InputError(f"a direction of shape {edge_direction.shape} does not fit edges {pairs}")
    messages = edges.messages(potentials, workspace)
    found: Covariance = messages.covariance(messages.work.terms_of(node_direction), edge_direction, weights)
    return found


def sample(potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
    """Draw labelings, int32 (m, n). uniforms (m, n): numbers in [0, 1), one for each sample and position."""
    uniforms = np.ascontiguousarray(uniforms, dtype=np.float64)
    if uniforms.ndim != 2 or uniforms.shape[1] != potentials.n_positions:
        n = potentials.n_positions
        raise InputError(f"uniforms must be (samples, {n} positions), not of shape {uniforms.shape}")
    return potentials.edges.sample(potentials, uniforms)


def entropy(potentials: ChainPotentials) -> FloatArray:
    """The entropy of the distribution over labelings, in nats, for each sequence, (s,)."""
    return potentials.edges.entropy(potentials)


def check_legal(potentials: ChainPotentials) -> None:
    """Raise an error where a sequence has no legal labeling."""
    potentials.edges.check_legal(potentials)


def legal_sequences(potentials: ChainPotentials) -> BoolArray:
    """bool (s,): the sequences that have a legal labeling."""
    return potentials.edges.legal_sequences(potentials)


def best_labelings(potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
    """The labels (n,) of the best labeling of each sequence, and their scores (s,).

    Which of equal labelings that is, the form of edges says: for tables the one with the lowest label at the last
    position, then the lowest one before it, and so on.
    """
    return potentials.edges.best_labelings(potentials)


def beam_labelings(potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
    """The labels (n,) of the best labeling that stays among the best states of each position, and their scores (s,).

    A state is a label, or a history where edges are that; `width` of them go on at each position. With as many as there
    are, the search is exact. Of equal states the lower label goes on.
    """
    if width < 1:
        raise InputError(f"a beam of width {width} keeps nothing", hint="The width must be at least 1.")
    return potentials.edges.beam_labelings(potentials, width)


@dataclass(frozen=True, slots=True)
class KBest:
    """The best labelings of one sequence, best first. There are fewer than k where fewer are legal.

    labels : int32 (m, T), m ≤ k
    scores : (m,), the score of each
    probs : (m,), exp(score − log Z)
    """

    labels: CodeArray
    scores: FloatArray
    probs: FloatArray


def k_best(potentials: ChainPotentials, k: int) -> list[KBest]:
    """The k best labelings of each sequence of the chunk, exactly, with their probabilities."""
    if k < 1:
        raise InputError(f"⟦k={k}⟧ labelings were asked for", hint="⟦k⟧ must be at least 1")
    log_z = log_partition(potentials)
    best = potentials.edges.k_best(potentials, k)
    return [KBest(labels, scores, np.exp(np.minimum(scores - z, 0.0))) for (labels, scores), z in zip(best, log_z)]


def position_scores(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """What each position adds to the score of a labeling, (n,): node_t(y_t), and edge_t(y_{t−1}, y_t) from t = 2 on.

    With histories it is node_t(y_t) and the arc that y_t takes. labels (n,), all known.
    """
    return potentials.edges.position_scores(potentials, labels)


def log_probability(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """log P(y) of the labeling `labels` (n,) of each sequence, (s,); −inf where it is not legal."""
    labels = potentials.check_labels(labels, complete=True)
    edges = potentials.edges
    scores = np.add.reduceat(edges.position_scores(potentials, labels), potentials.offsets[:-1])
    return np.minimum(scores - edges.log_partition(potentials, None), 0.0)


def span_log_probability(potentials: ChainPotentials, i: int, begin: int, labels: AnyArray) -> float:
    """log of the probability that sequence i has `labels` from its position `begin` on; the rest is summed over."""
    one = potentials.sequence(i)
    end = begin + len(labels)
    if not 0 <= begin < end <= one.n_positions:
        what = f"a span from {begin} to {end} is not inside {one.n_positions} positions"
        raise InputError(what, sequence=potentials.sequence_number(i))
    whole = log_partition(one)[0]
    allowed = np.ones(one.node_scores.shape, dtype=bool)
    allowed[begin:end] = np.arange(one.n_labels) == np.asarray(labels)[:, None]
    restricted = one.restrict(allowed)
    if not legal_sequences(restricted)[0]:
        return float("-inf")
    return min(float(log_partition(restricted)[0] - whole), 0.0)
