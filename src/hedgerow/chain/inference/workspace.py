"""The buffers of chain inference, kept between calls. One a thread: two calls at once must not share one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.chain.potentials import padded_width
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.chain.inference.history_rows import HistoryWorkspace

_SPARE = 1000
_BLOCK = 512  # scores whose exponentials are made at once: small enough to stay in the first cache


class Workspace:
    """Rows for the messages of a chunk. `reserve` before use; what a call returned is overwritten by the next.

    node_exp, alpha : (n, P), P the padded number of labels
    node_probs : (n, K)
    top, scale : (n,), the row's largest score and the forward sums c_t
    faint : int32 (n,), how many messages of a position are under 1e-280
    beta : (P,), the backward message where a call stopped
    sums : (P, P), the edge sums
    scratch, scratch_bits : (4, …), scratch for exponentials, seen as float64 and as int64

    `reserve_moments` adds what covariances need:

    past, future : (n, P)
    terms, moved : (n, K)
    carried : (P,)

    histories : what chains of higher order use in place of all that; made when it is first needed
    """

    def __init__(self) -> None:
        self.histories: HistoryWorkspace | None = None
        self._capacity = 0
        self._n_labels = 0
        self._moments: FloatArray = np.empty((2, 0, 0))

    def reserve(self, n_positions: int, n_labels: int) -> None:
        """Make room. Buffers get somewhat larger than asked for, so that chunks of like size do not grow them."""
        if n_labels != self._n_labels or n_positions > self._capacity:
            width = padded_width(n_labels)
            self._capacity = n_positions + min(n_positions // 4, _SPARE)
            self._n_labels = n_labels
            self._rows = np.empty((2, self._capacity, width))
            self._node_probs = np.empty((self._capacity, n_labels))
            self._columns = np.empty((2, self._capacity))
            self._faint = np.empty(self._capacity, dtype=np.int32)
            self.beta: FloatArray = np.empty(width)
            self.sums: FloatArray = np.empty((width, width))
            self.scratch: FloatArray = np.empty((4, max(_BLOCK, width)))
            self.scratch_bits: IndexArray = self.scratch.view(INDEX)
        self.node_exp: FloatArray = self._rows[0, :n_positions]
        self.alpha: FloatArray = self._rows[1, :n_positions]
        self.node_probs: FloatArray = self._node_probs[:n_positions]
        self.top: FloatArray = self._columns[0, :n_positions]
        self.scale: FloatArray = self._columns[1, :n_positions]
        self.faint: AnyArray = self._faint[:n_positions]

    def reserve_moments(self) -> None:
        """Make room for as many positions and labels as `reserve` was last asked for."""
        n_positions, width = self.alpha.shape
        if self._moments.shape != self._rows.shape:
            self._moments = np.empty(self._rows.shape)
            self._sides = np.empty((2, *self._node_probs.shape))
            self.carried: FloatArray = np.empty(width)
        self.past: FloatArray = self._moments[0, :n_positions]
        self.future: FloatArray = self._moments[1, :n_positions]
        self.terms: FloatArray = self._sides[0, :n_positions]
        self.moved: FloatArray = self._sides[1, :n_positions]


CELLS_A_CALL = 300_000_000


def positions_a_call(cells_a_position: int) -> int:
    """How many positions a kernel finishes in about 0.05 s, so that Ctrl-C is heard between calls.

    A cell is one multiplication and addition, or a twentieth of an exponential.
    """
    return max(1, CELLS_A_CALL // max(1, cells_a_position))


def slices(n_positions: int, cells_a_position: int) -> Iterator[tuple[int, int]]:
    """Cut 0 … n into pieces for one call of a kernel each."""
    step = positions_a_call(cells_a_position)
    return ((t0, min(t0 + step, n_positions)) for t0 in range(0, n_positions, step))


def slices_back(n_positions: int, cells_a_position: int) -> Iterator[tuple[int, int]]:
    """The same pieces, the last one first."""
    return reversed(list(slices(n_positions, cells_a_position)))
