"""Scores that trees are added to: where a chain starts from, and the sums as they grow.

Two forms. Joint edges: the tree of label v scores the pairs (previous label, v), so every position has edges of its
own, and ⊥ before the first position is a score of the node. Shared edges: the tree of label v scores the position
alone, as if ⊥ stood before every one, and one table scores the pairs.

From order 2 on the previous label becomes a history: of joint edges one of all there are (`HistoryTable`), ⊥ among
them, and of shared ones an arc of those that training shows (`Histories`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.chain.edges import HistoryEdges, HistoryTables, PositionEdges, SharedEdges, tables_of
from hedgerow.chain.inference import Workspace
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.history_table import HistoryTable, legal_moves
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.parallel import plan_chunks
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.ensemble import Ensemble, add_trees, add_vector_trees, walk_trees
from hedgerow.trees.growing import Tree

LARGE = 300.0  # by so much scores may move before their exponentials are scaled anew, lest one underflow for good
STEPS = 100  # nor are exponentials multiplied more often than this: each time rounds them
FLOOR = 1e-170  # the least exponential of a legal arc after that; the largest of its position is 1

Linear = Callable[[Dataset, int, int], ChainPotentials]


Below = tuple[FloatArray, Edges]  # of a linear chain: node scores (N, K) of all sequences of a corpus, and its edges


def write_below(linear: Linear, dataset: Dataset) -> Below:
    """What a linear chain makes of a corpus, some sequences at a time."""
    made = [linear(dataset, int(a), int(b)) for a, b in pairwise(plan_chunks(dataset.offsets))]
    return np.concatenate([one.node_scores for one in made]), made[0].edges


def _read_below(below: Below, dataset: Dataset, first: int, last: int) -> ChainPotentials:
    """A `Linear` of what was written before."""
    offsets = dataset.offsets[first : last + 1]
    return ChainPotentials(below[0][offsets[0] : offsets[-1]], offsets - offsets[0], below[1])


@dataclass(frozen=True)
class Start:
    """F₀, the scores before any tree.

    space : the legal moves; what is not one scores −inf
    constant : (K+1, K) [from, to], ⊥ last
    linear : potentials of a linear chain for sequences first … last−1 of a dataset, or None
    order : of the chain; other than 1, the constant is 0 and there is no linear chain
    histories : of shared edges from order 2 on
    history_constant : of order 2 and more, (A,) weights of arcs of shared edges, or (K, H) [to, history] of joint ones;
        None where all are 0
    """

    space: StateSpace
    constant: FloatArray
    linear: Linear | None = None
    order: int = 1
    histories: Histories | None = None
    history_constant: FloatArray | None = None

    @classmethod
    def zero(cls, n_labels: int) -> Start:
        """No score for anything, and everything legal."""
        return cls(StateSpace.full(n_labels), np.zeros((n_labels + 1, n_labels)))

    def on(self, parts: Sequence[Below | None]) -> Start:
        """The same of a corpus whose sequences are those of parts, with what a linear chain made of these."""
        made = [part for part in parts if part is not None]
        if not made:
            return self
        whole = np.concatenate([nodes for nodes, _ in made]), made[0][1]
        return replace(self, linear=partial(_read_below, whole))

    @property
    def history_table(self) -> HistoryTable | None:
        """The histories of joint edges from order 2 on."""
        return HistoryTable.full(len(self.space.start), self.order) if self.order > 1 else None

    def seen_by_trees(self, data: BinnedData, *, joint: bool) -> BinnedData:
        """The bins with ⊥ where trees see it: at first positions, at all where edges are shared, and at none where ⊥ is
        one of the histories."""
        if joint and self.order == 1:
            return data
        return _with_first(data, not joint)

    def scores(self, dataset: Dataset, first: int, last: int, *, joint: bool, lean: bool = False) -> TreeScores:
        """Room for the scores of sequences first … last−1; `lean` as in TreeScores."""
        K = len(self.space.start)
        if self.order > 1:
            return self._history_scores(dataset, first, last, joint=joint)
        begin, end = int(dataset.offsets[first]), int(dataset.offsets[last])
        offsets = dataset.offsets[first : last + 1] - begin
        edges: FloatArray = np.where(self.space.transitions, self.constant[:K], -np.inf)
        below: FloatArray | None = None
        if self.linear is not None:
            potentials = self.linear(dataset, first, last)
            below, edges = potentials.node_scores.copy(), tables_of(potentials).scores_plus(edges)
        nodes = self._nodes(end - begin, self.constant[K] + self.space.start_scores, below)
        return TreeScores(first, begin, offsets, nodes, edges, joint=joint, lean=lean)

    def _nodes(self, n_positions: int, first: FloatArray, below: FloatArray | None = None) -> StartNodes:
        return StartNodes(n_positions, first, self.space.end_scores, below)

    def _history_scores(self, dataset: Dataset, first: int, last: int, *, joint: bool) -> TreeScores:
        begin, end = int(dataset.offsets[first]), int(dataset.offsets[last])
        offsets = dataset.offsets[first : last + 1] - begin
        nodes = self._nodes(end - begin, self.space.start_scores)
        constant = 0.0 if self.history_constant is None else self.history_constant
        if not joint:
            assert self.histories is not None
            arcs = np.zeros(self.histories.n_arcs) + constant
            return TreeScores(first, begin, offsets, nodes, arcs, joint=False, structure=self.histories)
        table = self.history_table
        assert table is not None
        edges = np.where(legal_moves(self.space, table), constant, -np.inf)[:, None]
        return TreeScores(first, begin, offsets, nodes, edges, joint=True, structure=table)


def all_first(data: BinnedData) -> BinnedData:
    """The same bins where ⊥ stands before every position, as trees for shared edges see it."""
    return _with_first(data, True)


def _with_first(data: BinnedData, first: bool) -> BinnedData:
    return replace(data, first=np.full_like(data.first, first), window_first=np.full_like(data.window_first, first))


class StartNodes(NamedTuple):
    """The node scores of a run of whole sequences before any tree. They are made when they are asked for: all but those
    of a linear chain would be a few numbers, written out at every position.

    first, last : (K,), what is added to the first and the last position of a sequence
    below : (n, K), those of a linear chain, or None
    """

    n_positions: int
    first: FloatArray
    last: FloatArray
    below: FloatArray | None

    def written(self, offsets: AnyArray) -> FloatArray:
        """(n, K), a new array."""
        nodes: FloatArray = np.zeros((self.n_positions, len(self.first))) if self.below is None else self.below.copy()
        nodes[offsets[:-1]] += self.first
        nodes[offsets[1:] - 1] += self.last
        return nodes


class TreeScores:
    """The scores of a run of whole sequences.

    A lean one keeps the exponentials of joint edges and not their scores: half the memory, and half the traffic of an
    iteration. It can tell apart scores of one position that differ by less than 390; beyond, the lower one is raised.

    begin, end : its flat positions in the corpus
    edge_scores : (K, n, K) [to, t, from] for joint edges, None where lean; (K, n, 1), not used, for shared ones
    edge_exps : (K, n, K), exp(scores − shift of the position), for joint edges
    start_scores : (K, n), what trees add to nodes: with ⊥ before them, or all where edges are shared; of lean ones
        those of joint edges are (K, s), of the first position of each sequence
    table : (K, K) [from, to], the scores of shared edges; None for joint ones
    messages : (2, n, K), what `keep_messages` kept of a workspace

    From order 2 on there is a `structure`. Joint edges then have edge_scores (K, n, H) [to, t, history] alone, and the
    table of shared ones is (A,), weights of arcs, which `add_back_off` makes scores of.
    """

    KEPT: ClassVar[tuple[str, ...]] = (
        "start_scores", "table", "edge_exps", "edge_scores", "_shifts", "_drift", "_steps", "_stale",
    )  # fmt: skip

    def __init__(
        self,
        first_sequence: int,
        begin: int,
        offsets: AnyArray,
        nodes: StartNodes,
        edges: FloatArray,
        *,
        joint: bool,
        lean: bool = False,
        structure: Histories | HistoryTable | None = None,
    ) -> None:
        n, K = nodes.n_positions, len(nodes.first)
        self.structure = structure
        self.first_sequence = first_sequence
        self.sequences = slice(first_sequence, first_sequence + len(offsets) - 1)
        self.begin, self.end = begin, begin + n
        self.offsets = offsets
        self._nodes = nodes
        firsts_alone = joint and lean and structure is None
        self._starts: Any = offsets[:-1] if firsts_alone else slice(None)  # the positions of start_scores
        self.start_scores: FloatArray = np.zeros((K, len(offsets) - 1 if firsts_alone else n))
        self.table: FloatArray | None = None if joint else edges
        self._shifts: FloatArray = np.zeros(n)
        self._drift, self._steps, self._stale = 0.0, 0, False
        scores: FloatArray = np.zeros((K, n, edges.shape[-1] if joint else 1))
        self.edge_exps = scores
        if isinstance(structure, HistoryTable):
            scores += edges
        elif joint:
            scores += edges.T[:, None] if edges.ndim == 2 else edges
            self.edge_exps = scores if lean else np.empty(scores.shape)
            self._stale = not lean
            if lean:
                self._exponentiate(scores)
        self.edge_scores: FloatArray | None = None if firsts_alone else scores
        self.messages: FloatArray = np.empty((2, 0, K))

    @property
    def n_labels(self) -> int:
        return len(self.start_scores)

    def potentials(self) -> ChainPotentials:
        """The chain as it stands now; its arrays are this object's own, and the next tree changes them."""
        edges: Edges
        if isinstance(self.structure, HistoryTable):
            assert self.edge_scores is not None
            edges = HistoryTables(self.structure, self.edge_scores)
        elif isinstance(self.structure, Histories):
            assert self.table is not None
            edges = HistoryEdges.from_scores(self.structure, self.structure.add_back_off(self.table))
        elif self.table is not None:
            edges = SharedEdges.from_scores(self.table)
        else:
            if self._stale:
                self.refresh()
            edges = PositionEdges(self.edge_exps, self._shifts, self.edge_scores)
        nodes = self._nodes.written(self.offsets)
        nodes[self._starts] += self.start_scores.T
        return ChainPotentials(nodes, self.offsets, edges, sequence_base=self.first_sequence)

    def keep_messages(self, work: Workspace) -> None:
        """Keep what gradients are made of: α, and β', with P_t(v) at first positions, where β' is 0."""
        if not self.messages.size:
            self.messages = np.empty((2, *work.node_probs.shape))
        (alpha, ahead), K, starts = self.messages, self.n_labels, self.offsets[:-1]
        for own in range(K) if K < 4 else (slice(K),):  # short rows take longer than a few columns
            alpha[:, own], ahead[:, own] = work.alpha[:, own], work.node_exp[:, own]
        ahead[starts] = work.node_probs[starts]

    def add(
        self, data: BinnedData, trees: Sequence[Tree], *, scale: float = 1.0, first: int = 0, stale: bool = True
    ) -> None:
        """Add trees by walking them, tree j for label first + j mod K, or all for all labels. stale : whether lean
        exponentials are scaled anew then"""
        if trees and trees[0].values.ndim == 2:
            add_vector_trees(data, data.place[self.begin : self.end], trees, self.start_scores, scale=scale)
            return
        for k in range(first, self.n_labels):
            self.add_label(data, k, trees[k - first :: self.n_labels], scale=scale, stale=stale)

    def add_ensemble(self, data: BinnedData, ensemble: Ensemble, trees: Sequence[Tree]) -> None:
        """Add all trees of an ensemble: as `add` of `trees`, which are the same, and soon done where rows are few."""
        assert self.edge_scores is not None
        places = data.place[self.begin : self.end]
        if walk_trees(data, places, ensemble, self.edge_scores, self.start_scores):
            self._stale = True
        else:
            self.add(data, trees)

    def add_label(self, data: BinnedData, k: int, trees: Sequence[Tree], *, scale: float, stale: bool = True) -> None:
        """Add trees for label k by walking them. Threads may add trees of several labels at once."""
        places, only = data.place[self.begin : self.end], slice(k, k + 1)
        if self.edge_scores is not None:
            add_trees(data, places, trees, self.edge_scores[only], self.start_scores[only], scale=scale)
            self._stale = True
            return
        moved: FloatArray = np.zeros((1, *self.edge_exps.shape[1:]))
        nodes: FloatArray = np.zeros((1, len(places)))
        nodes[:, self._starts] = self.start_scores[only]
        add_trees(data, places, trees, moved, nodes, scale=scale)
        self.start_scores[only] = nodes[:, self._starts]
        np.clip(moved, -LARGE, LARGE, out=moved)
        self.edge_exps[k] *= np.exp(moved[0], out=moved[0])
        self._stale = self._stale or stale

    def add_table(self, table: FloatArray) -> None:
        """Add (K, K) scores [from, to] to shared edges, or (A,) weights of arcs; at order 0 there are none."""
        assert self.table is not None
        if table.size:
            self.table = self.table + table

    def moved(self, largest: float) -> None:
        """Scores and exponentials have been changed by at most so much; make the latter anew now and then."""
        self._drift += largest
        self._steps += 1
        if self._drift > LARGE / 2 or self._steps >= STEPS:
            self._stale = True

    def refresh(self) -> None:
        """Make the exponentials from the sums; where there are none, scale those of each position to at most 1."""
        if isinstance(self.structure, HistoryTable):
            pass  # scores are all there is
        elif self.table is None and self.edge_scores is not None:
            self._exponentiate(self.edge_scores)
        elif self.table is None:
            top = self.edge_exps.max(axis=(0, 2), initial=0.0)
            top[top == 0.0] = 1.0
            legal = self.edge_exps > 0.0
            self.edge_exps /= top[:, None]
            np.maximum(self.edge_exps, FLOOR, out=self.edge_exps, where=legal)
            self._shifts += np.log(top)
        self._drift, self._steps, self._stale = 0.0, 0, False

    def _exponentiate(self, scores: FloatArray) -> None:
        self._shifts[:] = scores.max(axis=(0, 2), initial=-np.inf)
        self._shifts[np.isneginf(self._shifts)] = 0.0
        np.subtract(scores, self._shifts[:, None], out=self.edge_exps)
        legal = self.edge_exps > -np.inf
        np.exp(self.edge_exps, out=self.edge_exps)
        if self.edge_exps is scores:  # lean: what underflows is lost for good
            np.maximum(self.edge_exps, FLOOR, out=self.edge_exps, where=legal)
