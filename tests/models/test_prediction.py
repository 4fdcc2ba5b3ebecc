"""What a fitted chain model answers: labels, probabilities, k-best, samples; and that its answers agree."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import LinearCRF, TreeCRF
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError

from .corpora import COLUMNS, X_SMALL, Y_SMALL, rich_corpus


@pytest.fixture(scope="module")
def model() -> LinearCRF:
    X, y = make_sequences(60, n_tokens=12, concentration=1.0, mean_length=3, random_state=1)
    return LinearCRF(l2=0.1, window=1).fit(X, y)


@pytest.fixture(scope="module")
def X() -> list[list[str]]:
    return make_sequences(20, n_tokens=12, concentration=1.0, mean_length=3, random_state=2)[0]


def all_labelings(model: LinearCRF, x) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Every labeling of a sequence, and its probability by the model's own log_probability."""
    labelings = list(itertools.product(model.classes_.tolist(), repeat=len(x)))
    return labelings, np.exp(model.log_probability([x] * len(labelings), [list(one) for one in labelings]))


def test_probabilities_of_all_labelings_sum_to_one_and_give_the_rest(model, X):
    for x in (x for x in X if len(x) <= 5):
        labelings, probs = all_labelings(model, x)
        np.testing.assert_allclose(probs.sum(), 1.0, rtol=1e-10)
        order = np.argsort(-probs)
        assert model.predict([x], decoder="viterbi")[0] == list(labelings[order[0]])
        best = model.predict_k_best([x], k=3)[0]
        assert [tuple(labels) for labels, _ in best] == [labelings[i] for i in order[:3]]
        np.testing.assert_allclose([p for _, p in best], probs[order[:3]], rtol=1e-9)
        expected = np.zeros((len(x), len(model.classes_)))
        for labels, p in zip(labelings, probs):
            expected[np.arange(len(x)), [model.classes_.tolist().index(label) for label in labels]] += p
        np.testing.assert_allclose(model.predict_proba([x])[0], expected, rtol=1e-9)
        np.testing.assert_allclose(model.entropy([x])[0], -(probs @ np.log(probs)), rtol=1e-9)
        span = sum(p for labels, p in zip(labelings, probs) if labels[0] == "L1")
        np.testing.assert_allclose(model.span_probability([x], [(0, 0, ["L1"])]), [span], rtol=1e-9)


def test_posterior_decoding_takes_the_largest_marginal(model, X):
    expected = [model.classes_[probs.argmax(axis=1)].tolist() for probs in model.predict_proba(X)]
    assert model.predict(X, decoder="posterior").tolist() == expected
    by_parameter = LinearCRF(l2=0.1, window=1, decoder="posterior")
    by_parameter.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_")})
    assert by_parameter.predict(X).tolist() == expected
    assert (
        by_parameter.predict(X, decoder="viterbi").tolist() == model.predict(X, decoder="viterbi").tolist() != expected
    )
    with pytest.raises(InputError, match="decoder is 'best'"):
        model.predict(X, decoder="best")


def test_one_sequence_at_a_time_gives_the_same(model, X):
    together, probs = model.predict(X), model.predict_proba(X)
    for i, x in enumerate(X):
        assert model.predict([x])[0] == together[i]
        np.testing.assert_allclose(model.predict_proba([x])[0], probs[i], rtol=1e-12)
    assert model.predict(X[::-1]).tolist() == together[::-1].tolist()


def test_shapes_and_types(model, X):
    labels = model.predict(X)
    assert labels.shape == (len(X),)
    assert labels.dtype == object
    assert all(type(row) is list and all(type(label) is str for label in row) for row in labels)
    equal = model.predict([["w1", "w2"], ["w3", "w4"]])
    assert equal.shape == (2,)
    assert [probs.shape for probs in model.predict_proba(X)] == [(len(x), 3) for x in X]


def test_a_dataset_gives_the_same_as_its_sequences(model, X):
    data = model.encode(X)
    y = model.predict(X)
    known = [["L1", *[None] * (len(x) - 1)] for x in X]
    assert model.predict(data).tolist() == y.tolist()
    assert model.predict(data, known=known).tolist() == model.predict(X, known=known).tolist()
    assert model.predict_k_best(data, 2) == model.predict_k_best(X, 2)
    assert model.score(data, y) == model.score(X, y) == 1.0
    np.testing.assert_array_equal(model.log_probability(data, y), model.log_probability(X, y))
    np.testing.assert_array_equal(model.entropy(data), model.entropy(X))
    labelled = model.encode(X, known)
    assert model.predict(labelled).tolist() == y.tolist()  # labels in a Dataset are not known= by themselves
    other = LinearCRF().fit(X_SMALL, Y_SMALL)
    with pytest.raises(InputError, match="another model"):
        other.predict(data)


