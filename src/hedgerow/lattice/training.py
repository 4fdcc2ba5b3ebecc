"""How the weights of a linear lattice are found: the loss at given weights, where they start, and the trainer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hedgerow.estimators.values import random_generator
from hedgerow.lattice.objectives import GraphObjective, Loss, States, independent
from hedgerow.lattice.online import GraphBatches, train_online
from hedgerow.lattice.scores import Design
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.trainers import TRAINERS, GainTrainer
from hedgerow.training import kernels
from hedgerow.training.checkpoint import Maybe
from hedgerow.training.monitor import Monitor, Step, Trained
from hedgerow.training.whole.lbfgs import lbfgs

KEPT_BYTES = 1 << 30  # of the messages that are kept between evaluations, to begin the next one with
MAX_REJECTED = 8  # trials at which messages do not converge; by then the step has become very short
START_ITERATIONS = 100  # of the logistic regression that node weights start from
PASSES, ITERATIONS = 50, 200
STEEP = 0.01  # a slope by a weight, over the number of nodes, with which no training has converged


class GraphEvaluation:
    """Weights in, loss and gradient out. Use inside `with Lanes(...)`: bits do not depend on it.

    keeps : whether the messages of one evaluation are where the next one begins, so that it takes few updates. Where
        messages can converge in several ways, the loss then depends on what was evaluated before, which a search
        along a line does not bear: see `LineEvaluation`.

    unconverged : the graphs on which the last evaluation did not converge
    """

    KEPT: ClassVar[tuple[str, ...]] = ("_states", "_converged")
    FORMS: ClassVar[dict[str, Any]] = {"_states": [[np.ndarray]], "_converged": [bool], "_worst": Maybe(int)}

    def __init__(self, design: Design, loss: Loss, lanes: Lanes, *, keeps: bool = False) -> None:
        dataset = design.dataset
        assert dataset.labels is not None
        self.design = design
        self.dataset = dataset
        self.loss = loss
        self.lanes = lanes
        self.labels = dataset.labels
        n, K = len(dataset.topologies), design.layout.form.edge_tables.shape[1]
        self._keeps = keeps and 4 * 8 * K * len(dataset.edges) <= KEPT_BYTES
        self._states: list[States] = [()] * n
        self._losses: FloatArray = np.zeros(n)
        self._converged: list[bool] = [True] * n

    @property
    def unconverged(self) -> int:
        return self._converged.count(False)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        sums: FloatArray = np.zeros((self.lanes.n_lanes, self.design.layout.n_weights))

        def work(lane: int, i: int) -> None:
            self._losses[i] = self._add(i, weights, sums[lane])

        self.lanes.run(work, len(self._losses))
        total: FloatArray = np.zeros(sums.shape[1])
        for part in sums:
            total += part
        return float(self._losses.sum()), total

    def some(self, graphs: IndexArray, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss and the gradient of some graphs, one after the other."""
        total: FloatArray = np.zeros(self.design.layout.n_weights)
        loss = sum(self._add(int(i), weights, total) for i in graphs)
        return loss, total

    def accept(self, weights: FloatArray) -> None:
        """Called with the weights that training goes on from."""

    def forget(self) -> None:
        """Begin the next evaluation without earlier messages."""
        self._states = [()] * len(self._states)

    def _add(self, i: int, weights: FloatArray, total: FloatArray) -> float:
        """The loss of graph i; adds its gradient to `total`."""
        dataset, rows = self.dataset, self.dataset.node_slices[i]
        node_weights = None if dataset.node_weights is None else dataset.node_weights[rows]
        result = self.loss(self.design.potentials(i, weights), self.labels[rows], self._states[i], node_weights)
        self._converged[i] = result.converged
        if self._keeps:
            self._states[i] = result.states
        weight = 1.0 if dataset.weights is None else float(dataset.weights[i])
        self.design.pull(i, weight * result.node_gradient, weight * result.edge_gradient, total)
        return weight * result.loss


