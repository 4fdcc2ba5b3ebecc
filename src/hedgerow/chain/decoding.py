"""Decoders: potentials of a chunk in, one label for each position out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hedgerow.chain.inference import Workspace, beam_labelings, best_labelings, node_marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.declarations import check_choice
from hedgerow.legend import CODE, CodeArray, FloatArray

Decoder = Callable[[ChainPotentials, Workspace | None], CodeArray]

BEAM_WIDTH = 20
_LEAST_TILT = -650.0  # e to it, times the largest of some probabilities, is above 0


def viterbi(potentials: ChainPotentials, workspace: Workspace | None = None) -> CodeArray:
    """int32 (n,), the labels of the best whole labeling. Of equal ones as `best_labelings` chooses."""
    return best_labelings(potentials)[0]


def tilted(probs: FloatArray, tilt: FloatArray | None) -> FloatArray:
    """Probabilities (n, K) of labels times e^tilt (K,), made to add up to 1; None leaves them.

    With log w they are greatest for the label whose mistakes, where one counts w of the true label, are the fewest.
    """
    if tilt is None:
        return probs
    found: FloatArray = probs * np.exp(np.maximum(tilt - tilt.max(), _LEAST_TILT))
    found /= found.sum(axis=1, keepdims=True)
    return found


def posterior(
    potentials: ChainPotentials, workspace: Workspace | None = None, *, tilt: FloatArray | None = None
) -> CodeArray:
    """int32 (n,), at each position the label that is most probable there: the most positions right, on average.

    The labeling as a whole may be less probable than Viterbi's, and may even be impossible. Of equally probable labels,
    the lowest. tilt : as in `tilted`
    """
    labels: CodeArray = np.argmax(tilted(node_marginals(potentials, workspace), tilt), axis=1).astype(CODE)
    return labels


def beam(potentials: ChainPotentials, workspace: Workspace | None = None, *, width: int = BEAM_WIDTH) -> CodeArray:
    """int32 (n,), the labels that a beam search finds: nearly those of Viterbi, in time that does not grow with all
    histories. `width` states go on at each position."""
    return beam_labelings(potentials, width)[0]


DECODERS: dict[str, Decoder] = {"viterbi": viterbi, "posterior": posterior, "beam": beam}


def find_decoder(name: Any, beam_width: int = BEAM_WIDTH, tilt: FloatArray | None = None) -> Decoder:
    """The decoder of that name: it takes potentials and a workspace or None, and gives labels, int32 (n,).

    beam_width : how many states "beam" keeps at each position
    tilt : of "posterior", as in `tilted`: it is no part of a whole labeling
    """
    check_choice("decoder", name, tuple(DECODERS))
    of_them: dict[str, dict[str, Any]] = {"beam": {"width": int(beam_width)}, "posterior": {"tilt": tilt}}
    return partial(DECODERS[name], **of_them.get(name, {}))
