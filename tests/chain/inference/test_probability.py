from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import entropy, log_probability, span_log_probability
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases, make_case
from tests.reference.enumeration import enumerate_chunk


@examples(60)
@given(case=cases())
def test_probability_of_a_labeling(case):
    expected = reference.score(*case.arrays, case.labels) - reference.log_partition(*case.arrays)
    np.testing.assert_allclose(log_probability(case.potentials(), case.labels), expected, rtol=1e-9, atol=1e-9)


def test_a_labeling_that_is_not_legal_has_none():
    stay = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    potentials = chain_from_scores(np.zeros((5, 2)), stay, [0, 2, 5])
    log_probs = log_probability(potentials, np.array([0, 1, 1, 1, 1]))
    np.testing.assert_allclose(log_probs, [-np.inf, np.log(0.5)], rtol=1e-12)


@examples(60)
@given(case=cases(max_labels=3, max_length=4, max_sequences=3), data=st.data())
def test_probability_of_a_span(case, data):
    every = enumerate_chunk(*case.arrays)
    i = data.draw(st.integers(0, len(every) - 1))
    T, K = every[i].shape
    begin = data.draw(st.integers(0, T - 1))
    labels = data.draw(st.lists(st.integers(0, K - 1), min_size=1, max_size=T - begin))
    found = span_log_probability(case.potentials(), i, begin, labels)
    np.testing.assert_allclose(np.exp(found), every[i].span_prob(begin, labels), rtol=1e-8, atol=1e-10)


@examples(60)
@given(case=cases(max_labels=3, max_length=4))
def test_entropy(case):
    expected = [every.entropy() for every in enumerate_chunk(*case.arrays)]
    np.testing.assert_allclose(entropy(case.potentials()), expected, rtol=1e-8, atol=1e-9)


def test_entropy_of_equal_labelings_counts_them():
    potentials = chain_from_scores(np.full((6, 4), 1e6), np.zeros((4, 4)), [0, 1, 6])
    np.testing.assert_allclose(entropy(potentials), np.log(4.0) * np.array([1, 5]), rtol=1e-8)


def test_places_of_wrong_input(rng):
    potentials = make_case(rng, 3, [2, 3]).potentials()
    with pytest.raises(InputError, match="label 3") as caught:
        log_probability(potentials, np.array([0, 0, 0, 3, 0]))
    assert (caught.value.sequence, caught.value.position) == (1, 1)
    with pytest.raises(InputError, match="as many labels"):
        log_probability(potentials, np.array([0, 0]))
    with pytest.raises(InputError, match="not inside 3 positions"):
        span_log_probability(potentials, 1, 2, [0, 0])
