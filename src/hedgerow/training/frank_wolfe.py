"""Block-coordinate Frank–Wolfe for the margin-rescaled objective: a trainer that knows how far it is from the minimum.

    minimise  l2·‖w‖² + Σ_i c_i max_Y [Δ(Y_i, Y) + score(Y) − score(Y_i)]         ((5) of Gross et al. 2007)

It works on the dual, one sequence at a time, with the best step; there is no gain to choose. What a step costs is what
its sequence touches. Weights are averaged over steps, later ones more (step k counts k), and once per pass the loss of
the average is compared with the dual, which lies below the minimum: training ends when the gap is small enough. The
gap falls about as 1 / passes. It is made for many sequences: one long sequence is one block, with one step per pass.

Memory beyond the corpus: the lists of features that online training has too; sixteen bytes per cell of the dual, of
which there are none where a sequence was never labelled wrong (two to five per wrong position); six numbers per weight.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset, locate
from hedgerow.errors import InputError
from hedgerow.estimators.codec.arrays import Array
from hedgerow.estimators.codec.steps import refuse
from hedgerow.legend import CODE, FLOAT, INDEX, UNLABELLED, BoolArray, FloatArray, IndexArray
from hedgerow.linear import kernels as linear_kernels
from hedgerow.linear.batches import FeatureLists, RowReader
from hedgerow.linear.chain import KEPT_BYTES, ChainLayout
from hedgerow.linear.working import WorkingLayout
from hedgerow.parallel import plan_chunks
from hedgerow.training import kernels
from hedgerow.training.checkpoint import checked, fill, restoring
from hedgerow.training.monitor import Monitor


def frank_wolfe(
    layout: ChainLayout,
    dataset: Dataset,
    weights: FloatArray,
    monitor: Monitor,
    *,
    l2: float,
    costs: FloatArray | None = None,
    seed: int = 0,
) -> FloatArray:
    """Minimise the margin loss + l2·‖w‖² over a labelled corpus; the weights that the monitor keeps.

    Parameters
    ----------
    weights : (W,), zeros: the dual variables, not the weights, are what training starts from
    l2 : above 0; without a penalty there is no dual
    costs : (K, K) [true, predicted], as the objective "margin" has them; None: 1 for every wrong label
    seed : of the order of the sequences, which is another one in each pass
    """
    _check(layout, dataset, weights, l2)
    hamming = 1.0 - np.eye(layout.n_labels)
    solver = Solver(layout, dataset, l2=l2, costs=hamming if costs is None else costs)
    saved, average = monitor.resume(), weights
    if saved is None:
        loss = solver.loss(average)
        done = monitor.begin(loss, average, loss)
    else:
        with restoring():
            average, done = checked(saved["average"], weights, "average"), monitor.done
            if not done:
                solver.restore(saved["solver"])

    def state(ended: bool) -> dict[str, Any]:
        return {"average": average} | ({} if ended else {"solver": solver.state()})

    while not done:
        solver.run(np.random.default_rng([seed, monitor.n_iter]))
        average = solver.average()
        loss = solver.loss(average)
        done = monitor.step(loss, average, loss - solver.bound(average), state)
    return monitor.weights(average)


class Solver:
    """The dual variables of a corpus, and the weights that they make.

    costs : (K, K) [true, predicted]
    kept_bytes : the features of the corpus are listed once where the lists need no more than this, else chunk by chunk
    """

    def __init__(
        self, layout: ChainLayout, dataset: Dataset, *, l2: float, costs: FloatArray, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self.layout, self.dataset, self.l2 = layout, dataset, l2
        nodes = RowReader(dataset, layout.nodes)
        pairs = None if layout.pairs is None else RowReader(dataset, layout.pairs)
        self.working = WorkingLayout(layout, nodes.count(), None if pairs is None else pairs.count())
        self._nodes = self._pairs = FeatureLists(nodes, self.working.nodes, kept_bytes)
        if pairs is not None and self.working.pairs is not None:
            self._pairs = FeatureLists(pairs, self.working.pairs, kept_bytes - self._nodes.n_bytes)
        self._chunks = [np.arange(a, b, dtype=INDEX) for a, b in pairwise(plan_chunks(dataset.offsets))]
        self._importance = np.ones(dataset.n_sequences) if dataset.weight_seq is None else dataset.weight_seq
        self._blocks = [_new_blocks(len(chunk), 0) for chunk in self._chunks]
        self._chain = _chain(self.working, costs)
        self._buffers = _buffers(self.working, int(np.diff(dataset.offsets).max(initial=1)))
        self._weights: FloatArray = np.zeros(self.working.size)
        self._late: FloatArray = np.zeros(self.working.size)
        self._totals: FloatArray = np.zeros(3)
        edges = self._edges(self._weights)
        self._state = linear_kernels.frank_wolfe.State(self._weights, edges, self._late, self._totals)

    def run(self, rng: np.random.Generator) -> None:
        """A step for every sequence, chunk by chunk, in an order that is drawn."""
        for c in rng.permutation(len(self._chunks)):
            chunk, old = self._chunk(self._chunks[c]), self._blocks[c]
            new = _new_blocks(len(chunk.length), len(old.cells) + 4 * int(chunk.length.sum()))
            order = rng.permutation(len(chunk.length))
            n = linear_kernels.frank_wolfe.take_steps(
                chunk, self._chain, order, self.l2, self._state, old, new, self._buffers
            )
            self._blocks[c] = new._replace(cells=new.cells[:n].copy(), values=new.values[:n].copy())

    def state(self) -> list[Any]:
        """What a checkpoint keeps."""
        return [list(self._state), [list(blocks) for blocks in self._blocks]]

    def restore(self, saved: Any) -> None:
        """Go on from such a state."""
        for array, found in zip(self._state, saved[0], strict=True):
            fill(array, found)
        self._blocks = [self._restored(chunk, found) for chunk, found in zip(self._chunks, saved[1], strict=True)]

    def _restored(self, chunk: IndexArray, found: Any) -> Any:
        """The blocks of a chunk, which must not overlap: room for new ones is counted by their cells."""
        begin, end, cells, values = found
        n, K = len(checked(cells, Array("cells", INDEX, ("n",), low=0), "cells")), self.layout.n_labels
        checked(values, Array("values", FLOAT, (n,)), "values")
        for ends in (begin, end):
            checked(ends, Array("blocks", INDEX, (len(chunk),), low=0, high=n), "blocks")
        lengths = np.diff(self.dataset.offsets)[chunk]
        n_cells = lengths * K + (1 if self.working.pairs is None else lengths) * K * K
        inside = all(np.all(cells[a:b] < size) for a, b, size in zip(begin, end, n_cells))
        if np.any(begin > end) or int((end - begin).sum()) > n or not inside:
            refuse("blocks of cells overlap, or reach beyond their sequences")
        return linear_kernels.frank_wolfe.Blocks(begin, end, cells, values)

    def loss(self, weights: FloatArray) -> float:
        """The penalised loss at some weights (W,)."""
        x = self.working.pack(weights)
        edges = self._edges(x)
        total = self.l2 * _square(weights)
        for sequences in self._chunks:
            total += linear_kernels.frank_wolfe.losses(self._chunk(sequences), self._chain, x, edges, self._buffers)
        return float(total)

    def last(self) -> FloatArray:
        """The weights (W,) after the last step."""
        return self.working.unpack(self._weights)

    def average(self) -> FloatArray:
        """Σ_k k·w_k / Σ_k k over the steps k, w_k (W,) being the weights after step k."""
        return self.working.unpack(self._weights - self._late * self._late_share())

    def bound(self, average: FloatArray) -> float:
        """What no weights can get below: the dual at the variables of now, or at their average, where it is higher."""
        _, cost, late = self._totals
        now = cost - self.l2 * _square(self._weights)
        mean = cost - late * self._late_share() - self.l2 * _square(average)
        return float(max(now, mean))

    @property
    def n_cells(self) -> int:
        """How many cells of the dual are not 0."""
        return sum(len(blocks.cells) for blocks in self._blocks)

    def _late_share(self) -> float:
        # What moved at step k was missing in the steps before: the share k(k−1) / n(n+1) of all that is counted.
        n = float(self._totals[0])
        return 1.0 / (n * (n + 1.0)) if n > 0 else 0.0

    def _edges(self, x: FloatArray) -> FloatArray:
        return self.layout.edge_table(x[self.working.arcs])

    def _chunk(self, sequences: IndexArray) -> Any:
        self._nodes.open(sequences)
        if self._pairs is not self._nodes:
            self._pairs.open(sequences)
        features = linear_kernels.frank_wolfe.Features
        assert self.dataset.labels is not None
        return linear_kernels.frank_wolfe.Chunk(
            features(*self._nodes.lists, self._nodes.begin),
            features(*self._pairs.lists, self._pairs.begin),
            self.dataset.labels,
            self.dataset.offsets[sequences],
            self._nodes.length,
            self._importance[sequences],
        )


def _chain(working: WorkingLayout, costs: FloatArray) -> Any:
    layout, K = working.layout, working.layout.n_labels
    arc_slot = np.full((K, K), -1, dtype=CODE)
    arc_slot[layout.arc_from, layout.arc_to] = np.arange(working.arcs.start, working.arcs.stop)
    return linear_kernels.frank_wolfe.Chain(
        layout.space.start_scores, layout.space.end_scores, layout.arc_from, layout.arc_to, working.arcs.start,
        arc_slot, working.real, costs, layout.pairs is not None,
    )  # fmt: skip


def _new_blocks(n_sequences: int, n_cells: int) -> Any:
    ends = np.zeros((2, n_sequences), dtype=INDEX)
    return linear_kernels.frank_wolfe.Blocks(ends[0], ends[1], np.empty(n_cells, dtype=INDEX), np.empty(n_cells))


def _buffers(working: WorkingLayout, longest: int) -> Any:
    K, W = working.layout.n_labels, working.size
    deep = longest if working.pairs is not None else 1
    n_cells = longest * K + deep * K * K
    return linear_kernels.frank_wolfe.Buffers(
        node=np.empty((longest, K)),
        best=np.empty((longest, K)),
        pairs=np.empty((deep, K * K)),
        labels=np.empty(longest, dtype=CODE),
        cells=np.empty(n_cells),
        seen=np.zeros(n_cells, dtype=np.uint8),
        listed=np.empty(n_cells, dtype=INDEX),
        moved=np.empty(W),
        marked=np.zeros(W, dtype=np.uint8),
        touched=np.empty(W, dtype=INDEX),
    )


def _square(weights: FloatArray) -> float:
    return float(kernels.vectors.dot(weights, weights))


def _check(layout: ChainLayout, dataset: Dataset, weights: FloatArray, l2: float) -> None:
    if not l2 > 0.0:
        raise InputError(f"Frank–Wolfe with ⟦l2={l2}⟧ has no dual to work on", hint="Choose an ⟦l2⟧ above 0.")
    if weights.any():
        hint = "Start from zeros, without ⟦warm_start⟧, or choose another ⟦trainer⟧."
        raise InputError("Frank–Wolfe starts from its dual variables, and cannot start from weights", hint=hint)
    labels = dataset.labels
    if labels is None:
        raise InputError("Frank–Wolfe needs the true labels")
    what = "the label is not known, and the margin loss is then not convex"
    hint = "Label this position, leave the sequence out, or choose another ⟦trainer⟧."
    _refuse(dataset, labels == UNLABELLED, what, hint)
    space = layout.space
    first, last = dataset.offsets[:-1], dataset.offsets[1:] - 1
    legal: BoolArray = np.ones(len(labels), dtype=bool)
    legal[1:] = space.transitions[labels[:-1], labels[1:]]
    legal[first] = space.start[labels[first]]
    legal[last] &= space.end[labels[last]]
    _refuse(dataset, ~legal, "the true label is forbidden here", "Allow it, or leave the sequence out.")


def _refuse(dataset: Dataset, wrong: BoolArray, what: str, hint: str) -> None:
    if wrong.any():
        sequence, position = locate(dataset.offsets, int(np.argmax(wrong)))
        raise InputError(what, hint=hint, sequence=sequence, position=position)
