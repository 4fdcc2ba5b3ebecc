"""Objectives as the estimators have them: for linear and for tree scores, with their starts, stages and costs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF, TreeCRF, load
from hedgerow.chain import objectives
from hedgerow.chain.objectives import make_objective
from hedgerow.chain.potentials import Truth
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.trainers import SGD
from hedgerow.training.deadline import Deadline

LINEAR = tuple(name for name in objectives.NAMES if name in objectives.SMOOTH)
TREE = tuple(name for name in objectives.NAMES if name != "perceptron")
SHORT = {"n_estimators": 8, "max_leaf_nodes": 6, "early_stopping": False, "window": 1}


@pytest.fixture(scope="module")
def data():
    X, y = make_sequences(60, 3, random_state=0, mean_length=8, concentration=0.5)
    return X[:40], y[:40], X[40:], y[40:]


def loss_of(model, X, y, objective):
    """The loss of a fitted model on labelled sequences."""
    dataset = model.encode(X, y)
    potentials = model._potentials(dataset, 0, len(dataset))
    return objective(potentials, Truth(dataset.labels)).loss


@pytest.mark.parametrize("name", LINEAR)
def test_the_loss_kept_is_that_of_the_objective(name):
    # On this draw every objective comes to its end well before the last iteration.
    X, y = make_sequences(40, 3, random_state=10, mean_length=8, concentration=0.5)
    model = LinearCRF(objective=name, l2=0.5, max_iter=300).fit(X, y)
    sharpness = {"labelwise": 15.0, "classification_error": 1.0}.get(name, 15.0)
    objective = make_objective(name, n_labels=3, sharpness=sharpness)
    penalty = 0.5 * float(model.weights_ @ model.weights_)
    assert model.loss_ == pytest.approx(loss_of(model, X, y, objective) + penalty, rel=1e-9)


@pytest.mark.parametrize("name", sorted({"labelwise", "expected_accuracy", "pointwise", "classification_error"}))
def test_an_objective_that_is_not_convex_starts_from_the_likelihood(name, data):
    """Its loss there is the first that its own stage reports, and it falls from then on."""
    X, y = data[:2]
    start = LinearCRF(l2=0.5).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearCRF(objective=name, l2=0.5, sharpness=4.0 if name in ("labelwise",) else None).fit(X, y)
    n = start.n_iter_
    np.testing.assert_array_equal([s.loss for s in model.history_[:n]], [s.loss for s in start.history_])
    sharpness = 4.0 if name == "labelwise" else 1.0
    objective = make_objective(name, n_labels=3, sharpness=sharpness)
    before = loss_of(start, X, y, objective) + 0.5 * float(start.weights_ @ start.weights_)
    own = [s.loss for s in model.history_[n:]]
    assert before >= own[0] >= own[-1]
    assert own[-1] < before


def test_stages_of_sharpness_go_on_from_each_other(data):
    X, y = data[:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = LinearCRF(objective="labelwise", sharpness=3.0, start="counts", max_iter=15).fit(X, y)
        two = LinearCRF(objective="labelwise", sharpness=[3.0, 12.0], start="counts", max_iter=15).fit(X, y)
    shared = [s.loss for s in one.history_]
    np.testing.assert_array_equal([s.loss for s in two.history_[: len(shared)]], shared)
    assert two.n_iter_ > one.n_iter_
    assert two.n_iter_ == len(two.history_)
    assert {step.stage for step in one.history_} == {""}
    names = ["labelwise, sharpness 3", "labelwise, sharpness 12"]
    assert [step.stage for step in two.history_] == [names[i >= len(shared)] for i in range(len(two.history_))]


def test_counts_are_a_start(data):
    from hedgerow.training.counting import count_weights

    X, y = data[:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counted = LinearCRF(start="counts", max_iter=1).fit(X, y)
        plain = LinearCRF(max_iter=1).fit(X, y)
    counts = count_weights(counted.encode(X, y), counted.layout_)
    objective = make_objective("log_likelihood", n_labels=3)
    plain.weights_ = counts
    assert counted.loss_ < loss_of(plain, X, y, objective) + float(counts @ counts)


def test_passes_of_sgd_are_a_start(data):
    X, y = data[:2]
    one = LinearCRF(tol=1e-9, max_iter=400).fit(X, y)
    two = LinearCRF(tol=1e-9, max_iter=400, start="sgd", random_state=0).fit(X, y)
    own = [step for step in two.history_ if step.stage == "log_likelihood"]
    assert [step.stage for step in two.history_[:10]] == ["sgd"] * 10
    assert own[0].loss < one.history_[0].loss
    assert len(own) < one.n_iter_
    np.testing.assert_allclose(two.loss_, one.loss_, rtol=1e-8)
    np.testing.assert_allclose(two.weights_, one.weights_, atol=1e-3)


@pytest.mark.parametrize(
    "options", [{"order": 2}, {"class_weight": {"L0": 20.0}}, {"l1": 0.5}, {"transition_columns": ["token"]}]
)
def test_passes_of_sgd_end_where_others_do(options, data):
    X, y = data[:2]
    known = {"tol": 1e-9, "max_iter": 600, "window": 1, "random_state": 0, **options}
    zero, sgd = (LinearCRF(start=start, **known).fit(X, y) for start in ("zero", "sgd"))
    np.testing.assert_allclose(sgd.loss_, zero.loss_, rtol=1e-7)


def test_passes_of_sgd_are_bounded(data):
    X, y = data[:2]
    with pytest.warns(ConvergenceWarning):
        model = LinearCRF(start="sgd", max_iter=3, random_state=0).fit(X, y)
    assert [step.stage for step in model.history_] == ["sgd"] * 3 + ["log_likelihood"] * 3
    with Deadline(0.0).applied(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearCRF(start="sgd", random_state=0).fit(X, y)
    assert {step.stage for step in model.history_} == {"sgd"}
    with pytest.raises(InputError, match="'frank_wolfe' starts at zero, not by start='sgd'"):
        LinearCRF(start="sgd", trainer="frank_wolfe").fit(X, y)


def test_labels_are_decoded_one_by_one_where_the_objective_counts_them(data):
    X, y, X_test, _ = data
    model = LinearCRF(objective="pointwise").fit(X, y)
    posterior, viterbi = (model.predict(X_test, decoder=name).tolist() for name in ("posterior", "viterbi"))
    assert model.predict(X_test).tolist() == posterior
    margin = LinearCRF(objective="margin").fit(X, y)
    assert margin.predict(X_test).tolist() == margin.predict(X_test, decoder="viterbi").tolist()
    assert posterior != viterbi


@pytest.mark.parametrize(
    "model",
    [
        LinearCRF(objective="expected_accuracy"),
        TreeCRF(**SHORT, objective="expected_accuracy", likelihood_steps=0, learning_rate=1.0),
    ],
)
def test_costs_make_a_label_more_frequent(model):
    """The words say nothing, and the dear label is the rarer one."""
    rng = np.random.default_rng(0)
    y = [rng.choice(["dear", "plain"], size=6, p=[0.3, 0.7]).tolist() for _ in range(40)]
    X = [["a"] * 6] * 40

    def share(costs):
        found = model.set_params(costs=costs).fit(X, y).predict(X)
        return np.mean([label == "dear" for labels in found for label in labels])

    assert share({"dear": 8.0}) > 0.9
    assert share(None) < 0.1


def test_constraints_are_obeyed_whatever_the_objective(data):
    X, y, X_test, _ = data
    for objective in ("pointwise", "labelwise"):
        model = LinearCRF(objective=objective, transitions="forbid_unseen", max_iter=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        assert model.predict(X_test).tolist() == model.predict(X_test, decoder="viterbi").tolist()


@pytest.mark.parametrize("trainer", ["sgd", "adagrad", "smd"])
def test_the_loss_of_an_online_trainer_is_that_of_its_weights(trainer, data):
    X, y = data[:2]
    model = LinearCRF(trainer=trainer, l2=0.5, max_iter=3, random_state=0).fit(X, y)
    loss = 0.5 * float(model.weights_ @ model.weights_) - float(model.log_probability(X, y).sum())
    assert model.loss_ == pytest.approx(loss, rel=1e-9)


def test_auto_takes_a_trainer_that_can(data):
    X, y = data[:2]
    for parameters, truth in (({}, [["L0", None, *labels[2:]] for labels in y]), ({"l2": 0.0}, y), ({"l1": 0.1}, y)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearCRF(objective="margin", max_iter=5, random_state=0, **parameters).fit(X, truth)
        assert np.isfinite(model.loss_)
    again = LinearCRF(max_iter=20, warm_start=True, random_state=0).fit(X, y)
    assert np.isfinite(again.set_params(objective="margin").fit(X, y).loss_)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"objective": "perceptron", "trainer": "lbfgs"}, "no minimum"),
        ({"objective": "labelwise", "trainer": "averaged_perceptron"}, "is for objective 'perceptron'"),
        ({"objective": "labelwise", "trainer": "smd"}, "second derivatives"),
        ({"objective": "pointwise", "sharpness": 3.0}, "no sharpness"),
        ({"objective": "labelwise", "sharpness": []}, "sharpness is"),
        ({"objective": "labelwise", "sharpness": [3.0, -1.0]}, "sharpness is"),
        ({"objective": "labelwise", "sharpness": "sharp"}, "sharpness is"),
        ({"l1": 1.0, "trainer": "conjugate_gradient"}, "has no L1"),
        ({"trainer": "frank_wolfe", "l2": 0.0}, "needs l2"),
        ({"trainer": "newton"}, "Choose one of"),
        ({"objective": "hinge"}, "Choose one of"),
        ({"start": "one"}, "Choose one of"),
        ({"trainer": SGD(gain=-1.0)}, "gain is"),
        ({"trainer": SGD(batch_size=0)}, "batch_size is"),
        ({"costs": {0: -1.0}}, "cost"),
        ({"costs": {9: 2.0}, "objective": "expected_accuracy"}, "label 9"),
    ],
)
def test_parameters_that_do_not_go_together(parameters, what, data):
    with pytest.raises(InputError, match=what):
        LinearCRF(**parameters).fit(*data[:2])


class TestTrees:
    @pytest.mark.parametrize("name", TREE)
    def test_the_loss_falls_and_is_that_of_the_objective(self, name, data):
        X, y = data[:2]
        model = TreeCRF(**SHORT, objective=name, likelihood_steps=0, learning_rate=0.2).fit(X, y)
        losses = [step.loss for step in model.history_]
        assert losses[-1] < losses[0]
        sharpness = {"classification_error": 1.0}.get(name, 15.0)
        objective = make_objective(name, n_labels=3, sharpness=sharpness)
        assert model.loss_ == pytest.approx(loss_of(model, X, y, objective), rel=1e-6)

    @pytest.mark.parametrize("edges", ["joint", "shared"])
    def test_trees_follow_the_gradient_of_the_objective(self, edges, data):
        """One tree of two leaves or more from zero: the loss falls as fast as Σ gradient · direction says."""
        X, y = data[:2]
        objective = make_objective("labelwise", n_labels=3)
        small = TreeCRF(**SHORT | {"n_estimators": 1}, objective="labelwise", likelihood_steps=0, edges=edges)
        steps = [1e-4, 2e-4]
        losses = [loss_of(small.set_params(learning_rate=h).fit(X, y), X, y, objective) for h in steps]
        zero = loss_of(small.set_params(learning_rate=1e-12).fit(X, y), X, y, objective)
        slopes = [(loss - zero) / h for loss, h in zip(losses, steps)]
        assert slopes[0] < 0.0
        assert slopes[1] == pytest.approx(slopes[0], rel=0.01)

    def test_the_likelihood_comes_first_where_the_objective_is_not_convex(self, data):
        X, y = data[:2]
        model = TreeCRF(**SHORT, objective="labelwise").fit(X, y)
        assert model.likelihood_iterations_ == 4
        likelihood = TreeCRF(**SHORT, leaves="mean", edges=model.edges_).fit(X, y)
        own, theirs = model.ensemble_.trees()[: 4 * 3], likelihood.ensemble_.trees()[: 4 * 3]
        for a, b in zip(own, theirs):
            np.testing.assert_array_equal(a.values, b.values)

    def test_held_out_sequences_end_the_likelihood_and_then_the_objective(self, data):
        X, y, X_test, y_test = data
        options = SHORT | {"early_stopping": True, "n_estimators": 40, "n_iter_no_change": 3, "calibrate": False}
        model = TreeCRF(**options, objective="expected_accuracy", learning_rate=0.5).fit(
            X, y, X_val=X_test, y_val=y_test
        )
        assert 0 < model.likelihood_iterations_ <= model.best_iteration_
        scores = [step.score for step in model.history_]
        assert model.score(X_test, y_test) == pytest.approx(max(scores))

    def test_what_belongs_to_another_objective_is_refused(self, data):
        for parameters in (
            {"objective": "perceptron"},
            {"sharpness": 2.0},
            {"softness": 2.0, "objective": "margin"},
            {"costs": {0: 2.0}, "objective": "labelwise"},
            {"leaves": "newton", "objective": "margin"},
            {"likelihood_steps": -1},
        ):
            with pytest.raises(InputError):
                TreeCRF(**SHORT, **parameters).fit(*data[:2])

    def test_files_keep_the_objective(self, data, tmp_path):
        model = TreeCRF(**SHORT, objective="margin", costs=[("L0", "L1", 2.0)]).fit(*data[:2])
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.objective == "margin"
        assert again.predict(data[2]).tolist() == model.predict(data[2]).tolist()
