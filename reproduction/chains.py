"""A linear chain that is trained in many ways: its data encoded once, and its weights read off on test sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.chain.decoding import DECODERS
from hedgerow.chain.objectives.result import Objective
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Window
from hedgerow.data.encoding import encode, learn
from hedgerow.estimators.base import label_lists
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray
from hedgerow.linear.chain import ChainFeatures, ChainLayout, Evaluation, LinearChain
from hedgerow.models.crf.linear_layout import Statistics, lay_out
from hedgerow.parallel import MAX_LANES, Lanes, count_lanes, plan_chunks
from hedgerow.training.monitor import Monitor, State
from hedgerow.training.whole.lbfgs import curvature_scale, lbfgs

Observe = Callable[[int, float, FloatArray], None]  # passes so far, penalised loss, weights


@dataclass(frozen=True)
class ChainTask:
    """Training and test sequences of one linear chain, in which every transition is legal."""

    train: Dataset
    test: Dataset
    layout: ChainLayout
    statistics: Statistics

    @classmethod
    def of(cls, X: Any, y: Any, X_test: Any, y_test: Any, *, window: Window = 0, pairs: str = "observed") -> ChainTask:
        """Encode. `window` and `pairs` are those of LinearCRF. The test sequences have only labels of the training."""
        train = learn(X, y, window=window)
        layout, statistics = lay_out(
            train,
            StateSpace.full(train.n_labels),
            transitions="all",
            pairs=pairs,
            min_frequency=0.0,
            transition_columns=None,
        )
        return cls(train, encode(train.schema, X_test, y_test), layout, statistics)

    @property
    def n_weights(self) -> int:
        return self.layout.n_weights

    def zeros(self) -> FloatArray:
        return np.zeros(self.layout.n_weights)


class Reader:
    """The labels that weights give to the sequences of a dataset. Their features are compiled once and kept."""

    def __init__(self, layout: ChainLayout, dataset: Dataset, n_jobs: int = 1) -> None:
        self.dataset = dataset
        self._chain = LinearChain(layout)
        self._plan = plan_chunks(dataset.offsets)
        self._chunks: list[ChainFeatures | None] = [None] * (len(self._plan) - 1)
        self._n_jobs = n_jobs

    def labels(self, weights: FloatArray, decoder: str) -> CodeArray:
        """int32 (N,), codes of labels."""
        chain, chunks, decode = self._chain, self._chunks, DECODERS[decoder]
        chain.load(weights)
        found: list[CodeArray] = [np.empty(0, dtype=CODE)] * len(chunks)

        def work(lane: int, c: int) -> None:
            chunk = chunks[c] or chain.compile(self.dataset, int(self._plan[c]), int(self._plan[c + 1]))
            chunks[c] = chunk
            found[c] = decode(chain.potentials(chunk), None)

        with Lanes(self._n_jobs, min(MAX_LANES, len(chunks))) as lanes:
            lanes.run(work, len(chunks))
        return np.concatenate(found)

    def accuracy(self, weights: FloatArray, decoder: str) -> float:
        """The percentage of labels that are right."""
        return 100 * float(np.mean(self.labels(weights, decoder) == self.dataset.labels))

    def lists(self, labels: CodeArray) -> AnyArray:
        """Codes as lists of labels, sequence by sequence."""
        return label_lists(self.dataset.schema, labels, self.dataset.offsets)


class Watched(Monitor):
    """A monitor that tells somebody the loss and the weights after every iteration, and before the first on demand."""

    def __init__(
        self, tell: Callable[[float, FloatArray], None], *, max_iter: int, tol: float, start: bool = False
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self._tell = tell
        self._start = start

    def begin(self, loss: float, weights: FloatArray | None = None, gap: float = np.inf) -> bool:
        assert weights is not None
        if self._start:
            self._tell(loss, weights)
        return super().begin(loss, weights, gap)

    def step(
        self, loss: float, weights: FloatArray | None = None, gap: float = np.inf, state: State | None = None
    ) -> bool:
        assert weights is not None
        self._tell(loss, weights)
        return super().step(loss, weights, gap, state)


def descend(
    task: ChainTask,
    objective: Objective,
    start: FloatArray,
    *,
    l2: float,
    max_iter: int,
    tol: float = 1e-5,
    n_jobs: int = 1,
    memory: int = 6,
    scaled: bool = True,
    observe: Observe | None = None,
) -> FloatArray:
    """The weights that L-BFGS finds. `observe` is told of the start and of every iteration.

    memory, scaled : how many steps L-BFGS remembers, and whether it works in hedgerow's scaled variables
    """
    n_chunks = len(plan_chunks(task.train.offsets)) - 1
    with Lanes(n_jobs, count_lanes(task.n_weights, n_chunks)) as lanes:
        evaluation = Evaluation(LinearChain(task.layout), task.train, objective, lanes)

        def tell(loss: float, weights: FloatArray) -> None:
            if observe is not None:
                observe(evaluation.n_evaluations, loss, weights)

        scale = None
        if scaled:
            statistics = task.statistics
            scale = curvature_scale(statistics.frequency, statistics.square, task.layout.n_labels, l2)
        with Watched(tell, max_iter=max_iter, tol=tol, start=True) as monitor:
            return lbfgs(evaluation, start, monitor, l2=l2, scale=scale, memory=memory)
