"""One label against the rest: which labels, and what is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reproduction.beyond.future_lines import METHODS, REST, measure, tasks
from reproduction.contenders import Labelling
from reproduction.problems import folds

from .tiny import SETTINGS, tiny_problem


def problem(y):
    X, parts = [["a"] * len(row) for row in y], folds(len(y), 2, seed=0)
    return replace(tiny_problem("papers"), X=X, y=y, parts=lambda seed: parts)


def test_the_most_frequent_label_is_no_task():
    y = [["body"] * 5 + ["head"] * 2 + ["note"] * 3, ["body", "head", "page"]]
    found = tasks(problem(y), replace(SETTINGS, quick=False))
    assert [task.name for task in found] == ["head", "note", "page"]
    assert found[1].y == [[REST] * 7 + ["note"] * 3, [REST] * 3]
    assert [task.name for task in tasks(problem(y), replace(SETTINGS, quick=True))] == ["head"]


def test_what_is_measured():
    """Ten lines, of which four have the label: one method is right, one finds half, one finds nothing."""
    task = replace(problem([["a"] * 4 + [REST] * 6] * 2), name="a")
    said = dict(zip(METHODS, ([REST] * 10, ["a"] * 2 + [REST] * 8, ["a"] * 4 + [REST] * 6)))
    own = measure(task, {m: Labelling([row, row], 2.0, []) for m, row in said.items()}, replace(SETTINGS, seeds=(0,)))
    assert [own["accuracy"][m].mean for m in METHODS] == pytest.approx([60.0, 80.0, 100.0])
    assert [own["f1"][m] for m in METHODS] == pytest.approx([0.0, 200 / 3, 100.0])
    assert [own["tests"][m].difference for m in own["tests"]] == pytest.approx([40.0, 20.0])
    assert own["tests"]["MEMM"].p_value < own["tests"]["CRF"].p_value
