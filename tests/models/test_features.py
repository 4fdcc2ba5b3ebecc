"""`features=`: every model reads derived columns as if they stood in the data, keeps which, and "auto" finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import hedgerow
from hedgerow import (
    HMM,
    IOHMM,
    MEMM,
    AutoLabeler,
    BeamSearchTagger,
    FutureFeatureMEMM,
    LinearCRF,
    MaxMarginMarkovNetwork,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    VirtualEvidence,
)
from hedgerow.cli.info import describe
from hedgerow.data.encoding import learn
from hedgerow.errors import InputError, ModelFileError
from hedgerow.estimators.files import pack_model, unpack_model
from hedgerow.estimators.window_choice import FEATURES, choose_features
from hedgerow.explain import importance, rules
from tests.reference.derived import derive

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FEW: dict[str, Any] = {"n_estimators": 8, "early_stopping": False}
NAMES = ["difference", "rolling_std(4)", "lag(2)"]
FULL = ("difference(1)", "rolling_std(4)", "lag(2)")
FAMILIES = [
    LinearCRF(),
    LinearCRF(trainer="adagrad", max_iter=3, random_state=0),
    LinearCRF(transition_columns=["0", "rolling_std(4) of 0"]),
    MaxMarginMarkovNetwork(max_iter=5, random_state=0),
    TreeCRF(**FEW),
    TreeCRF(missing="weighting", **FEW),
    TreeCRF(init=LinearCRF(), **FEW),
    VirtualEvidence(**FEW),
    MEMM(),
    MEMM(estimator=TreeCRF(**FEW)),
    RecurrentSlidingWindow(estimator=TreeCRF(**FEW)),
    FutureFeatureMEMM(n_estimators=5, early_stopping=False),
    BeamSearchTagger(early_stopping=False, max_iter=3, random_state=0),
    BeamSearchTagger(future_features=True, early_stopping=False, max_iter=2, random_state=0),
    BeamSearchTagger(ranking="trees", early_stopping=False, max_iter=3, random_state=0),
    IOHMM(max_iter=3, random_state=0),
]


def sensor(n: int, length: int = 40, seed: int = 0) -> tuple[list[np.ndarray], list[list[str]]]:
    """A number whose spread is the state, around a level of its own in each sequence."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        state = np.repeat(rng.integers(2, size=length // 10 + 1), 10)[:length]
        X.append((rng.normal(size=length) * np.where(state, 2.0, 0.4) + 3.0 * rng.normal())[:, None])
        y.append(["wild" if one else "calm" for one in state])
    return X, y


X, y = sensor(24)
NEW, TRUTH = sensor(8, seed=1)


def written_out(X: list[np.ndarray], features: tuple[str, ...] = FULL) -> list[np.ndarray]:
    """The same data with the features as columns of their own."""
    parts = [feature[:-1].split("(") for feature in features]
    return [np.column_stack([x, *(derive(name, x[:, 0].tolist(), int(span)) for name, span in parts)]) for x in X]


@pytest.mark.parametrize("model", FAMILIES, ids=repr)
def test_a_model_keeps_its_features_and_reads_them_by_chunks_as_at_once(model, tmp_path):
    made = clone(model).set_params(window=1, features=NAMES).fit(X, y)
    assert made.features_ == FULL
    expected = made.predict(NEW)
    assert made.predict(made.encode(NEW)).tolist() == expected.tolist()
    assert [made.predict([x])[0] for x in NEW] == expected.tolist()
    made.save(tmp_path / "model")
    loaded = hedgerow.load(tmp_path / "model")
    assert loaded.features_ == FULL
    assert loaded.predict(NEW).tolist() == expected.tolist()
    assert "features difference(1), rolling_std(4), lag(2)" in describe(str(tmp_path / "model"))
    assert any(column.derived for column in loaded.schema_.columns)
    without = clone(model).set_params(window=1)
    if "transition_columns" not in repr(model):
        assert without.fit(X, y).features_ == ()


