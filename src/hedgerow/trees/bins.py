"""The bins of a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.legend import AnyArray, CodeArray


@dataclass(frozen=True)
class BinnedData:
    """The bins of a corpus, for prediction or for growing.

    columns : what kernels read (see kernels.state.Columns)
    place : int32[N], the place of each position
    first : uint8[P] by place
    growing : the columns on which trees grow: the same, or one copy of each window where many are equal
    places : int32[R], the places of `growing` that stand for rows
    window_place : int32[N], the one that stands for a position, and all others with its window
    window_first : uint8[·] by place of `growing`
    grouped : whether positions share places of `growing`
    """

    columns: Any
    place: CodeArray
    first: AnyArray
    growing: Any
    places: CodeArray
    window_place: CodeArray
    window_first: AnyArray
    grouped: bool = False

    @property
    def bins(self) -> AnyArray:
        bins: AnyArray = self.columns.bins
        return bins
