"""Plain NumPy twins of `kernels/vectors.py`."""

from __future__ import annotations

from hedgerow.legend import AnyArray, FloatArray


def dot(x: AnyArray, y: AnyArray) -> float:
    """Σ_i x[i]·y[i]."""
    return float((x.astype(float) * y).sum())


def add_scaled(x: AnyArray, a: float, y: FloatArray) -> FloatArray:
    """y + a·x."""
    return y + a * x.astype(float)