def test_rich_data_by_sequences_and_by_dataset():
    X, y = rich_corpus(40, seed=1)
    model = LinearCRF(columns=COLUMNS, window=1, transition_columns=["word", "*"]).fit(X, y)
    assert model.layout_.pairs is not None
    assert model.predict(model.encode(X)).tolist() == model.predict(X).tolist()
    for i in (0, 7, 39):
        assert model.predict([X[i]])[0] == model.predict(X)[i]


def test_a_probability_is_at_most_one(rng):
    """Also where rounding would have it a little above."""
    model = LinearCRF().fit(*make_sequences(20, n_tokens=12, random_state=3))
    model.weights_ = rng.normal(size=len(model.weights_)) * 200
    X = [[f"w{k}" for k in rng.integers(12, size=rng.integers(1, 30))] for _ in range(300)]
    log_probs = model.log_probability(X, model.predict(X))
    assert log_probs.max() <= 0.0
    assert np.count_nonzero(log_probs == 0.0) > 10


class TestKnown:
    def test_forced_labels_stand_in_every_answer(self, model, X):
        known = [[None] * (len(x) - 1) + ["L2"] for x in X]
        assert all(labels[-1] == "L2" for labels in model.predict(X, known=known))
        for probs in model.predict_proba(X, known=known):
            np.testing.assert_allclose(probs[-1], [0.0, 0.0, 1.0], rtol=0, atol=1e-15)
            np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-12)
        for best in model.predict_k_best(X, 3, known=known):
            assert all(labels[-1] == "L2" for labels, _ in best)
            assert sum(p for _, p in best) <= 1 + 1e-12
        for drawn in model.sample(X, 3, random_state=0, known=known):
            assert all(labels[-1] == "L2" for labels in drawn)

    def test_conditioning_is_bayes(self, model):
        x = ["w1", "w5", "w2"]
        labelings, probs = all_labelings(model, x)
        known = [[{"L0", "L1"}, None, "L2"]]
        fits = np.array([labels[0] != "L2" and labels[2] == "L2" for labels in labelings])
        best = labelings[int(np.argmax(np.where(fits, probs, 0)))]
        assert model.predict([x], known=known)[0] == list(best)
        middle = np.array([probs[fits & [lab[1] == name for lab in labelings]].sum() for name in model.classes_])
        np.testing.assert_allclose(model.predict_proba([x], known=known)[0][1], middle / probs[fits].sum(), rtol=1e-9)
        np.testing.assert_allclose(model.log_probability([x], known), np.log(probs[fits].sum()), rtol=1e-9)

    def test_everything_known_is_returned(self, model, X):
        y = [["L2"] * len(x) for x in X]
        assert model.predict(X, known=y).tolist() == y
        assert model.predict(X, decoder="posterior", known=y).tolist() == y

    def test_nothing_known_is_no_knowledge(self, model, X):
        nothing = [[None] * len(x) for x in X]
        assert model.predict(X, known=nothing).tolist() == model.predict(X).tolist()
        np.testing.assert_array_equal(model.log_probability(X, nothing), np.zeros(len(X)))

    def test_a_label_that_is_not_known(self, model, X):
        known = [[None] * len(x) for x in X]
        known[3][-1] = "Z"
        with pytest.raises(InputError, match=f"sequence 3, position {len(X[3]) - 1}: the label 'Z'"):
            model.predict(X, known=known)
        with pytest.raises(InputError, match="sequence 0"):
            model.predict(X, known=[["L1"] * 50, *known[1:]])


def test_samples_have_the_probabilities_of_the_model(model):
    x = ["w1", "w5"]
    labelings, probs = all_labelings(model, x)
    drawn = model.sample([x], 20_000, random_state=1)
    counts = dict.fromkeys(labelings, 0)
    for one in drawn:
        counts[tuple(one[0])] += 1
    np.testing.assert_allclose([counts[labels] / 20_000 for labels in labelings], probs, rtol=0, atol=0.02)
    again = model.sample([x], 5, random_state=1)
    assert [one[0] for one in again] == [one[0] for one in model.sample([x], 5, random_state=1)]


