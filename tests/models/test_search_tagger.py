"""BeamSearchTagger: it is the structured perceptron where it should be, sees the whole history, and is an estimator."""

from __future__ import annotations

import copy
import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from hedgerow import BeamSearchTagger, InputError, LinearCRF, ModelFileError, load
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.estimators.files import pack_model, unpack_model
from hedgerow.metrics import label_accuracy, label_accuracy_scorer
from hedgerow.models.search.estimator import MAX_FEATURES
from hedgerow.models.search.training import UPDATES, said_scores

from .corpora import COLUMNS, X_SMALL, Y_SMALL, partial_labels, rich_corpus

X, y = make_sequences(60, mean_length=5, random_state=1)
FEW = {"max_iter": 4, "early_stopping": False, "random_state": 0}


def numbers(n, seed, first=False):
    """Sequences of numbers, so that labelings do not tie; `first` marks where a sequence begins."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(n):
        own = rng.integers(3, size=int(rng.integers(1, 6)))
        points = [{"a": float(rng.normal() + 0.5 * v), "b": float(rng.normal())} for v in own]
        if first:
            points[0]["first"] = 1.0
        rows.append(points)
        labels.append(own.tolist())
    return rows, labels


def at_most_once(n, seed):
    """A label that stands at the first "x" of a sequence alone, however far back that is."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(n):
        row = [str(t) for t in rng.choice(["x", "o"], p=[0.4, 0.6], size=int(rng.integers(4, 12)))]
        row[int(rng.integers(len(row)))] = "x"
        rows.append(row)
        labels.append(["first" if t == row.index("x") else "rest" for t in range(len(row))])
    return rows, labels


# ------------------------------------------------------------------------------------------------ what it learns


def test_an_exhaustive_search_is_the_structured_perceptron():
    """With every labeling in the beam, the last label seen and whole sequences mended: Collins' perceptron."""
    rows, labels = numbers(30, 0)
    model = BeamSearchTagger(
        update="full", beam_width=3**5, order=1, label_counts=0, pairs="all", max_iter=5, early_stopping=False,
        random_state=3,
    ).fit(rows, labels)  # fmt: skip
    linear = LinearCRF(trainer="averaged_perceptron", max_iter=5, pairs="all", random_state=3)
    linear.fit(numbers(30, 0, first=True)[0], labels)
    np.testing.assert_allclose([s.loss for s in model.history_], [s.loss for s in linear.history_], rtol=1e-9)
    own = {(name, label): weight for name, label, weight in model.feature_weights()}
    for name, label, weight in linear.feature_weights():
        np.testing.assert_allclose(own["after ⊥" if name == "first" else name, label], weight, atol=1e-9)
    moves = [[own[f"after {u}", v] for v in range(3)] for u in range(3)]
    np.testing.assert_allclose(moves, linear.transition_weights_, atol=1e-9)


def test_it_sees_all_that_came_before():
    rows, labels = at_most_once(300, 0)
    options = {"window": 0, "random_state": 0, "order": 1, "update": "early"}
    far = BeamSearchTagger(label_counts=1, **options).fit(rows[:200], labels[:200])
    near = BeamSearchTagger(label_counts=0, **options).fit(rows[:200], labels[:200])
    assert far.score(rows[200:], labels[200:]) > 0.99
    assert near.score(rows[200:], labels[200:]) < 0.95


@pytest.mark.parametrize("update", UPDATES)
def test_every_update_learns(update):
    model = BeamSearchTagger(update=update, random_state=0).fit(X[:40], y[:40])
    untaught = BeamSearchTagger(**FEW).fit(X[:2], y[:2])
    assert model.score(X[40:], y[40:]) > untaught.score(X[40:], y[40:]) + 0.1
    assert model.refitted_
    assert model.history_[-1].score is not None


