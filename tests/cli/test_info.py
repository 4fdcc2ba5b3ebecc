"""hedgerow info: what a model file holds, in words."""

from __future__ import annotations

import pytest

import hedgerow as package
from hedgerow import LinearCRF
from hedgerow.explain import importance

from .conftest import planted_text


def test_labels_columns_and_weights(hedgerow, trained):
    out = hedgerow("info", trained, "--top", 2).out
    model = package.load(trained)
    feature, label, weight = model.feature_weights()[0]
    assert f"LinearCRF, {len(model.weights_)} weights" in out
    assert "trained on 3 sequences, 13 positions" in out
    assert "labels (5): B-NP B-PP B-VP I-NP O" in out
    assert "  word: categorical, 11 values, from -2 to +2" in out
    assert f"{weight:+8.3f}  {feature} → {label}" in out
    assert "0 of 25 are forbidden" in out
    assert len(out.split("weights of features")[1].split("\n\n")[0].splitlines()) == 1 + 4


def test_no_weights_where_none_are_asked_for(hedgerow, trained):
    out = hedgerow("info", trained, "--top", 0).out
    assert "labels (5)" in out
    assert "→" not in out


def test_a_model_of_python_with_attributes_and_forbidden_transitions(hedgerow, folder):
    LinearCRF(constraints=[("A", "A")]).fit([[["x", "y"], ["z"]]], [["A", "B"]]).save("m")
    out = hedgerow("info", "m").out
    assert "3 attributes, at its position" in out
    assert "1 of 4 are forbidden" in out
    assert "trained on" not in out


def test_runs_of_labels_of_a_chain_of_order_two(hedgerow, folder):
    LinearCRF(order=2).fit([["x", "y", "z"]], [["A", "B", "A"]]).save("m")
    out = hedgerow("info", "m").out
    assert "weights of runs of labels, 7 in all" in out
    assert "  ⊥ → A\n" in out
    assert "A B → A" in out


def test_a_template(hedgerow, folder):
    (folder / "template").write_text("U:%x[0,0]\nB\n")
    hedgerow("train", "train.txt", "-o", "m", "--model", "linear", "--template", "template", "-q")
    assert "template, 2 lines" in hedgerow("info", "m").out


def test_trees_and_their_features(hedgerow, planted):
    out = hedgerow("info", planted, "--top", 2).out
    model = package.load(planted)
    assert out.startswith(f"TreeCRF, 24 trees, {model.ensemble_.n_leaves} leaves\n")
    assert "trained on 60 sequences" in out
    assert "8 iterations (n_estimators), loss" in out
    assert "  letter: categorical, 3 values, from -1 to +1" in out
    assert out.endswith(importance(model).table(2) + "\n")
    assert "importance" not in hedgerow("info", planted, "--top", 0).out


def test_which_iterations_are_kept(hedgerow, folder, planted):
    model = package.load(planted)
    model.ensemble_, model.best_iteration_ = model.ensemble_.first(5), 5
    model.save("m")
    assert "8 iterations (n_estimators, kept the first 5), loss" in hedgerow("info", "m").out


@pytest.mark.parametrize("model", ["linear", "tree"])
def test_columns_that_nobody_gave_are_not_listed(hedgerow, folder, model):
    """Numbers and attributes with a window have a column of their own for what is outside."""
    (folder / "a.csv").write_text(planted_text())
    options = ("--trees", 3) if model == "tree" else ()
    assert hedgerow("train", "a.csv", "-o", "m", "--by", "sequence", "--model", model, *options, "-q").code == 0
    assert "(outside)" in [column.name for column in package.load("m").schema_.columns]
    listed = hedgerow("info", "m", "--top", 0).out.split("columns\n")[1].splitlines()
    assert [line.split(":")[0].strip() for line in listed] == ["letter", "size"]
