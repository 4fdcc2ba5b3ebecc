"""Posteriors of an input-output hidden Markov model."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
