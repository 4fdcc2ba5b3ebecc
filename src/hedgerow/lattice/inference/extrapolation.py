"""Where a sweep of messages should start, from where the last few started and ended: Anderson's extrapolation."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import FloatArray
from hedgerow.training import kernels

DEPTH = 5  # sweeps that are remembered; more than that gains little
MEMORY = 1 << 28  # bytes of what is remembered; fewer sweeps are where messages are very many
RIDGE = 1e-10  # of the trace, on the diagonal: sweeps that go nearly the same way tell the same


class Extrapolation:
    """The start from which a sweep would move least, were its moves linear in its start.

    With the move f = end − start of a sweep, and Δf, Δend the differences to the sweep before it:

        γ = argmin ‖f − Σ_k γ_k Δf_k‖²,   next start = end − Σ_k γ_k Δend_k.
    """

    def __init__(self, size: int) -> None:
        self._depth = min(DEPTH, MEMORY // max(1, 2 * 8 * size))
        self._moves, self._ends = np.empty((2, self._depth, size))
        self._products: FloatArray = np.zeros((self._depth, self._depth))
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._count = 0

    def clear(self) -> None:
        """Forget all sweeps."""
        self._last, self._count = None, 0

    def __call__(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """The next start, after a sweep from `start` to `end`, both flat."""
        if self._depth == 0:
            return end
        move = end - start
        if self._last is not None:
            self._remember(move - self._last[0], end - self._last[1])
        self._last = move, end
        n = min(self._count, self._depth)
        products = self._products[:n, :n]
        size = float(np.trace(products))
        if size == 0.0:
            return end
        along = np.array([kernels.vectors.dot(one, move) for one in self._moves[:n]])
        shares = np.linalg.solve(products + RIDGE * size * np.eye(n), along)
        found = end.copy()
        for share, step in zip(shares, self._ends[:n]):
            kernels.vectors.add_scaled(step, -float(share), found)
        return found

    def _remember(self, move: FloatArray, end: FloatArray) -> None:
        """Put these differences in the place of the oldest ones."""
        row = self._count % self._depth
        self._moves[row], self._ends[row] = move, end
        self._count += 1
        for other in range(min(self._count, self._depth)):
            product = kernels.vectors.dot(self._moves[row], self._moves[other])
            self._products[row, other] = self._products[other, row] = product
