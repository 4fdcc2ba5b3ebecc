"""The scores of a chunk whose edges are arcs of histories: chains of any order, with the same scores everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, INDEX, UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.structure.histories import Histories


@dataclass(frozen=True, slots=True)
class HistoryEdges:
    """One score for each arc of the histories, at every position. Build it once an evaluation, with `from_scores`.

    scores : (A,); −inf is impossible
    exps : (A,), exp(scores − shift)
    shift : the largest finite score
    """

    histories: Histories
    scores: FloatArray
    exps: FloatArray
    shift: float

    @classmethod
    def from_scores(cls, histories: Histories, scores: Any) -> HistoryEdges:
        """From (A,) scores. Arcs that are there to forbid a label score −inf, whatever stands there."""
        values = np.array(scores, dtype=FLOAT)
        if values.shape != (histories.n_arcs,):
            raise InputError(f"{histories.n_arcs} arcs need as many scores, not shape {values.shape}")
        values[~histories.legal] = -np.inf
        if not (values < np.inf).all():  # false for NaN too
            raise InputError("arc scores must be numbers or −inf, and one is NaN or +inf")
        finite = values[values > -np.inf]
        shift = float(finite.max()) if finite.size else 0.0
        return cls(histories, values, np.exp(values - shift), shift)

    @property
    def n_labels(self) -> int:
        return self.histories.n_labels


@dataclass(frozen=True, slots=True)
class HistoryPotentials:
    """The scores of a chunk. A labeling y of a sequence scores Σ_t node_t(y_t) + Σ_t ψ(a_t), a_t the arc that y_t takes
    after the history of the labels before it: of the longest history that has seen y_t.

    Which labels may start or end a sequence, forced labels and allowed sets are part of the node scores: −inf is
    impossible. What the first label scores after ⊥ is an arc.

    node_scores : (n, K)
    offsets : int64[s+1], from 0 to n; no sequence is empty
    sequence_base : the number in the corpus of the chunk's first sequence, for errors
    sequence_numbers : the numbers of all of them, where they do not follow each other
    """

    node_scores: FloatArray
    offsets: IndexArray
    edges: HistoryEdges
    sequence_base: int = 0
    sequence_numbers: IndexArray | None = None

    def __post_init__(self) -> None:
        shape = self.node_scores.shape
        if len(shape) != 2 or shape[1] != self.edges.n_labels:
            raise InputError(f"node scores of shape {shape} do not fit edges of {self.edges.n_labels} labels")
        if self.offsets[0] != 0 or self.offsets[-1] != shape[0]:
            raise InputError(f"offsets must run from 0 to the number of positions, {shape[0]}")
        lengths = np.diff(self.offsets)
        if len(lengths) and lengths.min() < 1:
            raise InputError("has no positions", sequence=self.sequence_number(int(np.argmin(lengths))))

    @classmethod
    def from_scores(
        cls, node_scores: Any, arc_scores: Any, histories: Histories, offsets: Any = None
    ) -> HistoryPotentials:
        """From plain arrays: node scores (n, K), arc scores (A,)."""
        nodes = np.ascontiguousarray(node_scores, dtype=FLOAT)
        cuts = np.array([0, len(nodes)]) if offsets is None else np.asarray(offsets)
        return cls(nodes, cuts.astype(INDEX), HistoryEdges.from_scores(histories, arc_scores))

    @property
    def n_labels(self) -> int:
        return int(self.node_scores.shape[1])

    @property
    def n_positions(self) -> int:
        return int(self.node_scores.shape[0])

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    def first(self) -> AnyArray:
        """uint8[n+1]: 1 where a sequence starts, and at the end."""
        flags = np.zeros(self.n_positions + 1, dtype=np.uint8)
        flags[self.offsets] = 1
        return flags

    def restrict(self, allowed: BoolArray) -> HistoryPotentials:
        """The same potentials where only the labels with allowed[t, v] are possible. allowed (n, K)."""
        if allowed.shape != self.node_scores.shape:
            raise InputError(f"allowed has shape {allowed.shape}, the node scores {self.node_scores.shape}")
        return replace(self, node_scores=np.where(allowed, self.node_scores, -np.inf))

    def force(self, labels: AnyArray) -> HistoryPotentials:
        """The same potentials where a position with a label in `labels` (n,) has that one; −1 leaves it free."""
        known = np.asarray(labels)[:, None]
        return self.restrict((known == UNLABELLED) | (known == np.arange(self.n_labels)))

    def take(self, sequences: IndexArray) -> tuple[HistoryPotentials, IndexArray]:
        """The potentials of some sequences of the chunk, and the rows they have here."""
        lengths = np.diff(self.offsets)[sequences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
        rows = np.repeat(self.offsets[:-1][sequences] - offsets[:-1], lengths) + np.arange(offsets[-1])
        numbers = np.array([self.sequence_number(int(i)) for i in sequences], dtype=INDEX)
        nodes = np.ascontiguousarray(self.node_scores[rows])
        return HistoryPotentials(nodes, offsets, self.edges, sequence_numbers=numbers), rows

    def place(self, row: int) -> tuple[int, int]:
        """The sequence, by its number in the corpus, and the position in it of a row."""
        i = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return self.sequence_number(i), row - int(self.offsets[i])

    def sequence_number(self, i: int) -> int:
        """The number in the corpus of sequence i of the chunk."""
        if self.sequence_numbers is not None:
            return int(self.sequence_numbers[i])
        return self.sequence_base + i
