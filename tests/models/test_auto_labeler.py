"""AutoLabeler: what it chooses, that it keeps within its budget, and that nothing leaks into held-out sequences."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import HMM, AutoLabeler, InputError, LinearCRF, SlidingWindow, TreeCRF, learn, load
from hedgerow.datasets import make_sequences
from hedgerow.errors import HedgerowWarning
from hedgerow.estimators import prepare
from hedgerow.explain import importance, rules, tree_text
from hedgerow.metrics import label_accuracy
from hedgerow.models.auto import estimator, folds, judging
from hedgerow.models.auto.candidates import Traits, cost, first_guesses
from hedgerow.models.auto.trials import Tries
from hedgerow.training.ctrl_c import CtrlC
from hedgerow.training.deadline import Deadline, current_deadline
from tests.models.local_models import local

FEW: dict[str, Any] = {"n_estimators": 8, "max_leaf_nodes": 4, "leaves": "newton", "l2_regularization": 1.0}
TREES = TreeCRF(edges="shared", **FEW)
CHEAP = [HMM(), LinearCRF(l2=0.1)]
DATA = make_sequences(24, mean_length=5, random_state=0)


def records(model: AutoLabeler) -> list[dict[str, Any]]:
    """The leaderboard but for seconds, which no seed repeats."""
    return [{name: value for name, value in record.items() if name != "seconds"} for record in model.leaderboard_]


class Ticking:
    """A clock on which every look takes a second: what is done between two looks costs nothing."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


# ------------------------------------------------------------------------------------------------ what is chosen


def xor() -> tuple[list[Any], list[Any]]:
    """A label is whether two signs differ: no weight of one of them says anything."""
    rng = np.random.default_rng(0)
    signs = [rng.integers(0, 2, size=(8, 2)) for _ in range(30)]
    X = [[{"a": float(a), "b": float(b)} for a, b in rows] for rows in signs]
    return X, [["+" if a != b else "-" for a, b in rows] for rows in signs]


def words() -> tuple[list[Any], list[Any]]:
    """Each of many words leans to a label a little, and three of them stand at a position: weights add up."""
    rng = np.random.default_rng(0)
    lean = rng.normal(size=60)
    X, y = [], []
    for _ in range(40):
        drawn = [rng.choice(60, size=3, replace=False) for _ in range(8)]
        X.append([[f"w{i}" for i in own] for own in drawn])
        y.append(["+" if lean[own].sum() > 0 else "-" for own in drawn])
    return X, y


