"""`window="auto"`: what it comes to, for which data, and that a model keeps it."""

from __future__ import annotations

import itertools
import logging
import os
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import hedgerow
from hedgerow import (
    IOHMM,
    MEMM,
    AutoLabeler,
    BeamSearchTagger,
    FutureFeatureMEMM,
    LinearCRF,
    MaxMarginMarkovNetwork,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    VirtualEvidence,
)
from hedgerow.cli.info import describe
from hedgerow.data.encoding import learn
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.estimators import window_choice
from hedgerow.estimators.window_choice import FEWEST, WIDTHS, choose_window, is_ready_made
from hedgerow.training.ctrl_c import stages

N = 200
FEW: dict[str, Any] = {"n_estimators": 5, "early_stopping": False}
FAMILIES = [
    LinearCRF(),
    LinearCRF(order=2),
    MaxMarginMarkovNetwork(max_iter=5, random_state=0),
    TreeCRF(**FEW),
    VirtualEvidence(**FEW),
    MEMM(),
    SlidingWindow(estimator="linear"),
    RecurrentSlidingWindow(estimator=TreeCRF(**FEW)),
    FutureFeatureMEMM(n_estimators=5, early_stopping=False),
    BeamSearchTagger(early_stopping=False, max_iter=3, random_state=0),
    BeamSearchTagger(ranking="trees", early_stopping=False, max_iter=3, random_state=0),
    IOHMM(max_iter=3, random_state=0),
]


def by_neighbour(n: int, length: int = 12, *, back: int = 1) -> tuple[list[Any], list[Any]]:
    """Letters; a label is the letter so many positions before, around the corner; but for one in five."""
    rng = np.random.default_rng(0)
    X = [rng.choice(list("abc"), size=length).tolist() for _ in range(n)]
    return X, [[noisy(letter, rng) for letter in [*x[length - back :], *x[: length - back]]] for x in X]


def by_itself(n: int) -> tuple[list[Any], list[Any]]:
    """Letters that say what their label is, but for one in five."""
    return by_neighbour(n, back=0)


def noisy(letter: str, rng: np.random.Generator) -> str:
    return letter if rng.random() > 0.2 else str(rng.choice(list("abc")))


def quick() -> LinearCRF:
    return LinearCRF()._quick()


def never() -> Any:
    raise AssertionError("nothing is to be compared")


# ------------------------------------------------------------------------------------------------ which window


@pytest.mark.filterwarnings("ignore:training stopped")
@pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)
def test_every_family_sees_what_its_data_ask_for(model):
    assert model.window == "auto"
    beside = clone(model).fit(*by_neighbour(N))
    assert beside.window_ == 1
    assert beside.get_params()["window"] == "auto"
    assert clone(model).fit(*by_itself(N)).window_ == 0
    assert [len(labels) for labels in beside.predict([list("abcab")])] == [5]


@pytest.mark.parametrize("back", [2, 3])
def test_a_width_that_reaches_far_enough_is_found(back):
    X, y = by_neighbour(N, back=back)
    assert LinearCRF().fit(X, y).window_ == next(width for width in WIDTHS if width >= back)


def test_where_all_is_right_no_wider_one_is_tried():
    X, _ = by_neighbour(N)
    assert choose_window(learn(X, X), quick) == 0
    assert choose_window(learn(X, [["a", *x[:-1]] for x in X]), quick) == 1


@pytest.mark.parametrize("lengths", [[600], [300, 250], [200] * 3])
def test_few_long_sequences_are_cut(lengths):
    X, y = by_neighbour(50)
    X, y = ([[one for sequence in part for one in sequence]] for part in (X, y))
    ends = np.cumsum([0, *lengths])
    X, y = ([part[0][a:b] for a, b in itertools.pairwise(ends)] for part in (X, y))
    assert LinearCRF().fit(X, y).window_ == 1


def test_long_sequences_are_looked_at_in_pieces_and_in_part():
    X, y = by_neighbour(30, length=2000)
    seen = []

    class Counted(LinearCRF):
        def fit(self, X, y=None, *given, **options):
            seen.append(X.n_positions)
            return super().fit(X, y, *given, **options)

    assert choose_window(learn(X, y), lambda: Counted(max_iter=10)) == 1
    assert 5000 < seen[0] < 7000


