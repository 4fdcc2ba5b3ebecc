"""Minimum classification error: the count of wrong sequences that it approaches, and the chain of wrong labelings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import best_labelings, legal_sequences, log_partition, marginals
from hedgerow.chain.objectives.classification_error import ClassificationError, fold_edges, fold_nodes, wrong_chain
from hedgerow.chain.potentials import Truth
from tests.reference.cases import cases, make_case
from tests.reference.enumeration import enumerate_chunk

from .laws import FORMS, check_gradients, hide, potentials_of


@settings(max_examples=20)
@given(seed=st.integers(0, 9999))
def test_approaches_the_number_of_wrong_sequences(seed):
    case = make_case(np.random.default_rng(seed), 3, [1] * 6 + [4] * 3, scale=3.0)
    best, _ = best_labelings(case.potentials())
    wrong = np.logical_or.reduceat(best != case.labels, case.offsets[:-1]).sum()
    assert ClassificationError(1e7)(case.potentials(), Truth(case.labels)).loss == pytest.approx(wrong, abs=0.01)
    soft = ClassificationError(1e7, 1e5)(case.potentials(), Truth(case.labels)).loss
    assert soft == pytest.approx(wrong, abs=0.01)


@settings(max_examples=50)
@given(case=cases(max_labels=3, max_length=4, max_sequences=3), seed=st.integers(0, 99))
def test_the_chain_of_wrong_labelings(case, seed):
    """Each wrong labeling once: the same sum, the same best, the same marginals."""
    rng = np.random.default_rng(seed)
    right = rng.random(case.node.shape) < 0.6
    right[np.arange(len(case.labels)), case.labels] = True
    chain = wrong_chain(case.potentials(), right)
    exists = legal_sequences(chain)
    for i, (every, begin) in enumerate(zip(enumerate_chunk(*case.arrays), case.offsets)):
        places = begin + np.arange(every.shape[0])
        wrong = np.array([not right[places, y].all() for y in every.labelings]) & (every.scores > -np.inf)
        assert exists[i] == wrong.any()
        if not wrong.any():
            continue
        part, _ = chain.take(np.array([i]))
        scores = every.scores[wrong]
        expected = scores.max() + np.log(np.exp(scores - scores.max()).sum())
        assert log_partition(part)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert best_labelings(part)[1][0] == pytest.approx(scores.max(), rel=1e-9, abs=1e-9)
        found, shares = marginals(part), np.exp(scores - expected)
        nodes = [
            [shares[every.labelings[wrong][:, t] == v].sum() for v in range(every.shape[1])] for t in range(len(places))
        ]
        np.testing.assert_allclose(fold_nodes(found.node_probs), nodes, rtol=1e-7, atol=1e-9)
        pairs = fold_edges(found.edges)
        into = pairs.sum(axis=0) if pairs.ndim == 2 else pairs.sum(axis=(1, 2))
        np.testing.assert_allclose(into, np.sum(nodes, axis=0) - nodes[0], rtol=1e-7, atol=1e-9)


def test_a_sequence_that_cannot_be_wrong_adds_nothing():
    potentials = chain_from_scores(np.zeros((3, 1)), np.zeros((1, 1)), [0, 2, 3])
    for softness in (None, 1.0):
        found = ClassificationError(3.0, softness)(potentials, Truth(np.zeros(3, dtype=int)))
        assert found.loss == 0.0
        assert not found.node_gradient.any()


def test_a_sure_sequence_keeps_its_digits():
    """P(truth) = 1 − e^{−60}: a sum over the others by subtraction would be 0, and its logarithm −inf."""
    node = np.array([[60.0, 0.0, -1.0]])
    found = ClassificationError(0.1, 1.0)(chain_from_scores(node, np.zeros((3, 3))), Truth(np.array([0])))
    margin = 60.0 - np.log(1.0 + np.exp(-1.0))
    error = 1.0 / (1.0 + np.exp(0.1 * margin))
    assert found.loss == pytest.approx(error, rel=1e-12)
    share = 1.0 / (1.0 + np.exp(-1.0))
    slope = 0.1 * error * (1.0 - error)
    np.testing.assert_allclose(found.node_gradient[0], slope * np.array([-1.0, share, 1.0 - share]), rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_subtraction_and_the_chain_of_wrong_labelings_agree(rng, monkeypatch, form):
    case = make_case(rng, 3, [4, 1, 6], forbidden=0.2, per_position=form == "position")
    labels, allowed = hide(case, rng, 0.3)
    found = []
    for bound in (0.0, 2.0):
        monkeypatch.setattr("hedgerow.chain.objectives.classification_error._SURE", bound)
        found.append(ClassificationError(0.5, 0.8)(potentials_of(case, form), Truth(labels, allowed=allowed)))
    check_gradients(found[0], (found[1].loss, found[1].node_gradient, found[1].edge_gradient))
