"""Beam search that learns, and tables of its features."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
