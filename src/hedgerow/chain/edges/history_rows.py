"""The rows of a backward pass over histories: buffers kept between calls, and blocks where a sequence is long."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.workspace import padded_width, positions_per_call, slices
from hedgerow.legend import CODE, INDEX, FloatArray, IndexArray

MAX_CELLS = 1 << 25  # numbers in the rows of a sequence: 256 MB. Longer ones keep a row in √T and make the rest twice.
_CELLS_PER_ARC = 25  # what an arc or a state costs, in the cells of `slices`
_BLOCK = 512  # scores whose exponentials are made at once

# fill(rows, base, t0, t1): rows of positions t0 … t1−1 from that of t1, position t in row t − base; False to give up
Fill = Callable[[FloatArray, int, int, int], bool]


class HistoryBuffers:
    """Buffers for a chunk. `reserve` before use; what a call returned is overwritten by the next. One for each thread.

    node_exp (n, P), top, scale (n,), node_probs (n, K) : as in `Workspace`
    rows : (R, S), the backward messages of a sequence, or of a block of it
    alpha (S,) : what the forward pass keeps between blocks
    scratch : by_label (K,), by_arc (A,), by_state (2, S), listed (K,)
    """

    def __init__(self) -> None:
        self._n_positions = self._n_rows = -1
        self._sizes = (0, 0, 0)

    def reserve(self, potentials: ChainPotentials, histories: Histories) -> None:
        n, K = potentials.node_scores.shape
        S, A = histories.n_states, histories.n_arcs
        if self._sizes != (K, S, A):
            self._n_positions = self._n_rows = -1
            self._sizes = (K, S, A)
            self.alpha: FloatArray = np.empty(S)
            by_state, listed = np.empty((2, S)), np.empty(K, dtype=CODE)
            self.scratch = kernels.history_arcs.HistoryBuffers(np.empty(K), np.empty(A), by_state, listed)
            self._scratch: FloatArray = np.empty((4, max(_BLOCK, padded_width(K))))
        if n > self._n_positions:
            self._n_positions = n
            self._node_exp: FloatArray = np.empty((n, padded_width(K)))
            self._node_probs: FloatArray = np.empty((n, K))
            self._columns: FloatArray = np.empty((2, n))
        n_rows = count_rows(int(np.diff(potentials.offsets).max(initial=1)), S)
        if n_rows > self._n_rows:
            self._n_rows = n_rows
            self._rows: FloatArray = np.empty((n_rows, S))
        self.rows = self._rows[:n_rows]
        self.node_exp, self.node_probs = self._node_exp[:n], self._node_probs[:n]
        self.top, self.scale = self._columns[:, :n]

    def exponentiate(self, node_scores: FloatArray) -> None:
        """Fill node_exp and top."""
        scratch = self._scratch
        for t0, t1 in slices(len(node_scores), 20 * node_scores.shape[1]):
            kernels.chain.exponentials(node_scores, self.node_exp, self.top, scratch, scratch.view(INDEX), t0, t1)


def count_rows(longest: int, n_states: int) -> int:
    """How many rows the buffer of a sequence of that length needs."""
    if longest * n_states <= MAX_CELLS:
        return longest
    return math.isqrt(longest) + 2


class BackwardRows:
    """The rows of one sequence, begin … end−1, in a buffer that may be shorter.

    `sweep` makes them all, from the last to the first. `blocks` gives them again from the first to the last, a block at
    a time: all at once where they fit, else each block anew from the row after it, which `sweep` kept.
    """

    def __init__(self, fill: Fill, buffer: FloatArray, begin: int, end: int) -> None:
        self._fill, self.buffer = fill, buffer
        fits = end - begin <= len(buffer)
        step = end - begin if fits else len(buffer) - 1
        self._cuts = [*range(begin, end, step), end]
        self._kept: FloatArray = np.empty((0 if fits else len(self._cuts), buffer.shape[1]))

    def sweep(self) -> bool:
        """Make the rows; that of `begin` is then buffer[0]. False where the kernel gave up."""
        for j in range(len(self._cuts) - 2, -1, -1):
            if not self._make(j):
                return False
            if len(self._kept):
                self._kept[j] = self.buffer[0]
        return True

    def blocks(self) -> Iterator[tuple[int, int]]:
        """(first, last + 1) of the positions of a block; position t is buffer[t − first]."""
        for j, (t0, t1) in enumerate(zip(self._cuts, self._cuts[1:])):
            if j > 0:
                self._make(j)
            yield t0, t1

    def _make(self, j: int) -> bool:
        t0, t1 = self._cuts[j], self._cuts[j + 1]
        if j + 2 < len(self._cuts):
            self.buffer[t1 - t0] = self._kept[j + 1]
        return self._fill(self.buffer, t0, t0, t1)


def pieces(histories: Histories, t0: int, t1: int) -> list[tuple[int, int]]:
    """Cut t0 … t1 into calls that Ctrl-C need not wait for."""
    return _cut(t0, t1, histories.n_arcs + histories.n_states)


def slow_pieces(histories: Histories, t0: int, t1: int) -> list[tuple[int, int]]:
    """As `pieces`, for kernels that look at every label after every history."""
    return _cut(t0, t1, histories.n_states * histories.n_labels)


def beam_pieces(histories: Histories, width: int, length: int) -> list[tuple[int, int]]:
    """As `pieces`, from 0 to `length`, for kernels that look at every label after each of `width` histories."""
    return _cut(0, length, width * histories.n_labels)


def _cut(t0: int, t1: int, arcs_per_position: int) -> list[tuple[int, int]]:
    return [(t0 + a, t0 + b) for a, b in slices(t1 - t0, _CELLS_PER_ARC * arcs_per_position)]


def groups(histories: Histories, offsets: IndexArray, n_rows: int) -> list[tuple[int, int]]:
    """Sequences in runs that Ctrl-C need not wait for; one with more positions than that, or than rows, is alone."""
    most = positions_per_call(_CELLS_PER_ARC * (histories.n_arcs + histories.n_states))
    cuts, begin = [0], 0
    for i, length in enumerate(np.diff(offsets).tolist()):
        too_long = length > min(most, n_rows)
        if i > begin and (too_long or offsets[i + 1] - offsets[begin] > most):
            cuts.append(i)
            begin = i
        if too_long:
            cuts.append(i + 1)
            begin = i + 1
    return [(a, b) for a, b in zip(cuts, [*cuts[1:], len(offsets) - 1]) if b > a]
