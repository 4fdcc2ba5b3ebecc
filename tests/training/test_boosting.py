"""Boosting a chain: the loss falls, trees predict what training added, rows count as they should, and threads do not
change a bit."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import PositionEdges
from hedgerow.chain.inference import log_partition
from hedgerow.chain.objectives import log_likelihood, pseudo_likelihood
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.parallel import Lanes
from hedgerow.training import memory
from hedgerow.training.boosting import chain as boosting
from hedgerow.training.boosting import rows
from hedgerow.training.boosting.chain import Booster
from hedgerow.training.boosting.rows import newton_unit
from hedgerow.training.boosting.scores import Start
from hedgerow.trees import growing
from hedgerow.trees.binning import bin_dataset, learn_binning
from hedgerow.trees.ensemble import add_trees, add_vector_trees
from tests.reference import growing as slow

FORMS = {
    "joint": {},
    "shared": {"edges": "shared"},
    "subsample": {"subsample": 0.5, "seed": 1},
    "positions": {"subsample": 0.5, "subsample_by": "positions"},
    "trim": {"trim": 0.1},
    "forest": {"trees_per_step": 3, "max_features": 0.5},
    "newton": {"leaves": "newton"},
    "shared newton": {"edges": "shared", "leaves": "newton"},
    "shared forest": {"edges": "shared", "trees_per_step": 2, "subsample": 0.7},
    "subsets": {"subsets": True},
    "shared vectors": {"edges": "shared", "leaves": "newton", "vectors": True},
    "shared vectors of samples": {"edges": "shared", "leaves": "newton", "vectors": True, "subsample": 0.6},
}


@pytest.fixture(scope="module")
def corpus():
    X, y = make_sequences(60, 3, random_state=0)
    return prepare(learn(X, y, window=1))


def prepare(dataset):
    return dataset, bin_dataset(learn_binning(dataset), dataset, postings=True)


def boost(corpus, n_iterations, *, n_jobs=1, start=None, objective=log_likelihood, **options):
    options = {"max_leaf_nodes": 8, "l2_regularization": 5.0, "learning_rate": 1.0} | options
    losses = []
    with Lanes(n_jobs, 8) as lanes:
        booster = Booster(*corpus, lanes, start=start, **options)
        for _ in range(n_iterations):
            losses.append(booster.evaluate(objective))
            booster.step()
        losses.append(booster.evaluate(objective))
    return booster, losses


def gradient_bits(unit):
    """That a word leaves at least: all of them where curvatures have more than they need, or as many as these."""
    return 16 if unit > 512 else unit.bit_length() - 1


def trees_of(booster):
    return [tree for one in booster.iterations for tree in one.trees]


def rows_of(booster, label):
    """Of the words that were made for a label: counts (P, K') by place, and gradients."""
    grower = booster._growers[0]
    booster._rows.fill(grower, label, booster.shards, booster._gradients, booster._sampler.draw(0, 0))
    mask = (1 << grower.bits) - 1
    counts = (grower.words & mask) / grower.unit * booster._rows.scale
    return counts, (grower.words >> grower.bits) / grower.one * booster._rows.scale


@pytest.mark.parametrize("form", ["joint", "shared", "newton", "forest", "shared vectors"])
@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
def test_loss_falls_at_every_small_step(form, objective, corpus):
    _, losses = boost(corpus, 15, objective=objective, **FORMS[form] | {"learning_rate": 0.2})
    assert np.all(np.diff(losses) < 0)


def test_zero_scores_cost_log_k_a_position(corpus):
    _, losses = boost(corpus, 1)
    assert losses[0] == pytest.approx(corpus[0].n_positions * np.log(3))


@pytest.mark.parametrize("form", FORMS)
def test_trees_predict_the_scores_of_training(form, corpus):
    dataset = corpus[0]
    booster, _ = boost(corpus, 4, **FORMS[form])
    n_before = 1 if "shared" in form else 3
    edges, nodes = np.zeros((3, dataset.n_positions, n_before)), np.zeros((3, dataset.n_positions))
    if "vectors" in form:
        add_vector_trees(booster.data, booster.data.place, trees_of(booster), nodes)
    else:
        add_trees(booster.data, booster.data.place, trees_of(booster), edges, nodes)
    for shard in booster.shards:
        rows = slice(shard.begin, shard.end)
        potentials = shard.potentials()
        starts = shard.offsets[:-1] if isinstance(potentials.edges, PositionEdges) else slice(None)
        np.testing.assert_allclose(nodes[:, rows][:, starts], shard.start_scores, atol=1e-12)
        if isinstance(potentials.edges, PositionEdges):
            inner = potentials.first[:-1] == 0
            np.testing.assert_allclose(edges[:, rows][:, inner], potentials.edges.scores_to[:, inner], atol=1e-12)
        else:
            total = sum(one.table for one in booster.iterations)
            np.testing.assert_allclose(potentials.edges.scores, total, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_threads_do_not_change_a_bit(form, corpus):
    one, two = (boost(corpus, 3, n_jobs=n, **FORMS[form]) for n in (1, 4))
    assert one[1] == two[1]
    for a, b in zip(trees_of(one[0]), trees_of(two[0])):
        np.testing.assert_array_equal(a.nodes, b.nodes)
        np.testing.assert_array_equal(a.values, b.values)


def test_first_trees_are_those_of_the_paper(corpus):
    """Table 2 of the 2004 paper by hand: at zero scores the gradient is 1/K² − truth, and 1/K − truth at the start."""
    dataset, data = few = prepare(corpus[0].take(np.arange(20)))
    booster, _ = boost(few, 1)
    labels, K, streams = dataset.labels, 3, data.columns.streams
    one = booster._growers[0].one
    kinds, n_bins = streams[4].tolist(), streams[3].tolist()
    starts = set(dataset.offsets.tolist())
    for k in range(K):
        rows = []
        for t in range(dataset.n_positions):
            window = [int(data.bins[c, data.place[t] + o]) for c, o in streams[:2].T]
            if t in starts:
                rows.append(slow.Row(t, window, K, round((1 / K - (labels[t] == k)) * one)))
            else:
                truth = [labels[t] == k and labels[t - 1] == u for u in range(K)]
                rows += [slow.Row(t, window, u, round((1 / K**2 - truth[u]) * one)) for u in range(K)]
        root, leaves = slow.grow(rows, slow.Rules(kinds, n_bins, K, 8, 5.0))
        tree = booster.iterations[0].trees[k]
        assert root.split == tuple(tree.nodes[0, :3])
        values = sorted(-sum(row.target for row in leaf.rows) / one / (len(leaf.rows) + 5.0) for leaf in leaves)
        np.testing.assert_allclose(sorted(tree.values[tree.nodes[:, 0] == slow.LEAF]), values, atol=1e-7)


def test_memory_of_joint_edges_is_bounded():
    """Of each row with 5 labels: 25 exponentials, 10 messages, 5 words, and what is listed while a tree grows."""
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 5, 100).tolist() for _ in range(200)]
    corpus = prepare(learn([rng.normal(size=(100, 1)) for _ in y], y, window=0))
    options = {"leaves": "newton", "edges": "joint"}
    boost(prepare(corpus[0].take(np.arange(20))), 1, **options)  # compiles
    tracemalloc.start()
    try:
        boost(corpus, 1, **options)
        assert (
            tracemalloc.get_traced_memory()[1] < 20_000 * 400
        )  # 364 were seen, and 556 where each shard kept all of its messages
    finally:
        tracemalloc.stop()


