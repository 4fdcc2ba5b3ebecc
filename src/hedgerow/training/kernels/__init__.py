"""Sums of vectors in a fixed order, which no number of threads changes, and the curvature of runs of labels."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