class LineEvaluation(GraphEvaluation):
    """An evaluation for searches along a line, on losses whose messages can converge in several ways.

    Where such a way ends, messages linger and converge, if at all, in another one, with another loss: value and
    gradient are not those of one function there. So weights at which messages converge on fewer graphs than where the
    search began count as worse than these. Every evaluation begins like that of a prediction, with messages that say
    nothing, so that no loss is counted that a prediction does not come to; `keeps` is for losses where messages
    converge in one way only.
    """

    KEPT: ClassVar[tuple[str, ...]] = (
        *GraphEvaluation.KEPT,
        "_worst",
        "_start_loss",
        "_n_rejected",
    )  # trials are forgotten at each iteration

    def __init__(self, design: Design, loss: Loss, lanes: Lanes, *, keeps: bool = False) -> None:
        super().__init__(design, loss, lanes, keeps=keeps)
        self._worst: int | None = None
        self._start_loss, self._n_rejected = 0.0, 0
        self._trials: dict[bytes, tuple[int, float]] = {}

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        if self._n_rejected >= MAX_REJECTED:  # so near that point no step helps
            return self._start_loss + 1.0 + abs(self._start_loss), np.zeros_like(weights)
        loss, gradient = super().__call__(weights)
        self._trials[weights.tobytes()] = self.unconverged, loss
        if self._worst is not None and self.unconverged > self._worst:
            self._n_rejected += 1
            loss = max(loss, self._start_loss) + 1.0 + abs(self._start_loss)
        return loss, gradient

    def accept(self, weights: FloatArray) -> None:
        """Called with the weights from which the next line search begins."""
        if weights.tobytes() in self._trials:
            self._worst, self._start_loss = self._trials[weights.tobytes()]
        self._n_rejected = 0
        self._trials.clear()

    def forget(self) -> None:
        super().forget()
        self._worst, self._n_rejected = None, 0


def train(
    model: Any,
    design: Design,
    objective: GraphObjective,
    warm: FloatArray | None,
    previous: list[Step] | None,
    validate: Callable[[FloatArray], float] | None,
) -> tuple[Trained[FloatArray], int]:
    """The weights of a design, trained by the parameters of a LatticeCRF; and on how many graphs inference did not
    converge at the end."""
    trainer, n_graphs = model.trainer, len(design.dataset.topologies)
    trainer = TRAINERS[trainer]() if isinstance(trainer, str) else trainer
    online = isinstance(trainer, GainTrainer)
    most = model.max_iter if model.max_iter is not None else PASSES if online else ITERATIONS
    with Lanes(model.n_jobs, min(MAX_LANES, n_graphs)) as lanes:
        # A tree-reweighted bound is convex: messages converge in one way.
        keeps = online or model.inference == "tree_reweighted"
        evaluation = (GraphEvaluation if online else LineEvaluation)(design, objective, lanes, keeps=keeps)
        with Monitor(
            max_iter=most,
            tol=model.tol,
            validate=validate,
            accept=evaluation.accept,
            n_iter_no_change=model.n_iter_no_change,
            verbose=int(model.verbose),
            previous=previous if warm is not None else None,
        ) as monitor:
            start = warm if warm is not None else start_weights(model, design, lanes)
            if isinstance(trainer, GainTrainer):
                seed = int(random_generator(model.random_state).randint(2**31 - 1))
                batches = GraphBatches(evaluation, batch_size=trainer.batch_size or 1, seed=seed)
                weights = train_online(trainer, batches, start, monitor, l2=model.l2)
            else:
                weights = lbfgs(evaluation, start, monitor, l2=model.l2)
            evaluation.forget()
            loss, gradient = evaluation(weights)  # and whether inference converges at the weights that are kept
            trained = monitor.trained(weights)
    outcome = monitor.outcome
    if online and loss + model.l2 * kernels.vectors.dot(weights, weights) > monitor.start_loss:
        outcome = "diverged"
    elif not online and outcome == "converged":
        steepest = np.abs(gradient + 2.0 * model.l2 * weights).max()
        outcome = "stuck" if steepest > STEEP * len(design.dataset.nodes) else outcome
    return replace(trained, outcome=outcome), evaluation.unconverged


def start_weights(model: Any, design: Design, lanes: Lanes) -> FloatArray:
    """Node weights of a logistic regression, or 0; edge weights that favour equal labels by `edge_start`."""
    layout = design.layout
    edges = layout.form.equal_labels(model.edge_start)
    weights: FloatArray = np.zeros(layout.n_weights)
    if model.start == "logistic_regression":  # the weights of nodes as if no edge were there
        monitor = Monitor(max_iter=START_ITERATIONS, tol=1e-6)
        weights = lbfgs(GraphEvaluation(design, independent, lanes), weights, monitor, l2=model.l2)
    weights[layout.n_node_weights :] = 0.0
    layout.split(weights)[1][:] = edges
    return weights
