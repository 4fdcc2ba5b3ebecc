"""What a scorer hands to inference: node scores and edge scores of a chunk of whole sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, INDEX, UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray

# An arc of a list costs as much as fourteen cells of a table, which is read in order.
_SPARSE_RATIO = 14
_SPARSE_LABELS = 32


def padded_width(n_labels: int) -> int:
    """The columns of a row of messages: the next multiple of four, so that kernels have no remainder loop."""
    return -(-n_labels // 4) * 4


@dataclass(frozen=True, slots=True)
class ArcLists:
    """The arcs that are not forbidden, sorted by where they lead and by where they come from; exponentials as in
    SharedEdges.

    into_ptr (K+1,), into_from (A,), into_exps (A,) : the arcs into each label
    out_ptr (K+1,), out_to (A,), out_exps (A,) : the arcs out of each label
    """

    into_ptr: IndexArray
    into_from: IndexArray
    into_exps: FloatArray
    out_ptr: IndexArray
    out_to: IndexArray
    out_exps: FloatArray

    @classmethod
    def from_tables(cls, scores: FloatArray, exps: FloatArray) -> ArcLists:
        """Of (K, K) tables [from, to]."""
        possible = scores > -np.inf
        into_to, into_from = np.nonzero(possible.T)
        out_from, out_to = np.nonzero(possible)
        labels = np.arange(len(scores) + 1)
        return cls(
            np.searchsorted(into_to, labels).astype(INDEX),
            into_from.astype(INDEX),
            exps[into_from, into_to],
            np.searchsorted(out_from, labels).astype(INDEX),
            out_to.astype(INDEX),
            exps[out_from, out_to],
        )

    @property
    def out_from(self) -> IndexArray:
        """(A,), where the arcs of out_to come from."""
        return np.repeat(np.arange(len(self.out_ptr) - 1), np.diff(self.out_ptr))


@dataclass(frozen=True, slots=True)
class SharedEdges:
    """One table of edge scores for every position. Build it once an evaluation, with `from_scores`.

    scores : (K, K), [from, to]
    scores_to : (K, 1, K), [to, ·, from], the form that kernels share with per-position edges
    exps, exps_to : (P, P), exp(scores − shift) as [from, to] and as [to, from], padded with zeros
    shift : the largest finite score
    arcs : lists of the arcs, where so few are possible that they are cheaper than the table; None elsewhere
    even : whether every arc scores the same, as at order 0: the labels then know nothing of each other
    """

    scores: FloatArray
    scores_to: FloatArray
    exps: FloatArray
    exps_to: FloatArray
    shift: float
    arcs: ArcLists | None
    even: bool

    @classmethod
    def from_scores(cls, scores: Any, *, sparse: bool | None = None) -> SharedEdges:
        """From a (K, K) table. `sparse` says whether to work on lists of arcs; None means where it is faster."""
        table = np.ascontiguousarray(scores, dtype=FLOAT)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise InputError(f"edge scores must be a table (labels, labels), not of shape {table.shape}")
        if np.isnan(table).any() or np.isposinf(table).any():
            raise InputError("edge scores must be numbers or −inf, and one is NaN or +inf")
        n_labels = len(table)
        finite = table[table > -np.inf]
        shift = float(finite.max()) if finite.size else 0.0
        width = padded_width(n_labels)
        exps = np.zeros((width, width))
        np.exp(table - shift, out=exps[:n_labels, :n_labels])
        table_to = np.ascontiguousarray(table.T)[:, None, :]
        if sparse is None:
            sparse = n_labels >= _SPARSE_LABELS and finite.size * _SPARSE_RATIO <= table.size
        arcs = ArcLists.from_tables(table, exps) if sparse else None
        even = bool((table == shift).all())
        return cls(table, table_to, exps, np.ascontiguousarray(exps.T), shift, arcs, even)

    @property
    def n_labels(self) -> int:
        return len(self.scores)

    @property
    def forbids(self) -> bool:
        """Whether some transition is impossible."""
        return bool(np.isneginf(self.scores).any())


@dataclass(frozen=True, slots=True)
class PositionEdges:
    """Edge scores of their own for every position.

    exps : (K, n, K) [to, position, from], exp(scores − shift of the position); rows of first positions are not read
    shifts : (n,), about the largest finite score of each position
    own_scores : (K, n, K), the scores; None where the exponentials are all there is, as while trees are boosted
    """

    exps: FloatArray
    shifts: FloatArray
    own_scores: FloatArray | None = None

    @classmethod
    def from_scores(cls, scores: Any) -> PositionEdges:
        table = np.ascontiguousarray(scores, dtype=FLOAT)
        if table.ndim != 3 or table.shape[0] != table.shape[2]:
            raise InputError(f"edge scores must be (to, positions, from), not of shape {table.shape}")
        shifts = table.max(axis=(0, 2), initial=-np.inf)
        if not (shifts < np.inf).all():  # false for NaN too
            row = int(np.argmin(shifts < np.inf))
            raise InputError(f"edge scores must be numbers or −inf, and one of row {row} is NaN or +inf")
        shifts[np.isneginf(shifts)] = 0.0
        return cls(np.exp(table - shifts[:, None]), shifts, table)

    @property
    def n_labels(self) -> int:
        return len(self.exps)

    @property
    def scores(self) -> FloatArray:
        """(K, n, K) [to, position, from]; made anew at each call where only exponentials are kept."""
        if self.own_scores is not None:
            return self.own_scores
        with np.errstate(divide="ignore"):
            return np.log(self.exps) + self.shifts[:, None]

    @property
    def scores_to(self) -> FloatArray:
        return self.scores

    def scores_at(self, to: AnyArray, rows: AnyArray, before: AnyArray) -> FloatArray:
        """The scores of one arc at each of some positions."""
        if self.own_scores is not None:
            return self.own_scores[to, rows, before]
        with np.errstate(divide="ignore"):
            return np.log(self.exps[to, rows, before]) + self.shifts[rows]

    def take(self, rows: IndexArray) -> PositionEdges:
        """The edges of some positions."""
        exps = np.ascontiguousarray(self.exps[:, rows])
        scores = None if self.own_scores is None else np.ascontiguousarray(self.own_scores[:, rows])
        return PositionEdges(exps, self.shifts[rows], scores)


@dataclass(frozen=True, slots=True)
class HistoryEdges:
    """Chains of higher order: one score for each arc of the histories, at every position. Build it once an evaluation,
    with `from_scores`.

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
class HistoryTables:
    """Chains of higher order over few labels: a score for every label after every history, at each position.

    table : the histories
    scores : (K, n, H) [to, position, history], contiguous; −inf is impossible. A first label has scores after ⊥ too.
    """

    table: HistoryTable
    scores: FloatArray

    def __post_init__(self) -> None:
        K, H = self.table.n_labels, self.table.n_histories
        if self.scores.ndim != 3 or self.scores.shape[::2] != (K, H):
            raise InputError(f"scores of shape {self.scores.shape} do not fit {K} labels after {H} histories")

    @property
    def n_labels(self) -> int:
        return self.table.n_labels

    def take(self, rows: Any) -> HistoryTables:
        """The edges of some positions."""
        return HistoryTables(self.table, np.ascontiguousarray(self.scores[:, rows]))


