"""The likelihood of chains of histories: by enumeration, by differences, with partial labels and weights."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import HistoryEdges
from hedgerow.chain.inference import Workspace, position_scores
from hedgerow.chain.objectives import log_likelihood
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.structure.histories import Histories
from hedgerow.errors import InputError
from reproduction.datasets import load_nettalk
from tests.examples import examples
from tests.reference import histories as reference
from tests.reference.history_cases import cases, chain_from_arcs, make_case
from tests.reference.test_histories import Enumeration

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too long as plain Python")


def permitted(labels, allowed, n_labels):
    """bool (n, K): what the true label may be."""
    known = np.arange(n_labels) == labels[:, None]
    free = np.ones_like(known) if allowed is None else allowed
    return np.where((labels < 0)[:, None], free, known)


def expected_loss(case, labels, allowed, weights):
    may_be = permitted(labels, allowed, case.node.shape[1])
    losses = []
    for one, begin in zip(case.sequences(), case.offsets):
        every = Enumeration(*one)
        spots = begin + np.arange(len(one[0]))
        fits = np.array([may_be[spots, y].all() for y in every.labelings])
        losses.append(-np.log(every.probs[fits].sum()))
    return float(np.dot(losses, weights))


def hide(case, rng, share):
    """Labels with some unknown, and sets that hold the truth."""
    labels = np.where(rng.random(len(case.labels)) < share, -1, case.labels)
    allowed = rng.random(case.node.shape) < 0.6
    allowed[np.arange(len(labels)), case.labels] = True
    return labels, allowed


@examples(80)
@given(
    case=cases(max_labels=3, max_order=3, max_length=4, max_sequences=2),
    seed=st.integers(0, 999),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    sets=st.booleans(),
)
def test_loss_equals_enumeration(case, seed, share, sets):
    rng = np.random.default_rng(seed)
    labels, allowed = hide(case, rng, share)
    weights = rng.random(len(case.offsets) - 1)
    with np.errstate(divide="ignore"):
        expected = expected_loss(case, labels, allowed if sets else None, weights)
    if np.isfinite(expected):  # at a scale of 1000 the table's probabilities are 0
        found = log_likelihood(case.potentials(), Truth(labels, allowed=allowed if sets else None, weights=weights))
        np.testing.assert_allclose(found.loss, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_gradient_equals_differences(rng, order, share, forbidden):
    case = make_case(rng, 3, order, [4, 1, 3], forbidden=forbidden, n_seen=2)
    labels, allowed = hide(case, rng, share)
    weights = np.array([1.0, 0.5, 2.0])

    def loss(node, arcs):
        potentials = chain_from_arcs(node, arcs, case.histories, case.offsets)
        return log_likelihood(potentials, Truth(labels, allowed=allowed, weights=weights))

    at = loss(case.node, case.arc_scores)
    step = 1e-5
    for which, gradient in ((0, at.node_gradient), (1, at.edge_gradient)):
        for cell in np.ndindex(gradient.shape):
            moved = []
            for sign in (1.0, -1.0):
                arrays = [case.node.copy(), case.arc_scores.copy()]
                arrays[which][cell] += sign * step
                moved.append(loss(*arrays).loss)
            np.testing.assert_allclose(gradient[cell], (moved[0] - moved[1]) / (2 * step), rtol=1e-5, atol=1e-7)


@examples(60)
@given(case=cases())
def test_scores_of_a_labeling(case):
    scores = position_scores(case.potentials(), case.labels)
    for one, begin, end in zip(case.sequences(), case.offsets, case.offsets[1:]):
        expected = reference.score(*one, case.labels[begin:end])
        np.testing.assert_allclose(scores[begin:end].sum(), expected, rtol=1e-12, atol=1e-12)


@examples(30)
@given(case=cases())
def test_unlabelled_sequences_have_no_loss(case):
    found = log_likelihood(case.potentials(), Truth(np.full(len(case.node), -1)))
    assert found.loss == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(found.node_gradient, 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.edge_gradient, 0.0, rtol=0, atol=1e-9)


def test_a_set_of_one_is_a_label(rng):
    case = make_case(rng, 4, 2, [5, 3])
    allowed = np.arange(4) == case.labels[:, None]
    sets = log_likelihood(case.potentials(), Truth(np.full(8, -1), allowed=allowed))
    labels = log_likelihood(case.potentials(), Truth(case.labels))
    assert sets.loss == pytest.approx(labels.loss, rel=1e-12)
    np.testing.assert_allclose(sets.node_gradient, labels.node_gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sets.edge_gradient, labels.edge_gradient, rtol=1e-9, atol=1e-12)


def test_a_workspace_changes_nothing(rng):
    case = make_case(rng, 3, 2, [4, 2])
    labels, _ = hide(case, rng, 0.4)
    kept = log_likelihood(case.potentials(), Truth(labels), workspace=Workspace())
    fresh = log_likelihood(case.potentials(), Truth(labels))
    assert kept.loss == fresh.loss
    np.testing.assert_array_equal(kept.node_gradient, fresh.node_gradient)


class TestErrors:
    histories = Histories.observed(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 3, 6]), 2, 1, unseen="forbidden")

    def potentials(self, node=None):
        edges = HistoryEdges.from_scores(self.histories, np.zeros(self.histories.n_arcs))
        nodes = np.zeros((5, 2)) if node is None else node
        return ChainPotentials(nodes, np.array([0, 2, 5]), edges, sequence_base=7)

    def test_truth_that_no_history_has_seen(self):
        with pytest.raises(InputError, match="true label 0 does not follow") as caught:
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, 1, 0])))
        assert (caught.value.sequence, caught.value.position) == (8, 2)
        assert self.potentials().edges.arcs_of(self.potentials(), np.array([0, 0, 1, 0, 0])).tolist()[3:] == [-1, -1]

    def test_truth_that_is_not_allowed(self):
        node = np.zeros((5, 2))
        node[1, 0] = -np.inf
        with pytest.raises(InputError, match="true label 0 is not allowed") as caught:
            log_likelihood(self.potentials(node), Truth(np.array([1, 0, 1, 1, 1])))
        assert (caught.value.sequence, caught.value.position) == (7, 1)

    def test_partial_truth_that_no_labeling_fits(self):
        with pytest.raises(InputError, match="no legal labeling") as caught:
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, -1, 0])))
        assert (caught.value.sequence, caught.value.position) == (8, 2)

    def test_a_label_that_does_not_exist(self):
        with pytest.raises(InputError, match="label 2") as caught:
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, 2, 1])))
        assert (caught.value.sequence, caught.value.position) == (8, 1)

    def test_too_few_labels_or_weights(self):
        with pytest.raises(InputError, match="as many labels"):
            log_likelihood(self.potentials(), Truth(np.array([0])))
        with pytest.raises(InputError, match="as many weights"):
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, 1, 1]), weights=np.ones(3)))


@compiled
@pytest.mark.parametrize("additive", [False, True])
def test_order_two_learns_what_order_one_cannot(rng, additive):
    """A label is the exclusive or of the two before it, nineteen times in twenty: after one label, nothing is known."""
    from scipy.optimize import minimize

    n, length = 800, 20
    labels, offsets = rng.integers(2, size=n), np.arange(0, n + 1, length)
    for t in range(n):
        if t % length >= 2 and rng.random() < 0.9:
            labels[t] = labels[t - 1] ^ labels[t - 2]
    losses = []
    for order in (1, 2, 3):
        histories = Histories.observed(labels, offsets, 2, order)

        def loss(weights, h=histories):
            scores = h.add_back_off(weights) if additive else weights
            found = log_likelihood(chain_from_arcs(np.zeros((n, 2)), scores, h, offsets), Truth(labels))
            gradient = h.pull_back_off(found.edge_gradient) if additive else found.edge_gradient
            return found.loss + 0.01 * weights @ weights, gradient + 0.02 * weights

        start = np.zeros(histories.n_arcs)
        losses.append(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 25}).fun / n)
    inner = np.flatnonzero(np.arange(n) % length >= 2)
    share = (labels[inner] == labels[inner - 1] ^ labels[inner - 2]).mean()
    coin, rule = np.log(2.0), -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert losses[0] > 0.9 * coin
    assert losses[1] == pytest.approx(0.1 * coin + 0.9 * rule, rel=0.1)
    assert losses[2] == pytest.approx(losses[1], rel=0.1)


@compiled
@pytest.mark.data
def test_words_that_seen_arcs_alone_would_forbid(data_folder):
    """With 1,000 training words, histories of full length alone make most other words impossible; backing off none."""
    _, words = load_nettalk(data_folder / "nettalk", label="both")
    words = [word for word in words if None not in word]
    order = np.random.default_rng(0).permutation(len(words))
    codes = {name: code for code, name in enumerate(sorted({v for i in order[:1000] for v in words[i]}))}
    train = [[codes[v] for v in words[i]] for i in order[:1000]]
    other = [[codes[v] for v in words[i]] for i in order[1000:1500] if set(words[i]) <= codes.keys()]

    def flat(words):
        return np.concatenate(words), np.concatenate([[0], np.cumsum([len(word) for word in words])])

    labels, offsets = flat(other)
    impossible = {"back_off": [], "forbidden": []}
    for n in (1, 2, 3):
        for unseen, shares in impossible.items():
            histories = Histories.observed(*flat(train), len(codes), n, unseen=unseen)
            node = np.zeros((len(labels), len(codes)))
            potentials = chain_from_arcs(node, np.zeros(histories.n_arcs), histories, offsets)
            shares.append(np.logical_or.reduceat(potentials.edges.arcs_of(potentials, labels) < 0, offsets[:-1]).mean())
    assert impossible["back_off"] == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(impossible["forbidden"], [0.38, 0.89, 0.98], rtol=0, atol=0.04)
