"""One short sequence by itself, by a model or its predictor, gets what it gets in a corpus, to the bit."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from contextlib import contextmanager
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from hedgerow import HMM, MEMM, AutoLabeler, LinearCRF, MaxMarginMarkovNetwork, SlidingWindow, TreeCRF, sequences
from hedgerow.data.short import SHORT
from hedgerow.errors import InputError
from hedgerow.estimators import predictor
from hedgerow.estimators.base import ChainModel
from hedgerow.trees import ensemble

LABELS = ["B-X", "I-X", "O"]
FEW = {"n_estimators": 4, "early_stopping": False, "max_leaf_nodes": 6, "random_state": 0}
QUICK = {"max_iter": 8}


def made(n: int, seed: int, gaps: bool = False):
    """Words, numbers and flags, rare keys among them; labels that obey IOB2."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(n):
        rows, labels = [], []
        for _ in range(rng.integers(1, 7)):
            k = int(rng.integers(3))
            k = 0 if k == 1 and (not labels or labels[-1] == "O") else k
            row = {"word": f"w{k + rng.integers(4)}", "size": float(rng.normal() + k), "flag": bool(rng.random() < 0.4)}
            row[f"rare{rng.integers(60)}"] = float(rng.integers(1, 3))
            if gaps and rng.random() < 0.3:
                del row[rng.choice(["word", "size"])]
            rows.append(row)
            labels.append(LABELS[k])
        X.append(rows)
        y.append(labels)
    return X, y


MODELS = {
    "words": lambda: LinearCRF(window=1, **QUICK),
    "declared": lambda: LinearCRF(window={"word": 2}, columns={"size": "numeric", "word": "categorical"}, **QUICK),
    "constrained": lambda: LinearCRF(constraints="iob2", window=1, **QUICK),
    "unseen": lambda: LinearCRF(transitions="forbid_unseen", window=0, **QUICK),
    "tilted": lambda: LinearCRF(class_weight="balanced", window=0, **QUICK),
    "tempered": lambda: LinearCRF(window=0, **QUICK),
    "order 0": lambda: LinearCRF(order=0, window=1, **QUICK),
    "order 2": lambda: LinearCRF(order=2, window=0, **QUICK),
    "pairs": lambda: LinearCRF(transition_columns=["word"], window=0, **QUICK),
    "imputed": lambda: LinearCRF(missing="indicator", columns={"size": "numeric"}, window=1, **QUICK),
    "margin": lambda: MaxMarginMarkovNetwork(window=0, **QUICK),
    "shared": lambda: TreeCRF(edges="shared", window=1, **FEW),
    "joint": lambda: TreeCRF(edges="joint", window=1, constraints="iob2", **FEW),
    "vectors": lambda: TreeCRF(edges="shared", multi_strategy="multi_output_tree", window=1, **FEW),
    "tree order 2": lambda: TreeCRF(edges="joint", order=2, window=0, **FEW),
    "histories": lambda: TreeCRF(edges="shared", order=2, window=0, **FEW),
    "surrogates": lambda: TreeCRF(missing="surrogate", edges="joint", window=0, **FEW),
    "filled": lambda: TreeCRF(missing="impute", edges="shared", window=1, columns={"size": "numeric"}, **FEW),
    "on linear": lambda: TreeCRF(init=LinearCRF(window=0, **QUICK), edges="shared", window=0, **FEW),
    "hmm": lambda: HMM(),
    "memm": lambda: MEMM(window=1, random_state=0),
    "sliding": lambda: SlidingWindow(window=1, random_state=0),
    "auto": lambda: AutoLabeler(candidates=[LinearCRF(window=0, **QUICK), HMM()], cv=0, random_state=0),
}  # fmt: skip
GAPS = {"imputed", "surrogates", "filled"}


@cache
def fitted(name: str):
    X, y = made(25, seed=1, gaps=name in GAPS)
    if name == "vectors":
        X = [[{"size": row["size"]} for row in rows] for rows in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]().fit(X, y)
    if name in ("tempered", "tilted"):
        model.temperature_ = 1.7
    return model


