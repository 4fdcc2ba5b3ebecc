"""The tasks of the slides' table: their bounds are right, and the answers follow from the shares."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import HMM, MEMM, LinearCRF
from reproduction.intervals import Interval
from reproduction.published import SLIDES_ANSWERS
from reproduction.slides.methods import EFFICIENCY, METHODS, QUESTIONS, answers, make_method
from reproduction.slides.tasks import TASKS, neighbouring_inputs, neighbouring_labels, rib_and_rob


@pytest.mark.parametrize("name", TASKS)
def test_bounds(name):
    task = TASKS[name](5, 300, 1)
    assert 0 < task.without + 0.02 < task.best < 1
    assert task.captured(task.y_test) > 1  # the truth is better than any prediction
    again = TASKS[name](5, 300, 1)
    assert (again.X_test, again.best) == (task.X_test, task.best)
    assert TASKS[name](5, 300, 2).X_test != task.X_test


def test_what_is_without():
    """A model that lacks what is asked for comes to the lower bound, and one that has it to the upper one."""
    task = neighbouring_labels(400, 400, 1)
    no_labels = LinearCRF(order=0, window=0).fit(task.X, task.y)
    assert abs(task.captured(list(no_labels.predict(task.X_test)))) < 0.1
    assert task.captured(list(HMM(decoder="posterior").fit(task.X, task.y).predict(task.X_test))) > 0.9
    task = neighbouring_inputs(400, 400, 1)
    for window, low, high in ((0, -0.1, 0.1), (1, 0.9, 1.05)):
        model = LinearCRF(order=0, window=window).fit(task.X, task.y)
        assert low < task.captured(list(model.predict(task.X_test))) < high


def test_rib_and_rob():
    task = rib_and_rob(1000, 500, 0)
    assert {tuple(row) for row in task.y} == {("0", "1", "2"), ("3", "4", "2")}
    assert task.counted.sum() == 500
    crf = LinearCRF(window=0).fit(task.X, task.y)
    memm = MEMM(window=0).fit(task.X, task.y)
    assert task.captured(list(crf.predict(task.X_test))) > 0.9
    assert task.captured(list(memm.predict(task.X_test))) < 0.1
    # What counts is the second label alone.
    wrong_elsewhere = [["2", row[1], "0"] for row in task.y_test]
    assert task.accuracy(wrong_elsewhere) == 1.0


def test_answers():
    data = {
        "captured": {
            task: {m: Interval.of([share, share]) for m, share in zip(METHODS, np.linspace(0, 100, 7))}
            for task in TASKS
        },
        "times": dict(zip(METHODS, (1.0, 2.0, 9.9, 10.1, 50.0, 0.1, 1.0))),
    }
    found = answers(data)
    for task in TASKS:
        assert list(found[task].values()) == ["NO", "NO", "Partly", "Partly", "Partly", "YES", "YES"]
    assert list(found[EFFICIENCY].values()) == ["YES", "YES", "YES", "NO", "NO", "YES", "YES"]


def test_every_question_has_an_answer_of_the_slides():
    assert set(SLIDES_ANSWERS) == {*QUESTIONS.values(), EFFICIENCY}
    for own in SLIDES_ANSWERS.values():
        assert set(own) == set(METHODS) - {"M3N"}
    assert {type(make_method(name, 0, 3, 0)).__name__ for name in METHODS} == {
        "SlidingWindow", "RecurrentSlidingWindow", "HMM", "MEMM", "IOHMM", "LinearCRF", "MaxMarginMarkovNetwork",
    }  # fmt: skip
