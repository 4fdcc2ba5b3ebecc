"""Small corpora as online trainers and their literal versions see them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from hedgerow.chain.inference import best_labelings
from hedgerow.chain.objectives import CURVATURES, Objective, log_likelihood
from hedgerow.chain.objectives.labelings import best_truth
from hedgerow.chain.potentials import Truth
from hedgerow.data.dataset import Dataset
from hedgerow.legend import BoolArray, FloatArray, IndexArray
from hedgerow.linear.chain import ChainGradient, ChainLayout, LinearChain
from hedgerow.trainers import OnlineTrainer
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.trainers import train_online
from hedgerow.training.whole.lbfgs import lbfgs
from tests.models.corpora import COLUMNS, Loss, partial_labels, rich_corpus


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
        found = self.objective(chain.potentials(chunk), self._truth(data))
        return found.loss, self._pull(chain, chunk, found.node_gradient, found.edge_gradient)

    def mistakes(self, weights: FloatArray, batch: IndexArray) -> list[tuple[float, int]]:
        """Of each sequence of a batch its weight, and how many labels of the best labeling are wrong: other than those
        of the best labeling that is true."""
        chain, data, chunk = self._open(weights, batch)
        potentials = chain.potentials(chunk)
        wrong = best_labelings(potentials)[0] != best_truth(potentials, potentials.check_truth(self._truth(data))[0])[0]
        counts = [int(part.sum()) for part in np.split(wrong, data.offsets[1:-1])]
        return list(zip(np.ones(len(counts)) if data.weight_seq is None else data.weight_seq, counts))

    def product(self, weights: FloatArray, batch: IndexArray, direction: FloatArray) -> FloatArray:
        """The Hessian of the batch times a direction."""
        chain, data, chunk = self._open(weights, batch)
        potentials = chain.potentials(chunk)
        along = LinearChain(self.layout)
        along.start_scores = along.end_scores = None
        along.load(direction)
        moved = along.potentials(chunk)
        edges = moved.edges.scores_to if potentials.edges.per_position else moved.edges.scores
        edges = np.where(np.isneginf(edges), 0.0, edges)
        curved = CURVATURES[self.objective](potentials, self._truth(data), (moved.node_scores, edges))
        return self._pull(chain, chunk, curved.node_product, curved.edge_product)

    def touched(self, batch: IndexArray, weights: FloatArray) -> BoolArray:
        """Which weights a batch touches, as `Batches` says: test_batches holds it to all that have a gradient."""
        batches = self.batches()
        batches.evaluate(batch, batches.working.pack(weights))
        touched = np.zeros(batches.working.size)
        for runs, n_runs, width, slots, n_slots in batches.touched():
            touched[slots[:n_slots]] = 1.0
            for first in runs[:n_runs]:
                touched[first : first + width] = 1.0
        return batches.working.unpack(touched) != 0.0

    def penalised(self, weights: FloatArray, l2: float) -> float:
        return self.gradient(weights)[0] + l2 * float(weights @ weights)

    def _open(self, weights: FloatArray, batch: IndexArray | None) -> Any:
        chain = LinearChain(self.layout)
        chain.load(weights.copy())
        data = self.dataset if batch is None else self.dataset.take(batch)
        return chain, data, chain.compile(data, 0, data.n_sequences)

    def _truth(self, data: Dataset) -> Truth:
        return Truth(data.labels, data.allowed, data.weight_seq)

    def _pull(self, chain: LinearChain, chunk: Any, nodes: FloatArray, edges: FloatArray) -> FloatArray:
        sums, out = ChainGradient(chain), np.zeros(self.layout.n_weights)
        sums.add(chunk, np.ascontiguousarray(nodes), edges)
        sums.write(out)
        return out


def train(trainer: type[OnlineTrainer], batches: Batches, start: FloatArray, monitor: Monitor, **options: Any) -> Any:
    """The weights that a trainer finds; `options` are its settings, and what training takes beside them."""
    settings = {name: options.pop(name) for name in trainer().get_params() if name in options}
    return train_online(trainer(**settings), batches, start, monitor, **options)


def run(trainer: Any, problem: Problem, max_iter: int, start: FloatArray | None = None, **options: Any) -> FloatArray:
    """The weights after so many passes."""
    start = np.zeros(problem.layout.n_weights) if start is None else start
    with Monitor(max_iter=max_iter, tol=0.0, plateau=False) as monitor:
        return train(trainer, problem.batches(), start, monitor, **options)


@st.composite
def problems(draw, objective: Objective = log_likelihood) -> Problem:
    """Every kind of feature; some with rules, pair weights, unknown labels, weights of sequences, odd batches."""
    seed, n = draw(st.integers(0, 10**6)), draw(st.integers(1, 9))
    X, y = rich_corpus(n, seed=seed)
    if draw(st.booleans()):
        y = [y[0], *partial_labels(y[1:], seed=seed)]
    sample_weight = np.linspace(0.5, 2.0, n) if draw(st.booleans()) else None
    form = draw(st.sampled_from([{}, {"constraints": "iob2"}, {"transition_columns": ["word"]}, {"window": 1}]))
    loss = Loss(X, y, sample_weight, columns=COLUMNS, **form)
    return Problem(loss.layout, loss.dataset, objective, batch_size=draw(st.integers(1, 4)))


def small_problem(objective: Objective = log_likelihood) -> Problem:
    """A corpus that trains fast."""
    X, y = rich_corpus(12, seed=1)
    rows = [[{k: row[k] for k in ("word", "upper", "size") if k in row} for row in item.positions] for item in X]
    loss = Loss(rows, y)
    return Problem(loss.layout, loss.dataset, objective, batch_size=4)


def excess(problem: Problem, weights: FloatArray, l2: float) -> float:
    """How far the penalised loss is above the one that L-BFGS finds, as a share of it."""
    with Monitor(max_iter=2000, tol=1e-13) as monitor:
        best = lbfgs(problem.gradient, np.zeros(problem.layout.n_weights), monitor, l2=l2)
    return problem.penalised(weights, l2) / problem.penalised(best, l2) - 1.0
