"""The twin against all K^T labelings, and one-line faults put into the twin: the same comparison must find each."""

from __future__ import annotations

import itertools
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.reference import histories as reference

from .history_cases import cases, make_case, tuples


class Enumeration:
    """Every labeling of one sequence, its score and its arcs, by the definition: a label takes the arc of the longest
    history that has one for it."""

    def __init__(self, node, arc_scores, arcs):
        self.labelings = list(itertools.product(range(node.shape[1]), repeat=len(node)))
        longest = max(len(history) for history, _ in arcs)
        self.scores = np.zeros(len(self.labelings))
        self.used = np.zeros((len(self.labelings), len(arc_scores)))
        for row, labels in enumerate(self.labelings):
            for t, label in enumerate(labels):
                past = (-1, *labels[:t])
                ends = [past[len(past) - length :] for length in range(min(longest, len(past)) + 1)]
                own = [arcs[end, label] for end in ends if (end, label) in arcs]
                self.scores[row] += arc_scores[own[-1]] + node[t, label] if own else -np.inf
                if own:
                    self.used[row, own[-1]] += 1
        top = self.scores.max()
        self.log_partition = top + np.log(np.exp(self.scores - top).sum())
        self.probs = np.exp(self.scores - self.log_partition)

    def node_probs(self, n_labels):
        one_hot = np.array(self.labelings)[:, :, None] == np.arange(n_labels)
        return np.tensordot(self.probs, one_hot, axes=1)

    def arc_sums(self):
        return self.probs @ self.used


def compare_with_enumeration(twin, case):
    """Assert that every quantity of a twin module agrees with the table of all labelings."""
    close = {"rtol": 1e-9, "atol": 1e-9}
    for node, arc_scores, arcs in case.sequences():
        every = Enumeration(node, arc_scores, arcs)
        np.testing.assert_allclose(twin.log_partition(node, arc_scores, arcs), every.log_partition, **close)
        node_probs, arc_sums = twin.marginals(node, arc_scores, arcs)
        np.testing.assert_allclose(node_probs, every.node_probs(node.shape[1]), **close)
        np.testing.assert_allclose(arc_sums, every.arc_sums(), **close)
        beta = twin.backward(node, arc_scores, arcs)
        np.testing.assert_allclose(beta[0][-1,], every.log_partition, **close)
        best, scores = twin.k_best(node, arc_scores, arcs, 3)
        possible = np.sort(every.scores[every.scores > -np.inf])[::-1][:3]
        np.testing.assert_allclose(scores, possible, **close)
        assert len(best) == len(possible)
        labels, score = twin.beam(node, arc_scores, arcs, 10**6, set(tuples(case.histories)))
        np.testing.assert_allclose(score, possible[0], **close)
        np.testing.assert_allclose(twin.score(node, arc_scores, arcs, labels), score, **close)


@settings(max_examples=60)
@given(case=cases(max_labels=3, max_order=3, max_length=4, max_sequences=2))
def test_twin_equals_enumeration(case):
    compare_with_enumeration(reference, case)


FAULTS = {
    "the shortest history": ("range(len(past), -1, -1)", "range(len(past) + 1)"),
    "no back-off to the empty history": ("range(len(past), -1, -1)", "range(len(past), 0, -1)"),
    "a label too little is remembered": ("len(ahead) - longest) :]", "len(ahead) - longest + 1) :]"),
    "sign of the node flipped": ("+ node[t, label])\n        if arc", "- node[t, label])\n        if arc"),
    "sign of log Z flipped": ("beta[t + 1][ahead] - log_z", "beta[t + 1][ahead] + log_z"),
    "first position dropped, backward": ("range(len(node) - 1, -1, -1)", "range(len(node) - 1, 0, -1)"),
    "score of the label before": ("labels[:t])), int(label))", "labels[:t])), int(labels[t - 1]))"),
    "⊥ forgotten": ("alpha: Messages = [{(START,): 0.0}]", "alpha: Messages = [{(): 0.0}]"),
    "k best in rising order": ("np.argsort(-scores", "np.argsort(scores"),
    "the worst of the beam": ("key=lambda item: -item[0]", "key=lambda item: item[0]"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_sabotage_is_found(rng, fault):
    right, wrong = FAULTS[fault]
    source = Path(reference.__file__).read_text(encoding="utf-8")
    assert source.count(right) == 1, f"the line of the fault {fault!r} is no longer there once: {right}"
    twin = types.ModuleType("sabotaged")
    exec(compile(source.replace(right, wrong), fault, "exec"), twin.__dict__)
    case = make_case(rng, 3, 2, [4, 3], n_seen=2)
    compare_with_enumeration(reference, case)
    with np.errstate(all="ignore"), pytest.raises((AssertionError, IndexError, KeyError, ValueError)):
        compare_with_enumeration(twin, case)
