"""What a search for several labelings gives."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.legend import CodeArray, FloatArray


@dataclass(frozen=True, slots=True)
class KBest:
    """The best labelings of one sequence, best first. There are fewer than k where fewer are legal.

    labels : int32 (m, T), m ≤ k
    scores : (m,), the score of each
    probs : (m,), exp(score − log Z)
    """

    labels: CodeArray
    scores: FloatArray
    probs: FloatArray
