"""Decoders: potentials of a chunk in, one label a position out."""

from __future__ import annotations

from collections.abc import Callable

from hedgerow.chain.decoding.beam import Beam
from hedgerow.chain.decoding.posterior import posterior
from hedgerow.chain.decoding.viterbi import viterbi
from hedgerow.chain.inference import Workspace
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import CodeArray

Decoder = Callable[[ChainPotentials, Workspace | None], CodeArray]

BEAM_WIDTH = 20
DECODERS: dict[str, Decoder] = {"viterbi": viterbi, "posterior": posterior, "beam": Beam(BEAM_WIDTH)}


def decoder(name: str, beam_width: int = BEAM_WIDTH) -> Decoder:
    """The decoder of that name: it takes potentials and a workspace or None, and gives labels, int32 (n,).

    beam_width : how many states "beam" keeps at each position
    """
    if name not in DECODERS:
        raise InputError(f"there is no decoder {name!r}", hint=f"Known are: {', '.join(sorted(DECODERS))}")
    return Beam(beam_width) if name == "beam" else DECODERS[name]


__all__ = ["BEAM_WIDTH", "DECODERS", "Beam", "Decoder", "decoder", "posterior", "viterbi"]
