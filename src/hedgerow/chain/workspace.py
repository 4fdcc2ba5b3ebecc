"""The buffers of chain inference, kept between calls, and the pieces that calls of kernels are cut into."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hedgerow.chain import kernels
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.chain.kernels.chain import MessageRows
    from hedgerow.chain.kernels.covariance import MomentRows

CELLS_PER_CALL = 300_000_000
_SPARE = 1000
_BLOCK = 512  # scores whose exponentials are made at once: small enough to stay in the first cache

Buffers = TypeVar("Buffers")


def padded_width(n_labels: int) -> int:
    """The columns of a row of messages: the next multiple of four, so that kernels have no remainder loop."""
    return -(-n_labels // 4) * 4


class Workspace:
    """Rows for the messages of a chunk. `reserve` before use; what a call returned is overwritten by the next. Each
    thread has its own: two calls at once must not share one.

    node_exp, alpha : (n, P), P the padded number of labels
    node_probs : (n, K)
    top, scale : (n,), the row's largest score and the forward sums c_t
    underflows : int32 (n,), how many messages of a position are under 1e-280
    beta : (P,), the backward message where a call stopped
    sums : (P, P), the edge sums
    scratch, scratch_bits : (4, …), scratch for exponentials, seen as float64 and as int64

    `reserve_moments` adds what covariances need:

    past, future : (n, P)
    terms, moved : (n, K)
    carried : (P,)
    """

    def __init__(self) -> None:
        self._capacity = 0
        self._n_labels = 0
        self._moments: FloatArray = np.empty((2, 0, 0))
        self._others: dict[type, object] = {}

    def reserve(self, n_positions: int, n_labels: int) -> None:
        """Make the buffers large enough, and somewhat larger, so that chunks of like size do not grow them."""
        if n_labels != self._n_labels or n_positions > self._capacity:
            width = padded_width(n_labels)
            self._capacity = n_positions + min(n_positions // 4, _SPARE)
            self._n_labels = n_labels
            self._rows = np.empty((2, self._capacity, width))
            self._node_probs = np.empty((self._capacity, n_labels))
            self._columns = np.empty((2, self._capacity))
            self._underflows = np.empty(self._capacity, dtype=np.int32)
            self.beta: FloatArray = np.empty(width)
            self.sums: FloatArray = np.empty((width, width))
            self.scratch: FloatArray = np.empty((4, max(_BLOCK, width)))
            self.scratch_bits: IndexArray = self.scratch.view(INDEX)
        self.node_exp: FloatArray = self._rows[0, :n_positions]
        self.alpha: FloatArray = self._rows[1, :n_positions]
        self.node_probs: FloatArray = self._node_probs[:n_positions]
        self.top: FloatArray = self._columns[0, :n_positions]
        self.scale: FloatArray = self._columns[1, :n_positions]
        self.underflows: AnyArray = self._underflows[:n_positions]

    def reserve_moments(self) -> None:
        """The same for covariances, with as many positions and labels as `reserve` was last asked for."""
        n_positions, width = self.alpha.shape
        if self._moments.shape != self._rows.shape:
            self._moments = np.empty(self._rows.shape)
            self._sides = np.empty((2, *self._node_probs.shape))
            self.carried: FloatArray = np.empty(width)
        self.past: FloatArray = self._moments[0, :n_positions]
        self.future: FloatArray = self._moments[1, :n_positions]
        self.terms: FloatArray = self._sides[0, :n_positions]
        self.moved: FloatArray = self._sides[1, :n_positions]

    def terms_of(self, direction: FloatArray) -> FloatArray:
        """c_t(v) P_t(v) of a direction c (n, K), as covariances take them."""
        self.reserve_moments()
        return np.multiply(direction, self.node_probs, out=self.terms)

    def message_rows(self, first: AnyArray) -> MessageRows:
        """The buffers of messages, as kernels take them. first (n+1,): 1 where a sequence starts."""
        return kernels.chain.MessageRows(
            first, self.node_exp, self.alpha, self.scale, self.underflows, self.beta, self.node_probs
        )

    def moment_rows(self, first: AnyArray, terms: FloatArray) -> MomentRows:
        """The buffers of covariances, as kernels take them. terms (n, K): c_t(v) P_t(v)."""
        given = first, terms, self.node_exp, self.alpha, self.node_probs
        return kernels.covariance.MomentRows(*given, self.carried, self.past, self.future, self.moved)

    def exponentiate(self, scores: FloatArray, t0: int, t1: int) -> None:
        """Fill node_exp and top from scores (n, K), at positions t0 … t1−1."""
        kernels.chain.exponentials(scores, self.node_exp, self.top, self.scratch, self.scratch_bits, t0, t1)

    def sum_edges(self, kernel: Callable[..., None], *given: Any, moments: bool) -> None:
        """Call a kernel that sums over the edges, which lead into all positions but the first, with the messages; with
        `moments` also with past and future."""
        rows = (self.alpha, self.node_exp, self.past, self.future) if moments else (self.alpha, self.node_exp)
        run_slices(kernel, len(self.alpha), self.sums.size * (3 if moments else 1), *rows, *given, first=1)

    def other(self, kind: type[Buffers]) -> Buffers:
        """The buffers of a form of edges that has a class of its own for them; made when they are first needed."""
        buffers = self._others.get(kind)
        if not isinstance(buffers, kind):
            buffers = self._others[kind] = kind()
        return buffers


def positions_per_call(cells_per_position: int) -> int:
    """How many positions a kernel finishes in about 0.05 s, so that Ctrl-C is heard between calls.

    A cell is one multiplication and addition, or a twentieth of an exponential.
    """
    return max(1, CELLS_PER_CALL // max(1, cells_per_position))


def slices(
    n_positions: int, cells_per_position: int, *, first: int = 0, back: bool = False
) -> Iterable[tuple[int, int]]:
    """Cut first … n into pieces for one call of a kernel each; with `back`, the last piece comes first."""
    step = positions_per_call(cells_per_position)
    begins = range(first, n_positions, step)
    return ((t0, min(t0 + step, n_positions)) for t0 in (reversed(begins) if back else begins))


def run_slices(
    kernel: Callable[..., Any], n_positions: int, cells: int, *given: Any, first: int = 0, back: bool = False
) -> None:
    """Call a kernel for all positions, with what is given and the ends of each of the `slices`."""
    for t0, t1 in slices(n_positions, cells, first=first, back=back):
        kernel(*given, t0, t1)
