"""All histories of a chain of order n over few labels, each of which may score its labels anew at every position.

Histories are numbered level by level: 0 is ⊥, then (⊥ a) for every label a, (⊥ a b) … and at last the K^n runs of n.
Within a level the labels are digits of a number, the oldest first. So a history and a label lead to a history by
arithmetic, and there is no backing off: H = 1 + K + … + K^n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.chain.structure.histories import MAX_ORDER
from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, BoolArray, CodeArray

NO_LABEL = -1  # ⊥, and what is before it
MAX_HISTORIES = 1 << 16


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """Every history of up to n labels.

    n_labels : K
    order : n, at least 1
    labels : int32 (H, n), the last n labels of each history, the oldest first; −1 where there is none
    next : int32 (K, H) [label, history], the history that a label leads to
    """

    n_labels: int
    order: int
    labels: CodeArray
    next: CodeArray

    @classmethod
    def full(cls, n_labels: int, order: int) -> HistoryTable:
        K, n = n_labels, order
        if n < 1:
            raise InputError(f"⟦order⟧ is {n}", hint="A table of histories has order 1 or more.")
        sizes = [K**d for d in range(min(n, MAX_ORDER) + 1)]
        if n > MAX_ORDER or sum(sizes) > MAX_HISTORIES:
            what = f"{K} labels have too many histories of order {n}: more than {MAX_HISTORIES:,}"
            raise InputError(what, hint="Use ⟦edges='shared'⟧, or a lower ⟦order⟧.")
        base = np.concatenate([[0], np.cumsum(sizes)])
        labels: CodeArray = np.full((base[-1], n), NO_LABEL, dtype=CODE)
        ahead = np.empty((K, base[-1]), dtype=CODE)
        for d in range(n + 1):
            numbers = np.arange(sizes[d])
            rows = slice(base[d], base[d + 1])
            for back in range(d):
                labels[rows, n - 1 - back] = numbers // K**back % K
            for k in range(K):
                ahead[k, rows] = base[min(d + 1, n)] + (numbers * K + k) % K ** min(d + 1, n)
        for array in (labels, ahead):
            array.setflags(write=False)
        return cls(K, n, labels, ahead)

    @property
    def n_histories(self) -> int:
        return len(self.labels)

    @property
    def possible(self) -> BoolArray:
        """bool (n+1, H): the histories that stand before the d-th position of a sequence; the last row is for d ≥ n."""
        depth = (self.labels != NO_LABEL).sum(axis=1)
        possible: BoolArray = depth == np.arange(self.order + 1)[:, None]
        return possible

    def before(self, labels: AnyArray, first: AnyArray) -> CodeArray:
        """int32 (n,): the history before each position.

        labels (n,), all known; first (n+1,): 1 where a sequence starts.
        """
        K, n = self.n_labels, self.order
        starts = np.flatnonzero(first[:-1])
        place = np.arange(len(labels)) - np.repeat(starts, np.diff(np.append(starts, len(labels))))
        depth = np.minimum(place, n)
        base = np.concatenate([[0], np.cumsum([K**d for d in range(n)])])
        states: AnyArray = base[depth].astype(INDEX)
        for back in range(1, n + 1):
            there = depth >= back
            states[there] += np.asarray(labels)[np.flatnonzero(there) - back] * K ** (back - 1)
        return states.astype(CODE)

    def questions(self) -> tuple[AnyArray, list[tuple[int, int]]]:
        """What a tree may ask of a history: uint8 (M, H+1), the histories with "the label j back is v" (the last column
        is not used), and (j, v) of each; v is −1 where there is no such label."""
        asked, sets = [], []
        for j in range(1, self.order + 1):
            for v in (*range(self.n_labels), NO_LABEL):
                chosen = self.labels[:, self.order - j] == v
                if chosen.any() and not chosen.all():
                    asked.append((j, v))
                    sets.append(np.append(chosen, False).astype(np.uint8))
        return np.array(sets, dtype=np.uint8).reshape(-1, self.n_histories + 1), asked

    def name(self, history: int, label_names: Sequence[object]) -> str:
        """A history in words: "⊥ a b"."""
        names = [str(label_names[v]) for v in self.labels[history].tolist() if v != NO_LABEL]
        return " ".join(names if len(names) == self.order else ["⊥", *names])


def legal_moves(space: StateSpace, table: HistoryTable) -> BoolArray:
    """bool (K, H): the labels that may follow each history."""
    before = table.labels[:, -1]
    moves: BoolArray = np.where((before == NO_LABEL)[:, None], space.start, space.transitions[before])
    return moves.T