new_rows = st.fixed_dictionaries(
    {"word": st.sampled_from(["w0", "w1", "w3", "w5", "unknown"]), "size": st.floats(-4, 4).map(lambda x: round(x, 1))},
    optional={
        "flag": st.booleans(),
        "rare7": st.sampled_from([1.0, 2.0, 0.0, 1]),
        "new": st.just("a"),
        "rare3": st.just(1.0),
    },
)
known_labels = st.none() | st.sampled_from(LABELS) | st.sets(st.sampled_from(LABELS), min_size=1)


@contextmanager
def as_corpus():
    """The way of corpora, for short sequences too."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (ChainModel, LinearCRF):
            patch.setattr(kind, "_short_dataset", lambda *_: None)
        patch.setattr(ensemble, "MOST_WALKED", -1)
        yield


def answers(model, x, known, decoder):
    """Probabilities and labels of a sequence; the text of the error where there are none."""

    def first(call, **more):
        try:
            return call([x], known=None if known is None else [known], **more)[0]
        except InputError as error:
            return str(error)

    return first(model.predict_proba), first(model.predict, decoder=decoder)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20)
@given(data=st.data())
def test_alone_as_in_a_corpus(name, data):
    model = fitted(name)
    x = data.draw(st.lists(new_rows, min_size=1, max_size=6))
    if name in GAPS:
        x = [{key: value for key, value in row.items() if data.draw(st.integers(0, 4)) or key == "flag"} for row in x]
    x = [{"size": row["size"]} for row in x] if name == "vectors" else x
    known = data.draw(st.none() | st.lists(known_labels, min_size=len(x), max_size=len(x)))
    for decoder in (None, "viterbi", "posterior", "beam"):
        probs, labels = answers(model, x, known, decoder)
        with as_corpus():
            slow_probs, slow_labels = answers(model, x, known, decoder)
        assert np.array_equal(probs, slow_probs)
        assert labels == slow_labels
    if isinstance(labels, list):
        assert model.predictor().predict(x, decoder="beam", known=known) == labels


@pytest.mark.parametrize("name", ["words", "declared", "constrained", "tilted", "tempered", "order 0", "margin"])
def test_linear_models_do_not_go_the_way_of_corpora(name, monkeypatch):
    model, x = fitted(name), made(1, seed=9)[0][0]
    with as_corpus():
        expected = model.predict([x], decoder="viterbi")[0]
    monkeypatch.setattr(type(model), "_potentials", None)
    assert model.predict([x], decoder="viterbi")[0] == expected
    if name != "constrained":  # where some labels are impossible, and chunks know why a message is 0
        assert model.predict_proba([x])[0].shape == (len(x), 3)


@pytest.mark.parametrize("name", ["words", "constrained", "tempered"])
def test_scores_that_underflow(name):
    model, (x, *_) = copy.deepcopy(fitted(name)), made(1, seed=9)[0]
    model.weights_ = model.weights_ * 4000.0
    probs, labels = answers(model, x, None, None)
    with as_corpus():
        slow_probs, slow_labels = answers(model, x, None, None)
    np.testing.assert_array_equal(probs, slow_probs)
    assert labels == slow_labels


def test_a_long_sequence_goes_the_way_of_corpora():
    model, x = fitted("words"), [{"word": "w1", "size": 0.5}] * (SHORT + 1)
    assert model._own_predictor()._short([x], None) is None
    assert model._own_predictor()._short([x[1:]], None) is not None
    for n in (SHORT, SHORT + 1):
        probs = model.predict_proba([x[:n]])[0]
        with as_corpus():
            np.testing.assert_array_equal(probs, model.predict_proba([x[:n]])[0])


def test_a_missing_number_is_refused_here_too():
    model = fitted("declared")
    for X in ([[{"word": "w1"}]], [[{"word": "w1"}]] * 2):
        for method in (model.predict, model.predict_proba):
            with pytest.raises(InputError, match="a number is missing"):
                method(X)


def test_what_a_model_has_learnt_since_counts():
    model, (x, *_) = copy.deepcopy(fitted("words")), made(1, seed=9)[0]
    one = model.predictor()
    for change in ({"weights_": model.weights_ * 2.0}, {"temperature_": 3.0}, {"tilt_": np.arange(3.0)}):
        before = one.predict_proba(x)
        for name, value in change.items():
            setattr(model, name, value)
        with as_corpus():
            expected = model.predict_proba([x])[0]
        np.testing.assert_array_equal(one.predict_proba(x), expected)
        assert not np.array_equal(one.predict_proba(x), before)
    model.set_params(decoder="viterbi")
    assert one.predict(x) == model.predict([x, x])[0]
    model.set_params(decoder="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*made(10, seed=3))
    assert one.predict(x) == model.predict([x, x])[0]


def test_what_was_returned_stays():
    model, X = fitted("words"), made(8, seed=9)[0]
    found = [model.predict_proba([x])[0] for x in X]
    for probs, expected in zip(found, model.predict_proba(X)):
        np.testing.assert_allclose(probs, expected, rtol=1e-13)
    assert b"_predictor" not in pickle.dumps(model)


@pytest.mark.parametrize("name", ["words", "shared"])
def test_threads_share_a_predictor(name):
    model, X = fitted(name), made(40, seed=4)[0]
    one, wrong = model.predictor(), []
    expected = [one.predict_proba(x) for x in X]

    def work(k: int) -> None:
        for i in range(k, k + 120):
            if not np.array_equal(one.predict_proba(X[i % 40]), expected[i % 40]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        LinearCRF().predictor()
    with pytest.raises(NotFittedError):
        LinearCRF().predict([["a"]])
    with pytest.raises(NotFittedError):
        TreeCRF().predict_proba([["a"]])


def test_no_other_decoder_is_known_here():
    for X in ([[{"word": "w1", "size": 1.0}]], [[{"word": "w1", "size": 1.0}]] * 2):
        with pytest.raises(InputError, match="decoder"):
            fitted("words").predict(X, decoder="greedy")


def test_what_a_prediction_depends_on_is_named():
    """Attributes that learning sets and `Lean` reads are among those that make a predictor ready anew."""
    assert {"schema_", "weights_", "ensemble_", "temperature_", "tilt_", "imputation_"} == set(predictor._LEARNT)


# ------------------------------------------------------------------------------------------------ widths of numbers


def doors(x):
    """The same numbers through every door."""
    names = ["a", "b", "c"]
    frame = pd.DataFrame(x.reshape(-1, 3), columns=names).assign(id=np.repeat(np.arange(len(x)), x.shape[1]))
    return {
        "arrays": list(x),
        "rows": [list(rows) for rows in x],
        "pandas": [pd.DataFrame(rows, columns=names) for rows in x],
        "polars": [pl.DataFrame(dict(zip(names, rows.T))) for rows in x],
        "dicts": [[dict(zip(names, row)) for row in rows] for rows in x],
        "sequences": sequences(frame, by="id")[0],
        "cube": x,
    }


@pytest.mark.parametrize("door", ["arrays", "rows", "pandas", "polars", "dicts", "sequences", "cube"])
def test_numbers_are_float64_from_the_door_on(door):
    """What float32 holds is that number, in training and after: only rounding itself can move it to another bin."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(12, 30, 3))  # more than 253 numbers a column: thresholds are quantiles
    narrow = wide.astype(np.float32)
    y = (wide[..., 0] > 0.1 * rng.normal(size=(12, 30))).astype(int).tolist()
    for model in (TreeCRF(window=0, **FEW), LinearCRF(window=0, **QUICK)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            by_wide, by_narrow = (copy.deepcopy(model).fit(doors(x)[door], y) for x in (wide, narrow))
            same = copy.deepcopy(model).fit(doors(narrow.astype(np.float64))[door], y)
        exact = doors(narrow.astype(np.float64))[door]
        for one in (by_wide, by_narrow):
            for X in (doors(narrow)[door], doors(narrow)[door][:1]):
                for probs, expected in zip(one.predict_proba(X), one.predict_proba(exact)):
                    np.testing.assert_array_equal(probs, expected)
        np.testing.assert_array_equal(by_narrow.predict_proba(exact)[0], same.predict_proba(exact)[0])
