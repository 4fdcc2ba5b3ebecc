"""Losses of one graph as functions of its scores, with their gradients: value and gradient belong together.

The log-likelihood is log Z − log Z(known labels), with Z by whatever inference is given; at rest the difference of the
beliefs is its gradient. The pseudo-likelihood is exact. The margin is that of a search, which may miss the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hedgerow.lattice import kernels
from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.inference.search import search
from hedgerow.lattice.potentials import Potentials
from hedgerow.legend import UNLABELLED, CodeArray, FloatArray

IMPOSSIBLE = 1e-3  # of the loss of a node: further below 0 it is no matter of an approximation
OBJECTIVES = ("log_likelihood", "pseudo_likelihood", "margin")


class Loss(NamedTuple):
    """loss, its gradient by node_scores (n, K) and edge_scores (M, K, K), and how inference ended.

    states : what inference can start from next time, where it has such
    """

    loss: float
    node_gradient: FloatArray
    edge_gradient: FloatArray
    converged: bool = True
    states: tuple[FloatArray, ...] = ()


Objective = Callable[..., Loss]  # see `make_objective`


def make_objective(name: str, inference: Inference, search_by: str) -> Objective:
    """The objective of this name: (potentials, labels int32[n], states of its last call) → Loss.

    The pseudo-likelihood, a sum over nodes, takes their weights (n,) as one argument more.
    """

    def likelihood(potentials: Potentials, labels: CodeArray, states: tuple[FloatArray, ...] = ()) -> Loss:
        return log_likelihood(potentials, labels, inference, states)

    def pseudo(
        potentials: Potentials,
        labels: CodeArray,
        states: tuple[FloatArray, ...] = (),
        weights: FloatArray | None = None,
    ) -> Loss:
        return pseudo_likelihood(potentials, labels, weights)

    def hinge(potentials: Potentials, labels: CodeArray, states: tuple[FloatArray, ...] = ()) -> Loss:
        return margin(potentials, labels, inference, search_by)

    return {"log_likelihood": likelihood, "pseudo_likelihood": pseudo, "margin": hinge}[name]


def log_likelihood(
    potentials: Potentials, labels: CodeArray, inference: Inference, states: tuple[FloatArray, ...] = ()
) -> Loss:
    """log Z − log Z(labels as far as they are known); gradient P − P(given what is known)."""
    start = states if len(states) == 2 else (None, None)
    found = inference(potentials, start[0])
    if (labels != UNLABELLED).all():
        nodes, edges = _indicators(potentials, labels)
        loss = found.log_partition - potentials.score(labels)
        states = (found.state, np.empty((0, 0)))
        rests = found.converged and _is_possible(loss, len(labels), inference)
        return Loss(loss, found.node_probs - nodes, found.edge_probs - edges, rests, states)
    given = inference(potentials.restrict(labels), start[1])
    return Loss(
        loss := found.log_partition - given.log_partition,
        found.node_probs - given.node_probs,
        found.edge_probs - given.edge_probs,
        found.converged and given.converged and _is_possible(loss, len(labels), inference),
        (found.state, given.state),
    )


def _is_possible(loss: float, n_nodes: int, inference: Inference) -> bool:
    """Whether a loss can be one. Z sums over the truth too, so no loss is below 0; messages that come to rest far from
    where the probable labelings are may say so all the same, and training would take that for success."""
    return inference.method != "loopy" or loss >= -IMPOSSIBLE * n_nodes


def pseudo_likelihood(potentials: Potentials, labels: CodeArray, weights: FloatArray | None = None) -> Loss:
    """−Σ_i w_i log P(y_i | labels of the neighbours) over the nodes with a label, of weight 1 where none are given. A
    neighbour without a label does not count: its edges are left out. One with weight 0 does."""
    ends, known = potentials.topology.ends, labels != UNLABELLED
    counts: FloatArray = np.ones(len(labels)) if weights is None else weights
    scores: FloatArray = np.empty_like(potentials.node_scores)
    kernels.search.conditionals(potentials.node_scores, potentials.edge_scores, ends, labels, scores)
    scores -= scores.max(axis=1, keepdims=True)
    probs = np.exp(scores)
    whole = probs.sum(axis=1)
    probs /= whole[:, None]
    loss = float((counts[known] * (np.log(whole[known]) - scores[known, labels[known]])).sum())
    edges: FloatArray = np.empty((len(ends), *potentials.edge_scores.shape[1:]))
    kernels.search.join_counts(probs, counts, ends, labels, edges)
    probs[known, labels[known]] -= 1.0
    probs[~known] = 0.0
    probs *= counts[:, None]
    return Loss(loss, probs, edges)


def margin(potentials: Potentials, labels: CodeArray, inference: Inference, search_by: str = "max_product") -> Loss:
    """max_y [score(y) + wrong labels of y] − score(truth), the truth being the best labeling with the known labels.

    A labeling that is worse than the truth, which a search may come up with, is replaced by the truth: a loss of 0.
    """
    known = labels != UNLABELLED
    truth = labels
    if not known.all():
        truth = search(potentials.restrict(labels), search_by, inference).labels
    scores = potentials.node_scores + known[:, None]
    scores[known, labels[known]] -= 1.0
    augmented = Potentials(potentials.topology, scores, potentials.edge_scores)
    found = search(augmented, search_by, inference)
    loss = found.score - augmented.score(truth)
    if loss <= 0.0:
        loss, found = 0.0, found._replace(labels=truth)
    one, other = _indicators(potentials, found.labels), _indicators(potentials, truth)
    return Loss(loss, one[0] - other[0], one[1] - other[1], found.converged)


def _indicators(potentials: Potentials, labels: CodeArray) -> tuple[FloatArray, FloatArray]:
    """A labeling as probabilities of 0 and 1: (n, K) and (M, K, K)."""
    top, K = potentials.topology, potentials.n_labels
    nodes: FloatArray = np.zeros((top.n_nodes, K))
    nodes[np.arange(top.n_nodes), labels] = 1.0
    edges: FloatArray = np.zeros((top.n_edges, K, K))
    edges[np.arange(top.n_edges), labels[top.ends[:, 0]], labels[top.ends[:, 1]]] = 1.0
    return nodes, edges
