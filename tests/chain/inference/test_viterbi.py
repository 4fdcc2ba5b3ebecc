from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import best_labelings, log_probability
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases


@examples(80)
@given(case=cases())
def test_equal_to_the_twin(case):
    labels, scores = best_labelings(case.potentials())
    expected, expected_scores = reference.viterbi(*case.arrays)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-12)
    assert labels.dtype == np.int32
    assert (log_probability(case.potentials(), labels) > -np.inf).all()


def test_ties_go_to_the_lowest_label():
    labels, _ = best_labelings(chain_from_scores(np.zeros((4, 3)), np.zeros((3, 3))))
    assert labels.tolist() == [0, 0, 0, 0]


def test_an_illegal_sequence_is_named():
    node = np.zeros((5, 2))
    node[4] = -np.inf
    with pytest.raises(InputError, match="no legal labeling") as caught:
        best_labelings(chain_from_scores(node, np.zeros((2, 2)), [0, 2, 5]))
    assert (caught.value.sequence, caught.value.position) == (1, 2)
