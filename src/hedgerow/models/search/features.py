"""What a BeamSearchTagger looks at, where its weights stand, and how kernels are called with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.labels import allowed_labels
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear.batches import RowReader
from hedgerow.linear.index import Streams, WeightIndex, index_weights, row_names
from hedgerow.models.crf.linear_layout import observed_labels
from hedgerow.models.local.previous_labels import label_histories
from hedgerow.models.search import kernels

if TYPE_CHECKING:
    from hedgerow.models.search.parameters import SearchParameters

MAX_WEIGHTS = 2**31 - 1  # rows are counted in int32
MAX_COUNTS = 255
BLOCK_SCORES = 10_000_000  # of labels of labelings, in one call of a kernel: less than 0.2 s


@dataclass(frozen=True)
class SearchLayout:
    """One vector of weights: input features, then rows of K weights for what a labeling looks back at.

    nodes : the weights of input features
    child : int32[M+1, K+1], the tree of runs of labels that have weights, the newest label first; node 0 is no label,
        column K is before the first label, and −1 a run without weights
    order : how many labels back a labeling looks
    label_counts : how often each label came before is told apart up to this number
    space : the legal moves
    backward : whether sequences are labelled from right to left
    """

    nodes: WeightIndex
    child: CodeArray
    order: int
    label_counts: int
    space: StateSpace
    backward: bool

    @property
    def n_labels(self) -> int:
        return self.nodes.n_outputs

    @property
    def n_rows(self) -> int:
        """How many rows of K weights there are: of runs, of single labels, and of counts."""
        K = self.n_labels
        return len(self.child) - 1 + max(self.order - 1, 0) * (K + 1) + K * self.label_counts

    @property
    def n_weights(self) -> int:
        return self.nodes.n_weights + self.n_rows * self.n_labels

    def names(self, schema: Schema) -> list[str]:
        """What each row of K weights stands for."""
        K, labels = self.n_labels, [*map(str, schema.labels), "⊥"]
        where = "before" if self.backward else "after"
        runs = [f"{where} {' '.join(labels[u] for u in run)}" for run in self.runs()]
        sign = "+" if self.backward else "-"
        single = [f"label[{sign}{i}] {labels[u]}" for i in range(2, self.order + 1) for u in range(K + 1)]
        counts = [f"seen {labels[u]} {c + 1}×" for u in range(K) for c in range(self.label_counts)]
        return [*runs, *single, *counts]

    def runs(self) -> list[tuple[int, ...]]:
        """The runs of labels that have weights, in the order of a sequence; K is beyond its end."""
        runs: list[tuple[int, ...]] = [()] * len(self.child)
        for m, row in enumerate(self.child):  # a node comes after its parent
            for u in np.flatnonzero(row >= 0):
                run = runs[m]
                runs[row[u]] = (*run, int(u)) if self.backward else (int(u), *run)
        return runs[1:]


def lay_out_search(settings: SearchParameters, dataset: Dataset, space: StateSpace) -> SearchLayout:
    """The weights that a training corpus asks for: every label one place back, and longer runs that it shows."""
    K, order, backward = dataset.n_labels, int(settings.order), settings.direction == "right_to_left"
    limits: dict[str, Any] = {"min_frequency": settings.min_frequency, "all_pairs": settings.pairs == "all"}
    nodes, _ = index_weights(dataset, Streams.of(dataset.schema), *observed_labels(dataset), K, **limits)
    assert dataset.labels is not None
    histories = label_histories(dataset.labels, dataset.offsets, K, order, backward=backward)
    layout = SearchLayout(nodes, _run_tree(histories, K), order, int(settings.label_counts), space, backward)
    if layout.n_weights > MAX_WEIGHTS:
        hint = "Give a lower ⟦order⟧ or ⟦label_counts⟧, or a higher ⟦min_frequency⟧."
        raise InputError(f"{layout.n_weights:,} weights are too many", hint=hint)
    return layout


def _run_tree(histories: CodeArray, n_labels: int) -> CodeArray:
    """`child` of a SearchLayout: of the histories (N, n) that a corpus has, the newest label first."""
    order = histories.shape[1]
    rows = [np.full(n_labels + 1, -1, dtype=CODE)]
    if order:
        rows[0][:] = np.arange(1, n_labels + 2)
        rows += [np.full(n_labels + 1, -1, dtype=CODE) for _ in range(n_labels + 1)]
    node = histories[:, 0] + 1 if order else np.zeros(0, CODE)
    known = histories[:, 0] != UNLABELLED if order else np.zeros(0, bool)
    for d in range(1, order):
        known &= (histories[:, d] != UNLABELLED) & (histories[:, d - 1] != n_labels)
        keys = node[known].astype(INDEX) * (n_labels + 1) + histories[known, d]
        unique, place = np.unique(keys, return_inverse=True)
        first = len(rows)
        for key in unique.tolist():
            rows[key // (n_labels + 1)][key % (n_labels + 1)] = len(rows)
            rows.append(np.full(n_labels + 1, -1, dtype=CODE))
        node = node.copy()
        node[known] = first + place
    return np.array(rows, dtype=CODE)


def legal_moves(space: StateSpace, *, backward: bool) -> AnyArray:
    """uint8 (K, K): which label may come after which, in the order of the search."""
    legal = space.transitions.T if backward else space.transitions
    return np.ascontiguousarray(legal, dtype=np.uint8)


def open_labels(space: StateSpace, dataset: Dataset, allowed: BoolArray | None, *, backward: bool) -> AnyArray:
    """uint8 (N, K): the labels that can go on to a legal end; an error where a sequence has no labeling.

    allowed : bool (N, K), the labels that are possible at all, or None
    """
    offsets, lengths = dataset.offsets, np.diff(dataset.offsets)
    shape = dataset.n_positions, len(space.start)
    open_: BoolArray = np.ones(shape, dtype=bool) if allowed is None else allowed.copy()
    open_[offsets[:-1][lengths > 0]] &= space.start
    open_[offsets[1:][lengths > 0] - 1] &= space.end
    mask = open_.astype(np.uint8)
    if allowed is None and space.transitions.all() and space.start.all() and space.end.all():
        return mask
    sign = -1 if backward else 1
    stuck = kernels.learning.close(offsets[:-1], lengths, sign, legal_moves(space, backward=backward), mask)
    if stuck >= 0:
        what = "no labeling is possible with these constraints and known labels"
        raise InputError(what, hint="Allow more labels or transitions.", sequence=int(stuck))
    return mask


def blocks(sequences: IndexArray, lengths: IndexArray, n_scores: int) -> list[IndexArray]:
    """Sequences in pieces that one call of a kernel is for. n_scores: what is added up at a position"""
    ends = np.cumsum(lengths[sequences]) * n_scores // BLOCK_SCORES
    return np.split(sequences, np.flatnonzero(np.diff(ends)) + 1)


class Searcher:
    """Runs the kernels on sequences of one corpus. One a thread."""

    def __init__(self, layout: SearchLayout, dataset: Dataset, width: int) -> None:
        K, n, b = layout.n_labels, layout.order, width
        self.layout, self.dataset, self.width = layout, dataset, width
        self.reader = RowReader(dataset, layout.nodes)
        longest = max(1, int(self.reader.lengths.max(initial=0)))
        slots = b + 1 if layout.label_counts else 0
        self.path: CodeArray = np.empty(longest, CODE)
        self.moves = legal_moves(layout.space, backward=layout.backward)
        self._scratch: tuple[AnyArray, ...] = (
            np.empty((longest, b + 1), CODE), np.empty((longest, b + 1), CODE), np.empty((longest, b + 1)),
            np.zeros((2, slots, K)), np.zeros((2, slots, K), CODE),
            np.empty(n, CODE), np.empty(2 * n, CODE), np.empty(K), np.empty(K), self.path,
        )  # fmt: skip
        self._tally: CodeArray = np.empty(K, CODE)
        self._truth: CodeArray = np.empty(longest, CODE)

    def _arguments(self, sequences: IndexArray, open_: AnyArray, weights: FloatArray) -> tuple[Any, ...]:
        """What both kernels take: sequences whose listed positions stand one after the other."""
        layout, nodes, reader = self.layout, self.layout.nodes, self.reader
        reader.read(sequences)
        length = reader.lengths[sequences]
        begin = np.cumsum(length) - length
        return (
            begin, length, -1 if layout.backward else 1, reader.ptr, reader.row, reader.value,
            nodes.row_ptr, nodes.slot_label, layout.child, nodes.n_weights, layout.order, layout.label_counts,
            self.moves, open_, self.width, weights, *self._scratch,
        )  # fmt: skip

    def _positions(self, sequences: IndexArray) -> IndexArray:
        """The flat positions of sequences, one after the other."""
        length = self.reader.lengths[sequences]
        begin = np.cumsum(length) - length
        return np.repeat(self.dataset.offsets[sequences] - begin, length) + np.arange(int(length.sum()))

    def blocks(self, sequences: IndexArray) -> list[IndexArray]:
        """Sequences in pieces for `search` and `learn`, short enough for Ctrl-C."""
        return blocks(sequences, self.reader.lengths, self.layout.n_labels * self.width * (self.layout.order + 2))

    def search_all(self, open_: AnyArray, weights: FloatArray) -> CodeArray:
        """int32 (N,): the labels of the whole corpus."""
        pieces = self.blocks(np.arange(self.dataset.n_sequences))
        return np.concatenate([self.search(block, open_, weights) for block in pieces])

    def search(self, sequences: IndexArray, open_: AnyArray, weights: FloatArray) -> CodeArray:
        """The labels of sequences, one after the other. open_ uint8 (N, K), of all positions of the corpus."""
        where = self._positions(sequences)
        labels: CodeArray = np.empty(len(where), CODE)
        kernels.learning.search(*self._arguments(sequences, open_[where], weights), labels)
        return labels

    def learn(
        self,
        sequences: IndexArray,
        open_: AnyArray,
        good: AnyArray,
        partial: AnyArray,
        update: int,
        weights: FloatArray,
        total: FloatArray,
        age: int,
        label_weights: FloatArray | None = None,
    ) -> tuple[float, int]:
        """Learn from sequences in this order; the loss, and the number of updates.

        good uint8 (N, K), or empty where all labels are known; label_weights (K,), or None for 1; other arrays as
        kernels.learning.learn has them
        """
        data, where = self.dataset, self._positions(sequences)
        assert data.labels is not None
        label_weights = np.ones(data.n_labels) if label_weights is None else label_weights
        weight = np.ones(len(sequences)) if data.weight_seq is None else data.weight_seq[sequences]
        arguments = (
            *self._arguments(sequences, open_[where], weights),
            data.labels[where], good[where] if len(good) else good, partial[sequences], weight, update,
            label_weights, total, age, self._tally, self._truth,
        )  # fmt: skip
        result: tuple[float, int] = kernels.learning.learn(*arguments)
        return result


def good_labels(layout: SearchLayout, dataset: Dataset) -> tuple[AnyArray, AnyArray]:
    """For `learn`: the right labels, uint8 (N, K) or empty, and which sequences have more than one, uint8 (S,)."""
    assert dataset.labels is not None
    unknown = dataset.labels == UNLABELLED
    partial: AnyArray = np.zeros(dataset.n_sequences, dtype=np.uint8)
    if not unknown.any():
        return np.empty((0, layout.n_labels), np.uint8), partial
    sequences = np.searchsorted(dataset.offsets, np.flatnonzero(unknown), side="right") - 1
    partial[sequences] = 1
    mask = allowed_labels(dataset, slice(0, dataset.n_positions))
    return open_labels(layout.space, dataset, mask, backward=layout.backward), partial


def row_weights(schema: Schema, layout: SearchLayout, weights: FloatArray) -> list[tuple[str, Any, float]]:
    """(what is seen, label, weight) of all weights, the largest first."""
    nodes, K = layout.nodes, layout.n_labels
    inputs = row_names(schema)
    entries = [(inputs[r], int(k)) for r, k in zip(nodes.slot_rows(), nodes.slot_label)]
    entries += [(name, k) for name in layout.names(schema) for k in range(K)]
    order = np.argsort(-weights, kind="stable")
    return [(entries[j][0], schema.labels[entries[j][1]], float(weights[j])) for j in order]
