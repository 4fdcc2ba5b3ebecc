"""The arena from end to end on man-made data, and what it says of runs that fail."""

from __future__ import annotations

import json
import signal
import subprocess

import numpy as np
import pytest

from benchmarks.arena.__main__ import main, named, progress
from benchmarks.arena.baselines import CRFsuite, LightGBM, LightGBMChain
from benchmarks.arena.comparison import compare, pair_lines, rank_lines, rank_results
from benchmarks.arena.running import _died
from benchmarks.arena.table import results_table, skipped_lines
from hedgerow import HMM, LinearCRF
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy

POSTERIOR = "HMM(decoder='posterior')"  # as the model that drew the data labels them


def result(task, contender, accuracy, seed=0, status="ok", **more):
    """A made-up result; its errors are those of twenty sequences of ten positions."""
    head = {"task": task, "contender": contender, "seed": seed, "quick": True, "inside": False, "status": status}
    if status != "ok":
        return {**head, "why": "over 5 s", **more}
    wrong = [round(10 * (1 - accuracy))] * 20
    measures = {"accuracy": accuracy, "macro_f1": 0.5, "segment_f1": 0.5, "log_loss": 1 - accuracy}
    measures["calibration_error"] = 0.1
    costs = {"fit_seconds": 1.0, "predict_seconds": 0.1, "peak_megabytes": 5.0}
    errors = {"sequences": list(range(20)), "wrong": wrong, "positions": [10] * 20, "redrawn": False}
    return {**head, "primary": "accuracy", "measures": measures, "warm": "yes", **costs, **errors, **more}


