"""Decoders: potentials of a chunk in, one label a position out."""

from __future__ import annotations

from collections.abc import Callable

from hedgerow.decoding.posterior import posterior
from hedgerow.decoding.viterbi import viterbi
from hedgerow.errors import InputError
from hedgerow.inference import Workspace
from hedgerow.legend import CodeArray
from hedgerow.potentials import ChainPotentials

Decoder = Callable[[ChainPotentials, Workspace | None], CodeArray]

DECODERS: dict[str, Decoder] = {"viterbi": viterbi, "posterior": posterior}


def decoder(name: str) -> Decoder:
    """The decoder of that name: it takes potentials and a workspace or None, and gives labels, int32 (n,)."""
    if name not in DECODERS:
        raise InputError(f"there is no decoder {name!r}", hint=f"Known are: {', '.join(sorted(DECODERS))}")
    return DECODERS[name]


__all__ = ["DECODERS", "Decoder", "decoder", "posterior", "viterbi"]
