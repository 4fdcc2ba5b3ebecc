"""The labels of the best whole labeling."""

from __future__ import annotations

from hedgerow.chain.inference import Workspace, best_labelings
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import CodeArray


def viterbi(potentials: ChainPotentials, workspace: Workspace | None = None) -> CodeArray:
    """int32 (n,). Of equal labelings: the lowest label at the last position, then before it, and so on."""
    return best_labelings(potentials)[0]