def runs() -> tuple[list[Any], list[Any]]:
    """Labels come in long runs, and what is seen says little: whoever does not look at neighbours is lost."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(20):
        state, labels = int(rng.integers(2)), []
        for _ in range(30):
            state = 1 - state if rng.random() < 0.04 else state
            labels.append("ab"[state])
        X.append([[float(rng.normal() + (label == "a"))] for label in labels])
        y.append(labels)
    return X, y


@pytest.mark.parametrize(
    ("data", "good", "bad"),
    [
        (xor, [TREES], [LinearCRF(), HMM()]),
        (words, [LinearCRF()], [TreeCRF(edges="shared", n_estimators=3, max_leaf_nodes=2)]),
        (runs, [HMM(), LinearCRF()], [local(SlidingWindow, estimator="linear")]),
    ],
    ids=["xor", "words", "runs"],
)
@pytest.mark.parametrize("first", ["good", "bad"])
def test_the_model_that_can_win_does_whichever_comes_first(data, good, bad, first):
    X, y = data()
    candidates = [*good, *bad] if first == "good" else [*bad, *good]
    model = AutoLabeler(candidates=candidates, window=0, cv=3, max_models=1, n_trials=9, random_state=0).fit(X, y)
    assert type(model.best_estimator_).__name__ in {type(one).__name__ for one in good}
    best, *others = model.leaderboard_
    assert best["chosen"]
    worst = [record for record in others if record["model"].startswith(tuple(type(one).__name__ for one in bad))]
    assert worst
    assert all(best["score"] > record["score"] + 0.05 for record in worst)


def test_the_first_guess_comes_first_and_settings_near_the_best_follow():
    model = AutoLabeler(n_trials=10, cv=2, random_state=0, max_models=1).fit(*DATA)
    assert model.outcome_ == "n_trials"
    order = sorted(model.leaderboard_, key=lambda record: record["trial"])
    assert [record["trial"] for record in order] == list(range(1, 11))
    assert order[0]["model"].startswith("TreeCRF(edges='shared'")
    assert order[2]["model"] == "HMM()"
    windows = [record["model"].partition("window=")[2] for record in order[8:]]
    assert windows == ["4)", "8)"]  # from 2, which was best, to 4, which was better, and on
    assert [record["model"].replace(f"window={one}", "window=2)") for one, record in zip(windows, order[8:])] == [
        order[0]["model"]
    ] * 2
    assert len({record["model"] for record in order}) == 10


def test_no_model_is_dropped_on_a_fold_by_which_it_is_not_clearly_worse():
    close = [LinearCRF(l2=0.1 + 0.01 * i, window=1) for i in range(6)]
    model = AutoLabeler(candidates=[*close, LinearCRF(l2=1e6, window=1)], n_trials=7, cv=4)
    model.set_params(random_state=0, max_models=1).fit(*make_sequences(60, mean_length=8, random_state=0))
    *others, last = (record["folds"] for record in model.leaderboard_)
    assert others == [4] * 6
    assert last < 4


@pytest.mark.parametrize(("sharper", "folds"), [(True, 4), (False, 3)])
def test_a_model_behind_goes_on_where_it_gives_true_labels_higher_probabilities(monkeypatch, sharper, folds):
    """For the sake of averages, in time that is left."""
    monkeypatch.setattr(Tries, "is_sharper", lambda self, one, other, folds, n_errors=0.0: sharper and not n_errors)
    models = [LinearCRF(l2=0.1, window=1), LinearCRF(l2=0.2, window=1), LinearCRF(l2=1e6, window=1)]
    model = AutoLabeler(candidates=models, n_trials=3, cv=4, random_state=0, max_models=1)
    model.fit(*make_sequences(60, mean_length=8, random_state=0))
    last = model.leaderboard_[-1]
    assert last["model"].startswith("LinearCRF(l2=1000000.0")
    assert last["folds"] == folds


def test_what_is_near_the_best_trees_of_either_form_of_edges_is_tried():
    """Though the best of all has a table of transitions."""
    model = AutoLabeler(n_trials=12, cv=2, random_state=0, max_models=1).fit(*DATA)
    assert "edges='shared'" in model.leaderboard_[0]["model"]
    assert sum("edges='joint'" in record["model"] for record in model.leaderboard_) == 2


def test_words_are_first_tried_with_weights():
    X = [[f"w{i * 10 + t}" for t in range(10)] for i in range(40)]
    y = [["ab"[(i + t) % 2] for t in range(10)] for i in range(40)]
    model = AutoLabeler(n_trials=1, cv=2, random_state=0).fit(X, y)
    assert model.leaderboard_[0]["model"] == "LinearCRF(window=2)"


# ------------------------------------------------------------------------------------------------ determinism


def test_trials_and_a_seed_give_the_same_model_for_any_number_of_threads():
    X, y = DATA
    models = [
        AutoLabeler(candidates=[*CHEAP, TREES], n_trials=3, cv=3, random_state=3, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (None, None, 2)
    ]
    for other in models[1:]:
        assert records(other) == records(models[0])
        assert other.chosen_ == models[0].chosen_
        for one, two in zip(models[0].predict_proba(X), other.predict_proba(X)):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", ["single", "average"])
def test_the_line_that_it_gives_trains_the_same_again(kind):
    X, y = DATA
    linear = LinearCRF(l2=0.1, window=1)
    if kind == "single":
        model = AutoLabeler(
            candidates=[TREES, TreeCRF(init=linear, edges="shared", **FEW)], cv=3, n_trials=2, max_models=1
        )
    else:
        model = AutoLabeler(candidates=[linear, HMM(), TREES], cv=0, random_state=1)
    model.set_params(random_state=1).fit(X, y)
    names = {one.__name__: one for one in (AutoLabeler, HMM, LinearCRF, TreeCRF)}
    again = eval(model.chosen_, names, {"X": X, "y": y})
    model.temperature_, model.doubt_ = 1.0, 0.0  # which held-out sequences gave, and the line has none
    for one, two in zip(model.predict_proba(X), again.predict_proba(X)):
        np.testing.assert_array_equal(one, two)
    assert model.predict(X).tolist() == again.predict(X).tolist()


# ------------------------------------------------------------------------------------------------ time and Ctrl-C


def test_time_ends_the_search_and_every_training(monkeypatch):
    """On a clock of looks, so that no machine is too slow for it."""
    clock = Ticking()
    monkeypatch.setattr(estimator, "_clock", clock)
    slow = [TreeCRF(edges="shared", n_estimators=10_000, learning_rate=0.001, leaves="newton"), LinearCRF(), HMM()]
    model = AutoLabeler(candidates=slow, time_budget=300.0, cv=3, random_state=0).fit(*DATA)
    assert model.outcome_ in ("time_budget", "exhausted")
    assert clock.now <= 300.0 * 1.2 + 30.0
    assert model.best_estimator_.n_iter_ < 300
    assert current_deadline() is None


@pytest.mark.parametrize(("fold", "times"), [(0, 2), (1, 1)])
def test_trees_are_grown_on_where_time_cut_them_short_before_they_were_at_their_best(fold, times, monkeypatch):
    lengths, run = [], Tries.run

    def run_out(self, trial, own, deadline):
        outcome = run(self, trial, own, Deadline(0.0) if own == fold else deadline)
        lengths.append(trial.length.n_iterations)
        return outcome

    monkeypatch.setattr(Tries, "run", run_out)
    model = AutoLabeler(candidates=[TreeCRF(edges="shared")], window=1, n_trials=1, cv=2, random_state=0).fit(*DATA)
    assert lengths[0] == lengths[1]
    assert model.best_estimator_.n_iter_ == times * lengths[0]


def test_features_are_compared_within_the_time(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(20, 2)) for _ in range(20)], [rng.choice(["a", "b"], size=20).tolist() for _ in range(20)]
    clock, begun, make = Ticking(), [], folds.make_folds
    monkeypatch.setattr(estimator, "_clock", clock)
    monkeypatch.setattr(estimator, "make_folds", lambda *given: begun.append(clock.now) or make(*given))
    with pytest.warns(HedgerowWarning, match="features='auto' is none, for comparing features ran out of time"):
        model = AutoLabeler(candidates=[HMM()], time_budget=40.0, features="auto", cv=2).fit(X, y)
    assert begun[0] < 20.0
    assert model.leaderboard_[0]["folds"] == 2


def test_a_chain_of_trees_is_tried_before_trees_that_do_not_agree():
    """Where time is short, the first guess among trees is not left out for a MEMM of trees."""
    guesses = sorted(first_guesses(Traits(3, 0, 2, has_columns=True, has_gaps=False, has_constants=False)), key=cost)
    assert [type(model).__name__ for model in guesses][-4:] == ["TreeCRF", "TreeCRF", "TreeCRF", "MEMM"]
    assert guesses[-4].edges == "shared"


def test_no_time_at_all_gives_the_cheapest(monkeypatch):
    monkeypatch.setattr(estimator, "_clock", Ticking(1e9))
    model = AutoLabeler(time_budget=0.5).fit(*DATA)
    assert model.outcome_ == "time_budget"
    assert isinstance(model.best_estimator_, HMM)
    assert model.score(*DATA) > 0.5


def test_trees_that_stand_on_the_same_weights_have_them_trained_once(monkeypatch):
    """And are the same trees as on weights of their own, which a search without a deadline trains."""
    fits, fit = [], LinearCRF.fit
    monkeypatch.setattr(LinearCRF, "fit", lambda self, *given, **more: fits.append(1) or fit(self, *given, **more))
    X, y = make_sequences(60, mean_length=8, random_state=0)
    weak, strong = LinearCRF(l2=0.1), LinearCRF(l2=1.0)
    settings = ((weak, 4), (weak, 2), (strong, 4))
    own = FEW | {"edges": "shared", "early_stopping": False}
    trees = [TreeCRF(init=one, **own | {"max_leaf_nodes": n}) for one, n in settings]
    found = []
    for bound, n_linear in (({"time_budget": 1e9}, 2), ({"n_trials": 3}, 3)):
        fits.clear()
        model = AutoLabeler(candidates=trees, max_models=1, random_state=0, **bound)
        model.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
        assert len(fits) == n_linear + 1  # the last one is trained on all sequences
        found.append({one["trial"]: (one["score"], one["log_loss"]) for one in model.leaderboard_})
    assert len(set(found[0].values())) == 3
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("trees", "told"),
    [
        (TreeCRF(), "edges_"),
        (TreeCRF(edges="shared", objective="labelwise", n_estimators=12, max_leaf_nodes=4), "likelihood_iterations_"),
    ],
)
def test_what_held_out_sequences_tell_trees_holds_on_every_fold_and_at_last(trees, told, monkeypatch):
    fitted, fit = [], TreeCRF.fit
    monkeypatch.setattr(TreeCRF, "fit", lambda self, *given, **more: fitted.append(self) or fit(self, *given, **more))
    X, y = make_sequences(60, mean_length=10, random_state=0)
    AutoLabeler(candidates=[trees], window=2, n_trials=1, cv=2, random_state=0).fit(X, y)
    assert [one.early_stopping for one in fitted] == [True, False, False]
    assert len({getattr(one, told) for one in fitted}) == 1


def interrupting(at: int):
    """A metric that presses Ctrl-C at its call of this number."""
    calls = iter(range(1, 100_000))

    def metric(true, predicted):
        if next(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
        return label_accuracy(true, predicted)

    return metric


@pytest.mark.parametrize("at", [1, 60])
def test_ctrl_c_keeps_the_best_so_far(at):
    before = signal.getsignal(signal.SIGINT)
    model = AutoLabeler(candidates=[LinearCRF(), HMM(), TREES], n_trials=3, cv=3, random_state=0)
    model.set_params(scoring=interrupting(at))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(*DATA)
    assert model.outcome_ == "interrupted"
    assert len(model.estimators_) == 1
    scored = [record for record in model.leaderboard_ if record["folds"]]
    assert 1 <= len(scored) < 3
    assert [record["chosen"] for record in scored] == [True] + [False] * (len(scored) - 1)
    assert scored[0]["model"].startswith(type(model.best_estimator_).__name__)
    assert model.score(*DATA) > 0.5
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_gives_up_in_the_last_training_too(monkeypatch):
    enter, pressed = CtrlC.__enter__, []

    def press():
        pressed.append(len(pressed))
        os.kill(os.getpid(), signal.SIGINT)

    def metric(true, predicted):
        if not pressed:
            press()
        return label_accuracy(true, predicted)

    def entered(self):
        enter(self)
        if pressed:  # in the search, which is over now
            press()
        return self

    monkeypatch.setattr(CtrlC, "__enter__", entered)
    with pytest.raises(KeyboardInterrupt):
        AutoLabeler(candidates=[LinearCRF()], n_trials=2, cv=2, scoring=metric).fit(*DATA)
    assert pressed == [0, 1]


def test_ctrl_c_before_anything_was_scored_trains_the_cheapest(monkeypatch):
    run = Tries.run

    def interrupted(self, *given):
        os.kill(os.getpid(), signal.SIGINT)
        raise InputError("nothing was trained")

    monkeypatch.setattr(Tries, "run", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = AutoLabeler(candidates=[TREES, LinearCRF(), HMM()], n_trials=3).fit(*DATA)
    assert run is not interrupted
    assert isinstance(model.best_estimator_, HMM)


def test_a_deadline_ends_training_with_the_best_iteration():
    clock = Ticking()
    deadline = Deadline(50.0, clock)
    with deadline.applied():
        model = TreeCRF(window=0, n_estimators=1000, learning_rate=0.01, early_stopping=False).fit(*DATA)
    assert model.outcome_ == "time_budget"
    assert 1 <= model.n_iter_ < 60
    assert TreeCRF(n_estimators=5, early_stopping=False).fit(*DATA).outcome_ == "n_estimators"


# ------------------------------------------------------------------------------------------------ what is held out


def seen_folds(monkeypatch) -> list[folds.Fold]:
    """The folds that fits make from now on."""
    made: list[folds.Fold] = []
    make = folds.make_folds
    monkeypatch.setattr(estimator, "make_folds", lambda *given: made.extend(make(*given)) or made)
    return made


def test_sequences_stay_whole_and_each_is_held_out_once(monkeypatch):
    made = seen_folds(monkeypatch)
    AutoLabeler(candidates=CHEAP, n_trials=2, cv=4, random_state=0).fit(*DATA)
    assert len(made) == 4
    assert sorted(np.concatenate([fold.held for fold in made])) == list(range(24))
    for fold in made:
        assert sorted([*fold.kept, *fold.held]) == list(range(24))


@pytest.mark.parametrize("names", [["a", "b", "c", "d", "e"], [1, "b", None, 2.5, ("c", 3)]])
def test_groups_are_never_split(names, monkeypatch):
    made = seen_folds(monkeypatch)
    X, y = DATA
    groups = [names[i % 5] for i in range(len(X))]
    AutoLabeler(candidates=CHEAP, n_trials=2, cv=3, random_state=0).fit(X, y, groups=groups)
    assert len(made) == 3
    for fold in made:
        assert not {groups[i] for i in fold.kept} & {groups[i] for i in fold.held}


def test_one_long_recording_is_cut_into_blocks_with_gaps():
    X, y = make_sequences(1, mean_length=300, random_state=0)
    X, y = [X[0] * 40], [y[0] * 40]
    dataset = learn(X, y, window=2)
    pieces = folds.cut_pieces(dataset, 5, 2, whole=False)
    assert len(pieces.lengths) == 15
    ends = (pieces.first + pieces.lengths)[:-1]
    np.testing.assert_array_equal(pieces.first[1:] - ends, 2)
    model = AutoLabeler(candidates=CHEAP, n_trials=2, window=1, random_state=0).fit(X, y)
    assert model.leaderboard_[0]["folds"] == 5
    assert model.leaderboard_[0]["standard_error"] < 0.2
    assert len(model.predict(X)[0]) == len(X[0])


@pytest.mark.parametrize(("window", "gap"), [("auto", 2), (1, 2), (6, 6), ((7, 0), 7), ({"0": 1, "*": (0, 5)}, 5)])
def test_gaps_between_blocks_are_as_wide_as_the_window(window, gap, monkeypatch):
    rng, made, cut = np.random.default_rng(0), [], folds.cut_pieces
    monkeypatch.setattr(estimator, "cut_pieces", lambda *given, **more: made.append(cut(*given, **more)) or made[-1])
    X, y = [rng.normal(size=(400, 2))], [rng.choice(["a", "b"], size=400).tolist()]
    AutoLabeler(candidates=[HMM()], window=window, n_trials=1, cv=2).fit(X, y)
    ends = (made[0].first + made[0].lengths)[:-1]
    np.testing.assert_array_equal(made[0].first[1:] - ends, gap)


def test_values_that_only_held_out_sequences_have_are_unknown_to_a_fold():
    X = [[f"w{i}", "x"] for i in range(6)]
    learnt = prepare.learn_corpus(X, [["a", "b"]] * 6, columns=None, window=0)
    pieces = folds.cut_pieces(learnt.dataset, 3, 0, whole=False)
    made = folds.make_folds(learnt.dataset, 3, None, np.random.RandomState(0))
    part = folds.FoldedCorpus(learnt, learnt.dataset, pieces, made).part(0, 1)
    vocabulary = part.train.schema.columns[0].vocabulary
    assert set(vocabulary.names()) == {"x", *(f"w{i}" for i in made[0].kept)}
    assert part.held.schema is part.train.schema
    assert part.hidden.labels is None


def test_labels_that_are_held_out_and_not_trained_do_not_count():
    """Each sequence has a label of its own, once: no model of the others could give it."""
    X, y = DATA
    y = [[f"own {i}", *labels[1:]] for i, labels in enumerate(y)]
    learnt = prepare.learn_corpus(X, y, columns=None, window=0)
    pieces = folds.cut_pieces(learnt.dataset, 3, 0, whole=False)
    made = folds.make_folds(learnt.dataset, 3, None, np.random.RandomState(0))
    part = folds.FoldedCorpus(learnt, learnt.dataset, pieces, made).part(0, 1)
    first = part.held.offsets[:-1]
    assert not part.known[first].any()
    assert part.known.sum() == part.held.n_positions - len(first)
    assert (part.stopping.labels[first] == -1).all()
    model = AutoLabeler(candidates=[*CHEAP, TREES], n_trials=3, cv=3, random_state=0).fit(X, y)
    assert not [record["error"] for record in model.leaderboard_ if record["error"]]
    assert model.best_score_ > 0.5
    assert len(model.classes_) == len(X) + 3
    with pytest.raises(InputError, match="none has a label that another has"):
        AutoLabeler(n_trials=1).fit(X[:3], [[f"{i}"] * len(x) for i, x in enumerate(X[:3])])


def test_few_sequences_are_held_out_one_at_a_time(monkeypatch):
    made = seen_folds(monkeypatch)
    AutoLabeler(candidates=CHEAP, n_trials=2, cv=5, random_state=0).fit(DATA[0][:3], DATA[1][:3])
    assert sorted(fold.held.tolist() for fold in made) == [[0], [1], [2]]


def test_unlabelled_positions_and_sets_of_labels_may_be_trained():
    X, y = DATA
    y = [list(labels) for labels in y]
    y[3][0] = "rare"
    for labels in y[10:14]:
        labels[:] = [None] * len(labels)
    y[15][1] = None
    y[16][0] = {"L0", "L1"}
    model = AutoLabeler(candidates=CHEAP, n_trials=2, cv=3, random_state=0).fit(X, y)
    assert "rare" in model.classes_
    assert not [record["error"] for record in model.leaderboard_ if record["error"]]
    assert model.leaderboard_[0]["score"] > 0.5


def test_held_out_sequences_that_are_given_choose_and_train_nothing():
    X, y = DATA
    model = AutoLabeler(candidates=CHEAP, n_trials=2, max_models=1, random_state=0)
    model.fit(X[:16], y[:16], X_val=X[16:], y_val=y[16:])
    assert [record["folds"] for record in model.leaderboard_] == [1, 1]
    assert model.best_score_ == pytest.approx(label_accuracy(y[16:], model.predict(X[16:])), abs=1e-12)
    with pytest.raises(InputError, match="groups"):
        model.fit(X[:16], y[:16], X_val=X[16:], y_val=y[16:], groups=range(16))


def test_a_corpus_is_encoded_once_whatever_is_tried(monkeypatch):
    calls = []
    learn_corpus = prepare.learn_corpus

    def counted(*given, **options):
        calls.append(1)
        return learn_corpus(*given, **options)

    def refused(*given, **options):
        raise AssertionError("something was encoded again")

    monkeypatch.setattr(prepare, "learn_corpus", counted)
    monkeypatch.setattr(prepare, "encode", refused)
    X, y = DATA
    linear = TreeCRF(init=LinearCRF(), edges="shared", **FEW)
    model = AutoLabeler(candidates=[*CHEAP, linear], n_trials=3, cv=2, random_state=0).fit((x for x in X), y)
    assert calls == [1]
    assert {record["folds"] for record in model.leaderboard_} == {2}


# ------------------------------------------------------------------------------------------------ averages


def test_models_are_averaged_only_where_that_helps():
    """Two views of the same labels, one model for each: together they know more. Twice the same model does not."""
    rng = np.random.default_rng(1)
    y = [rng.choice(["a", "b"], size=10).tolist() for _ in range(60)]
    X = [
        [{"u": float(rng.normal() + (label == "a")), "v": float(rng.normal() + (label == "a"))} for label in one]
        for one in y
    ]
    views = [LinearCRF(min_frequency=0), LinearCRF(l2=10.0)]
    same = AutoLabeler(candidates=views, window=0, n_trials=2, cv=3, random_state=0).fit(X, y)
    assert len(same.estimators_) == 1
    wild: dict[str, Any] = {"learning_rate": 1.0, "l2_regularization": 0.0, "n_estimators": 6, "early_stopping": False}
    noisy = [TreeCRF(edges="shared", max_features=0.5, max_leaf_nodes=m, subsample=0.5, **wild) for m in (9, 12, 15)]
    several = AutoLabeler(candidates=noisy, window=0, n_trials=3, cv=3, random_state=0).fit(X, y)
    assert len(several.estimators_) > 1
    single = AutoLabeler(candidates=noisy, window=0, n_trials=3, cv=3, random_state=0, max_models=1).fit(X, y)
    assert len(single.estimators_) == 1
    expected = np.mean([member.predict_proba(X)[0] for member in several.estimators_], axis=0) ** (
        1 / several.temperature_
    )
    expected /= expected.sum(axis=1, keepdims=True)
    expected = (1.0 - several.doubt_) * expected + several.doubt_ / 2  # labels
    np.testing.assert_allclose(several.predict_proba(X)[0], expected, rtol=1e-12)
    labels = several.classes_[expected.argmax(axis=1)].tolist()
    assert several.predict(X)[0] == labels
    assert (
        several.predict(X, decoder="viterbi").tolist() == several.best_estimator_.predict(X, decoder="viterbi").tolist()
    )


def test_an_average_obeys_what_is_known_of_the_labels():
    X, y = DATA
    model = AutoLabeler(candidates=[LinearCRF(window=1), HMM(), TREES], cv=0, random_state=0).fit(X, y)
    known = [[None] * len(labels) for labels in y]
    known[0][0] = "L2"
    assert model.predict(X, known=known)[0][0] == "L2"
    assert model.predict_proba(X, known=known)[0][0].tolist() == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("option", [{"constraints": [("L0", "L0")]}, {"scoring": "sequence_accuracy"}])
def test_whole_labelings_are_left_to_one_model(option):
    X, y = DATA
    if "constraints" in option:
        kept = [(x, labels) for x, labels in zip(X, y) if ("L0", "L0") not in list(pairwise(labels))]
        X, y = ([pair[i] for pair in kept] for i in range(2))
    model = AutoLabeler(candidates=[*CHEAP, TREES], n_trials=3, cv=3, random_state=0, **option).fit(X, y)
    assert len(model.estimators_) == 1
    if "constraints" in option:
        assert model._decoder_name() == "viterbi"
        pairs = {pair for labels in model.predict(X) for pair in pairwise(labels)}
        assert ("L0", "L0") not in pairs


# ------------------------------------------------------------------------------------------------ temperature


def answered(probs, labels):
    """The truth and the answers of a fold with these probabilities and labels."""
    schema = learn([["a"]], [["x"]]).schema
    truth = judging.Truth(schema, labels.astype(np.int32), labels >= 0, np.arange(0, len(labels) + 1, 10))
    return [truth], [judging.Answers({}, probs.astype(np.float32))]


@pytest.mark.parametrize("true", [0.4, 1.0, 3.0])
def test_the_temperature_makes_true_labels_most_probable(true):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.0] * 4, size=3000)
    right = judging.tempered(probs, true)
    labels = np.array([rng.choice(4, p=row) for row in right])
    labels[:50] = -1  # not known
    found = judging.find_temperature(*answered(probs, labels))
    rows = np.arange(50, 3000)

    def loss(temperature):
        return -np.log(judging.tempered(probs, temperature)[rows, labels[rows]]).mean()

    tried = np.geomspace(0.2, 6.0, 400)
    assert found == pytest.approx(tried[np.argmin([loss(one) for one in tried])], rel=0.02)
    assert found == pytest.approx(true, rel=0.1)


def test_the_temperature_is_finite_where_all_labels_are_right():
    probs = np.tile([0.99, 0.01], (30, 1))
    cold = judging.find_temperature(*answered(probs, np.zeros(30, dtype=int)))
    assert 0.5 < cold < 2.0
    certain = np.tile([1.0, 0.0], (30, 1))
    assert 1.0 < judging.find_temperature(*answered(certain, np.zeros(30, dtype=int))) < 4.0
    assert judging.find_temperature(*answered(certain, np.full(30, -1))) == 1.0  # no label is known
    assert judging.tempered(np.array([[1.0, 0.0]]), 3.0).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
def test_the_doubt_is_the_share_of_labels_that_no_model_is_unsure_of(share):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.1] * 3, size=20_000)
    probs = np.column_stack([probs, np.zeros(len(probs))])  # a label that is not possible
    even = rng.random(len(probs)) < share
    labels = np.where(
        even, rng.integers(3, size=len(probs)), (probs.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    )
    found = judging.find_doubt(*answered(probs, labels), 1.0)
    assert found == pytest.approx(share, abs=0.01)
    soft = judging.softened(probs, 2.0, found)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(soft.argmax(axis=1), probs.argmax(axis=1))
    assert not soft[:, 3].any()
    few = judging.find_doubt(*answered(probs[:20], labels[:20]), 1.0)  # two sequences: a third of it is believed
    assert few <= judging.SHARES[-1] / 3
    assert judging.find_doubt(*answered(probs[:20], np.full(20, -1)), 1.0) == 0.0


def test_probabilities_of_an_overconfident_model_are_tempered():
    rng = np.random.default_rng(0)
    y = [rng.choice(["a", "b"], size=10).tolist() for _ in range(90)]
    X = [[[float(rng.normal() + (label == "a"))] for label in one] for one in y]
    sure = TreeCRF(edges="shared", n_estimators=40, learning_rate=1.0, l2_regularization=0.1, early_stopping=False)
    model = AutoLabeler(candidates=[sure], window=0, n_trials=1, cv=3, random_state=0).fit(X[:60], y[:60])
    assert model.temperature_ > 1.5

    def loss(one):
        columns = [np.searchsorted(one.classes_, labels) for labels in y[60:]]
        return -np.mean([np.log(p[np.arange(10), c]) for p, c in zip(one.predict_proba(X[60:]), columns)])

    assert loss(model) < loss(model.best_estimator_) - 0.1
    assert model.predict(X).tolist() == model.best_estimator_.predict(X).tolist()


# ------------------------------------------------------------------------------------------------ gaps, errors, files


def test_missing_numbers_are_learnt_by_trees_and_filled_in_for_weights():
    rng = np.random.default_rng(0)
    y = [rng.choice(["a", "b"], size=6).tolist() for _ in range(20)]
    X = [
        np.array([[rng.normal() + 2 * (label == "a"), np.nan if rng.random() < 0.2 else 1.0] for label in one])
        for one in y
    ]
    model = AutoLabeler(candidates=[LinearCRF(), TREES, HMM()], window=0, n_trials=3, cv=2, random_state=0).fit(X, y)
    shown = {record["model"].partition("(")[0]: record for record in model.leaderboard_}
    assert "missing='indicator'" in shown["LinearCRF"]["model"]
    assert "missing" not in shown["TreeCRF"]["model"]
    assert not any(record["error"] for record in shown.values())
    filled = AutoLabeler(candidates=[LinearCRF(), TREES], missing="impute", window=0, n_trials=2, cv=2).fit(X, y)
    assert all("missing='impute'" in record["model"] for record in filled.leaderboard_)


def test_a_model_that_cannot_be_trained_is_left_out_and_said():
    X, y = DATA
    bad = LinearCRF(transition_columns=["nothing like it"])
    model = AutoLabeler(candidates=[bad, HMM()], n_trials=2, cv=2).fit(X, y)
    assert isinstance(model.best_estimator_, HMM)
    assert "nothing like it" in model.leaderboard_[-1]["error"]
    assert "nothing like it" in str(model.leaderboard_)
    with pytest.raises(InputError, match="nothing like it"):
        AutoLabeler(candidates=[bad], n_trials=2, cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"cv": 1}, "cv is 1"),
        ({"cv": 0}, "tries nothing"),
        ({"candidates": []}, "empty"),
        ({"candidates": [AutoLabeler()]}, "candidates has AutoLabeler"),
        ({"candidates": HMM()}, "candidates is HMM"),
        ({"candidates": iter(CHEAP)}, "candidates is <list_iterator"),
        ({"missing": "guess"}, "missing"),
        ({"time_budget": 0.0}, "time_budget"),
    ],
)
def test_what_cannot_be_meant_is_refused(parameters, what):
    with pytest.raises(InputError, match=what):
        AutoLabeler(**parameters).fit(*DATA)


def test_whole_numbers_of_numpy_are_numbers_of_folds():
    model = AutoLabeler(candidates=[HMM()], n_trials=np.int64(1), cv=np.int64(3)).fit(*DATA)
    assert model.leaderboard_[0]["folds"] == 3


def test_groups_that_cannot_be_held_out_are_refused():
    X, y = DATA
    with pytest.raises(InputError, match="one group"):
        AutoLabeler(n_trials=1).fit(X, y, groups=["same"] * len(X))
    with pytest.raises(InputError, match="groups has 2 values"):
        AutoLabeler(n_trials=1).fit(X, y, groups=["a", "b"])
    for groups, what in ((3, "not iterable"), ([["a"]] * len(X), "unhashable")):
        with pytest.raises(InputError, match=f"groups cannot be told apart.*{what}"):
            AutoLabeler(n_trials=1).fit(X, y, groups=groups)
    with pytest.raises(InputError, match="too short"):
        AutoLabeler(n_trials=1).fit([["a", "b"]], [["x", "y"]])


def test_spans_are_scored_as_spans():
    X = [["Ada", "Byron", "wrote"], ["he", "met", "Ada"]] * 4
    y = [["B-PER", "I-PER", "O"], ["O", "O", "B-PER"]] * 4
    model = AutoLabeler(candidates=CHEAP, n_trials=2, cv=2, random_state=0).fit(X, y)
    assert model.scoring_ == "span_f1"
    assert AutoLabeler(candidates=CHEAP, n_trials=2, cv=2, scoring="accuracy").fit(X, y).scoring_ == "accuracy"


@pytest.mark.parametrize("scoring", ["label_f1", "log_likelihood"])
def test_other_scores_rank_too(scoring):
    model = AutoLabeler(candidates=CHEAP, n_trials=2, cv=2, scoring=scoring, random_state=0).fit(*DATA)
    first, second = (record["score"] for record in model.leaderboard_)
    assert first >= second
    assert model.scoring_ == scoring
    if scoring == "log_likelihood":
        assert model.leaderboard_[0]["score"] == pytest.approx(-model.leaderboard_[0]["log_loss"], abs=1e-12)


@pytest.mark.parametrize("cv", [0, 3])
def test_a_file_brings_back_every_bit(cv, tmp_path):
    X, y = DATA
    trees = TreeCRF(init=LinearCRF(window=1), edges="shared", window=1, n_estimators=3, early_stopping=False)
    candidates = [LinearCRF(l2=0.1, window=1), HMM(), trees]
    model = AutoLabeler(candidates=candidates, cv=cv, n_trials=3, random_state=0).fit(X, y)
    model.save(tmp_path / "m.hedgerow")
    again = load(tmp_path / "m.hedgerow")
    assert len(again.estimators_) == len(model.estimators_)
    assert again.estimators_[0] is again.best_estimator_
    assert again.leaderboard_ == model.leaderboard_
    assert str(again.leaderboard_) == str(model.leaderboard_)
    assert (again.chosen_, again.outcome_, again.scoring_) == (model.chosen_, model.outcome_, model.scoring_)
    assert again.temperature_ == model.temperature_
    assert (model.temperature_ == 1.0) == (cv == 0)
    assert again.doubt_ == model.doubt_
    assert again.best_score_ == model.best_score_ or np.isnan(model.best_score_)
    assert [repr(one) for one in again.candidates] == [repr(one) for one in candidates]
    for one, two in zip(model.predict_proba(X), again.predict_proba(X)):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(model.log_probability(X, y), again.log_probability(X, y))


def test_labels_that_do_not_count_choose_no_window():
    """A label is that of the neighbour's sign in sequences that count, and of the own sign in all others."""
    rng = np.random.default_rng(0)
    signs = [rng.choice(["+", "-"], size=20).tolist() for _ in range(60)]
    y = [["+", *one[:-1]] if i < 20 else one for i, one in enumerate(signs)]
    weights = [np.full(20, int(i < 20)) for i in range(60)]
    model = AutoLabeler(candidates=[LinearCRF()], cv=0, random_state=0).fit(signs, y, weights)
    assert model.best_estimator_.window_ == LinearCRF(random_state=0).fit(signs, y, weights).window_ == 1


