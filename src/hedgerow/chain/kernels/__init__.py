"""Recursions along chains: forward, backward, covariances, searches. Arrays in, arrays out."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
