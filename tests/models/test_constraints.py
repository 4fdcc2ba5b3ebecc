"""Constraints: only legal output, and training labels that break them are named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from hedgerow import LinearCRF, TreeCRF, load
from hedgerow.errors import HedgerowWarning, InputError

from .corpora import COLUMNS, rich_corpus


def random_words(n: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[f"w{k}" for k in rng.integers(7, size=rng.integers(1, 12))] for _ in range(n)]


def legal_iob2(labels: list[str]) -> bool:
    return all(
        label[0] != "I" or (t > 0 and labels[t - 1] != "O" and labels[t - 1][2:] == label[2:])
        for t, label in enumerate(labels)
    )


def legal_bioes(labels: list[str]) -> bool:
    inside = None
    for label in labels:
        tag, kind = label[0], label[2:]
        if tag in "IE" and inside != kind:
            return False
        if tag in "BSO" and inside is not None:
            return False
        inside = kind if tag in "BI" else None
    return inside is None


CASES = {
    "iob2": ([["O", "B-X", "I-X", "B-Y", "I-Y", "O"], ["B-Y", "B-X", "I-X", "O"]], legal_iob2),
    "bioes": ([["O", "B-X", "I-X", "E-X", "S-Y", "B-Y", "E-Y"], ["S-X", "O", "B-Y", "I-Y", "E-Y"]], legal_bioes),
}


@pytest.mark.parametrize("scheme", CASES)
@pytest.mark.parametrize("weights", ["trained", "random"])
def test_every_answer_is_legal(scheme, weights, rng):
    y, legal = CASES[scheme]
    X = [[f"w{(3 * t + i) % 7}" for t in range(len(labels))] for i, labels in enumerate(y)]
    model = LinearCRF(constraints=scheme).fit(X, y)
    if weights == "random":
        model.weights_ = rng.normal(size=len(model.weights_)) * 5
    words = random_words(100, seed=1)
    unconstrained = LinearCRF().fit(X, y)
    unconstrained.weights_ = rng.normal(size=len(unconstrained.weights_)) * 5
    assert not all(legal(labels) for labels in unconstrained.predict(words))
    assert all(legal(labels) for labels in model.predict(words))
    assert all(legal(labels) for best in model.predict_k_best(words[:30], 4) for labels, _ in best)
    assert all(legal(labels) for drawn in model.sample(words[:30], 3, random_state=0) for labels in drawn)
    for best in model.predict_k_best([["w1", "w2"]], 1000):
        np.testing.assert_allclose(sum(p for _, p in best), 1.0, rtol=1e-9)


def test_forbidden_pairs_never_stand_together(rng):
    X, y = [["a", "b", "c"]] * 3, [["x", "y", "z"]] * 3
    model = LinearCRF(constraints=[("x", "x"), ["y", "x"], ("z", "z")]).fit(X, y)
    model.weights_ = rng.normal(size=len(model.weights_)) * 3
    moves = {pair for labels in model.predict(random_words(200, seed=2)) for pair in itertools.pairwise(labels)}
    assert moves
    assert not moves & {("x", "x"), ("y", "x"), ("z", "z")}
    table = model.transition_weights_
    assert np.isneginf(table[0, 0])
    assert np.isneginf(table[1, 0])
    assert np.isfinite(table[0, 1])


def test_unseen_transitions_are_impossible():
    X, y = [["a", "b", "a", "b"], ["b", "a"]], [["x", "y", "x", "y"], ["y", "x"]]
    model = LinearCRF(transitions="forbid_unseen").fit(X, y)
    moves = {pair for labels in model.predict([["a"] * 6, ["b"] * 7]) for pair in itertools.pairwise(labels)}
    assert moves == {("x", "y"), ("y", "x")}
    observed = LinearCRF(transitions="observed").fit(X, y)
    assert len(observed.layout_.arc_from) == 2
    assert np.isfinite(observed.transition_weights_).all()
    assert len(LinearCRF().fit(X, y).layout_.arc_from) == 4


@pytest.mark.parametrize(
    ("constraints", "labels", "words"),
    [
        ("iob2", ["O", "I-X", "O"], "sequence 1, position 1: the labels go from 'O' to 'I-X', which the constraints"),
        ("iob2", ["I-X", "O", "O"], "sequence 1, position 0: the label 'I-X' stands first, which the constraints"),
        ("bioes", ["O", "O", "B-X"], "sequence 1, position 2: the label 'B-X' stands last, which the constraints"),
        ([("O", "B-X")], ["O", "O", "B-X"], "sequence 1, position 2: the labels go from 'O' to 'B-X'"),
    ],
)
def test_training_labels_that_break_them_are_named(constraints, labels, words):
    first = ["B-X", "E-X", "O"] if constraints == "bioes" else ["B-X", "O", "O"]
    with pytest.raises(InputError, match=words) as caught:
        LinearCRF(constraints=constraints).fit([["a"] * 3] * 2, [first, labels])
    assert caught.value.sequence == 1


def test_unknown_labels_are_filled_legally():
    """An unlabelled position between two labels trains as any legal filling does."""
    X, y = [["a", "b", "c"]] * 2, [["B-X", None, "I-X"], ["B-X", "I-X", "O"]]
    model = LinearCRF(constraints="iob2").fit(X, y)
    assert model.predict(X[:1], known=[["B-X", None, "I-X"]])[0][1] in ("B-X", "I-X")


def test_an_impossible_gap_is_an_error_with_its_place():
    X, y = [["a"] * 3, ["a"] * 3], [["x", "x", "y"], ["y", None, "x"]]
    place = r"sequence 1, position [12]: transitions='forbid_unseen' leaves no labeling"
    with pytest.raises(InputError, match=place) as caught:
        LinearCRF(transitions="forbid_unseen").fit(X, y)
    assert "unlabelled positions" in str(caught.value)
    for labels in ([[None] * 3, ["x", None, "y"]], [["x", "y", None], [None] * 3]):
        with pytest.raises(InputError, match="forbid_unseen' leaves no labeling"):
            LinearCRF(transitions="forbid_unseen").fit(X, labels)


def test_label_sets_show_the_transitions_that_they_allow():
    X, y = [["a", "b", "c", "d"], ["a", "b"]], [["x", {"y", "z"}, {"x", "y"}, None], ["y", "x"]]
    seen = {("x", "y"), ("x", "z"), ("y", "x"), ("y", "y"), ("z", "x"), ("z", "y")}
    strict = LinearCRF(transitions="forbid_unseen").fit(X, y)
    names = strict.classes_.tolist()
    table = np.isfinite(strict.transition_weights_)
    assert {(names[u], names[v]) for u, v in zip(*np.nonzero(table))} == seen
    layout = LinearCRF(transitions="observed").fit(X, y).layout_
    assert {(names[u], names[v]) for u, v in zip(layout.arc_from, layout.arc_to)} == seen
    layout = LinearCRF(transitions="observed", min_frequency=2).fit(X, y).layout_
    assert {(names[u], names[v]) for u, v in zip(layout.arc_from, layout.arc_to)} == {("y", "x")}


def test_a_set_of_every_label_shows_no_transition():
    X, y = [["a", "b", "a"], ["a", "b"]], [["x", {"x", "y"}, "y"], ["x", "y"]]
    layout = LinearCRF(transitions="observed").fit(X, y).layout_
    assert (layout.arc_from.tolist(), layout.arc_to.tolist()) == ([0], [1])


def test_unlabelled_positions_are_filled_by_what_is_seen():
    X, y = [["a", "b", "c"], ["a", "b", "c"]], [["x", None, "x"], ["x", "y", "x"]]
    model = LinearCRF(transitions="forbid_unseen").fit(X, y)
    assert model.predict(X).tolist() == [["x", "y", "x"]] * 2


def test_knowledge_that_breaks_the_constraints():
    model = LinearCRF(constraints="iob2").fit([["a", "b", "c"]], [["B-X", "I-X", "O"]])
    known = [[None, None], ["O", "I-X"]]
    with pytest.raises(InputError, match="sequence 1, position 1: no legal labeling"):
        model.predict([["a", "b"], ["a", "b"]], known=known)
    np.testing.assert_array_equal(model.log_probability([["a", "b"]] * 2, known), [0.0, -np.inf])


def test_labels_that_do_not_fit_the_scheme():
    with pytest.raises(InputError, match="the label 'verb' does not fit"):
        LinearCRF(constraints="iob2").fit([["a"]], [["verb"]])


@pytest.mark.parametrize("columns", [None, ["word", "*"]])
def test_label_pairs_obey_them_too(columns):
    X, y = rich_corpus(40, seed=3)
    model = LinearCRF(columns=COLUMNS, constraints="iob2", transition_columns=columns).fit(X, y)
    assert all(legal_iob2(labels) for labels in model.predict(rich_corpus(60, seed=4)[0]))


BROKEN = [["O", "I-X", "I-X", "O"], ["B-X", "I-Y", "O", "B-Y"], ["B-X", "B-Y", "I-Y", "O"]] * 4
WORDS = [["w0", "w1", "w2", "w3"], ["w1", "w4", "w5", "w6"], ["w0", "w1", "w2", "w6"]] * 4


TREES = [TreeCRF(edges=edges, n_estimators=5, early_stopping=False) for edges in ("joint", "shared")]


@pytest.mark.parametrize("model", [LinearCRF(), *TREES])
def test_constraints_at_prediction_alone(model, tmp_path):
    model = clone(model).set_params(constraints="iob2", constraints_at="prediction", calibrate=False)
    free = clone(model).set_params(constraints=None)
    model.fit(WORDS, BROKEN)
    free.fit(WORDS, BROKEN)
    assert not all(legal_iob2(labels) for labels in free.predict(WORDS, decoder="viterbi"))
    model.save(tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        assert all(legal_iob2(labels) for labels in one.predict(WORDS))
        assert legal_iob2(one.predict(WORDS[:1])[0])  # which has a way of its own
        assert all(legal_iob2(labels) for best in one.predict_k_best(WORDS[:5], 3) for labels, _ in best)
    # The weights are those of training without constraints: what is legal has the same odds.
    legal = ["O", "B-X", "I-X", "O"], ["O", "O", "O", "O"]
    odds = [one.log_probability(WORDS[:1] * 2, legal) for one in (model, free)]
    assert odds[0][0] - odds[0][1] == pytest.approx(odds[1][0] - odds[1][1], abs=1e-9)


def test_labels_that_break_constraints_are_repaired():
    with pytest.warns(HedgerowWarning, match="8 labels of 8 sequences broke the constraints"):
        model = LinearCRF(constraints="iob2", repair=True).fit(WORDS, BROKEN)
    mended = [["O", "B-X", "I-X", "O"], ["B-X", "B-Y", "O", "B-Y"], ["B-X", "B-Y", "I-Y", "O"]] * 4
    np.testing.assert_array_equal(model.weights_, LinearCRF(constraints="iob2").fit(WORDS, mended).weights_)


def test_what_repair_leaves_open_stays_open():
    hidden = [[None if t == 3 else label for t, label in enumerate(labels)] for labels in BROKEN]
    with pytest.warns(HedgerowWarning, match="8 labels of 8 sequences"):
        model = LinearCRF(constraints="iob2", repair=True).fit(WORDS, hidden)
    assert all(legal_iob2(labels) for labels in model.predict(WORDS))
    with pytest.raises(InputError, match=r"sequence 0, position 1: .*let repair=True do so, or set constraints_at="):
        LinearCRF(constraints="iob2").fit(WORDS, BROKEN)
    with pytest.raises(InputError, match="constraints_at='prediction' is for order 1"):
        LinearCRF(constraints="iob2", constraints_at="prediction", order=2).fit(WORDS, BROKEN)