@pytest.mark.slow
def test_two_contenders_on_made_data(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    output = tmp_path / "results.json"
    same = ["--quick", "--output", str(output), "--against", POSTERIOR]
    main([*same, "--task", "made: labels", "--model", POSTERIOR, "--model", "LightGBM(n_estimators=5)"])
    main([*same, "--merge", "--task", "protein", "--task", "made: labels", "--model", POSTERIOR])
    printed = capsys.readouterr().out
    assert f"{POSTERIOR}: HEDGEROW_DATA is not set (protein)" in printed
    found = {(own["task"], own["contender"]): own for own in json.loads(output.read_text())["results"]}
    assert len(found) == 3
    hmm, alone = (found["made: labels", name] for name in (POSTERIOR, "LightGBM(n_estimators=5)"))
    # The data are drawn from a hidden Markov model: it comes near the best there is, and one without a chain does not.
    assert hmm["best"] - 0.03 < hmm["measures"]["accuracy"] < hmm["best"] + 0.02
    assert alone["measures"]["accuracy"] < hmm["measures"]["accuracy"] - 0.05
    assert hmm["measures"]["log_loss"] < alone["measures"]["log_loss"]
    assert sum(hmm["positions"]) == 80 * 20
    assert 1 - sum(hmm["wrong"]) / sum(hmm["positions"]) == pytest.approx(hmm["measures"]["accuracy"])
    assert compare(list(found.values()), POSTERIOR)["made: labels"]["LightGBM(n_estimators=5)"][1] < 0.05


@pytest.mark.slow
def test_errors_and_limits_are_told(tmp_path, capsys):
    output = tmp_path / "results.json"
    same = ["--quick", "--output", str(output), "--task", "made: labels", "--merge"]
    main([*same, "--model", "LinearCRF(transition_columns=['no such column'])"])
    main([*same, "--inside-train", "--limit", "1", "--model", "TreeCRF(n_estimators=100000, early_stopping=False)"])
    printed = capsys.readouterr().out
    assert "error: InputError" in printed
    assert "over 1 s" in printed


def test_a_contender_that_is_none_ends_the_program(tmp_path):
    with pytest.raises(SystemExit, match="no contender"):
        main(["--model", "open('x')", "--output", str(tmp_path / "x.json")])
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_wrote_nothing():
    assert _died(subprocess.CompletedProcess([], -signal.SIGXCPU, "", ""), 5.0) == {"status": "over", "why": "over 5 s"}
    assert _died(subprocess.CompletedProcess([], -signal.SIGKILL, "", ""), 5.0)["why"] == "ended by SIGKILL"
    assert _died(subprocess.CompletedProcess([], 1, "", "a\nMemoryError: b\n"), 5.0)["why"] == "MemoryError: b"


def test_one_over_its_limit_is_ranked_last_and_one_that_was_skipped_not_at_all():
    results = [result("one", "A", 0.9), result("one", "B", 0.8), result("one", "C", 0.7)]
    results += [
        result("two", "A", 0.9, status="over"),
        result("two", "B", 0.8),
        result("two", "C", 0, status="skipped"),
    ]
    found = rank_results(results)
    assert found.ranks == {"A": 1.5, "B": 1.5}
    assert "Not ranked, for they did not run on every task: `C`." in rank_lines(results)
    assert "no ranks" in rank_lines(results[:1])[0]


def test_calibration_and_seconds_are_means_of_tasks_that_all_finished():
    results = [result(task, name, 0.9) for task in ("one", "two") for name in "AB"]
    results[0]["measures"]["calibration_error"], results[0]["fit_seconds"] = 0.3, 5.0
    results += [result("three", "A", 0.9), result("three", "B", 0.8, status="over")]
    rows = {line.split("`")[1]: line.split(" | ")[-2:] for line in rank_lines(results) if line.startswith("| `")}
    assert rows == {"A": ["20.0", "3.0 |"], "B": ["10.0", "1.0 |"]}


def test_the_one_that_chooses_has_the_seconds_that_are_given():
    assert named("AutoLabeler", 30.0) == "AutoLabeler(time_budget=30)"
    assert named("AutoLabeler(cv=3)", 30.0) == "AutoLabeler(cv=3)"
    assert named("HMM", 30.0) == "HMM()"


def test_ranks_are_by_the_measure_of_the_task():
    results = [result("one", "A", 0.9), result("one", "B", 0.8)]
    for own, score in zip(results, (0.1, 0.2)):
        own["primary"], own["measures"]["macro_f1"] = "macro_f1", score
    assert rank_results(results).ranks == {"B": 1.0, "A": 2.0}
    assert rank_results(results, "log_loss").ranks == {"A": 1.0, "B": 2.0}


def test_pairs_are_marked_where_sequences_prove_them():
    results = [result("one", "A", 0.9), result("one", "B", 0.8), result("one", "C", 0.9)]
    lines = pair_lines(results, "A")
    assert lines[2] == "| one | -10.00* | +0.00 |"
    assert lines[3].endswith("| 0 : 1 | 0 : 0 |")
    assert "No other" in pair_lines(results, "D")[0]


def test_the_table_has_means_and_reasons():
    results = [result("one", "A", 0.9), result("one", "A", 0.8, seed=1), result("one", "B", 0, status="over")]
    results.append(result("one", "C", 0, status="skipped", why="not here"))
    rows = results_table(results).splitlines()
    assert rows[2].startswith("| one | `A` | 85.00 | 50.00 |")
    assert "over 5 s" in rows[3]
    assert len(rows) == 4
    assert skipped_lines(results) == ["skipped: C: not here (one)"]
    assert "90.00 % right" in progress(results[0])


@pytest.mark.parametrize("make", [LightGBM, LightGBMChain, CRFsuite])
def test_baselines_give_labels_and_probabilities(make):
    X, y = make_sequences(300, 3, random_state=1)
    (X, X_test), (y, y_test) = ((own[:200], own[200:]) for own in (X, y))
    model = make(window=1, random_state=0).fit(X, y)
    probs = model.predict_proba(X_test)
    assert all(np.allclose(rows.sum(axis=1), 1.0, atol=1e-6) for rows in probs)
    assert [len(rows) for rows in probs] == [len(labels) for labels in y_test]
    predicted = model.predict(X_test)
    if make is not CRFsuite:  # which gives the most probable labelling
        assert predicted[0] == [model.classes_[k] for k in probs[0].argmax(axis=1)]
    drawn_by = HMM(decoder="posterior").fit(X, y)  # nothing does much better than the model that drew the data
    assert abs(label_accuracy(y_test, predicted) - label_accuracy(y_test, drawn_by.predict(X_test))) < 0.04


def test_counted_transitions_help_where_labels_hang_together():
    X, y = make_sequences(200, 3, concentration=1.0, mean_length=20, random_state=3)
    alone, chain = (make(random_state=0).fit(X[:100], y[:100]) for make in (LightGBM, LightGBMChain))
    assert chain.moves_.sum(axis=1) == pytest.approx(np.ones(3))
    scores = [label_accuracy(y[100:], model.predict(X[100:])) for model in (alone, chain)]
    assert scores[1] > scores[0] + 0.02


def test_crfsuite_labels_as_a_linear_chain_by_viterbi():
    X, y = make_sequences(200, 3, concentration=1.0, random_state=2)
    (X, X_test), (y, _) = ((own[:100], own[100:]) for own in (X, y))
    ours = LinearCRF(l2=1.0, decoder="viterbi", pairs="observed", transitions="observed", tol=1e-7).fit(X, y)
    theirs = CRFsuite().fit(X, y)
    assert label_accuracy(ours.predict(X_test), theirs.predict(X_test)) > 0.97
    assert label_accuracy(ours.predict(X_test, decoder="posterior"), theirs.predict(X_test)) < 0.97
    gaps = [np.abs(a - b).max() for a, b in zip(ours.predict_proba(X_test), theirs.predict_proba(X_test))]
    assert max(gaps) < 0.05


def test_crfsuite_does_not_take_numbers():
    from hedgerow import learn

    dataset = learn([[{"a": 1.5}, {"a": 0.5}]], [["x", "y"]])
    assert "numbers" in CRFsuite().fits(dataset)
    assert CRFsuite().fits(learn([["a", "b"]], [["x", "y"]])) == ""
