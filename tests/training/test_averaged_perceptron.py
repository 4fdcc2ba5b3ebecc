"""The averaged perceptron against a literal one, written without objectives or scorers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from hedgerow.chain.inference import best_labelings
from hedgerow.chain.objectives import perceptron
from hedgerow.linear.chain import LinearChain
from hedgerow.trainers import AveragedPerceptron
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.trainers import train_online
from tests.models.corpora import Loss
from tests.reference import online_trainers as literal
from tests.training.online_problems import Problem, problems, run


@settings(max_examples=40)
@given(problems(perceptron))
def test_the_lazy_average_is_the_average(problem):
    start = np.zeros(problem.layout.n_weights)
    found = run(AveragedPerceptron, problem, 3)
    np.testing.assert_allclose(found, literal.averaged_perceptron(problem, start, 3)[-1], rtol=1e-9, atol=1e-9)


def collins(problem: Problem, n_passes: int) -> tuple[np.ndarray, int]:
    """Figure 1 of Collins 2002: features are counted, weights are added up after every sentence; how many mistakes."""
    data, layout = problem.dataset, problem.layout
    weights, total, n, mistakes = np.zeros(layout.n_weights), np.zeros(layout.n_weights), 0, 0
    for number in range(n_passes):
        for (i,) in problem.order(number):
            chain = LinearChain(layout)
            chain.load(weights.copy())
            found = best_labelings(chain.potentials(chain.compile(data, i, i + 1)))[0]
            truth = data.labels[data.offsets[i] : data.offsets[i + 1]]
            mistakes += int((found != truth).any())
            weights = weights + count(problem, i, truth) - count(problem, i, found)
            total, n = total + weights, n + 1
    return total / n, mistakes


def count(problem: Problem, i: int, labels: np.ndarray) -> np.ndarray:
    """How often each weight enters the score of a labeling of sequence i: its score with this weight 1 alone."""
    layout, data = problem.layout, problem.dataset
    totals = np.zeros(layout.n_weights)
    rows = np.arange(len(labels))
    for j in range(layout.n_weights):
        chain = LinearChain(layout)
        chain.load(np.eye(1, layout.n_weights, j)[0])
        potentials = chain.potentials(chain.compile(data, i, i + 1))
        totals[j] = potentials.node_scores[rows, labels].sum()
        totals[j] += potentials.edges.scores[labels[:-1], labels[1:]].sum()
    return totals


def test_it_is_the_one_of_collins():
    X = [["they", "can", "fish"], ["the", "can"], ["fish", "can", "fish"], ["the", "fish", "can"], ["can", "they"]]
    y = [["N", "V", "V"], ["D", "N"], ["N", "V", "V"], ["D", "N", "V"], ["V", "N"]]
    loss = Loss(X, y)
    problem = Problem(loss.layout, loss.dataset, perceptron, batch_size=1)
    expected, mistakes = collins(problem, 3)
    assert mistakes > 2
    np.testing.assert_allclose(run(AveragedPerceptron, problem, 3), expected, rtol=1e-12, atol=1e-12)


def test_training_goes_on_from_zeros_and_ends_when_all_is_right():
    X = [["a", "b"], ["b", "a"], ["a"]]
    loss = Loss(X, [[x.upper() for x in own] for own in X])
    problem = Problem(loss.layout, loss.dataset, perceptron, batch_size=8)  # one batch: its first loss is 0
    with Monitor(max_iter=200, tol=1e-5) as monitor:
        weights = train_online(AveragedPerceptron(), problem.batches(), np.zeros(loss.n_weights), monitor)
    assert monitor.outcome == "converged"
    assert monitor.n_iter > 10
    chain = LinearChain(loss.layout)
    chain.load(weights)
    found = best_labelings(chain.potentials(chain.compile(loss.dataset, 0, 3)))[0]
    np.testing.assert_array_equal(found, loss.dataset.labels)
