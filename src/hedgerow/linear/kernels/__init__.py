"""Sums over sparse features: scores, gradients, and the steps of online training."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
