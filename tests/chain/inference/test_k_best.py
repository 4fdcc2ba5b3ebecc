from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import best_labelings, k_best
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases
from tests.reference.enumeration import enumerate_chunk


@examples(80)
@given(case=cases(max_labels=4, max_length=5, max_sequences=2), k=st.integers(1, 9))
def test_equal_to_the_twin(case, k):
    found = k_best(case.potentials(), k)
    for mine, (labels, scores), every in zip(found, reference.k_best(*case.arrays, k), enumerate_chunk(*case.arrays)):
        np.testing.assert_allclose(mine.scores, scores, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(mine.probs, np.exp(scores - every.log_partition), rtol=1e-9, atol=1e-12)
        assert mine.labels.shape == labels.shape
        assert len({tuple(y) for y in mine.labels}) == len(labels)  # no labeling twice
        for y, score in zip(mine.labels, mine.scores):
            row = np.flatnonzero((every.labelings == y).all(axis=1))[0]
            np.testing.assert_allclose(score, every.scores[row], rtol=1e-11, atol=1e-11)


@examples(30)
@given(case=cases())
def test_the_first_is_viterbis(case):
    _, scores = best_labelings(case.potentials())
    np.testing.assert_allclose([found.scores[0] for found in k_best(case.potentials(), 3)], scores, rtol=1e-12)


def test_all_labelings_have_probability_one_together():
    (found,) = k_best(chain_from_scores(np.eye(3), np.zeros((3, 3))), 1000)
    assert len(found.labels) == 27
    np.testing.assert_allclose(found.probs.sum(), 1.0, rtol=1e-12)


def test_fewer_legal_labelings_than_asked_for():
    stay = np.where(np.eye(3, dtype=bool), 0.0, -np.inf)
    (found,) = k_best(chain_from_scores(np.zeros((4, 3)), stay), 10)
    assert found.labels.tolist() == [[0] * 4, [1] * 4, [2] * 4]
    np.testing.assert_allclose(found.probs, 1 / 3, rtol=1e-12)


def test_none_is_an_error():
    with pytest.raises(InputError, match="k=0"):
        k_best(chain_from_scores(np.zeros((2, 2)), np.zeros((2, 2))), 0)
