"""Iterative scaling: the step of the definition by enumeration, a loss that never rises, and the optimum of L-BFGS."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.linear.chain import LinearChain
from hedgerow.training.whole.iis import scaling_step

X, Y = make_sequences(20, n_labels=3, n_tokens=6, mean_length=4, concentration=0.4, random_state=0)


def test_a_step_solves_its_equation():
    rng = np.random.default_rng(0)
    expected, observed = rng.random((3, 40)) * 5, rng.random(40) * 12
    expected[:, :5] = 1e-3
    observed[5:10] = 0.0
    totals, w = np.array([4.0, 9.0, 20.0]), rng.normal(size=40)
    for l2 in (0.3, 5.0):
        delta = scaling_step(expected, totals, observed, w, l2)
        left = (expected * np.exp(delta * totals[:, None])).sum(axis=0) + 2 * l2 * (w + delta)
        np.testing.assert_allclose(left, observed, rtol=1e-7, atol=1e-7)
    plain = scaling_step(expected[:1, 10:], totals[:1], observed[10:], w[10:], 0.0)
    np.testing.assert_allclose(plain, np.log(observed[10:] / expected[0, 10:]) / 4.0, rtol=1e-8)


def test_the_first_step_of_gis_is_that_of_all_labelings():
    x, y = [row[:3] for row in X[:6]], [row[:3] for row in Y[:6]]
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        one = LinearCRF(trainer="gis", window=0, l2=0.4, max_iter=1).fit(x, y)
    expected, observed, total = _by_all_labelings(one, x, y)
    delta = scaling_step(expected[None], np.array([total]), observed, np.zeros(len(expected)), 0.4)
    np.testing.assert_allclose(one.weights_, delta, rtol=1e-6, atol=1e-9)


def _by_all_labelings(model, x, y):
    """Expected and observed features at weights of 0, each labeling as likely as any other, and the largest total."""
    chain, dataset = LinearChain(model.layout_), model.encode(x, y)
    n = model.layout_.n_weights
    expected, observed, most = np.zeros(n), np.zeros(n), 0.0
    for i in range(len(x)):
        every = list(itertools.product(range(dataset.n_labels), repeat=len(x[i])))
        features = np.zeros((len(every), n))
        for j in range(n):
            chain.load(np.eye(1, n, j)[0])
            potentials = chain.potentials(chain.compile(dataset, i, i + 1))
            features[:, j] = [potentials.edges.position_scores(potentials, np.array(labels)).sum() for labels in every]
        expected += features.mean(axis=0)
        observed += features[every.index(tuple(dataset.labels[dataset.offsets[i] : dataset.offsets[i + 1]].tolist()))]
        most = max(most, features.sum(axis=1).max())
    return expected, observed, most


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("trainer", ["gis", "iis"])
def test_the_loss_falls_to_that_of_lbfgs(trainer, order):
    own = {"window": 0, "l2": 1.0, "order": order}
    best = LinearCRF(tol=1e-10, **own).fit(X, Y)
    model = LinearCRF(trainer=trainer, tol=1e-8, max_iter=4000, **own).fit(X, Y)
    losses = [step.loss for step in model.history_]
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert model.loss_ == pytest.approx(best.loss_, rel=1e-5)
    np.testing.assert_allclose(model.weights_, best.weights_, atol=0.01)


def test_improved_steps_are_longer():
    own = {"window": 0, "l2": 1.0, "max_iter": 20}
    with pytest.warns(UserWarning, match="max_iter"):
        gis, iis = (LinearCRF(trainer=trainer, **own).fit(X, Y) for trainer in ("gis", "iis"))
    assert iis.loss_ < gis.loss_


@pytest.mark.parametrize(
    ("rows", "labels", "more", "complaint"),
    [
        ([[{"a": -1.0}, {"a": 2.0}]] * 4, [["p", "q"]] * 4, {}, "features that are not negative"),
        (X, [[None, *row[1:]] for row in Y], {}, "iterative scaling needs every label"),
        (X, Y, {"objective": "margin"}, "trainer 'gis' is for objective 'log_likelihood'"),
        (X, Y, {"l1": 0.1}, "has no L1"),
    ],
)
def test_what_is_refused(rows, labels, more, complaint):
    with pytest.raises(InputError, match=complaint):
        LinearCRF(trainer="gis", **more).fit(rows, labels)
