"""Chains of higher order: one score for each arc of the histories, at every position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.higher_order import HigherOrderEdges
from hedgerow.chain.edges.history_rows import pieces
from hedgerow.chain.edges.history_search import HistoryBeam, HistorySearch
from hedgerow.chain.edges.history_sums import HistorySums
from hedgerow.chain.edges.shared import SharedEdges
from hedgerow.chain.edges.unfolding import Moves, Unfolded
from hedgerow.chain.potentials import ChainPotentials, Marginals
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.workspace import Workspace
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FLOAT, INDEX, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray

MAX_UNFOLDED = 5_000  # histories between which a table of moves is made: 200 MB


@dataclass(frozen=True, slots=True)
class HistoryEdges(HigherOrderEdges):
    """A score for each arc of the histories. Build it once for each evaluation, with `from_scores`.

    scores : (A,); −inf is impossible
    exps : (A,), exp(scores − shift)
    shift : the largest finite score
    between : the moves between histories and their edges, where a chunk was unfolded already
    """

    histories: Histories
    scores: FloatArray
    exps: FloatArray
    shift: float
    between: list[tuple[Moves, SharedEdges]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def from_scores(cls, histories: Histories, scores: Any) -> Self:
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

    @property
    def order(self) -> int:
        return self.histories.order

    def scaled(self, factor: float) -> Self:
        return self.from_scores(self.histories, self.scores * factor)

    def gradient_shape(self, n_positions: int) -> tuple[int, ...]:
        return (self.histories.n_arcs,)

    def unfolded(self, potentials: ChainPotentials) -> UnfoldedHistories:
        if not self.between:
            moves = moves_between(self.histories)
            table: FloatArray = np.full((len(moves.last),) * 2, -np.inf)
            table[moves.source, moves.target] = self.scores[moves.cell]
            self.between.append((moves, SharedEdges.from_scores(table)))
        return UnfoldedHistories(potentials, self.between[0][0])

    def entropy(self, potentials: ChainPotentials) -> FloatArray:
        chain = self.unfolded(potentials).chain
        return chain.edges.entropy(chain)

    def log_partition(self, potentials: ChainPotentials, workspace: Workspace | None) -> FloatArray:
        return HistorySums(self, potentials, workspace).log_partition(np.empty(0), np.empty(0))

    def marginals(
        self, potentials: ChainPotentials, workspace: Workspace | None, weights: FloatArray | None
    ) -> Marginals:
        """In time that grows with the number of arcs and of histories."""
        chunk = HistorySums(self, potentials, workspace)
        arc_sums: FloatArray = np.zeros(self.histories.n_arcs)
        given = np.ones(potentials.n_sequences) if weights is None else np.asarray(weights, dtype=np.float64)
        return Marginals(chunk.log_partition(given, arc_sums), chunk.work.node_probs, arc_sums)

    def sample(self, potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
        chunk = HistorySums(self, potentials, None)
        labels = np.empty(uniforms.shape, dtype=CODE)
        for i in range(potentials.n_sequences):
            chunk.sequence(i).sample(uniforms, labels)
        return labels

    def legal_sequences(self, potentials: ChainPotentials) -> BoolArray:
        ends = [self._dead_end(potentials, i) for i in range(potentials.n_sequences)]
        return np.array([end is None for end in ends], dtype=bool)

    def check_legal(self, potentials: ChainPotentials) -> None:
        for i in range(potentials.n_sequences):
            self.refuse_illegal(potentials, i)

    def refuse_illegal(self, potentials: ChainPotentials, i: int) -> None:
        """Raise the error of sequence i where it has no legal labeling; return where it has one."""
        position = self._dead_end(potentials, i)
        if position is not None:
            raise InputError(
                "no legal labeling exists: no label that is possible here follows the labels that are possible before",
                hint="Allow more transitions, let unseen labels back off, or allow more labels at this position",
                sequence=potentials.sequence_number(i),
                position=position,
            )

    def _dead_end(self, potentials: ChainPotentials, i: int) -> int | None:
        """The first position of sequence i that no legal labeling reaches; None where there is a legal labeling."""
        h, rows = self.histories, potentials.rows(i)
        reached, subtree = np.zeros((2, h.n_states), dtype=INDEX)
        flows = np.empty(h.n_arcs, dtype=INDEX)
        reached[h.start] = 1
        model = potentials.node_scores, self.scores
        for t0, t1 in pieces(h.size, rows.start, rows.stop):
            t = kernels.history_arcs.reach(*model, h.walk, reached, subtree, flows, t0, t1)
            if t < t1:
                return int(t - rows.start)
        return None

    def check_scores(self, potentials: ChainPotentials) -> None:
        """Raise an error where node scores are NaN or +inf."""
        if potentials.n_positions and not potentials.node_scores.max() < np.inf:
            unusable = ~(potentials.node_scores < np.inf)
            i, position = potentials.place(int(np.argmax(unusable.any(axis=1))))
            raise InputError("the scores hold NaN or +inf", sequence=i, position=position)

    def best_labelings(self, potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
        """Of equal labelings, the one that goes to a label its history has seen, then to the lowest label, from the
        first position on."""
        return HistorySearch(self, potentials, 1).best()

    def k_best(self, potentials: ChainPotentials, k: int) -> list[tuple[CodeArray, FloatArray]]:
        search = HistorySearch(self, potentials, k)
        return [search.sequence(i) for i in range(potentials.n_sequences)]

    def beam_labelings(self, potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
        return HistoryBeam(self, potentials, width).best()

    def arcs_of(self, potentials: ChainPotentials, labels: AnyArray) -> IndexArray:
        """The arc that each label of a labeling takes, (n,); −1 where no arc is left for it. labels (n,), all known."""
        h = self.histories
        arcs = np.empty(potentials.n_positions, dtype=INDEX)
        kernels.history_arcs.follow(np.array(labels, dtype=CODE), potentials.first, h.walk, arcs)
        return arcs

    def values_along(
        self, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> FloatArray:
        own, lost = (self.scores, -np.inf) if values is None else (values, 0.0)
        arcs = self.arcs_of(potentials, labels)
        return np.where(arcs >= 0, own[arcs], lost)

    def add_along(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradient: FloatArray
    ) -> None:
        arcs = self.arcs_of(potentials, np.where(labels >= 0, labels, 0))
        there = (labels >= 0) & (arcs >= 0)
        gradient += np.bincount(arcs[there], weights=weights[there], minlength=len(gradient))

    def why_impossible(self, labels: AnyArray, row: int, forbidden: bool) -> tuple[str, str]:
        what = f"the true label {labels[row]} is not allowed here"
        if forbidden:
            what = f"the true label {labels[row]} does not follow the labels before it in any history"
        return what, "Allow it, let unseen labels back off, or leave the label of this position unknown"


class UnfoldedHistories(Unfolded):
    """Arcs of histories that back off, each as a move of every history that takes it."""

    @property
    def scores(self) -> FloatArray:
        return self._edges.scores

    @property
    def _edges(self) -> HistoryEdges:
        edges = self.potentials.edges
        assert isinstance(edges, HistoryEdges)
        return edges

    def make_edges(self) -> SharedEdges:
        return self._edges.between[0][1]

    def start_values(self, values: FloatArray) -> FloatArray:
        return values[self.moves.start_cells][None]

    def spread_edges(self, values: FloatArray) -> FloatArray:
        moves, table = self.moves, np.zeros((len(self.moves.last),) * 2)
        table[moves.source, moves.target] = values[moves.cell]
        return table

    def fold_edges(self, nodes: FloatArray, edges: FloatArray) -> FloatArray:
        moves, n = self.moves, len(self.scores)
        begins = nodes[np.ix_(self.firsts, moves.start)].sum(axis=0)
        folded: FloatArray = np.zeros(n)
        folded += np.bincount(moves.cell, weights=edges[moves.source, moves.target], minlength=n)
        folded += np.bincount(moves.start_cells, weights=begins, minlength=n)
        return folded


def moves_between(h: Histories) -> Moves:
    """The moves of all histories: a label that one has no arc for takes that of its back-off."""
    if h.labels.shape[1] == 0:
        raise InputError("a chain of order 0 has no histories to unfold", hint="Use potentials of order 0 or 1.")
    if h.n_states > MAX_UNFOLDED:
        what = f"{h.n_states:,} histories of ⟦order={h.order}⟧ are too many for this objective or trainer"
        hint = "Use 'log_likelihood' with 'lbfgs', a lower ⟦order⟧, or ⟦transitions='observed'⟧ with ⟦min_frequency⟧."
        raise InputError(what, hint=hint)
    arcs: IndexArray = np.full((h.n_states, h.n_labels), -1, dtype=INDEX)
    lengths = h.lengths
    for length in range(int(lengths.max()) + 1):
        states, own = np.flatnonzero(lengths == length), np.flatnonzero(lengths[h.arc_state] == length)
        backs = states[h.back_off[states] >= 0]
        arcs[backs] = arcs[h.back_off[backs]]
        arcs[h.arc_state[own], h.arc_label[own]] = own
    source, label = np.nonzero(arcs >= 0)
    cell, starts = arcs[source, label], np.flatnonzero(arcs[h.start] >= 0)
    start_cells = arcs[h.start, starts]
    return Moves(
        n_labels=h.n_labels,
        last=h.labels[:, -1],
        source=source,
        target=h.arc_next[cell].astype(INDEX),
        label=label,
        cell=cell,
        start=h.arc_next[start_cells].astype(INDEX),
        start_labels=starts,
        start_cells=start_cells,
    )
