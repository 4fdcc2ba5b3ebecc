"""One long recording trains every estimator with its defaults: a part of it is held out, and nothing of that leaks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from hedgerow import (
    MEMM,
    BeamSearchTagger,
    FutureFeatureMEMM,
    LinearCRF,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    VirtualEvidence,
)
from hedgerow.data.derived import parse_features, with_features
from hedgerow.data.encoding import learn
from hedgerow.data.sequences import Item
from hedgerow.errors import InputError
from hedgerow.estimators.holding_out import Pieces, cut_apart, hide_blocks, take_given
from hedgerow.estimators.prepare import Preparation, prepare

from .test_holding_out import recordings

SMALL = {"max_leaf_nodes": 4, "random_state": 0}
MODELS = {
    "sliding window": SlidingWindow(random_state=0),
    "memm": MEMM(estimator="trees", random_state=0),
    "memm of weights": MEMM(estimator=LinearCRF(early_stopping=True), random_state=0),
    "recurrent": RecurrentSlidingWindow(estimator="trees", random_state=0),
    "future": FutureFeatureMEMM(max_future_features=1, random_state=0),
    "search": BeamSearchTagger(random_state=0, max_iter=10),
    "search by trees": BeamSearchTagger(ranking="trees", random_state=0, max_iter=30),
    "evidence": VirtualEvidence(random_state=0),
    **{name: TreeCRF(objective=name, **SMALL) for name in ("labelwise", "margin", "pointwise", "pseudo_likelihood")},
    "bags": TreeCRF(n_bags=2, **SMALL),
    "on weights": TreeCRF(init=LinearCRF(), **SMALL),
    "margin on weights": TreeCRF(init=LinearCRF(objective="margin", window=2), objective="margin", **SMALL),
    "pseudo-likelihood first": TreeCRF(pseudo_likelihood_steps=2, **SMALL),
    "weights": LinearCRF(early_stopping=True, random_state=0),
    "likelihood": TreeCRF(**SMALL),
}


@pytest.fixture(scope="module")
def two():
    return recordings(2, 200, np.random.default_rng(0))


@pytest.mark.parametrize("name", MODELS)
def test_it_trains_with_its_defaults(name, two):
    (X, X_test), (y, y_test) = two
    model = MODELS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_estimators=|training stopped after max_iter")
        model.fit([X], [y])
    assert any(step.score is not None for step in model.history_)
    assert len(model.predict([X_test])[0]) == 200
    assert model.score([X_test], [y_test]) > 0.6  # by chance 0.33


def test_the_last_training_is_on_the_whole_recording(two):
    X, y = two[0][:1], two[1][:1]
    model = TreeCRF(objective="margin", edges="shared", learning_rate=0.3, n_estimators=30, **SMALL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_estimators=")
        model.fit(X, y)
    assert model.refitted_
    settings = {"early_stopping": False, "n_estimators": model.best_iteration_}
    steps = {"likelihood_steps": model.likelihood_iterations_}
    whole = TreeCRF(objective="margin", edges="shared", learning_rate=0.3, **settings, **steps, **SMALL).fit(X, y)
    np.testing.assert_array_equal(model.ensemble_.values, whole.ensemble_.values)


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("features", [None, "rolling_mean(9)", "lag(7)"])
def test_what_is_held_out_does_not_depend_on_what_trains(blocks, features, two):
    """Nor what trains on what is held out: neither sees a number of the other, through a window or a derived column."""
    X, y = two[0][0], two[1][0]
    wanted = Preparation(window=(2, 1), features=features, holds_out=True, blocks=blocks, random_state=0)

    def labelled(numbers):
        ready = prepare(wanted, [numbers], [y])
        if ready.pieces is not None:
            at = [np.concatenate([np.arange(a, a + n) for a, n in zip(*(one[part] for one in ready.pieces[1:]))])
                  for part in (ready.kept, ready.held)]  # fmt: skip
        else:
            at = [np.flatnonzero(part.labels >= 0) for part in (ready.given, ready.held_given)]
        return at

    train, held = labelled(X)
    distance = np.abs(train[:, None] - held[None]).min()
    reach = 2 + {None: 0, "rolling_mean(9)": 9, "lag(7)": 7}[features]
    assert distance > reach


def test_pieces_see_nothing_of_each_other(rng):
    """Numbers in a piece, derived ones among them, are those that it has alone."""
    X, y = recordings(1, 120, rng)
    dataset = with_features(learn(X, y, window=1), parse_features("rolling_mean(5)"))
    pieces = cut_apart(dataset.offsets, 0.2, 6)
    other = [X[0].copy()]
    a, n = int(pieces.first[2]), int(pieces.lengths[2])
    other[0][:a], other[0][a + n :] = 99.0, -99.0
    changed = with_features(learn(other, y, window=1), parse_features("rolling_mean(5)"))
    of_piece = [one.cut(*pieces).take(np.array([2])) for one in (dataset, changed)]
    np.testing.assert_array_equal(of_piece[0].numeric, of_piece[1].numeric)
    assert (pieces.first[1:] - (pieces.first + pieces.lengths)[:-1] == 6).all()


def test_gaps_beside_blocks_are_as_wide_as_derived_columns_reach(rng):
    X, y = recordings(1, 100, rng)
    dataset = with_features(learn(X, y, window=2), parse_features("rolling_mean(10)"))
    part, _ = hide_blocks(dataset, np.array([0, 40, 50, 100]), np.array([1]))
    np.testing.assert_array_equal(np.flatnonzero(part.labels < 0), np.arange(28, 62))


def test_spans_that_a_cut_divides_are_legal():
    names = ["B-x", "I-x", "I-x", "I-x", "I-x", "O"] * 30
    X, y = [[{"w": label[0] + str(t % 3)} for t, label in enumerate(names)]], [names]
    model = LinearCRF(early_stopping=True, constraints="iob2", window=0, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9


def test_errors_name_places_in_the_recording(two):
    X, y = two[0][0].copy(), two[1][0]
    X[150, 1] = np.nan
    with pytest.raises(InputError, match="sequence 0, position 150"):
        LinearCRF(early_stopping=True).fit([X], [y])


def test_pieces_of_what_was_given(two):
    where = Pieces(np.array([0, 1, 0]), np.array([5, 0, 0]), np.array([1, 2, 3]))
    assert take_given([0.5, 2.0], None, where) == [0.5, 2.0, 0.5]
    first, second = take_given(two[0], np.array([0, 1]), where)
    np.testing.assert_array_equal(first, two[0][0][5:6])
    assert len(second) == 2
    assert take_given(learn(*two), np.array([2, 1]), where).offsets.tolist() == [0, 3, 5]
    [item, _] = take_given([Item(list("abcdef"), {"language": "de"})] * 2, np.array([0, 1]), where)
    assert (item.positions, item.features) == (["f"], {"language": "de"})


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (TreeCRF(objective="margin", window=0), "Set early_stopping=False, or"),
        (LinearCRF(early_stopping=True), "Set early_stopping=False, or"),
        (BeamSearchTagger(), "Set early_stopping=False, or"),
        (FutureFeatureMEMM(), "Set early_stopping=False, or"),
        (VirtualEvidence(), "Set early_stopping=False, or"),
        (SlidingWindow(), r"Set estimator=TreeCRF\(early_stopping=False\), or"),
        (MEMM(estimator="trees"), r"Set estimator=TreeCRF\(early_stopping=False\), or"),
        (RecurrentSlidingWindow(estimator="trees"), r"Set estimator=TreeCRF\(early_stopping=False\), or"),
        (MEMM(estimator=LinearCRF(early_stopping=True)), r"Set estimator=LinearCRF\(early_stopping=False\), or"),
    ],
)
def test_two_positions_cannot_be_divided(model, hint):
    with pytest.raises(InputError, match=f"no sequence can be held out.*{hint}"):
        model.fit([[["a"], ["b"]]], [["x", "y"]])
    what = "estimator" if "estimator" in hint else "early_stopping"
    assert what in model.get_params()


def test_a_hint_can_be_followed():
    X, y = [[["a"], ["b"]]], [["x", "y"]]
    model = MEMM(estimator=TreeCRF(early_stopping=False, n_estimators=2)).fit(X, y)
    assert len(model.predict(X)[0]) == 2


def test_a_gap_that_leaves_nothing_to_train_on(two):
    X, y = two[0][:1], two[1][:1]
    with pytest.raises(InputError, match="no sequence can be held out"):
        TreeCRF(window=0, features=["rolling_mean(300)"], **SMALL).fit(X, y)
