"""Sums of vectors in a fixed order, so that a result does not depend on threads."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
