"""The rows of a backward pass over histories: buffers kept between calls, and blocks where a sequence is long."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.workspace import positions_per_call, slices
from hedgerow.legend import CODE, FloatArray, IndexArray

MAX_CELLS = 1 << 25  # numbers in the rows of a sequence: 256 MB. Longer ones keep a row in √T and make the rest twice.
_CELLS_PER_ARC = 25  # what an arc or a state costs, in the cells of `slices`

# fill(rows, base, t0, t1): rows of positions t0 … t1−1 from that of t1, position t in row t − base; False to give up
Fill = Callable[[FloatArray, int, int, int], bool]


class HistoryBuffers:
    """Buffers for a chunk beside those of its `Workspace`. `reserve` before use; what a call returned is overwritten by
    the next. One for each thread.

    rows : (R, S), the backward messages of a sequence, or of a block of it
    alpha (S,) : what the forward pass keeps between blocks
    scratch : by_label (K,), by_arc (A,), by_state (2, S), listed (K,)
    """

    def __init__(self) -> None:
        self._sizes = (0, 0, 0)

    def reserve(self, potentials: ChainPotentials, histories: Histories) -> None:
        K, S, A = sizes = potentials.n_labels, histories.n_states, histories.n_arcs
        if self._sizes != sizes:
            self._sizes = sizes
            self._rows: FloatArray = np.empty((0, S))
            self.alpha: FloatArray = np.empty(S)
            by_state, listed = np.empty((2, S)), np.empty(K, dtype=CODE)
            self.scratch = kernels.history_arcs.HistoryBuffers(np.empty(K), np.empty(A), by_state, listed)
        n_rows = count_rows(int(np.diff(potentials.offsets).max(initial=1)), S)
        if n_rows > len(self._rows):
            self._rows = np.empty((n_rows, S))
        self.rows = self._rows[:n_rows]


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


def pieces(arcs_per_position: int, t0: int, t1: int) -> list[tuple[int, int]]:
    """Cut t0 … t1 into calls that Ctrl-C need not wait for, by the arcs and states that a kernel looks at."""
    return [(t0 + a, t0 + b) for a, b in slices(t1 - t0, _CELLS_PER_ARC * arcs_per_position)]


def groups(histories: Histories, offsets: IndexArray, n_rows: int) -> list[tuple[int, int]]:
    """Sequences in runs that Ctrl-C need not wait for; one with more positions than that, or than rows, is alone."""
    most = positions_per_call(_CELLS_PER_ARC * histories.size)
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