def test_updates_differ():
    rows, labels = numbers(30, 1)
    found = [BeamSearchTagger(update=update, beam_width=2, **FEW).fit(rows, labels).weights_ for update in UPDATES]
    for i in range(len(found)):
        for j in range(i):
            assert not np.array_equal(found[i], found[j])


def test_right_to_left_is_left_to_right_of_the_reversed():
    rows, labels = numbers(30, 2)
    back = [row[::-1] for row in rows], [row[::-1] for row in labels]
    ahead = BeamSearchTagger(order=2, window=(1, 0), **FEW).fit(rows, labels)
    behind = BeamSearchTagger(order=2, window=(0, 1), direction="right_to_left", **FEW).fit(*back)
    assert [s.loss for s in ahead.history_] == pytest.approx([s.loss for s in behind.history_])
    assert [row[::-1] for row in behind.predict(back[0])] == ahead.predict(rows).tolist()
    assert any(name.startswith("before") for name, _, _ in behind.feature_weights())


def test_the_average_goes_on_where_nothing_is_wrong():
    model = BeamSearchTagger(window=1, early_stopping=False, random_state=0).fit(X_SMALL, Y_SMALL)
    assert model.outcome_ == "converged"
    assert model.n_iter_ == 50
    assert model.history_[-1].loss == 0.0
    assert model.predict(X_SMALL).tolist() == Y_SMALL


def test_the_best_pass_is_kept():
    scores = []
    model = BeamSearchTagger(random_state=0, n_iter_no_change=3).fit(X[:30], y[:30], X_val=X[30:], y_val=y[30:])
    scores = [step.score for step in model.history_]
    assert model.best_iteration_ == max(i + 1 for i, s in enumerate(scores) if s == max(scores))
    assert model.score(X[30:], y[30:]) == max(scores)
    assert not model.refitted_
    again = BeamSearchTagger(early_stopping=False, max_iter=model.best_iteration_, random_state=0).fit(X[:30], y[:30])
    np.testing.assert_array_equal(again.weights_, model.weights_)