def test_too_few_positions_have_no_window():
    X, y = by_neighbour(FEWEST // 12 + 1)
    assert choose_window(learn(X, y), quick) > 0
    assert choose_window(learn(X[:-1], y[:-1]), never) == 0
    hidden = [[None] * len(labels) for labels in y[1:]]
    assert choose_window(learn(X, [y[0], *hidden]), never) == 0


def test_labels_in_one_sequence_have_nothing_to_be_compared_by():
    X, y = by_neighbour(6, length=200)
    hidden = [[None] * 200] * 5
    assert choose_window(learn(X, [y[0], *hidden]), never) == 0
    assert choose_window(learn(X, [*y[:2], *hidden[1:]]), quick) == 1


def test_only_what_has_labels_is_compared():
    X, y = by_neighbour(1500)
    y = [labels if i % 100 == 7 else [None] * len(labels) for i, labels in enumerate(y)]
    assert LinearCRF().fit(X, y).window_ == 1
    weight = [np.full(12, float(i % 100 == 7)) for i in range(len(X))]
    assert LinearCRF().fit(X, by_neighbour(1500)[1], sample_weight=weight).window_ == 1


READY = [
    {"word": "a", "names": ["x", "y"]},
    {"word": "a", "-1:word": "b"},
    {"word": "a", "+1:word.lower()": "b"},
    {"word[0]": "a", "word[-2]": "b"},
    {"U00": "a", "U01": "b", "B10": "c"},
]
PLAIN = [{"word": "a", "sensor-1": 2.0}, {"U00": "a", "UV": "b"}, {"w-2": "b"}, {"2+2": "b"}, {"pixel 3": "a"}]


@pytest.mark.parametrize(("row", "ready"), [*((row, True) for row in READY), *((row, False) for row in PLAIN)])
def test_ready_made_features_have_no_window(row, ready):
    dataset = learn([[row] * 30] * 20, [["p", "q"] * 15] * 20)
    assert is_ready_made(dataset.schema) is ready
    if ready:
        assert choose_window(dataset, never) == 0


def test_the_choice_draws_nothing():
    X, y = by_neighbour(N)
    state = np.random.RandomState(3)
    chosen = [LinearCRF(n_jobs=jobs).fit(X, y).window_ for jobs in (1, 2)]
    assert chosen == [1, 1]
    TreeCRF(random_state=state, **FEW).fit(X, y)
    other = np.random.RandomState(3)
    TreeCRF(random_state=other, window=1, **FEW).fit(X, y)
    assert state.randint(10**6) == other.randint(10**6)


@pytest.mark.parametrize("model", [LinearCRF(), TreeCRF(n_estimators=5, random_state=0)])
def test_the_model_is_the_one_that_this_window_gives(model):
    X, y = by_neighbour(N)
    chosen, given = clone(model).fit(X, y), clone(model).set_params(window=1).fit(X, y)
    assert chosen.schema_ == given.schema_
    for one, other in zip(chosen.predict_proba(X), given.predict_proba(X)):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------------ what is kept


def test_a_file_keeps_it(tmp_path):
    X, y = by_neighbour(N)
    model = LinearCRF().fit(X, y)
    model.save(tmp_path / "model.hedgerow")
    loaded = hedgerow.load(tmp_path / "model.hedgerow")
    assert (loaded.window, loaded.window_) == ("auto", 1)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert "window 1 (auto)" in describe(str(tmp_path / "model.hedgerow")).splitlines()


def test_an_estimator_in_a_file_of_before_may_have_the_old_default():
    MEMM(estimator=LinearCRF(window=0)).fit(*by_neighbour(2))
    with pytest.raises(InputError, match="sets window"):
        MEMM(estimator=LinearCRF(window=1)).fit(*by_neighbour(2))


@pytest.mark.parametrize(
    "model", [LinearCRF(warm_start=True), TreeCRF(warm_start=True, **FEW), MEMM(estimator=LinearCRF(warm_start=True))]
)
def test_a_warm_start_stays_with_the_window(model):
    model.fit(*by_neighbour(N))
    if isinstance(model, TreeCRF):
        model.set_params(n_estimators=7)
    model.fit(*by_itself(N))
    assert model.window_ == 1


def test_partial_fit_stays_with_the_window_of_its_first_call():
    model = LinearCRF(random_state=0)
    model.partial_fit(*by_neighbour(N), classes=["z"])
    assert model.window_ == 1
    model.partial_fit(*by_itself(N))
    assert model.window_ == 1
    assert LinearCRF(random_state=0).partial_fit(*by_neighbour(2)).window_ == 0
    model.set_params(window=0)
    with pytest.raises(InputError, match="window is 0 and the model began with 1"):
        model.partial_fit(*by_itself(N))


def test_a_dataset_is_taken_with_its_window():
    dataset = learn(*by_itself(N), window=2)
    assert LinearCRF().fit(dataset).window_ == 2
    with pytest.raises(InputError, match="window is 0 and the Dataset was made with 2"):
        LinearCRF(window=0).fit(dataset)


def test_candidates_that_are_not_tried_choose_by_themselves():
    X, y = by_neighbour(N)
    model = AutoLabeler(candidates=[LinearCRF(), LinearCRF(window=2)], cv=0, random_state=0).fit(X, y)
    assert [one.window for one in model.estimators_] == [1, 2]


def test_it_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="hedgerow"):
        LinearCRF(verbose=1).fit(*by_neighbour(N))
    assert "window: 1" in caplog.messages


