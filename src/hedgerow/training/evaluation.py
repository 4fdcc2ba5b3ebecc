"""Value and gradient of a loss at given weights: all that a trainer sees of the data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.data.dataset import Dataset
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainFeatures, ChainGradient, LinearChain
from hedgerow.parallel import Lanes, plan_chunks

Objective = Callable[..., LossAndGradient]

# Compiled features are kept between evaluations up to this many bytes; beyond it a chunk is compiled each time anew,
# which costs about half as much again as the evaluation itself.
KEPT_BYTES = 2 << 30


class _Seat:
    """What a thread needs to work on a lane: sums, messages, scores."""

    def __init__(self, chain: LinearChain, widest: int) -> None:
        self.gradient = ChainGradient(chain)
        self.workspace = Workspace()
        self.scores: FloatArray = np.empty((widest, chain.layout.n_labels))


class Evaluation:
    """The loss of a labelled corpus under a linear chain. Use inside `with Lanes(...)`: bits do not depend on it."""

    def __init__(self, chain: LinearChain, dataset: Dataset, objective: Objective, lanes: Lanes) -> None:
        self.chain = chain
        self.dataset = dataset
        self.objective = objective
        self.lanes = lanes
        self.plan = plan_chunks(dataset.offsets)
        self.n_evaluations = 0
        self._kept: list[ChainFeatures | None] = [None] * self.n_chunks
        self._kept_bytes = 0
        widest = int(np.diff(dataset.offsets[self.plan]).max())
        self._free = deque(_Seat(chain, widest) for _ in range(lanes.n_threads))
        self._taken: dict[int, _Seat] = {}
        self._losses: FloatArray = np.zeros(self.n_chunks)
        self._total: FloatArray = np.empty(0)

    @property
    def n_chunks(self) -> int:
        return len(self.plan) - 1

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient with respect to the weights."""
        self.n_evaluations += 1
        self.chain.load(weights)
        self._total = np.zeros(self.chain.layout.n_weights)
        self.lanes.run(self._work, self.n_chunks, self._finish)
        return float(self._losses.sum()), self._total

    def _work(self, lane: int, c: int) -> None:
        first, last = int(self.plan[c]), int(self.plan[c + 1])
        data = self.dataset
        if lane not in self._taken:
            self._taken[lane] = self._free.popleft()
            self._taken[lane].gradient.clear()
        seat = self._taken[lane]
        chunk = self._kept[c] or self._compile(c, first, last)
        potentials = self.chain.potentials(chunk, seat.scores)
        rows = slice(int(data.offsets[first]), int(data.offsets[last]))
        assert data.labels is not None
        found = self.objective(
            potentials,
            data.labels[rows],
            allowed=None if data.allowed is None else data.allowed[rows],
            weights=None if data.weight_seq is None else data.weight_seq[first:last],
            workspace=seat.workspace,
        )
        self._losses[c] = found.loss
        seat.gradient.add(chunk, found.node_gradient, found.edge_gradient)

    def _finish(self, lane: int) -> None:
        """Add what a lane summed, in the order of the lanes, and free its seat."""
        if lane in self._taken:
            seat = self._taken.pop(lane)
            seat.gradient.write(self._total)
            self._free.append(seat)

    def _compile(self, c: int, first: int, last: int) -> ChainFeatures:
        chunk = self.chain.compile(self.dataset, first, last)
        size = chunk.nodes.n_bytes + (chunk.pairs.n_bytes if chunk.pairs is not None else 0)
        if self._kept_bytes + size <= KEPT_BYTES:
            self._kept[c] = chunk
            self._kept_bytes += size
        return chunk
