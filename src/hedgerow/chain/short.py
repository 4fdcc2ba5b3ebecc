"""Inference on one short sequence at a time, by the kernels of `TableEdges` in buffers that stay.

A chunk pays for checks and sums over its sequences with NumPy, some µs each; here it is a call of each kernel and
nothing else, with the same result to the bit. Where that is not all there is to do (no legal labeling, messages that
underflow, scores that are no numbers) the result is None, and the caller turns to the functions of `inference.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.potentials import Edges
from hedgerow.chain.workspace import Workspace, padded_width
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.chain.kernels.chain import MessageRows


class _Rows(NamedTuple):
    """The buffers of a sequence of n positions. In `alone` every position is a first one, as where edges are even."""

    scores: FloatArray
    first: AnyArray
    best: FloatArray
    labels: CodeArray
    top: FloatArray
    scratch: FloatArray
    scratch_bits: IndexArray
    messages: MessageRows
    alone: MessageRows


class ShortChain:
    """Node scores of at most `longest` positions, and what they come to with given edges. Each thread has its own."""

    def __init__(self, n_labels: int, longest: int) -> None:
        self.n_labels, self.longest = n_labels, longest
        self._scores, self._best = np.empty((2, longest, n_labels))
        self._labels: CodeArray = np.empty(longest, dtype=CODE)
        self._padding = padded_width(n_labels) - n_labels
        self._rows: dict[int, _Rows] = {}

    def scores(self, n: int) -> FloatArray:
        """(n, K), to be written to."""
        return self._of(n).scores

    def _of(self, n: int) -> _Rows:
        rows = self._rows.get(n)
        if rows is None:
            first: AnyArray = np.zeros(n + 1, dtype=np.uint8)
            first[[0, n]] = 1
            # Rows as a chunk of this length has them: how far they lie apart decides which form of a loop runs, and so
            # the last bit of a sum.
            work = Workspace()
            work.reserve(n, self.n_labels)
            messages = work.message_rows(first)
            alone = messages._replace(first=np.ones_like(first))
            scratch = work.top, work.scratch, work.scratch_bits
            rows = _Rows(self._scores[:n], first, self._best[:n], self._labels[:n], *scratch, messages, alone)
            self._rows[n] = rows
        return rows

    def best_labels(self, edges: SharedEdges, n: int) -> list[int] | None:
        """The labels of the best labeling of the scores, as `best_labelings` has them."""
        rows = self._of(n)
        kernels.search.viterbi_shared(rows.scores, edges.scores, rows.first, rows.best, 0, n)
        kernels.search.trace(edges.scores_to, rows.first, rows.best, rows.labels, 0, n)
        labels: list[int] = rows.labels.tolist()
        return labels if rows.best[n - 1, labels[-1]] > -np.inf else None

    def node_probs(self, edges: SharedEdges, n: int) -> FloatArray | None:
        """P_t(v), (n, K), as `node_marginals` has it; the next call overwrites it."""
        rows = self._of(n)
        messages = rows.alone if edges.even else rows.messages
        kernels.chain.exponentials(rows.scores, messages.node_exp, rows.top, rows.scratch, rows.scratch_bits, 0, n)
        kernels.chain.forward(edges.exps_to, messages, 0, n)
        kernels.chain.backward(edges.exps, messages, 0, n)
        total = sum(rows.top.tolist()) + sum(messages.scale.tolist()) + n * edges.shift
        if not math.isfinite(total) or max(messages.underflows.tolist()) > self._padding:
            return None
        return messages.node_probs


def is_plain(edges: Edges) -> bool:
    """Whether edges are of the form that a ShortChain takes: one table, read as a whole."""
    return isinstance(edges, SharedEdges) and edges.arcs is None
