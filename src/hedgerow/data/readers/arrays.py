"""Flat arrays with the lengths of the sequences, and padded 3-D arrays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import BadValue, check_finite, column_of, nested, plain_labels, read_columns
from hedgerow.data.sequences import Cut, Kind, Sequences, number_type, unmasked
from hedgerow.errors import InputError, among
from hedgerow.legend import INDEX, AnyArray, IndexArray

BLOCK = 4096  # rows that are looked at together


class SparseRows(Cut[Any]):
    """The rows of a sparse matrix, cut into sequences. Slicing keeps sequences whole and shares the matrix.

    Parameters
    ----------
    matrix : sparse matrix or array (N, F)
        Kept as CSR; a row is a position, a stored number the weight of an attribute.
    offsets : array of S+1 integers
        Sequence i owns the rows offsets[i] … offsets[i+1]-1.

    It behaves as a one-dimensional array of S items: `X[3]` is the CSR matrix of one sequence; `X[[0, 2]]`, `X[mask]`
    and `X[:10]` are SparseRows again.
    """

    def __init__(self, matrix: Any, offsets: AnyArray) -> None:
        super().__init__(offsets)
        self.matrix = matrix.tocsr()
        self.offsets = self._offsets
        _check_sparse(self.matrix, self.offsets)

    def __repr__(self) -> str:
        return f"SparseRows({len(self)} sequences, {int(self.lengths.sum())} positions, {self.matrix.shape[1]} wide)"

    def _one(self, i: int) -> Any:
        return self.matrix[int(self.offsets[i]) : int(self.offsets[i + 1])]


def split_lengths(X: Any, lengths: Any = None, y: Any = None) -> tuple[Any, AnyArray | None]:
    """Cut flat arrays into sequences.

    Parameters
    ----------
    X : one of
        an array (N, D) of numbers, NaN for missing: numeric columns "0", "1", …; booleans and objects likewise, by
        their types;
        an array or list of N tokens: one categorical column "token";
        a list of N dicts or of N attribute lists: returned as a list of sequences;
        a sparse matrix (N, F): returned as SparseRows;
        an array (S, T, D): S sequences, of which the first lengths[i] positions count.
    lengths : S positive integers that add up to N; for a 3-D X, at most T each, by default T
    y : N labels; (S, T) for a 3-D X; optional

    Returns
    -------
    X : Sequences, SparseRows or list of sequences
    y : object array of S lists, or None where y is None
    """
    X = unmasked(X)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        X, lengths, y = _flatten_padded(X, lengths, y)
    if lengths is None:
        hint = "Give ⟦lengths=⟧, the number of positions of each sequence."
        raise InputError("flat arrays need ⟦lengths⟧", hint=hint)
    offsets = _offsets(lengths)
    if not hasattr(X, "tocsr") and not isinstance(X, (np.ndarray, list, tuple)):
        X = np.asarray(X)
    n_positions = X.shape[0] if hasattr(X, "shape") and X.shape else len(X)
    if n_positions != offsets[-1]:
        raise InputError(f"X has {n_positions} positions and ⟦lengths⟧ add up to {offsets[-1]}")
    labels = None
    if y is not None:
        labels = _split_labels(y, offsets)
    return _split_positions(X, offsets), labels


def _split_positions(X: Any, offsets: IndexArray) -> Any:
    if hasattr(X, "tocsr"):
        return SparseRows(X, offsets)
    if isinstance(X, (list, tuple)):
        sample = next((position for position in X if position is not None), None)
        is_attributes = isinstance(sample, (list, tuple)) and all(isinstance(name, str) for name in sample)
        if isinstance(sample, Mapping) or is_attributes:
            bounds = offsets.tolist()
            return [list(X[begin:end]) for begin, end in pairwise(bounds)]
        if sample is None or isinstance(sample, str):
            return _columns({"token": list(X)}, offsets)
        X = _as_array(X)
    if X.ndim == 1 and X.dtype.kind not in "fiub":
        return _columns({"token": X.tolist()}, offsets)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2:
        raise InputError(f"X has {X.ndim} dimensions", hint="Give a flat array (N,) or (N, D), or (S, T, D).")
    if X.dtype.kind in "fiub":
        kept = np.bool_ if X.dtype.kind == "b" else number_type(X)
        # Rows lie together: all of them are looked at sooner than column after column.
        finite = all(np.isfinite(X[row : row + BLOCK]).all() for row in range(0, len(X), BLOCK))
        columns = {str(j): X[:, j].astype(kept, copy=False) for j in range(X.shape[1])}
        return _columns(columns, offsets, finite=finite)
    return _columns({str(j): X[:, j].tolist() for j in range(X.shape[1])}, offsets)


def _columns(columns: Mapping[str, Any], offsets: IndexArray, *, finite: bool = False) -> Sequences:
    def read(name: str) -> tuple[Kind, AnyArray]:
        values = columns[name]
        if not isinstance(values, np.ndarray):
            return column_of(values)
        if not finite:
            check_finite(values)
        return "boolean" if values.dtype == np.bool_ else "numeric", values

    stored, kinds = read_columns(columns, read, lambda bad, name: among(bad, offsets, bad.row, column=name))
    return Sequences(stored, offsets, kinds)


def _as_array(X: Any) -> AnyArray:
    try:
        return np.asarray(X)
    except (ValueError, TypeError):
        raise InputError("X is not an array: its rows differ in length") from None


def _offsets(lengths: Any) -> IndexArray:
    sizes = _as_array(lengths)
    if sizes.ndim != 1 or len(sizes) == 0 or sizes.dtype.kind not in "iu":
        raise InputError("⟦lengths⟧ must be a list of integers, one per sequence")
    if (sizes <= 0).any():
        raise InputError(f"its length is {sizes[sizes <= 0][0]}", sequence=int(np.flatnonzero(sizes <= 0)[0]))
    return np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX)


def _flatten_padded(X: AnyArray, lengths: Any, y: Any) -> tuple[AnyArray, Any, Any]:
    """A padded X (S, T, D), and y (S, T), as flat arrays without the padding."""
    n_sequences, longest = X.shape[:2]
    sizes = np.full(n_sequences, longest) if lengths is None else _as_array(lengths)
    if sizes.shape != (n_sequences,):
        raise InputError(f"X has {n_sequences} sequences and ⟦lengths⟧ has {sizes.size} entries")
    if sizes.dtype.kind in "iu" and (sizes > longest).any():
        place = int(np.flatnonzero(sizes > longest)[0])
        raise InputError(f"its length is {sizes[place]} where X has {longest} positions", sequence=place)
    inside = np.arange(longest) < sizes[:, None]
    if y is not None:
        labels = y if isinstance(y, np.ndarray) else _as_array(y)
        if labels.shape != (n_sequences, longest):
            raise InputError(f"X is {X.shape} and y is {labels.shape}", hint="y is (S, T) for an X of (S, T, D).")
        y = labels[inside]
    return X[inside], sizes, y


def _split_labels(y: Any, offsets: IndexArray) -> AnyArray:
    values = y.tolist() if hasattr(y, "tolist") else list(y)
    if len(values) != offsets[-1]:
        hint = "With ⟦lengths=⟧, y is flat: one label per position."
        raise InputError(f"X has {offsets[-1]} positions and y has {len(values)} labels", hint=hint)
    try:
        return nested(plain_labels(values), offsets)
    except BadValue as bad:
        raise among(bad, offsets, bad.row) from None


def _check_sparse(matrix: Any, offsets: IndexArray) -> None:
    if len(offsets) == 0 or offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != matrix.shape[0]:
        raise InputError(f"offsets must rise from 0 to the {matrix.shape[0]} rows of the matrix")
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        error = InputError(f"the weight is {matrix.data[bad[0]]}", hint="Weights must be finite.")
        raise among(error, offsets, row, column=str(matrix.indices[bad[0]]))
