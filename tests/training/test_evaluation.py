"""Value and gradient over chunks: kept features, features compiled anew, any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.objectives import log_likelihood
from hedgerow.chain.potentials import Truth
from hedgerow.linear import chain as evaluation
from hedgerow.linear.chain import Evaluation, LinearChain
from hedgerow.parallel import Lanes, plan_chunks
from tests.models.corpora import COLUMNS, Loss, partial_labels, rich_corpus


@pytest.fixture(scope="module")
def loss() -> Loss:
    X, y = rich_corpus(2000, seed=1)
    return Loss(X, partial_labels(y, seed=2), columns=COLUMNS, transition_columns=["word"])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chunks_add_up(loss, n_jobs, rng):
    """The corpus in one piece, by the objective itself, is the sum of the chunks."""
    weights = rng.normal(size=loss.n_weights)
    chain = LinearChain(loss.layout)
    with Lanes(n_jobs, 3) as lanes:
        evaluate = Evaluation(chain, loss.dataset, log_likelihood, lanes)
        assert evaluate.n_chunks > 3
        value, gradient = evaluate(weights)
    chain.load(weights)
    data = loss.dataset
    whole = log_likelihood(
        chain.potentials(chain.compile(data, 0, data.n_sequences)), Truth(data.labels, allowed=data.allowed)
    )
    np.testing.assert_allclose(value, whole.loss, rtol=1e-12)
    assert np.abs(gradient).max() > 1.0


def test_a_second_evaluation_is_the_same_as_the_first(loss, rng):
    weights, others = rng.normal(size=(2, loss.n_weights))
    with Lanes(None, 2) as lanes:
        evaluate = Evaluation(LinearChain(loss.layout), loss.dataset, log_likelihood, lanes)
        value, gradient = evaluate(weights)
        evaluate(others)
        again, gradient_again = evaluate(weights)
    assert evaluate.n_evaluations == 3
    assert value == again
    np.testing.assert_array_equal(gradient, gradient_again)


def test_features_that_are_not_kept_are_compiled_anew(loss, rng, monkeypatch):
    weights = rng.normal(size=loss.n_weights)
    results = []
    for limit in (evaluation.KEPT_BYTES, 20_000, 0):
        monkeypatch.setattr(evaluation, "KEPT_BYTES", limit)
        with Lanes(None, 2) as lanes:
            evaluate = Evaluation(LinearChain(loss.layout), loss.dataset, log_likelihood, lanes)
            results.append([evaluate(weights) for _ in range(2)])
        kept = sum(chunk is not None for chunk in evaluate._kept)
        assert kept == (0 if limit == 0 else evaluate.n_chunks if limit > 10**6 else kept)
    for value, gradient in [pair for pairs in results for pair in pairs]:
        assert value == results[0][0][0]
        np.testing.assert_array_equal(gradient, results[0][0][1])


def test_one_long_sequence_is_one_chunk():
    X, y = [["a", "b"] * 3000], [["x", "y"] * 3000]
    loss = Loss(X, y)
    assert len(plan_chunks(loss.dataset.offsets)) == 2
    value, gradient = loss(np.zeros(loss.n_weights))
    np.testing.assert_allclose(value, 6000 * np.log(2), rtol=1e-12)
    assert gradient.shape == (loss.n_weights,)
