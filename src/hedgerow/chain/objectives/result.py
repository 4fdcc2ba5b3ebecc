"""What every objective takes and returns for a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hedgerow.chain.potentials import ChainPotentials, Gradients, Truth
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import FloatArray


@dataclass(frozen=True, slots=True)
class LossAndGradient:
    """A loss, to be minimised, and its derivatives with respect to the scores.

    loss : summed over the chunk
    node_gradient : (n, K), d loss / d node score
    edge_gradient : (K, K) [from, to], summed over positions, for shared edges;
        (K, n, K) [to, position, from] for per-position edges; (A,), summed over positions, for histories;
        (K, n, H) [to, position, history] for tables of histories
    """

    loss: float
    node_gradient: FloatArray
    edge_gradient: FloatArray


@dataclass(frozen=True, slots=True)
class Curved:
    """A loss, its gradient, and the derivative of that gradient along a direction: the Hessian times the direction.

    node_product, edge_product : as the gradients
    """

    loss: float
    node_gradient: FloatArray
    edge_gradient: FloatArray
    node_product: FloatArray
    edge_product: FloatArray


class Objective(Protocol):
    """A loss of potentials and true labels.

    With a workspace, gradients may live in it, and the next call overwrites them.
    """

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient: ...


class Curvature(Protocol):
    """The gradient of an objective and its Hessian times a direction.

    direction : shaped as the gradients, and finite
    """

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, direction: Gradients, workspace: Workspace | None = None
    ) -> Curved: ...
