"""StateSpace: which labels may start a sequence, follow each other, and end it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hedgerow.chain.structure.schemes import legal_moves
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class StateSpace:
    """The legal moves of a chain, from label to label. Which longer runs of labels count is a matter of `Histories`.

    start : bool (K,), labels that may come first
    transitions : bool (K, K) [from, to], labels that may follow each other
    end : bool (K,), labels that may come last
    start_scores, edge_scores, end_scores : the same as scores, 0 where it is legal and −inf elsewhere
    """

    start: BoolArray
    transitions: BoolArray
    end: BoolArray
    start_scores: FloatArray = field(init=False, repr=False, compare=False)
    edge_scores: FloatArray = field(init=False, repr=False, compare=False)
    end_scores: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        K = len(self.start)
        if self.transitions.shape != (K, K) or self.start.shape != (K,) or self.end.shape != (K,):
            shapes = f"{self.start.shape}, {self.transitions.shape} and {self.end.shape}"
            raise InputError(f"start, transitions and end of shapes {shapes} do not fit together")
        object.__setattr__(self, "start_scores", np.where(self.start, 0.0, -np.inf))
        object.__setattr__(self, "edge_scores", np.where(self.transitions, 0.0, -np.inf))
        object.__setattr__(self, "end_scores", np.where(self.end, 0.0, -np.inf))

    @property
    def n_labels(self) -> int:
        return len(self.start)

    @classmethod
    def full(cls, n_labels: int) -> StateSpace:
        """Everything is legal."""
        ends = np.ones(n_labels, dtype=bool)
        return cls(ends, np.ones((n_labels, n_labels), dtype=bool), ends.copy())

    @classmethod
    def observed(cls, labels: AnyArray, offsets: IndexArray, n_labels: int) -> StateSpace:
        """What occurs in labelled sequences: labels (N,), −1 where unknown, and offsets (S+1,)."""
        labels = np.asarray(labels)
        start, end = np.zeros(n_labels, dtype=bool), np.zeros(n_labels, dtype=bool)
        arcs = np.zeros((n_labels, n_labels), dtype=bool)
        begins, ends = np.asarray(offsets)[:-1], np.asarray(offsets)[1:]
        filled = begins < ends
        firsts, lasts = labels[begins[filled]], labels[ends[filled] - 1]
        start[firsts[firsts >= 0]] = True
        end[lasts[lasts >= 0]] = True
        inner = np.ones(len(labels), dtype=bool)
        inner[begins[filled]] = False
        rows = np.flatnonzero(inner)
        rows = rows[(labels[rows] >= 0) & (labels[rows - 1] >= 0)]
        arcs[labels[rows - 1], labels[rows]] = True
        return cls(start, arcs, end)

    @classmethod
    def from_scheme(cls, label_names: Sequence[str], scheme: str) -> StateSpace:
        """The legality of a chunk encoding, from the names of labels: 'B-NP', 'I_NP', 'O', or plain 'B', 'I', 'O'.

        scheme : "iob1", "iob2" (or "bio"), "bioes" (or "iobes", "bilou")
        """
        return cls(*legal_moves(label_names, scheme))

    def forbid(self, pairs: Iterable[tuple[int, int]]) -> StateSpace:
        """The same without these transitions, pairs (from, to)."""
        arcs = self.transitions.copy()
        for u, v in pairs:
            if not (0 <= u < self.n_labels and 0 <= v < self.n_labels):
                raise InputError(f"the transition ({u}, {v}) is not between labels 0 … {self.n_labels - 1}")
            arcs[u, v] = False
        return replace(self, transitions=arcs)

    def intersect(self, other: StateSpace) -> StateSpace:
        """What is legal in both."""
        if other.n_labels != self.n_labels:
            raise InputError(f"{self.n_labels} and {other.n_labels} labels do not fit together")
        return StateSpace(self.start & other.start, self.transitions & other.transitions, self.end & other.end)

    def is_full(self) -> bool:
        """Whether nothing is illegal."""
        return bool(self.start.all() and self.transitions.all() and self.end.all())
