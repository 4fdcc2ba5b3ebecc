"""Curves of F by passes: what is counted, and when a curve has settled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.datasets import make_chunking_like
from hedgerow.metrics import label_f1, span_f1
from reproduction.chains import ChainTask, Reader
from reproduction.published import SMD_F
from reproduction.smd import online
from reproduction.smd.online import (
    Curve,
    OnlineTask,
    mean_line,
    names_counted,
    spans_counted,
    train_annealed,
    train_lbfgs,
    train_perceptron,
    train_sgd,
    train_smd,
)

from .tiny import SETTINGS

N_PASSES = 3
QUICK = replace(SETTINGS, quick=True)


@pytest.fixture(scope="module")
def task():
    X, y = make_chunking_like(60, random_state=2)
    known = {label for labels in y[:40] for label in labels}
    y_test = [[label if label in known else "O" for label in labels] for labels in y[40:]]
    chain = ChainTask.of(X[:40], y[:40], X[40:], y_test)
    score = spans_counted(Reader(chain.layout, chain.test))
    return OnlineTask("Made", chain, score, 8, 0.1, N_PASSES, SMD_F["np"], "chunks", "chunks")


@pytest.mark.parametrize(
    ("scores", "settled"),
    [
        ([50.0, 93.0, 94.0, 94.0], 3.0),
        ([50.0, 93.95, 94.2, 94.0], 2.0),
        ([94.0, 93.0, 94.0, 93.0], None),
        ([94.0, 93.0, 93.9, 93.91], 3.0),
    ],
)
def test_a_curve_settles_where_it_never_falls_again(scores, settled):
    curve = Curve([1.0, 2.0, 3.0, 4.0], [{"F": score} for score in scores])
    assert curve.settled("F", 94.0) == settled


def test_sgd_looks_at_each_sequence_once_a_pass(task):
    curve = train_sgd(task, 0, QUICK, True)
    # 5 batches of 8: four readings within the first pass, then one a pass
    assert curve.passes == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 3.0])
    assert train_sgd(task, 0, QUICK, False).passes == pytest.approx([1.0, 2.0, 3.0])
    assert len(curve.scores) == len(curve.passes)
    assert curve.seconds > 0


def test_readings_within_a_pass_keep_their_distance(task, monkeypatch):
    monkeypatch.setattr(online, "FINE", 1.0)
    assert train_sgd(task, 0, QUICK, True).passes == pytest.approx([0.2, 0.4, 0.8, 1.0, 2.0, 3.0])


def test_hessian_products_are_passes_of_their_own(task):
    assert train_smd(task, 0, QUICK, False, gain=0.01, schedule="plain").passes == pytest.approx([2.0, 4.0])


def test_the_trials_of_a_gain_are_counted(task):
    passes = train_smd(task, 0, QUICK, False).passes
    assert passes[0] > 2.0
    assert np.diff(passes) == pytest.approx([2.0])


def test_the_perceptron_is_read_off_as_often_as_the_others(task):
    assert train_perceptron(task, 0, QUICK, True).passes == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("as_published", [True, False])
def test_lbfgs_counts_evaluations(task, as_published):
    curve = train_lbfgs(task, replace(QUICK, max_iterations=4), as_published=as_published)
    assert curve.passes[0] == 1.0
    assert len(curve.passes) == 5
    assert curve.scores[-1]["chunks"] > curve.scores[0]["chunks"]


def test_a_gain_that_is_too_large_is_told(task):
    curve = train_sgd(task, 0, QUICK, True, gain=1e9)
    assert "gain=1e+09 is too large" in curve.diverged
    assert not train_sgd(task, 0, QUICK, False).diverged


def test_readings_within_some_passes():
    curve = Curve([0.5, 1.0, 2.0], [{"F": 1.0}, {"F": 93.95}, {"F": 3.0}])
    assert [curve.at("F", passes) for passes in (0.1, 0.5, 1.9, 2.0, 2.1)] == [None, 1.0, 93.95, 3.0, None]
    assert [curve.within("F", passes) for passes in (0.1, 0.5, 1.9, 2.1)] == [None, 1.0, 93.95, 3.0]
    assert curve.reached("F", 94.0) == 1.0
    assert curve.reached("F", 95.0) is None


def test_a_mean_line_is_of_whole_passes_and_of_orders_that_ended():
    close = Curve([0.5, 1.0, 2.0], [{"F": 1.0}, {"F": 90.0}, {"F": 92.0}])
    other = Curve([1.2, 2.2], [{"F": 91.0}, {"F": 94.0}])
    broken = Curve([1.0], [{"F": 0.0}], diverged="too large")
    xs, ys = mean_line([close, other, broken], "F")
    assert (xs, ys) == (pytest.approx([1.1, 2.1]), pytest.approx([90.5, 93.0]))
    assert mean_line([broken], "F") == ([], [])
    assert close.line("F") == ([0.5, 1.0, 2.0], [1.0, 90.0, 92.0])


def test_falling_sgd_finds_its_gain_and_goes_on(task):
    passes = train_annealed(task, 0, QUICK, False).passes
    assert passes[0] > 1.0
    assert np.diff(passes) == pytest.approx([1.0, 1.0])


def test_another_seed_is_another_order(task):
    first, same, other = (train_sgd(task, seed, QUICK, False).scores for seed in (0, 0, 1))
    assert first == same != other


def test_the_scores_of_names_are_those_of_the_metrics(task):
    """Of labels alone: micro-F over all labels but O."""
    reader = task.reader
    rng = np.random.default_rng(1)
    truth = reader.dataset.labels
    labels = np.where(rng.random(len(truth)) < 0.3, rng.permutation(truth), truth).astype(np.int32)
    found = names_counted(reader)(labels)
    lists = reader.lists(truth), reader.lists(labels)
    kinds = sorted({label for row in lists[0] for label in row} - {"O"})
    assert found["entities"] == pytest.approx(100 * span_f1(*lists))
    assert found["tokens"] == pytest.approx(100 * label_f1(*lists, labels=kinds, average="micro"))
    any_name = [[["O" if label == "O" else "X" for label in row] for row in part] for part in lists]
    assert found["tokens, any name"] == pytest.approx(100 * label_f1(*any_name, labels=["X"], average="micro"))
    assert spans_counted(reader)(labels) == {"chunks": pytest.approx(found["entities"])}
