"""hedgerow explain: importance, trees and rules of a model file, as text and as pictures."""

from __future__ import annotations

import json

import pytest

import hedgerow as package
from hedgerow.cli.explain import explain
from hedgerow.explain import importance, rules, tree_text


def test_importance_of_trees(hedgerow, planted):
    done = hedgerow("explain", planted, "--top", 3)
    model = package.load(planted)
    assert done.out == importance(model).table(3) + "\n"
    assert done.out.splitlines()[0] == "importance by gain"
    used = hedgerow("explain", planted, "--by", "use").out
    assert used == importance(model, "use").table() + "\n"
    assert used != done.out


def test_importance_of_weights(hedgerow, trained):
    lines = hedgerow("explain", trained, "--top", 2).out.splitlines()
    assert lines[0] == "importance by weight"
    assert lines[-1].startswith("  and ")
    assert len(lines) == 4


def test_a_tree(hedgerow, planted):
    out = hedgerow("explain", planted, "--tree", 2, "--label", "B").out
    assert out == tree_text(package.load(planted), 2, "B") + "\n"
    assert out.startswith("iteration 2, label B: ")


def test_rules(hedgerow, planted):
    lines = hedgerow("explain", planted, "--rules", 4, "--label", "A").out.splitlines()
    found = rules(package.load(planted), 4, "A")
    assert [line.split()[0] for line in lines] == [f"{rule.weight:+.3f}" for rule in found]
    assert [line.partition(" if ")[2] for line in lines] == [rule.when for rule in found]
    every = hedgerow("explain", planted, "--rules", 30).out
    assert {line.split()[1] for line in every.splitlines()} == {"A", "B", "C"}


@pytest.mark.parametrize("options", [(), ("--tree", 1, "--label", "A")], ids=["importance", "tree"])
def test_pictures(hedgerow, folder, planted, options):
    pytest.importorskip("matplotlib")
    plain = hedgerow("explain", planted, *options)
    drawn = hedgerow("explain", planted, *options, "--plot", "picture.png")
    assert (drawn.code, drawn.out, drawn.err) == (0, plain.out, "")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_labels_that_are_numbers(folder):
    model = package.TreeCRF(n_estimators=2, early_stopping=False).fit([["a", "b", "a"]], [[1, 2, 1]])
    model.save("m")
    assert "label 2:" in explain("m", tree=1, label="2")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--tree 1", "--tree needs --label"),
        ("--tree 1 --rules 3 --label A", "--tree and --rules are two views"),
        ("--label A", "--label is for --tree and --rules"),
        ("--by use --rules 3", "--by is for the importance"),
        ("--rules 3 --plot x.png", "no picture of rules"),
        ("--by weight", "by is 'weight'. For TreeCRF choose 'gain' or 'use'"),
        ("--tree 999 --label A", "there is no iteration 999"),
        ("--tree 1 --label Q", "the label 'Q' is not one of those"),
        ("--rules 0", "Invalid value for '--rules'"),
    ],
)
def test_what_is_refused(hedgerow, folder, planted, options, complaint):
    before = sorted(folder.iterdir())
    assert complaint in hedgerow("explain", planted, *options.split()).complaint
    assert sorted(folder.iterdir()) == before


def test_a_linear_model_has_no_trees(hedgerow, trained):
    assert hedgerow("explain", trained, "--tree", 1, "--label", "O").complaint.startswith("LinearCRF has no trees")
    assert hedgerow("explain", trained, "--rules", 3).complaint.startswith("LinearCRF has no trees")


def test_several_trees_a_step(hedgerow, folder, planted, monkeypatch):
    model = package.load(planted)
    trees = model.ensemble_.trees()
    twice = [tree for i in range(0, len(trees), 3) for tree in trees[i : i + 3] * 2]
    model.ensemble_ = type(model.ensemble_).of(3, twice, trees_per_step=2)
    monkeypatch.setattr("hedgerow.estimators.files.load", lambda path: model)
    out = explain("m", tree=1, label="A")
    one, two = out.split("\n\n")
    assert one == two == tree_text(model, 1, "A", 2)
    done = hedgerow("explain", planted, "--tree", 1, "--label", "A", "--plot", "x")
    assert "has 2 trees for each label" in done.complaint


# ------------------------------------------------------------------------------------------------ a label


def test_why_a_label(hedgerow, folder, trained):
    (folder / "one.txt").write_text("He PRP B-NP\nsleeps VBZ B-VP\n\nThe DT B-NP\ncat NN I-NP\n")
    done = hedgerow("explain", trained, "one.txt", "--sequence", 1, "--position", 1)
    assert done.code == 0
    assert done.out.startswith("position 1: ")
    told = json.loads(hedgerow("explain", trained, "one.txt", "--sequence", 1, "--position", 1, "--json").out)
    assert sum(part["log_odds"] for part in told["parts"]) == pytest.approx(told["log_odds"], abs=1e-9)
    assert f"{told['label']} (" in done.out
    other = hedgerow("explain", trained, "one.txt", "--sequence", 1, "--position", 1, "--against", "O", "--changes")
    assert "against O (" in other.out


def test_why_a_label_as_a_page_and_as_a_picture(hedgerow, folder, trained):
    pytest.importorskip("matplotlib")
    (folder / "one.txt").write_text("He PRP B-NP\nsleeps VBZ B-VP\n")
    done = hedgerow("explain", trained, "one.txt", "--position", 0, "--html", "why.html", "--plot", "why.png")
    assert done.code == 0
    assert (folder / "why.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (folder / "why.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("one.txt",), "--position is missing"),
        (("one.txt", "--position", 7), "The sequence has positions 0 to 1"),
        (("one.txt", "--position", 0, "--sequence", 3), "there is no sequence 3. It has 1"),
        (("one.txt", "--position", 0, "--tree", 1), "--tree, --rules and --by are of the whole model"),
        (("--position", 0), "need DATA"),
        (("one.txt", "--position", 0, "--label", "B-XX"), "'B-XX', which is not one of the labels"),
        (("no.txt", "--position", 0), "no.txt"),
    ],
)
def test_what_cannot_be_asked_of_a_label(hedgerow, folder, trained, more, message):
    (folder / "one.txt").write_text("He PRP B-NP\nsleeps VBZ B-VP\n")
    done = hedgerow("explain", trained, *more)
    assert done.code == 2
    assert message in done.err
