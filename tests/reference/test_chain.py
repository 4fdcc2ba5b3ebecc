"""The twin against enumeration, and one-line faults put into the twin: the same comparison must find each."""

from __future__ import annotations

import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.reference import chain

from .cases import cases, make_case
from .enumeration import enumerate_chunk


def compare_with_enumeration(twin, case):
    """Assert that every quantity of a twin module agrees with the table of all labelings."""
    every = enumerate_chunk(*case.arrays)
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(twin.log_partition(*case.arrays), [e.log_partition for e in every], **close)
    nodes = np.concatenate([e.node_probs() for e in every])
    np.testing.assert_allclose(twin.node_probs(*case.arrays), nodes, **close)
    pairs = np.concatenate([e.edge_probs() for e in every], axis=1)
    np.testing.assert_allclose(twin.edge_probs(*case.arrays), pairs, **close)
    np.testing.assert_allclose(twin.sum_edges(*case.arrays), pairs.sum(axis=1).T, **close)
    np.testing.assert_allclose(twin.entropy(*case.arrays), [e.entropy() for e in every], **close)
    labels, scores = twin.viterbi(*case.arrays)
    np.testing.assert_allclose(scores, [e.scores.max() for e in every], **close)
    np.testing.assert_allclose(twin.score(*case.arrays, labels), scores, **close)
    for (best, best_scores), e in zip(twin.k_best(*case.arrays, 3), every):
        possible = np.sort(e.scores[e.scores > -np.inf])[::-1][:3]
        np.testing.assert_allclose(best_scores, possible, **close)
        assert len(best) == len(possible)


@settings(max_examples=40)
@given(case=cases(max_labels=3, max_length=4, max_sequences=3))
def test_twin_equals_enumeration(case):
    compare_with_enumeration(chain, case)


@settings(max_examples=40)
@given(case=cases(max_labels=3, max_length=4))
def test_reach_is_a_possible_start_of_a_labeling(case):
    reached = chain.reach(*case.arrays)
    for begin, end in chain.sequences(case.offsets):
        for t in range(begin, end):
            offsets = np.array([0, t + 1 - begin])
            local = case.edges if case.edges.ndim == 2 else case.edges[:, begin:end]
            every = chain.labelings(case.node.shape[1], t + 1 - begin)
            scores = np.array([chain.score(case.node[begin:end], local, offsets, y)[0] for y in every])
            expected = [bool((scores[every[:, -1] == v] > -np.inf).any()) for v in range(case.node.shape[1])]
            assert reached[t].tolist() == expected


@pytest.mark.parametrize("per_position", [False, True])
def test_samples_follow_the_distribution(rng, per_position):
    case = make_case(rng, 2, [3], forbidden=0.2, per_position=per_position)
    (every,) = enumerate_chunk(*case.arrays)
    draws = [tuple(chain.sample(*case.arrays, rng.random(3))) for _ in range(4000)]
    shares = [draws.count(tuple(y)) / len(draws) for y in every.labelings]
    np.testing.assert_allclose(shares, every.probs, rtol=0, atol=0.04)


FAULTS = {
    "shared edges transposed": ("        return edges\n", "        return edges.T\n"),
    "position edges transposed": ("return edges[:, t, :].T", "return edges[:, t, :]"),
    "edges of the position before": ("return edges[:, t, :].T", "return edges[:, t - 1, :].T"),
    "sign of the edges flipped, forward": ("None] + table(edges, t), axis=0)", "None] - table(edges, t), axis=0)"),
    "sign of the node flipped, backward": ("(edges, t) + node[t] + log_beta", "(edges, t) - node[t] + log_beta"),
    "sign of log Z flipped": ("log_beta - log_z[:, None]", "log_beta + log_z[:, None]"),
    "last position dropped, forward": (
        "range(begin + 1, end):\n            log_alpha[t] =",
        "range(begin + 1, end - 1):\n            log_alpha[t] =",
    ),
    "last position dropped, edges": (
        "range(begin + 1, end):\n            ahead",
        "range(begin + 1, end - 1):\n            ahead",
    ),
    "first position dropped, backward": (
        "range(end - 1, begin, -1):\n            log_beta",
        "range(end - 1, begin + 1, -1):\n            log_beta",
    ),
    "offsets off by one": ("yield int(begin), int(end)", "yield int(begin), int(end) - 1"),
    "a sequence begins late": ("yield int(begin), int(end)", "yield int(begin) + 1, int(end)"),
    "maximum over the wrong axis": (".max(axis=0) + node[t]", ".max(axis=1) + node[t]"),
    "best labeling without the last node": (".max(axis=0) + node[t]", ".max(axis=0)"),
    "entropy counts the joint": (" - minus_p_log_p(nodes[t - 1])", ""),
    "k best in rising order": ("np.argsort(-scores", "np.argsort(scores"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_sabotage_is_found(rng, fault):
    right, wrong = FAULTS[fault]
    source = Path(chain.__file__).read_text(encoding="utf-8")
    assert source.count(right) == 1, f"the line of the fault {fault!r} is no longer there once: {right}"
    twin = types.ModuleType("sabotaged")
    exec(compile(source.replace(right, wrong), fault, "exec"), twin.__dict__)
    shapes = [make_case(rng, 3, [4, 2, 3], per_position=form) for form in (False, True)]
    found = []
    for case in shapes:
        compare_with_enumeration(chain, case)
        try:
            with np.errstate(all="ignore"):
                compare_with_enumeration(twin, case)
        except (AssertionError, IndexError, ValueError) as error:
            found.append(error)
    assert found, f"the comparison does not notice: {fault}"
