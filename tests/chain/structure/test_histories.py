"""Histories against a plain count of what occurs, by hand, and by their laws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.structure.histories import NOTHING, START, Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import InputError
from reproduction.datasets import load_nettalk
from tests.reference import histories as reference
from tests.reference.history_cases import arc_numbers, tuples


@st.composite
def corpora(draw, max_labels=4):
    """labels, offsets, n_labels: some labels unknown, some sequences empty."""
    n_labels = draw(st.integers(1, max_labels))
    words = draw(st.lists(st.lists(st.integers(-1, n_labels - 1), max_size=7), max_size=6))
    labels = np.array([v for word in words for v in word], dtype=int)
    return labels, np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(int), n_labels


def expected_arcs(labels, offsets, n_labels, order, min_count=1):
    seen = reference.seen_arcs(labels, offsets, order)
    kept = {arc for arc, count in seen.items() if count >= min_count}
    return kept | {((), v) for v in range(n_labels)}


@settings(max_examples=150)
@given(corpus=corpora(), order=st.integers(0, 5), min_count=st.integers(1, 3))
def test_arcs_are_those_that_occur(corpus, order, min_count):
    histories = Histories.observed(*corpus, order, min_count=min_count)
    expected = expected_arcs(*corpus, order, min_count)
    assert set(arc_numbers(histories)) == expected
    states = {history for history, _ in expected}
    if order:
        states |= {(START,)} | {(v,) for v in range(corpus[2])}
    assert set(tuples(histories)) == states
    assert len(tuples(histories)) == len(states)
    assert histories.legal.all()


def check_links(histories):
    """Back-offs, next states, children and the order of states and arcs."""
    names = tuples(histories)
    numbers, arcs = {name: s for s, name in enumerate(names)}, arc_numbers(histories)
    longest = max(len(name) for name in names)
    for s, name in enumerate(names):
        assert histories.back_off[s] == (numbers[name[1:]] if name else -1)
        children = range(histories.children[s], histories.children[s + 1])
        assert [c for c in range(len(names)) if histories.back_off[c] == s] == list(children)
        own = range(histories.arc_ptr[s], histories.arc_ptr[s + 1])
        assert (histories.arc_state[own.start : own.stop] == s).all()
        assert (np.diff(histories.arc_label[own.start : own.stop]) > 0).all()
    for (name, label), a in arcs.items():
        assert histories.arc_back_off[a] == (arcs[name[1:], label] if name else -1)
        ahead = (*name, label)
        suffixes = [ahead[len(ahead) - length :] for length in range(min(longest, len(ahead)), -1, -1)]
        assert names[histories.arc_next[a]] == next(suffix for suffix in suffixes if suffix in numbers)
    assert names[histories.start] == ((START,) if longest else ())


@settings(max_examples=100)
@given(corpus=corpora(), order=st.integers(0, 4), min_count=st.integers(1, 2), seed=st.integers(0, 99))
def test_links(corpus, order, min_count, seed):
    check_links(Histories.observed(*corpus, order, min_count=min_count))
    K = corpus[2]
    arcs = np.random.default_rng(seed).random((K, K)) < 0.6
    space = StateSpace(np.ones(K, dtype=bool), arcs, np.ones(K, dtype=bool))
    check_links(Histories.observed(*corpus, order, min_count=min_count, space=space))


def test_by_hand():
    histories = Histories.observed(np.array([0, 1, 0]), np.array([0, 3]), 2, 2)
    symbols = {NOTHING: "", START: "⊥", 0: "a", 1: "b"}
    names = [" ".join(filter(None, map(symbols.get, row))) or "·" for row in histories.labels.tolist()]
    assert names == ["·", "⊥", "a", "b", "⊥ a", "a b"]
    arcs = [
        (names[s], "ab"[v], names[n])
        for s, v, n in zip(*(histories.arc_state, histories.arc_label, histories.arc_next))
    ]
    assert arcs == [
        ("·", "a", "a"),
        ("·", "b", "b"),
        ("⊥", "a", "⊥ a"),
        ("a", "b", "a b"),
        ("b", "a", "a"),
        ("⊥ a", "b", "a b"),
        ("a b", "a", "a"),
    ]  # fmt: skip


def test_an_unknown_label_hides_what_reaches_over_it():
    known = Histories.observed(np.array([0, 1, -1, 0, 1]), np.array([0, 5]), 2, 3)
    assert set(arc_numbers(known)) == {
        ((), 0), ((), 1), ((START,), 0), ((START, 0), 1), ((0,), 1),
    }  # fmt: skip


@settings(max_examples=100)
@given(corpus=corpora(), order=st.integers(1, 4), seed=st.integers(0, 99))
def test_forbidden_transitions_are_forbidden_after_every_history(corpus, order, seed):
    K = corpus[2]
    transitions = np.random.default_rng(seed).random((K, K)) < 0.6
    space = StateSpace(np.ones(K, dtype=bool), transitions, np.ones(K, dtype=bool))
    histories = Histories.observed(*corpus, order, space=space)
    arcs = arc_numbers(histories)
    for u in range(K):
        for past in [(u,), *(name for name in tuples(histories) if name[-1:] == (u,))]:
            for v in range(K):
                arc = reference.used_arc(arcs, past, v)
                assert histories.legal[arc] == transitions[u, v]
    allowed = {
        (name, v) for name, v in expected_arcs(*corpus, order) if not name or name[-1] < 0 or transitions[name[-1], v]
    }
    assert {arc for arc, a in arcs.items() if histories.legal[a]} == allowed


def test_order_zero_can_forbid_transitions():
    space = StateSpace.full(2).forbid([(0, 0)])
    histories = Histories.observed(np.array([0, 1, 0]), np.array([0, 3]), 2, 0, space=space)
    legal = {arc for arc, a in arc_numbers(histories).items() if histories.legal[a]}
    assert legal == {((), 0), ((), 1)}
    assert set(arc_numbers(histories)) - legal == {((0,), 0)}
    assert Histories.observed(np.array([0]), np.array([0, 1]), 2, 0).n_states == 1


@settings(max_examples=100)
@given(corpus=corpora(), order=st.integers(0, 4))
def test_without_back_off_there_are_only_full_histories(corpus, order):
    labels, offsets, K = corpus
    histories = Histories.observed(labels, offsets, K, order, unseen="forbidden")
    seen = reference.seen_arcs(labels, offsets, order)
    full = {arc for arc in seen if len(arc[0]) == order or arc[0][:1] == (START,)}
    assert set(arc_numbers(histories)) == full
    names = tuples(histories)
    assert len(set(names)) == len(names)
    for (name, label), a in arc_numbers(histories).items():
        ahead = (*name, label)
        assert names[histories.arc_next[a]] == ahead[max(0, len(ahead) - order) :]
    assert names[histories.start] == ((START,) if order else ())
    assert (histories.back_off == -1).all()
    assert (histories.arc_back_off == -1).all()
    assert (np.diff(histories.children) == 0).all()


def test_without_back_off_forbidden_transitions_have_no_arc():
    space = StateSpace.full(2).forbid([(0, 1)])
    histories = Histories.observed(np.array([0, 1, 1]), np.array([0, 3]), 2, 1, unseen="forbidden", space=space)
    assert set(arc_numbers(histories)) == {((START,), 0), ((1,), 1)}


@settings(max_examples=50)
@given(corpus=corpora(), order=st.integers(0, 4), seed=st.integers(0, 99))
def test_weights_that_add_up_along_the_back_off(corpus, order, seed):
    histories = Histories.observed(*corpus, order)
    rng = np.random.default_rng(seed)
    weights, gradient = rng.normal(size=(2, histories.n_arcs))
    scores = histories.add_back_off(weights)
    arcs = arc_numbers(histories)
    for (name, label), a in arcs.items():
        every = [arcs[name[cut:], label] for cut in range(len(name) + 1)]
        assert scores[a] == pytest.approx(weights[every].sum())
    np.testing.assert_allclose(histories.pull_back_off(gradient) @ weights, gradient @ scores, rtol=1e-9, atol=1e-9)


def test_arrays_are_frozen():
    histories = Histories.observed(np.array([0, 1]), np.array([0, 2]), 2, 1)
    with pytest.raises(ValueError, match="read-only"):
        histories.arc_label[0] = 1


NAMES = ("n_labels", "order", "start", "labels", "back_off", "arc_state", "arc_label", "arc_next", "legal")


@settings(max_examples=30)
@given(corpus=corpora(), order=st.integers(0, 3), unseen=st.sampled_from(["back_off", "forbidden"]))
def test_made_again_from_what_a_file_keeps(corpus, order, unseen):
    histories = Histories.observed(*corpus, order, unseen=unseen)
    again = Histories.linked(**{name: getattr(histories, name) for name in NAMES})
    for field in dataclasses.fields(histories):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(histories, field.name))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("arc_next", 2, 99),
        ("arc_next", 2, -1),
        ("arc_label", 3, 2),
        ("arc_state", 0, 5),
        ("back_off", 2, 2),
        ("back_off", 4, 1),
        ("back_off", 1, -2),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, place, value):
    histories = Histories.observed(np.array([0, 1, 0]), np.array([0, 3]), 2, 2)
    arrays = {name: getattr(histories, name) for name in NAMES}
    arrays[name] = arrays[name].copy()
    arrays[name][place] = value
    with pytest.raises(InputError, match="the histories"):
        Histories.linked(**arrays)
    with pytest.raises(InputError, match="do not fit together"):
        Histories.linked(**{**arrays, name: getattr(histories, name), "start": 6})
    with pytest.raises(InputError, match="do not fit together"):
        Histories.linked(**{**arrays, name: getattr(histories, name), "legal": histories.legal[1:]})


class TestErrors:
    def observed(self, labels=(0, 1), order=1, **options):
        return Histories.observed(np.array(labels), np.array([0, 2]), 2, order, **options)

    def test_order(self):
        with pytest.raises(InputError, match="order is -1"):
            self.observed(order=-1)

    def test_labels(self):
        with pytest.raises(InputError, match="label 2"):
            self.observed([0, 2])
        with pytest.raises(InputError, match="offsets"):
            self.observed([0, 1, 1])

    def test_space_of_another_size(self):
        with pytest.raises(InputError, match="3 labels"):
            self.observed(space=StateSpace.full(3))

    def test_unseen(self):
        with pytest.raises(InputError, match="unseen is 'forbid'"):
            self.observed(unseen="forbid")
        with pytest.raises(InputError, match="min_count=2"):
            self.observed(unseen="forbidden", min_count=2)


@pytest.mark.data
def test_nettalk_has_as_many_histories_as_a_plain_count(data_folder):
    _, words = load_nettalk(data_folder / "nettalk", label="both")
    words = [word for word in words if None not in word]
    words = [words[i] for i in np.random.default_rng(0).permutation(len(words))[:1000]]
    codes = {name: code for code, name in enumerate(sorted({label for word in words for label in word}))}
    labels = np.array([codes[label] for word in words for label in word])
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])])
    histories = Histories.observed(labels, offsets, len(codes), 3)
    padded = [["", "", "", *word] for word in words]
    arcs = {tuple(word[t - 3 : t + 1]) for word in padded for t in range(3, len(word))}
    full = np.isin(
        np.arange(histories.n_states), [s for s, n in enumerate(tuples(histories)) if len(n) == 3 or -1 in n]
    )
    assert full.sum() == len({arc[:3] for arc in arcs}) == 3397
    assert full[histories.arc_state].sum() == len(arcs) == 4933
