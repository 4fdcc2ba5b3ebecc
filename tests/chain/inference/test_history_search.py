"""Best labelings, the k best, and beams over histories: against all labelings and against the twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain import workspace
from hedgerow.chain.edges import history_rows
from hedgerow.chain.inference import beam_labelings, best_labelings, k_best, log_partition
from hedgerow.chain.structure.histories import Histories
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import histories as reference
from tests.reference.history_cases import cases, chain_from_arcs, make_case, tuples

CLOSE = {"rtol": 1e-10, "atol": 1e-9}


def rows(case):
    return zip(case.sequences(), case.offsets[:-1], case.offsets[1:])


@examples(100)
@given(case=cases(max_labels=3, max_order=3, max_length=4), k=st.integers(1, 6))
def test_the_k_best_of_all(case, k):
    found = k_best(case.potentials(), k)
    log_z = log_partition(case.potentials())
    for best, (one, _, _), z in zip(found, rows(case), log_z):
        labels, scores = reference.k_best(*one, k)
        np.testing.assert_allclose(best.scores, scores, **CLOSE)
        assert len(best.labels) == len(labels)
        assert len({tuple(y) for y in best.labels.tolist()}) == len(labels)
        for y, score in zip(best.labels, best.scores):
            np.testing.assert_allclose(reference.score(*one, y), score, **CLOSE)
        np.testing.assert_allclose(best.probs, np.exp(scores - z), rtol=1e-6, atol=1e-12)


@examples(100)
@given(case=cases())
def test_the_best_one(case):
    labels, scores = best_labelings(case.potentials())
    for (one, begin, end), score in zip(rows(case), scores):
        np.testing.assert_allclose(reference.score(*one, labels[begin:end]), score, **CLOSE)
        best = reference.beam(*one, 10**6, set(tuples(case.histories)))
        np.testing.assert_allclose(best[1], score, **CLOSE)


def test_of_equal_labelings_the_seen_then_the_lowest_label():
    histories = Histories.observed(np.array([2, 1]), np.array([0, 2]), 3, 1)
    labels, scores = best_labelings(chain_from_arcs(np.zeros((4, 3)), np.zeros(histories.n_arcs), histories))
    assert labels.tolist() == [2, 1, 0, 0]
    assert scores.tolist() == [0.0]


@examples(40)
@given(case=cases(max_length=9), cells=st.integers(1, 200))
def test_blocks_change_nothing(case, cells):
    searches = best_labelings, lambda potentials: beam_labelings(potentials, 10**4)
    whole, found = k_best(case.potentials(), 2), [search(case.potentials()) for search in searches]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_rows, "MAX_CELLS", cells)
        patch.setattr(workspace, "CELLS_PER_CALL", 1)
        cut, found_cut = k_best(case.potentials(), 2), [search(case.potentials()) for search in searches]
    for one, other in zip(whole, cut):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.scores, other.scores)
    for one, other in zip(found, found_cut):  # all sequences of a chunk in a call, and each by itself
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 5, 20])
def test_a_beam_equals_that_of_the_twin(rng, order, width):
    for _ in range(10):
        case = make_case(rng, 4, order, [7, 1, 4], scale=2.0, n_seen=5)
        labels, scores = beam_labelings(case.potentials(), width)
        histories = set(tuples(case.histories))
        for (one, begin, end), score in zip(rows(case), scores):
            expected, expected_score = reference.beam(*one, width, histories)
            assert labels[begin:end].tolist() == list(expected)
            np.testing.assert_allclose(score, expected_score, **CLOSE)


@examples(80)
@given(case=cases())
def test_a_beam_that_keeps_all_is_exact(case):
    potentials = case.potentials()
    labels, scores = beam_labelings(potentials, 10**4)
    np.testing.assert_allclose(scores, best_labelings(potentials)[1], **CLOSE)
    for (one, begin, end), score in zip(rows(case), scores):
        np.testing.assert_allclose(reference.score(*one, labels[begin:end]), score, **CLOSE)


class TestErrors:
    histories = Histories.observed(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 3, 6]), 2, 1, unseen="forbidden")

    def potentials(self, node):
        return chain_from_arcs(node, np.zeros(self.histories.n_arcs), self.histories)

    def test_illegal(self):
        node = np.zeros((3, 2))
        node[0, 1] = node[2, 0] = -np.inf
        searches = (best_labelings, lambda p: k_best(p, 2), lambda p: beam_labelings(p, 5))
        for search in searches:
            with pytest.raises(InputError, match="no legal labeling") as caught:
                search(self.potentials(node))
            assert (caught.value.sequence, caught.value.position) == (0, 2)

    def test_a_beam_that_loses_every_legal_way(self):
        node = np.zeros((3, 2))
        node[0, 0], node[2, 0] = 1.0, -np.inf
        assert best_labelings(self.potentials(node))[0].tolist() == [1, 1, 1]
        with pytest.raises(InputError, match="dead end") as caught:
            beam_labelings(self.potentials(node), 1)
        assert (caught.value.sequence, caught.value.position) == (0, 2)

    def test_numbers(self):
        with pytest.raises(InputError, match="k=0"):
            k_best(self.potentials(np.zeros((2, 2))), 0)
        with pytest.raises(InputError, match="width 0"):
            beam_labelings(self.potentials(np.zeros((2, 2))), 0)
