"""Small corpora as online trainers and their literal versions see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.legend import BoolArray, FloatArray, IndexArray
from hedgerow.objectives import CURVATURES, Objective, log_likelihood
from hedgerow.scorers.chain import ChainGradient, ChainLayout, LinearChain
from hedgerow.trainers.batches import Batches
from hedgerow.trainers.monitor import Monitor


class Problem:
    """The gradient of a batch by the ordinary scorer, on a corpus that consists of the batch; nothing is lazy here."""

    def __init__(
        self, layout: ChainLayout, dataset: Dataset, objective: Objective = log_likelihood, *, batch_size: int = 4
    ) -> None:
        self.layout = layout
        self.dataset = dataset
        self.objective = objective
        self.n_sequences = dataset.n_sequences
        self.batch_size = batch_size

    def batches(self, **options: Any) -> Batches:
        return Batches(self.layout, self.dataset, self.objective, batch_size=self.batch_size, **options)

    def order(self, number: int) -> list[IndexArray]:
        """As `Batches` has it with seed 0."""
        order = np.random.default_rng([0, number]).permutation(np.arange(self.n_sequences))
        return [order[i : i + self.batch_size] for i in range(0, self.n_sequences, self.batch_size)]

    def gradient(self, weights: FloatArray, batch: IndexArray | None = None) -> tuple[float, FloatArray]:
        chain, data, chunk = self._open(weights, batch)
        found = self.objective(chain.potentials(chunk), data.labels, **self._options(data))
        return found.loss, self._pull(chain, chunk, found.node_gradient, found.edge_gradient)

    def product(self, weights: FloatArray, batch: IndexArray, direction: FloatArray) -> FloatArray:
        """The Hessian of the batch times a direction."""
        chain, data, chunk = self._open(weights, batch)
        potentials = chain.potentials(chunk)
        along = LinearChain(self.layout)
        along.start_scores = along.end_scores = None
        along.load(direction)
        moved = along.potentials(chunk)
        edges = moved.edges.scores if potentials.edges.scores.ndim == 2 else moved.edges.scores_to
        edges = np.where(np.isneginf(edges), 0.0, edges)
        curved = CURVATURES[self.objective](potentials, data.labels, moved.node_scores, edges, **self._options(data))
        return self._pull(chain, chunk, curved.node_product, curved.edge_product)

    def touched(self, batch: IndexArray) -> BoolArray:
        """Which weights have a feature in a batch."""
        chain, data, chunk = self._open(np.zeros(self.layout.n_weights), batch)
        n, K = data.n_positions, self.layout.n_labels
        edges = np.zeros((K, K)) if self.layout.pairs is None else np.ones((K, n, K))
        ones = self._pull(chain, chunk, np.ones((n, K)), edges)
        squares = ones != 0.0
        squares[self.layout.nodes.n_weights :][: len(self.layout.arc_from)] = True
        return squares

    def penalised(self, weights: FloatArray, l2: float) -> float:
        return self.gradient(weights)[0] + l2 * float(weights @ weights)

    def _open(self, weights: FloatArray, batch: IndexArray | None) -> Any:
        chain = LinearChain(self.layout)
        chain.load(weights.copy())
        data = self.dataset if batch is None else self.dataset.take(batch)
        return chain, data, chain.compile(data, 0, data.n_sequences)

    def _options(self, data: Dataset) -> dict[str, Any]:
        return {"allowed": data.allowed, "weights": data.weight_seq}

    def _pull(self, chain: LinearChain, chunk: Any, nodes: FloatArray, edges: FloatArray) -> FloatArray:
        sums, out = ChainGradient(chain), np.zeros(self.layout.n_weights)
        sums.add(chunk, np.ascontiguousarray(nodes), edges)
        sums.write(out)
        return out


def run(trainer: Any, problem: Problem, max_iter: int, start: FloatArray | None = None, **options: Any) -> FloatArray:
    """The weights after so many passes."""
    start = np.zeros(problem.layout.n_weights) if start is None else start
    with Monitor(max_iter=max_iter, tol=0.0) as monitor:
        # A loss that rises for ten passes would stop: here passes are counted.
        monitor.tol = -np.inf
        return trainer(problem.batches(), start, monitor, **options)
