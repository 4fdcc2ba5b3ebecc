"""MaxMarginMarkovNetwork: the margin of LinearCRF under its own name."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import InputError, LinearCRF, MaxMarginMarkovNetwork, load
from hedgerow.datasets import make_sequences

X, Y = make_sequences(40, random_state=1)


def test_it_is_the_margin_of_a_linear_chain(tmp_path):
    model = MaxMarginMarkovNetwork(l2=0.5, random_state=0).fit(X, Y)
    twin = LinearCRF(objective="margin", trainer="frank_wolfe", l2=0.5, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, twin.weights_)
    assert model.loss_ == twin.loss_
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is MaxMarginMarkovNetwork
    assert (loaded.objective, loaded.l2) == ("margin", 0.5)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_the_loss_is_the_largest_gain_over_the_truth():
    """By Viterbi on scores to which the costs were added, sequence by sequence."""
    model = MaxMarginMarkovNetwork(l2=0.5, random_state=0).fit(X[:10], Y[:10])
    total = 0.5 * float(model.weights_ @ model.weights_)
    dataset = model.encode(X[:10], Y[:10])
    potentials = model._potentials(dataset, 0, 10)
    for i in range(10):
        rows = potentials.rows(i)
        nodes, labels = potentials.node_scores[rows], dataset.labels[rows]
        edges = potentials.edges.scores
        truth = nodes[np.arange(len(labels)), labels].sum() + edges[labels[:-1], labels[1:]].sum()
        costly = nodes + (np.arange(nodes.shape[1]) != labels[:, None])
        best = costly[0]
        for row in costly[1:]:
            best = (best[:, None] + edges).max(axis=0) + row
        total += best.max() - truth
    np.testing.assert_allclose(model.loss_, total, rtol=1e-8)


def test_costs_and_unknown_labels():
    dear = MaxMarginMarkovNetwork(l2=1.0, costs={"L0": 20.0}, random_state=0).fit(X, Y)
    plain = MaxMarginMarkovNetwork(l2=1.0, random_state=0).fit(X, Y)
    recalled = [
        np.mean([a == "L0" for p, t in zip(model.predict(X), Y) for a, b in zip(p, t) if b == "L0"])
        for model in (dear, plain)
    ]
    assert recalled[0] > recalled[1]
    partial = [[None, *row[1:]] for row in Y]
    assert MaxMarginMarkovNetwork(l2=0.1, max_iter=5, random_state=0).fit(X, partial).score(X, Y) > 0.6


def test_the_objective_is_no_parameter():
    assert "objective" not in MaxMarginMarkovNetwork().get_params()
    with pytest.raises(InputError, match="trainer 'averaged_perceptron' is for objective 'perceptron'"):
        MaxMarginMarkovNetwork(trainer="averaged_perceptron").fit(X, Y)
