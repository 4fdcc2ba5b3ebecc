"""Runs of wrong labels, and genes."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.sequences import Sequences
from reproduction.comparison import Difference
from reproduction.labelwise import figure_1 as labelwise_figure_1
from reproduction.labelwise import figure_2 as labelwise_figure_2
from reproduction.labelwise.figure_1 import TITLES, accuracies, verdict

WIN, LOSS, TIE = Difference(1.0, 0.01), Difference(-1.0, 0.01), Difference(-1.0, 0.5)


def point(noise, *tests):
    others = (name for name in TITLES if name != "labelwise")
    return {"noise": noise, "labelwise_against": {name: {"paired": test} for name, test in zip(others, tests)}}


def test_the_verdict_names_where_it_is_worse_than_one_and_better_than_all():
    points = [point(0.0, TIE, LOSS, WIN), point(0.1, WIN, WIN, WIN), point(0.2, WIN, TIE, WIN)]
    assert verdict(points, "paired") == {"worse_than_some": [0.0], "better_than_all": [0.1]}


@pytest.fixture(scope="module")
def noisy():
    return accuracies(0.3, 30_000, 0)


def test_counted_labels_are_far_better_by_the_posterior(noisy):
    """What the paper has at every noise: Viterbi is far behind where weights are counted."""
    assert noisy["generative"]["posterior"] > noisy["generative"]["viterbi"] + 5


def test_labelwise_training_mends_what_wrong_runs_do(noisy):
    best = {name: max(own.values()) for name, own in noisy.items()}
    assert best["labelwise"] > max(best["log_likelihood"], best["margin"])


def test_a_draw_is_the_same_twice():
    assert accuracies(0.1, 2_000, 3) == accuracies(0.1, 2_000, 3) != accuracies(0.1, 2_000, 4)


def test_the_paper_has_a_million_positions_and_noise_to_three_tenths():
    assert labelwise_figure_1.LENGTH == 1_000_000
    assert labelwise_figure_1.NOISES[0] == 0.0
    assert labelwise_figure_1.NOISES[-1] == 0.3


def test_genes_are_shortened_to_their_middle(monkeypatch):
    monkeypatch.setattr(labelwise_figure_2, "QUICK_BASES", 4)
    monkeypatch.setattr(labelwise_figure_2, "QUICK_GENES", 2)
    bases = np.array(list("acgtacgt" + "acg" + "ttt"), dtype=object)
    y = np.empty(3, dtype=object)
    y[:] = [list("nnccccnn"), list("nci"), list("nnn")]
    X, labels = labelwise_figure_2._shorten(Sequences({"base": bases}, [0, 8, 11, 14], {"base": "categorical"}), y)
    assert "".join(X.columns["base"]) == "gtac" + "acg"
    assert X.offsets.tolist() == [0, 4, 7]
    assert [list(row) for row in labels] == [list("cccc"), list("nci")]


def test_genes_are_dealt_out_whole():
    def genes(texts):
        y = np.empty(len(texts), dtype=object)
        y[:] = [list(text.upper()) for text in texts]
        bases, offsets = np.array(list("".join(texts)), dtype=object), np.cumsum([0, *map(len, texts)])
        return Sequences({"base": bases}, offsets, {"base": "categorical"}), y

    given = labelwise_figure_2.Genes(*genes(["acg", "tt", "gat"]), *genes(["ca", "gg"]))
    assert labelwise_figure_2.split(given, 0) is given
    dealt = labelwise_figure_2.split(given, 1)
    texts = ["".join(labelwise_figure_2._bases(X, i)) for X in (dealt.X, dealt.X_test) for i in range(len(X))]
    assert sorted(texts) == sorted(["acg", "tt", "gat", "ca", "gg"])
    assert ["".join(row).lower() for y in (dealt.y, dealt.y_test) for row in y] == texts
    assert len(dealt.X) == 3
    fewer = [labelwise_figure_2.split(given, seed, share=2) for seed in (0, 1)]
    assert [len(part) for own in fewer for part in (own.X, own.X_test)] == [2, 1, 2, 1]
    assert ["".join(labelwise_figure_2._bases(fewer[0].X, i)) for i in range(2)] == ["acg", "gat"]


def test_over_splits_a_split_is_a_pair():
    """Ends that are 1, 2 and 3 above their starts: t = 2·√3, two degrees of freedom."""
    splits = [
        {"train": [a, 0.0, a + gain], "test": [50.0, 0.0, 50.0 - (-1) ** i]}
        for i, (a, gain) in enumerate([(10.0, 1.0), (80.0, 2.0), (40.0, 3.0)])
    ]
    row = labelwise_figure_2.over_splits(labelwise_figure_2.Run("labelwise", "log_likelihood"), splits)
    assert row == ("labelwise", "log_likelihood", "+2.00, = p=0.074", "-0.33, = p=0.667")