def test_refit_is_training_on_all():
    model = BeamSearchTagger(random_state=0).fit(X, y)
    again = BeamSearchTagger(early_stopping=False, max_iter=model.best_iteration_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    once = BeamSearchTagger(random_state=0, refit=False).fit(X, y)
    assert once.history_[-1].score == model.history_[-1].score
    assert not once.refitted_


@pytest.mark.parametrize("how", [True, "errors"])
def test_future_features_are_input(how):
    """Every word has the label of the mark at the end of its sentence."""
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for _ in range(120):
        mark = str(rng.choice(["?", "!", "."]))
        words = [f"w{w}" for w in rng.integers(5, size=int(rng.integers(3, 9)))]
        rows.append([*words, mark])
        labels.append([mark] * (len(words) + 1))
    options = {"window": 0, "order": 0, "label_counts": 0, "random_state": 0, "bag": None}
    far = BeamSearchTagger(future_features=how, **options).fit(rows[:80], labels[:80])
    assert far.future_.n_features_ >= 1
    assert far.score(rows[80:], labels[80:]) > 0.95
    assert BeamSearchTagger(**options).fit(rows[:80], labels[:80]).score(rows[80:], labels[80:]) < 0.7
    assert any(name.startswith("(future 1 ≥ ") for name, _, _ in far.feature_weights())


def test_what_a_search_said_is_worth_what_it_was_worth():
    """log P(label | what the search said), each pair counted once more."""
    dataset = learn([["w"] * 4, ["w"] * 3], [["a", "a", "b", "a"], ["c", "b", "a"]])
    scores = said_scores(dataset, np.array([0, 0, 0, 1, 1, 1, 0], dtype=np.int32))
    assert scores.shape == (3, 7)
    np.testing.assert_allclose(np.exp(scores[:, 0]), np.array([4, 2, 1]) / 7)  # a, a, b, a where it said a
    np.testing.assert_allclose(np.exp(scores[:, 3]), np.array([2, 2, 2]) / 6)
    np.testing.assert_allclose(np.exp(scores).sum(axis=0), 1.0)


@pytest.mark.parametrize("ranking", ["perceptron", "trees"])
def test_features_of_errors_come_in_rounds(ranking):
    """What decides is ahead, in two patterns, of which a round finds one or more; without held-out sequences all that
    is found is kept, and with them no round that did not help."""
    rng = np.random.default_rng(3)
    rows = [[str(v) for v in rng.choice(list("abxy"), size=9, p=[0.4, 0.4, 0.1, 0.1])] for _ in range(90)]
    labels = [[f"{'x' in row[t + 1 :]:d}{'y' in row[t + 1 :]:d}" for t in range(9)] for row in rows]
    own = {
        "window": 0,
        "order": 0,
        "label_counts": 0,
        "bag": None,
        "ranking": ranking,
        "random_state": 0,
        "max_iter": 15,
    }
    model = BeamSearchTagger(future_features="errors", **own).fit(rows, labels)
    plain = BeamSearchTagger(**own).fit(rows, labels)
    assert model.score(rows, labels) > plain.score(rows, labels) + 0.2
    assert model.refitted_
    assert 1 <= model.future_.n_features_ <= MAX_FEATURES
    every = BeamSearchTagger(future_features="errors", early_stopping=False, **own).fit(rows, labels)
    assert every.future_.n_features_ >= 2


def test_a_weight_is_the_size_of_a_step():
    rows, labels = numbers(20, 4)
    plain = BeamSearchTagger(**FEW).fit(rows, labels)
    twice = BeamSearchTagger(**FEW).fit(rows, labels, sample_weight=np.full(20, 2.0))
    np.testing.assert_allclose(twice.weights_, 2 * plain.weights_, rtol=1e-9, atol=1e-12)
    half = BeamSearchTagger(**FEW).fit(rows, labels, sample_weight=[1.0] * 10 + [0.0] * 10)
    swapped = labels[:10] + [[2 - v for v in row] for row in labels[10:]]
    other = BeamSearchTagger(**FEW).fit(rows, swapped, sample_weight=[1.0] * 10 + [0.0] * 10)
    named = [{(n, v): w for n, v, w in m.feature_weights() if w} for m in (half, other)]
    assert named[0] == named[1]  # what has no weight teaches nothing


def test_labels_that_are_not_known():
    rows, labels = rich_corpus(40, seed=1)
    partly = partial_labels(labels, seed=2)
    model = BeamSearchTagger(columns=COLUMNS, window=1, **FEW).fit(rows, partly)
    assert model.score(rows, labels) > 0.6
    nothing = [[None] * len(row) for row in labels[1:]]
    only = BeamSearchTagger(columns=COLUMNS, **{**FEW, "max_iter": 1}).fit(rows, [labels[0], *nothing])
    assert only.history_[0].loss >= 0.0


# ------------------------------------------------------------------------------------------------ trees


def parity(n, seed):
    """A label that is whether two flags differ: no weight of one of them says anything."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(n):
        flags = rng.random((int(rng.integers(2, 7)), 2)) < 0.5
        rows.append([{"a": bool(a), "b": bool(b)} for a, b in flags])
        labels.append(["x" if a != b else "o" for a, b in flags])
    return rows, labels


def test_trees_see_what_weights_do_not():
    rows, labels = parity(120, 0)
    options = {"order": 1, "random_state": 0, "max_iter": 15, "max_leaf_nodes": 4, "l2_regularization": 1.0}
    trees = BeamSearchTagger(ranking="trees", **options).fit(rows[:80], labels[:80])
    assert trees.score(rows[80:], labels[80:]) > 0.99
    assert BeamSearchTagger(**options).fit(rows[:80], labels[:80]).score(rows[80:], labels[80:]) < 0.8
    losses = [step.loss for step in trees.history_]
    assert losses[-1] < losses[0]
    assert trees.n_parameters_ == trees.trees_.ensemble_.n_leaves
    with pytest.raises(InputError, match="has no weights"):
        trees.feature_weights()


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("order", [0, 2])
def test_trees_of_any_order_learn_by_every_update(order, update):
    rows, labels = make_sequences(40, n_labels=3, mean_length=5, random_state=2)
    model = BeamSearchTagger(ranking="trees", order=order, update=update, **FEW).fit(rows, labels)
    common = max(sum(row.count(f"L{k}") for row in labels) for k in range(3)) / sum(map(len, labels))
    assert model.score(rows, labels) > common
    assert len(model.trees_.ensemble_.trees()) == 4 * len(model.classes_)


def test_trees_from_right_to_left():
    rows, labels = numbers(25, 2)
    back = [row[::-1] for row in rows], [row[::-1] for row in labels]
    options = {"ranking": "trees", "order": 1, "l2_regularization": 2.0, **FEW}
    ahead = BeamSearchTagger(window=(1, 0), **options).fit(rows, labels)
    behind = BeamSearchTagger(window=(0, 1), direction="right_to_left", **options).fit(*back)
    assert [s.loss for s in ahead.history_] == pytest.approx([s.loss for s in behind.history_])
    assert [row[::-1] for row in behind.predict(back[0])] == ahead.predict(rows).tolist()


def test_trees_are_cut_to_the_best_pass_and_refitted():
    options = {"ranking": "trees", "order": 1, "max_iter": 12, "random_state": 0}
    model = BeamSearchTagger(n_iter_no_change=3, **options).fit(X[:30], y[:30], X_val=X[30:], y_val=y[30:])
    scores = [step.score for step in model.history_]
    assert model.score(X[30:], y[30:]) == max(scores)
    assert model.trees_.ensemble_.n_iterations == model.best_iteration_
    assert BeamSearchTagger(n_iter_no_change=2, **options).fit(X, y).refitted_


def test_what_trees_refuse(monkeypatch):
    with pytest.raises(InputError, match="needs every label"):
        BeamSearchTagger(ranking="trees", **FEW).fit(X_SMALL, [[None, *row[1:]] for row in Y_SMALL])
    monkeypatch.setattr("hedgerow.models.search.ranking.MAX_SCORES", 100)
    with pytest.raises(InputError, match="lower order"):
        BeamSearchTagger(ranking="trees", **FEW).fit(X_SMALL, Y_SMALL)


def test_another_ranking_replaces_the_first():
    model = BeamSearchTagger(**FEW).fit(X_SMALL, Y_SMALL)
    model.set_params(ranking="trees").fit(X_SMALL, Y_SMALL)
    assert not hasattr(model, "weights_")
    assert model.set_params(ranking="perceptron").fit(X_SMALL, Y_SMALL).weights_.any()
    assert not hasattr(model, "trees_")


# ------------------------------------------------------------------------------------------------ prediction


def test_constraints_are_obeyed_and_known_labels_forced():
    rows, labels = rich_corpus(40, seed=3)
    model = BeamSearchTagger(columns=COLUMNS, constraints="iob2", beam_width=2, **FEW).fit(rows, labels)
    for row in model.predict(rows):
        assert all(b != "I-X" or a != "O" for a, b in zip(["O", *row], row))
    known = [[None] * (len(row) - 1) + ["I-X"] if len(row) > 1 else [None] for row in labels]
    for row, asked in zip(model.predict(rows, known=known), known):
        assert row[-1] == "I-X" or asked[-1] is None
        assert all(b != "I-X" or a != "O" for a, b in zip(["O", *row], row))
    with pytest.raises(InputError, match="no labeling is possible"):
        model.predict(rows[:1], known=[["I-X"] + [None] * (len(labels[0]) - 1)])


def test_unseen_transitions_can_be_forbidden():
    model = BeamSearchTagger(transitions="forbid_unseen", **FEW).fit(X_SMALL, Y_SMALL)
    assert model.predict([["barks", "dog", "dog"]]).tolist()[0].count("V") <= 1
    assert not model.layout_.space.transitions.all()


def test_a_sequence_alone_is_predicted_as_among_others():
    model = BeamSearchTagger(**FEW).fit(X, y)
    together = model.predict(X)
    assert [model.predict([row]).tolist()[0] for row in X] == together.tolist()
    assert model.set_params(n_jobs=2).predict(X).tolist() == together.tolist()
    assert model.predict([]).tolist() == []
    assert model.predict(model.encode(X)).tolist() == together.tolist()
    greedy = model.predict(X, decoder="greedy")
    assert model.set_params(beam_width=1).predict(X).tolist() == greedy.tolist()


@pytest.mark.parametrize("ranking", ["perceptron", "trees"])
def test_chunks_do_not_matter(ranking, monkeypatch):
    rows, labels = rich_corpus(40, seed=5)
    parameters = {"columns": COLUMNS, "window": 1, "missing": "indicator", "ranking": ranking, **FEW}
    model = BeamSearchTagger(**parameters).fit(rows, labels)
    whole = model.predict(rows)
    monkeypatch.setattr("hedgerow.models.search.estimator._CHUNK_POSITIONS", 7)
    monkeypatch.setattr("hedgerow.models.search.features.BLOCK_SCORES", 500)
    assert model.predict(rows).tolist() == whole.tolist()
    again = BeamSearchTagger(**parameters).fit(rows, labels)
    assert again.predict(rows).tolist() == whole.tolist()
    assert [step.loss for step in again.history_] == pytest.approx([step.loss for step in model.history_], rel=1e-12)
    if ranking == "perceptron":
        np.testing.assert_array_equal(again.weights_, model.weights_)


@pytest.mark.parametrize("name", ["predict_proba", "predict_k_best", "log_probability", "entropy", "sample"])
def test_there_are_no_probabilities(name):
    model = BeamSearchTagger(**FEW).fit(X, y)
    assert not hasattr(model, name)


# ------------------------------------------------------------------------------------------------ an estimator


def test_it_is_cross_validated():
    search = GridSearchCV(BeamSearchTagger(**FEW), {"order": [0, 2]}, cv=2, scoring=label_accuracy_scorer)
    assert search.fit(X, y).best_score_ > 0.3
    assert len(cross_val_score(clone(BeamSearchTagger(**FEW)), X, y, cv=2)) == 2


def test_input_in_every_form_gives_the_same_model():
    rows, labels = numbers(12, 6)
    flat = np.array([[p["a"], p["b"]] for row in rows for p in row])
    arrays = np.split(flat, np.cumsum([len(row) for row in rows])[:-1])
    model = BeamSearchTagger(**FEW).fit(arrays, labels)
    lengths = [len(row) for row in rows]
    cut = BeamSearchTagger(**FEW).fit(flat, np.concatenate(labels), lengths=lengths)
    made = BeamSearchTagger(**FEW).fit(learn(arrays, labels))
    drawn = BeamSearchTagger(**FEW).fit((row for row in arrays), (row for row in labels))
    for other in (cut, made, drawn):
        np.testing.assert_array_equal(other.weights_, model.weights_)
    assert cut.predict(flat, lengths=lengths).tolist() == model.predict(arrays).tolist()


def test_a_copy_predicts_the_same():
    model = BeamSearchTagger(**FEW).fit(X, y)
    for one in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert one.predict(X).tolist() == model.predict(X).tolist()


def test_ctrl_c_keeps_the_best_so_far():
    calls = iter(range(1, 1000))

    def metric(true, predicted):
        if next(calls) == 4:  # the first call is before training
            os.kill(os.getpid(), signal.SIGINT)
        return label_accuracy(true, predicted)

    model = BeamSearchTagger(scoring=metric, random_state=0, n_iter_no_change=50)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 passes"):
        model.fit(X, y)
    assert (model.outcome_, model.n_iter_, model.refitted_) == ("interrupted", 3, False)
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"beam_width": 0}, "beam_width"),
        ({"update": "late"}, "update"),
        ({"ranking": "words"}, "ranking"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"order": -1}, "order"),
        ({"label_counts": 1.5}, "label_counts"),
        ({"future_features": "yes"}, "future_features"),
        ({"bag": 0}, "bag"),
        ({"direction": "up"}, "direction"),
        ({"max_iter": 0}, "max_iter"),
        ({"scoring": "log_likelihood"}, "has no probabilities"),
        ({"missing": "surrogate"}, "for trees"),
        ({"transitions": "observed"}, "transitions"),
        ({"pairs": "none"}, "pairs"),
        ({"refit": 1}, "refit"),
    ],
)
def test_bad_parameters_are_refused(parameters, match):
    with pytest.raises(InputError, match=match):
        BeamSearchTagger(**parameters).fit(X_SMALL, Y_SMALL)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="y is missing"):
        BeamSearchTagger(**FEW).fit(X)
    with pytest.raises(InputError, match="missing"):
        BeamSearchTagger(**FEW).fit([np.array([[1.0], [np.nan]])], [["a", "b"]])
    with pytest.raises(InputError, match="decoder"):
        BeamSearchTagger(**FEW).fit(X, y).predict(X, decoder="posterior")
    with pytest.raises(InputError, match="not one of those"):
        BeamSearchTagger(**FEW).fit(X, y).feature_weights("no such label")


# ------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    "parameters",
    [
        {"order": 3, "label_counts": 2, "direction": "right_to_left", "constraints": "iob2"},
        {"order": 0, "label_counts": 0, "missing": "indicator"},
        {"order": 1, "future_features": True, "bag": 2},
        {"order": 1, "future_features": "errors", "bag": 2},
        {"order": 2, "ranking": "trees", "constraints": "iob2"},
        {"order": 1, "ranking": "trees", "direction": "right_to_left", "future_features": True},
    ],
)
def test_a_saved_model_predicts_the_same(parameters, tmp_path):
    rows, labels = rich_corpus(30, seed=1)
    model = BeamSearchTagger(columns=COLUMNS, window=1, **parameters, **FEW).fit(rows, labels)
    model.save(tmp_path / "m.hedgerow")
    other = load(tmp_path / "m.hedgerow")
    assert other.predict(rows).tolist() == model.predict(rows).tolist()
    if model.ranking == "perceptron":
        assert other.feature_weights() == model.feature_weights()
    assert other.get_params() == model.get_params()
    assert other.refitted_ == model.refitted_


def test_a_file_that_is_not_sound_is_refused():
    model = BeamSearchTagger(order=2, **FEW).fit(X, y)
    header, tensors = pack_model(model)
    K = len(model.classes_)

    def broken(name, array):
        with pytest.raises(ModelFileError):
            unpack_model(header, tensors | {f"linear.{name}": array})

    weights, child = tensors["linear.weights"], tensors["linear.child"]
    broken("weights", weights[:-1].copy())
    broken("weights", np.full_like(weights, np.nan))
    broken("child", child[:, :-1].copy())
    circle = child.copy()
    circle[1, 0] = 1
    broken("child", circle)
    broken("child", np.vstack([child, np.full((1, K + 1), -1, dtype=np.int32)]))
    labels = tensors["linear.nodes.slot_label"].copy()
    labels[0] = K
    broken("nodes.slot_label", labels)
    for name in ("order", "backward"):
        changed = copy.deepcopy(header)
        changed["state"]["linear"][name] = 1
        with pytest.raises(ModelFileError):
            unpack_model(changed, tensors)