Edges = SharedEdges | PositionEdges | HistoryEdges | HistoryTables


@dataclass(frozen=True, slots=True)
class ChainPotentials:
    """The scores of a chunk. A labeling y of a sequence scores Σ_t node_t(y_t) + Σ_{t≥2} edge_t(y_{t−1}, y_t).

    With HistoryEdges it scores Σ_t node_t(y_t) + Σ_t ψ(a_t), a_t the arc that y_t takes after the labels before it:
    that of the longest history which has seen y_t. The first label takes one too, after ⊥. With HistoryTables every
    label after every history has a score of its own at each position.

    Start and end scores, forced labels and allowed sets are part of the node scores: −inf is impossible.

    node_scores : (n, K)
    offsets : int64[s+1], from 0 to n; no sequence is empty
    edges : SharedEdges, PositionEdges, HistoryEdges or HistoryTables
    sequence_base : the number in the corpus of the chunk's first sequence, for errors
    sequence_numbers : the numbers of all of them, where they do not follow each other
    """

    node_scores: FloatArray
    offsets: IndexArray
    edges: Edges
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
            empty = int(np.argmin(lengths))
            raise InputError("has no positions", sequence=self.sequence_number(empty))

    @classmethod
    def from_scores(cls, node_scores: Any, edge_scores: Any, offsets: Any = None) -> ChainPotentials:
        """From plain arrays: edge scores (K, K) [from, to], or (K, n, K) [to, position, from]."""
        nodes = np.ascontiguousarray(node_scores, dtype=FLOAT)
        shared = np.ndim(edge_scores) == 2
        edges = SharedEdges.from_scores(edge_scores) if shared else PositionEdges.from_scores(edge_scores)
        cuts = np.array([0, len(nodes)]) if offsets is None else np.asarray(offsets)
        return cls(nodes, cuts.astype(INDEX), edges)

    @classmethod
    def from_arcs(cls, node_scores: Any, arc_scores: Any, histories: Histories, offsets: Any = None) -> ChainPotentials:
        """From plain arrays: node scores (n, K), and a score for each arc of the histories, (A,)."""
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

    @property
    def tables(self) -> SharedEdges | PositionEdges:
        """The edges, where they are scores of neighbouring labels; an error where they are histories."""
        edges = self.edges
        if isinstance(edges, HistoryEdges | HistoryTables):
            order = edges.histories.order if isinstance(edges, HistoryEdges) else edges.table.order
            what = f"this needs scores of neighbouring labels, and a chain of order {order} has none"
            raise InputError(what, hint="Use ⟦order⟧ 1 or 0.")
        return edges

    @property
    def arcs(self) -> HistoryEdges:
        """The edges, where they are histories."""
        if not isinstance(self.edges, HistoryEdges):
            raise TypeError("the edges are tables, not histories")
        return self.edges

    def add_start_end(self, start_scores: FloatArray | None, end_scores: FloatArray | None) -> None:
        """Add (K,) scores to the first and to the last position of every sequence, in place."""
        if start_scores is not None:
            self.node_scores[self.offsets[:-1]] += start_scores
        if end_scores is not None:
            self.node_scores[self.offsets[1:] - 1] += end_scores

    def restrict(self, allowed: BoolArray) -> ChainPotentials:
        """The same potentials where only the labels with allowed[t, v] are possible. allowed (n, K)."""
        if allowed.shape != self.node_scores.shape:
            raise InputError(f"allowed has shape {allowed.shape}, the node scores {self.node_scores.shape}")
        return replace(self, node_scores=np.where(allowed, self.node_scores, -np.inf))

    def force(self, labels: AnyArray) -> ChainPotentials:
        """The same potentials where a position with a label in `labels` (n,) has that one; −1 leaves it free."""
        known = np.asarray(labels)[:, None]
        return self.restrict((known == UNLABELLED) | (known == np.arange(self.n_labels)))

    def take(self, sequences: IndexArray) -> tuple[ChainPotentials, IndexArray]:
        """The potentials of some sequences of the chunk, and the rows they have here."""
        lengths = np.diff(self.offsets)[sequences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
        rows = np.repeat(self.offsets[:-1][sequences] - offsets[:-1], lengths) + np.arange(offsets[-1])
        nodes = np.ascontiguousarray(self.node_scores[rows])
        edges = self.edges.take(rows) if isinstance(self.edges, PositionEdges | HistoryTables) else self.edges
        numbers = np.array([self.sequence_number(int(i)) for i in sequences], dtype=INDEX)
        return ChainPotentials(nodes, offsets, edges, sequence_numbers=numbers), rows

    def rows(self, i: int) -> slice:
        """The rows of sequence i."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def sequence(self, i: int) -> ChainPotentials:
        """Sequence i as a chunk of its own. Node scores are shared with this one."""
        rows = self.rows(i)
        edges = self.edges
        if isinstance(edges, PositionEdges | HistoryTables):
            edges = edges.take(np.arange(rows.start, rows.stop))
        offsets = np.array([0, rows.stop - rows.start], dtype=INDEX)
        return ChainPotentials(self.node_scores[rows], offsets, edges, self.sequence_number(i))

    def place(self, row: int) -> tuple[int, int]:
        """The sequence, by its number in the corpus, and the position in it of a row."""
        i = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return self.sequence_number(i), row - int(self.offsets[i])

    def sequence_number(self, i: int) -> int:
        """The number in the corpus of sequence i of the chunk."""
        if self.sequence_numbers is not None:
            return int(self.sequence_numbers[i])
        return self.sequence_base + i
