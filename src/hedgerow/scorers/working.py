"""How the weights of a chain stand while it is trained online: wide rows spread out, so that they are added whole."""

from __future__ import annotations

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, CodeArray, FloatArray, IndexArray
from hedgerow.scorers.chain import ChainLayout
from hedgerow.scorers.index import WeightIndex

# A row with weights for so many labels, and for so large a share of them, is spread out to all of them: adding a whole
# row is then cheaper than as many entries.
SPREAD_SIZE = 6
SPREAD_SHARE = 0.25


class SpreadIndex:
    """The weights of a WeightIndex in a working vector, from `origin` on: wide rows spread out, others as they are.

    n_spread : how many rows are spread out
    row_ptr : int64[R+1], the slots of row r, from 0
    label_of : int32[], the output of each slot
    place : int64[W], where each weight stands in the working vector
    """

    def __init__(self, index: WeightIndex, origin: int) -> None:
        M = index.n_outputs
        sizes = np.diff(index.row_ptr)
        wide = sizes >= min(M, max(SPREAD_SIZE, SPREAD_SHARE * M))
        wide &= sizes > 0
        self.index = index
        self.n_spread = int(wide.sum())
        self.origin = origin
        self.row_ptr: IndexArray = np.concatenate([[0], np.cumsum(np.where(wide, M, sizes))]).astype(INDEX)
        rows = index.slot_rows()
        within = np.where(wide[rows], index.slot_label, np.arange(len(rows)) - index.row_ptr[rows])
        own = self.row_ptr[rows] + within
        self.label_of: CodeArray = np.zeros(self.row_ptr[-1], dtype=CODE)
        self.label_of[own] = index.slot_label
        self.place: IndexArray = origin + own

    @property
    def n_slots(self) -> int:
        return int(self.row_ptr[-1])


class WorkingLayout:
    """One working vector holds nodes, transitions and label pairs, in this order.

    size : X
    arcs : the slots of the transitions
    real : float64[X], 1 where a slot is a weight, 0 where a spread row only has it to be whole
    """

    def __init__(self, layout: ChainLayout) -> None:
        self.layout = layout
        self.nodes = SpreadIndex(layout.nodes, 0)
        first_pair = self.nodes.n_slots + len(layout.arc_from)
        self.arcs = slice(self.nodes.n_slots, first_pair)
        self.pairs = SpreadIndex(layout.pairs, first_pair) if layout.pairs is not None else None
        self.size = first_pair + (self.pairs.n_slots if self.pairs is not None else 0)
        if self.size > np.iinfo(CODE).max:
            raise InputError(
                f"{self.size:,} weights are too many to train online", hint="Use trainer='lbfgs', or min_frequency."
            )
        arcs = np.arange(self.nodes.n_slots, first_pair)
        pairs = self.pairs.place if self.pairs is not None else arcs[:0]
        self._place: IndexArray = np.concatenate([self.nodes.place, arcs, pairs])
        self.real: FloatArray = np.zeros(self.size)
        self.real[self._place] = 1.0

    def pack(self, weights: FloatArray) -> FloatArray:
        """A working vector of these weights (W,)."""
        x: FloatArray = np.zeros(self.size)
        x[self._place] = weights
        return x

    def unpack(self, x: FloatArray) -> FloatArray:
        """The weights (W,) of a working vector."""
        weights: FloatArray = x[self._place]
        return weights
