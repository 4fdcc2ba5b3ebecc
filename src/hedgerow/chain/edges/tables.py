"""What all scores of neighbouring labels have in common: one table for every position, or a table at each position.

Sums run over scaled messages; a sequence in which one of them underflows is done again in the log domain.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.messages import LogMessages, Messages, log_backward, log_forward, total_log_sum
from hedgerow.chain.potentials import ChainPotentials, Edges, Gradients, Marginals
from hedgerow.chain.workspace import Workspace, run_slices, slices
from hedgerow.errors import InputError
from hedgerow.legend import CODE, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.parallel import plan_chunks

Recursion = Callable[..., None]
_CACHED = 1 << 16  # scores of edges: half a megabyte, as the second cache of most processors has


class Passes(NamedTuple):
    """The scaled recursions of a form of edges.

    forward, backward : kernels, with the edges given, for rows of messages
    shift : what the exponentials of the edges leave out: a number, or (n,) with one for each position
    even : whether every arc scores the same, so that each position is a chain of its own
    """

    forward: Recursion
    backward: Recursion
    shift: FloatArray | float
    even: bool = False


def tables_of(potentials: ChainPotentials) -> TableEdges:
    """The edges, where they are scores of neighbouring labels; an error where they are histories."""
    if not isinstance(potentials.edges, TableEdges):
        raise potentials.edges.needs_tables()
    return potentials.edges


class TableEdges(Edges):
    """Scores of pairs of neighbouring labels."""

    __slots__ = ()

    if TYPE_CHECKING:  # as in Edges

        @property
        def scores_to(self) -> FloatArray:
            """(K, n | 1, K) [to, position, from], the form that kernels of all tables read."""

    @classmethod
    @abstractmethod
    def from_scores_to(cls, scores: FloatArray) -> Self:
        """Edges of this form with other scores, given as `scores_to`."""

    def scaled(self, factor: float) -> Self:
        return self.from_scores_to(self.scores_to * factor)

    def with_scores(self) -> Self:
        return self

    @abstractmethod
    def scores_plus(self, table: FloatArray) -> FloatArray:
        """The scores plus those of a table (K, K) [from, to]: of the shape of gradients."""

    @property
    @abstractmethod
    def passes(self) -> Passes:
        """The scaled recursions."""

    @abstractmethod
    def sum_edges(self, work: Workspace, *, moments: bool) -> FloatArray:
        """Σ_t P_t(u, v) or P_t(u, v), as in `Marginals`, from messages; with `moments` the covariances of the edges,
        without what a direction of theirs adds."""

    @abstractmethod
    def moment_recursions(self, direction: FloatArray | None) -> tuple[int, Recursion, Recursion]:
        """The cells that covariances cost at each position, and their recursions, forward and backward, for rows of
        moments; with a direction of the edges, as `Messages.covariance` has it."""

    @abstractmethod
    def best_scores(self, potentials: ChainPotentials) -> FloatArray:
        """(n, K): the score of the best way from the start to each label."""

    def gradient_shape(self, n_positions: int) -> tuple[int, ...]:
        K = self.n_labels
        return (K, n_positions, K) if self.per_position else (K, K)

    def put_sequence(self, values: FloatArray, one: FloatArray, rows: slice, weight: float) -> None:
        """Enter what one sequence has, (K, T | 1, K) [to, position, from], into marginals of the chunk, in place.

        Sums over the chunk take it times its weight.
        """
        if self.per_position:
            values[:, rows] = one
        else:
            values += one[:, 0].T * weight

    # Scaled messages

    def pass_messages(
        self, potentials: ChainPotentials, work: Workspace, *, back: bool
    ) -> tuple[FloatArray, list[int]]:
        """Fill node_exp, top, alpha, scale and underflows of the workspace; with `back` also node_probs, and node_exp
        becomes β'. Return log Z, (s,), and the sequences whose messages underflow."""
        (n, K), first, offsets = potentials.node_scores.shape, potentials.first, potentials.offsets
        forward, backward, shift, even = self.passes
        work.reserve(n, K)
        width = work.alpha.shape[1]
        rows = work.message_rows(np.ones_like(first) if even else first)
        # The way back begins where the way there ended, while tables of positions are still in the cache.
        plan = plan_chunks(offsets, max(_CACHED // (K * K), 1) if back and self.per_position else n)
        for begin, end in pairwise(offsets[plan].tolist()):
            for t0, t1 in slices(end, width * (width + 20), first=begin):
                work.exponentiate(potentials.node_scores, t0, t1)
                forward(rows, t0, t1)
            if back:
                run_slices(backward, end, width * width, rows, first=begin, back=True)
        if back and even:  # β is 1 everywhere, and so β' is α
            np.multiply(work.alpha, first[:-1, None] == 0, out=work.node_exp)
        # log Z = Σ_t (log c_t + top_t) + Σ_{t≥2} shift_t
        logs = np.log(work.scale)
        logs += work.top
        if self.per_position:
            logs += np.where(first[:-1], 0.0, shift)
        values: FloatArray = np.add.reduceat(logs, offsets[:-1])
        if not self.per_position:
            values += (offsets[1:] - offsets[:-1] - 1) * shift
        return values, self._underflowed_sequences(potentials, work, both_ways=back)

    def _underflowed_sequences(self, potentials: ChainPotentials, work: Workspace, *, both_ways: bool) -> list[int]:
        """The sequences in which a message that is possible fell under 1e-280. An illegal sequence is an error.

        The kernels count small messages; of those, the impossible ones are 0 for a good reason. Boolean reachability
        says how many: it reads the scores, since exp(−2000) is 0 and yet possible.
        """
        padding = work.alpha.shape[1] - potentials.n_labels
        noted = work.underflows > padding
        if not noted.any():
            return []
        suspects = np.flatnonzero(np.logical_or.reduceat(noted, potentials.offsets[:-1]))
        part, rows = potentials.take(suspects)
        numbers = part.node_scores < np.inf  # false for NaN too, which no comparison of messages notices
        if not numbers.all():
            part.refuse_scores(int(np.argmin(numbers.all(axis=1))))
        edges = tables_of(part)
        reached, n_reached = edges.reach(part)
        if not n_reached.all():
            _refuse_illegal(part, int(np.argmin(n_reached)))
        n_impossible = padding + part.n_labels - n_reached
        if both_ways:
            n_impossible += part.n_labels - edges.reach_end(part, reached)
        underflowed = np.logical_or.reduceat(work.underflows[rows] > n_impossible, part.offsets[:-1])
        return [int(i) for i in suspects[underflowed]]

    def log_messages(self, potentials: ChainPotentials, i: int) -> LogMessages:
        """The messages of sequence i in the log domain."""
        one = potentials.sequence(i)
        return LogMessages.from_sequence(one, tables_of(one).scores_to)

    def messages(self, potentials: ChainPotentials, workspace: Workspace | None) -> Messages:
        work = workspace or Workspace()
        values, underflowed = self.pass_messages(potentials, work, back=True)
        messages = Messages(potentials, self, work, values, {})
        for i in underflowed:
            messages.redo(i)
        check_sums(potentials, values)
        return messages

    def unfolded(self, potentials: ChainPotentials) -> None:
        return None

    # Sums

    def log_partition(self, potentials: ChainPotentials, workspace: Workspace | None) -> FloatArray:
        values, underflowed = self.pass_messages(potentials, workspace or Workspace(), back=False)
        for i in underflowed:
            one = potentials.sequence(i)
            values[i] = total_log_sum(*log_forward(one, tables_of(one).scores_to))
        return check_sums(potentials, values)

    def marginals(
        self, potentials: ChainPotentials, workspace: Workspace | None, weights: FloatArray | None
    ) -> Marginals:
        work = workspace or Workspace()
        values, underflowed = self.pass_messages(potentials, work, back=True)
        for i in underflowed:  # what the scaled pass made of them must not enter the sums
            work.node_exp[potentials.rows(i)] = 0.0
        if weights is not None and not self.per_position:
            work.node_exp *= np.repeat(weights, np.diff(potentials.offsets))[:, None]
        edges = self.sum_edges(work, moments=False)
        for i in underflowed:
            rows, logs = potentials.rows(i), self.log_messages(potentials, i)
            values[i], work.node_probs[rows] = logs.log_partition, logs.node_probs()
            self.put_sequence(edges, logs.edge_probs(), rows, 1.0 if weights is None else weights[i])
        return Marginals(check_sums(potentials, values), work.node_probs, edges)

    def node_marginals(self, potentials: ChainPotentials, workspace: Workspace | None) -> FloatArray:
        work = workspace or Workspace()
        values, underflowed = self.pass_messages(potentials, work, back=True)
        for i in underflowed:
            logs = self.log_messages(potentials, i)
            values[i], work.node_probs[potentials.rows(i)] = logs.log_partition, logs.node_probs()
        check_sums(potentials, values)
        return work.node_probs

    def sample(self, potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
        """Forward filtering, backward sampling."""
        n, K = potentials.node_scores.shape
        work, scores_to = Workspace(), self.scores_to
        values, underflowed = self.pass_messages(potentials, work, back=False)
        check_sums(potentials, values)
        with np.errstate(divide="ignore"):
            log_alpha: FloatArray = np.log(work.alpha[:, :K])  # up to a constant of each position
        for i in underflowed:
            one = potentials.sequence(i)
            log_alpha[potentials.rows(i)] = log_forward(one, tables_of(one).scores_to)[0]
        labels, shares = np.empty(uniforms.shape, dtype=CODE), np.empty(K)
        for drawn, row in zip(labels, uniforms):
            given = log_alpha, scores_to, potentials.first, row, shares, drawn
            run_slices(kernels.search.sample, n, 50 * K, *given, back=True)
        return labels

    def entropy(self, potentials: ChainPotentials) -> FloatArray:
        """Summed from conditional entropies, which are all positive, and not taken as log Z minus the expected score,
        which are large and nearly equal."""
        scores_to = self.scores_to
        self.check_legal(potentials)
        n, K = potentials.node_scores.shape
        log_beta, tops = log_backward(potentials, scores_to)
        ahead, chain = np.empty((n, K)), (potentials.node_scores, scores_to, potentials.first)
        run_slices(kernels.search.entropy, n, 25 * K * K, *chain, log_beta, tops, ahead, back=True)
        begins = potentials.offsets[:-1]
        starts = potentials.node_scores[begins] + log_beta[begins]
        log_probs = starts - np.logaddexp.reduce(starts, axis=1, keepdims=True)
        possible = log_probs > -np.inf
        terms = np.exp(log_probs) * (ahead[begins] - np.where(possible, log_probs, 0.0))
        values: FloatArray = terms.sum(axis=1)
        return values

    # Searches

    @property
    def legal_arcs(self) -> BoolArray:
        """(K, n | 1, K) [to, position, from]: the moves that are not impossible."""
        return self.scores_to > -np.inf

    def reach(self, potentials: ChainPotentials) -> tuple[AnyArray, IndexArray]:
        """uint8 (n, K), 1 where a legal way from the start leads to the label; and how many labels that are, (n,)."""
        n, K = potentials.node_scores.shape
        possible = (potentials.node_scores > -np.inf).view(np.uint8)
        arcs = np.ascontiguousarray(self.legal_arcs.view(np.uint8).transpose(2, 1, 0))
        reached, count = np.empty((n, K), dtype=np.uint8), np.empty(n, dtype=np.int64)
        run_slices(kernels.chain.reach, n, K * K, possible, arcs, potentials.first, reached, count)
        return reached, count

    def reach_end(self, potentials: ChainPotentials, reached: AnyArray) -> IndexArray:
        """How many of the reached labels of each position have a legal way to the end, (n,)."""
        (n, K), arcs = reached.shape, self.legal_arcs.view(np.uint8)
        ending, count = np.empty((n, K), dtype=np.uint8), np.empty(n, dtype=np.int64)
        run_slices(kernels.chain.reach_end, n, K * K, reached, arcs, potentials.first, ending, count, back=True)
        return count

    def legal_sequences(self, potentials: ChainPotentials) -> BoolArray:
        _, n_reached = self.reach(potentials)
        return np.logical_and.reduceat(n_reached > 0, potentials.offsets[:-1])

    def check_legal(self, potentials: ChainPotentials) -> None:
        _, n_reached = self.reach(potentials)
        if not n_reached.all():
            _refuse_illegal(potentials, int(np.argmin(n_reached)))

    def best_labelings(self, potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
        """Of equal labelings: the lowest label at the last position, then the lowest one before it, and so on."""
        n, K = potentials.node_scores.shape
        edges = self.with_scores()
        best = edges.best_scores(potentials)
        scores: FloatArray = best[potentials.offsets[1:] - 1].max(axis=1, initial=-np.inf)
        if np.isneginf(scores).any():
            edges.check_legal(potentials)
        labels = np.empty(n, dtype=CODE)
        run_slices(kernels.search.trace, n, 5 * K, edges.scores_to, potentials.first, best, labels, back=True)
        return labels, scores

    def k_best(self, potentials: ChainPotentials, k: int) -> list[tuple[CodeArray, FloatArray]]:
        """Time grows with k · K², memory with k · K at each position."""
        sequences = [potentials.sequence(i) for i in range(potentials.n_sequences)]
        return [_k_best_of_sequence(one, tables_of(one), k) for one in sequences]

    def beam_labelings(self, potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
        n, K = potentials.node_scores.shape
        width = min(width, K)
        states, came_from = np.empty((2, n, width), dtype=CODE)
        scores, n_kept = np.empty((n, width)), np.empty(n, dtype=CODE)
        totals, ranks = np.empty(K), np.empty(K, dtype=CODE)
        chain = potentials.node_scores, self.scores_to, potentials.first
        beam = states, scores, came_from, n_kept, totals, ranks
        for t0, t1 in slices(n, 5 * width * K):
            t = kernels.beam.search(*chain, *beam, t0, t1)
            if t < t1:
                self.check_legal(potentials)
                i, position = potentials.place(int(t))
                hint = "Use a wider one, or exact search."
                raise InputError("the beam ran into a dead end", hint=hint, sequence=i, position=position)
        labels = np.empty(n, dtype=CODE)
        kernels.beam.trace(potentials.first, states, came_from, labels)
        return labels, scores[potentials.offsets[1:] - 1, 0]

    # A given labeling

    def position_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        """Some labels of a sequence may be UNLABELLED: without the scores that they have a part in."""
        scores, moves = self._true_moves(potentials, self.scores_to, labels, 0.0)
        return scores + moves

    def _true_moves(
        self, potentials: ChainPotentials, edges: FloatArray, labels: AnyArray, none: float
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) each: what labels score as nodes, and what stands at their moves in `edges`, (K, n | 1, K); or none."""
        n = potentials.n_positions
        scores, moves = np.empty(n), np.empty(n)
        chain = potentials.node_scores, edges, potentials.first
        run_slices(kernels.truth.position_scores, n, 20, *chain, labels, none, scores, moves)
        return scores, moves

    def add_neighbours(
        self, scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> None:
        table = self.scores_to if values is None else values
        table = table if table.ndim == 3 else np.ascontiguousarray(table.T)[:, None]
        n, K = scores.shape
        run_slices(kernels.pseudo.add_neighbours, n, 20 * K, table, labels, potentials.first, scores)

    def neighbour_gradient(self, potentials: ChainPotentials, labels: AnyArray, excess: FloatArray) -> FloatArray:
        """[u = y_{t−1}] d_t(v) + [v = y_t] d_{t−1}(u), d the excess."""
        n, K = excess.shape
        gradient = np.zeros((K, n if self.per_position else 1, K))
        run_slices(kernels.pseudo.add_edges, n, 20 * K, excess, labels, potentials.first, gradient)
        return gradient if self.per_position else np.ascontiguousarray(gradient[:, 0].T)

    def subtract_labeling(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradients: Gradients
    ) -> None:
        nodes, edges = gradients
        edges_to = edges if self.per_position else edges.T[:, None]
        kernels.truth.subtract(potentials.first, labels, weights, nodes, edges_to)

    def why_impossible(self, labels: AnyArray, row: int, forbidden: bool) -> tuple[str, str]:
        what, hint = super().why_impossible(labels, row, forbidden)
        if forbidden:
            what = f"the true labels go from {labels[row - 1]} to {labels[row]}, a transition that is forbidden"
        return what, hint


def check_sums(potentials: ChainPotentials, log_partition: FloatArray) -> FloatArray:
    """The log partitions (s,), or an error where the scores are not numbers."""
    bad: BoolArray = ~np.isfinite(log_partition)
    if bad.any():
        i = int(np.argmax(bad))
        usable = (potentials.node_scores[potentials.rows(i)] < np.inf).all(axis=1)
        potentials.refuse_scores(int(potentials.offsets[i]) + int(np.argmin(usable)))
    return log_partition


def _refuse_illegal(potentials: ChainPotentials, row: int) -> None:
    """Raise the error of a chunk whose position `row` no legal labeling passes."""
    i, position = potentials.place(row)
    what = "no legal labeling exists: no label that is possible here follows one that is possible before"
    hint = "Allow more transitions, or more labels at this position"
    raise InputError(what, hint=hint, sequence=i, position=position)


def _k_best_of_sequence(one: ChainPotentials, edges: TableEdges, k: int) -> tuple[CodeArray, FloatArray]:
    n, K = one.node_scores.shape
    if n * np.log(K) < 40:
        k = min(k, K**n)  # there are no more labelings than that
    best, back = np.empty((n, K, k)), np.empty((n, K, k), dtype=CODE)
    chain = one.node_scores, edges.scores_to, one.first
    run_slices(kernels.search.k_best, n, 10 * K * (K + k * k), *chain, best, back)
    last = best[-1].reshape(-1)
    order = np.argsort(-last, kind="stable")[:k]
    order = order[last[order] > -np.inf]
    if not len(order):
        edges.check_legal(one)
    labels = np.empty((len(order), n), dtype=CODE)
    for row, place in zip(labels, order):
        label, rank = int(place) // k, int(place) % k
        for t0, t1 in slices(n, 100, back=True):
            label, rank = kernels.search.trace_k(back, label, rank, row, t0, t1)
    return labels, last[order]
