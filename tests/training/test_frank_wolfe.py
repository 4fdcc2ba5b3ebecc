"""Frank–Wolfe on corpora: the loss is the margin objective's, the bound is a bound, and the two meet at the optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from hedgerow.chain.inference import position_scores
from hedgerow.chain.objectives import make_objective
from hedgerow.chain.potentials import Truth
from hedgerow.errors import InputError
from hedgerow.linear.chain import Evaluation, LinearChain
from hedgerow.parallel import Lanes
from hedgerow.training import monitor as monitoring
from hedgerow.training.frank_wolfe import Solver, frank_wolfe
from hedgerow.training.monitor import Monitor
from tests.models.corpora import COLUMNS, X_SMALL, Y_SMALL, Loss, partial_labels, rich_corpus

KINDS = {
    "plain": {},
    "pairs": {"transition_columns": ["word"]},
    "constraints": {"constraints": "iob2"},
    "observed": {"transitions": "observed"},
    "window": {"window": 1, "pairs": "all"},
}


def corpus(kind="plain", n_sequences=40, seed=1, sample_weight=None) -> Loss:
    X, y = rich_corpus(n_sequences, seed=seed)
    return Loss(X, y, sample_weight, columns=COLUMNS, **KINDS[kind])


def hamming(n_labels=3):
    return 1.0 - np.eye(n_labels)


def uneven(rng, n_labels=3):
    return rng.random((n_labels, n_labels)) * hamming(n_labels)


def run(loss, *, l2=1.0, costs=None, seed=0, weights=None, **options):
    weights = np.zeros(loss.n_weights) if weights is None else weights
    with Monitor(**{"max_iter": 2000, "tol": 1e-2} | options) as monitor:
        found = frank_wolfe(loss.layout, loss.dataset, weights, monitor, l2=l2, costs=costs, seed=seed)
    return found, monitor


def margin_loss(loss, weights, l2, costs=None) -> float:
    """The penalised loss by the objective itself."""
    objective = make_objective("margin", n_labels=loss.layout.n_labels, costs=costs)
    with Lanes(None, 1) as lanes:
        value, _ = Evaluation(LinearChain(loss.layout), loss.dataset, objective, lanes)(weights)
    return value + l2 * float(weights @ weights)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_the_objective(kind, rng):
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=300)
    loss = corpus(kind, 300, sample_weight=weights)
    costs = uneven(rng)
    solver = Solver(loss.layout, loss.dataset, l2=0.7, costs=costs)
    for scale in (0.0, 1.0, 100.0):
        w = scale * rng.normal(size=loss.n_weights)
        np.testing.assert_allclose(solver.loss(w), margin_loss(loss, w, 0.7, costs), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.3, 10.0])
def test_the_bound_rises_and_stays_below_every_loss(kind, l2, rng):
    loss = corpus(kind)
    solver = Solver(loss.layout, loss.dataset, l2=l2, costs=uneven(rng))
    bounds, losses = [0.0], []
    for number in range(60):
        solver.run(np.random.default_rng(number))
        average = solver.average()
        bounds.append(solver.bound(solver.last()))
        losses += [solver.loss(average), solver.loss(solver.last())]
        assert solver.bound(average) >= bounds[-1]
    assert (np.diff(bounds) > 0.0).all()
    assert max(bounds) <= min(losses)
    assert losses[-2] - bounds[-1] < 0.4 * (losses[0] - bounds[1])


def labelings(loss, i):
    """Every labeling of sequence i: feature vectors (L, W) less those of the truth, and costs (L,)."""
    chain, data = LinearChain(loss.layout), loss.dataset
    chunk, K = chain.compile(data, i, i + 1), loss.layout.n_labels
    truth = data.labels[data.offsets[i] : data.offsets[i + 1]]
    every = np.array(list(itertools.product(range(K), repeat=len(truth))))
    scores = np.empty((len(every), loss.n_weights))
    for j, unit in enumerate(np.eye(loss.n_weights)):
        chain.load(unit)
        potentials = chain.potentials(chunk)
        scores[:, j] = [position_scores(potentials, y).sum() for y in every]
    return scores - scores[(every == truth).all(axis=1)], (every != truth).sum(axis=1).astype(float)


def quadratic_optimum(loss, l2):
    """The minimum of the loss by a solver for its dual, over the probabilities of all labelings."""
    listed = [labelings(loss, i) for i in range(loss.dataset.n_sequences)]
    moves, costs = np.concatenate([a for a, _ in listed]), np.concatenate([b for _, b in listed])
    ends = np.cumsum([len(b) for _, b in listed])
    members = np.equal.outer(np.arange(len(listed)), np.searchsorted(ends, np.arange(len(costs)), side="right"))
    gram = moves @ moves.T / (4.0 * l2)

    def minus_dual(alpha):
        return alpha @ gram @ alpha - costs @ alpha, 2.0 * gram @ alpha - costs

    start = (costs == 0.0).astype(float)
    total = {"type": "eq", "fun": lambda a: members @ a - 1.0, "jac": lambda a: members.astype(float)}
    options = {"maxiter": 1000, "ftol": 1e-13}
    found = minimize(
        minus_dual, start, jac=True, bounds=[(0.0, 1.0)] * len(costs), constraints=[total], options=options
    )
    assert found.success
    return -found.fun, -moves.T @ found.x / (2.0 * l2)


@pytest.mark.parametrize("l2", [0.1, 1.0])
def test_the_optimum_is_that_of_a_solver_for_quadratic_programs(l2):
    loss = Loss([["a", "b"], ["b", "c", "a"], ["c"], ["a", "c"]], [["x", "y"], ["x", "x", "y"], ["x"], ["y", "x"]])
    minimum, best = quadratic_optimum(loss, l2)
    np.testing.assert_allclose(margin_loss(loss, best, l2), minimum, rtol=1e-5)
    solver = Solver(loss.layout, loss.dataset, l2=l2, costs=hamming(2))
    for number in range(3000):
        solver.run(np.random.default_rng(number))
    average = solver.average()
    assert solver.bound(average) <= minimum * (1 + 1e-6)
    assert solver.loss(average) >= minimum * (1 - 1e-6)
    np.testing.assert_allclose(solver.loss(average), solver.bound(average), rtol=2e-3)
    np.testing.assert_allclose(average, best, rtol=0, atol=0.05 * np.abs(best).max())


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_training_ends_when_the_gap_is_small(tol, monkeypatch):
    monkeypatch.setattr(monitoring, "PERIOD", 10**9)  # the other reason to end: ten passes that change little
    loss = corpus(n_sequences=60)
    found, monitor = run(loss, l2=5.0, tol=tol)
    assert monitor.outcome == "converged"
    assert 1 < monitor.n_iter < 2000
    best = min(step.loss for step in run(loss, l2=5.0, tol=1e-5)[1].history)
    assert monitor.kept.loss <= best * (1 + tol)
    np.testing.assert_allclose(margin_loss(loss, found, 5.0), monitor.kept.loss, rtol=1e-10)


def test_costs_are_those_that_are_given(rng):
    """Twice the costs and half the penalty: the same problem with twice the weights."""
    loss, costs = corpus(), uneven(rng)
    once, twice = (run(loss, l2=1.0 / f, costs=f * costs, max_iter=20, tol=0.0)[0] for f in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2.0 * once, rtol=0, atol=1e-10)
    assert np.abs(once - run(loss, max_iter=20, tol=0.0)[0]).max() > 0.01


def test_the_seed_decides_the_order():
    loss = corpus()
    first, again, other = (run(loss, max_iter=3, seed=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


@pytest.mark.parametrize("kind", ["plain", "pairs"])
def test_features_that_are_not_kept_are_listed_anew(kind):
    loss = corpus(kind, 1200)
    found = []
    for kept_bytes in (1 << 30, 0):
        solver = Solver(loss.layout, loss.dataset, l2=1.0, costs=hamming(), kept_bytes=kept_bytes)
        for number in range(2):
            solver.run(np.random.default_rng(number))
        found.append(solver.average())
    np.testing.assert_array_equal(*found)


def test_a_weight_of_two_is_the_sequence_twice():
    """Both problems have the same minimum: each one's bound is below the other's loss."""
    X, y = rich_corpus(30, seed=5)
    twice = Loss(X + X[:10], y + y[:10], columns=COLUMNS)
    weighted = Loss(X, y, np.where(np.arange(30) < 10, 2.0, 1.0), columns=COLUMNS)
    values = []
    for loss in (twice, weighted):
        solver = Solver(loss.layout, loss.dataset, l2=5.0, costs=hamming())
        for number in range(100):
            solver.run(np.random.default_rng(number))
        values.append((solver.bound(solver.average()), solver.loss(solver.average())))
    (low, high), (other_low, other_high) = values
    assert max(low, other_low) <= min(high, other_high)
    assert max(high, other_high) - min(low, other_low) < 0.02 * high


def test_a_weight_of_zero_is_no_sequence():
    X, y = rich_corpus(20, seed=6)
    loss = Loss(X, y, np.where(np.arange(20) < 19, 0.0, 1.0), columns=COLUMNS)
    solver = Solver(loss.layout, loss.dataset, l2=1.0, costs=hamming())
    solver.run(np.random.default_rng(0))
    single = Loss(X[19:], y[19:], columns=COLUMNS)
    alone = Solver(single.layout, single.dataset, l2=1.0, costs=hamming())
    alone.run(np.random.default_rng(0))
    np.testing.assert_array_equal(solver.last(), alone.last())
    assert 0 < np.count_nonzero(solver.last()) <= loss.n_weights


def test_a_corpus_that_is_learnt_keeps_few_cells():
    """The blocks of the dual hold cells where sequences were labelled wrong, not weights for all of them."""
    loss = corpus(n_sequences=300)
    solver = Solver(loss.layout, loss.dataset, l2=1.0, costs=hamming())
    assert solver.n_cells == 0
    for number in range(20):
        solver.run(np.random.default_rng(number))
    assert 0 < solver.n_cells < 6 * loss.dataset.n_positions


def test_it_labels_what_it_was_trained_on():
    loss = Loss(X_SMALL, Y_SMALL)
    weights, _ = run(loss, l2=0.01, tol=1e-3, max_iter=500)
    chain = LinearChain(loss.layout)
    chain.load(weights)
    potentials = chain.potentials(chain.compile(loss.dataset, 0, len(X_SMALL)))
    perceptron = make_objective("perceptron", n_labels=loss.layout.n_labels)
    assert perceptron(potentials, Truth(loss.dataset.labels)).loss == pytest.approx(0.0, abs=1e-12)


def test_validation_keeps_the_best_pass():
    loss = corpus()
    scores = iter([0.1, 0.5, 0.3, 0.2, 0.1, 0.0])
    seen = []

    def validate(weights):
        seen.append(weights)
        return next(scores)

    found, monitor = run(loss, validate=validate, n_iter_no_change=2)
    assert monitor.outcome == "early_stopping"
    np.testing.assert_array_equal(found, seen[1])


def test_unlabelled_positions_are_refused():
    X, y = rich_corpus(30, seed=1)
    y[0] = [None, *y[0][1:]]
    with pytest.raises(InputError, match=r"sequence 0, position 0: the label is not known, and .* not convex"):
        run(Loss(X, y, columns=COLUMNS))
    with pytest.raises(InputError, match="the label is not known"):
        run(Loss(X, partial_labels(rich_corpus(30, seed=1)[1], seed=2), columns=COLUMNS))


def test_what_has_no_dual_is_refused():
    loss = corpus()
    with pytest.raises(InputError, match=r"l2=0\.0 has no dual"):
        run(loss, l2=0.0)
    with pytest.raises(InputError, match="cannot start from weights"):
        run(loss, weights=np.ones(loss.n_weights))


def test_a_forbidden_truth_is_refused():
    X, y = rich_corpus(30, seed=1)
    loss = corpus("constraints", 30)
    wrong = Loss(X, [["I-X", *labels[1:]] if i == 3 else labels for i, labels in enumerate(y)], columns=COLUMNS)
    with pytest.raises(InputError, match="sequence 3, position 0: the true label is forbidden here"):
        frank_wolfe(loss.layout, wrong.dataset, np.zeros(loss.n_weights), Monitor(max_iter=1, tol=0.0), l2=1.0)
