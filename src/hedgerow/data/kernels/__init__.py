"""Numbers that are computed from the numbers of a column. They know sequences as runs of places, and nothing else."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
