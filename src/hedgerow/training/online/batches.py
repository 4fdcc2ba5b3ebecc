"""Batches of whole sequences, and the loss and the sparse gradient of one batch at given weights.

All that an online trainer sees of the data. Weights stand in a working vector (`scorers.working`); what a batch costs
is what it touches, and the transitions, which every batch touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives import CURVATURES, Objective, log_likelihood, perceptron
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, BoolArray, FloatArray, IndexArray
from hedgerow.linear.batches import BatchChain, Touched
from hedgerow.linear.chain import KEPT_BYTES, ChainLayout
from hedgerow.training.online.learners import shuffled_batches
from hedgerow.training.online.shortcuts import LikelihoodShortcut, PerceptronShortcut, Shortcut

SAMPLE = 64  # sequences whose loss tells that of the corpus before training


class Diverged(FloatingPointError):
    """Scores are no longer numbers: the gain was too large."""


class Batches:
    """Batches of the sequences of a labelled corpus, for one chain and one objective.

    Parameters
    ----------
    batch_size : sequences a batch; the last one of a pass may have fewer
    seed : of the order of the sequences, which is another one in each pass
    n_before : sequences of the corpus that were seen before and are not at hand
    kept_bytes : the features of the corpus are listed once where the lists need no more than this, else batch by batch

    Attributes
    ----------
    working : how the weights stand in the working vector
    gradient : float64[X], of the last batch by the weights; who uses it clears it
    product : float64[X], the Hessian of the last batch times a direction; likewise
    passes : the sequences that were evaluated so far, over those of the corpus
    """

    KEPT: ClassVar[tuple[str, ...]] = ("passes",)

    def __init__(
        self,
        layout: ChainLayout,
        dataset: Dataset,
        objective: Objective,
        *,
        batch_size: int = 8,
        seed: int = 0,
        n_before: int = 0,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        if dataset.labels is None:
            raise InputError("training needs the true labels")
        self.dataset = dataset
        self.objective = objective
        self.batch_size = batch_size
        self.seed = seed
        self.n_before = n_before
        self._chain = BatchChain(layout, dataset, kept_bytes)
        self.working = self._chain.working
        self.gradient: FloatArray = np.zeros(self.working.size)
        self.product: FloatArray = np.zeros(0)
        self.passes = 0.0
        self._rows: FloatArray = np.zeros((0, layout.n_labels))  # the gradient of the scores of the last batch
        self._labels = dataset.labels
        self._workspace = Workspace()
        self._plain: BoolArray = np.logical_and.reduceat(self._labels != UNLABELLED, dataset.offsets[:-1])
        if dataset.weight_seq is not None:
            self._plain &= dataset.weight_seq == 1.0
        self._shortcut: Shortcut | None = None
        pairs = not self._chain.per_position and layout.histories is None
        if pairs and objective is log_likelihood:
            self._shortcut = LikelihoodShortcut(self._chain, self._labels)
        elif pairs and objective is perceptron:
            self._shortcut = PerceptronShortcut(self._chain, self._labels)

    @property
    def n_sequences(self) -> int:
        return self.dataset.n_sequences

    @property
    def n_corpus(self) -> int:
        """The sequences of the corpus that penalties and passes are shares of."""
        return self.n_before + self.n_sequences

    @property
    def lengths(self) -> IndexArray:
        """The positions of each sequence."""
        return np.diff(self.dataset.offsets)

    @property
    def flat_at_zero(self) -> bool:
        """Whether the loss is smallest with weights of 0, where all labelings tie."""
        return self.objective is perceptron

    @property
    def n_batches(self) -> int:
        """How many batches a pass over the corpus has."""
        return -(-self.n_corpus // self.batch_size)

    def order(self, number: int, sequences: IndexArray | None = None) -> Iterator[IndexArray]:
        """The batches of pass `number`: the numbers of all sequences, or of some, in an order of its own."""
        chosen = np.arange(self.n_sequences) if sequences is None else sequences
        return shuffled_batches(chosen, self.batch_size, self.seed, number)

    def touched(self) -> list[Touched]:
        """The weights that the last batch touched, for kernels.updates: of nodes and transitions, and of pairs."""
        return self._chain.touched()

    def clear(self) -> None:
        """Forget the gradient of a batch that was given up."""
        self.gradient[:] = 0.0
        self.product[:] = 0.0

    def evaluate(
        self, sequences: IndexArray, x: FloatArray, factor: float = 1.0, refresh: Callable[[], None] | None = None
    ) -> float:
        """The loss of some sequences at the weights factor·x, without a penalty; adds its gradient to `gradient`.

        `refresh` is called when the touched weights are known and not yet read, for trainers whose weights change
        while they are not touched. Without it only weights with a gradient count as touched.
        """
        chain = self._open(sequences)
        if refresh is not None:
            chain.active[: chain.n] = 1
            chain.touch()
            refresh()
        loss, nodes, pairs = self._score(x, factor)
        self._rows = nodes
        if refresh is None:
            chain.touch()
        chain.pull(nodes, pairs, self.gradient)
        return loss

    def margin(self, power: float) -> float:
        """Σ_i w_i · d_i^power over the sequences of the last batch that have d_i > 0 wrong labels, by their weights. Of
        the objective `perceptron`, whose gradient tells them."""
        chain, weights = self._chain, self.dataset.weight_seq
        wrong = chain.active[: chain.n].astype(bool)
        if not wrong.any():
            return 0.0
        wrong[wrong] = (self._rows[: chain.n][wrong] != 0.0).any(axis=1)  # an edge that differs is none
        counts = np.add.reduceat(wrong, chain.offsets[:-1], dtype=np.float64)
        margins = np.where(counts > 0.0, counts**power, 0.0)
        return float((margins if weights is None else margins * weights[chain.sequences]).sum())

    def descend(self, sequences: IndexArray, x: FloatArray, factor: float, step: float) -> float:
        """As `evaluate`, and x −= step · gradient at once: half as much to read and write, for plain descent."""
        chain = self._open(sequences)
        loss, nodes, pairs = self._score(x, factor)
        chain.descend(nodes, pairs, x, step)
        arcs = self.gradient[self.working.arcs]
        x[self.working.arcs] -= step * arcs
        arcs[:] = 0.0
        return loss

    def _open(self, sequences: IndexArray) -> BatchChain:
        self._chain.open(sequences)
        self.passes += len(sequences) / self.n_sequences
        return self._chain

    def _score(self, x: FloatArray, factor: float) -> tuple[float, FloatArray, FloatArray | None]:
        """The loss of the open batch, and its gradient by the scores of nodes and of pairs; that of the transitions is
        added to `gradient`."""
        chain = self._chain
        chain.score(x, factor)
        if self._shortcut is not None and self._plain[chain.sequences].all():
            loss = self._shortcut(self.gradient)
            if loss == loss:
                return loss, self._shortcut.rows, None
        with np.errstate(over="ignore", invalid="ignore"):  # looked for at once
            result = self.objective(self._potentials(x, factor), self._truth(), self._workspace)
        if not np.isfinite(result.loss):
            raise Diverged("the loss of a batch is not a number")
        counts = (result.node_gradient != 0.0).any(axis=1)
        if result.edge_gradient.ndim == 3:
            counts |= (result.edge_gradient != 0.0).any(axis=(0, 2))
        chain.active[: chain.n] = counts
        return result.loss, result.node_gradient, chain.pull_arcs(result.edge_gradient, self.gradient)

    def sample_loss(self, weights: FloatArray) -> float:
        """The loss of the whole corpus at these weights (W,), without a penalty, as a sample of its sequences tells."""
        sample = np.random.default_rng([self.seed]).permutation(self.dataset.n_sequences)[:SAMPLE]
        x, passes = self.working.pack(weights), self.passes
        loss = self.evaluate(sample, x)
        self.clear()
        self.passes = passes
        return loss * self.n_corpus / len(sample)

    def curve(self, sequences: IndexArray, x: FloatArray, direction: FloatArray) -> float:
        """The loss of some sequences at the weights x; adds its gradient to `gradient`, and to `product` its Hessian
        times a direction, a working vector. Only for objectives with a curvature."""
        if len(self.product) == 0:
            self.product = np.zeros(self.working.size)
        chain = self._open(sequences)
        along = chain.direction(direction)
        chain.score(x)
        quick = self._shortcut
        if isinstance(quick, LikelihoodShortcut) and self._plain[sequences].all():
            with np.errstate(over="ignore", invalid="ignore"):  # the next scores tell
                loss = quick.curve(*along, self.gradient, self.product)
            if loss == loss:
                chain.touch()
                chain.pull(quick.rows, None, self.gradient)
                chain.pull(quick.moved, None, self.product)
                return loss
        with np.errstate(over="ignore", invalid="ignore"):  # looked for at once
            curved = CURVATURES[self.objective](self._potentials(x, 1.0), self._truth(), along, self._workspace)
        if not np.isfinite(curved.loss):
            raise Diverged("the loss of a batch is not a number")
        chain.active[: chain.n] = 1
        chain.touch()
        chain.pull(curved.node_gradient, chain.pull_arcs(curved.edge_gradient, self.gradient), self.gradient)
        chain.pull(curved.node_product, chain.pull_arcs(curved.edge_product, self.product), self.product)
        return curved.loss

    def _potentials(self, x: FloatArray, factor: float) -> ChainPotentials:
        if not self._chain.finite(x):
            raise Diverged("the weights became too large")
        return self._chain.potentials(x, factor)

    def _truth(self) -> Truth:
        """That of the batch."""
        data = self.dataset
        return Truth(self._labels, data.allowed, data.weight_seq).take(self._chain.rows(), self._chain.sequences)
