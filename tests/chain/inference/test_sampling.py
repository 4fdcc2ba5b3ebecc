from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import log_probability, sample
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases, make_case
from tests.reference.enumeration import enumerate_chunk


@examples(60)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_equal_to_the_twin(case, seed):
    uniforms = np.random.default_rng(seed).random((3, len(case.node)))
    drawn = sample(case.potentials(), uniforms)
    expected = [reference.sample(*case.arrays, row) for row in uniforms]
    np.testing.assert_array_equal(drawn, expected)
    for labels in drawn:
        assert (log_probability(case.potentials(), labels) > -np.inf).all()


def test_samples_follow_the_distribution(rng):
    case = make_case(rng, 3, [3], forbidden=0.2)
    (every,) = enumerate_chunk(*case.arrays)
    drawn = sample(case.potentials(), rng.random((2000, 3)))
    shares = [(drawn == y).all(axis=1).mean() for y in every.labelings]
    np.testing.assert_allclose(shares, every.probs, rtol=0, atol=0.05)


def test_a_message_that_is_faint():
    node = np.zeros((200, 2))
    node[:100, 0] = 10.0
    node[100:, 1] = 11.0
    apart = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    drawn = sample(chain_from_scores(node, apart), np.full((1, 200), 0.5))
    assert (drawn == 1).all()


def test_uniforms_of_another_shape(rng):
    with pytest.raises(InputError, match="uniforms"):
        sample(make_case(rng, 2, [3]).potentials(), rng.random(3))
