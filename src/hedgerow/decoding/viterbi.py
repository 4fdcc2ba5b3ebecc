"""The labels of the best whole labeling."""

from __future__ import annotations

from hedgerow.inference import Workspace, best_labelings
from hedgerow.legend import CodeArray
from hedgerow.potentials import ChainPotentials


def viterbi(potentials: ChainPotentials, workspace: Workspace | None = None) -> CodeArray:
    """int32 (n,). Of equal labelings: the lowest label at the last position, then before it, and so on."""
    return best_labelings(potentials)[0]
