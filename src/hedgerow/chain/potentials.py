"""What a scorer hands to inference: node scores and edge scores of a chunk of whole sequences.

Node scores are an array. Edge scores come in several forms, and each form has its own recursions: `Edges` says what a
form has to be able to do, and each form is a file of `hedgerow.chain.edges`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from hedgerow.chain.workspace import Workspace
from hedgerow.errors import InputError, NumbersError
from hedgerow.legend import INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray

# By the scores of the nodes and by those of the edges, as `Marginals` has them.
Gradients = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of the labels of a chunk, and how much each sequence counts.

    labels : (n,), −1 where not known
    allowed : bool (n, K), the labels that an unknown one may be; None where any may. Rows of known labels are not read
    weights : (s,), one per sequence; None where each is 1
    label_weights : (K,), what the position of a true label counts, in objectives that are sums over positions; None
        where each counts 1. A set counts the mean of its labels
    """

    labels: AnyArray
    allowed: BoolArray | None = None
    weights: FloatArray | None = None
    label_weights: FloatArray | None = None

    def take(self, rows: IndexArray | slice, sequences: IndexArray | slice) -> Truth:
        """That of some sequences, which have those rows."""
        allowed = None if self.allowed is None else self.allowed[rows]
        weights = None if self.weights is None else self.weights[sequences]
        return Truth(self.labels[rows], allowed, weights, self.label_weights)


