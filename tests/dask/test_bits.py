"""A fit on parts has the bits of the fit on the whole, whatever the parts are. Without a cluster: see test_cluster."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hedgerow
from hedgerow import parallel
from hedgerow.dask import LinearCRF, TreeCRF
from hedgerow.data.encoding import learn
from hedgerow.data.parts.corpus import SharedCorpus, join
from hedgerow.data.parts.merging import learn_part, recode
from hedgerow.data.parts.pairwise import SharedSum, answer
from hedgerow.errors import InputError
from hedgerow.estimators import window_choice
from hedgerow.estimators.kept import keeping
from hedgerow.estimators.shared import prepare_shared, read_shared
from hedgerow.linear import chain as linear_chain
from hedgerow.models.crf import linear_shared
from hedgerow.training.boosting import chain, scores
from hedgerow.training.checkpoint import Checkpoint
from hedgerow.training.ctrl_c import stages
from hedgerow.trees import shared_binning
from hedgerow.trees.binning import learn_binning
from tests.reference.engine import LocalEngine

from .corpora import KINDS, WORDS, parts_of, same_trees, same_weights, sequences

FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ALONE = {"early_stopping": False, "n_estimators": 4}
SOON = {"n_iter_no_change": 2, "n_estimators": 8}
CUTS = st.lists(st.integers(1, 39), max_size=5, unique=True).map(sorted)


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch):
    """Shards and chunks of a few sequences, so that there are many of them."""
    monkeypatch.setattr(chain, "CHUNK_POSITIONS", 15)
    monkeypatch.setattr(chain, "MOST_IN_SHARD", 50)
    monkeypatch.setattr(shared_binning, "SAMPLED", 16)
    monkeypatch.setattr(shared_binning, "AT_ONCE", 40)
    plan = parallel.plan_chunks
    for module in (linear_chain, linear_shared, scores):
        monkeypatch.setattr(module, "plan_chunks", lambda offsets, target=30: plan(offsets, target))


def fit_parts(model, parts, n_members, held=None, n_threads=1):
    """What `fit` does behind a cluster. held : sequences and labels that stop training"""
    model._check_parameters()
    wanted = model._preparation()
    whole = read_shared(wanted, LocalEngine(parts, n_members, n_threads=n_threads))
    if held is not None:
        engine = LocalEngine(parts_of(*held, [2], schema=whole.schema), n_members)
        held = SharedCorpus.by(engine, whole.schema)
    model._train_all(prepare_shared(wanted, whole, held))
    return model._finish(None)


class Ended(Exception):
    """What ends a driver in the midst of its work."""


@pytest.mark.parametrize(
    ("kind", "options", "data"),
    [
        (TreeCRF, {**ALONE, "n_estimators": 7, "edges": "joint", "max_leaf_nodes": 5}, "both"),
        (TreeCRF, {**SOON, "max_leaf_nodes": 5, "learning_rate": "line_search", "validation_folds": 1}, "both"),
        (TreeCRF, {**ALONE, "n_estimators": 7, "max_leaf_nodes": 5, "multi_strategy": "multi_output_tree"}, "numbers"),
        (TreeCRF, {**SOON, "max_leaf_nodes": 5}, "words and numbers"),
        (LinearCRF, {"max_iter": 12}, "both"),
        (LinearCRF, {"max_iter": 12, "missing": "indicator", "class_weight": "balanced"}, "words and numbers"),
    ],
    ids=["trees", "stopped trees", "trees for all labels", "trees on weights", "weights", "weights of gaps"],
)
def test_a_driver_that_dies_goes_on_from_its_checkpoint(kind, options, data, rng, tmp_path):
    X, y = sequences(rng, data, 3)
    known, parts = {"window": 1, "random_state": 0, **options}, parts_of(X, y, [7, 20])

    def fit(checkpoint, most, parts=parts):
        n_steps, model = 0, kind(**known)

        def die(step):
            nonlocal n_steps
            n_steps += 1
            if n_steps > most:
                raise Ended

        with warnings.catch_warnings(), stages(), keeping(model, checkpoint, die):
            warnings.simplefilter("ignore")
            return fit_parts(model, parts, 3)

    whole, path, n_deaths = fit(None, 9999), tmp_path / "checkpoint", 0
    life = 30 if data == "words and numbers" and kind is TreeCRF else 2  # iterations: weights take many
    while True:
        try:
            again = fit(Checkpoint(path, every=0), life)
            break
        except Ended:
            n_deaths += 1
            with pytest.raises(InputError, match="other data"):
                fit(path, 99, parts_of(X, [one[::-1] for one in y], [7, 20]))
    assert n_deaths > 1
    (same_weights if kind is LinearCRF else same_trees)(whole, again)


def quiet(model, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*given)


@pytest.mark.parametrize("kind", KINDS)
@given(cuts=CUTS, n_members=st.sampled_from([1, 2, 3, 5]), seed=st.integers(0, 99))
@FEW
def test_parts_by_the_schema_of_the_whole_are_the_whole(kind, cuts, n_members, seed):
    X, y = sequences(np.random.default_rng(seed), kind, 3)
    parts = parts_of(X, y, cuts)
    corpus = SharedCorpus.of(LocalEngine(parts, n_members), None, 2)
    whole = learn(X, y, window=2)
    assert corpus.schema == whole.schema
    assert join([recode(part.dataset, corpus.schema) for part in parts]).equals(whole)
    for max_bins in (5, 40):
        one, other = learn_binning(whole, max_bins), shared_binning.learn_shared_binning(corpus, max_bins, 1)
        assert [list(a) if a is not None else None for a in one.thresholds] == [
            list(a) if a is not None else None for a in other.thresholds
        ]
        assert (one.names, one.n_bins) == (other.names, other.n_bins)
        for a, b in zip(one.item_cut, other.item_cut):
            assert a is b is None or np.array_equal(a, b, equal_nan=True)


@given(sizes=st.lists(st.integers(0, 700), min_size=1, max_size=6), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_sums_of_parts_are_those_of_numpy(sizes, seed):
    x = np.random.default_rng(seed).normal(size=sum(sizes)) ** 3
    plan, parts = SharedSum(sizes), np.split(x, np.cumsum(sizes)[:-1])
    assert plan.total([answer(part, wanted) for part, wanted in zip(parts, plan.wanted)]) == x.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {**ALONE, "edges": "joint"},
        {
            "early_stopping": False,
            "n_estimators": 4,
            "edges": "shared",
            "class_weight": "balanced",
            "max_features": 0.7,
        },
        {
            "edges": "shared",
            "validation_folds": 1,
            "n_iter_no_change": 2,
            "n_estimators": 8,
            "init": "constant",
            "transitions": "forbid_unseen",
        },
    ],
    ids=["joint", "shared", "stopped"],
)
def test_trees(kind, options, rng):
    X, y = sequences(rng, kind, 3)
    known = {"window": 1, "max_leaf_nodes": 6, "random_state": 0, **options}
    local = quiet(hedgerow.TreeCRF(**known), X, y)
    for cuts, n_members, n_threads in (([], 1, 1), ([7, 8, 30], 2, 2), ([1, 20, 39], 5, 1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shared = fit_parts(TreeCRF(**known), parts_of(X, y, cuts), n_members, n_threads=n_threads)
        same_trees(local, shared)


@given(cuts=CUTS, n_members=st.sampled_from([1, 2, 3, 5]), n_labels=st.sampled_from([2, 20]), seed=st.integers(0, 9))
@settings(FEW, max_examples=6)
def test_trees_of_any_parts(cuts, n_members, n_labels, seed):
    X, y = sequences(np.random.default_rng(seed), "numbers", n_labels)
    known = {
        "window": 1,
        "max_leaf_nodes": 5,
        "early_stopping": False,
        "n_estimators": 3,
        "learning_rate": "line_search",
    }
    known["multi_strategy"] = "one_output_per_tree"
    same_trees(hedgerow.TreeCRF(**known).fit(X, y), fit_parts(TreeCRF(**known), parts_of(X, y, cuts), n_members))


@given(cuts=CUTS, n_members=st.sampled_from([1, 2, 3, 5]), n_labels=st.sampled_from([7, 20]), seed=st.integers(0, 9))
@settings(FEW, max_examples=6)
def test_trees_for_all_labels_of_any_parts(cuts, n_members, n_labels, seed):
    X, y = sequences(np.random.default_rng(seed), "numbers" if seed % 2 else "both", n_labels)
    if not seed % 2:
        for row in (row for x in X for row in x):
            row.pop("rare", None)
    known = {"window": 1, "max_leaf_nodes": 5, "early_stopping": False, "n_estimators": 3, "edges": "shared"}
    local = hedgerow.TreeCRF(**known).fit(X, y)
    assert local.ensemble_.vectors
    same_trees(local, fit_parts(TreeCRF(**known), parts_of(X, y, cuts), n_members))


@pytest.mark.parametrize("options", [SOON, {**SOON, "validation_folds": 1, "max_features": 0.6}], ids=["folds", "one"])
def test_the_default_of_trees_of_many_labels(options, rng):
    """One tree an iteration, stopped by held-out sequences, and a last training; rare values share a bin."""
    X, y = sequences(rng, "both", 8)
    for i, row in enumerate(row for x in X for row in x):
        row.pop("rare", None)
        row["code"] = f"c{i % 290}"
    known = {
        "window": 1,
        "max_leaf_nodes": 6,
        "random_state": 0,
        "multi_strategy": "multi_output_tree",
        "init": "zero",
        **options,
    }
    local, shared = quiet(hedgerow.TreeCRF(**known), X, y), TreeCRF(**known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_parts(shared, parts_of(X, y, [3, 17]), 3)
    assert local.ensemble_.vectors
    same_trees(local, shared)
    assert shared.refitted_
    for a, b in zip(shared.to_local().predict_proba(X), local.predict_proba(X)):
        assert np.array_equal(a, b)


def test_a_tree_that_no_worker_has_memory_for(rng, monkeypatch):
    X, y = sequences(rng, "numbers", 20)
    monkeypatch.setattr(LocalEngine, "memory", property(lambda self: 1e5, lambda self, value: None), raising=False)
    with pytest.raises(
        InputError,
        match=r"one tree for 20 labels: half of a worker.s memory is for the sums of its leaves, which take .* GB",
    ):
        fit_parts(TreeCRF(window=1, **ALONE), parts_of(X, y, [9]), 2)


def test_the_default_of_trees(rng):
    """Both forms of edges, three folds, a temperature, and a last training on all sequences."""
    X, y = sequences(rng, "both", 3)
    known = {"window": 1, "max_leaf_nodes": 6, "random_state": 0, "n_iter_no_change": 2, "n_estimators": 6}
    local, shared = quiet(hedgerow.TreeCRF(**known), X, y), TreeCRF(**known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_parts(shared, parts_of(X, y, [3, 17]), 3, n_threads=2)
    same_trees(local, shared)
    assert shared.refitted_
    ordinary = shared.to_local()
    assert type(ordinary) is hedgerow.TreeCRF
    for a, b in zip(ordinary.predict_proba(X), local.predict_proba(X)):
        assert np.array_equal(a, b)


def test_the_rare_values_of_parts_are_those_of_the_whole(rng, monkeypatch):
    X, y = sequences(rng, "both", 3)
    monkeypatch.setattr("hedgerow.trees.binning.MAX_BINS", 6)
    corpus = SharedCorpus.of(LocalEngine(parts_of(X, y, [3, 17]), 2), None, 1)
    one = learn_binning(learn(X, y, window=1), 5, 1, gather=True)
    other = shared_binning.learn_shared_binning(corpus, 5, 1, gather=True)
    assert (one.names, one.kinds, one.n_bins) == (other.names, other.kinds, other.n_bins)
    sources = [source for source in one.item_source if source is not None]
    assert sources
    for a, b in zip(sources, [source for source in other.item_source if source is not None], strict=True):
        np.testing.assert_array_equal(a, b)


ON_WORDS = {
    "alone": {**ALONE, "class_weight": "balanced"},
    "joint": {**SOON, "edges": "joint", "validation_folds": 1},
    "folds": {**SOON, "class_weight": {"L0": 3.0}},
}


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("options", ON_WORDS.values(), ids=ON_WORDS)
@given(cuts=CUTS, n_members=st.sampled_from([1, 2, 3, 5]), seed=st.integers(0, 9), weighted=st.booleans())
@settings(FEW, max_examples=3)
def test_trees_of_words_stand_on_weights(kind, options, cuts, n_members, seed, weighted):
    """Folds, temperatures and a last training, too; each has weights of its own."""
    rng = np.random.default_rng(seed)
    X, y = sequences(rng, kind, 3)
    known = {"window": 1, "max_leaf_nodes": 5, "random_state": 0, **options}
    weights = (0.01 + 3 * rng.random(len(X))).tolist() if weighted else None
    local, shared = quiet(hedgerow.TreeCRF(**known), X, y, weights), TreeCRF(**known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_parts(shared, parts_of(X, y, cuts, weights), n_members)
    assert (local.linear_.imputation_ is not None) == (kind == "words and numbers")
    assert local.linear_.imputation_ == shared.linear_.imputation_
    same_weights(local.linear_, shared.linear_)
    same_trees(local, shared)
    assert shared.refitted_ == ("n_iter_no_change" in options)
    ordinary = shared.to_local()
    assert ordinary.init == "auto"
    for a, b in zip(ordinary.predict_proba(X), local.predict_proba(X)):
        assert np.array_equal(a, b)


def test_what_ends_training_of_the_weights_ends_that_of_the_trees(rng):
    """Ctrl-C, or a callback that says so."""
    X, y = sequences(rng, "words", 3)
    model = hedgerow.TreeCRF(window=1, early_stopping=False, n_estimators=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_steps = iter(range(1000))
        model.fit(X, y, callbacks=lambda step: next(n_steps) == 3)
    assert (model.outcome_, model.linear_.outcome_) == ("interrupted", "interrupted")
    assert model.n_iter_ == 1


def test_a_tree_for_all_labels_stands_on_weights(rng):
    """Many labels on a column of very many values; and training goes on in one process."""
    X = [[{"word": f"w{(40 * i + t) % 700}"} for t in range(40)] for i in range(20)]
    y = [[f"L{(40 * i + t) % 14}" for t in range(40)] for i in range(20)]
    known = {"window": 0, **ALONE}
    local, shared = quiet(hedgerow.TreeCRF(**known), X, y), fit_parts(TreeCRF(**known), parts_of(X, y, [9]), 2)
    assert local.ensemble_.vectors
    same_trees(local, shared)
    more = {"warm_start": True, "n_estimators": 6}
    local.set_params(**more).fit(X, y)
    same_trees(local, shared.to_local().set_params(**more).fit(X, y))
    same_trees(local, fit_parts(shared.set_params(**more), parts_of(X, y, [3, 9]), 3))


WEIGHTED = [
    (TreeCRF, {**ALONE, "class_weight": "balanced", "init": "constant", "edges": "joint"}),
    (TreeCRF, {**SOON, "max_leaf_nodes": 5}),
    (LinearCRF, {"early_stopping": True, "max_iter": 15}),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("model", "options"), WEIGHTED, ids=["trees", "stopped trees", "weights"])
def test_sequences_that_count_more(kind, model, options, rng):
    X, y = sequences(rng, kind, 3)
    known = {"window": 1, "random_state": 0, **options}
    uneven = (0.01 + 3 * rng.random(len(X))).tolist()
    for weights in (uneven, [2.0] * len(X)):
        local = quiet(model._local(**known), X, y, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shared = fit_parts(model(**known), parts_of(X, y, [7, 8, 30], weights), 3)
        (same_weights if model is LinearCRF else same_trees)(local, shared)


@pytest.mark.parametrize("weight", [np.nan, -1.0, np.inf, 1e300])
def test_weights_that_cannot_be_meant(weight, rng):
    X, y = sequences(rng, "numbers", 3)
    weights = [1.0] * len(X)
    weights[21] = weight
    with pytest.raises(InputError) as local:
        hedgerow.LinearCRF(window=0).fit(X, y, weights)
    with pytest.raises(InputError) as shared:
        parts_of(X, y, [], weights)
    assert str(shared.value) == str(local.value)
    with pytest.raises(InputError, match="sample_weight has weights of positions"):
        parts_of(X, y, [20], [np.ones(len(x)) for x in X])


@pytest.mark.parametrize("kind", [*KINDS, "words"])
@pytest.mark.parametrize(("model", "options"), WEIGHTED[1:], ids=["trees", "weights"])
def test_held_out_sequences_that_are_given(kind, model, options, rng):
    X, y = sequences(rng, kind, 3)
    new, truth = sequences(rng, kind, 3, n_sequences=9)
    if kind in ("both", "words"):
        new[0][0]["word"] = "never seen"
    known = {"window": 1, "random_state": 0, **options}
    local = quiet(model._local(**known), X, y, None, new, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shared = fit_parts(model(**known), parts_of(X, y, [7, 30]), 3, (new, truth))
    (same_weights if model is LinearCRF else same_trees)(local, shared)
    assert [step.score for step in local.history_] == [step.score for step in shared.history_]


def test_held_out_sequences_that_training_does_not_know(rng):
    X, y = sequences(rng, "both", 3)
    odd = [{"word": 1.0, "x": 1.0, "up": True}]
    for new, truth, what in (
        ([odd], [["L0"]], "column 'word': is numeric in partition 0 and was categorical in training"),
        (X[:3], [["L9"] * len(x) for x in X[:3]], "partition 0 has the label 'L9', which was not seen in training"),
    ):
        with pytest.raises(InputError, match=what):
            fit_parts(LinearCRF(window=0), parts_of(X, y, [7]), 2, (new * 3, truth * 3))


@pytest.mark.parametrize("kind", ["numbers", "both"])
@pytest.mark.parametrize("model", [TreeCRF, LinearCRF])
def test_the_window_that_is_found(kind, model, rng):
    X, y = sequences(rng, kind, 3)
    X, y = X * 3, y * 3
    options = {"n_estimators": 2, "max_leaf_nodes": 4} if model is TreeCRF else {"max_iter": 3}
    known = {"random_state": 0, "early_stopping": False, "window": "auto", **options}
    local = quiet(model._local(**known), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shared = fit_parts(model(**known), parts_of(X, y, [7, 8, 60]), 3)
    assert shared.window_ == local.window_
    (same_weights if model is LinearCRF else same_trees)(local, shared)


def test_the_sequences_that_windows_are_compared_on(rng, monkeypatch):
    monkeypatch.setattr(window_choice, "LONGEST", 7)
    monkeypatch.setattr(window_choice, "MOST", 90)
    X, y = sequences(rng, "both", 3)
    y = [[None if rng.random() < 0.5 else label for label in one] for one in y]
    whole = learn(X, y)
    corpus = SharedCorpus.of(LocalEngine(parts_of(X, y, [3, 17]), 2), None, 0)
    for one, other in zip(*map(window_choice._train_and_held_out, (whole, corpus)), strict=True):
        assert one.equals(other)


@pytest.mark.parametrize(("model", "options"), WEIGHTED, ids=["trees", "stopped trees", "weights"])
def test_training_that_goes_on(model, options, rng):
    X, y = sequences(rng, "both", 3)
    known = {"window": 1, "random_state": 0, "warm_start": True, **options}
    if model is TreeCRF:
        known |= {"refit": False, "edges": "shared"}
    more = {"n_estimators": 9} if model is TreeCRF else {"max_iter": 30}
    local, shared = model._local(**known), model(**known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for own in ({}, more):
            local.set_params(**own).fit(X[:30], y[:30])
            fit_parts(shared.set_params(**own), parts_of(X[:30], y[:30], [7, 20]), 3)
    (same_weights if model is LinearCRF else same_trees)(local, shared)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairs": "all", "l1": 0.1},
        {"early_stopping": True, "calibrate": True},
        {"order": 0, "min_frequency": 2},
        {"early_stopping": True, "calibrate": True, "class_weight": "balanced", "scoring": "log_likelihood"},
        {"early_stopping": True, "class_weight": {"L0": 9.0}, "scoring": "accuracy"},
    ],
    ids=["plain", "all pairs", "stopped", "order 0", "labels that count more", "and are scored"],
)
def test_weights(kind, options, rng):
    X, y = sequences(rng, kind, 3)
    known = {"window": 1, "random_state": 0, "max_iter": 15, **options}
    local = quiet(hedgerow.LinearCRF(**known), X, y)
    for cuts, n_members, n_threads in (([], 1, 1), ([7, 8, 30], 3, 2), ([1, 20, 39], 8, 1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shared = fit_parts(LinearCRF(**known), parts_of(X, y, cuts), n_members, n_threads=n_threads)
        same_weights(local, shared)


def test_weights_of_many_numbers(rng, monkeypatch):
    """Their chunks are longer, those of workers too."""
    for name, value in (("MANY", 1), ("CHUNK_POSITIONS", 30), ("MAX_LANES", 1)):
        monkeypatch.setattr(linear_chain, name, value)
    X, y = sequences(rng, "numbers", 3)
    known = {"window": 1, "random_state": 0, "max_iter": 15}
    local = quiet(hedgerow.LinearCRF(**known), X, y)
    offsets = local.encode(X).offsets
    assert 2 < len(local.layout_.plan(offsets)) < len(linear_chain.plan_chunks(offsets))
    same_weights(local, quiet(hedgerow.LinearCRF(**known, n_jobs=2), X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same_weights(local, fit_parts(LinearCRF(**known), parts_of(X, y, [7, 8, 30]), 3))


@pytest.mark.parametrize("middle", ["mean", "median"])
@given(cuts=CUTS, n_members=st.sampled_from([1, 2, 3, 5]), seed=st.integers(0, 9), weighted=st.booleans())
@settings(FEW, max_examples=4)
def test_weights_of_gaps(middle, cuts, n_members, seed, weighted):
    rng = np.random.default_rng(seed)
    X, y = sequences(rng, "words and numbers", 3)
    weights = (0.01 + 3 * rng.random(len(X))).tolist() if weighted else None
    known = {"window": 1, "missing": "indicator", "fill_numbers": middle, "early_stopping": True, "random_state": 0}
    local = quiet(hedgerow.LinearCRF(max_iter=9, **known), X, y, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shared = fit_parts(LinearCRF(max_iter=9, **known), parts_of(X, y, cuts, weights), n_members)
    assert local.imputation_ == shared.imputation_
    same_weights(local, shared)


def test_frequencies_of_sequences_that_count_more_are_refused(rng):
    X, y = sequences(rng, "both", 3)
    with pytest.raises(InputError, match="min_frequency is not supported with weights of sequences"):
        fit_parts(LinearCRF(window=0, min_frequency=2), parts_of(X, y, [9], [1.0 + i % 2 for i in range(len(X))]), 2)


def test_a_column_without_any_value_has_nothing_to_fill_in(rng):
    X, y = sequences(rng, "words and numbers", 3)
    X = [one.assign(x=np.nan) for one in X]
    for model in (hedgerow.LinearCRF(missing="indicator", window=0), LinearCRF(missing="indicator", window=0)):
        with pytest.raises(InputError, match="column 'x': every value is missing in the training sequences"):
            model.fit(X, y) if type(model) is hedgerow.LinearCRF else fit_parts(model, parts_of(X, y, [9]), 2)


def test_unlabelled_positions_and_sets_of_labels(rng):
    X, y = sequences(rng, "numbers", 3)
    y = [[None if rng.random() < 0.1 else {label, "L0"} if rng.random() < 0.1 else label for label in one] for one in y]
    y[3] = [None] * len(y[3])
    known = {"window": 1, "max_leaf_nodes": 5, "early_stopping": False, "n_estimators": 3, "init": "constant"}
    same_trees(hedgerow.TreeCRF(**known).fit(X, y), fit_parts(TreeCRF(**known), parts_of(X, y, [3, 4, 20]), 3))
    same_weights(hedgerow.LinearCRF(window=1).fit(X, y), fit_parts(LinearCRF(window=1), parts_of(X, y, [3, 4, 20]), 3))


def test_a_set_of_all_labels_of_its_part_allows_no_others():
    X, y = [[["a"], ["b"], ["a"]], [["c"], ["a"]]], [["A", {"A", "B"}, "B"], ["C", "A"]]
    parts = parts_of(X, y, [1])
    corpus = SharedCorpus.of(LocalEngine(parts, 1), None, 0)
    whole = join([recode(part.dataset, corpus.schema) for part in parts])
    assert whole.allowed[1].tolist() == [True, True, False]
    assert whole.equals(learn(X, y))


@pytest.mark.parametrize("y", [None, "A", ["A"], [{"A"}], [{"A": 1}], [b"A"], {"A"}], ids=repr)
def test_labels_of_a_part_are_those_that_fit_takes(y):
    X = [[{"x": 1.0}]]
    with pytest.raises(InputError) as local:
        hedgerow.LinearCRF(window=0).fit(X, y)
    with pytest.raises(InputError) as shared:
        learn_part(X, y, None, {"x"})
    assert str(shared.value) == str(local.value)


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ({"x": ["a"]}, {"x": "a"}, "column 'x': is categorical in partition 1 and attributes in partition 0"),
        ({"x": "a"}, {"x": ["a"]}, "column 'x': is attributes in partition 1 and categorical in partition 0"),
        ({"x": ["a"]}, {"x": 2.0}, "column 'x': is numeric in partition 1 and attributes in partition 0"),
        (["a"], {"a": 1.0}, "the shape 'dicts' in partition 1 and 'attribute lists' in partition 0"),
    ],
)
@pytest.mark.parametrize("rare", [False, True])
def test_keys_and_shapes_that_differ_between_parts_are_refused(one, other, what, rare):
    more = [{"y": 1.0}] * 40 * rare
    X = [[one, *(more if isinstance(one, dict) else [])], [other, *more]]
    y = [[label] * len(x) for label, x in zip("AB", X)]
    with pytest.raises(InputError, match=what):
        SharedCorpus.of(LocalEngine(parts_of(X, y, [1]), 1), None, 0)


def test_a_column_without_a_value_in_a_part_is_not_missing():
    y, numbers, nothing = [["A", "B"], ["B", "A"]], pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [None, None]})
    parts = [learn_part([frame], [labels], None, None) for frame, labels in zip([numbers, nothing], y)]
    corpus = SharedCorpus.of(LocalEngine(parts, 1), None, 0)
    whole = learn([numbers, nothing.astype(float)], y)
    assert join([recode(part.dataset, corpus.schema) for part in parts]).equals(whole)
    parts[1] = learn_part([nothing.rename(columns={"x": "z"})], y[1:], None, None)
    with pytest.raises(InputError, match="column 'x': is missing in partition 1"):
        SharedCorpus.of(LocalEngine(parts, 1), None, 0)


def test_types_that_differ_between_parts_are_refused():
    one, other = parts_of([[{"x": 1.0}], [{"x": "a"}]], [["A"], ["B"]], [1])
    with pytest.raises(InputError, match="is categorical in partition 1 and numeric in partition 0"):
        SharedCorpus.of(LocalEngine([one, other], 1), None, 0)
    one, other = parts_of([[{"x": 1.0}], [{"x": 2.0}]], [["A"], [3]], [1])
    with pytest.raises(InputError, match="partition 0 has the label 'A' and partition 1 the label 3"):
        SharedCorpus.of(LocalEngine([one, other], 1), None, 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", [TreeCRF, LinearCRF])
def test_constraints_name_the_sequence_as_it_was_given(model, seed, rng):
    """Some sequences are held out, and those that train have other numbers then."""
    X, y = sequences(rng, "numbers", 3)
    known = {"window": 0, "constraints": [("L0", "L1")], "random_state": seed}
    with pytest.raises(InputError, match=r"from 'L0' to 'L1', which the constraints forbid") as error:
        fit_parts(model(**known), parts_of(X, y, [20]), 2)
    with pytest.raises(InputError) as local:
        model._local(**known).fit(X, y)
    sequence, position = error.value.sequence + 20 * error.value.partition, error.value.position
    assert y[sequence][position - 1 : position + 1] == ["L0", "L1"]
    assert (sequence, position) == (local.value.sequence, local.value.position)
