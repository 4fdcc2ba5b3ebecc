"""SlidingWindow, RecurrentSlidingWindow and MEMM: what holds of all of them."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from hedgerow import (
    MEMM,
    InputError,
    LinearCRF,
    ModelFileError,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    learn,
    load,
)
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy, label_accuracy_scorer
from tests.models.local_models import change, local

from .corpora import COLUMNS, partial_labels, rich_corpus

_ROWS, _LABELS = make_sequences(62, mean_length=4, random_state=1)
X, Y, NEW, NEW_Y = _ROWS[:50], _LABELS[:50], _ROWS[50:], _LABELS[50:]
FEW = {"n_estimators": 6, "early_stopping": False, "l2_regularization": 1.0}
MODELS = {
    "window, linear": local(SlidingWindow, estimator="linear", window=1),
    "window, trees": local(SlidingWindow, window=1, **FEW),
    "memm, linear": local(MEMM, window=1),
    "memm 2, linear": local(MEMM, window=1, order=2),
    "memm, trees": local(MEMM, window=1, estimator="trees", **FEW),
    "recurrent, linear": local(RecurrentSlidingWindow, estimator="linear", window=1, direction="right_to_left"),
    "recurrent 2, trees": local(RecurrentSlidingWindow, window=1, order=2, **FEW),
}
ALL = pytest.mark.parametrize("name", MODELS)


def fitted(name: str, *data, **parameters):
    return change(clone(MODELS[name]), **parameters).fit(*(data or (X, Y)))


def parameters(model) -> dict:
    """All parameters; an estimator of rows, which equals none but itself, by its class."""
    found = model.get_params()
    return found | {"estimator": str(found["estimator"]).partition("(")[0]}


def same(one, other, rows=NEW) -> None:
    assert one.predict(rows).tolist() == other.predict(rows).tolist()
    for ours, theirs in zip(one.predict_proba(rows), other.predict_proba(rows)):
        np.testing.assert_array_equal(ours, theirs)


@ALL
def test_probabilities_are_those_of_all_labelings(name):
    model = fitted(name)
    labels = model.classes_.tolist()
    for x in [row[:3] for row in NEW[:4]]:
        labelings = [list(y) for y in product(labels, repeat=len(x))]
        logs = model.log_probability([x] * len(labelings), labelings)
        np.testing.assert_allclose(np.exp(logs).sum(), 1.0, rtol=1e-9)
        expected = np.zeros((len(x), len(labels)))
        for y, log_prob in zip(labelings, logs):
            expected[np.arange(len(x)), [labels.index(label) for label in y]] += np.exp(log_prob)
        [probs] = model.predict_proba([x])
        np.testing.assert_allclose(probs, expected, atol=1e-9)
        [best] = model.predict_k_best([x], 4)
        np.testing.assert_allclose([p for _, p in best], np.sort(np.exp(logs))[::-1][:4], rtol=1e-9)
        assert model.predict([x], decoder="viterbi")[0] == best[0][0] == labelings[int(np.argmax(logs))]
        assert model.predict([x], decoder="beam")[0] == best[0][0]
        [entropy] = model.entropy([x])
        np.testing.assert_allclose(entropy, -(np.exp(logs) * logs).sum(), rtol=1e-9)
        [span] = model.span_probability([x], [(0, 0, [labels[1]])])
        np.testing.assert_allclose(span, expected[0, 1], rtol=1e-9)
        [posterior] = model.predict([x], decoder="posterior")
        assert posterior == [labels[k] for k in probs.argmax(axis=1)]


@ALL
def test_one_sequence_alone_and_among_others(name):
    model = fitted(name)
    together = model.predict(NEW)
    assert [model.predict([x])[0] for x in NEW] == list(together)
    assert model.predict([]).tolist() == []
    assert model.predict_proba([]) == []
    same(model, fitted(name, n_jobs=2))
    encoded = model.encode(NEW, NEW_Y)
    assert model.predict(encoded).tolist() == together.tolist()
    assert model.score(encoded, NEW_Y) == model.score(NEW, NEW_Y) > 0.5


@ALL
def test_known_labels_are_kept(name):
    model = fitted(name)
    known = [[None] * (len(y) - 1) + y[-1:] for y in NEW_Y]
    for decoder in (None, "viterbi", "greedy", "beam"):
        found = model.predict(NEW, known=known, decoder=decoder)
        assert [labels[-1] for labels in found] == [y[-1] for y in NEW_Y]
    probs = model.predict_proba(NEW, known=known)
    codes = model.schema_.label_codes
    assert all(p[-1, codes[y[-1]]] == pytest.approx(1.0) for p, y in zip(probs, NEW_Y))
    draws = model.sample(NEW, 3, known=known, random_state=0)
    assert all(labels[-1] == y[-1] for draw in draws for labels, y in zip(draw, NEW_Y))


@ALL
def test_files(name, tmp_path):
    rows, labels = rich_corpus(30, seed=2)
    model = fitted(name, rows, labels, columns=COLUMNS, constraints="iob2")
    model.save(tmp_path / "model.hedgerow")
    again = load(tmp_path / "model.hedgerow")
    same(model, again, rows)
    assert parameters(again) == parameters(model)
    assert (again.n_iter_, again.loss_, again.outcome_) == (model.n_iter_, model.loss_, model.outcome_)
    assert again.n_parameters_ == model.n_parameters_ > 0
    if isinstance(model, MEMM):  # what was fitted counts, not what a parameter was set to later
        again.set_params(order=0)
        same(model, again, rows)


def test_a_file_that_does_not_fit_together_is_refused(tmp_path):
    from hedgerow import persistence

    fitted("memm 2, linear").save(tmp_path / "m.hedgerow")
    header, tensors = persistence.read(tmp_path / "m.hedgerow")
    keys, ends = tensors["runs.runs"], tensors["runs.runs_ptr"]
    for spoil in (
        {"runs.conjoined": tensors["runs.conjoined"][::-1].copy()},
        {"runs.runs": keys + 10**6},
        {"runs.runs": keys[:-1], "runs.runs_ptr": np.minimum(ends, len(keys) - 1)},
    ):
        persistence.write(tmp_path / "bad.hedgerow", header, tensors | spoil)
        with pytest.raises(ModelFileError, match="runs of labels"):
            load(tmp_path / "bad.hedgerow")
    state = header["state"]
    for wrong in ({"order": 1}, {"order": "2"}, {"refitted": 1}, {"scorer": state["scorer"] | {"kind": "HMM"}}):
        persistence.write(tmp_path / "bad.hedgerow", header | {"state": state | wrong}, tensors)
        with pytest.raises(ModelFileError):
            load(tmp_path / "bad.hedgerow")
    fitted("memm, trees").save(tmp_path / "t.hedgerow")
    header, tensors = persistence.read(tmp_path / "t.hedgerow")
    header["state"]["backward"] = True
    persistence.write(tmp_path / "bad.hedgerow", header, tensors)
    with pytest.raises(ModelFileError, match="columns"):
        load(tmp_path / "bad.hedgerow")


@ALL
def test_copies(name):
    model = fitted(name)
    for one in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        same(model, one)
    expected = model.predict_proba(NEW)
    copy.copy(model).fit(X[:10], Y[:10])
    for ours, theirs in zip(model.predict_proba(NEW), expected):
        np.testing.assert_array_equal(ours, theirs)
    assert not hasattr(clone(model), "estimator_")
    with pytest.raises(NotFittedError):
        clone(model).predict(NEW)


@ALL
def test_weight_two_is_twice(name):
    weighted = change(clone(MODELS[name]), tol=1e-10).fit(X, Y, sample_weight=[2.0] * 10 + [1.0] * 40)
    twice = fitted(name, X[:10] + X, Y[:10] + Y, tol=1e-10)
    for ours, theirs in zip(weighted.predict_proba(NEW), twice.predict_proba(NEW)):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@ALL
def test_partial_labels(name):
    hidden = partial_labels(Y, seed=3)
    model = fitted(name, X, [[None if isinstance(label, set) else label for label in labels] for labels in hidden])
    assert model.score(NEW, NEW_Y) > 0.45
    with pytest.raises(InputError, match="no position has a label"):
        model.fit(model.encode(X, [[None] * len(x) for x in X]))


@ALL
def test_constraints(name):
    rows, labels = rich_corpus(40, seed=4)
    model = fitted(name, rows[:30], labels[:30], columns=COLUMNS, constraints="iob2")
    for decoder in (None, "viterbi", "greedy", "beam"):
        for found in model.predict(rows[30:], decoder=decoder):
            assert all(here != "I-X" or before in ("B-X", "I-X") for before, here in zip(["O", *found], found))
    bad = [["O", "I-X"]] * 4
    with pytest.raises(InputError, match="forbid"):
        fitted(name, [["a", "b"]] * 4, bad, constraints=[("O", "I-X")])


@ALL
def test_warm_start_goes_on(name):
    trees = "trees" in name
    model = fitted(name, warm_start=True)
    loss = model.loss_
    if trees:
        change(model, n_estimators=9)
    model.fit(X, Y)
    assert model.loss_ <= loss * (1 + 1e-6)
    if trees:
        assert model.best_iteration_ == 9
        np.testing.assert_array_equal(
            model.estimator_.ensemble_.values, fitted(name, n_estimators=9).estimator_.ensemble_.values
        )
    else:
        assert model.n_iter_ <= 3


def test_a_warm_start_needs_the_same_rows():
    model = fitted("memm, linear", warm_start=True)
    for other in ({"order": 2}, {"estimator": TreeCRF(warm_start=True)}):
        with pytest.raises(InputError, match="warm_start=False"):
            clone(model).fit(X, Y).set_params(**other).fit(X, Y)


@pytest.mark.parametrize("name", ["window, linear", "memm, trees"])
def test_early_stopping(name):
    model = fitted(name, early_stopping=True, n_iter_no_change=2, random_state=0, n_estimators=60, refit=False)
    assert model.history_[0].score is not None
    given = change(clone(MODELS[name]), n_iter_no_change=2, n_estimators=60)
    given.fit(X[:40], Y[:40], X_val=X[40:], y_val=Y[40:])
    scores = [step.score for step in given.history_]
    assert max(scores) == scores[given.best_iteration_ - 1]
    # As its estimator scores: trees by the log-likelihood, a LinearCRF by the labels that are right.
    trees = "trees" in name
    best = given.log_probability(X[40:], Y[40:]).sum() if trees else given.score(X[40:], Y[40:])
    np.testing.assert_allclose(best, max(scores), rtol=1e-6)
    with pytest.raises(InputError, match="X_val and y_val go together"):
        clone(given).fit(X, Y, X_val=X)
    with pytest.raises(InputError, match="span_g1"):
        change(clone(given), scoring="span_g1").fit(X, Y)


@pytest.mark.parametrize("name", ["memm, linear", "memm, trees"])
def test_an_interrupt_keeps_the_best_so_far(name):
    calls = iter(range(1000))

    def metric(true, predicted):
        if next(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return label_accuracy(true, predicted)

    model = change(clone(MODELS[name]), scoring=metric, n_estimators=50)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X[:40], Y[:40], X_val=X[40:], y_val=Y[40:])
    assert model.outcome_ == "interrupted"
    assert len(model.predict(NEW)) == len(NEW)


@pytest.mark.parametrize("name", ["window, linear", "memm, linear", "recurrent 2, trees"])
def test_scikit_learn_searches_over_it(name):
    scores = cross_val_score(clone(MODELS[name]), X, Y, cv=3)
    assert scores.shape == (3,)
    assert [len(labels) for labels in cross_val_predict(clone(MODELS[name]), X, Y, cv=3)] == [len(x) for x in X]
    search = GridSearchCV(clone(MODELS[name]), {"window": [0, 1]}, cv=2, scoring=label_accuracy_scorer)
    assert search.fit(X, Y).best_params_["window"] in (0, 1)


@ALL
def test_a_dataset_trains_the_same_model(name):
    dataset = learn(X, Y, window=1)
    same(fitted(name), change(clone(MODELS[name]), window="auto").fit(dataset))
    lengths = [len(x) for x in X]
    numbers = np.random.default_rng(0).normal(size=(sum(lengths), 2))
    flat = np.array([label for labels in Y for label in labels])
    model = clone(MODELS[name]).fit(numbers, flat, lengths=lengths)
    assert [len(labels) for labels in model.predict(numbers, lengths=lengths)] == lengths


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (local(SlidingWindow, estimator="tree"), "estimator is 'tree'"),
        (local(SlidingWindow, estimator=3), "estimator is 3"),
        (local(SlidingWindow, decoder="greedy"), "decoder is 'greedy'"),
        (local(SlidingWindow, l2=-1.0, estimator="linear"), "l2 is -1.0"),
        (local(SlidingWindow, max_leaf_nodes=1), "max_leaf_nodes is 1"),
        (local(SlidingWindow, early_stopping="yes"), "early_stopping is 'yes'"),
        (local(SlidingWindow, estimator="linear", missing="weighting"), "missing='weighting'"),
        (local(MEMM, order=-1), "order is -1"),
        (local(MEMM, order=1.5), "order is 1.5"),
        (local(MEMM, order=99), "order is 99"),
        (local(MEMM, estimator="tree"), "estimator is 'tree'"),
        (local(MEMM, conjoin="word"), "conjoin is 'word'"),
        (local(MEMM, conjoin=["nothing"]), "nothing"),
        (local(MEMM, transitions="observed"), "transitions is 'observed'"),
        (local(MEMM, beam_width=0), "beam_width is 0"),
        (local(MEMM, decoder="best"), "decoder is 'best'"),
        (local(RecurrentSlidingWindow, direction="up"), "direction is 'up'"),
        (local(RecurrentSlidingWindow, order=0), "order is 0"),
        (local(RecurrentSlidingWindow, training="true"), "training is 'true'"),
        (local(RecurrentSlidingWindow, n_folds=1), "n_folds is 1"),
        (local(RecurrentSlidingWindow, training="predicted", n_folds=99), "99 folds of 50 sequences"),
    ],
    ids=lambda value: "" if isinstance(value, str) else repr(value),
)
def test_bad_parameters_are_refused(model, what):
    with pytest.raises(InputError, match=what):
        model.fit(X, Y)


@ALL
def test_bad_data_are_refused(name):
    with pytest.raises(InputError, match="y is missing"):
        clone(MODELS[name]).fit(X)
    with pytest.raises(InputError, match="sequence 0"):
        clone(MODELS[name]).fit(X, [Y[0][:-1], *Y[1:]])
    gaps = [np.array([[0.0], [np.nan], [1.0]])] * 4
    labels = [["a", "b", "a"]] * 4
    if "trees" in name:
        clone(MODELS[name]).fit(gaps, labels)
    else:
        with pytest.raises(InputError, match="missing"):
            clone(MODELS[name]).fit(gaps, labels)
        model = change(clone(MODELS[name]), missing="indicator").fit(gaps, labels)
        assert len(model.predict(gaps)) == 4


def test_a_name_is_the_estimator_as_it_comes():
    same(MEMM(window=1).fit(X, Y), MEMM(estimator=LinearCRF(), window=1).fit(X, Y))
    same(SlidingWindow(random_state=0).fit(X, Y), SlidingWindow(estimator=TreeCRF(), random_state=0).fit(X, Y))


@pytest.mark.parametrize("name", ["window", "order", "n_jobs", "constraints"])
def test_what_the_model_says_is_not_said_by_its_estimator(name):
    value = {"window": 2, "order": 0, "n_jobs": 2, "constraints": "iob2"}[name]
    with pytest.raises(InputError, match=f"sets {name}, which is set by the MEMM") as error:
        MEMM(estimator=LinearCRF(**{name: value})).fit(X, Y)
    assert error.value.parameter == "estimator"


def test_the_estimator_that_is_given_stays_as_it_is():
    estimator = TreeCRF(n_estimators=3, early_stopping=False)
    model = MEMM(estimator=estimator, window=1, n_jobs=2, random_state=3).fit(X, Y)
    assert not hasattr(estimator, "ensemble_")
    assert (estimator.order, estimator.n_jobs, estimator.random_state) == ("auto", TreeCRF().n_jobs, None)
    assert (model.estimator_.order, model.estimator_.n_estimators) == (0, 3)


def test_a_search_goes_over_the_parameters_of_the_estimator():
    grid = {"estimator__l2": [1e3, 0.1]}
    search = GridSearchCV(MEMM(estimator=LinearCRF(), window=1), grid, cv=2, scoring=label_accuracy_scorer).fit(X, Y)
    assert search.best_params_ == {"estimator__l2": 0.1}
    assert search.best_estimator_.estimator_.l2 == 0.1


def test_other_objectives_train_rows_too():
    """What a LinearCRF or a TreeCRF can do, it does for rows."""
    plain = MEMM(window=1).fit(X, Y)
    margin = MEMM(estimator=LinearCRF(objective="margin", trainer="adagrad", l2=0.1), random_state=0, window=1).fit(
        X, Y
    )
    newton = MEMM(estimator=TreeCRF(leaves="newton", l2_regularization=1.0, n_estimators=5, early_stopping=False)).fit(
        X, Y
    )
    assert min(margin.score(NEW, NEW_Y), newton.score(NEW, NEW_Y)) > plain.score(NEW, NEW_Y) - 0.15
