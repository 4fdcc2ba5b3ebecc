"""Learning as search optimisation: the kernels against a dictionary of weights and labelings in plain Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import learn
from hedgerow.errors import InputError
from hedgerow.linear.batches import RowReader
from hedgerow.models.search.features import Searcher, good_labels, lay_out_search, legal_moves, open_labels
from hedgerow.models.search.parameters import SearchParameters
from hedgerow.models.search.training import UPDATES
from tests.examples import examples
from tests.reference.search_learning import Search


def make_corpus(rng, n_sequences, n_labels, longest):
    """Numbers, so that labelings do not tie, and a word."""
    X, y = [], []
    for _ in range(n_sequences):
        length = int(rng.integers(1, longest + 1))
        labels = rng.integers(n_labels, size=length)
        X.append([{"a": float(rng.normal() + v), "b": float(rng.normal()), "w": f"w{rng.integers(3)}"} for v in labels])
        y.append(labels.tolist())
    y[0] = [v % n_labels for v in range(n_labels)]  # every label is there
    X[0] = [{"a": float(rng.normal()), "b": float(rng.normal()), "w": "w0"} for _ in y[0]]
    return learn(X, y, window=(1, 0))


def make_space(rng, dataset, forbid):
    """Legal moves that the corpus obeys."""
    K = dataset.n_labels
    if not forbid:
        return StateSpace.full(K)
    seen = StateSpace.observed(dataset.labels, dataset.offsets, K)
    return StateSpace(
        seen.start | (rng.random(K) < 0.3),
        seen.transitions | (rng.random((K, K)) < 0.2),
        seen.end | (rng.random(K) < 0.3),
    )


def in_order(dataset, layout):
    """The sequences as the reference takes them, in the order of the search: positions, and labels."""
    reader = RowReader(dataset, layout.nodes)
    for i in range(dataset.n_sequences):
        reader.read(np.array([i]))
        ends = reader.ptr.tolist()
        x = [list(zip(reader.row[a:b].tolist(), reader.value[a:b].tolist())) for a, b in pairwise(ends)]
        y = tuple(dataset.labels[dataset.offsets[i] : dataset.offsets[i + 1]].tolist())
        yield (x[::-1], y[::-1]) if layout.backward else (x, y)


def literal(layout, width):
    """The reference with the same weights."""
    nodes, space, K = layout.nodes, layout.space, layout.n_labels
    own = set(zip(nodes.slot_rows().tolist(), nodes.slot_label.tolist()))
    runs = {run if layout.backward else run[::-1] for run in layout.runs()}
    start, end = (space.end, space.start) if layout.backward else (space.start, space.end)
    moves = legal_moves(layout.space, backward=layout.backward)

    def known(key):
        if key[0] == "node":
            return key[1:] in own
        return key[0] != "run" or key[1] in runs

    return Search(
        K, layout.order, layout.label_counts, width, known,
        moves=lambda u, v: bool(start[v] if u is None else moves[u, v]), ends=lambda v: bool(end[v]),
    )  # fmt: skip


def keys_of(layout):
    """The keys of the reference, in the order of the layout."""
    nodes, K = layout.nodes, layout.n_labels
    runs = [run if layout.backward else run[::-1] for run in layout.runs()]
    return [
        *(("node", r, v) for r, v in zip(nodes.slot_rows().tolist(), nodes.slot_label.tolist())),
        *(("run", run, v) for run in runs for v in range(K)),
        *(("back", i, u, v) for i in range(2, layout.order + 1) for u in range(K + 1) for v in range(K)),
        *(("count", u, c, v) for u in range(K) for c in range(layout.label_counts) for v in range(K)),
    ]


def vector(layout, weights):
    """A dictionary of weights in the order of the layout."""
    keys = keys_of(layout)
    assert set(weights) <= set(keys)
    return np.array([weights.get(key, 0.0) for key in keys])


def lay_out(dataset, space, order, counts, *, backward):
    direction = "right_to_left" if backward else "left_to_right"
    own = SearchParameters(order=order, label_counts=counts, pairs="all", min_frequency=0.0, direction=direction)
    return lay_out_search(own, dataset, space)


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    update=st.sampled_from(UPDATES),
    order=st.integers(0, 3),
    counts=st.integers(0, 2),
    width=st.sampled_from([1, 2, 4, 7]),
    backward=st.booleans(),
    forbid=st.booleans(),
    weighted=st.booleans(),
)
def test_the_kernel_learns_what_the_reference_learns(seed, update, order, counts, width, backward, forbid, weighted):
    rng = np.random.default_rng(seed)
    dataset = make_corpus(rng, 6, int(rng.integers(2, 4)), 6)
    space = make_space(rng, dataset, forbid)
    layout = lay_out(dataset, space, order, counts, backward=backward)
    searcher, plain = Searcher(layout, dataset, width), literal(layout, width)
    open_ = open_labels(layout.space, dataset, None, backward=layout.backward)
    good, partial = good_labels(layout, dataset)
    w, total = rng.normal(size=layout.n_weights), np.zeros(layout.n_weights)  # from 0, violations tie but for a bit
    plain.weights.update(zip(keys_of(layout), w.tolist()))
    everything = np.arange(dataset.n_sequences)
    sequences = list(in_order(dataset, layout))
    label_weights = rng.uniform(0.2, 5.0, dataset.n_labels) if weighted else None
    if weighted:
        plain.label_weights = dict(enumerate(label_weights.tolist()))
    for age in (0, len(everything)):
        how = UPDATES.index(update), w, total, age, label_weights
        loss, _ = searcher.learn(everything, open_, good, partial, *how)
        expected = sum(plain.learn(x, y, update) for x, y in sequences)
        np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(w, vector(layout, plain.weights), rtol=1e-9, atol=1e-9)
        average = w - total / (age + len(everything))
        np.testing.assert_allclose(average, vector(layout, plain.averaged()), rtol=1e-9, atol=1e-9)
    found = np.split(searcher.search(everything, open_, w), dataset.offsets[1:-1])
    for (x, _), own in zip(sequences, found):
        assert plain.find(x) == tuple(own[::-1] if backward else own)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_labels_that_are_open_can_go_on_to_an_end(seed, backward):
    """Against all labelings of a sequence: its first label counts only where it may start."""
    rng = np.random.default_rng(seed)
    dataset = learn([["a"] * 4, ["a"], ["a"] * 3], [[0, 1, 2, 0], [2], [2, 1, 0]])
    space = StateSpace(rng.random(3) < 0.8, rng.random((3, 3)) < 0.6, rng.random(3) < 0.8)
    layout = lay_out(dataset, space, 1, 0, backward=backward)
    plain = literal(layout, 1)
    legal = [[y for y in np.ndindex(*(3,) * n) if plain.possible(y, n)] for n in (4, 1, 3)]
    if not all(legal):
        with pytest.raises(InputError, match=f"sequence {[bool(ways) for ways in legal].index(False)}"):
            open_labels(layout.space, dataset, None, backward=layout.backward)
        return
    mask = np.split(open_labels(layout.space, dataset, None, backward=layout.backward), dataset.offsets[1:-1])
    for own, ways in zip(mask, legal):
        steps = own[::-1] if backward else own
        n = len(own)
        for j in range(n):
            ends = {y[0] for y in np.ndindex(*(3,) * (n - j)) if _goes_on(plain, y, first=j == 0)}
            assert set(np.flatnonzero(steps[j]).tolist()) == ends
        assert {y[0] for y in ways} == set(np.flatnonzero(steps[0]).tolist())


def _goes_on(plain, labels, *, first):
    """Whether labels up to the end of a sequence are legal, but for what comes before them."""
    moves = all(plain.moves(u, v) for u, v in pairwise(labels))
    return moves and plain.ends(labels[-1]) and (not first or plain.moves(None, labels[0]))


def test_an_exhaustive_search_finds_the_best_labeling_that_is_allowed():
    rng = np.random.default_rng(0)
    dataset = make_corpus(rng, 8, 3, 5)
    layout = lay_out(dataset, StateSpace.full(3), 2, 1, backward=False)
    w = rng.normal(size=layout.n_weights)
    allowed = rng.random((dataset.n_positions, 3)) < 0.6
    allowed[np.arange(dataset.n_positions), dataset.labels] = True
    found = Searcher(layout, dataset, 3**5).search(
        np.arange(8), open_labels(layout.space, dataset, allowed, backward=layout.backward), w
    )
    plain = literal(layout, 1)
    plain.weights.update(zip(keys_of(layout), w.tolist()))
    for i, (x, _) in enumerate(in_order(dataset, layout)):
        rows = slice(dataset.offsets[i], dataset.offsets[i + 1])
        ways = [y for y in np.ndindex(*(3,) * len(x)) if allowed[rows][np.arange(len(x)), y].all()]
        assert tuple(found[rows]) == max(ways, key=lambda y: plain.score(x, y))


def test_what_is_not_known_is_the_best_that_fits():
    """A sequence with unknown labels is learnt as one whose labels are what the search finds among the right ones."""
    rng = np.random.default_rng(1)
    dataset = make_corpus(rng, 5, 3, 5)
    layout = lay_out(dataset, StateSpace.full(3), 1, 1, backward=True)
    labels = dataset.labels.copy()
    labels[rng.random(len(labels)) < 0.4] = -1
    partly = replace(dataset, labels=labels)
    good, partial = good_labels(layout, partly)
    open_ = open_labels(layout.space, dataset, None, backward=layout.backward)
    start = rng.normal(size=layout.n_weights)
    for i in np.flatnonzero(partial):
        one, searcher = np.array([i]), Searcher(layout, partly, 4)
        filled = labels.copy()
        filled[dataset.offsets[i] : dataset.offsets[i + 1]] = searcher.search(one, good, start)
        w, total = start.copy(), np.zeros(layout.n_weights)
        expected, other = start.copy(), np.zeros(layout.n_weights)
        searcher.learn(one, open_, good, partial, 2, w, total, 3)
        none = np.zeros_like(partial)
        Searcher(layout, replace(dataset, labels=filled), 4).learn(one, open_, good, none, 2, expected, other, 3)
        np.testing.assert_array_equal(w, expected)
        np.testing.assert_array_equal(total, other)
