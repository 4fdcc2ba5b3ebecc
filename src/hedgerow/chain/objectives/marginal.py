"""What the losses have in common that are functions of the node marginals: one pass for the marginals, one back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.inference import Workspace
from hedgerow.chain.inference.covariance import covariance_of
from hedgerow.chain.inference.known import checked_labels, spread_weights
from hedgerow.chain.inference.messages import Messages, messages
from hedgerow.chain.inference.workspace import slices
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.truth import check_truth
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class MarginalTruth:
    """A chunk's marginals beside its truth, as the kernels of `labelwise` take them.

    probs : (n, K), P_t(v)
    labels : (n,), −1 where not known
    allowed : uint8 (n, K), or (0, K) where any label is
    weights : (n,)
    terms : (n, K), to be filled with c_t(v) P_t(v)
    """

    state: Messages
    probs: FloatArray
    labels: AnyArray
    allowed: AnyArray
    weights: FloatArray
    terms: FloatArray

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """The calls to cut a kernel into that reads a row of probabilities a few times."""
        return list(slices(len(self.probs), 20 * (self.probs.shape[1] + 1)))

    def result(self, loss: float) -> LossAndGradient:
        """The loss with its gradient, from the terms."""
        moved = covariance_of(self.state, self.terms)
        return LossAndGradient(loss, moved.node, moved.edges)


def marginal_truth(
    potentials: ChainPotentials,
    labels: AnyArray,
    allowed: BoolArray | None,
    weights: FloatArray | None,
    workspace: Workspace | None,
) -> MarginalTruth:
    """Check the truth and find the marginals. An impossible truth is an error."""
    labels = checked_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
    check_truth(potentials, labels, allowed)
    state = messages(potentials, workspace)
    state.work.reserve_moments()
    sets = np.empty((0, potentials.n_labels), dtype=np.uint8)
    if allowed is not None:
        sets = np.ascontiguousarray(allowed).view(np.uint8)
    return MarginalTruth(state, state.node_probs, labels, sets, spread, state.work.terms)
