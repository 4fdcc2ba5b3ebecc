"""One tree for all labels that several processes grow, to the same tree that `VectorGrower` grows of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hedgerow.legend import AnyArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.growing import Leaves
from hedgerow.trees.kernels.state import BEGIN, END
from hedgerow.trees.shared import Counted, Cut, LeadGrower, MemberGrower, SplitFinder
from hedgerow.trees.vectors import VectorGrower


class MemberVectors(MemberGrower, VectorGrower):
    """Plants and cuts trees for all labels."""

    def plant(self, cells: Sequence[IndexArray]) -> list[Counted]:
        places, buffers = self.data.places, self._buffers
        buffers.rows[:], buffers.leaf[END, 0], buffers.leaf[BEGIN, 0] = places, len(places), 0
        return self.cut(Cut(-1, 0, buffers.split[0], buffers.side, True, (0, 0)), 0, cells)

    def cut(self, cut: Cut, n_rows: int, cells: Sequence[IndexArray] = ()) -> list[Counted]:
        columns, buffers = self.data.growing, self._buffers
        how = cut.split, cut.old, cut.new, cut.counted
        kernels.vector_growing.cut_vectors(columns, self._lists, self.words, buffers, *how, buffers.hist[0])
        return self._counted(cut.new, cut.counted, 0, cells)

    def leaves(self, values: FloatArray) -> Leaves:
        for i, (begin, end) in enumerate(self._buffers.leaf[[BEGIN, END], : len(values)].T):
            self._leaf_of[self._buffers.rows[begin:end]] = i
        return Leaves(self._leaf_of, values)


class VectorFinder(SplitFinder, VectorGrower):
    """Finds splits for all labels, which have no sets."""

    def _find(self, i: int, new: int, parts: Any, counted: bool, drawn: AnyArray) -> tuple[AnyArray, ...]:
        columns, buffers = self.data.growing, self._buffers
        kernels.vector_growing.settle_vectors(columns, self._rules, buffers, i, new, counted, drawn)
        return np.zeros((2, self._sets.shape[1]), dtype=np.uint8), buffers.labels[[i, new]]


class LeadVectors(LeadGrower, VectorGrower):
    """Leads the growth of a tree for all labels."""

    true_is_new: ClassVar[bool] = True