def test_score_is_label_accuracy(model, X):
    predicted = model.predict(X)
    truth = [["L0"] * len(labels) for labels in predicted]
    share = np.mean([label == "L0" for labels in predicted for label in labels])
    np.testing.assert_allclose(model.score(X, truth), share, rtol=1e-12)
    with pytest.raises(InputError, match="sequence 2, position 0: scoring needs a label here"):
        model.score(X[:3], [["L0"] * len(X[0]), ["L0"] * len(X[1]), [None] * len(X[2])])
    with pytest.raises(InputError, match="scoring needs the true labels"):
        model.score(X, None)
    with pytest.raises(InputError, match="the label 'Q' is not one of those seen"):
        model.score([["w1"]], [["Q"]])


def test_flat_arrays_with_lengths():
    rng = np.random.default_rng(3)
    flat, lengths = rng.normal(size=(12, 2)), [5, 3, 4]
    y = (flat[:, 0] > 0).astype(int)
    model = LinearCRF().fit(flat, y, lengths=lengths)
    parts = np.split(flat, [5, 8])
    assert model.predict(flat, lengths=lengths).tolist() == model.predict(parts).tolist()
    other = LinearCRF().fit(parts, np.split(y, [5, 8]))
    np.testing.assert_array_equal(model.weights_, other.weights_)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.score([], []), "y_true holds no positions"),
        (lambda m: m.predict("abc"), "X is a str"),
        (lambda m: m.predict_k_best([["w1"]], k=0), "k is 0"),
        (lambda m: m.sample([["w1"]], n_samples=0), "n_samples is 0"),
        (lambda m: m.log_probability([["w1"]], None), "y is missing"),
        (lambda m: m.span_probability([["w1"]], [(1, 0, ["L0"])]), "span 0 is in sequence 1 of 1"),
        (lambda m: m.span_probability([["w1"]], [(0, 0, ["Z"])]), "the label 'Z'"),
        (lambda m: m.span_probability([["w1"]], [(0, 0, ["L0", "L0"])]), "not inside 1 positions"),
        (lambda m: m.span_probability([["w1"]], [(0, -1, ["L0"])]), "not inside 1 positions"),
        (lambda m: m.span_probability([["w1"]], [(0, 0, [])]), "not inside 1 positions"),
        (lambda m: m.span_probability([["w1"]], [(0, 0)]), r"span 0 is \(0, 0\)"),
        (lambda m: m.span_probability([["w1"]], [(0, 0, ["L0"]), 3]), "span 1 is 3"),
        (lambda m: m.span_probability([["w1"]], [(0, "0", ["L0"])]), "span 0 is"),
        (lambda m: m.span_probability([["w1"]], [(0, 0, [["L0"]])]), "the label"),
        (lambda m: m.sample([["w1"]], random_state="x"), "random_state is 'x'"),
        (lambda m: m.predict([["w1"]], decoder=["a"]), "decoder is"),
        (lambda m: m.predict(m.encode([["w1"]]), lengths=[1]), "a Dataset has its own lengths"),
        (lambda m: m.feature_weights("ZZ"), "the label 'ZZ' is not one of those seen"),
    ],
)
def test_questions_that_cannot_be_meant(model, call, words):
    with pytest.raises(InputError, match=words):
        call(model)


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("kind", [LinearCRF, TreeCRF])
def test_no_sequences_have_no_answers(kind, below):
    X, y = rich_corpus(20, seed=3)
    start = {"init": LinearCRF(columns=COLUMNS)} if below and kind is TreeCRF else {}
    own = {"n_estimators": 2, "early_stopping": False} if kind is TreeCRF else {}
    model = kind(columns=COLUMNS, window=1, **own, **start).fit(X, y)
    for nothing in ([], (), iter([]), np.array([]), model.encode([]), model.encode(X).take(np.array([], dtype=int))):
        predicted = model.predict(nothing)
        assert (predicted.shape, predicted.dtype) == ((0,), object)
    assert model.predict([], known=[]).shape == (0,)
    assert model.predict([], decoder="posterior").shape == (0,)
    assert model.predict_proba([]) == model.predict_k_best([], 3) == []
    assert [drawn.tolist() for drawn in model.sample([], 2)] == [[], []]
    for answer in (model.entropy([]), model.log_probability([], []), model.span_probability([], [])):
        assert (answer.shape, answer.dtype) == ((0,), np.float64)


