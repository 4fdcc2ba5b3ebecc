"""Working vectors, lists of features, and batches against the ordinary scorer."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.objectives import log_likelihood
from hedgerow.chain.potentials import Truth
from hedgerow.linear import working
from hedgerow.linear.batches import BatchChain
from hedgerow.linear.chain import LinearChain
from tests.models.corpora import COLUMNS, Loss, rich_corpus

FORMS = {
    "plain": {},
    "window": {"window": 1},
    "rules": {"constraints": "iob2"},
    "seen moves": {"transitions": "observed"},
    "every pair": {"pairs": "all"},
    "pairs": {"transition_columns": ["word", "size"], "window": (1, 0)},
}


@pytest.fixture(scope="module", params=FORMS)
def loss(request) -> Loss:
    X, y = rich_corpus(40, seed=3)
    return Loss(X, y, columns=COLUMNS, **FORMS[request.param])


def chains(loss):
    return [BatchChain(loss.layout, loss.dataset, kept_bytes) for kept_bytes in (1 << 30, 0)]


def test_weights_come_back(loss, rng):
    weights = rng.normal(size=loss.n_weights)
    layout = chains(loss)[0].working
    x = layout.pack(weights)
    np.testing.assert_array_equal(layout.unpack(x), weights)
    np.testing.assert_array_equal(x[layout.arcs], loss.layout.split(weights)[1])
    assert layout.real.sum() == loss.n_weights
    assert not x[layout.real == 0].any()


def test_wide_rows_are_spread(loss, monkeypatch):
    monkeypatch.setattr(working, "SPREAD_SIZE", 2)
    nodes = chains(loss)[0].working.nodes
    sizes = np.diff(loss.layout.nodes.row_ptr)
    assert nodes.n_spread == (sizes >= 2).sum() > 0
    np.testing.assert_array_equal(nodes.n_slots_of, np.where(sizes >= 2, 3, sizes))
    taken = np.concatenate([a + np.arange(n) for a, n in zip(nodes.first_slot, nodes.n_slots_of)])
    np.testing.assert_array_equal(np.sort(taken), np.arange(nodes.n_slots))  # no slot belongs to two rows


@pytest.mark.parametrize("spread", [1, 2, 99])
def test_potentials_and_gradients_are_those_of_the_ordinary_scorer(loss, spread, rng, monkeypatch):
    monkeypatch.setattr(working, "SPREAD_SIZE", spread)
    weights = rng.normal(size=loss.n_weights)
    batch = rng.permutation(40)[:7]
    data = loss.dataset.take(batch)
    plain = LinearChain(loss.layout)
    plain.load(weights)
    expected = plain.potentials(plain.compile(data, 0, 7))
    found = log_likelihood(expected, Truth(data.labels))
    for chain in chains(loss):
        x = chain.working.pack(weights) / 0.5
        assert chain.open(batch) == data.n_positions
        chain.score(x, 0.5)
        actual = chain.potentials(x, 0.5)
        np.testing.assert_allclose(actual.node_scores, expected.node_scores, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(actual.edges.scores_to, expected.edges.scores_to, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(actual.offsets, expected.offsets)
        np.testing.assert_array_equal(chain.first[: chain.n + 1], expected.first)
        np.testing.assert_array_equal(loss.dataset.labels[chain.rows()], data.labels)
        assert [actual.sequence_number(i) for i in range(7)] == batch.tolist()
        chain.active[: chain.n] = 1
        gradient = np.zeros(chain.working.size)
        chain.pull(found.node_gradient, chain.pull_arcs(found.edge_gradient, gradient), gradient)
        whole = Loss.__call__(_Part(loss, data), weights)[1]
        np.testing.assert_allclose(chain.working.unpack(gradient), whole, rtol=1e-9, atol=1e-10)


class _Part(Loss):
    """The loss of some sequences in the layout of all."""

    def __init__(self, loss: Loss, data) -> None:
        self.layout, self.dataset, self.n_jobs = loss.layout, data, None


def test_a_direction_is_the_difference_of_two_scores(loss, rng):
    weights, direction = rng.normal(size=(2, loss.n_weights))
    batch = np.array([3, 1, 30])
    for chain in chains(loss):
        pack = chain.working.pack
        chain.open(batch)
        nodes, edges = chain.direction(pack(direction))
        scores = []
        for point in (weights + direction, weights):
            chain.score(pack(point))
            potentials = chain.potentials(pack(point))
            tables = potentials.edges
            scores.append(
                (potentials.node_scores.copy(), (tables.scores_to if tables.per_position else tables.scores).copy())
            )
        for along, (after, before) in zip((nodes, edges), zip(*scores)):
            legal = before > -np.inf
            np.testing.assert_allclose(along[legal], (after[legal] - before[legal]), rtol=1e-9, atol=1e-9)
            assert np.isfinite(along).all()


def test_lists_are_kept_up_to_a_limit(loss):
    kept = BatchChain(loss.layout, loss.dataset, 1 << 30)
    size = kept._parts[0].n_bytes
    arrays = kept._parts[0].lists
    assert sum(array.nbytes for array in arrays) == size + 16  # the two pointers have one more
    assert BatchChain(loss.layout, loss.dataset, size)._parts[0].kept
    assert not BatchChain(loss.layout, loss.dataset, size - 1)._parts[0].kept


def test_scores_that_are_no_numbers_are_noticed(loss, rng):
    chain = chains(loss)[0]
    x = chain.working.pack(rng.normal(size=loss.n_weights))
    chain.open(np.arange(40))
    chain.score(x)
    assert chain.finite(x)
    for bad in (np.nan, np.inf, -np.inf):
        for slot in (
            chain.working.arcs.start,
            int(chain.working.nodes.place[np.argmax(loss.statistics.frequency[:5])]),
        ):
            spoilt = x.copy()
            spoilt[slot] = bad
            chain.score(spoilt)
            assert not chain.finite(spoilt)
