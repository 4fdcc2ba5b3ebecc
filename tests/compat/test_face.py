"""What scripts find on sklearn_crfsuite.CRF beside its predictions, on both: tagger_, model files, bytes, None."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn_crfsuite
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import hedgerow.compat
from hedgerow.compat import CRF
from hedgerow.errors import InputError

from .corpora import made_corpus

BOTH = [CRF, sklearn_crfsuite.CRF]
ATTRIBUTES = ["classes_", "size_", "num_attributes_", "attributes_", "state_features_", "transition_features_"]
ATTRIBUTES += ["tagger_"]


@pytest.fixture(scope="module")
def corpus():
    return made_corpus()


@pytest.fixture(scope="module")
def both(corpus) -> list[Any]:
    return [kind(c2=0.1, epsilon=1e-9, delta=1e-11, max_iterations=3000).fit(*corpus) for kind in BOTH]


# ------------------------------------------------------------------------------------------------ values


def test_bytes_are_text(both):
    """The corpus has bytes as values and as keys, texts and numbers under one key, sets and nested dicts."""
    ours, theirs = both
    assert ours.state_features_.keys() == theirs.state_features_.keys()
    X = made_corpus(10, seed=3)[0]
    for found, expected in zip(ours.predict_marginals(X), theirs.predict_marginals(X)):
        for one, other in zip(found, expected):
            assert one == pytest.approx(other, abs=1e-3)


def test_bytes_where_training_had_texts():
    X, y = [[{"a": "s", "l": ["p"]}, {"a": "t", "l": ["q"]}]] * 2, [["A", "B"]] * 2
    crf = CRF(c2=0.01).fit(X, y)
    assert not crf.mixed_keys_
    assert crf.predict_single([{b"a": b"t", "l": [b"q"]}, {"a": b"s"}]) == ["B", "A"]
    lists = CRF(c2=0.01).fit([[["s"], [b"t"]]] * 2, y)
    assert lists.predict_single([[b"t"], ["s"]]) == ["B", "A"]


def test_lists_beside_dicts():
    """python-crfsuite takes an item as a dict or as a list, one beside the other."""
    X, y = [[{"a": "s"}, ["t", "u"], ["t", "t"]]] * 3, [["A", "B", "C"]] * 3
    ours, theirs = (kind(c2=0.01, delta=1e-11, epsilon=1e-9).fit(X, y) for kind in BOTH)
    assert ours.state_features_.keys() == theirs.state_features_.keys()
    for key, weight in theirs.state_features_.items():
        assert ours.state_features_[key] == pytest.approx(weight, abs=1e-3)


@pytest.mark.parametrize("lengths", [(3, 3), (2, 3), (0, 0), (1,)], ids=str)
def test_arrays_have_the_same_form(both, lengths):
    X = [made_corpus(1, seed=1)[0][0][:1] * n for n in lengths]
    for method in ("predict", "predict_marginals"):
        ours, theirs = (getattr(crf, method)(X) for crf in both)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        assert [len(part) for part in ours] == [len(part) for part in theirs]


# ------------------------------------------------------------------------------------------------ without a model


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_an_unfitted_crf_are_none(name):
    for kind in BOTH:
        assert getattr(kind(), name) is None


def test_the_size_is_that_of_the_file(corpus, tmp_path):
    crf = CRF(model_filename=tmp_path / "model").fit(*corpus)
    assert crf.size_ == (tmp_path / "model").stat().st_size
    assert CRF().fit([[{"a": "s"}, {"a": "t"}]], [[1, 2]]).size_ > 4000


# ------------------------------------------------------------------------------------------------ tagger_


def test_the_tagger_says_what_theirs_says(both):
    ours, theirs = (crf.tagger_ for crf in both)
    assert ours.labels() == theirs.labels()
    found, expected = ours.info(), theirs.info()
    assert found.labels == expected.labels
    assert found.attributes.keys() == expected.attributes.keys()
    assert found.transitions == pytest.approx(expected.transitions, abs=1e-3)
    assert found.header.keys() == expected.header.keys()
    for items in made_corpus(5, seed=4)[0]:
        labels = ours.tag(items)
        assert labels == theirs.tag(items)
        theirs.set(items)  # its Viterbi leaves scores that marginals do not expect
        assert ours.probability(labels) == pytest.approx(theirs.probability(labels), abs=1e-3)
        assert ours.marginal("Z", 0) == pytest.approx(theirs.marginal("Z", 0), abs=1e-3)


def test_the_tagger_has_the_numbers_of_the_crf(both):
    crf, X = both[0], made_corpus(5, seed=4)[0]
    assert crf.tagger_ is crf.tagger_
    for items in X:
        crf.tagger_.set(items)
        row = crf.predict_marginals_single(items)[-1]
        assert {y: crf.tagger_.marginal(y, len(items) - 1) for y in row} == pytest.approx(row, abs=1e-12)


def test_the_tagger_goes_with_the_model(corpus):
    crf = CRF(max_iterations=1).fit(*corpus)
    before = crf.tagger_
    crf.fit([[{"a": "s"}]], [["other"]])
    assert crf.tagger_ is not before
    assert crf.tagger_.labels() == ["other"]
    assert pickle.loads(pickle.dumps(crf)).tagger_.labels() == ["other"]


# ------------------------------------------------------------------------------------------------ model files


def test_a_model_file_is_written_and_read(corpus, tmp_path):
    path = str(tmp_path / "model.crfsuite")
    crf = CRF(model_filename=path).fit(*corpus)
    other = CRF(model_filename=path)  # no fit
    assert other.classes_ == crf.classes_ == sklearn_crfsuite.CRF(model_filename=path).classes_
    assert other.predict(corpus[0]).tolist() == crf.predict(corpus[0]).tolist()
    assert other.score(*corpus) == sklearn_crfsuite.CRF(model_filename=path).score(*corpus)
    assert pickle.loads(pickle.dumps(other)).score(*corpus) == other.score(*corpus)
    assert clone(crf).model_filename == path


def test_a_model_of_sklearn_crfsuite_is_read(both, corpus, tmp_path):
    path = str(tmp_path / "model.crfsuite")
    theirs = sklearn_crfsuite.CRF(c2=0.1, model_filename=path).fit(*corpus)
    ours = CRF(model_filename=path)
    assert ours.predict(corpus[0]).tolist() == theirs.predict(corpus[0]).tolist()
    assert ours.state_features_ == pytest.approx(theirs.state_features_, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "labels", "match"),
    [("model", [1, 2], "the label 1 is not text"), ("none/model", ["A", "B"], "none: there is no such folder")],
)
def test_what_cannot_be_written_is_told_before_training(tmp_path, name, labels, match):
    crf = CRF(model_filename=str(tmp_path / name))
    with pytest.raises(InputError, match=match):
        crf.fit([[{"a": "s"}, {"a": "t"}]], [labels])
    assert crf.classes_ is None
    with pytest.raises(NotFittedError):
        crf.predict([[{"a": "s"}]])


def test_a_model_that_cannot_be_written_is_kept(tmp_path):
    """Found at the end alone: two features of one name."""
    crf = CRF(model_filename=str(tmp_path / "model"))
    X = [[{"a": "b:c", "a:b": "c"}, {"a": "d"}]]
    with pytest.raises(InputError, match="two features are 'a:b:c' in CRFsuite"):
        crf.fit(X, [["A", "B"]])
    assert crf.predict_single(X[0]) == ["A", "B"]
    assert not (tmp_path / "model").exists()


def test_scikit_learn_sees_whether_there_is_a_model(corpus, tmp_path):
    with pytest.raises(NotFittedError):
        check_is_fitted(CRF())
    CRF(model_filename=tmp_path / "model", max_iterations=1).fit(*corpus)
    check_is_fitted(CRF(model_filename=tmp_path / "model"))


# ------------------------------------------------------------------------------------------------ pa and arow


def words(n_sequences: int, seed: int) -> Any:
    """Noisy labels of words. At weights of 0, where all labelings tie, CRFsuite takes the label that came first, and
    hedgerow the first in the alphabet: here they are the same."""
    rng = np.random.default_rng(seed)
    X, y = [[{"w": "w0"}, {"w": "w1"}, {"w": "w2"}]], [["A", "B", "C"]]
    for _ in range(n_sequences):
        codes = rng.integers(9, size=rng.integers(2, 9))
        noise = np.where(rng.random(len(codes)) < 0.9, 0, rng.integers(3, size=len(codes)))
        X.append([{"w": f"w{c}", "size": 0.5 + c % 2, "even": c % 2 == 0} for c in codes.tolist()])
        y.append(["ABC"[k] for k in ((codes + noise) % 3).tolist()])
    return X, y


@pytest.mark.parametrize(
    "parameters",
    [
        {"algorithm": "pa"},
        {"algorithm": "pa", "pa_type": 2, "c": 0.1},
        {"algorithm": "pa", "c": 0.01, "error_sensitive": False},
        {"algorithm": "arow"},
        {"algorithm": "arow", "variance": 0.1, "gamma": 5.0},
    ],
    ids=str,
)
def test_pa_and_arow_reach_what_those_of_crfsuite_reach(parameters):
    """They go through the sequences in orders of chance, CRFsuite's another one in each call: on average they are as
    good, and their weights are as large. Type 0 of CRFsuite divides by 0 in some orders, and is left out."""
    (X, y), (X_new, y_new) = words(80, seed=5), words(80, seed=6)
    results: list[Any] = []
    for kind in BOTH:
        crfs = [kind(**parameters, max_iterations=10).fit(X, y) for _ in range(8 if kind is CRF else 20)]
        if kind is CRF:
            for seed, crf in enumerate(crfs):
                crf.model_ = crf._linear_crf().set_params(random_state=seed).fit(X, y)
        norms = [np.linalg.norm(list(crf.state_features_.values())) for crf in crfs]
        results.append(np.mean([[crf.score(X, y), crf.score(X_new, y_new)] for crf in crfs], axis=0))
        results.append(np.mean(norms))
    np.testing.assert_allclose(results[0], results[2], rtol=0, atol=0.06)
    assert results[1] == pytest.approx(results[3], rel=0.2)


@pytest.mark.parametrize(
    "parameters",
    [
        *({"algorithm": "pa", "pa_type": t, "c": c, "averaging": False} for t in (0, 1, 2) for c in (0.05, 2.0)),
        {"algorithm": "pa", "error_sensitive": False, "averaging": False},
        {"algorithm": "arow"},
        {"algorithm": "arow", "variance": 0.1, "gamma": 5.0},
    ],
    ids=str,
)
def test_with_one_sequence_the_weights_are_those_of_crfsuite(parameters):
    """One sequence has one order."""
    X, y = words(60, seed=7)
    one = [[[item for items in X for item in items]], [[label for labels in y for label in labels]]]
    ours, theirs = (kind(**parameters, max_iterations=6).fit(*one) for kind in BOTH)
    for name in ("state_features_", "transition_features_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        for key in found.keys() | expected.keys():
            assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), abs=2e-6)


# ------------------------------------------------------------------------------------------------ metrics, wrong input


def test_utils_and_metrics():
    from hedgerow.compat.utils import flatten

    assert flatten([[1, 2], [3]]) == sklearn_crfsuite.utils.flatten([[1, 2], [3]]) == [1, 2, 3]
    for metrics in (hedgerow.compat.metrics, sklearn_crfsuite.metrics):
        assert metrics.sequence_accuracy_score([[1, 2], [3]], [[3], [1, 2]]) == 0
        assert metrics.sequence_accuracy_score([], []) == 0
    assert hedgerow.compat.metrics.sequence_accuracy_score([[1, 2], [3]], [[3], [3]]) == 0.5
    with pytest.raises(InputError, match="2 sequences"):
        hedgerow.compat.metrics.sequence_accuracy_score([[1], [2]], [[1]])


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        (None, [["x"]], "X is None"),
        (5, [["x"]], "X is of type int"),
        ("text", [["x"]], "X is of type str"),
        ([3], [["x"]], "sequence 0: an entry of X is of type int"),
        ([[{"a": 1}]], 7, "y is of type int"),
        ([[{"a": 1}]], [7], "sequence 0: an entry of y is of type int"),
        ([[{"a": 1}]], {"x": 1}, "y is of type dict"),
    ],
    ids=str,
)
def test_wrong_input_is_named(X, y, match):
    with pytest.raises(InputError, match=match):
        CRF().fit(X, y)


def test_wrong_input_at_prediction_is_named(both):
    for method in ("predict", "predict_marginals"):
        with pytest.raises(InputError, match="X is None"):
            getattr(both[0], method)(None)
    for method in ("predict_single", "predict_marginals_single"):
        with pytest.raises(InputError, match="entry of X is None"):
            getattr(both[0], method)(None)
    with pytest.raises(InputError, match="X_dev is of type int"):
        CRF().fit([[{"a": 1}]], [["x"]], 5, [["x"]])


def test_what_can_be_gone_through_once_is_taken():
    X, y = [[{"a": "s"}, {"a": "t"}]] * 2, [["A", "B"]] * 2
    crf = CRF(c2=0.01).fit((iter(items) for items in X), (iter(labels) for labels in y))
    assert crf.predict(iter(X)).tolist() == [["A", "B"]] * 2
