"""Chains of higher order: one score for each arc of the histories, at every position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.history_rows import pieces
from hedgerow.chain.edges.history_search import HistoryBeam, HistorySearch
from hedgerow.chain.edges.history_sums import HistorySums
from hedgerow.chain.potentials import ChainPotentials, Edges, Gradients, Marginals
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.workspace import Workspace
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FLOAT, INDEX, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class HistoryEdges(Edges):
    """A score for each arc of the histories. Build it once for each evaluation, with `from_scores`.

    scores : (A,); −inf is impossible
    exps : (A,), exp(scores − shift)
    shift : the largest finite score
    """

    histories: Histories
    scores: FloatArray
    exps: FloatArray
    shift: float

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
        labels = np.empty(potentials.n_positions, dtype=CODE)
        scores: FloatArray = np.empty(potentials.n_sequences)
        HistorySearch(self, potentials, 1).best(labels, scores)
        return labels, scores

    def k_best(self, potentials: ChainPotentials, k: int) -> list[tuple[CodeArray, FloatArray]]:
        search = HistorySearch(self, potentials, k)
        return [search.sequence(i) for i in range(potentials.n_sequences)]

    def beam_labelings(self, potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
        labels = np.empty(potentials.n_positions, dtype=CODE)
        scores: FloatArray = np.empty(potentials.n_sequences)
        HistoryBeam(self, potentials, width).best(labels, scores)
        return labels, scores

    def arcs_of(self, potentials: ChainPotentials, labels: AnyArray) -> IndexArray:
        """The arc that each label of a labeling takes, (n,); −1 where no arc is left for it. labels (n,), all known."""
        h = self.histories
        arcs = np.empty(potentials.n_positions, dtype=INDEX)
        kernels.history_arcs.follow(np.array(labels, dtype=CODE), potentials.first, h.walk, arcs)
        return arcs

    def position_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        known = labels >= 0
        arcs = self.arcs_of(potentials, np.where(known, labels, 0))
        nodes = potentials.node_scores[np.arange(len(arcs)), labels]
        return np.where(known, nodes + np.where(arcs >= 0, self.scores[arcs], -np.inf), 0.0)

    def subtract_labeling(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradients: Gradients
    ) -> None:
        node_gradient, edge_gradient = gradients
        rows = np.flatnonzero(labels >= 0)
        arcs = self.arcs_of(potentials, np.where(labels >= 0, labels, 0))[rows]
        node_gradient[rows, labels[rows]] -= weights[rows]
        edge_gradient -= np.bincount(arcs, weights=weights[rows], minlength=len(edge_gradient))

    def why_impossible(self, labels: AnyArray, row: int, forbidden: bool) -> tuple[str, str]:
        what = f"the true label {labels[row]} is not allowed here"
        if forbidden:
            what = f"the true label {labels[row]} does not follow the labels before it in any history"
        return what, "Allow it, let unseen labels back off, or leave the label of this position unknown"
