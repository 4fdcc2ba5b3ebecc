"""The loss of a corpus of graphs at given weights, and its gradient: graphs go to threads, bits do not depend on it."""

from __future__ import annotations

import numpy as np

from hedgerow.lattice.linear import Design
from hedgerow.lattice.objectives import Loss, Objective
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.parallel import Lanes
from hedgerow.training.monitor import Monitor

KEPT_BYTES = 1 << 30  # of the messages that are kept between evaluations, to begin the next one with
MAX_REJECTED = 8  # trials at which messages do not rest; by then the step has become very short


class Evaluation:
    """Weights in, loss and gradient out. Use inside `with Lanes(...)`.

    keeps : whether the messages of one evaluation are where the next one begins, so that it takes few updates. Where
        messages can come to rest in several ways, the loss then depends on what was evaluated before, which a search
        along a line does not bear: see `LineEvaluation`.

    unconverged : the graphs on which the last evaluation did not come to rest
    """

    def __init__(self, design: Design, objective: Objective, lanes: Lanes, *, keeps: bool = False) -> None:
        assert design.corpus.labels is not None
        self.design = design
        self.objective = objective
        self.lanes = lanes
        self.labels = design.corpus.labels
        n = design.corpus.n_graphs
        K = design.layout.form.n_labels
        needed = 4 * 8 * K * int(design.corpus.edge_offsets[-1])
        self._keeps = keeps and needed <= KEPT_BYTES
        self._states: list[tuple[FloatArray, ...]] = [()] * n
        self._losses: FloatArray = np.zeros(n)
        self._rested: list[bool] = [True] * n
        self._sums: list[FloatArray] = [np.empty(0)] * lanes.n_lanes

    @property
    def unconverged(self) -> int:
        return self._rested.count(False)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        n_weights, n = self.design.layout.n_weights, self.design.corpus.n_graphs
        self._sums = [np.zeros(n_weights) for _ in self._sums]

        def work(lane: int, i: int) -> None:
            self._losses[i] = self._add(i, weights, self._sums[lane])

        self.lanes.run(work, n)
        total: FloatArray = np.zeros(n_weights)
        for part in self._sums:
            total += part
        return float(self._losses.sum()), total

    def some(self, graphs: IndexArray, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss and the gradient of some graphs, one after the other."""
        total: FloatArray = np.zeros(self.design.layout.n_weights)
        loss = sum(self._add(int(i), weights, total) for i in graphs)
        return loss, total

    def forget(self) -> None:
        """Begin the next evaluation without earlier messages."""
        self._states = [()] * len(self._states)

    def _add(self, i: int, weights: FloatArray, total: FloatArray) -> float:
        corpus = self.design.corpus
        given = self.design.potentials(i, weights), self.labels[corpus.nodes_of(i)], self._states[i]
        found: Loss = self.objective(*given, *corpus.weights_of(i))
        self._rested[i] = found.converged
        if self._keeps:
            self._states[i] = found.states
        weight = 1.0 if corpus.weights is None else float(corpus.weights[i])
        self.design.pull(i, weight * found.node_gradient, weight * found.edge_gradient, total)
        return weight * found.loss


class LineEvaluation(Evaluation):
    """An evaluation for searches along a line, on losses whose messages can come to rest in several ways.

    Where such a way ends, messages linger and come to rest, if at all, in another one, with another loss: value and
    gradient are not those of one function there. So weights at which messages rest on fewer graphs than where the
    search began count as worse than these. Every evaluation begins like that of a prediction, with messages that say
    nothing, so that no loss is counted that a prediction does not come to; `keeps` is for losses where messages rest
    in one way only.
    """

    def __init__(self, design: Design, objective: Objective, lanes: Lanes, *, keeps: bool = False) -> None:
        super().__init__(design, objective, lanes, keeps=keeps)
        self._worst: int | None = None
        self._start_loss, self._n_rejected = 0.0, 0
        self._trials: dict[bytes, tuple[int, float]] = {}

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        if self._n_rejected >= MAX_REJECTED:  # so near that point nothing is to be found
            return self._start_loss + 1.0 + abs(self._start_loss), np.zeros_like(weights)
        loss, gradient = super().__call__(weights)
        self._trials[weights.tobytes()] = self.unconverged, loss
        if self._worst is not None and self.unconverged > self._worst:
            self._n_rejected += 1
            loss = max(loss, self._start_loss) + 1.0 + abs(self._start_loss)
        return loss, gradient

    def accept(self, weights: FloatArray) -> None:
        """The next search begins here."""
        if weights.tobytes() in self._trials:
            self._worst, self._start_loss = self._trials[weights.tobytes()]
        self._n_rejected = 0
        self._trials.clear()

    def forget(self) -> None:
        super().forget()
        self._worst, self._n_rejected = None, 0


class LineMonitor(Monitor):
    """A monitor that tells a LineEvaluation where searches begin."""

    evaluation: LineEvaluation | None = None

    def begin(self, loss: float, weights: FloatArray | None = None, gap: float = np.inf) -> bool:
        self._accept(weights)
        return super().begin(loss, weights, gap)

    def step(self, loss: float, weights: FloatArray | None = None, gap: float = np.inf) -> bool:
        self._accept(weights)
        return super().step(loss, weights, gap)

    def _accept(self, weights: FloatArray | None) -> None:
        if self.evaluation is not None and weights is not None:
            self.evaluation.accept(weights)
