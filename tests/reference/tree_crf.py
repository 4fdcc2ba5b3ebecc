"""Gradient tree boosting of a chain, as the papers print it: every example is written out. Slow, and meant to be read.

`tree_boost` is TREEBOOST, `generate_examples` is GENERATEEXAMPLES (2004 paper, Table 2), with the pseudo-likelihood in
the first iterations where asked for. FITREGRESSIONTREE is `growing.grow` (thesis, Table 3.1) and `output` is the
thesis' (3.1); with λ = 0 it is the mean, and the whole is the 2004 paper's.

Read differently than printed: Table 2 lets k' run from 1 to K at every t, though y_0 is ⊥. Here the first position of
a sequence has the one example k' = ⊥, and no other position has it. Targets are rounded to whole multiples of 1/`one`,
so that sums of them are exact and equal gains are equal.

Potentials and targets are (K, N, K+1) [k, t, k']: F^k(k', w_t), ⊥ last. Entries that stand for no example are 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.legend import AnyArray, BoolArray, CodeArray, FloatArray
from tests.reference import chain
from tests.reference.growing import Node, Row, Rules, goes_true, grow

ONE = float(1 << 30)  # what a target of 1 is in fixed point

Window = list[int | frozenset[int]]  # a bin for each stream (a column read at an offset), or a set of sparse items


@dataclass(frozen=True)
class Corpus:
    """Sequences as their windows, written out.

    windows : N of them
    labels : (N,), offsets : (S+1,)
    kinds, n_bins : of each stream, as in `growing`
    """

    windows: list[Window]
    labels: CodeArray
    offsets: AnyArray
    n_labels: int
    kinds: list[int]
    n_bins: list[int]

    @property
    def first(self) -> BoolArray:
        """(N,), whether a position begins a sequence."""
        marks = np.zeros(len(self.windows), dtype=bool)
        marks[self.offsets[:-1]] = True
        return marks

    def before(self, t: int) -> int:
        """y_{t−1}; ⊥ (K) at the first position of a sequence."""
        return self.n_labels if t in self.offsets[:-1] else int(self.labels[t - 1])

    def is_last(self, t: int) -> bool:
        """Whether position t ends a sequence."""
        return t + 1 in self.offsets

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every (t, k') that has an example: k' = ⊥ at first positions, 1 … K elsewhere."""
        for t, is_first in enumerate(self.first):
            for previous in [self.n_labels] if is_first else range(self.n_labels):
                yield t, previous


@dataclass(frozen=True)
class Iteration:
    """The K trees h_m of one iteration, and the potentials (K, N, K+1) after it."""

    trees: list[Node]
    potentials: FloatArray


def write_windows(
    columns: Sequence[Sequence[int]], outside: Sequence[int], reads: Sequence[tuple[int, int]], offsets: AnyArray
) -> list[Window]:
    """The window of every position: column c at t+o for each (c, o) of `reads`, outside[c] past the sequence's ends."""
    windows: list[Window] = []
    for begin, end in chain.sequences(offsets):
        for t in range(begin, end):
            windows.append([columns[c][t + o] if begin <= t + o < end else outside[c] for c, o in reads])
    return windows


# ------------------------------------------------------------------------------------------------- the targets Δ


