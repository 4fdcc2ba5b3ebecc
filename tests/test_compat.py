"""hedgerow.compat against sklearn-crfsuite itself: the same script with both packages."""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn_crfsuite
import sklearn_crfsuite.metrics
import sklearn_crfsuite.scorers
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score

import hedgerow
import hedgerow.compat
from hedgerow.compat import CRF, metrics, scorers
from hedgerow.compat.metrics import flat_f1_score
from hedgerow.errors import InputError

WORDS = ["ab", "cd", "ac", "bd", "ea"]


def features(word: str, i: int, rng: np.random.Generator) -> dict[str, Any]:
    """Every kind of value that python-crfsuite takes. "never" is always 0, "BOS" is rare, "k=v" has a sign in it."""
    row: dict[str, Any] = {
        "word": word,
        "k=v": word[0],
        "upper": bool(rng.random() < 0.3),
        "length": float(rng.integers(0, 4)),
        "count": int(rng.integers(0, 2)),
        "parts": ["a" + word, f"b{i % 2}"],
        "deep": {"x": word[0], "deeper": {"u": 1.5, "flag": i == 0, "n": ["q"]}},
        "never": False,
    }
    if i == 5:
        row["rare"] = word
    return row


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(7)
    X, y = [], []
    for _ in range(60):
        words = [WORDS[j] for j in rng.integers(0, 5, size=rng.integers(1, 8))]
        X.append([features(word, i, rng) for i, word in enumerate(words)])
        y.append(["NBV"[WORDS.index(w) % 3] if rng.random() < 0.8 else "VQBN"[rng.integers(0, 4)] for w in words])
    return X, y


def converged(kind: type, **parameters: Any) -> Any:
    return kind(**parameters, epsilon=1e-9, delta=1e-11, max_iterations=3000)


def assert_same_model(ours: CRF, theirs: Any, X: list[Any]) -> None:
    assert ours.classes_ == theirs.classes_
    assert ours.state_features_.keys() == theirs.state_features_.keys()
    assert ours.transition_features_.keys() == theirs.transition_features_.keys()
    assert set(ours.attributes_) == set(theirs.attributes_)
    assert ours.num_attributes_ == theirs.num_attributes_
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    for a, b in zip(ours.predict_marginals(X), theirs.predict_marginals(X)):
        assert [list(row) for row in a] == [list(row) for row in b]
        np.testing.assert_allclose(
            [list(row.values()) for row in a], [list(row.values()) for row in b], atol=1e-3, rtol=0
        )


# ------------------------------------------------------------------------------------------------ the same models


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"algorithm": "lbfgs", "c1": 0.5, "c2": 0.1},
        {"c2": 0.3, "all_possible_states": True},
        {"c2": 0.3, "all_possible_transitions": True},
        {"c1": 0.2, "c2": 0.05, "all_possible_states": True, "all_possible_transitions": True},
        {"min_freq": 2, "all_possible_states": True, "all_possible_transitions": True},
    ],
    ids=str,
)
def test_the_same_model_from_dicts(corpus, parameters):
    X, y = corpus
    assert_same_model(
        converged(CRF, **parameters).fit(X, y), converged(sklearn_crfsuite.CRF, **parameters).fit(X, y), X
    )


def test_the_weights_are_the_same(corpus):
    X, y = corpus
    ours, theirs = converged(CRF).fit(X, y), converged(sklearn_crfsuite.CRF).fit(X, y)
    for name in ("state_features_", "transition_features_"):
        for key, weight in getattr(theirs, name).items():
            assert getattr(ours, name)[key] == pytest.approx(weight, abs=1e-3)


