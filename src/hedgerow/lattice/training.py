"""How the weights of a linear lattice are found: where they start, and the trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hedgerow.estimators.parameters import random_generator
from hedgerow.lattice.evaluation import Evaluation, LineEvaluation, LineMonitor
from hedgerow.lattice.linear import Design
from hedgerow.lattice.objectives import Loss, make_objective
from hedgerow.lattice.online import ONLINE, GraphBatches, train_online
from hedgerow.lattice.parameters import inference_of
from hedgerow.lattice.potentials import Potentials
from hedgerow.legend import UNLABELLED, CodeArray, FloatArray
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training import kernels
from hedgerow.training.monitor import Monitor, Step
from hedgerow.training.whole.lbfgs import lbfgs

START_ITERATIONS = 100  # of the logistic regression that node weights start from
PASSES, ITERATIONS = 50, 200
STEEP = 0.01  # a slope by a weight, over the number of nodes, with which no training has converged


class Trained(NamedTuple):
    """The weights, how training went, and on how many graphs inference was not at rest at the end."""

    weights: FloatArray
    history: list[Step]
    n_iter: int
    best: Step
    outcome: str
    unconverged: int


def train(
    model: Any,
    design: Design,
    search_by: str,
    warm: FloatArray | None,
    previous: list[Step] | None,
    validate: Callable[[FloatArray], float] | None,
) -> Trained:
    """Train the weights of a design by the parameters of a LatticeCRF."""
    inference = inference_of(model)
    objective = make_objective(model.objective, inference, search_by)
    online = model.trainer in ONLINE
    most = model.max_iter if model.max_iter is not None else PASSES if online else ITERATIONS
    monitor = LineMonitor(
        max_iter=most,
        tol=model.tol,
        validate=validate,
        n_iter_no_change=model.n_iter_no_change,
        verbose=int(model.verbose),
        previous=previous if warm is not None else None,
    )
    with Lanes(model.n_jobs, min(MAX_LANES, design.corpus.n_graphs)) as lanes, monitor:
        start = warm if warm is not None else start_weights(model, design, lanes)
        if online:
            evaluation = Evaluation(design, objective, lanes, keeps=True)
            weights = _online(model, evaluation, start, monitor)
        else:
            # A tree-reweighted bound is convex: messages come to rest in one way.
            keeps = model.inference == "tree_reweighted"
            evaluation = monitor.evaluation = LineEvaluation(design, objective, lanes, keeps=keeps)
            weights = lbfgs(evaluation, start, monitor, l2=model.l2)
        evaluation.forget()
        loss, gradient = evaluation(weights)  # and whether inference comes to rest at the weights that are kept
    outcome = monitor.outcome
    if online and loss + model.l2 * kernels.vectors.dot(weights, weights) > monitor.start_loss:
        outcome = "diverged"
    if not online and outcome == "converged":
        slope = np.abs(gradient + 2.0 * model.l2 * weights).max()
        outcome = "stuck" if slope > STEEP * float(design.corpus.node_offsets[-1]) else outcome
    return Trained(weights, monitor.history, monitor.n_iter, monitor.kept, outcome, evaluation.unconverged)


def _online(model: Any, evaluation: Evaluation, start: FloatArray, monitor: Monitor) -> FloatArray:
    seed = int(random_generator(model.random_state).randint(2**31 - 1))
    batches = GraphBatches(evaluation, batch_size=model.batch_size, seed=seed)
    own = {"l2": model.l2, "gain": model.gain, "meta_gain": model.meta_gain, "gain_decay": model.gain_decay}
    return train_online(model.trainer, batches, start, monitor, **own)


def start_weights(model: Any, design: Design, lanes: Lanes) -> FloatArray:
    """Node weights of a logistic regression, or 0; edge weights that favour equal labels by `edge_start`."""
    layout = design.layout
    weights: FloatArray = np.zeros(layout.n_weights)
    if model.start == "logistic_regression":
        weights = logistic_regression(design, lanes, l2=model.l2)
    weights[layout.n_node_weights :] = 0.0
    layout.split(weights)[1][:] = layout.form.equal_labels(model.edge_start)
    return weights


def logistic_regression(design: Design, lanes: Lanes, *, l2: float) -> FloatArray:
    """The weights of nodes as if no edge were there; those of edges are 0."""
    monitor = Monitor(max_iter=START_ITERATIONS, tol=1e-6)
    start: FloatArray = np.zeros(design.layout.n_weights)
    return lbfgs(Evaluation(design, independent, lanes), start, monitor, l2=l2)


def independent(
    potentials: Potentials, labels: CodeArray, states: tuple[FloatArray, ...] = (), weights: FloatArray | None = None
) -> Loss:
    """−Σ w_i log P(y_i) over the nodes with a label, each by its own scores."""
    known = labels != UNLABELLED
    counts: FloatArray = np.ones(len(labels)) if weights is None else weights
    scores = potentials.node_scores - potentials.node_scores.max(axis=1, keepdims=True)
    probs = np.exp(scores)
    whole = probs.sum(axis=1)
    loss = float((counts[known] * (np.log(whole[known]) - scores[known, labels[known]])).sum())
    probs /= whole[:, None]
    probs[known, labels[known]] -= 1.0
    probs[~known] = 0.0
    probs *= counts[:, None]
    n, K = potentials.topology.n_edges, potentials.n_labels
    return Loss(loss, probs, np.zeros((n, K, K)))
