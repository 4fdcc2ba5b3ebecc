"""Greedy and beam search through a local model: all sequences of a chunk take a step at the same time.

Greedy takes the most probable label after the labels it took before. A beam keeps several labelings of the positions so
far, the most probable ones whose last labels differ: with as many as there are histories it finds the best of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import InputError
from hedgerow.legend import CODE, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.models.local.potentials import Legality, log_softmax
from hedgerow.models.local.rows import Rows


def search(
    rows: Rows,
    offsets: IndexArray,
    space: StateSpace,
    order: int,
    width: int,
    *,
    backward: bool,
    allowed: BoolArray | None = None,
    first_sequence: int = 0,
) -> CodeArray:
    """int32 (n,): the best labeling that is found with so many labelings kept; 1 is greedy. The order is at least 1.

    allowed : bool (n, K), the labels that are possible, or None
    """
    steps = _steps(offsets, backward=backward)
    legal = Legality(space, offsets, backward=backward)
    open_ = _open_labels(steps, legal, allowed, len(space.start), first_sequence)
    beam = _Beam(rows, legal, len(offsets) - 1, len(space.start), order, width)
    came = [beam.step(at, open_[at]) for at in steps]
    return _trace(steps, came, beam.scores)


class Tabled:
    """Rows of order 1 that are scored once for all last labels."""

    def __init__(self, rows: Rows, n_positions: int) -> None:
        self._rows = rows
        self._table = rows.after_each(np.arange(n_positions), ())
        self._n_labels = self._table.shape[2]

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        if len(histories) and histories[0, 0] == self._n_labels:  # all sequences begin at the same time
            return self._rows.scores(rows, histories)
        return self._table[rows, histories[:, 0]]

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        return self._table[rows]


def _steps(offsets: IndexArray, *, backward: bool) -> list[IndexArray]:
    """The positions at which each step stands, in the order of the model. The longest sequences come first, so that a
    step is of the first sequences, as many as are so long."""
    lengths = np.diff(offsets)
    by_length = np.argsort(-lengths, kind="stable")
    begin = (offsets[1:] - 1 if backward else offsets[:-1])[by_length]
    ends = -np.arange(1, int(lengths.max(initial=0)) + 1)
    counts = np.searchsorted(-lengths[by_length], ends, side="right")  # sequences that have a step
    return [begin[:m] + (-j if backward else j) for j, m in enumerate(counts.tolist())]


def _open_labels(
    steps: list[IndexArray], legal: Legality, allowed: BoolArray | None, n_labels: int, first_sequence: int
) -> BoolArray:
    """bool (n, K): the labels from which the rest of the sequence can still be labelled."""
    n = sum(map(len, steps))
    open_: BoolArray = np.ones((n, n_labels), dtype=bool) if allowed is None else allowed.copy()
    open_[legal.begins] &= legal.at_begins() == 0.0
    open_[legal.ends] &= legal.at_ends(legal.ends) == 0.0
    moves = (legal.moves == 0.0).astype(np.float64)
    if allowed is not None or not moves.all():
        for at, after in reversed(list(pairwise(steps))):
            open_[at[: len(after)]] &= open_[after].astype(np.float64) @ moves.T > 0.0
    stuck = np.flatnonzero(~open_[legal.begins].any(axis=1))
    if len(stuck):
        what = "no labeling is possible with these constraints and known labels"
        raise InputError(what, hint="Allow more labels or transitions.", sequence=first_sequence + int(stuck[0]))
    return open_


class _Beam:
    """The labelings kept. scores (s, B), −inf where there is none; the last labels (s, B, n), the newest first."""

    def __init__(self, rows: Rows, legal: Legality, n_sequences: int, n_labels: int, order: int, width: int) -> None:
        self.rows, self.legal = rows, legal
        self.n_labels, self.order, self.width = n_labels, order, width
        self.scores: FloatArray = np.zeros((n_sequences, 1))
        self.histories: CodeArray = np.full((n_sequences, 1, order), n_labels, dtype=CODE)
        self.begun = False

    def step(self, at: IndexArray, open_: BoolArray) -> tuple[CodeArray, CodeArray]:
        """Go on to the positions `at` of the first sequences, where labels open_ (a, K) are possible.

        Returns which labeling each one came from, and its new label, (a, B').
        """
        a, B, K = len(at), self.scores.shape[1], self.n_labels
        scores = np.where(open_[:, None], self.scores[:a, :, None] + self._log_probs(at), -np.inf)
        if B > 1:
            scores[self._second_best(scores, a)] = -np.inf
        flat = scores.reshape(a, B * K)
        n_kept = min(self.width, B * K)
        if n_kept == 1:
            best = np.argmax(flat, axis=1)[:, None]
        else:
            best = np.argsort(-flat, axis=1, kind="stable")[:, :n_kept]
        parents, labels = (part.astype(CODE) for part in np.divmod(best, K))
        self._keep(a, n_kept, np.take_along_axis(flat, best, axis=1), parents, labels)
        return parents, labels

    def _log_probs(self, at: IndexArray) -> FloatArray:
        """(a, B, K)."""
        a, B = len(at), self.scores.shape[1]
        logs = np.empty((a, B, self.n_labels))
        for b in range(B):
            scores = self.rows.scores(at, self.histories[:a, b])
            if not self.begun:
                scores = scores + self.legal.at_begins()[np.searchsorted(self.legal.begins, at)]
            else:
                scores = scores + self.legal.moves[self.histories[:a, b, 0]] + self.legal.at_ends(at)
            logs[:, b] = log_softmax(scores)
        self.begun = True
        return logs

    def _second_best(self, scores: FloatArray, a: int) -> BoolArray:
        """bool (a, B, K): continuations that end in the same history as a better one, or as good a one before it."""
        B, older = scores.shape[1], self.order - 1
        if not older:
            rest: BoolArray = np.arange(B)[:, None] != scores.argmax(axis=1)[:, None]
            return rest
        worse: BoolArray = np.zeros(scores.shape, dtype=bool)
        shared = self.histories[:a, :, :older]
        for b in range(B):
            same = (shared == shared[:, b : b + 1]).all(axis=2)
            score = scores[:, b : b + 1]
            better = (score > scores) | ((score == scores) & (np.arange(B)[:, None] > b))
            worse |= same[:, :, None] & better
        return worse

    def _keep(self, a: int, width: int, scores: FloatArray, parents: CodeArray, labels: CodeArray) -> None:
        s, B = self.scores.shape
        kept: FloatArray = np.full((s, max(width, B)), -np.inf)
        kept[a:, :B] = self.scores[a:]
        kept[:a, :width] = scores
        histories: CodeArray = np.full((s, max(width, B), self.order), self.n_labels, dtype=CODE)
        histories[a:, :B] = self.histories[a:]
        histories[:a, :width, 0] = labels
        histories[:a, :width, 1:] = np.take_along_axis(self.histories[:a], parents[:, :, None], axis=1)[:, :, :-1]
        self.scores, self.histories = kept, histories


def _trace(steps: list[IndexArray], came: list[tuple[CodeArray, CodeArray]], scores: FloatArray) -> CodeArray:
    """Follow the best labeling of each sequence back to its beginning."""
    labels: CodeArray = np.empty(sum(map(len, steps)), dtype=CODE)
    which = np.argmax(scores, axis=1)
    for at, (parents, chosen) in zip(reversed(steps), reversed(came)):
        here = which[: len(at)]
        labels[at] = chosen[np.arange(len(at)), here]
        which[: len(at)] = parents[np.arange(len(at)), here]
    return labels