@pytest.mark.parametrize("algorithm", ["l2sgd", "ap"])
def test_other_algorithms_label_as_crfsuite_does(corpus, algorithm):
    """They go through the sequences in another order, so weights differ; labels of the training set hardly do."""
    X, y = corpus
    ours, theirs = (kind(algorithm=algorithm, max_iterations=50).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    assert ours.state_features_.keys() >= theirs.state_features_.keys()  # CRFsuite drops weights of 0
    assert ours.score(X, y) >= theirs.score(X, y) - 0.02


def test_the_same_model_from_attribute_lists(corpus):
    X, y = corpus
    lists = [[[f"w={row['word']}", f"n:{row['count']}"] for row in sequence] for sequence in X]
    assert_same_model(converged(CRF).fit(lists, y), converged(sklearn_crfsuite.CRF).fit(lists, y), lists)


def test_the_same_model_from_item_sequences(corpus):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = corpus
    items = [pycrfsuite.ItemSequence(sequence) for sequence in X]
    assert_same_model(converged(CRF).fit(items, y), converged(sklearn_crfsuite.CRF).fit(items, y), items)


def test_min_freq_counts_attributes():
    X = [[{"w": "a", "n": 1.0}, {"w": "b", "n": 1.0}], [{"w": "a", "n": 1.0}, {"w": "c"}], [{"w": "a"}, {"w": "b"}]]
    y = [["A", "B"]] * 3
    parameters = {"min_freq": 2, "all_possible_states": True}
    ours, theirs = (converged(kind, **parameters).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    assert ours.state_features_.keys() == {("w:a", "A"), ("w:b", "B"), ("n", "A")}
    assert_same_model(ours, theirs, X)


def test_min_freq_counts_how_often_and_not_how_much():
    """CRFsuite adds up the values: 0.4 three times is less than 2 there, and 5 once is more. Zeros count nowhere."""
    X = [[{"often": 0.4}, {"once": 5.0, "zero": 0}], [{"often": 0.4}, {"zero": 0}], [{"often": 0.4}]]
    y = [["A", "B"], ["A", "B"], ["A"]]
    ours, theirs = (converged(kind, min_freq=2).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    assert ours.state_features_.keys() == {("often", "A")}
    assert theirs.state_features_.keys() == {("once", "B")}


def test_values_that_sum_below_zero_have_a_weight():
    """CRFsuite drops them, even at min_freq=0."""
    X, y = [[{"n": -1.0}, {"n": 2.0}]] * 2, [["A", "B"]] * 2
    ours, theirs = (converged(kind).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    assert ours.state_features_.keys() == {("n", "A"), ("n", "B")}
    assert theirs.state_features_.keys() == {("n", "B")}


@pytest.mark.parametrize("n_positions", [5, 40], ids=["column", "attribute"])
def test_absent_numbers_are_not_seen_and_zeros_are(n_positions):
    """The same for a key that becomes a column and for one at fewer than 1 position in 16."""
    rows = [{"w": "u"} for _ in range(n_positions)]
    rows[0] |= {"n": 2.0, "zero": 0.0}
    rows[1] |= {"n": 0, "flag": False}
    X, y = [rows, rows], [["A", "B", *"C" * (n_positions - 2)]] * 2
    ours, theirs = (converged(kind).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    stored = {column.name for column in ours.model_.schema_.columns}
    assert stored == ({"w", "n", "zero", "flag"} if n_positions == 5 else {"w"})
    pairs = {(name, label) for name, label, _ in ours.model_.feature_weights() if name != "w:u"}
    assert pairs == {("n", "A"), ("n", "B"), ("zero", "A"), ("flag", "B")}
    assert_same_model(ours, theirs, X)


# --------------------------------------------------------------------------------- keys of several types


MIXED = {
    "str and number": [{"a": "s"}, {"a": 1.0}, {"a": "t"}, {"a": 2.5, "b": "x"}],
    "str and bool": [{"a": "s"}, {"a": True}, {"a": False}, {"a": "t"}],
    "str and list": [{"a": "s"}, {"a": ["s", "t"]}, {"a": []}, {"a": "t", "b": True}],
    "number and list": [{"a": 1}, {"a": ["s", "t"]}, {"a": 0}, {"b": True}],
    "nested": [{"a": {"b": "s"}}, {"a": {"b": 1.5}}, {"a": {"c": ["x"]}}, {"a": "t"}],
    "the same name twice": [{"a": "s", "a:s": 2.0}, {"a": 1.0}, {"a:s": 1.0}, {"a": "t"}],
}


@pytest.mark.filterwarnings("ignore:nothing that the model reads")
@pytest.mark.parametrize("rows", MIXED.values(), ids=MIXED)
def test_a_key_of_several_types_is_several_attributes(rows):
    X, y = [rows, rows[::-1], rows[1:]] * 2, [list("ABCA"), list("ACBA"), list("BCA")] * 2
    ours, theirs = (converged(kind).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    assert ours.mixed_keys_
    assert_same_model(ours, theirs, X)
    for key, weight in theirs.state_features_.items():
        assert ours.state_features_[key] == pytest.approx(weight, abs=1e-3)
    new = [[{"a": "new"}, {"a": 3}, {"a": True, "other": None}, {"a": {"b": 2.0}}, {"b": ["x", "y"]}]]
    again = pickle.loads(pickle.dumps(ours))
    expected = theirs.predict_marginals([[{k: v for k, v in row.items() if v is not None} for row in new[0]]])
    for a, b in zip(again.predict_marginals(new)[0], expected[0]):
        assert a == pytest.approx(b, abs=1e-3)


def test_linear_crf_itself_refuses_keys_of_several_types():
    with pytest.raises(InputError, match="Mixed types"):
        hedgerow.LinearCRF().fit([[{"a": "s"}, {"a": 1.0}]], [["x", "y"]])


def test_one_type_a_key_keeps_the_columns(corpus):
    crf = CRF(max_iterations=2).fit(*corpus)
    assert not crf.mixed_keys_
    assert "word" in {column.name for column in crf.model_.schema_.columns}


def test_other_types_at_prediction_are_what_crfsuite_makes_of_them():
    """Trained with one type a key: a text, a flag, a number, a list, and a key too rare for a column."""
    row = {"text": "s", "flag": True, "number": 1.5, "list": ["p", "q"], "deep": {"in": "s"}, "number:s": 0.5}
    other = {"text": "t", "flag": False, "number": 0.5, "list": ["q"], "deep": {"in": "t"}, "number:s": 2.0}
    X = [[row, other, row | {"rare": "r"}, *[other] * 30]] * 2
    y = [["A", "B", "C", *"AB" * 15]] * 2
    ours, theirs = (converged(kind).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    new = [
        {"text": 2.0, "flag": "yes", "number": "s", "list": "p"},
        {"text": ["s"], "flag": 1, "number": True, "list": 1.0},
        {"text": ["new", "t"], "flag": 0.0, "number": ["s"], "list": {"p"}, "rare": ["r", "x"]},
        {"text": {"deeper": 1.0}, "deep": "s", "rare": 2.0, "new": "x"},
        {"text": "s", "deep": {"in": 1.0}, "rare": "r", "new": 1.0},
        {"text": [], "list": []},
    ]
    assert not ours.mixed_keys_
    for i in range(len(new)):
        part = [new[i:], new[: i + 1]]
        for a, b in zip(ours.predict_marginals(part), theirs.predict_marginals(part)):
            for found, expected in zip(a, b, strict=True):
                assert found == pytest.approx(expected, abs=1e-3)
        assert [*map(ours.predict_single, part)] == [*map(theirs.predict_single, part)]


@pytest.mark.parametrize(
    ("row", "match"),
    [({"text": ["s", "t"]}, "column 'text'"), ({"flag": 2.0}, "column 'flag'")],
    ids=["two known texts", "a flag of weight 2"],
)
def test_what_a_column_cannot_hold_at_prediction_is_refused(row, match):
    ours = CRF().fit([[{"text": "s", "flag": True}, {"text": "t", "flag": False}]], [["A", "B"]])
    with pytest.raises(InputError, match=match):
        ours.predict([[row]])


@pytest.mark.parametrize("other", [{}, {"a": "s"}], ids=["one type", "several types"])
def test_nan_is_refused_with_advice_that_crf_can_follow(other):
    with pytest.raises(InputError, match=r"position 1, column 'a': the value is nan\. Fill it") as caught:
        CRF().fit([[{"a": 1.0} | other, {"a": float("nan")}]], [["x", "y"]])
    assert "columns=" not in str(caught.value)


def test_min_freq_counts_transitions():
    X = [[{"w": "a"}, {"w": "b"}, {"w": "c"}]] * 4 + [[{"w": "b"}, {"w": "a"}]]
    y = [["A", "B", "C"]] * 4 + [["B", "A"]]
    ours, theirs = (converged(kind, min_freq=2).fit(X, y) for kind in (CRF, sklearn_crfsuite.CRF))
    assert ("B", "A") not in ours.transition_features_
    assert_same_model(ours, theirs, X)


def test_zeros_are_evidence():
    """A True that comes with A alone speaks against B as soon as a False was seen with B."""
    X, y = [[{"x": True}, {"x": False}]] * 3, [["A", "B"]] * 3
    assert CRF().fit(X, y).state_features_["x", "B"] < 0


def test_empty_sequences_are_taken(corpus):
    X, y = corpus
    ours = CRF().fit([*X, []], [*y, []])
    assert ours.classes_ == CRF().fit(X, y).classes_
    assert [len(labels) for labels in ours.predict([[], X[0], []])] == [0, len(X[0]), 0]
    assert ours.predict_single([]) == ours.predict_marginals_single([]) == []
    assert len(ours.predict([])) == len(ours.predict_marginals([])) == 0


def test_the_fitted_linear_crf_takes_the_same_dicts(corpus, tmp_path):
    X, y = corpus
    crf = CRF().fit(X, y)
    crf.model_.save(tmp_path / "model.hedgerow")
    assert list(hedgerow.load(tmp_path / "model.hedgerow").predict(X)) == list(crf.predict(X))


# ---------------------------------------------------------------------------------------------- the same face


def test_the_parameters_are_those_of_sklearn_crfsuite():
    ours, theirs = (inspect.signature(kind).parameters for kind in (CRF, sklearn_crfsuite.CRF))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]


def test_methods_and_attributes_are_those_of_sklearn_crfsuite():
    public = {name for name in vars(sklearn_crfsuite.CRF) if not name.startswith(("_", "set_"))}
    assert public <= set(dir(CRF))
    for method in ("fit", "predict", "predict_single", "predict_marginals", "predict_marginals_single", "score"):
        ours, theirs = (inspect.signature(getattr(kind, method)) for kind in (CRF, sklearn_crfsuite.CRF))
        assert list(ours.parameters) == list(theirs.parameters)


@pytest.mark.parametrize("module", ["metrics", "scorers", "utils"])
def test_modules_have_the_names_of_sklearn_crfsuite(module):
    theirs = getattr(sklearn_crfsuite, module)
    made_there = {
        name
        for name, thing in vars(theirs).items()
        if not name.startswith("_") and (getattr(thing, "__module__", "") == theirs.__name__ or module == "scorers")
    }
    assert made_there - {"metrics", "make_scorer"} == set(getattr(hedgerow.compat, module).__all__)


def test_what_comes_back(corpus):
    X, y = corpus
    crf = CRF().fit(X, y)
    labels, probs = crf.predict(X), crf.predict_marginals(X)
    assert labels.shape == probs.shape == (len(X),)
    assert all(type(label) is str for sequence in labels for label in sequence)
    assert labels[3] == crf.predict_single(X[3])
    assert probs[3] == crf.predict_marginals_single(X[3])
    assert sum(probs[3][0].values()) == pytest.approx(1.0, abs=1e-12)
    assert crf.score(X, y) == metrics.flat_accuracy_score(y, labels)
    assert crf.size_ > 8 * len(crf.state_features_)


def test_the_log_of_training(corpus):
    X, y = corpus
    log = CRF(max_iterations=5).fit(X, y).training_log_
    assert [step["num"] for step in log.iterations] == [1, 2, 3, 4, 5]
    assert log.iterations[-1] is log.last_iteration
    assert log.last_iteration["loss"] < log.iterations[0]["loss"]
    assert all(step["time"] >= 0 for step in log.iterations)


def test_held_out_sequences_are_scored_and_change_nothing(corpus):
    X, y = corpus
    y_dev = [*y[:10], ["unseen"] * len(X[10])]
    with_dev = CRF().fit(X[11:], y[11:], X[:11], y_dev)
    without = CRF().fit(X[11:], y[11:])
    assert with_dev.state_features_ == without.state_features_
    last = with_dev.training_log_.last_iteration
    assert last["item_accuracy_float"] == metrics.flat_accuracy_score(y_dev, without.predict(X[:11])) > 0
    assert last["instance_accuracy_float"] == metrics.sequence_accuracy_score(y_dev, without.predict(X[:11]))


@pytest.mark.parametrize(
    ("X_dev", "y_dev", "match"),
    [
        ([], [], "X_dev has no positions"),
        ([[]], [[]], "X_dev has no positions"),
        ([[{"a": "s"}]], [], "X_dev has 1 sequences and y_dev has 0"),
        ([[{"a": "s"}]], [["x", "x"]], "sequence 0: X_dev has 1 positions and y_dev has 2"),
    ],
)
def test_held_out_sequences_are_checked_before_training(corpus, X_dev, y_dev, match):
    crf = CRF()
    with pytest.raises(InputError, match=match):
        crf.fit(*corpus, X_dev, y_dev)
    assert not hasattr(crf, "model_")


@pytest.mark.parametrize("kind", [np.array, list, lambda labels: list(np.array(labels))])
def test_labels_of_numpy(kind):
    X, y = [[{"a": "s"}, {"a": "t"}]] * 2, [kind([7, 3])] * 2
    crf = CRF().fit(X, y)
    assert crf.classes_ == [7, 3]
    assert [type(label) for label in crf.classes_] == [int, int]
    assert crf.predict_single(X[0]) == [7, 3]
    assert CRF().fit(X, [np.array(["p", "b"])] * 2).classes_ == ["p", "b"]


def test_labels_that_stand_in_sets_alone_come_last():
    assert CRF().fit([[{"a": "s"}, {"a": "t"}]], [[{"b", "c"}, "x"]]).classes_ == ["x", "b", "c"]


def test_what_has_no_counterpart_says_what_to_use(corpus):
    crf = CRF().fit(*corpus)
    with pytest.raises(AttributeError, match="model_filename=path"):
        crf.modelfile  # noqa: B018


def test_an_unfitted_model_says_so(corpus):
    with pytest.raises(NotFittedError, match="call fit"):
        CRF().predict(corpus[0])
    with pytest.raises(NotFittedError, match=r"there is no file model\.crfsuite"):
        CRF(model_filename="model.crfsuite").predict(corpus[0])


# ------------------------------------------------------------------------------------------------ parameters


def test_how_the_parameters_map():
    model = CRF(c1=0.5, c2=0.25, max_iterations=7, delta=1e-3, period=5, verbose=True)._linear_crf()
    assert (model.l1, model.l2, model.max_iter, model.tol, model.verbose) == (0.5, 0.25, 7, 2e-3, 1)
    model = CRF()._linear_crf()
    assert (model.l1, model.l2, model.max_iter, model.tol, model.verbose) == (0.0, 1.0, 2**31 - 1, 1e-5, 0)
    assert CRF(max_iterations=0)._linear_crf().max_iter == 2**31 - 1
    assert CRF(period=0)._linear_crf().tol == 0.0


def test_ending_early_is_no_warning(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CRF(max_iterations=2).fit(*corpus).model_.n_iter_ == 2


def test_parameters_of_the_optimiser_change_nothing(corpus):
    plain = CRF(max_iterations=5).fit(*corpus)
    other = CRF(
        max_iterations=5, epsilon=1e-3, num_memories=3, linesearch="Backtracking", max_linesearch=5, keep_tempfiles=True
    ).fit(*corpus)
    assert plain.state_features_ == other.state_features_


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"algorithm": "pa", "pa_type": 3}, "pa_type is 3"),
        ({"algorithm": "pa", "gamma": 1.0}, "belongs to algorithm='arow'"),
        ({"algorithm": "pa", "c1": 1.0}, "belongs to algorithm='lbfgs'"),
        ({"algorithm": "arow", "variance": 0.0}, "variance is 0"),
        ({"algorithm": "l2sgd", "c1": 0.5}, "c1 belongs to algorithm='lbfgs'"),
        ({"algorithm": "ap", "calibration_eta": 0.1}, "belongs to algorithm='l2sgd'"),
        ({"algorithm": "adam"}, "Choose one of"),
        ({"gamma": 1.0}, "belongs to algorithm='arow'"),
        ({"calibration_eta": 0.1}, "belongs to algorithm='l2sgd'"),
        ({"averaging": False}, "belongs to algorithm='pa'"),
        ({"trainer_cls": object}, "training_log_"),
        ({"c1": -1.0}, "c1 is -1"),
        ({"c2": -1.0}, "c2 is -1"),
        ({"delta": -1.0}, "delta is -1"),
        ({"period": 2.5}, "period is 2.5"),
        ({"max_iterations": -3}, "max_iterations is -3"),
        ({"min_freq": "two"}, "min_freq is 'two'"),
    ],
    ids=str,
)
def test_what_cannot_be_honoured_is_refused(corpus, parameters, match):
    with pytest.raises(InputError, match=match):
        CRF(**parameters).fit(*corpus)


def test_data_that_do_not_fit_are_refused(corpus):
    X, y = corpus
    with pytest.raises(InputError, match="60 sequences and y has 59"):
        CRF().fit(X, y[:-1])
    with pytest.raises(InputError, match="y is missing"):
        CRF().fit(X, None)
    with pytest.raises(InputError, match="X_dev and y_dev"):
        CRF().fit(X, y, X_dev=X)
    with pytest.raises(InputError, match="sequence 2"):
        CRF().fit(X, [*y[:2], y[2][:-1], *y[3:]])
    with pytest.raises(InputError, match="sequence 0"):
        CRF().fit([[{"a": 1j}]], [["x"]])


# ---------------------------------------------------------------------------------------------- scikit-learn


def test_clone_repr_and_pickle(corpus):
    X, y = corpus
    crf = CRF(algorithm="lbfgs", c1=0.1)
    assert repr(crf) == "CRF(algorithm='lbfgs', c1=0.1)"
    assert clone(crf).get_params() == crf.get_params()
    crf.fit(X, y)
    again = pickle.loads(pickle.dumps(crf))
    assert list(again.predict(X)) == list(crf.predict(X))
    assert again.state_features_ == crf.state_features_


def test_the_random_search_of_the_tutorial(corpus):
    X, y = corpus
    crf = CRF(algorithm="lbfgs", max_iterations=20, all_possible_transitions=True)
    labels = ["N", "B", "V"]
    search = RandomizedSearchCV(
        crf,
        {"c1": [0.0, 0.05, 0.5], "c2": [0.01, 0.1, 1.0]},
        cv=3,
        n_iter=4,
        random_state=0,
        scoring=make_scorer(flat_f1_score, average="weighted", labels=labels),
    )
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert set(search.best_params_) == {"c1", "c2"}
    assert search.best_estimator_.classes_
    report = metrics.flat_classification_report(y, search.predict(X), labels=labels, digits=3)
    assert "precision" in report


def test_grid_search_and_scorers(corpus):
    X, y = corpus
    search = GridSearchCV(CRF(max_iterations=10), {"c2": [0.1, 10.0]}, cv=2, scoring=scorers.flat_accuracy).fit(X, y)
    assert 0 < search.best_score_ < 1
    plain = cross_val_score(CRF(max_iterations=10), X, y, cv=2)
    np.testing.assert_array_equal(
        plain, cross_val_score(CRF(max_iterations=10), X, y, cv=2, scoring=scorers.flat_accuracy)
    )
    whole = cross_val_score(CRF(max_iterations=10), X, y, cv=2, scoring=scorers.sequence_accuracy)
    assert (whole < plain).all()


def test_the_metrics_are_the_same(corpus):
    X, y = corpus
    predicted = CRF(c2=20.0).fit(X, y).predict(X)
    for name in metrics.__all__:
        options = {"average": "macro"} if name.split("_")[1] in ("f1", "fbeta", "precision", "recall") else {}
        options |= {"beta": 0.5} if "fbeta" in name else {}
        options |= {"zero_division": 0} if options or "report" in name else {}
        ours, theirs = (
            getattr(module, name)(y, predicted, **options) for module in (metrics, sklearn_crfsuite.metrics)
        )
        assert ours == theirs


@pytest.mark.parametrize("bad", [None, 5, b"x", [None], object()])
def test_what_is_no_list_of_sequences_is_an_input_error(bad):
    X, y = [[{"a": 1.0}, {"b": "x"}]] * 4, [["p", "q"]] * 4
    model = CRF(max_iterations=3).fit(X, y)
    for call in (
        lambda: CRF().fit(bad, y),
        lambda: CRF().fit(X, bad),
        lambda: CRF().fit(X, y, X_dev=bad, y_dev=y),
        lambda: model.predict(bad),
        lambda: model.predict_marginals(bad),
    ):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError):
        model.model_.span_probability(X, bad)