@pytest.mark.parametrize("kind", [LinearCRF, TreeCRF])
def test_no_sequences_to_train_on_or_to_stop_by_are_an_error(kind):
    with pytest.raises(InputError, match="X has no sequences"):
        kind(early_stopping=False).fit([], [])
    with pytest.raises(InputError, match="X has no sequences"):
        kind().fit(X_SMALL, Y_SMALL, X_val=[], y_val=[])


MATRICES = {
    "arrays": lambda n: [np.arange(4.0 * n).reshape(4, n), np.ones((2, n))],
    "flags": lambda n: [np.ones((4, n), dtype=bool), np.ones((2, n), dtype=bool)],
    "lists": lambda n: [np.arange(4.0 * n).reshape(4, n).tolist(), [[1.0] * n, [2.0] * n]],
    "texts": lambda n: [np.full((4, n), "a"), np.full((2, n), "b")],
    "objects": lambda n: [np.full((4, n), "a", dtype=object), np.full((2, n), "b", dtype=object)],
    "3-D": lambda n: np.arange(8.0 * n).reshape(2, 4, n),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("kind", [LinearCRF, TreeCRF])
def test_a_matrix_of_another_width_is_refused(kind, name):
    make, own = MATRICES[name], {"early_stopping": False, **({"n_estimators": 2} if kind is TreeCRF else {})}
    X = make(3)
    model = kind(window=1, **own).fit(X, [["a", "b", "a", "b"][: len(x)] for x in X])
    assert len(model.predict(X)) == 2
    with pytest.raises(InputError, match=r"has 5 columns where the model expects 3\. The model reads '0', '1', '2';"):
        model.predict(make(5))
    if name not in ("texts", "objects"):  # in these a value may be absent, as in a dict
        with pytest.raises(InputError, match="there is no column '2' in the data"):
            model.predict(make(2))


def test_a_flat_matrix_of_another_width_is_refused():
    model = LinearCRF().fit(np.ones((5, 2)), list("ababa"), lengths=[2, 3])
    assert len(model.predict(np.ones((3, 2)), lengths=[3])) == 1
    with pytest.raises(InputError, match="the data has 3 columns where the model expects 2"):
        model.predict(np.ones((3, 3)), lengths=[3])


def test_a_column_of_a_matrix_that_was_empty_in_training_may_be_empty_again():
    X = [np.array([["a", None], ["b", None]], dtype=object)]
    model = LinearCRF().fit(X, [["A", "B"]])
    assert model.predict(X).tolist() == [["A", "B"]]
    with pytest.raises(InputError, match="the data has 2 columns where the model expects 1"):
        model.predict([np.array([["a", "x"]], dtype=object)])


def test_columns_with_names_of_their_own_may_be_more():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    model = LinearCRF().fit([frame], [["A", "B"]])
    wider = frame.assign(c=[5.0, 6.0])
    assert model.predict([wider]).tolist() == model.predict([frame]).tolist()
    dicts = LinearCRF().fit([[{"0": "x", "1": "y"}]], [["A"]])
    assert dicts.predict([[{"0": "x", "1": "y", "2": "z"}]]).tolist() == [["A"]]


def test_unknown_tokens_are_ignored(model):
    probs = model.predict_proba([["never", "seen"]])[0]
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-12)


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=30), seed=st.integers(0, 10**6))
def test_any_cut_of_the_corpus_gives_the_same(lengths, seed):
    rng = np.random.default_rng(seed)
    X = [[f"w{k}" for k in rng.integers(12, size=length)] for length in lengths]
    model = test_any_cut_of_the_corpus_gives_the_same.model
    whole = model.predict(X)
    cut = int(rng.integers(len(X) + 1))
    parts = [labels for part in (X[:cut], X[cut:]) if part for labels in model.predict(part)]
    assert parts == whole.tolist()


test_any_cut_of_the_corpus_gives_the_same.model = LinearCRF().fit(  # type: ignore[attr-defined]
    *make_sequences(30, n_tokens=12, concentration=1.0, random_state=9)
)
