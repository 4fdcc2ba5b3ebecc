"""Which conjunctions a linear chain lacks most (McCallum, "Efficiently Inducing Features of Conditional Random
Fields", UAI 2003): candidates are those of the model with one more atom, and each is scored by how much the likelihood
rises with its weight free and all others fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hedgerow.legend import INDEX, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.conjunctions import Conjunctions, Held

MOST_CANDIDATES = 1 << 23  # beyond so many, those met first are looked at
LOOKED_AT = 4  # times as many candidates as are wanted have their gains computed
EXPECTED = 16  # a candidate is met so often, so much room there is at first
FIRST_ROOM = 1 << 12


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

    def hard(self, threshold: float) -> BoolArray:
        """Positions whose true output has a probability below this."""
        hard: BoolArray = self.probs[np.arange(len(self.truth)), self.truth] < threshold
        return hard


class Candidates(NamedTuple):
    """A conjunction of the model and an atom, int64[C, 2]; and what is left to gain where both hold, float64[C]."""

    made_of: IndexArray
    left: FloatArray


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
        """The conjunctions with the largest gains, the largest first; fewer where fewer gain anything.

        Those that have their gains computed are the ones with most to gain at their positions, Σ −log p(truth): for one
        output, no weight of a feature that is 0 or 1 gains more than that.
        """
        found = self.candidates()
        looked_at = _largest_first(found.left)[: LOOKED_AT * n_features]
        known = self.model.sets()
        sets = [tuple(sorted((*known[f], r))) for f, r in found.made_of[looked_at].tolist()]
        gains = self.gains(sets, l2)
        chosen = _largest_first(gains)[:n_features]
        return [sets[c] for c in chosen.tolist() if gains[c] > 0]

    def gains(self, sets: list[tuple[int, ...]], l2: float) -> FloatArray:
        """The gain of each of some conjunctions, float64[C]."""
        held = Conjunctions.of(self.model.schema, sets).held(self.atoms)
        order = np.argsort(held.numbers, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(held.numbers, minlength=len(sets)))]).astype(INDEX)
        entries = np.repeat(np.arange(len(held.ptr) - 1, dtype=INDEX), np.diff(held.ptr))[order]
        values = held.values[order] if len(held.values) else held.values
        gains: FloatArray = np.empty(len(sets))
        probs, truth, weights = self.outputs
        by_output = np.ascontiguousarray(probs.T)
        kernels.conjunctions.find_gains(ptr, entries, values, by_output, truth, weights, float(l2), gains)
        return gains

    def candidates(self) -> Candidates:
        """Every conjunction of the model with one atom more."""
        model, (probs, truth, weights) = self.model, self.outputs
        lost = -weights * np.log(np.maximum(probs[np.arange(len(truth)), truth], 1e-300))
        atom_key = _random_keys(int(self.atoms.numbers.max(initial=0)) + 1)
        set_key = np.array([_sum(atom_key, rows) for rows in model.sets()], dtype=INDEX)
        n_pairs = int((np.diff(self.atoms.ptr) * np.diff(self.held.ptr)).sum())
        room, begin, n = min(max(n_pairs // EXPECTED, FIRST_ROOM), MOST_CANDIDATES), 0, 0
        made_of, sums = np.empty((0, 2), dtype=INDEX), np.empty(0)
        while True:
            made_of, sums = _grown(made_of, room), _grown(sums, room)
            stopped, n = kernels.conjunctions.tally_candidates(
                begin, *self.atoms, *self.held, model.node, model.parent, model.row, atom_key, set_key, lost,
                room < MOST_CANDIDATES, n, _table(set_key, atom_key, made_of[:n], room), made_of, sums,
            )  # fmt: skip
            if stopped == len(self.atoms.ptr) - 1:
                return Candidates(made_of[:n], sums[:n])
            begin, room = stopped, min(4 * room, MOST_CANDIDATES)


def _largest_first(values: FloatArray) -> IndexArray:
    """The order of values, of equal ones that in which they stand: the last bits, which a processor decides, do not."""
    return np.argsort(-np.round(values, 9), kind="stable")


def _random_keys(n: int) -> IndexArray:
    """A number for each atom: sets with other atoms have other sums, but for a chance of one in 10¹⁸."""
    mask = kernels.conjunctions.KEY_MASK
    return np.random.default_rng(0).integers(0, mask, size=n, dtype=INDEX)


def _sum(atom_key: IndexArray, rows: tuple[int, ...]) -> int:
    # Rows that no atom here has stand for sets that no candidate here is.
    own = (int(atom_key[row]) if row < len(atom_key) else row for row in rows)
    return sum(own) & int(kernels.conjunctions.KEY_MASK)


def _grown(array: AnyArray, size: int) -> AnyArray:
    more = np.zeros((size - len(array), *array.shape[1:]), dtype=array.dtype)
    return np.concatenate([array, more])


def _table(set_key: IndexArray, atom_key: IndexArray, made_of: IndexArray, room: int) -> IndexArray:
    """The table that `tally_candidates` looks keys up in: of conjunctions of the model, and of candidates so far."""
    table = np.full((1 << int(2 * (room + len(set_key)) + 1).bit_length(), 4), -1, dtype=INDEX)
    of_candidates = (set_key[made_of[:, 0]] + atom_key[made_of[:, 1]]) & kernels.conjunctions.KEY_MASK
    slots = np.concatenate([np.full(len(set_key), -1, dtype=INDEX), np.arange(len(made_of), dtype=INDEX)])
    kernels.conjunctions.fill_table(np.concatenate([set_key, of_candidates]), slots, table)
    return table