@pytest.mark.parametrize("window", [0, (2, 1)])
@pytest.mark.parametrize("model", [TreeCRF(**FEW), MEMM(estimator=TreeCRF(**FEW)), FAMILIES[11]], ids=repr)
def test_trees_are_those_of_columns_that_are_written_out(model, window):
    one = clone(model).set_params(window=window, features=NAMES).fit(X, y)
    other = clone(model).set_params(window=window).fit(written_out(X), y)
    for a, b in zip(one.predict_proba(NEW), other.predict_proba(written_out(NEW))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("window", [0, (2, 1)])
@pytest.mark.parametrize(
    "model",
    [
        LinearCRF(),
        LinearCRF(trainer="adagrad", max_iter=5, random_state=0),
        LinearCRF(transition_columns=["2"]),
        SlidingWindow(estimator=LogisticRegression()),
        MEMM(conjoin="all"),
        IOHMM(max_iter=5, random_state=0),
    ],
    ids=repr,
)
def test_weights_are_those_of_columns_that_are_written_out(model, window):
    features = ("rolling_mean(3)", "rolling_std(4)", "rolling_max(2)")
    one = clone(model).set_params(window=window, features=features)
    if getattr(model, "transition_columns", None):
        one.set_params(transition_columns=["rolling_std(4) of 0"])
    other = clone(model).set_params(window=window).fit(written_out(X, features), y)
    for a, b in zip(one.fit(X, y).predict_proba(NEW), other.predict_proba(written_out(NEW, features))):
        np.testing.assert_array_equal(a, b)


def test_gaps_are_filled_before_anything_is_derived():
    holes = [np.where(np.arange(len(x))[:, None] % 5 == 3, np.nan, x) for x in X]
    model = LinearCRF(window=1, features=["rolling_mean(3)"], missing="impute").fit(holes, y)
    mean = np.nanmean(np.concatenate(holes))
    filled = [np.where(np.isnan(x), mean, x) for x in holes]
    other = LinearCRF(window=1).fit(written_out(filled, ("rolling_mean(3)",)), y)
    scores = [
        a[:, 0]
        for a in (*model.predict_proba(holes[:3]), *other.predict_proba(written_out(filled[:3], ("rolling_mean(3)",))))
    ]
    np.testing.assert_allclose(np.concatenate(scores[:3]), np.concatenate(scores[3:]), atol=0.02)
    with pytest.raises(InputError, match="a number is missing"):
        LinearCRF(features=["rolling_mean(3)"]).fit(holes, y)
    assert TreeCRF(features=["rolling_mean(3)"], window=0, **FEW).fit(holes, y).score(holes, y) > 0.6


def test_training_goes_on_with_the_same_features():
    model = TreeCRF(window=0, features=NAMES, warm_start=True, **FEW).fit(X, y)
    first = model.ensemble_.n_iterations
    assert model.set_params(n_estimators=12).fit(X, y).ensemble_.n_iterations > first
    with pytest.raises(InputError, match="features is None and the model was fitted with"):
        model.set_params(features=None, n_estimators=14).fit(X, y)
    rows = RecurrentSlidingWindow(window=0, features=NAMES, estimator=TreeCRF(warm_start=True, **FEW)).fit(X, y)
    assert rows.set_params(estimator__n_estimators=12).fit(X, y).features_ == FULL
    linear = LinearCRF(window=0, features="auto", warm_start=True).fit(X, y)
    assert linear.fit(X[:5], y[:5]).features_ == linear.features_ != ()


def test_sequences_may_come_one_after_the_other():
    model = LinearCRF(window=1, features=NAMES)
    for i in range(0, 24, 8):
        model.partial_fit(X[i : i + 8], y[i : i + 8])
    assert model.features_ == FULL
    assert model.score(NEW, TRUTH) > 0.7
    with pytest.raises(InputError, match="features is None and the model began with"):
        model.set_params(features=None).partial_fit(X, y)
    assert LinearCRF(features="auto", window=0).partial_fit(X, y).features_ != ()


def test_a_dataset_brings_its_features():
    dataset = learn(X, y, window=1, features=NAMES)
    assert TreeCRF(**FEW).fit(dataset).features_ == FULL
    assert TreeCRF(features=NAMES[::-1], **FEW).fit(dataset).features_ == FULL
    hidden = HMM().fit(learn(X, y, features=NAMES))
    assert hidden.score(NEW, TRUTH) == HMM().fit(X, y).score(NEW, TRUTH)
    with pytest.raises(InputError, match=r"the Dataset was made with \['difference\(1\)'"):
        TreeCRF(features=["lag"], **FEW).fit(dataset)


def test_names_say_what_was_derived():
    model = TreeCRF(window=1, features=NAMES, **FEW).fit(X, y)
    assert "rolling_std(4) of 0[" in importance(model).table(10)
    assert "rolling_std(4) of 0[" in str(rules(model))
    names = {name for name, _, _ in LinearCRF(window=1, features=NAMES).fit(X, y).feature_weights()}
    assert {"difference(1) of 0[-1]", "lag(2) of 0"} <= names


# ------------------------------------------------------------------------------------------------ auto


@pytest.mark.parametrize("model", [LinearCRF(), TreeCRF(**FEW), SlidingWindow(estimator=TreeCRF(**FEW))], ids=repr)
def test_auto_finds_that_a_spread_is_the_state(model):
    found = clone(model).set_params(window=0, features="auto").fit(X, y)
    assert any(feature.startswith(("rolling_std", "difference")) for feature in found.features_)
    assert found.score(NEW, TRUTH) > clone(model).set_params(window=0).fit(X, y).score(NEW, TRUTH) + 0.05
    assert clone(model).set_params(features="auto").fit(X, y).features_ != ()


def test_auto_is_none_where_nothing_is_gained_and_where_nothing_can_be_told():
    rng = np.random.default_rng(0)
    plain = [rng.normal(size=(20, 2)) for _ in range(40)]
    labels = [np.where(x[:, 0] + 0.3 * rng.normal(size=20) > 0, "p", "n").tolist() for x in plain]
    assert TreeCRF(features="auto", **FEW).fit(plain, labels).features_ == ()
    assert LinearCRF(features="auto").fit(plain, labels).features_ == ()
    assert LinearCRF(features="auto").fit([["a", "b"]] * 100, [["A", "B"]] * 100).features_ == ()
    assert LinearCRF(features="auto").fit(X[:2], y[:2]).features_ == ()
    assert FEATURES[0] == ()


def test_the_same_corpus_has_the_same_features(caplog):
    dataset = learn(X, y)
    with caplog.at_level("INFO", logger="hedgerow"):
        first = choose_features(dataset, TreeCRF()._quick, verbose=1)
    assert first == choose_features(dataset, TreeCRF()._quick)
    assert caplog.messages == [f"features: {', '.join(first)}"]


def test_models_that_are_tried_have_the_same_features(tmp_path):
    models = [TreeCRF(**FEW), LinearCRF(), HMM()]
    auto = AutoLabeler(features=NAMES, candidates=models, n_trials=3, cv=2, random_state=0).fit(X, y)
    assert auto.features_ == FULL
    assert "features=['difference(1)'" in auto.chosen_
    assert auto.score(NEW, TRUTH) > 0.8
    auto.save(tmp_path / "auto")
    assert hedgerow.load(tmp_path / "auto").predict(NEW).tolist() == auto.predict(NEW).tolist()
    found = AutoLabeler(features="auto", candidates=models, cv=0, random_state=0).fit(X, y)
    assert found.features_ != ()


# ------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"derived": ["sum", 3, "0"]}, "a function, a span and a column"),
        ({"derived": ["lag", 0, "0"]}, "a function, a span and a column"),
        ({"derived": ["lag", 10**9, "0"]}, "a function, a span and a column"),
        ({"derived": ["lag", True, "0"]}, "a function, a span and a column"),
        ({"derived": "lag"}, "a function, a span and a column"),
        ({"derived": ["lag", 2, "1"]}, "derived from none that there is"),
        ({"derived": ["lag", 2, "lag(2) of 0"]}, "derived from none that there is"),
        ({"absent": "zero"}, "cannot be derived"),
        ({"constant": True, "offsets": [0]}, "cannot be derived"),
    ],
)
def test_a_forged_column_is_refused(change, match):
    header, tensors = pack_model(LinearCRF(window=1, features=["difference", "lag(2)"]).fit(X, y))
    column = next(one for one in header["state"]["schema"]["columns"] if one["name"] == "lag(2) of 0")
    column |= change
    with pytest.raises(ModelFileError, match=match):
        unpack_model(header, tensors)


@pytest.mark.filterwarnings("ignore:training stopped after")
def test_the_line_that_trains_an_average_again_has_its_features():
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(12, 9, 2)))
    y = [np.where(rows[:, 0] > 0, "up", "down").tolist() for rows in X]
    models = [LinearCRF(max_iter=5), TreeCRF(n_estimators=2, early_stopping=False)]
    model = AutoLabeler(candidates=models, cv=0, features=["rolling_mean(3)"], window=0, random_state=0).fit(X, y)
    assert model.chosen_.endswith("cv=0, random_state=0, features=['rolling_mean(3)']).fit(X, y)")