def as_chain(potentials: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The potentials as `chain` has them: node (N, K) with F^k(⊥, ·) at first positions, edges (K, N, K)."""
    return potentials[:, :, -1].T.copy(), potentials[:, :, :-1].copy()


def log_likelihood(potentials: FloatArray, corpus: Corpus) -> float:
    """Σ_i log P(Y_i | X_i)."""
    node, edges = as_chain(potentials)
    scores = chain.score(node, edges, corpus.offsets, corpus.labels)
    return float((scores - chain.log_partition(node, edges, corpus.offsets)).sum())


def likelihood_targets(potentials: FloatArray, corpus: Corpus) -> FloatArray:
    """Δ(k, k', t) = I(y_{t−1} = k', y_t = k) − P(y_{t−1} = k', y_t = k | X), the paper's Proposition 1."""
    node, edges = as_chain(potentials)
    node_probs = chain.node_probs(node, edges, corpus.offsets)
    edge_probs = chain.edge_probs(node, edges, corpus.offsets)
    K, targets = corpus.n_labels, np.zeros_like(potentials)
    for t, previous in corpus.pairs():
        for k in range(K):
            truth = corpus.before(t) == previous and corpus.labels[t] == k
            prob = node_probs[t, k] if previous == K else edge_probs[k, t, previous]
            targets[k, t, previous] = truth - prob
    return targets


def local_probs(potentials: FloatArray, corpus: Corpus, t: int) -> FloatArray:
    """P(y_t = v | y_{t−1}, y_{t+1}, X) for every v, (K,): ∝ exp[F^v(y_{t−1}, w_t) + F^{y_{t+1}}(v, w_{t+1})]."""
    scores = potentials[:, t, corpus.before(t)].copy()
    if not corpus.is_last(t):
        scores += potentials[corpus.labels[t + 1], t + 1, :-1]
    probs: FloatArray = np.exp(scores - chain.log_sum(scores, axis=0))
    return probs


def pseudo_log_likelihood(potentials: FloatArray, corpus: Corpus) -> float:
    """Σ_t log P(y_t | y_{t−1}, y_{t+1}, X)."""
    return float(sum(np.log(local_probs(potentials, corpus, t)[y]) for t, y in enumerate(corpus.labels)))


def pseudo_likelihood_targets(potentials: FloatArray, corpus: Corpus) -> FloatArray:
    """The derivative of `pseudo_log_likelihood`. F^k(k', w_t) stands in the terms of t and of t−1.

    In the term of t where k' is true: I(k = y_t) − p_t(k). In the term of t−1 where k is true:
    I(k' = y_{t−1}) − p_{t−1}(k').
    """
    K, targets = corpus.n_labels, np.zeros_like(potentials)
    for t, previous in corpus.pairs():
        for k in range(K):
            if previous == corpus.before(t):
                targets[k, t, previous] += (k == corpus.labels[t]) - local_probs(potentials, corpus, t)[k]
            if previous < K and k == corpus.labels[t]:
                truth = previous == corpus.labels[t - 1]
                targets[k, t, previous] += truth - local_probs(potentials, corpus, t - 1)[previous]
    return targets


# ------------------------------------------------------------------------------------------------- the boosting


def generate_examples(k: int, corpus: Corpus, targets: FloatArray, one: float = ONE) -> list[Row]:
    """S(k): an example ((w_t, k'), Δ(k, k', t)) for every t and k', the target in fixed point."""
    return [Row(t, corpus.windows[t], previous, round(targets[k, t, previous] * one)) for t, previous in corpus.pairs()]


def output(leaf: Node, l2_regularization: float, one: float = ONE) -> float:
    """Σ Δ / (λ + N) over the N examples of a leaf, (3.1)."""
    return sum(row.target for row in leaf.rows) / one / (l2_regularization + len(leaf.rows))


def find_leaf(tree: Node, row: Row, n_bins: list[int]) -> Node:
    """The leaf that an example comes to."""
    node = tree
    while node.split is not None:
        child = node.true if goes_true(row, node.split, n_bins) else node.false
        assert child is not None
        node = child
    return node


def fit_trees(
    corpus: Corpus, targets: FloatArray, *, max_leaf_nodes: int, l2_regularization: float = 0.0, one: float = ONE
) -> list[Node]:
    """h_m(k) for each label k: a regression tree with at most `max_leaf_nodes` leaves for its examples."""
    rules = Rules(corpus.kinds, corpus.n_bins, corpus.n_labels, max_leaf_nodes, l2_regularization)
    return [grow(generate_examples(k, corpus, targets, one), rules)[0] for k in range(corpus.n_labels)]


def add_trees(
    potentials: FloatArray,
    corpus: Corpus,
    trees: list[Node],
    *,
    l2_regularization: float = 0.0,
    learning_rate: float = 1.0,
    one: float = ONE,
) -> FloatArray:
    """F_m^k = F_{m−1}^k + η h_m(k), at every example."""
    total = potentials.copy()
    for k, tree in enumerate(trees):
        for t, previous in corpus.pairs():
            leaf = find_leaf(tree, Row(t, corpus.windows[t], previous, 0), corpus.n_bins)
            total[k, t, previous] += learning_rate * output(leaf, l2_regularization, one)
    return total


def tree_boost(
    corpus: Corpus,
    n_iterations: int,
    *,
    max_leaf_nodes: int,
    l2_regularization: float = 0.0,
    learning_rate: float = 1.0,
    pseudo_likelihood_steps: int = 0,
    one: float = ONE,
) -> list[Iteration]:
    """M iterations from F = 0. The first `pseudo_likelihood_steps` follow the pseudo-likelihood (the paper takes 3).

    The trees of an iteration are all fitted at the potentials before it.
    """
    K, N = corpus.n_labels, len(corpus.windows)
    potentials, iterations = np.zeros((K, N, K + 1)), []
    for m in range(n_iterations):
        find_targets = pseudo_likelihood_targets if m < pseudo_likelihood_steps else likelihood_targets
        trees = fit_trees(
            corpus,
            find_targets(potentials, corpus),
            max_leaf_nodes=max_leaf_nodes,
            l2_regularization=l2_regularization,
            one=one,
        )
        potentials = add_trees(
            potentials, corpus, trees, l2_regularization=l2_regularization, learning_rate=learning_rate, one=one
        )  # fmt: skip
        iterations.append(Iteration(trees, potentials))
    return iterations
