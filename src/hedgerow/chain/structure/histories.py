"""Histories: the states of a chain of order n, what was seen to follow each, and the shorter one it backs off to.

A history is what the next label may look at: the last n labels, or fewer. At the start of a sequence it reaches as far
as ⊥, which stands before the first label and counts as one of the n. Histories that occur in training are states; a
label seen after one is an arc of it. A label that was not seen after a history backs off: it is scored by the next
shorter history, without the oldest label, and at last by the empty one, which has an arc for every label. So every
labeling stays possible.

    order 2, the sequence a b a:    ⊥ →a   (⊥ a) →b   (a b) →a,   and for those who back off   a →b   b →a   () →a,b

What occurs after a history occurs after each shorter one too. So an arc of a history has an arc of the same label at
its back-off, and no history lies between: sums and searches use both facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.chain.kernels.history_arcs import HistoryArcs

START = -1  # ⊥ in a tuple of labels
NOTHING = -2  # fills the tuples of shorter histories, on the left
MAX_ORDER = 16

Unseen = Literal["back_off", "forbidden"]


@dataclass(frozen=True, slots=True)
class Histories:
    """Histories as flat arrays: S states and A arcs.

    States are sorted by length and then by their labels from the newest to the oldest, so a history comes after the
    one it backs off to, and those that back off to the same one follow each other. Arcs are sorted by state and label.

    n_labels : K
    order : n, the longest history
    start : the state before the first label
    labels : int32 (S, width), the tuples, oldest label first; −1 is ⊥, −2 fills up shorter ones
    back_off : int32 (S,), the next shorter history; −1 where there is none
    children : int32 (S+1,), the states children[s] … children[s+1]−1 back off to s
    arc_ptr : int32 (S+1,), state s has the arcs arc_ptr[s] … arc_ptr[s+1]−1
    arc_state, arc_label, arc_next : int32 (A,), the state an arc belongs to, its label, and the state it leads to
    arc_back_off : int32 (A,), the arc of the same label at the next shorter history; −1 where there is none
    legal : bool (A,), False for an arc that is there to forbid a label, and not to score it
    """

    n_labels: int
    order: int
    start: int
    labels: CodeArray
    back_off: CodeArray
    children: CodeArray
    arc_ptr: CodeArray
    arc_state: CodeArray
    arc_label: CodeArray
    arc_next: CodeArray
    arc_back_off: CodeArray
    legal: BoolArray

    @classmethod
    def linked(
        cls,
        n_labels: int,
        order: int,
        start: int,
        labels: AnyArray,
        back_off: AnyArray,
        arc_state: AnyArray,
        arc_label: AnyArray,
        arc_next: AnyArray,
        legal: AnyArray,
    ) -> Histories:
        """From what says all, as a model file would keep it. Kernels follow these numbers without looking, so that
        arrays which do not fit together are an error."""
        S = len(back_off)
        keys = np.asarray(arc_state, dtype=INDEX) * n_labels + arc_label
        in_range = _within(arc_state, 0, S) and _within(arc_label, 0, n_labels) and _within(arc_next, 0, S)
        falls = _within(back_off, -1, S) and bool((back_off < np.arange(S)).all())
        sorted_ = bool((np.diff(keys) > 0).all() and (np.diff(back_off) >= 0).all())
        fits = len(labels) == S and len(arc_label) == len(arc_next) == len(legal) == len(keys)
        if not (in_range and falls and sorted_ and fits and 0 <= start < S):
            raise InputError("the arrays of the histories do not fit together")
        below = np.asarray(back_off, dtype=INDEX)[arc_state]
        arc_back_off = _find(keys, np.where(below >= 0, below * n_labels + arc_label, -1))
        if not ((arc_back_off >= 0) == (below >= 0)).all():
            raise InputError("an arc of the histories has none to back off to")
        arrays = (
            np.asarray(labels).astype(CODE),
            back_off.astype(CODE),
            np.searchsorted(back_off, np.arange(S + 1)).astype(CODE),
            np.searchsorted(arc_state, np.arange(S + 1)).astype(CODE),
            arc_state.astype(CODE),
            arc_label.astype(CODE),
            arc_next.astype(CODE),
            arc_back_off.astype(CODE),
            legal.astype(bool),
        )
        for array in arrays:
            array.setflags(write=False)
        return cls(n_labels, order, start, *arrays)

    @classmethod
    def observed(
        cls,
        labels: AnyArray,
        offsets: AnyArray,
        n_labels: int,
        order: int,
        *,
        unseen: Unseen = "back_off",
        space: StateSpace | None = None,
        min_count: int = 1,
    ) -> Histories:
        """The histories of labelled sequences: labels (N,), −1 where unknown, and offsets (S+1,).

        An unknown label hides itself and every history that reaches over it; what is on either side counts.

        unseen : "back_off", or "forbidden", where only the labels seen after a history of full length may follow it
        space : transitions that it forbids are forbidden after every history. Which labels may start or end a sequence
            is a matter of node scores.
        min_count : arcs seen less often are left out, and the histories that have no other. Not with "forbidden".
        """
        corpus = _Corpus(labels, offsets, n_labels)
        if not 0 <= order <= MAX_ORDER:
            raise InputError(f"⟦order⟧ is {order}", hint=f"It is a whole number from 0 to {MAX_ORDER}.")
        if space is not None and space.n_labels != n_labels:
            raise InputError(f"a space of {space.n_labels} labels does not fit {n_labels} labels")
        forbidden = np.zeros((n_labels, n_labels), dtype=bool) if space is None else ~space.transitions
        if unseen == "forbidden":
            if min_count > 1:
                hint = "Let unseen labels back off, or keep every arc (min_count=1)."
                raise InputError(f"min_count={min_count} would forbid what training shows", hint=hint)
            return _seen_only(corpus, order, forbidden)
        if unseen != "back_off":
            raise InputError(f"unseen is {unseen!r}", hint="It is 'back_off' or 'forbidden'.")
        return _backing_off(corpus, order, forbidden, min_count)

    @property
    def n_states(self) -> int:
        return len(self.back_off)

    @property
    def n_arcs(self) -> int:
        return len(self.arc_label)

    @property
    def size(self) -> int:
        """What a pass over all states and arcs looks at."""
        return self.n_states + self.n_arcs

    @property
    def walk(self) -> HistoryArcs:
        """The arrays that kernels walk over."""
        return kernels.history_arcs.HistoryArcs(
            self.start, self.back_off, self.children, self.arc_ptr, self.arc_state, self.arc_label, self.arc_next,
            self.arc_back_off,
        )  # fmt: skip

    @property
    def lengths(self) -> IndexArray:
        """(S,), how many labels each history has, ⊥ included."""
        lengths: IndexArray = (self.labels != NOTHING).sum(axis=1)
        return lengths

    def add_back_off(self, arc_weights: FloatArray) -> FloatArray:
        """(A,), each weight plus those of the arcs it backs off to: ψ(s, k) = w(s, k) + ψ(b(s), k).

        With scores made this way a chain is the CRF that has a feature for every seen run of up to n+1 labels: the
        weight of a run that was not seen is 0, and its score that of the shorter runs inside it.
        """
        scores: FloatArray = np.array(arc_weights, dtype=np.float64)
        for arcs in self._arcs_by_length():
            scores[arcs] += scores[self.arc_back_off[arcs]]
        return scores

    def pull_back_off(self, arc_gradient: FloatArray) -> FloatArray:
        """(A,), the gradient of the weights of `add_back_off` from that of its scores."""
        pulled: FloatArray = np.array(arc_gradient, dtype=np.float64)
        for arcs in reversed(self._arcs_by_length()):
            pulled += np.bincount(self.arc_back_off[arcs], weights=pulled[arcs], minlength=self.n_arcs)
        return pulled

    def _arcs_by_length(self) -> list[IndexArray]:
        """The arcs that have a back-off, those of shorter histories first."""
        of_arc = np.where(self.arc_back_off >= 0, self.lengths[self.arc_state], 0)
        return [np.flatnonzero(of_arc == length) for length in range(1, int(of_arc.max(initial=0)) + 1)]


def _within(values: AnyArray, low: int, high: int) -> bool:
    """Whether all values are low … high−1."""
    return bool(((values >= low) & (values < high)).all())


def _find(keys: IndexArray, wanted: IndexArray) -> IndexArray:
    """The place of each wanted key among rising keys, −1 where it is not there."""
    places = np.searchsorted(keys, wanted)
    there = places < len(keys)
    there[there] = keys[places[there]] == wanted[there]
    return np.where(there, places, -1)


class _Corpus:
    """Labelled sequences, and what stands before each position."""

    def __init__(self, labels: AnyArray, offsets: AnyArray, n_labels: int) -> None:
        self.labels: IndexArray = np.asarray(labels).astype(INDEX)
        self.offsets: IndexArray = np.asarray(offsets).astype(INDEX)
        self.n_labels = n_labels
        if self.labels.ndim != 1 or len(self.offsets) < 1 or self.offsets[-1] != len(self.labels):
            raise InputError(f"offsets must run from 0 to the number of labels, {self.labels.shape}")
        wrong = (self.labels < -1) | (self.labels >= n_labels)
        if wrong.any():
            raise InputError(f"label {self.labels[wrong][0]} is not one of 0 … {n_labels - 1}, nor −1 for unknown")
        self.first: IndexArray = np.repeat(self.offsets[:-1], np.diff(self.offsets))  # of the sequence of a position

    def symbols(self, rows: IndexArray, back: int) -> IndexArray:
        """What stands `back` places before the positions `rows`: 1 + the label, 0 for ⊥, −1 for what is before ⊥, and
        −2 where the label is not known."""
        places = rows - back
        outside = self.first[rows] - places  # 1 is ⊥
        inside = self.labels[np.maximum(places, 0)]
        return np.select([outside > 1, outside == 1, inside >= 0], [-1, 0, inside + 1], default=-2)


def _backing_off(corpus: _Corpus, order: int, forbidden: BoolArray, min_count: int) -> Histories:
    """Level by level: histories of one label more, made of those that occur often enough."""
    K = corpus.n_labels
    rows = np.flatnonzero(corpus.labels >= 0)
    states = np.zeros(len(rows), dtype=INDEX)  # of the history before each row, as long as the level
    parents, symbols = [np.array([-1])], [np.array([-1])]  # of the states of each level
    keys = [np.arange(K)]  # state · K + label of the arcs of each level
    n_states = 1
    for length in range(1, max(order, int(forbidden.any())) + 1):
        before = corpus.symbols(rows, length)
        rows, states, before = (array[before >= 0] for array in (rows, states, before))
        if length == 1 and forbidden.any():
            fits = (before == 0) | ~forbidden[before - 1, corpus.labels[rows]]
            rows, states, before = rows[fits], states[fits], before[fits]
        codes = states * (K + 1) + before
        _, which, counts = np.unique(codes * K + corpus.labels[rows], return_inverse=True, return_counts=True)
        often = counts[which] >= (min_count if order else np.inf)  # order 0 has no arcs here but those that forbid
        rows, codes = rows[often], codes[often]
        distinct = np.arange(K + 1) if length == 1 else np.unique(codes)
        states = n_states + np.searchsorted(distinct, codes)
        keys.append(np.unique(states * K + corpus.labels[rows]))
        if length == 1:
            u, v = np.nonzero(forbidden)
            keys[1] = np.union1d(keys[1], (2 + u) * K + v)
        parents.append(distinct // (K + 1))
        symbols.append(distinct % (K + 1))
        n_states += len(distinct)
    return _assemble(K, order, np.concatenate(parents), np.concatenate(symbols), np.concatenate(keys), forbidden)


def _assemble(
    K: int, order: int, parents: IndexArray, symbols: IndexArray, keys: IndexArray, forbidden: BoolArray
) -> Histories:
    """From the back-off and the oldest symbol of each state, and state · K + label of each arc, all in their order."""
    width = 0
    tuples: IndexArray = np.full((len(parents), MAX_ORDER + 1), NOTHING, dtype=INDEX)
    lengths = np.zeros(len(parents), dtype=INDEX)
    at = np.flatnonzero(parents == 0)
    while len(at):
        width += 1
        tuples[at] = tuples[parents[at]]
        tuples[at, -width] = symbols[at] - 1
        lengths[at] = width
        at = np.flatnonzero(np.isin(parents, at))
    arc_state, arc_label = keys // K, keys % K
    last = tuples[arc_state, -1]
    return Histories.linked(
        n_labels=K,
        order=order,
        start=min(width, 1),  # ⊥ is the first history of one label
        labels=tuples[:, MAX_ORDER + 1 - width :],
        back_off=parents,
        arc_state=arc_state,
        arc_label=arc_label,
        arc_next=_next_states(K, parents, symbols, lengths, keys),
        legal=(last < 0) | ~forbidden[np.maximum(last, 0), arc_label],
    )


def _next_states(K: int, parents: IndexArray, symbols: IndexArray, lengths: IndexArray, keys: IndexArray) -> IndexArray:
    """Where arcs lead: to the longest history that ends the labels of theirs and their own label.

    That of a history (x …) is the one of its back-off with x before it, where there is such a history; else that of
    its back-off.
    """
    arc_state, arc_label = keys // K, keys % K
    codes = parents * (K + 1) + symbols  # rising: states are sorted by them; the root's is the least
    longest = int(lengths.max())
    follows = np.where(lengths[arc_state] == 0, arc_label + 2 if longest else 0, -1)
    for length in range(1, longest + 1):
        arcs = np.flatnonzero(lengths[arc_state] == length)
        shorter = follows[_find(keys, parents[arc_state[arcs]] * K + arc_label[arcs])]
        longer = _find(codes, shorter * (K + 1) + symbols[arc_state[arcs]])
        follows[arcs] = np.where((lengths[shorter] == length) & (longer >= 0), longer, shorter)
    return follows


def _seen_only(corpus: _Corpus, order: int, forbidden: BoolArray) -> Histories:
    """Histories of full length alone, and between them the arcs that occur. None of them backs off."""
    K, n = corpus.n_labels, len(corpus.labels)
    rows = np.arange(n)
    before = np.where(corpus.first == rows, n, rows - 1)  # row n stands for the time before all sequences: ⊥ alone
    ids = np.zeros(n + 1, dtype=INDEX)  # of the history after each position
    known = np.ones(n + 1, dtype=bool)
    for back in range(order):
        symbols = np.append(corpus.symbols(rows, back), 0 if back == 0 else -1)
        known &= symbols != -2
        ids = np.unique(ids * (K + 3) + symbols + 2, return_inverse=True)[1]
    _, at, which = np.unique(ids[known], return_index=True, return_inverse=True)
    states = np.full(n + 1, -1, dtype=INDEX)
    states[known] = which
    at = np.flatnonzero(known)[at]
    tuples: CodeArray = np.full((len(at), order), NOTHING, dtype=CODE)
    for back in range(order):
        tuples[at < n, -1 - back] = corpus.symbols(at[at < n], back) - 1
    tuples[at == n, -1:] = START
    seen = (corpus.labels >= 0) & (states[before] >= 0)
    if order:
        last = tuples[states[before], -1]
        seen &= (last < 0) | ~forbidden[np.maximum(last, 0), corpus.labels]
    keys, arcs = np.unique(states[before[seen]] * K + corpus.labels[seen], return_index=True)
    return Histories.linked(
        n_labels=K,
        order=order,
        start=int(states[n]),
        labels=tuples,
        back_off=np.full(len(at), -1),
        arc_state=keys // K,
        arc_label=keys % K,
        arc_next=states[np.flatnonzero(seen)[arcs]],
        legal=np.ones(len(keys), dtype=bool),
    )
