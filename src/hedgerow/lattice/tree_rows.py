"""Nodes, or edges, as the rows of the tree engine: each stands by itself, with no label before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema, Vocabulary
from hedgerow.legend import CODE, INDEX, FloatArray
from hedgerow.training.boosting.scores import all_first
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData, Binning, bin_dataset
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.growing import Grower, Tree

_BOUND = 2.0  # of a row's gradient, in size: what words have room for
_UNIT = 1 << 12  # what a row of weight 1 counts, where weights are not all 1
BLOCK = 1 << 18  # rows that trees are added to at once, so that Ctrl-C is heard


def row_dataset(rows: FloatArray, weights: FloatArray | None = None) -> Dataset:
    """Rows (n, F) of numbers, NaN for a missing one, as one sequence for the binning; with weights (n,) as one each."""
    n, F = rows.shape
    ends = np.array([0, n], dtype=INDEX) if weights is None else np.arange(n + 1, dtype=INDEX)
    columns = tuple(Column(f"x{j}", "numeric", fill=np.nan) for j in range(F))
    return Dataset(
        schema=Schema(columns, Vocabulary([]), (0,), (0,)),
        offsets=ends,
        start=ends[:-1],
        codes=np.empty((0, n), dtype=CODE),
        numeric=np.ascontiguousarray(rows.T),
        attr_ptr=np.zeros(n + 1, dtype=INDEX),
        attr_id=np.empty(0, dtype=CODE),
        attr_val=None,
        seq_codes=np.empty((0, len(ends) - 1), dtype=CODE),
        seq_numeric=np.empty((0, len(ends) - 1)),
        weight_seq=weights,
    )


def bin_rows(binning: Binning, rows: FloatArray, *, growing: bool) -> BinnedData:
    """Rows as bins, to grow trees on or to add trees to."""
    return all_first(bin_dataset(binning, row_dataset(rows), postings=growing))


def tree_values(data: BinnedData, trees: Sequence[Tree], values: FloatArray) -> None:
    """Add trees, tree j to column j mod P, to values (n, P)."""
    P = values.shape[1]
    for begin in range(0, len(values), BLOCK):
        end = min(begin + BLOCK, len(values))
        added: FloatArray = np.zeros((P, end - begin))
        add_trees(data, data.place[begin:end], trees, np.zeros((P, end - begin, 1)), added)
        values[begin:end] += added.T


class RowGrower:
    """Grows trees on rows. Holds the buffers, so one per thread.

    weights : (n,) what each row counts, 0 for none; None where all count 1
    """

    def __init__(self, data: BinnedData, weights: FloatArray | None, **options: Any) -> None:
        self.data = data
        self._largest, self._unit = 1.0, 1
        self._weights: FloatArray = np.ones(len(data.place))
        if weights is not None:
            self._largest = float(weights.max())
            self._weights = weights / self._largest
            self._unit = _UNIT
            options["total_weight"] = float(self._weights.sum()) + len(weights) / _UNIT
            options["l2_regularization"] = options["l2_regularization"] / self._largest
            options["min_samples_leaf"] = options["min_samples_leaf"] / self._largest
        self._grower = Grower(data, 1, unit=self._unit, **options)

    def grow(self, gradient: FloatArray, seed: int = 0) -> tuple[Tree, FloatArray]:
        """A tree for a gradient (n,), which is weighted already; and what it adds to each row (n,)."""
        n, grower = len(gradient), self._grower
        bound = float(np.abs(gradient).max(initial=0.0)) / self._largest / _BOUND
        unit = max(1.0, bound) * self._largest
        scaled = gradient / unit
        if self.data.grouped:
            grower.words[:] = 0
        kernels.boosting.make_position_words(
            scaled[:, None], self._weights[:, None], 1.0, False, self.data.window_place, 0, n, grower.one, self._unit,
            False, grower.bits, self.data.grouped, grower.words,
        )  # fmt: skip
        tree, leaves = grower.grow(seed)
        assert leaves is not None  # no value is one more value
        factor = max(1.0, bound)
        return tree.scaled(factor), grower.row_values(leaves, factor)