class TestScores:
    def test_exponentials_that_would_overflow_are_made_anew(self, corpus):
        booster, _ = boost(corpus, 1)
        shard = booster.shards[0]
        shard.edge_exps *= np.exp(280.0)
        shard.moved(280.0)
        shard.potentials()
        shard.edge_exps *= np.exp(280.0)
        shard.moved(280.0)
        assert np.isfinite(log_partition(shard.potentials())).all()
        assert shard.potentials().edges.exps.max() == 1.0

    def test_they_are_made_anew_after_many_steps(self, corpus):
        booster, _ = boost(corpus, 1)
        shard = booster.shards[0]
        shard.edge_exps[:] = 7.0
        for _ in range(98):  # and one in the step
            shard.moved(0.0)
        assert shard.potentials().edges.exps.max() == 7.0
        shard.moved(0.0)
        assert shard.potentials().edges.exps.max() == 1.0

    def test_trees_go_on_from_a_start(self, corpus):
        """A constant start is what its table scores, in both forms."""
        rng = np.random.default_rng(0)
        start = Start(StateSpace.full(3), rng.normal(size=(4, 3)))
        losses = [boost(corpus, 0, start=start, edges=edges)[1][0] for edges in ("joint", "shared")]
        assert losses[0] == pytest.approx(losses[1], rel=1e-12)
        assert losses[0] != pytest.approx(boost(corpus, 0)[1][0])

    def test_resuming_is_going_on(self, corpus):
        for options in ({}, FORMS["shared"], FORMS["shared vectors"]):
            whole, losses = boost(corpus, 4, **options)
            with Lanes(None, 8) as lanes:
                booster = Booster(*corpus, lanes, max_leaf_nodes=8, l2_regularization=5.0, **options)
                booster.resume(whole.iterations[:2])
                assert booster.evaluate() == pytest.approx(losses[2], rel=1e-12)
                booster.step()
                assert booster.evaluate() == pytest.approx(losses[3], rel=1e-9)
                assert len(booster.iterations) == 3

    def test_another_step_replaces_the_last(self, corpus):
        for options in ({}, FORMS["shared"], FORMS["shared vectors"], {"trees_per_step": 2, "max_features": 0.5}):
            with Lanes(None, 8) as lanes:
                booster = Booster(*corpus, lanes, max_leaf_nodes=8, l2_regularization=5.0, **options)
                booster.evaluate()
                booster.step()
                booster.rescale(0.25)
            other, losses = boost(corpus, 1, learning_rate=0.25, **options)
            assert booster.evaluate() == pytest.approx(losses[1], rel=1e-12)
            np.testing.assert_allclose(trees_of(booster)[0].values, trees_of(other)[0].values, rtol=1e-12)

    @pytest.mark.parametrize("form", ["joint", "shared", "forest", "newton"])
    def test_the_slope_is_that_of_the_loss(self, form, corpus):
        booster, _ = boost(corpus, 3, **FORMS[form])
        before = booster.evaluate()
        booster.step(1e-6)
        slope = booster.slope()
        assert (booster.evaluate() - before) / 1e-6 == pytest.approx(slope, rel=1e-3)


