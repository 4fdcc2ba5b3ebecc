"""Streams: what a model says of a label before the sequence has ended."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from hedgerow import HMM, IOHMM, MEMM, AutoLabeler, FutureFeatureMEMM, LinearCRF, RecurrentSlidingWindow, TreeCRF
from hedgerow.chain.decoding import tilted
from hedgerow.chain.inference import node_marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.labels import allowed_labels
from hedgerow.errors import InputError
from hedgerow.models.search.estimator import BeamSearchTagger

from .test_short import FEW, GAPS, LABELS, QUICK, fitted, known_labels, made, new_rows

MODELS = [
    "words", "declared", "constrained", "unseen", "tilted", "tempered", "order 0", "pairs", "imputed", "margin",
    "shared", "joint", "vectors", "surrogates", "filled", "on linear", "hmm", "memm", "sliding", "order 2",
]  # fmt: skip


def expected(model, x, known, lag):
    """P(y_t | x_1 … x_{t+lag}) of every position: marginals of the chain that ends there. Only the true end is one."""
    dataset = model._dataset([x], None if known is None else [known], None)
    longer = model._dataset([[*x, x[-1]]], None, None)
    whole, open_end = model._tempered(dataset, 0, 1), model._tempered(longer, 0, 1)
    ahead = model._reach()[1]
    mask, found, T = allowed_labels(dataset, slice(0, len(x))), [], len(x)
    for t in range(T):
        end = min(t + lag + 1, T)
        early = end == T and t + lag + 1 == T and ahead == 0  # told before anybody knew that it was the last one
        so_far = open_end if early else whole
        nodes = so_far.node_scores[:end].copy()
        if mask is not None:
            nodes[~mask[:end]] = -np.inf
        chain = ChainPotentials(nodes, np.array([0, end]), so_far.edges.take(np.arange(end)))
        found.append(tilted(node_marginals(chain), model.tilt_)[t])
    return np.array(found)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12)
@given(data=st.data())
def test_a_stream_tells_what_the_chain_so_far_says(name, data):
    model = fitted(name)
    x = data.draw(st.lists(new_rows, min_size=1, max_size=6))
    if name in GAPS:
        x = [{key: value for key, value in row.items() if data.draw(st.integers(0, 4)) or key == "flag"} for row in x]
    x = [{"size": row["size"]} for row in x] if name == "vectors" else x
    known = data.draw(st.none() | st.lists(known_labels, min_size=len(x), max_size=len(x)))
    lag = data.draw(st.integers(0, 7))
    stream = model.stream(lag)
    try:
        wanted = expected(model, x, known, lag)
        whole = model.predict_proba([x], known=known and [known])[0]
    except InputError:  # what is known is not legal
        return
    told = []
    for t, row in enumerate(x):
        told.append(stream.push(row, known[t] if known else None))
        assert len(told[-1]) == (t >= stream.delay)
    told = np.concatenate([*told, stream.finish()])
    np.testing.assert_allclose(told, wanted, rtol=1e-10, atol=1e-12)
    if lag >= len(x):
        np.testing.assert_allclose(told, whole, rtol=0, atol=1e-12)
    again = np.concatenate([stream.extend(x, known), stream.finish()])  # a finished stream starts anew
    np.testing.assert_array_equal(again, told)


def closed(labels):
    """IOB2 as IOBES: a span ends with E, or S where it is one position."""
    pairs = zip(labels, [*labels[1:], "O"])
    return [label if after == "I-X" else {"B-X": "S-X", "I-X": "E-X"}.get(label, label) for label, after in pairs]


@pytest.mark.parametrize(
    "model",
    [
        LinearCRF(window=0, constraints="iobes", **QUICK),
        LinearCRF(window=0, constraints="iobes", transition_columns=["word"], **QUICK),
        TreeCRF(window=0, constraints="iobes", edges="shared", **FEW),
        TreeCRF(window=0, constraints="iobes", edges="joint", **FEW),
        HMM(constraints="iobes"),
        LinearCRF(window=0, constraints="iobes", order=3, **QUICK),
        TreeCRF(window=(1, 0), constraints="iobes", order=2, edges="joint", **FEW),
        TreeCRF(window=0, constraints="iobes", order=2, edges="shared", **FEW),
        HMM(constraints="iobes", order=2),
        MEMM(constraints="iobes", order=2, window=0),
    ],
    ids=["linear", "pairs", "shared", "joint", "hmm", "linear 3", "joint 2", "shared 2", "hmm 2", "memm 2"],
)
@pytest.mark.parametrize("lag", [0, 2, 9])
def test_only_the_end_is_an_end(model, lag):
    X, y = made(25, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, list(map(closed, y)))
    x, begins = max(X, key=len), model.classes_.tolist().index("B-X")
    stream = model.stream(lag)
    told = [stream.push(row) for row in x]
    if lag == 0:
        assert told[-1][0, begins] > 0.0  # it could go on
    told = np.concatenate([*told, stream.finish()])
    np.testing.assert_allclose(told, expected(model, x, None, lag), rtol=1e-10, atol=1e-12)
    assert (told[-1, begins] == 0.0) == (lag > 0)


def test_trees_see_what_the_linear_model_below_them_sees():
    X, y = made(25, seed=1)
    with pytest.warns(ConvergenceWarning):
        model = TreeCRF(init=LinearCRF(window=(1, 2), **QUICK), edges="shared", window=0, **FEW).fit(X, y)
    stream, x = model.stream(9), max(X, key=len)
    assert stream.delay == 11
    np.testing.assert_allclose(
        np.concatenate([stream.extend(x), stream.finish()]), model.predict_proba([x])[0], rtol=0, atol=1e-12
    )
    stream = model.stream()
    told = np.concatenate([stream.extend(x), stream.finish()])
    np.testing.assert_allclose(told, expected(model, x, None, 0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["words", "shared", "joint"])
def test_streams_of_one_model_do_not_meet(name):
    model, (one, other) = fitted(name), [x for x in made(20, seed=7)[0] if len(x) > 3][:2]
    alone = model.stream(1).extend(one)
    first, second = model.stream(1), model.stream()
    told = []
    for a, b in zip(one, [*other, *other]):
        told.append(first.push(a))
        second.push(b)
    np.testing.assert_array_equal(np.concatenate(told), alone[: len(one)])
    first.reset()
    assert first.n_pushed == 0
    np.testing.assert_array_equal(first.extend(one), alone)


@pytest.mark.parametrize("lag", [0, 2])
def test_memory_stays(lag):
    model, rows = fitted("words"), [row for x in made(20, seed=7)[0] for row in x]
    stream = model.stream(lag)
    stream.extend(rows)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(5):
        told = stream.extend(rows)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert stream.n_pushed == 6 * len(rows)
    np.testing.assert_allclose(told.sum(axis=1), 1.0, rtol=1e-12)
    assert grown < told.nbytes + 20_000


def test_constraints_hold():
    with pytest.warns(ConvergenceWarning):
        model = LinearCRF(constraints="iob2", window=0, **QUICK).fit(*made(25, seed=1))
    stream, inside = model.stream(), LABELS.index("I-X")
    assert stream.push({"word": "w1", "size": 1.0})[0, inside] == 0.0  # none begins inside
    assert stream.push({"word": "w1", "size": 1.0}, known="O")[0].tolist() == [0.0, 0.0, 1.0]
    assert stream.push({"word": "w1", "size": 1.0})[0, inside] == 0.0
    stream.push({"word": "w1", "size": 1.0}, known="O")
    with pytest.raises(InputError, match=r"position 4.*no legal labeling"):
        stream.push({"word": "w1", "size": 1.0}, known="I-X")


def test_what_is_refused_has_not_come():
    stream, row = fitted("declared").stream(1), {"word": "w1", "size": 1.0}
    expected = fitted("declared").stream(1).extend([row] * 4)
    told = [stream.push(row)]
    for wrong, message in (({"word": "w1", "size": "big"}, "size"), ({"word": "w1"}, "missing")):
        with pytest.raises(InputError, match=message):
            stream.push(wrong)
    with pytest.raises(InputError, match="nobody"):
        stream.push(row, known="nobody")
    told.append(stream.extend([row] * 3))
    np.testing.assert_array_equal(np.concatenate(told), expected)


def test_rows_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 8, 3))
    model = TreeCRF(window=1, **FEW).fit(list(X), (X[..., 0] > 0).astype(int).tolist())
    expected = model.predict_proba([X[0]])[0]
    for rows in (X[0], X[0].tolist(), list(X[0])):
        stream = model.stream(10)
        np.testing.assert_allclose(np.concatenate([stream.extend(rows), stream.finish()]), expected, rtol=0, atol=1e-12)
    assert stream.finish().shape == (0, 2)


@pytest.mark.filterwarnings("ignore:training stopped after")
@pytest.mark.parametrize("estimator", [LinearCRF, TreeCRF])
def test_features_look_back_as_far_as_they_do_in_a_corpus(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 15, 2))
    y = (np.abs(np.diff(X[..., 0], prepend=0.0)) > 1).astype(int).tolist()
    few = QUICK if estimator is LinearCRF else FEW
    model = estimator(window=1, features=["difference(2)", "rolling_mean(4)", "lag(3)"], **few).fit(list(X), y)
    assert model._reach() == (5, 1)
    stream = model.stream(20)
    told = np.concatenate([stream.extend(X[0]), stream.finish()])
    np.testing.assert_allclose(told, model.predict_proba([X[0]])[0], rtol=0, atol=1e-12)


def test_an_average_is_the_mean_of_what_its_models_tell():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead = [LinearCRF(window=1, constraints="iob2", **QUICK), HMM(constraints="iob2")]
        model = AutoLabeler(candidates=ahead, cv=0, window="auto", random_state=0).fit(*made(25, seed=1))
    model.temperature_ = 1.3
    x = max(made(9, seed=5)[0], key=len)
    stream = model.stream(99)
    told = [stream.push(row) for row in x]
    assert sum(map(len, told)) == 0
    np.testing.assert_allclose(stream.finish(), model.predict_proba([x])[0], rtol=0, atol=1e-12)
    plain, parts = model.stream(), [one.stream() for one in model.estimators_]
    assert plain.delay == max(part.delay for part in parts)
    for t, row in enumerate(x[:2]):
        assert len(plain.push(row, known="O")) == int(t >= plain.delay)
    with pytest.raises(InputError, match="no legal labeling"):  # says the HMM; the other one has not looked yet
        plain.push(x[0], known="I-X")
    assert [one.n_pushed for one in plain._streams] == [2, 2]
    mean = sum(np.concatenate([part.extend(x), part.finish()]) for part in parts) / len(parts)
    model.temperature_ = 1.0
    whole = model.stream()
    np.testing.assert_allclose(np.concatenate([whole.extend(x), whole.finish()]), mean, rtol=1e-12)


def test_the_delay_is_the_lag_and_what_windows_look_ahead():
    X, y = made(10, seed=1)
    with pytest.warns(ConvergenceWarning):
        model = LinearCRF(window=(2, 3), **QUICK).fit(X, y)
    assert [model.stream(lag).delay for lag in (0, 4)] == [3, 7]
    assert "delay=3" in repr(model.stream())


def test_those_that_have_no_stream():
    with pytest.raises(InputError, match="lag"):
        fitted("words").stream(-1)
    X, y = [["a", "b"], ["b", "a", "a"]], [["x", "y"], ["y", "x", "x"]]
    backward = RecurrentSlidingWindow(estimator="linear", window=0, direction="right_to_left")
    with pytest.raises(InputError, match="right to left"):
        backward.fit(X, y).stream()
    with pytest.raises(InputError, match="patterns ahead"):
        FutureFeatureMEMM(order=0, window=0, n_estimators=2, early_stopping=False).fit(X, y).stream()
    assert not hasattr(IOHMM(), "stream")
    assert not hasattr(BeamSearchTagger(), "stream")


def quick(**settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LinearCRF(**{"window": 0, "max_iter": 8} | settings).fit(ROWS, SIGNS)


ROWS = list(np.random.default_rng(3).normal(size=(12, 9, 2)))
SIGNS = [np.where(rows[:, 0] > 0, "up", "down").tolist() for rows in ROWS]


def test_a_model_that_was_fitted_anew_takes_another_stream():
    model = LinearCRF().partial_fit([["the", "cat", "sat"]] * 5, [["D", "N", "V"]] * 5)
    stream = model.stream()
    stream.push("the")
    words = [f"w{i}" for i in range(50)]
    model.partial_fit([words], [["N"] * 50])
    for ask in (lambda: stream.push(words[-1]), stream.finish):
        with pytest.raises(InputError, match="fitted anew"):
            ask()
    assert len(model.stream().push(words[-1])) == 1


def test_what_is_pushed_may_be_used_again():
    model, x = quick(window=(2, 0)), ROWS[0]
    buffer, stream, other = np.empty(2), model.stream(), model.stream()
    for row in x:
        buffer[:] = row
        np.testing.assert_array_equal(stream.push(buffer), other.push(row.copy()))


@pytest.mark.parametrize("bad", [[1.0, 2.0, 3.0], {"0": 1.0}, "word", ["a", "b"]])
def test_a_position_of_another_shape_has_not_come(bad):
    model, x = quick(window=(1, 0)), ROWS[0]
    stream, other = model.stream(), model.stream()
    stream.extend(x[:2])
    with pytest.raises(InputError):
        stream.push(bad)
    assert stream.n_pushed == 2
    np.testing.assert_array_equal(stream.push(x[2]), other.extend(x[:3])[2:])


def test_extend_takes_all_or_nothing():
    model, x = quick(window=(1, 0)), ROWS[0]
    stream = model.stream()
    with pytest.raises(InputError, match="6 positions and 1 labels"):
        stream.extend(x[:6], known=["up"])
    with pytest.raises(InputError, match="a str"):
        stream.extend(x[:2], known="ab")
    with pytest.raises(InputError):
        stream.extend([x[0], x[1], [1.0, np.inf]])
    assert stream.n_pushed == 0
    with pytest.raises(InputError, match="position 2"):
        stream.extend(x[:3], known=["up", "up", "sideways"])


def test_a_frame_is_taken_by_rows():
    frames = [pd.DataFrame(rows, columns=["a", "b"]) for rows in ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearCRF(window=0, max_iter=8).fit(frames, SIGNS)
    stream = model.stream(20)
    told = np.concatenate([stream.extend(frames[0]), stream.finish()])
    np.testing.assert_allclose(told, model.predict_proba([frames[0]])[0], rtol=0, atol=1e-12)


def test_missing_numbers_may_stand_anywhere():
    model = TreeCRF(window=0, **FEW).fit(ROWS, SIGNS)
    for row in ([None, 1.0], [1.0, None]):
        np.testing.assert_array_equal(model.stream().push(row), model.stream().push(np.array(row, dtype=float)))


def test_a_predictor_is_pickled_with_its_model():
    model = quick()
    again = pickle.loads(pickle.dumps(model.predictor()))
    assert again.predict(ROWS[0]) == model.predict([ROWS[0]])[0]
