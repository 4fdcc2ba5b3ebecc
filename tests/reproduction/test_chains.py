"""One chain trained in many ways: its weights are those of the estimator, and they are read off as it predicts."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import LinearCRF
from hedgerow.chain.objectives import log_likelihood
from hedgerow.datasets import make_sequences
from reproduction.chains import ChainTask, Reader, descend

X, Y = make_sequences(60, 3, random_state=4)


@pytest.fixture
def task():
    return ChainTask.of(X[:40], Y[:40], X[40:], Y[40:], window=1)


def test_descent_is_that_of_the_estimator(task):
    model = LinearCRF(window=1, l2=0.3).fit(X[:40], Y[:40])
    weights = descend(task, log_likelihood, task.zeros(), l2=0.3, max_iter=500)
    np.testing.assert_array_equal(weights, model.weights_)


@pytest.mark.parametrize("decoder", ["posterior", "viterbi"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_labels_are_those_that_the_estimator_predicts(decoder, n_jobs, task):
    model = LinearCRF(window=1, l2=0.3).fit(X[:40], Y[:40])
    reader = Reader(task.layout, task.test, n_jobs)
    reader.labels(np.zeros(task.n_weights), decoder)  # other weights before must not matter
    labels = reader.labels(model.weights_, decoder)
    assert reader.lists(labels).tolist() == model.predict(X[40:], decoder=decoder).tolist()
    expected = 100 * model.set_params(decoder=decoder).score(X[40:], Y[40:])
    assert reader.accuracy(model.weights_, decoder) == pytest.approx(expected)


def test_every_evaluation_is_a_pass_and_every_iteration_is_told(task):
    told = []
    descend(task, log_likelihood, task.zeros(), l2=0.3, max_iter=5, observe=lambda *own: told.append(own))
    passes = [own[0] for own in told]
    assert len(told) == 6  # the start too
    assert passes[0] == 1
    assert passes == sorted(set(passes))
    losses = [own[1] for own in told]
    assert losses == sorted(losses, reverse=True)


def test_without_scaled_variables_the_path_is_another_and_the_end_the_same(task):
    ends, paths = [], []
    for options in ({}, {"scaled": False, "memory": 5}):
        told = []
        ends.append(
            descend(
                task, log_likelihood, task.zeros(), l2=0.3, max_iter=500, tol=1e-10,
                observe=lambda passes, loss, weights, told=told: told.append(loss), **options,
            )
        )  # fmt: skip
        paths.append(told)
    assert paths[0][2] != paths[1][2]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-3)
