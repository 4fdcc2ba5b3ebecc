"""Beam search over labels: against the twin, and exact where the beam is wide."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import beam_labelings, best_labelings
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference.beam import beam


def chains(rng, K, per_position):
    lengths = rng.integers(1, 6, size=3)
    n = int(lengths.sum())
    node = rng.normal(size=(n, K))
    edges = rng.normal(size=(K, n, K) if per_position else (K, K))
    return node, edges, np.concatenate([[0], np.cumsum(lengths)])


@examples(60)
@given(seed=st.integers(0, 10**6), K=st.integers(1, 5), width=st.integers(1, 6), per_position=st.booleans())
def test_equal_to_the_twin(seed, K, width, per_position):
    node, edges, offsets = chains(np.random.default_rng(seed), K, per_position)
    potentials = chain_from_scores(node, edges, offsets)
    labels, scores = beam_labelings(potentials, width)
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        own = np.moveaxis(edges[:, a:b], 0, 2) if per_position else np.broadcast_to(edges, (b - a, K, K))
        expected, score = beam(node[a:b], own, width)
        assert labels[a:b].tolist() == expected
        assert scores[i] == pytest.approx(score, rel=1e-12)


@examples(40)
@given(seed=st.integers(0, 10**6), per_position=st.booleans())
def test_a_beam_of_all_labels_is_exact(seed, per_position):
    node, edges, offsets = chains(np.random.default_rng(seed), 4, per_position)
    potentials = chain_from_scores(node, edges, offsets)
    labels, scores = beam_labelings(potentials, 4)
    best, of_best = best_labelings(potentials)
    np.testing.assert_array_equal(labels, best)
    np.testing.assert_allclose(scores, of_best, rtol=1e-12)


def test_a_narrow_beam_loses_the_best_labeling():
    node = np.array([[1.0, 0.0], [0.0, 0.0]])
    edges = np.array([[0.0, 0.0], [5.0, 0.0]])
    potentials = chain_from_scores(node, edges)
    assert beam_labelings(potentials, 1)[0].tolist() == [0, 0]
    assert beam_labelings(potentials, 2)[0].tolist() == [1, 0]


def test_dead_ends():
    edges = np.array([[-np.inf, -np.inf], [0.0, 0.0]])  # nothing follows label 0, which the beam prefers
    potentials = chain_from_scores(np.array([[1.0, 0.0], [0.0, 0.0]]), edges)
    with pytest.raises(InputError, match=r"dead end.*wider") as caught:
        beam_labelings(potentials, 1)
    assert (caught.value.sequence, caught.value.position) == (0, 1)
    never = chain_from_scores(np.array([[1.0, -np.inf], [0.0, 0.0]]), edges)
    with pytest.raises(InputError, match="no legal labeling"):
        beam_labelings(never, 2)
    with pytest.raises(InputError, match="width 0"):
        beam_labelings(potentials, 0)
