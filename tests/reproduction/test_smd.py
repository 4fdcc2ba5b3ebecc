"""What is read off the curves of online trainers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from reproduction.published import SMD_F
from reproduction.smd import chains as smd
from reproduction.smd.online import Curve

TRUTH = np.array([0, 1, 1, 0, 1, 0], dtype=np.int32)


class _Reader:
    dataset = SimpleNamespace(require_labels=lambda purpose: TRUTH)

    @staticmethod
    def lists(labels):
        return [["B-NP" if label else "O" for label in labels]]


@pytest.fixture
def task():
    chain = SimpleNamespace(n_weights=12)
    fields = {"title": "Made", "published_score": "chunks", "other_score": "chunks", "batch_size": 8, "meta_gain": 0.1}
    return SimpleNamespace(chain=chain, reader=_Reader, published=SMD_F["np"], **fields)


def curve(*scores, passes=None, diverged=""):
    points = list(passes or range(1, len(scores) + 1))
    return Curve([float(p) for p in points], [{"chunks": s} for s in scores], 1.0, TRUTH, diverged)


@pytest.fixture
def data(task):
    curves = {
        smd.PUBLISHED_LBFGS: [curve(50.0, 80.0)],
        smd.LBFGS: [curve(50.0, 80.0, 90.0, 94.0, passes=(1, 5, 10, 20))],
        smd.PUBLISHED_SMD: [curve(90.0, 94.0), curve(diverged="too large")],
        smd.SMD: [curve(90.0, 93.95, 93.0, 94.1), curve(89.0, 93.0, 93.95, 94.3)],
        smd.PUBLISHED_SGD: [curve(diverged="too large")],
    }
    return smd.summarise(task, curves)


def test_converged_lbfgs_is_the_target(data):
    assert (data["target"], data["whole"], data["fifth"]) == (94.0, 20.0, pytest.approx(4.0))
    own = data["methods"][smd.SMD]
    assert own["reached"] == [2.0, 3.0]
    assert own["settled"] == [4.0, 3.0]
    assert own["at_a_fifth"] == [94.1, 94.3]
    assert own["final"]["chunks"].mean == pytest.approx(94.2)
    assert own["best"].each == (94.1, 94.3)


def test_those_that_diverged_are_counted_and_do_not_count(data):
    assert data["methods"][smd.PUBLISHED_SMD]["n_diverged"] == 1
    assert data["methods"][smd.PUBLISHED_SMD]["final"]["chunks"].each == (94.0,)
    assert smd._row(smd.PUBLISHED_SMD, data)[0] == "SMD as published (1 diverged)"
    assert smd._row(smd.PUBLISHED_SGD, data)[1] == "diverged"
    assert len(smd._row(smd.PUBLISHED_SGD, data)) == len(smd._row(smd.SMD, data))
    assert len(smd._near_row(smd.PUBLISHED_SGD, data)) == len(smd._near_row(smd.SMD, data))


def test_published_figures_stand_beside_the_method_they_are_of(data):
    published = {method: own["published"] for method, own in data["methods"].items()}
    assert published == {
        smd.PUBLISHED_LBFGS: 93.6, smd.LBFGS: None, smd.PUBLISHED_SMD: 93.6, smd.SMD: None, smd.PUBLISHED_SGD: 93.4,
    }  # fmt: skip


@pytest.mark.parametrize(("values", "text"), [([1.0, 2.0], "1.50"), ([1.0, None], "1 of 2"), ([None, None], "–")])
def test_a_mean_is_of_all_or_of_none(values, text):
    assert smd._mean(values) == text
