"""Noisy-or over bags of positions."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
