"""Every trainer with every objective that it takes: the loss falls, and the outcome says what happened."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF
from hedgerow.chain.objectives import NAMES
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.trainers import AROW, SGD, SMD, TRAINERS, AnnealedSGD, GainTrainer, PassiveAggressive, make_trainer


@pytest.fixture(scope="module")
def data():
    X, y = make_sequences(100, n_labels=3, n_tokens=30, mean_length=5, concentration=0.4, random_state=0)
    return X[:30], y[:30], X[30:], y[30:]


def fitted(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few iterations
        return LinearCRF(l2=0.3, random_state=0, **parameters).fit(X, y)


def pairs():
    for trainer in TRAINERS:
        for objective in NAMES:
            for order in (1, 2):
                try:
                    LinearCRF(trainer=trainer, objective=objective, order=order)._check_parameters()
                except InputError:
                    continue
                yield trainer, objective, order


@pytest.mark.parametrize(("trainer", "objective", "order"), list(pairs()))
def test_a_pair_learns(trainer, objective, order, data):
    """From its own start, whatever that is, weights move, and to a labeling that is better than the commonest label."""
    X, y, X_test, y_test = data
    if issubclass(TRAINERS[trainer], GainTrainer):
        trainer = make_trainer(trainer, {"gain": 0.1})
    model = fitted(X, y, trainer=trainer, objective=objective, order=order, max_iter=8)
    assert model.outcome_ != "stuck"
    assert model.n_iter_ > 0
    assert np.abs(model.weights_).max() > 0.01
    _, counts = np.unique(np.concatenate(y_test), return_counts=True)
    assert model.score(X_test, y_test) > counts.max() / counts.sum()


def test_a_start_that_no_step_leaves_is_said(data):
    """With weights of 0 all labelings tie, and the slack margin has a kink there."""
    with pytest.warns(ConvergenceWarning, match="no first step made the loss smaller"):
        model = LinearCRF(objective="slack_margin", trainer="lbfgs", start="zero").fit(*data[:2])
    assert (model.outcome_, model.n_iter_) == ("stuck", 0)


def test_a_warm_start_at_the_minimum_is_not_stuck(data):
    model = LinearCRF(l2=0.3, tol=1e-12, warm_start=True).fit(*data[:2])
    assert model.fit(*data[:2]).outcome_ == "converged"


@pytest.mark.parametrize("gain", [3.0, 30.0])
def test_a_loss_that_grew_is_said(gain):
    X, y = make_sequences(300, n_labels=4, n_tokens=200, mean_length=12, concentration=0.4, random_state=0)
    X, y = X[:150], y[:150]
    with pytest.warns(ConvergenceWarning, match="made the loss larger"):
        model = LinearCRF(trainer=SGD(gain=gain), l2=0.01, random_state=0).fit(X, y)
    assert model.outcome_ == "diverged"
    nothing = sum(map(len, y)) * np.log(4)
    assert model.loss_ > nothing


@pytest.mark.parametrize("trainer", ["sgd", "annealed_sgd", "adagrad", "adam"])
def test_the_perceptron_loss_at_zero_ends_nothing(trainer, data):
    """It is 0 there: to fall below it is not asked for."""
    trainer = make_trainer(trainer, {"gain": 0.1})
    model = fitted(*data[:2], objective="perceptron", trainer=trainer, max_iter=12, tol=0.0)
    assert model.n_iter_ > 10 or model.outcome_ != "converged"


@pytest.mark.parametrize("trainer", ["averaged_perceptron", "passive_aggressive", "arow"])
def test_who_learns_from_mistakes_has_no_penalty(data, trainer):
    X, y = data[:2]
    models = [LinearCRF(trainer=trainer, l2=l2, random_state=0).fit(X, y) for l2 in (0.0, 100.0)]
    np.testing.assert_array_equal(models[0].weights_, models[1].weights_)
    assert models[0].loss_ == models[1].loss_


def test_schedules_reach_the_trainer(data):
    X, y = data[:2]
    for trainer, schedules in ((AnnealedSGD, ("averaged", "inverse")), (SMD, ("averaged", "plain", "annealed"))):
        trainers = [trainer(schedule=schedule, gain=0.05) for schedule in ("auto", *schedules)]
        models = [fitted(X, y, trainer=own, max_iter=3) for own in trainers]
        np.testing.assert_array_equal(models[0].weights_, models[1].weights_)
        for i in range(1, len(models)):
            assert not any(np.allclose(models[i].weights_, other.weights_) for other in models[i + 1 :])
    lazy, exact = (fitted(X, y, trainer=SMD(lazy=lazy, gain=0.05), max_iter=3) for lazy in (True, False))
    assert not np.allclose(lazy.weights_, exact.weights_, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"trainer": SMD(schedule="inverse")}, "schedule is 'inverse'"),
        ({"trainer": SMD(lazy="yes")}, "lazy is 'yes'"),
        ({"objective": "perceptron", "l1": 0.1}, "l1 is 0.1 and trainer 'averaged_perceptron' has no L1"),
        ({"objective": "log_likelihood", "trainer": "arow"}, "'arow' is for objective 'perceptron'"),
        ({"trainer": PassiveAggressive(slack="cubic")}, "slack is 'cubic'"),
        ({"trainer": PassiveAggressive(aggressiveness=0)}, "aggressiveness is 0"),
        ({"trainer": AROW(gamma=-1.0)}, "gamma is -1"),
        ({"objective": "slack_margin", "costs": {"L0": 10**9}}, "too many to list for slack_margin"),
    ],
)
def test_what_does_not_go_together(parameters, message, data):
    with pytest.raises(InputError, match=message):
        LinearCRF(**parameters).fit(*data[:2])


def test_a_corpus_without_weight(data):
    X, y = data[:2]
    with pytest.raises(InputError, match="every weight is 0"):
        LinearCRF().fit(X, y, sample_weight=np.zeros(len(X)))