@dataclass(frozen=True, slots=True)
class ChainPotentials:
    """The scores of a chunk. A labeling y of a sequence scores Σ_t node_t(y_t) + Σ_{t≥2} edge_t(y_{t−1}, y_t).

    With HistoryEdges it scores Σ_t node_t(y_t) + Σ_t ψ(a_t), a_t the arc that y_t takes after the labels before it:
    that of the longest history which has seen y_t. The first label takes one too, after ⊥. With HistoryTables every
    label after every history has a score of its own at each position.

    Start and end scores, forced labels and allowed sets are part of the node scores: −inf is impossible.

    node_scores : (n, K)
    offsets : int64[s+1], from 0 to n; no sequence is empty
    edges : one of the forms of `hedgerow.chain.edges`
    sequence_base : the number in the corpus of the chunk's first sequence, for errors
    sequence_numbers : the numbers of all of them, where they do not follow each other
    first : uint8[n+1], 1 where a sequence starts, and at the end
    """

    node_scores: FloatArray
    offsets: IndexArray
    edges: Edges
    sequence_base: int = 0
    sequence_numbers: IndexArray | None = None
    first: AnyArray = field(init=False, repr=False)

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
        first = np.zeros(shape[0] + 1, dtype=np.uint8)
        first[self.offsets] = 1
        object.__setattr__(self, "first", first)

    @property
    def n_labels(self) -> int:
        return int(self.node_scores.shape[1])

    @property
    def n_positions(self) -> int:
        return int(self.node_scores.shape[0])

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

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

    def scaled(self, factor: float) -> ChainPotentials:
        """The same potentials with every score times a factor above 0."""
        if factor == 1.0:
            return self
        return replace(self, node_scores=self.node_scores * factor, edges=self.edges.scaled(factor))

    def take(self, sequences: IndexArray) -> tuple[ChainPotentials, IndexArray]:
        """The potentials of some sequences of the chunk, and the rows they have here. Nothing is copied for all."""
        if np.array_equal(sequences, np.arange(self.n_sequences)):
            return self, np.arange(self.n_positions)
        lengths = np.diff(self.offsets)[sequences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
        rows = np.repeat(self.offsets[:-1][sequences] - offsets[:-1], lengths) + np.arange(offsets[-1])
        nodes = np.ascontiguousarray(self.node_scores[rows])
        numbers = np.array([self.sequence_number(int(i)) for i in sequences], dtype=INDEX)
        return ChainPotentials(nodes, offsets, self.edges.take(rows), sequence_numbers=numbers), rows

    def rows(self, i: int) -> slice:
        """The rows of sequence i."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def sequence(self, i: int) -> ChainPotentials:
        """Sequence i as a chunk of its own. Node scores are shared with this one."""
        rows = self.rows(i)
        edges = self.edges.take(np.arange(rows.start, rows.stop))
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

    def check_labels(self, labels: AnyArray, *, complete: bool = False) -> AnyArray:
        """The labels (n,), where there are as many as positions and each is a label, or UNLABELLED unless `complete`;
        an error elsewhere."""
        values = np.asarray(labels)
        if values.shape != (self.n_positions,):
            raise InputError(f"{self.n_positions} positions need as many labels, not shape {values.shape}")
        wrong = (values < (0 if complete else UNLABELLED)) | (values >= self.n_labels)
        if wrong.any():
            i, position = self.place(int(np.argmax(wrong)))
            what = f"label {values[wrong][0]} is not one of 0 … {self.n_labels - 1}"
            raise InputError(what if complete else f"{what}, nor −1 for unknown", sequence=i, position=position)
        return values

    def check_truth(self, truth: Truth) -> tuple[Truth, FloatArray]:
        """The truth, where its labels and weights fit, as `check_labels` and `spread_weights` have it; and the weight
        of each position, (n,): that of its sequence, times that of its label where labels have some."""
        truth, spread = replace(truth, labels=self.check_labels(truth.labels)), self.spread_weights(truth.weights)
        if truth.label_weights is not None:
            right = self.permitted(truth)
            spread = spread * (right * truth.label_weights).sum(axis=1) / right.sum(axis=1)
        return truth, spread

    def spread_weights(self, weights: FloatArray | None) -> FloatArray:
        """The weight of each position's sequence, (n,), from weights (s,); 1 without them."""
        if weights is None:
            return np.ones(self.n_positions)
        if weights.shape != (self.n_sequences,):
            raise InputError(f"{self.n_sequences} sequences need as many weights, not shape {weights.shape}")
        return np.repeat(weights, np.diff(self.offsets))

    def partly_labelled(self, labels: AnyArray) -> IndexArray:
        """The sequences with a label (n,) that is not known."""
        return np.flatnonzero(np.logical_or.reduceat(labels == UNLABELLED, self.offsets[:-1]))

    def permitted(self, truth: Truth) -> BoolArray:
        """bool (n, K): what the true labels may be: the known label, or any that is allowed."""
        known: BoolArray = np.arange(self.n_labels) == truth.labels[:, None]
        free = True if truth.allowed is None else truth.allowed
        return np.where((truth.labels == UNLABELLED)[:, None], free, known)

    def fitting(self, sequences: IndexArray, truth: Truth) -> tuple[ChainPotentials, IndexArray]:
        """Some sequences, as `take` gives them, with the labelings alone that fit the truth."""
        part, rows = self.take(sequences)
        return part.restrict(part.permitted(truth.take(rows, sequences))), rows

    def refuse_scores(self, row: int) -> NoReturn:
        """Raise the error of scores at `row` that cannot be summed."""
        i, position = self.place(row)
        raise NumbersError("the scores hold NaN or +inf, or are too large to add", sequence=i, position=position)


@dataclass(frozen=True, slots=True)
class Marginals:
    """What forward-backward gives for a chunk.

    log_partition : (s,), log Z of every sequence
    node_probs : (n, K), P_t(v)
    edges : for shared edges (K, K) [from, to], Σ_t P_t(u, v) over the chunk, each sequence times its weight;
        for per-position edges (K, n, K) [to, position, from], P_t(u, v), 0 at first positions;
        for histories (A,), Σ_t P_t(a) over the chunk, each sequence times its weight;
        for tables of histories (K, n, H) [to, position, history], P_t(h, v)
    """

    log_partition: FloatArray
    node_probs: FloatArray
    edges: FloatArray

    @property
    def edge_sums(self) -> FloatArray:
        """(K, K) [from, to], for shared edges."""
        if self.edges.ndim != 2:
            raise TypeError("per-position edges have edge_probs, not edge_sums")
        return self.edges

    @property
    def edge_probs(self) -> FloatArray:
        """(K, n, K) [to, position, from], for per-position edges."""
        if self.edges.ndim != 3:
            raise TypeError("shared edges have edge_sums, not edge_probs")
        return self.edges


class Edges(ABC):
    """A form of edge scores, with every pass over a chunk. `potentials` are always those whose edges this object is.

    per_position : whether marginals and gradients are [to, position, …]; else they are sums over the chunk
    weighed_last : whether a likelihood multiplies (P − truth) by weights, rather than P and the truth each
    """

    __slots__ = ()
    per_position: ClassVar[bool] = False
    weighed_last: ClassVar[bool] = False

    if TYPE_CHECKING:  # a field or a property; a property here would become the default of a field

        @property
        def n_labels(self) -> int:
            """K."""

    @property
    def order(self) -> int:
        """How many labels before its own a score looks at."""
        return 1

    def take(self, rows: IndexArray) -> Edges:
        """The edges of some positions."""
        return self

    @abstractmethod
    def scaled(self, factor: float) -> Edges:
        """The same edges with every score times a factor above 0."""

    def with_scores(self) -> Edges:
        """The same edges, with scores that need not be made at each call."""
        return self

    def at_positions(self, added: FloatArray) -> Edges:
        """These edges plus scores of their own at each position, (K, n, K) [to, position, from]."""
        raise self.needs_tables()

    @abstractmethod
    def gradient_shape(self, n_positions: int) -> tuple[int, ...]:
        """The shape of marginals, gradients and directions of the edges of a chunk."""

    def needs_tables(self) -> InputError:
        """The error of a function that these edges are not fit for, since it looks at pairs of labels."""
        what = f"this needs scores of neighbouring labels, and a chain of order {self.order} has none"
        return InputError(what, hint="Use ⟦order⟧ 1 or 0.")

    # Sums over all labelings

    @abstractmethod
    def log_partition(self, potentials: ChainPotentials, workspace: Workspace | None) -> FloatArray:
        """log Z of every sequence of the chunk, (s,)."""

    @abstractmethod
    def marginals(
        self, potentials: ChainPotentials, workspace: Workspace | None, weights: FloatArray | None
    ) -> Marginals:
        """log Z and marginals. `weights` (s,) enter sums over the chunk, and nothing else.

        With a workspace, node_probs lives in it and the next call overwrites it.
        """

    def node_marginals(self, potentials: ChainPotentials, workspace: Workspace | None) -> FloatArray:
        """P_t(v) alone, (n, K), as in `marginals`."""
        return self.marginals(potentials, workspace, None).node_probs

    @abstractmethod
    def messages(self, potentials: ChainPotentials, workspace: Workspace | None) -> Any:
        """Both passes over a chunk, kept for covariances: Messages, or FoldedMessages."""

    @abstractmethod
    def unfolded(self, potentials: ChainPotentials) -> Any:
        """The chunk as a chain of order 1 over histories, Unfolded; None where it is one of order 1 over labels."""

    @abstractmethod
    def sample(self, potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
        """Draw labelings, int32 (m, n), with uniforms (m, n): numbers in [0, 1)."""

    def entropy(self, potentials: ChainPotentials) -> FloatArray:
        """The entropy of the distribution over labelings, in nats, for each sequence, (s,)."""
        raise self.needs_tables()

    # Searches

    @abstractmethod
    def legal_sequences(self, potentials: ChainPotentials) -> BoolArray:
        """bool (s,): the sequences that have a legal labeling."""

    @abstractmethod
    def check_legal(self, potentials: ChainPotentials) -> None:
        """Raise an error that names the place where a sequence has no legal labeling."""

    @abstractmethod
    def best_labelings(self, potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
        """The labels (n,) of the best labeling of each sequence, and their scores (s,)."""

    @abstractmethod
    def k_best(self, potentials: ChainPotentials, k: int) -> list[tuple[CodeArray, FloatArray]]:
        """For each sequence the labels (m, T) and scores (m,) of its k best labelings, m ≤ k, best first."""

    @abstractmethod
    def beam_labelings(self, potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
        """As `best_labelings`, looking at the `width` best states of each position only."""

    # A given labeling, and its part in gradients

    @abstractmethod
    def position_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        """What each position adds to the score of a labeling, (n,). The labels (n,) of a sequence are all known, or all
        UNLABELLED, and then add 0."""

    @abstractmethod
    def subtract_labeling(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradients: Gradients
    ) -> None:
        """Take weights (n,) from the gradients at the nodes and edges of a labeling (n,), as in `position_scores`."""

    @abstractmethod
    def add_neighbours(
        self, scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> None:
        """Add to scores (n, K) what edges score with each label where all others are `labels` (n,), up to a term that a
        position's labels share. values : in place of the scores, shaped as gradients"""

    @abstractmethod
    def neighbour_gradient(self, potentials: ChainPotentials, labels: AnyArray, excess: FloatArray) -> FloatArray:
        """The gradient of the edges of derivatives (n, K) by what `add_neighbours` adds."""

    def true_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        """What labels (n,), as in `position_scores`, score in each sequence, (s,); impossible ones are an error."""
        scores = self.position_scores(potentials, labels)
        if np.isneginf(scores).any():
            self.refuse_labels(potentials, labels, scores)
        return np.add.reduceat(scores, potentials.offsets[:-1])

    def refuse_labels(self, potentials: ChainPotentials, labels: AnyArray, scores: FloatArray) -> NoReturn:
        """Raise the error of true labels that are impossible: one of their `position_scores` is −inf."""
        row = int(np.argmin(scores))
        i, position = potentials.place(row)
        forbidden = not np.isneginf(potentials.node_scores[row, labels[row]])
        what, hint = self.why_impossible(labels, row, forbidden)
        raise InputError(what, hint=hint, sequence=i, position=position)

    def why_impossible(self, labels: AnyArray, row: int, forbidden: bool) -> tuple[str, str]:
        """What is wrong with the true label of a row, and a hint. `forbidden`: the edges forbid it, not the nodes."""
        hint = "Allow it, or leave the label of this position unknown"
        return f"the true label {labels[row]} is not allowed here", hint

    def weigh(self, edge_values: FloatArray, weights: FloatArray) -> None:
        """Multiply marginals by weights (n,), in place; sums over the chunk have theirs already."""
        if self.per_position:
            edge_values *= weights[:, None]

    def rows_of(self, edge_values: FloatArray, rows: IndexArray | slice) -> FloatArray:
        """What of some marginals, gradient or direction belongs to some rows; sums over the chunk as they are."""
        return np.ascontiguousarray(edge_values[:, rows]) if self.per_position else edge_values

    def subtract_part(self, edge_values: FloatArray, part: FloatArray, rows: IndexArray) -> None:
        """Take the values of some rows, as `rows_of` gives them, from those of all, in place."""
        if self.per_position and len(rows) < edge_values.shape[1]:
            edge_values[:, rows] -= part
        else:
            edge_values -= part