def test_what_was_chosen_is_explained():
    X, y = xor()
    model = AutoLabeler(candidates=[TREES], n_trials=1, cv=2, window=0, random_state=0).fit(X, y)
    assert {share.column for share in importance(model).rows} == {"a", "b"}
    assert rules(model, 3)
    assert tree_text(model, 1, "+") == tree_text(model.best_estimator_, 1, "+")


@pytest.mark.filterwarnings("ignore:training stopped")
def test_there_is_one_temperature():
    X, y = runs()
    stopped = LinearCRF(early_stopping=True, l2=1e-6, max_iter=3)
    model = AutoLabeler(candidates=[stopped], cv=2, n_trials=1, window=2, random_state=0).fit(X, y)
    assert model.best_estimator_.temperature_ == 1.0
    one = model.span_probability(X[:1], [(0, 0, [y[0][0]])])
    own = model.best_estimator_.span_probability(X[:1], [(0, 0, [y[0][0]])])
    np.testing.assert_allclose(one, own)  # whole labelings and spans are the best model's


def test_a_model_is_whole_after_a_fit_that_failed():
    frame = pd.DataFrame({"day": np.arange(40) // 4, "sign": [*"+-"] * 20, "label": [*"ab"] * 20})
    model = AutoLabeler(candidates=[HMM()], n_trials=1, cv=2).fit(frame, by="day", label="label")
    with pytest.raises(InputError, match="too short"):
        model.fit(frame.rename(columns={"day": "week"})[:2], by="week", label="label")
    assert model.predict(frame).tolist() == frame["label"].tolist()


def test_errors_count_sequences_of_weight_0_too():
    with pytest.raises(InputError, match="sequence 2, position 0"):
        AutoLabeler(n_trials=1).fit([["a"], ["b"], [3.5]], [["x"], ["y"], ["x"]], sample_weight=[0.0, 1.0, 1.0])
