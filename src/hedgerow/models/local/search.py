"""Greedy and beam search through a local model: all sequences of a chunk take a step at the same time.

Greedy takes the most probable label after the labels it took before. A beam keeps several labelings of the positions so
far, the most probable ones whose last labels differ: with as many as there are histories it finds the best of all.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    steps = _Steps(offsets, backward=backward)
    legal = Legality(space, offsets, backward=backward)
    open_ = _open_labels(steps, legal, allowed, len(space.start), first_sequence)
    beam = _Beam(rows, legal, steps.n_sequences, len(space.start), order, width)
    came: list[tuple[CodeArray, CodeArray]] = []
    for j in range(len(steps)):
        came.append(beam.step(steps[j], open_[steps[j]]))
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
        scores: FloatArray = self._table[rows, histories[:, 0]]
        return scores

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        scores: FloatArray = self._table[rows]
        return scores


class _Steps:
    """The positions of all sequences, step by step in the order of the model, the longest sequence first."""

    def __init__(self, offsets: IndexArray, *, backward: bool) -> None:
        lengths = np.diff(offsets)
        self.by_length = np.argsort(-lengths, kind="stable")
        self.lengths = lengths[self.by_length]
        self.n_sequences = len(lengths)
        self._begin = (offsets[1:] - 1 if backward else offsets[:-1])[self.by_length]
        self._sign = -1 if backward else 1
        ends = -np.arange(1, int(lengths.max(initial=0)) + 1)
        counts = np.searchsorted(-self.lengths, ends, side="right")  # sequences that have a step
        self._at = [self._begin[:m] + self._sign * j for j, m in enumerate(counts.tolist())]

    def __len__(self) -> int:
        return len(self._at)

    def __getitem__(self, j: int) -> IndexArray:
        """The positions at which step j stands: those of the first sequences, of which that many are as long."""
        return self._at[j]


def _open_labels(
    steps: _Steps, legal: Legality, allowed: BoolArray | None, n_labels: int, first_sequence: int
) -> BoolArray:
    """bool (n, K): the labels from which the rest of the sequence can still be labelled."""
    n = sum(len(steps[j]) for j in range(len(steps)))
    open_: BoolArray = np.ones((n, n_labels), dtype=bool) if allowed is None else allowed.copy()
    open_[legal.begins] &= legal.at_begins() == 0.0
    open_[legal.ends] &= legal.at_ends(legal.ends) == 0.0
    moves = (legal.moves == 0.0).astype(np.float64)
    if allowed is not None or not moves.all():
        for j in range(len(steps) - 2, -1, -1):
            after = steps[j + 1]
            open_[steps[j][: len(after)]] &= open_[after].astype(np.float64) @ moves.T > 0.0
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


def _trace(steps: _Steps, came: list[tuple[CodeArray, CodeArray]], scores: FloatArray) -> CodeArray:
    """Follow the best labeling of each sequence back to its beginning."""
    n = sum(len(steps[j]) for j in range(len(steps)))
    labels: CodeArray = np.empty(n, dtype=CODE)
    which = np.argmax(scores, axis=1)
    for j in range(len(steps) - 1, -1, -1):
        at = steps[j]
        parents, chosen = came[j]
        here = which[: len(at)]
        labels[at] = chosen[np.arange(len(at)), here]
        which[: len(at)] = parents[np.arange(len(at)), here]
    return labels
