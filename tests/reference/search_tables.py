"""What competes with the truth in a beam, in plain Python: labelings are tuples, scores a function of history."""

from __future__ import annotations

import math
from collections.abc import Callable

Labels = tuple[int, ...]
Found = list[tuple[int, int, Labels, float]]  # (step, label, labels before it, share) of a rival


def find_rivals(
    score: Callable[[Labels], float], truth: Labels, n_labels: int, width: int, update: str
) -> tuple[float, Found]:
    """The loss Σ log(1 + e^Δ) of one sequence, and what its rivals have from where they leave the truth.

    score : of the last label of a labeling, given those before it; −inf where it is not possible
    """
    beam: list[Labels] = [()]
    total, begin = 0.0, 0
    rivals: Found = []
    best: tuple[float, Labels] = (-math.inf, ())

    def whole(labels: Labels) -> float:
        return sum(score(labels[:t]) for t in range(begin + 1, len(labels) + 1))

    for t in range(1, len(truth) + 1):
        ways = [((-whole((*y, v)), v, r), (*y, v)) for r, y in enumerate(beam) for v in range(n_labels)]
        beam = [y for (cost, _, _), y in sorted(ways)[:width] if cost < math.inf]
        others = [y for y in beam if y != truth[:t]]
        last, lost = t == len(truth), truth[:t] not in beam
        leaves = lost and update in ("early", "beam")
        if others:
            above = whole(others[0]) - whole(truth[:t])
            if (above >= best[0]) if update == "max_violation" else (last or leaves):
                best = above, others[0]
        if best[1] and (last or leaves):
            total += math.log1p(math.exp(best[0]))
            rivals += _differences(best[1], truth, 1.0 / (1.0 + math.exp(-best[0])))
            if update != "beam":
                break
            beam, begin, best = [truth[:t]], t, (-math.inf, ())
    return total, rivals


def _differences(rival: Labels, truth: Labels, share: float) -> Found:
    first = next(t for t, (a, b) in enumerate(zip(rival, truth)) if a != b)
    return [(t, rival[t], rival[:t], share) for t in range(first, len(rival))]
