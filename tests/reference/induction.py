"""Feature induction, written to be obviously right: sets of rows, dicts, and a search along one weight by SciPy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.optimize import minimize_scalar

Atoms = Mapping[int, float]  # row → value, of one position
Set = tuple[int, ...]


def value(one: Set, atoms: Atoms) -> float | None:
    """The product of the values of a set of atoms; None where one of them is not there."""
    return math.prod(atoms[row] for row in one) if all(row in atoms for row in one) else None


def held(sets: Sequence[Set], positions: Sequence[Atoms]) -> list[dict[int, float]]:
    """Conjunction → value, at each position."""
    return [{f: v for f, one in enumerate(sets) if (v := value(one, atoms)) is not None} for atoms in positions]


def candidates(sets: Sequence[Set], positions: Sequence[Atoms]) -> set[Set]:
    """Every conjunction of the model and an atom that stand at one position, and are none of the model's."""
    found = set()
    for atoms in positions:
        for one in sets:
            if value(one, atoms) is not None:
                found |= {tuple(sorted((*one, row))) for row in atoms if row not in one}
    return found - {tuple(sorted(one)) for one in sets}


def left(one: Set, positions: Sequence[Atoms], probs: np.ndarray, truth: Sequence[int], weights: np.ndarray) -> float:
    """Σ v²·(−log p(truth)) over the positions where a conjunction holds."""
    values = [value(one, atoms) for atoms in positions]
    terms = (-weights[t] * v**2 * np.log(probs[t, truth[t]]) for t, v in enumerate(values) if v is not None)
    return float(sum(terms))


def gain(
    one: Set, positions: Sequence[Atoms], probs: np.ndarray, truth: Sequence[int], weights: np.ndarray, l2: float
) -> float:
    """Σ over outputs of the most that the mean-field likelihood rises by one weight."""

    def loss(mu: float, m: int) -> float:
        total = l2 * mu**2
        for t, atoms in enumerate(positions):
            v = value(one, atoms)
            if v is not None:
                total += weights[t] * (
                    np.log(1 - probs[t, m] + probs[t, m] * np.exp(mu * v)) - mu * v * (truth[t] == m)
                )
        return float(total)

    outputs: Iterable[int] = range(probs.shape[1])
    options = {"bounds": (-20, 20), "method": "bounded", "options": {"xatol": 1e-10}}
    return sum(max(0.0, -minimize_scalar(loss, args=(m,), **options).fun) for m in outputs)