# ------------------------------------------------------------------------------------------------ what goes wrong


def test_a_missing_number_is_where_it_is():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(12, 2)) for _ in range(N)]
    X[31][4, 1] = np.nan
    y = [["a" if row[0] > 0 else "b" for row in x] for x in X]
    with pytest.raises(InputError, match="sequence 31, position 4"):
        LinearCRF().fit(X, y)
    for model in (LinearCRF(missing="impute"), TreeCRF(**FEW)):
        assert model.fit(X, y).window_ in WIDTHS


def press_ctrl_c(monkeypatch, at, times=1):
    """Once, or so many times, when so many widths and one more have been tried."""
    calls, plain = iter(range(1000)), window_choice._score

    def score(*given):
        found = plain(*given)
        if next(calls) == at:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        return found

    monkeypatch.setattr(window_choice, "_score", score)


@pytest.mark.parametrize("model", [LinearCRF(), TreeCRF(**FEW), IOHMM(tol=0.1, random_state=0), MEMM()])
@pytest.mark.parametrize(("at", "width"), [(0, 0), (1, 1)])
def test_ctrl_c_takes_the_best_window_so_far_and_ends_training_after_one_iteration(monkeypatch, at, width, model):
    before = signal.getsignal(signal.SIGINT)
    press_ctrl_c(monkeypatch, at)
    X, y = by_neighbour(N)
    with (
        pytest.warns(HedgerowWarning, match=f"window='auto' is {width}, for comparing windows was interrupted"),
        pytest.warns(ConvergenceWarning, match="interrupted"),
    ):
        model.fit(X, y)
    assert (model.window_, model.outcome_, model.n_iter_) == (width, "interrupted", 1)
    assert len(model.predict(X[:1])[0]) == len(X[0])
    assert signal.getsignal(signal.SIGINT) is before
    assert clone(model).set_params(window=1).fit(X, y).outcome_ != "interrupted"  # a fit of its own


def test_ctrl_c_in_the_training_of_a_quick_model_ends_the_comparison(monkeypatch):
    class Interrupted(LinearCRF):
        def fit(self, *given, **options):
            super().fit(*given, **options)
            self.outcome_ = "interrupted"
            return self

    with stages(), pytest.warns(HedgerowWarning, match="window='auto' is 0, for comparing windows was interrupted"):
        assert choose_window(learn(*by_neighbour(N)), lambda: Interrupted(max_iter=2)) == 0


def test_a_second_ctrl_c_gives_up(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    press_ctrl_c(monkeypatch, 1, times=2)
    model = LinearCRF()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*by_neighbour(N))
    assert not hasattr(model, "weights_")
    assert signal.getsignal(signal.SIGINT) is before


def test_other_words_are_refused():
    with pytest.raises(InputError, match=r"window is 'wide'.*'auto'"):
        LinearCRF(window="wide").fit(*by_neighbour(N))


def test_labels_that_training_lacks_do_no_harm():
    X, y = by_neighbour(N)
    y = [[*labels[:5], f"own {i}", *labels[6:]] if i < 20 else labels for i, labels in enumerate(y)]
    dataset = learn(X, y)
    assert choose_window(replace(dataset, weight_seq=np.ones(N)), quick) > 0


@pytest.mark.filterwarnings("ignore:training stopped")
@pytest.mark.parametrize(
    "model", [IOHMM(max_iter=2, random_state=0), BeamSearchTagger(early_stopping=False, max_iter=2)]
)
def test_where_no_quick_model_can_be_trained_there_is_no_window(model):
    X, y = by_neighbour(80, 6)
    partly = [[label if t % 2 else None for t, label in enumerate(labels)] for labels in y]  # none has one before it
    with pytest.warns(HedgerowWarning, match=r"is 0, for no quick model can compare windows.*; set window"):
        assert model.fit(X, partly).window_ == 0


def test_sequences_without_weight_compare_nothing():
    X, y = by_neighbour(60)
    weights = np.zeros(60)
    weights[:2] = 1.0  # 24 labels that count
    assert TreeCRF(**FEW).fit(X, y, sample_weight=weights).window_ == 0
    weights[:40] = 1.0
    assert TreeCRF(**FEW).fit(X, y, sample_weight=weights).window_ >= 1


def test_the_global_random_state_is_left_alone():
    X, y = by_neighbour(40)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    TreeCRF(random_state=0, **FEW).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
