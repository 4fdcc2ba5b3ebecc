"""What every objective returns for a chunk."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.legend import FloatArray


@dataclass(frozen=True, slots=True)
class LossAndGradient:
    """A loss, to be minimised, and its derivatives with respect to the scores.

    loss : summed over the chunk
    node_gradient : (n, K), d loss / d node score
    edge_gradient : (K, K) [from, to], summed over positions, for shared edges;
        (K, n, K) [to, position, from] for per-position edges
    """

    loss: float
    node_gradient: FloatArray
    edge_gradient: FloatArray
