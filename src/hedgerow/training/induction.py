"""Which conjunctions a linear chain lacks most (McCallum, "Efficiently Inducing Features of Conditional Random
Fields", UAI 2003): candidates are those of the model with one more atom, and each is scored by how much the likelihood
rises with its weight free and all others fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hedgerow.legend import INDEX, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.conjunctions import Conjunctions, Held, meet

LOOKED_AT = 6  # times as many candidates as are wanted are looked at; some hold at the same positions as others
TINY = 1e-300  # a probability, or what is lost, at the least
ROOM = 4  # times as many as are asked for are kept on the way, before the largest of them are taken


class Outputs(NamedTuple):
    """What the model says of n positions.

    probs : float64[n, M], of labels, or of pairs of labels
    truth : int32[n]
    weights : float64[n]
    """

    probs: FloatArray
    truth: CodeArray
    weights: FloatArray

    def at(self, positions: IndexArray) -> Outputs:
        return Outputs(self.probs[positions], self.truth[positions], self.weights[positions])


@dataclass(frozen=True)
class Search:
    """A search for conjunctions at some positions.

    model : the conjunctions there are
    atoms, held : what holds at the positions, of atoms and of the model's conjunctions
    outputs : what the model says there
    """

    model: Conjunctions
    atoms: Held
    held: Held
    outputs: Outputs

    def best(self, n_features: int, l2: float) -> list[tuple[int, ...]]:
        """The conjunctions with the largest gains, the largest first; fewer where fewer gain anything. Of those that
        hold at the same positions there is one.

        Those that have their gains computed are the ones with most to gain at their positions, Σ −log p(truth): for one
        output, no weight of a feature that is 0 or 1 gains more than that.
        """
        (made_of, left), known = self.candidates(LOOKED_AT * n_features), self.model.sets()
        sets = [(*known[f], r) for f, r in made_of.tolist()]
        held = meet(sets, self.atoms)
        first = held.distinct(_ranks(left))
        gains = self.gains(held.at(first), l2)
        chosen = np.argsort(-_ranks(gains), kind="stable")[:n_features]
        return [tuple(sorted(sets[first[c]])) for c in chosen.tolist() if gains[c] > 0]

    def gains(self, held: Held, l2: float) -> FloatArray:
        """The gain of each of some conjunctions, float64[C]. held : where each holds, as `meet` gives it"""
        gains: FloatArray = np.empty(len(held.ptr) - 1)
        probs, truth, weights = self.outputs
        kernels.conjunctions.find_gains(*held, np.ascontiguousarray(probs.T), truth, weights, float(l2), gains)
        return gains

    def candidates(self, most: int) -> tuple[IndexArray, FloatArray]:
        """Conjunctions of the model with one atom more, so many at most: those with most left to gain, in order. The
        conjunction and the atom, int64[C, 2]; and what is left to gain where both hold, float64[C]."""
        model, (probs, truth, weights) = self.model, self.outputs
        lost = np.maximum(-weights * np.log(np.maximum(probs[np.arange(len(truth)), truth], TINY)), TINY)
        n_rows, held = int(self.atoms.numbers.max(initial=0)) + 1, self.held.by_number(len(model))
        made_of, left = np.empty((ROOM * most + n_rows, 2), dtype=INDEX), np.empty(ROOM * most + n_rows)
        sums, listed, path = np.zeros(n_rows), *(np.empty(n, dtype=INDEX) for n in (n_rows, len(model.parent) + 1))
        f, n, least = 0, 0, -1.0
        while f < len(model):
            f, n = kernels.conjunctions.find_candidates(
                f, *held, *self.atoms, lost, model.node, model.parent, model.row, *model.children, model.feature,
                least, sums, listed, path, n, made_of, left,
            )  # fmt: skip
            kept = np.lexsort((made_of[:n, 1], made_of[:n, 0], -_ranks(left[:n])))[:most]
            n = len(kept)
            made_of[:n], left[:n] = made_of[kept], left[kept]
            if n == most:
                least = float(_ranks(left[n - 1 : n])[0])
        return made_of[:n], left[:n]


def _ranks(values: FloatArray) -> FloatArray:
    """What values are ordered by: their last bits, which a processor decides, do not count."""
    ranks: FloatArray = np.rint(values / kernels.conjunctions.RANK)
    return ranks
