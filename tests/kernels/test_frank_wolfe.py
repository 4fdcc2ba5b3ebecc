"""Frank–Wolfe steps against their twin, which lists every labeling."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.linear.kernels import frank_wolfe as kernels
from tests.examples import examples
from tests.reference import frank_wolfe as reference

CODE, INDEX = np.int32, np.int64


@dataclass
class Case:
    """A chunk with random features, and the same as dense arrays.

    nodes (N, K, W) and pairs (N, K, K, W) [position, from, to]: the features of a label, and of an arc into a position
    """

    chunk: kernels.Chunk
    chain: kernels.Chain
    nodes: np.ndarray
    pairs: np.ndarray
    forbidden: np.ndarray
    l2: float

    @property
    def n_weights(self):
        return len(self.chain.real)

    def features(self, i, labels):
        """The feature vector (W,) of a labeling of sequence i; None where it is not legal."""
        begin = self.chunk.begin[i]
        arcs = list(itertools.pairwise(labels))
        chain = self.chain
        legal = np.isfinite(chain.start[labels[0]] + chain.end[labels[-1]] + sum(self.edges()[arc] for arc in arcs))
        if not legal:
            return None
        result = sum(self.nodes[begin + t, v] for t, v in enumerate(labels))
        for t, (u, v) in enumerate(arcs, start=1):
            result = result + self.pairs[begin + t, u, v]
            if chain.arc_slot[u, v] >= 0:
                result[chain.arc_slot[u, v]] += 1.0
        return result

    def one(self, i):
        """Sequence i as a chunk of its own."""
        parts = (part._replace(begin=part.begin[i : i + 1]) for part in self.chunk[:2])
        return kernels.Chunk(*parts, self.chunk.labels, *(array[i : i + 1] for array in self.chunk[3:]))

    def edges(self):
        return np.where(self.forbidden, -np.inf, 0.0)

    def labelings(self, i):
        """The legal labelings of sequence i, as they are and as the twin has them."""
        begin, T, K = self.chunk.begin[i], self.chunk.length[i], len(self.chain.start)
        truth = tuple(self.chunk.labels[begin : begin + T].tolist())
        legal = [(y, self.features(i, y)) for y in itertools.product(range(K), repeat=int(T))]
        legal = [(y, result) for y, result in legal if result is not None]
        costs = [sum(self.chain.costs[a, b] for a, b in zip(truth, y)) for y, _ in legal]
        number = [y for y, _ in legal].index(truth)
        vectors = np.array([result for _, result in legal])
        return [y for y, _ in legal], reference.Labelings(
            vectors, np.array(costs), number, float(self.chunk.importance[i])
        )


def lists(rng, n, M, n_rows, valued, origin):
    """Random features of n positions: lists as kernels read them, dense (n, M, slots), and which slots are real."""
    spread = rng.random(n_rows) < 0.5
    own = [np.arange(M) if wide else np.flatnonzero(rng.random(M) < 0.4) for wide in spread]
    first = np.concatenate([[0], np.cumsum([len(outputs) for outputs in own])])
    real = np.ones(first[-1])
    for r in np.flatnonzero(spread):
        real[first[r] : first[r + 1]] = rng.random(M) < 0.8
    dense = np.zeros((n, M, first[-1]))
    ends, rows, row_values, slots, outputs, values = ([0], [0]), [], [], [], [], []
    for t in range(n):
        for r in rng.integers(n_rows, size=rng.integers(0, 4)):  # a row may come twice
            x = float(rng.normal()) if valued else 1.0
            if len(own[r]) == M:
                rows.append(origin + first[r])
                row_values.append(x)
            else:
                slots.extend(origin + np.arange(first[r], first[r + 1]))
                outputs.extend(own[r])
                values.extend([x] * len(own[r]))
            for j, m in zip(range(first[r], first[r + 1]), own[r]):
                dense[t, m, j] += x * real[j]
        ends[0].append(len(rows))
        ends[1].append(len(slots))
    if not valued:
        row_values, values = [], []
    result = (
        np.array(ends[0], dtype=INDEX), np.array(rows, dtype=CODE), np.array(row_values, dtype=float),
        np.array(ends[1], dtype=INDEX), np.array(slots, dtype=CODE), np.array(outputs, dtype=CODE),
        np.array(values, dtype=float),
    )  # fmt: skip
    return result, dense, real


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    K, has_pairs, valued = draw(st.integers(1, 5)), draw(st.booleans()), draw(st.booleans())
    length = np.array(draw(st.lists(st.integers(1, 4 if K < 4 else 3), min_size=1, max_size=4)), dtype=INDEX)
    begin = np.cumsum(length) - length
    N = int(length.sum())
    labels = rng.integers(K, size=N).astype(CODE)
    labels.setflags(write=False)  # as a dataset has them: kernels are compiled for one kind of arrays
    first, last, inner = begin, begin + length - 1, np.setdiff1d(np.arange(N), begin)
    share = draw(st.sampled_from([0.0, 0.4]))
    start, end, forbidden = (rng.random(shape) < share for shape in (K, K, (K, K)))
    start[labels[first]] = end[labels[last]] = forbidden[labels[inner - 1], labels[inner]] = False
    arc_from, arc_to = (end.astype(INDEX) for end in np.nonzero(~forbidden & (rng.random((K, K)) < 0.8)))
    node_lists, nodes, node_real = lists(rng, N, K, 5, valued, 0)
    base, A = len(node_real), len(arc_from)
    pair_lists, pairs, pair_real = lists(rng, N, K * K, 4, valued, base + A)
    arc_slot = np.full((K, K), -1, dtype=CODE)
    arc_slot[arc_from, arc_to] = base + np.arange(A)
    W = base + A + (len(pair_real) if has_pairs else 0)
    node_features, pair_features = np.zeros((N, K, W)), np.zeros((N, K, K, W))
    node_features[..., :base] = nodes
    if has_pairs:
        pair_features[..., base + A :] = pairs.reshape(N, K, K, -1).transpose(0, 2, 1, 3)  # to·K + from
    real = np.concatenate([node_real, np.ones(A), pair_real if has_pairs else np.empty(0)]).astype(np.uint8)
    importance = rng.choice([0.0, 0.5, 1.0, 2.0], size=len(length))
    costs = rng.random((K, K)) * ~np.eye(K, dtype=bool)
    chunk = kernels.Chunk(
        kernels.Features(*node_lists, begin), kernels.Features(*pair_lists, begin), labels, begin, length, importance
    )
    never = np.where(start, -np.inf, 0.0), np.where(end, -np.inf, 0.0)
    chain = kernels.Chain(*never, arc_from, arc_to, base, arc_slot, real, costs, has_pairs)
    return Case(chunk, chain, node_features, pair_features, forbidden, draw(st.sampled_from([0.05, 1.0])))


def new_buffers(case):
    K, T, W = len(case.chain.start), int(case.chunk.length.max()), case.n_weights
    n_cells = T * K + T * K * K
    return kernels.Buffers(
        np.empty((T, K)), np.empty((T, K)), np.empty((T, K * K)), np.empty(T, dtype=CODE),
        np.empty(n_cells), np.zeros(n_cells, dtype=np.uint8), np.empty(n_cells, dtype=INDEX),
        np.empty(W), np.zeros(W, dtype=np.uint8), np.empty(W, dtype=INDEX),
    )  # fmt: skip


def table(case, w):
    edges = case.edges()
    edges[case.chain.arc_from, case.chain.arc_to] += w[case.chain.arc_base :][: len(case.chain.arc_from)]
    return edges


class Run:
    """Steps of the kernel over a case, from the start."""

    def __init__(self, case):
        self.case = case
        self.w, self.late, self.totals = np.zeros(case.n_weights), np.zeros(case.n_weights), np.zeros(3)
        self.state = kernels.State(self.w, table(case, self.w), self.late, self.totals)
        self.buffers = new_buffers(case)
        self.blocks = [new_blocks(1, 0) for _ in case.chunk.length]

    def step(self, i):
        """A step of one sequence, as a chunk of its own."""
        old, new = self.blocks[i], new_blocks(1, len(self.blocks[i].cells) + 4 * int(self.case.chunk.length[i]))
        fixed = self.case.one(i), self.case.chain, np.zeros(1, dtype=INDEX), self.case.l2, self.state
        n = kernels.take_steps(*fixed, old, new, self.buffers)
        self.blocks[i] = new._replace(cells=new.cells[:n].copy(), values=new.values[:n].copy())


def new_blocks(n_sequences, n_cells):
    ends = np.zeros((2, n_sequences), dtype=INDEX)
    return kernels.Blocks(ends[0], ends[1], np.empty(n_cells, dtype=INDEX), np.empty(n_cells))


@examples(60)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_losses_equal_the_largest_of_all_labelings(case, seed):
    w = np.random.default_rng(seed).normal(size=case.n_weights) * case.chain.real
    twin = reference.Dual([case.labelings(i)[1] for i in range(len(case.chunk.length))], case.l2)
    result = kernels.losses(case.chunk, case.chain, w, table(case, w), new_buffers(case))
    np.testing.assert_allclose(result + case.l2 * w @ w, twin.loss(w), rtol=1e-9, atol=1e-9)


@examples(60)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_steps_equal_those_of_the_twin(case, seed):
    """Weights, dual and average after three passes; no mark is left behind, and no cell that is 0."""
    every, listed = zip(*(case.labelings(i) for i in range(len(case.chunk.length))))
    twin, run = reference.Dual(list(listed), case.l2), Run(case)
    for i in np.random.default_rng(seed).integers(len(every), size=3 * len(every)):
        run.step(i)
        if case.chunk.importance[i] > 0.0:
            result = every[i].index(tuple(run.buffers.labels[: case.chunk.length[i]].tolist()))
            values = twin.best(i)
            np.testing.assert_allclose(values[result], values.max(), rtol=1e-9, atol=1e-9)
            twin.step(i, result)
        np.testing.assert_allclose(run.w, twin.weights, rtol=0, atol=1e-8)
    totals, share = run.totals, 1.0 / max(1.0, run.totals[0] * (run.totals[0] + 1.0))
    np.testing.assert_allclose(totals[:2], [twin.n_steps, twin.costs.sum()], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.w - share * run.late, twin.average, rtol=0, atol=1e-8)
    np.testing.assert_allclose(totals[1] - share * totals[2], twin.average_cost, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(run.state.edges, table(case, run.w))
    assert not run.buffers.seen.any()
    assert not run.buffers.marked.any()
    assert all((blocks.values != 0.0).all() for blocks in run.blocks)
    assert (run.w[case.chain.real == 0] == 0.0).all()


@examples(30)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_a_chunk_at_once_is_its_sequences_one_by_one(case, seed):
    n_sequences = len(case.chunk.length)
    rng, alone, at_once = np.random.default_rng(seed), Run(case), Run(case)
    blocks = new_blocks(n_sequences, 0)
    for _ in range(3):
        order = rng.permutation(n_sequences)
        new = new_blocks(n_sequences, len(blocks.cells) + 4 * int(case.chunk.length.sum()))
        n = kernels.take_steps(case.chunk, case.chain, order, case.l2, at_once.state, blocks, new, at_once.buffers)
        blocks = new._replace(cells=new.cells[:n].copy(), values=new.values[:n].copy())
        for i in order:
            alone.step(i)
    for result, expected in zip(at_once.state, alone.state):
        np.testing.assert_array_equal(result, expected)
    for i in range(n_sequences):
        own = slice(blocks.begin[i], blocks.end[i])
        np.testing.assert_array_equal(blocks.cells[own], alone.blocks[i].cells)
        np.testing.assert_array_equal(blocks.values[own], alone.blocks[i].values)
