"""Boosting by the members of a pool has the bits of boosting by one process."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import encode, learn
from hedgerow.parallel import Lanes
from hedgerow.training.boosting import chain, rows
from hedgerow.training.boosting.chain import Booster, plan_shards
from hedgerow.training.boosting.pooled import PooledBooster, TreeMember
from hedgerow.training.boosting.rows import Totals
from hedgerow.training.boosting.scores import Start
from hedgerow.training.counting import count_known_moves
from hedgerow.trees import growing
from hedgerow.trees.binning import bin_dataset, learn_binning
from hedgerow.trees.shared_binning import bin_piece
from tests.reference.engine import LocalPool


def corpus(kind: str, n_labels: int, rng):
    """Sequences of numbers, of words, of both, or of lists of attributes."""
    X, y = [], []
    for _ in range(40):
        n = int(rng.integers(1, 30))
        state = rng.integers(n_labels, size=n)
        state = np.where(rng.random(n) < 0.5, np.roll(state, 1), state)
        number, word = state + rng.normal(size=n), (state + rng.integers(3, size=n)) % 7
        if kind == "numbers":
            X.append(np.column_stack([number, rng.normal(size=n)]))
        elif kind == "words":
            X.append([{"word": f"w{w}", "other": f"o{rng.integers(400)}"} for w in word])
        elif kind == "both":
            X.append([{"word": f"w{w}", "x": float(v)} for w, v in zip(word, number)])
        else:
            X.append([[f"a{w}", f"b{rng.integers(500)}"] for w in word])
        y.append([f"L{k}" for k in state])
    return learn(X, y, window=1)


def members(dataset, binning, n_members, **options):
    """The makers of members, each with a run of the shards."""
    plan = plan_shards(dataset.offsets)
    cuts = np.unique(np.linspace(0, len(plan) - 1, n_members + 1).astype(int))
    makers = []
    for a, b in pairwise(cuts.tolist()):
        piece = bin_piece(dataset.take(np.arange(plan[a], plan[b])), binning)
        own = dataset.take(np.arange(0)), binning, 2, options, plan[a : b + 1] - plan[a], [piece]
        makers.append(partial(TreeMember, *own))
    return makers


def both(dataset, n_members, n_growers, **options):
    """A booster of the whole corpus, and one of as many members."""
    binning = learn_binning(dataset)
    start = Start(StateSpace.full(dataset.n_labels), np.zeros((dataset.n_labels + 1, dataset.n_labels)))
    alone = Booster(dataset, bin_dataset(binning, dataset, postings=True), Lanes(1, 8), start=start, **options)
    totals = Totals.of(dataset)
    shared = {"start": start, "totals": totals, "n_growers": n_growers, **options}
    pool = LocalPool(members(dataset, binning, n_members, **shared))
    nothing = encode(dataset.schema, [], [], may_be_empty=True)
    moves, inner = count_known_moves(dataset, np.ones(dataset.n_positions)), dataset.n_positions - len(dataset)
    no_data = bin_dataset(binning, nothing, postings=True)
    led = PooledBooster(pool, nothing, no_data, Lanes(1, 8), moves=moves, inner=inner, **shared)
    return alone, led


def same_trees(one, other):
    for a, b in zip(one, other, strict=True):
        for field in ("nodes", "values", "gains", "counts", "sets"):
            assert np.array_equal(getattr(a, field), getattr(b, field)), field


def options_of(edges):
    """Those of trees with such edges; "vectors": shared ones, and a tree for all labels."""
    options = {"leaves": "newton", "max_leaf_nodes": 8, "l2_regularization": 1.0, "learning_rate": 0.3}
    return options | ({"edges": "shared", "vectors": True} if edges == "vectors" else {"edges": edges})


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch):
    monkeypatch.setattr(chain, "CHUNK_POSITIONS", 20)
    monkeypatch.setattr(chain, "MOST_IN_SHARD", 60)


@pytest.mark.parametrize("edges", ["joint", "shared"])
@pytest.mark.parametrize("kind", ["numbers", "words", "both", "attributes"])
@pytest.mark.parametrize(("n_members", "n_growers", "n_labels"), [(1, 3, 3), (3, 2, 3), (5, 20, 20)])
def test_members_grow_the_trees_of_one_process(kind, edges, n_members, n_growers, n_labels, rng):
    subsets = kind == "words"
    alone, led = both(
        corpus(kind, n_labels, rng), n_members, n_growers, edges=edges, leaves="newton", max_leaf_nodes=8,
        l2_regularization=1.0, learning_rate=0.3, subsets=subsets, max_features=0.7 if n_members == 3 else 1.0,
    )  # fmt: skip
    for _ in range(4):
        assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)
        same_trees(alone.step(), led.step())
        alone.rescale(alone.scale / 2)
        led.rescale(led.scale / 2)
    assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)


@pytest.mark.parametrize("kind", ["numbers", "both"])
@pytest.mark.parametrize(("n_members", "n_labels"), [(1, 7), (2, 20), (3, 7), (5, 20)])
def test_members_grow_the_tree_for_all_labels(kind, n_members, n_labels, rng):
    alone, led = both(
        corpus(kind, n_labels, rng), n_members, 1, edges="shared", leaves="newton", max_leaf_nodes=8, vectors=True,
        l2_regularization=1.0, learning_rate=0.3, max_features=0.7 if n_members == 3 else 1.0,
    )  # fmt: skip
    for _ in range(4):
        assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)
        (tree,) = alone.step()
        assert tree.values.shape == (len(tree.nodes), n_labels)
        same_trees([tree], led.step())
        alone.rescale(alone.scale / 2)
        led.rescale(led.scale / 2)
    assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)


@pytest.mark.parametrize("edges", ["joint", "shared", "vectors"])
def test_members_add_the_noise_of_one_process(edges, rng, monkeypatch):
    """Where so many rows leave words few bits, noise is added to gradients: to a row the same, wherever it lies."""
    for module in (growing, rows):
        monkeypatch.setattr(module, "WORD_BITS", 36)
    options = options_of(edges)
    alone, led = both(corpus("both", 3, rng), 3, 2, **options)
    assert alone._rows.noisy
    for _ in range(3):
        assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)
        same_trees(alone.step(), led.step())


@pytest.mark.parametrize(("edges", "n_iterations"), [("joint", 5), ("shared", 5), ("vectors", 15)])
def test_a_member_that_is_made_anew_is_what_it_was(edges, n_iterations, rng):
    dataset = corpus("both", 3, rng)
    options = options_of(edges)
    alone, led = both(dataset, 3, 2, **options)

    n_calls = {"call": 0, "swap": 0}

    def replacing(kind):
        whole = getattr(led.pool, kind)

        def call(*given):
            n_calls[kind] += 1
            # Every other evaluation finds a member made anew, and every 17th swap: in other rounds of the growth.
            if n_calls[kind] % {"call": 2, "swap": 17}[kind] == 0:
                m = n_calls[kind] // 2 % 3
                led.pool.seats[m] = fresh(dataset, options, m)
            return whole(*given)

        return call

    led.pool.call, led.pool.swap = replacing("call"), replacing("swap")
    for _ in range(n_iterations):
        assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)
        same_trees(alone.step(), led.step())
        alone.rescale(alone.scale / 2)
        led.rescale(led.scale / 2)
    assert n_calls["call"] >= 4
    assert n_calls["swap"] > 51
    assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)


def fresh(dataset, options, m):
    """A seat as it is before any call."""
    return both(dataset, 3, 2, **options)[1].pool.seats[m]
