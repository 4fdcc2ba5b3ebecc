"""The labels that a beam search finds: nearly those of Viterbi, in time that does not grow with all histories."""

from __future__ import annotations

from hedgerow.chain.inference import Workspace
from hedgerow.chain.inference.beam import beam_labelings
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import CodeArray


class Beam:
    """The decoder that keeps the `width` best states of each position."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, potentials: ChainPotentials, workspace: Workspace | None = None) -> CodeArray:
        """int32 (n,)."""
        return beam_labelings(potentials, self.width)[0]
