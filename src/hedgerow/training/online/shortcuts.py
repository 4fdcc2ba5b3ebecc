"""Loss and gradient of a batch in a few kernel calls, for the two objectives that online training uses most.

What an objective does on potentials costs some hundred microseconds of Python, as much as the work of a small batch.
Here every label is known, no sequence has a weight, and edges are shared; all else goes by the objective itself.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import CELLS_PER_CALL, Workspace, padded_width
from hedgerow.legend import CODE, CodeArray, FloatArray
from hedgerow.linear import kernels as linear_kernels
from hedgerow.linear.batches import BatchChain

LONGEST = 5000  # sequences longer than this, with forbidden transitions, are left to the objective


class Shortcut(Protocol):
    """Adds the gradient of the transitions to a working vector and leaves that of the node scores in `rows`.

    Returns the loss, or NaN where the objective itself has to look: nothing was added then.
    """

    rows: FloatArray

    def __call__(self, gradient: FloatArray) -> float: ...


class LikelihoodShortcut:
    """`log_likelihood` by scaled forward-backward."""

    def __init__(self, chain: BatchChain, labels: CodeArray) -> None:
        self.chain = chain
        self.labels = labels
        self.rows: FloatArray = np.empty((0, 0))
        self._workspace = Workspace()
        self._n_labels = chain.working.layout.n_labels
        self._padding = padded_width(self._n_labels) - self._n_labels
        self._constrained = not chain.working.layout.space.is_full()
        self._impossible: dict[int, CodeArray] = {}
        self._spare: CodeArray = np.empty(0, dtype=CODE)
        width = padded_width(self._n_labels)
        self._moves, self._moves_to, self._moved_sums = np.zeros((3, width, width))

    def __call__(self, gradient: FloatArray) -> float:
        return self._subtract_truth(gradient) if self._pass_messages() else np.nan

    def curve(self, nodes: FloatArray, edges: FloatArray, gradient: FloatArray, product: FloatArray) -> float:
        """As a call, and the Hessian times a direction of the scores, nodes (≥ n, K) and edges (K, K): that of the
        transitions is added to `product`, that of the node scores is left in `moved`."""
        if not self._pass_messages():
            return np.nan
        chain, work, tables = self.chain, self._workspace, self.chain.tables
        n, K = chain.n, self._n_labels
        work.reserve_moments()
        self.moved = work.moved
        np.multiply(nodes[:n], self.rows[:n], out=work.terms[:n])
        np.multiply(tables.exps[:K, :K], edges, out=self._moves[:K, :K])
        self._moves_to[:K, :K] = self._moves[:K, :K].T
        along, rows = kernels.covariance, work.moment_rows(chain.first, work.terms)
        along.past_along((tables.exps_to, self._moves_to), rows, 0, n)
        along.future_along((tables.exps, self._moves), rows, 0, n)
        self._moved_sums[:] = 0.0
        along.sum_edges(work.alpha, work.node_exp, work.past, work.future, self._moved_sums, 1, n)
        loss = self._subtract_truth(gradient)
        if loss == loss:
            moved = tables.exps[:K, :K] * (self._moved_sums[:K, :K] + edges * work.sums[:K, :K])
            chain.pull_arcs(moved, product)
        return loss

    def _pass_messages(self) -> bool:
        """Forward-backward: `rows` becomes P. False where a batch is too long for that."""
        chain, work, edges = self.chain, self._workspace, self.chain.tables
        n = chain.n
        if n * padded_width(self._n_labels) ** 2 > CELLS_PER_CALL or not self._allow(n):
            return False
        edges.exponentiate()
        work.sums[:] = 0.0
        work.exponentiate(chain.scores, 0, n)
        passes_of, rows = kernels.chain, work.message_rows(chain.first)
        passes_of.forward(edges.exps_to, rows, 0, n)
        passes_of.backward(edges.exps, rows, 0, n)
        passes_of.sum_edges(work.alpha, work.node_exp, work.sums, 1, n)
        chain.active[:n] = 1
        return True

    def _subtract_truth(self, gradient: FloatArray) -> float:
        chain, work, edges = self.chain, self._workspace, self.chain.tables
        loss: float = linear_kernels.online.likelihood(
            chain.begin, chain.length, self.labels, chain.scores, edges.table, edges.shift,
            work.top, work.scale, work.underflows, self._spare, work.sums, edges.exps,
            edges.arc_of, chain.working.arcs.start, self.rows, gradient,
        )  # fmt: skip
        return loss

    def _allow(self, n: int) -> bool:
        """Room for n positions; how many labels of each are impossible, and therefore 0 for a good reason."""
        if n > len(self._spare):
            capacity = len(self.chain.scores)
            self._workspace.reserve(capacity, self._n_labels)
            self.rows = self._workspace.node_probs
            self._spare = np.full(capacity, self._padding, dtype=CODE)
        if self._constrained:
            if self.chain.length.max() > LONGEST:
                return False
            counts = [self._count_impossible(int(length)) for length in self.chain.length]
            self._spare[:n] = np.concatenate(counts)
        return True

    def _count_impossible(self, length: int) -> CodeArray:
        """Padding, labels that no legal way leads to, and labels that no legal way leads on from, at each position."""
        if length not in self._impossible:
            layout = self.chain.working.layout
            edges = SharedEdges.from_scores(layout.edge_table(np.zeros(len(layout.arc_from))))
            plain = ChainPotentials(np.zeros((length, self._n_labels)), np.array([0, length]), edges)
            plain.add_start_end(layout.space.start_scores, layout.space.end_scores)
            reached, n_reached = edges.reach(plain)
            n_open = edges.reach_end(plain, reached)
            counts = self._padding + 2 * self._n_labels - n_reached - n_open
            self._impossible[length] = counts.astype(CODE)
        return self._impossible[length]


class PerceptronShortcut:
    """`perceptron` by Viterbi."""

    def __init__(self, chain: BatchChain, labels: CodeArray) -> None:
        self.chain = chain
        self.labels = labels
        self.rows: FloatArray = np.empty((0, chain.working.layout.n_labels))
        self._found: CodeArray = np.empty(0, dtype=CODE)

    def __call__(self, gradient: FloatArray) -> float:
        chain, edges = self.chain, self.chain.tables
        n, K = chain.n, self.rows.shape[1]
        if 5 * n * K * K > CELLS_PER_CALL:
            return np.nan
        if n > len(self.rows):
            self.rows = np.empty((len(chain.scores), K))
            self._best = np.empty((len(chain.scores), K))
            self._found = np.empty(len(chain.scores), dtype=CODE)
        kernels.search.viterbi_shared(chain.scores, edges.table, chain.first, self._best, 0, n)
        table_to = np.ascontiguousarray(edges.table.T)[:, None, :]
        kernels.search.trace(table_to, chain.first, self._best, self._found, 0, n)
        loss: float = linear_kernels.online.errors(
            chain.begin, chain.length, self.labels, self._found, chain.scores, edges.table,
            edges.arc_of, chain.working.arcs.start, chain.active, self.rows, gradient,
        )  # fmt: skip
        return loss
