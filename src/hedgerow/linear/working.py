"""How the weights of a chain stand while it is trained online: wide rows spread out, so that they are added whole."""

from __future__ import annotations

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import WeightIndex

# A row with weights for so many labels, and for so large a share of them, is spread out to all of them: adding a whole
# row is then cheaper than as many entries.
SPREAD_SIZE = 6
SPREAD_SHARE = 0.25


class SpreadIndex:
    """The weights of a WeightIndex in a working vector, from `origin` on: wide rows spread out, others as they are.

    Rows that are read often stand together, so that they stay in the cache: spread rows first, then by `counts`, how
    often each row is read.

    n_spread : how many rows are spread out
    first_slot, n_slots_of : int64[R], int32[R], the slots of each row, from 0
    label_of : int32[], the output of each slot
    place : int64[W], where each weight stands in the working vector
    """

    def __init__(self, index: WeightIndex, origin: int, counts: IndexArray) -> None:
        M = index.n_outputs
        sizes = np.diff(index.row_ptr)
        wide = (sizes > 0) & (sizes >= min(M, max(SPREAD_SIZE, SPREAD_SHARE * M)))
        self.index = index
        self.origin = origin
        self.n_spread = int(wide.sum())
        self.n_slots_of: CodeArray = np.where(wide, M, sizes).astype(CODE)
        order = np.lexsort((-counts, ~wide))
        self.first_slot: IndexArray = np.empty(len(sizes), dtype=INDEX)
        self.first_slot[order] = np.cumsum(self.n_slots_of[order]) - self.n_slots_of[order]
        self.n_slots = int(self.n_slots_of.sum())
        rows = index.slot_rows()
        within = np.where(wide[rows], index.slot_label, np.arange(len(rows)) - index.row_ptr[rows])
        slots = self.first_slot[rows] + within
        self.label_of: CodeArray = np.zeros(self.n_slots, dtype=CODE)
        self.label_of[slots] = index.slot_label
        self.place: IndexArray = origin + slots


class WorkingLayout:
    """One working vector holds nodes, transitions and label pairs, in this order. Counts as `SpreadIndex` takes them.

    size : X
    arcs : the slots of the transitions
    real : uint8[X], 1 where a slot is a weight, 0 where a spread row only has it to be whole
    """

    def __init__(self, layout: ChainLayout, node_counts: IndexArray, pair_counts: IndexArray | None) -> None:
        self.layout = layout
        self.nodes = SpreadIndex(layout.nodes, 0, node_counts)
        first_pair = self.nodes.n_slots + layout.n_arcs
        self.arcs = slice(self.nodes.n_slots, first_pair)
        self.pairs = None
        if layout.pairs is not None and pair_counts is not None:
            self.pairs = SpreadIndex(layout.pairs, first_pair, pair_counts)
        self.size = first_pair + (self.pairs.n_slots if self.pairs is not None else 0)
        if self.size > np.iinfo(CODE).max:
            hint = "Use ⟦trainer='lbfgs'⟧, or ⟦min_frequency⟧."
            raise InputError(f"{self.size:,} weights are too many to train online", hint=hint)
        arcs = np.arange(self.nodes.n_slots, first_pair)
        pairs = self.pairs.place if self.pairs is not None else arcs[:0]
        self._place: IndexArray = np.concatenate([self.nodes.place, arcs, pairs])
        self.real: AnyArray = np.zeros(self.size, dtype=np.uint8)
        self.real[self._place] = 1

    def pack(self, weights: FloatArray) -> FloatArray:
        """A working vector of these weights (W,)."""
        x: FloatArray = np.zeros(self.size)
        x[self._place] = weights
        return x

    def write(self, weights: FloatArray, x: AnyArray) -> None:
        """Write weights (W,) into a working vector; what are no weights there stays."""
        x[self._place] = weights

    def unpack(self, x: FloatArray) -> FloatArray:
        """The weights (W,) of a working vector."""
        return x[self._place]
