"""hedgerow train without --model: a model is looked for, what was chosen is said, and the line that is printed trains
the same again."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

import hedgerow as package
from hedgerow import HMM, AutoLabeler, LinearCRF, TreeCRF
from hedgerow.cli.info import command_line
from hedgerow.data.readers import read_table

from .conftest import planted_text

BASE = ("train", "a.csv", "-o", "m", "--by", "sequence", "-j", 1)


@pytest.fixture
def planted(folder):
    (folder / "a.csv").write_text(planted_text())
    return folder


@pytest.fixture
def quick(monkeypatch):
    """Two models to begin with, so that a search is a matter of a second."""
    from hedgerow.models.auto import estimator

    models = [HMM(), LinearCRF(l2=0.1)]
    monkeypatch.setattr(estimator, "first_guesses", lambda traits: models)


def test_a_model_is_looked_for_and_said(hedgerow, planted, quick):
    done = hedgerow(*BASE, "--set", "n_trials=3", "--set", "cv=2", "--window", 0)
    assert done.code == 0, done.err
    model = package.load("m")
    assert isinstance(model, AutoLabeler)
    assert model.time_budget == 60.0
    facts = done.out.splitlines()
    assert "models tried   3 (as many as n_trials)" in facts
    assert any(line.startswith("dev accuracy ") for line in facts)
    assert "to train the same again, in Python" in facts
    assert f"  {model.chosen_}" in facts
    table = next(i for i, line in enumerate(facts) if "log-loss" in line)
    assert facts[table + 1].startswith("→")
    assert sum("LinearCRF(" in line or "HMM(" in line for line in facts[table:]) >= 4
    assert "trial 1  " in done.err
    for command in (("tag", "m", "a.csv", "-p"), ("eval", "m", "a.csv")):
        assert hedgerow(*command).code == 0
    shown = hedgerow("info", "m").out
    assert shown.startswith("AutoLabeler, one model of 3 that were tried (n_trials)")
    assert model.chosen_ in shown


@pytest.mark.parametrize(
    "chosen",
    [
        LinearCRF(l2=0.5, window=1),
        TreeCRF(edges="shared", n_estimators=3, early_stopping=False, leaves="newton", window=(1, 0)),
        HMM(smoothing=0.1),
        package.MEMM(estimator=TreeCRF(n_estimators=3, early_stopping=False), window=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_command_that_is_printed_trains_the_same(hedgerow, planted, chosen):
    X, y = read_table("a.csv", "sequence", "label")
    model = AutoLabeler(candidates=[chosen], cv=0, random_state=0).fit(X, y)
    line = command_line(model, ["a.csv"], "again", {"by": ["sequence"], "kinds": {}, "format": None}, 0)
    assert line is not None
    program, *arguments = shlex.split(line)
    assert program == "hedgerow"
    done = hedgerow(*arguments, "-q")
    assert done.code == 0, done.err
    again = package.load("again")
    assert type(again) is type(chosen)
    for one, two in zip(model.predict_proba(X), again.predict_proba(X)):
        np.testing.assert_array_equal(one, two)


def test_what_a_command_cannot_say_is_left_to_python(planted):
    X, y = read_table("a.csv", "sequence", "label")
    few = {"n_estimators": 2, "early_stopping": False}
    for candidates in ([HMM(), LinearCRF()], [TreeCRF(init=LinearCRF(), edges="shared", **few)]):
        model = AutoLabeler(candidates=candidates, cv=0, random_state=0).fit(X, y)
        assert command_line(model, ["a.csv"], "m", {}, 0) is None


def test_how_files_are_read_is_in_the_command(planted):
    X, y = read_table("a.csv", "sequence", "label")
    model = AutoLabeler(candidates=[HMM()], cv=0).fit(X, y)
    reading = {"columns": ["a", "b"], "separator": "\t", "kinds": {"a": "numeric"}, "label": None}
    line = command_line(model, ["my file.txt", "b.txt"], "m", reading, 0)
    expected = "hedgerow train 'my file.txt' b.txt -o m --columns a,b --separator '\\t' --kinds a=numeric --model hmm"
    assert line == expected


@pytest.mark.parametrize("option", [("--l2", "0.5"), ("--set", "l2=0.5"), ("--dev", "0.2"), ("--trainer", "adagrad")])
def test_what_one_model_alone_has_is_for_the_linear_one_and_that_is_said(hedgerow, planted, option):
    done = hedgerow(*BASE, *option)
    assert done.code == 0, done.err
    assert isinstance(package.load("m"), LinearCRF)
    assert f"{' '.join(option)[:5]}" in done.err.splitlines()[0]
    assert "so this is --model linear" in done.err.splitlines()[0]
    assert "--model linear" not in hedgerow(*BASE, *option, "--model", "linear").err
    assert hedgerow(*BASE, *option, "-q").err == ""


def test_a_dev_file_chooses(hedgerow, planted, quick):
    options = ("--set", "n_trials=2", "--dev", "a.csv", "--scoring", "label_f1", "--window", 0)
    done = hedgerow(*BASE, *options)
    assert done.code == 0, done.err
    model = package.load("m")
    assert [record["folds"] for record in model.leaderboard_] == [1, 1]
    assert "dev label_f1" in done.out
    assert model.metadata_["training"]["sequences"] == 60


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("--model auto --dev 0.2", "--dev with a share is not supported with --model auto"),
        ("--model auto --l2 1", "--l2 is for --model linear"),
        ("--time-budget 0", "--time-budget is 0.0"),
        ("--model tree --time-budget 9", "--time-budget is for --model auto"),
    ],
)
def test_refusals(hedgerow, planted, arguments, what):
    assert what in hedgerow(*BASE, *arguments.split()).complaint


def test_features_that_are_ready_made_have_no_window(hedgerow, folder, quick):
    (folder / "template").write_text("U00:%x[-1,0]\nU01:%x[0,0]\n")
    options = ("--template", "template", "--set", "n_trials=2", "--set", "cv=2", "--set", "scoring=accuracy")
    assert hedgerow("train", "train.txt", "-o", "m", *options, "-q").code == 0
    assert {column.offsets for column in package.load("m").schema_.columns} == {(0,)}
