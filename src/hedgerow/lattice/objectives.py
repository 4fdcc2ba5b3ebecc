"""Losses of one graph as functions of its scores, with their gradients: value and gradient belong together.

The log-likelihood is log Z − log Z(known labels), with Z by whatever inference is given; where that has converged, the
difference of the beliefs is its gradient. The pseudo-likelihood is exact. The margin is that of a search, which may
miss the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hedgerow.lattice import kernels
from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.inference.search import search
from hedgerow.lattice.scores import Potentials
from hedgerow.legend import UNLABELLED, CodeArray, FloatArray

OBJECTIVES = ("log_likelihood", "pseudo_likelihood", "margin")
IMPOSSIBLE = 1e-3  # of the loss of a node: further below 0 it is no matter of an approximation

States = tuple[FloatArray, ...]


class GraphLoss(NamedTuple):
    """loss, its gradient by node_scores (n, K) and edge_scores (M, K, K), and how inference ended.

    states : what inference can start from next time, where it has such
    """

    loss: float
    node_gradient: FloatArray
    edge_gradient: FloatArray
    converged: bool = True
    states: States = ()


# (potentials, labels int32[n], states of its last call, weights (n,) of the nodes or None) → GraphLoss
Loss = Callable[[Potentials, CodeArray, States, FloatArray | None], GraphLoss]


@dataclass(frozen=True, eq=False)
class GraphObjective:
    """The loss of this name. Weights of nodes are for the pseudo-likelihood, which is a sum over nodes.

    label_weights : (K,), or None. As in chains, likelihoods know none, and a mistake costs a margin that of the true
        label
    """

    name: str
    inference: Inference
    search_by: str = "max_product"
    label_weights: FloatArray | None = None

    def __call__(
        self, potentials: Potentials, labels: CodeArray, states: States = (), weights: FloatArray | None = None
    ) -> GraphLoss:
        if self.name == "margin":
            return margin(potentials, labels, self.inference, self.search_by, self.label_weights)
        if self.name == "log_likelihood":
            return log_likelihood(potentials, labels, self.inference, states)
        return pseudo_likelihood(potentials, labels, weights)


def log_likelihood(potentials: Potentials, labels: CodeArray, inference: Inference, states: States = ()) -> GraphLoss:
    """log Z − log Z(labels as far as they are known); gradient P − P(given what is known)."""
    start = states if len(states) == 2 else (None, None)
    free = inference(potentials, start[0])
    if (labels != UNLABELLED).all():
        nodes, edges = _indicators(potentials, labels)
        loss, converged, states = free.log_partition - potentials.score(labels), free.converged, (free.state, _NONE)
    else:
        given = inference(potentials.restrict(labels), start[1])
        nodes, edges = given.node_probs, given.edge_probs
        loss, states = free.log_partition - given.log_partition, (free.state, given.state)
        converged = free.converged and given.converged
    # Z sums over the truth too, so no loss is below 0. Loopy messages that converge far from where the probable
    # labelings are may say so all the same, and training would take that for success.
    possible = inference.method != "loopy" or loss >= -IMPOSSIBLE * len(labels)
    return GraphLoss(loss, free.node_probs - nodes, free.edge_probs - edges, converged and possible, states)


_NONE: FloatArray = np.empty((0, 0))


def pseudo_likelihood(potentials: Potentials, labels: CodeArray, weights: FloatArray | None = None) -> GraphLoss:
    """−Σ_i w_i log P(y_i | labels of the neighbours) over the nodes with a label, of weight 1 where none are given. A
    neighbour without a label does not count: its edges are left out. One with weight 0 does."""
    ends = potentials.topology.ends
    counts: FloatArray = np.ones(len(labels)) if weights is None else weights
    scores: FloatArray = np.empty_like(potentials.node_scores)
    kernels.search.conditionals(potentials.node_scores, potentials.edge_scores, ends, labels, scores)
    loss, probs = _softmax_loss(scores, labels, counts)
    edges: FloatArray = np.empty((len(ends), *potentials.edge_scores.shape[1:]))
    kernels.search.join_counts(probs, counts, ends, labels, edges)
    return GraphLoss(loss, _node_gradient(probs, labels, counts), edges)


def independent(
    potentials: Potentials, labels: CodeArray, states: States = (), weights: FloatArray | None = None
) -> GraphLoss:
    """−Σ w_i log P(y_i) over the nodes with a label, each by its own scores."""
    counts: FloatArray = np.ones(len(labels)) if weights is None else weights
    loss, probs = _softmax_loss(potentials.node_scores, labels, counts)
    n, K = potentials.topology.n_edges, potentials.n_labels
    return GraphLoss(loss, _node_gradient(probs, labels, counts), np.zeros((n, K, K)))


def _softmax_loss(scores: FloatArray, labels: CodeArray, counts: FloatArray) -> tuple[float, FloatArray]:
    """−Σ_i counts_i log p_i(y_i) over the nodes with a label, and p (n, K), from scores (n, K)."""
    known = labels != UNLABELLED
    scores = scores - scores.max(axis=1, keepdims=True)
    probs = np.exp(scores)
    whole = probs.sum(axis=1)
    probs /= whole[:, None]
    return float((counts[known] * (np.log(whole[known]) - scores[known, labels[known]])).sum()), probs


def _node_gradient(probs: FloatArray, labels: CodeArray, counts: FloatArray) -> FloatArray:
    """counts · (p − indicator of the label) where there is one, and 0 elsewhere; made in the place of p (n, K)."""
    known = labels != UNLABELLED
    probs[known, labels[known]] -= 1.0
    probs[~known] = 0.0
    probs *= counts[:, None]
    return probs


def margin(
    potentials: Potentials,
    labels: CodeArray,
    inference: Inference,
    search_by: str = "max_product",
    costs: FloatArray | None = None,
) -> GraphLoss:
    """max_y [score(y) + wrong labels of y] − score(truth), the truth being the best labeling with the known labels. A
    wrong label counts 1, or what `costs` (K,) has for the true one.

    A labeling that is worse than the truth, which a search may come up with, is replaced by the truth: a loss of 0.
    """
    known = labels != UNLABELLED
    truth = labels
    if not known.all():
        truth = search(potentials.restrict(labels), search_by, inference).labels
    mistakes: FloatArray = np.where(known, 1.0 if costs is None else costs[labels], 0.0)
    scores = potentials.node_scores + mistakes[:, None]
    scores[known, labels[known]] = potentials.node_scores[known, labels[known]]
    costly = Potentials(potentials.topology, scores, potentials.edge_scores)
    best = search(costly, search_by, inference)
    loss = best.score - costly.score(truth)
    if loss <= 0.0:
        loss, best = 0.0, best._replace(labels=truth)
    (best_nodes, best_edges), (nodes, edges) = _indicators(potentials, best.labels), _indicators(potentials, truth)
    return GraphLoss(loss, best_nodes - nodes, best_edges - edges, best.converged)


def _indicators(potentials: Potentials, labels: CodeArray) -> tuple[FloatArray, FloatArray]:
    """A labeling as probabilities of 0 and 1: (n, K) and (M, K, K)."""
    top, K = potentials.topology, potentials.n_labels
    nodes: FloatArray = np.zeros((top.n_nodes, K))
    nodes[np.arange(top.n_nodes), labels] = 1.0
    edges: FloatArray = np.zeros((top.n_edges, K, K))
    edges[np.arange(top.n_edges), labels[top.ends[:, 0]], labels[top.ends[:, 1]]] = 1.0
    return nodes, edges
