from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from hedgerow.chain.decoding import DECODERS, find_decoder
from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import Workspace
from hedgerow.errors import InputError
from tests.reference import chain as reference
from tests.reference.cases import cases


@settings(max_examples=40)
@given(case=cases())
def test_viterbi(case):
    labels = find_decoder("viterbi")(case.potentials(), None)
    np.testing.assert_array_equal(labels, reference.viterbi(*case.arrays)[0])


@settings(max_examples=40)
@given(case=cases())
def test_posterior(case):
    labels = find_decoder("posterior")(case.potentials(), Workspace())
    probs = reference.node_probs(*case.arrays)
    chosen = probs[np.arange(len(labels)), labels]
    np.testing.assert_allclose(chosen, probs.max(axis=1), rtol=1e-8)
    assert labels.dtype == np.int32


def test_they_differ_where_the_best_labeling_is_not_the_safest():
    """0 then 0 is the best labeling; but after label 1 two ways are open, and they weigh more together."""
    node = np.array([[0.0, 0.0], [0.0, 0.0]])
    edges = np.array([[1.0, -9.0], [0.5, 0.5]])
    potentials = chain_from_scores(node, edges)
    assert find_decoder("viterbi")(potentials, None).tolist() == [0, 0]
    assert find_decoder("posterior")(potentials, None)[0] == 1


@pytest.mark.parametrize("name", sorted(DECODERS))
@settings(max_examples=20)
@given(case=cases())
def test_a_sequence_alone_gets_the_same_labels(name, case):
    together = find_decoder(name)(case.potentials(), None)
    alone = [find_decoder(name)(case.potentials().sequence(i), None) for i in range(len(case.offsets) - 1)]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=r"decoder is 'best'. Choose one of 'viterbi', 'posterior', 'beam'"):
        find_decoder("best")