class TestRows:
    def test_all_count_one(self, corpus):
        booster, _ = boost(corpus, 0)
        counts, gradients = rows_of(booster, 0)
        first = corpus[1].first[corpus[1].place] != 0
        own = counts[corpus[1].place]
        assert (own[~first] == 1).all()
        assert (own[first] == [1, 0, 0]).all()
        np.testing.assert_allclose(
            np.unique(gradients[corpus[1].place][~first].round(6)), [1 / 9 - 1, 1 / 9], atol=1e-6
        )

    def test_forbidden_arcs_are_no_rows(self, corpus):
        dataset = corpus[0]
        for forbidden in ("arc", "start", "end"):
            space = StateSpace.full(3)
            space.transitions[1, 2] = forbidden != "arc"
            space.start[2] = forbidden != "start"
            space.end[2] = forbidden != "end"
            keep = _legal_sequences(dataset, space)
            own = prepare(dataset.take(keep))
            booster, losses = boost(own, 3, start=Start(space, np.zeros((4, 3))))
            counts = rows_of(booster, 2)[0][own[1].place]
            first = own[1].first[own[1].place] != 0
            last = np.zeros(len(first), dtype=bool)
            last[own[0].offsets[1:] - 1] = True
            expected = np.ones((len(first), 3))
            expected[first, 1:] = 0
            if forbidden == "arc":
                expected[~first, 1] = 0
            if forbidden == "start":
                expected[first] = 0
            if forbidden == "end":
                expected[last] = 0
            np.testing.assert_array_equal(counts, expected)
            assert np.isfinite(losses).all()
            assert losses[-1] < losses[0]

    @pytest.mark.parametrize("weights", [[2.0, 1.0, 3.0], [0.5, 0.25, 0.1], [1e6, 3e7, 9e3], [1e-6, 2e-6, 0.0]])
    def test_weights_count_as_rows(self, weights, corpus):
        dataset = corpus[0]
        spread = np.resize(weights, dataset.n_sequences)
        booster, _ = boost(prepare(replace(dataset, weight_seq=spread)), 0)
        counts = rows_of(booster, 0)[0][corpus[1].place]
        first = corpus[1].first[corpus[1].place] != 0
        expected = np.repeat(spread, np.diff(dataset.offsets))[~first]
        np.testing.assert_allclose(counts[~first][:, 0], expected, rtol=2e-3, atol=max(weights) * 3e-4)

    @pytest.mark.parametrize("overshot", [False, True])
    def test_rows_of_all_labels_are_those_of_each(self, overshot, corpus):
        space = StateSpace.full(3)
        space.end[2] = False
        dataset = corpus[0].take(_legal_sequences(corpus[0], space))
        own = prepare(replace(dataset, weight_seq=np.resize([0.5, 2.0, 0.0], dataset.n_sequences)))
        constant, found = np.vstack([np.diag([2.0, 1.0, 0.0]), np.zeros(3)]) + [0.0, 0.5, 1.0], []
        for vectors in (True, False):
            shape = {"edges": "shared", "leaves": "newton", "vectors": vectors}
            booster, _ = boost(own, 0, start=Start(space, constant), **shape)
            booster.overshot = overshot  # curvatures of runs of labels
            booster.evaluate()
            found.append([rows_of(booster, k) for k in range(1 if vectors else 3)])
        (((counts, gradients),), each) = found
        assert len(np.unique(counts[:, :3])) > 6  # labels differ, and weights
        np.testing.assert_array_equal(counts[:, :3], np.hstack([one for one, _ in each]))
        np.testing.assert_array_equal(gradients[:, :3], np.hstack([one for _, one in each]))
        if overshot:
            expected = np.repeat(own[0].weight_seq, np.diff(dataset.offsets))[:, None] * np.vstack(
                booster._rows.curvatures
            )
            expected[dataset.offsets[1:] - 1, 2] = 0.0
            np.testing.assert_allclose(counts[:, :3].sum(axis=0), expected.sum(axis=0), rtol=1e-3)

    @pytest.mark.parametrize(
        ("weights", "words"),
        [
            ([1.5, 3e-4, 0.0], "the largest sample_weight is 5,000 times the smallest; .* 1 / 4,096 of the largest"),
            ([3e7, 3.0, 9.0], "the largest sample_weight is 10,000,000 times the smallest"),
        ],
    )
    def test_weights_too_far_apart_for_the_fixed_point_are_told(self, weights, words, corpus):
        dataset = corpus[0]
        spread = np.resize(weights, dataset.n_sequences)
        with pytest.warns(HedgerowWarning, match=words):
            boost(prepare(replace(dataset, weight_seq=spread)), 0)

    @pytest.mark.parametrize("weights", [[1.5, 4e-4], [5000.0, 1.0], [0.0, 0.3]])
    def test_weights_that_are_told_apart_are_no_warning(self, weights, corpus):
        """Whole ones are exact as long as they add up to less than 2**24."""
        dataset = corpus[0]
        boost(prepare(replace(dataset, weight_seq=np.resize(weights, dataset.n_sequences))), 0)

    @pytest.mark.parametrize("factor", [1e-7, 0.3, 1e9])
    def test_the_size_of_weights_is_that_of_lambda(self, factor, corpus):
        """Weights and λ times a number: the same trees, whatever the fixed point."""
        dataset = corpus[0]
        spread = np.resize([1.0, 2.0, 0.5], dataset.n_sequences)
        one, two = (
            boost(prepare(replace(dataset, weight_seq=f * spread)), 2, l2_regularization=5.0 * f, min_samples_leaf=f)[0]
            for f in (1.0, factor)
        )
        for a, b in zip(trees_of(one), trees_of(two)):
            np.testing.assert_array_equal(a.nodes, b.nodes)
            np.testing.assert_allclose(a.values, b.values, rtol=1e-3, atol=1e-5)
            np.testing.assert_allclose(a.counts * factor, b.counts, rtol=2e-3)
            np.testing.assert_allclose(a.gains * factor, b.gains, rtol=2e-3, atol=1e-3 * factor)

    def test_newton_counts_curvature(self, corpus):
        booster, _ = boost(corpus, 0, leaves="newton")
        counts = rows_of(booster, 0)[0][corpus[1].place]
        first = corpus[1].first[corpus[1].place] != 0
        np.testing.assert_allclose(counts[~first], 8 / 81, atol=2e-4)
        np.testing.assert_allclose(counts[first][:, 0], 2 / 9, atol=2e-4)

    @pytest.mark.parametrize("leaves", ["mean", "newton"])
    def test_words_of_messages_are_those_of_gradients(self, corpus, leaves):
        booster, _ = boost(corpus, 3, leaves=leaves)
        assert booster._gradients == [None] * len(booster.shards)
        fast = rows_of(booster, 1)
        booster._from_messages = False
        booster.evaluate()
        assert None not in booster._gradients
        slow = rows_of(booster, 1)
        np.testing.assert_array_equal(fast[0], slow[0])
        np.testing.assert_allclose(fast[1], slow[1], atol=1.1 / booster._growers[0].one)

    @given(st.integers(1, 10**7), st.integers(1, 5_000), st.floats(1e-3, 1e3))
    def test_curvatures_are_as_fine_as_words_allow(self, n_positions, n_before, weight):
        total = weight * n_positions
        unit, most = newton_unit(total, n_positions, n_before)
        assert most == total * min(n_before, 3) * unit + n_positions * n_before  # three a position, and rounding
        room = 61 - int(2 * total).bit_length() - int(most).bit_length()
        assert room >= gradient_bits(unit) or unit == 1
        finer = int(2 * total * min(n_before, 3) * unit + n_positions * n_before).bit_length()
        assert unit == 4096 or 61 - int(2 * total).bit_length() - finer < gradient_bits(2 * unit)

    @pytest.mark.parametrize("form", ["newton", "shared newton", "shared vectors"])
    def test_words_of_few_bits_lower_the_loss_as_others_do(self, corpus, form, monkeypatch):
        """With as few bits as many millions of rows leave: by rounding alone, steps would be a fraction of these."""
        exact, losses = boost(corpus, 6, **FORMS[form], learning_rate=0.2)
        for module in (growing, rows):
            monkeypatch.setattr(module, "WORD_BITS", 40)
        coarse, coarse_losses = boost(corpus, 6, **FORMS[form], learning_rate=0.2)
        assert (exact._rows.noisy, coarse._rows.noisy) == (False, True)
        np.testing.assert_allclose(np.diff(coarse_losses).sum(), np.diff(losses).sum(), rtol=0.05)

    def test_more_rows_than_words_can_add_up_are_refused(self):
        with pytest.raises(InputError, match="more than trees can add up"):
            growing.word_format(2.0**31, 2.0**31)

    def test_trimming_leaves_out_the_smallest(self, corpus):
        booster, _ = boost(corpus, 3, trim=0.2)
        all_rows = boost(corpus, 3)[0]
        all_rows.shards, all_rows._gradients = booster.shards, booster._gradients
        (counts, kept), (every, sizes) = rows_of(booster, 1), rows_of(all_rows, 1)
        gone = (counts == 0) & (every > 0)
        assert 0.15 < np.abs(sizes[gone]).sum() / np.abs(sizes).sum() <= 0.2 + 1e-9
        assert np.abs(sizes[gone]).max() <= np.abs(kept[counts > 0]).min()

    def test_samples(self, corpus):
        dataset = corpus[0]
        lengths = np.diff(dataset.offsets)
        sampler = boosting.Sampler(dataset, 0.25, "sequences", 7)
        drawn = sampler.draw(3, 1)
        whole = np.logical_and.reduceat(drawn, dataset.offsets[:-1])
        assert np.array_equal(drawn, np.repeat(whole, lengths))
        assert whole.sum() == 15
        assert np.array_equal(drawn, sampler.draw(3, 1))
        for other in (
            sampler.draw(3, 0),
            sampler.draw(2, 1),
            boosting.Sampler(dataset, 0.25, "sequences", 8).draw(3, 1),
        ):
            assert not np.array_equal(drawn, other)
        assert boosting.Sampler(dataset, 0.25, "positions", 7).draw(0, 0).sum() == round(0.25 * dataset.n_positions)
        assert boosting.Sampler(dataset, 1.0, "positions", 7).draw(0, 0) is None

    def test_rows_left_out_get_their_leaves_too(self, corpus):
        """Weights of 0 leave out the same rows as a sample does, so the trees are the same; the scores differ."""
        booster, _ = boost(corpus, 1, subsample=0.5)
        drawn = booster._sampler.draw(0, 0)[corpus[0].offsets[:-1]]
        weighted, _ = boost(prepare(replace(corpus[0], weight_seq=drawn.astype(float))), 1)
        for a, b in zip(trees_of(booster), trees_of(weighted)):
            np.testing.assert_array_equal(a.nodes, b.nodes)
            np.testing.assert_allclose(a.values, b.values, atol=1e-6)


def _legal_sequences(dataset, space):
    """The sequences whose labels a space allows."""
    good = []
    for i, (begin, end) in enumerate(zip(dataset.offsets, dataset.offsets[1:])):
        y = dataset.labels[begin:end]
        if space.start[y[0]] and space.end[y[-1]] and space.transitions[y[:-1], y[1:]].all():
            good.append(i)
    return np.array(good)


def test_scores_that_do_not_fit_into_memory(corpus, monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 1000)
    with pytest.raises(InputError, match=r"edges='joint' keeps 3² scores for each of 607 positions: 0.0 GB"):
        boost(corpus, 1)
    boost(corpus, 1, edges="shared")
    monkeypatch.setattr(memory, "memory_limit", lambda: None)
    boost(corpus, 1)


def test_memory_limit_is_a_number():
    assert memory.memory_limit() is None or memory.memory_limit() > 2**20
