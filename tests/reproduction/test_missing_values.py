"""The experiments with missing values: what is damaged and filled in, what is counted, and the analysis of deviance."""

from __future__ import annotations

import builtins
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.data.sequences import Sequences
from hedgerow.datasets import make_missing
from hedgerow.errors import InputError, MissingExtraError
from reproduction.datasets.lines import yes_and_no
from reproduction.datasets.papers import GROUPS
from reproduction.deviance import analyse_clustered, analyse_deviance
from reproduction.published import TABLE_4_1
from reproduction.thesis import figure_4_1 as thesis_figure_4_1
from reproduction.thesis import table_4_1 as thesis_table_4_1
from reproduction.thesis.figure_4_2 import count_true
from reproduction.thesis.missing_values import (
    WAYS,
    Case,
    give,
    load_case,
    measure,
    new_model,
    to_windows,
    to_words,
    tune,
)

from .tiny import SETTINGS

WORDS = [list("plane"), list("to"), list("eel")]


def test_windows_of_words_and_back():
    windows = to_windows(WORDS)
    assert [len(x) for x in windows] == [4, 1, 2]
    assert list(windows[0][0].values()) == ["-", "-", "p", "l", "a", "n"]
    assert list(windows[0][3].values()) == ["l", "a", "n", "e", "-", "-"]
    assert to_words(windows) == WORDS


def test_a_letter_goes_missing_in_all_windows():
    (x,) = to_windows([["p", "l", None, "n", "e"]])
    assert [[name for name, letter in row.items() if letter is None] for row in x] == [
        ["letter[+2]"], ["letter[+1]"], ["letter[0]"], ["letter[-1]"],
    ]  # fmt: skip


def test_words_are_filled_with_the_most_common_letter_of_training():
    case = Case("hyphen", "", WORDS, [], [], [], 0, spread=True)
    way, (train, test) = give(case, "impute", [["e", "e", None]], [[[None, "p"]]])
    assert way == "learned"
    assert to_words(train) == [["e", "e", "e"]]
    assert to_words(test) == [["e", "p"]]
    way, (train,) = give(case, "weighting", [["e", None]], [])
    assert way == "weighting"
    assert to_words(train) == [["e", None]]


def test_lines_keep_what_is_yes_or_no():
    columns = {"short": np.array([True, False, True]), "size": np.array([1.0, 2.0, 3.0])}
    X = Sequences(columns, np.array([0, 2, 3]), {"short": "boolean", "size": "numeric"})
    own = yes_and_no(X)
    assert dict(own.kinds) == {"short": "boolean"}
    assert len(own) == 2
    assert count_true(X) == {"short": pytest.approx(2 / 3)}


def test_every_label_of_a_paper_has_one_group():
    labels = [label for own in GROUPS.values() for label in own]
    assert len(labels) == len(set(labels)) == 24


@pytest.mark.parametrize("way", WAYS)
def test_right_labels_are_those_of_the_model(way, tiny_data):
    settings = replace(SETTINGS, quick=True)
    case = load_case("protein", settings)
    found = measure(case, way, 0.3, settings)
    assert np.shape(found["right"]) == (2, 2)
    train, test = make_missing(case.X, 0.3, random_state=1), make_missing(case.X_test, 0.3, random_state=1_000)
    model = new_model(case, way, **found["chosen"]).fit(train, case.y)
    assert found["right"][1][0] == round(case.n_test * model.score(test, case.y_test))
    assert found["accuracy"] == pytest.approx(100 * np.mean(found["right"]) / case.n_test)
    np.testing.assert_array_equal(np.sum(found["right_of_sequences"], axis=1), np.sum(found["right"], axis=1))


def test_what_is_held_out_chooses(tiny_data):
    """The parameters are the best of all that were tried, on a third of the sequences."""
    case = load_case("protein", SETTINGS)
    chosen = tune(case, "weighting", make_missing(case.X, 0.2, random_state=0), SETTINGS)
    assert 1 <= chosen["n_iterations"] <= SETTINGS.max_iterations
    assert chosen["l2_regularization"] in SETTINGS.shrinkages


def test_the_analysis_is_that_of_logarithms_of_odds():
    """Where training sets are nearly alike δ is the difference of the log odds themselves."""
    pytest.importorskip("statsmodels")
    found = analyse_deviance({"a": [799, 801], "b": [702, 698], "c": [800, 802]}, [1000, 1000], "a")
    odds = np.log([800 / 200, 700 / 300, 801 / 199])
    assert found["b"][0].value == pytest.approx(odds[1] - odds[0], abs=1e-3)
    assert found["c"][0].value == pytest.approx(odds[2] - odds[0], abs=1e-3)
    assert (found["b"][0].significant, found["c"][0].significant) == (True, False)
    assert found["b"][1] < 0.001 < 0.5 < found["c"][1]


def test_labels_that_are_wrong_together_count_less():
    """The same δ; one sequence that decides everything is no evidence, and many that agree are."""
    pytest.importorskip("statsmodels")
    lengths = [100] * 20
    base = np.random.default_rng(0).integers(75, 86, size=(2, 20))
    one = {"a": base.tolist(), "b": np.where(np.arange(20) == 0, 100, base).tolist()}
    many = {"a": base.tolist(), "b": (base + 1).tolist()}
    for right, sure in ((one, False), (many, True)):
        plain = analyse_deviance({way: [sum(row) for row in rows] for way, rows in right.items()}, [2000, 2000], "a")
        clustered = analyse_clustered(right, lengths, "a")
        assert clustered["b"][0].value == pytest.approx(plain["b"][0].value, rel=1e-6)
        assert clustered["b"][0].significant == sure
        assert not plain["b"][0].significant


def test_training_sets_have_their_own_odds():
    """Two training sets that differ much do not hide a small difference of methods."""
    pytest.importorskip("statsmodels")
    right = {"a": [9_000, 5_000], "b": [8_800, 4_600]}
    found = analyse_deviance(right, [10_000, 10_000], "a")
    assert -0.25 < found["b"][0].value < -0.1
    assert found["b"][0].significant
    with pytest.raises(InputError, match="the baseline is 'c'"):
        analyse_deviance(right, [10_000, 10_000], "c")


def test_without_statsmodels_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("statsmodels"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"The analysis of deviance needs statsmodels.*hedgerow\[experiments\]"):
        analyse_deviance({"a": [1], "b": [2]}, [3], "a")


def test_published_coefficients_stand_under_their_ways():
    assert [len(own) for own in TABLE_4_1.values()] == [4, 4, 4, 4]
    assert TABLE_4_1["hyphen"][0.05][0] == (0.036, True)
    assert TABLE_4_1["faq"][0.4] == ((-1.243, True), (-0.584, True), (-0.359, True))
    assert thesis_table_4_1.others("papers") == ["weighting", "surrogate", "indicator"]
    assert thesis_table_4_1.others("protein") == ["surrogate", "impute", "indicator"]


def test_where_the_thesis_found_another_way_best():
    found = {way: {"0.05": {"accuracy": 80.0 + (way == "surrogate")}} for way in WAYS}
    assert thesis_figure_4_1.best_way({"found": found}, 0.05) == "surrogate"
    assert thesis_figure_4_1.published_best("hyphen", 0.05) == "surrogate"
    assert thesis_figure_4_1.published_best("hyphen", 0.1) == "weighting"
    assert thesis_figure_4_1.published_best("papers", 0.1) == "impute"
