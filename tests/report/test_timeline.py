"""A timeline stays readable, and of one size, from ten positions to a million."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.report import plot_history, plot_timeline

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("n", [1, 10, 1_444, 300_000])
def test_any_length_is_one_size(n, tmp_path, rng):
    labels = np.array(["rests", "walks", "$x_1$"])[(np.arange(n) // 7) % 3].tolist()
    probs = rng.dirichlet([1.0, 1.0, 1.0], n)
    numbers = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    figure = plot_timeline(
        labels,
        [None, *labels[1:]],
        probs,
        np.array(["rests", "walks", "$x_1$"]),
        {"pulse": numbers},
        path=tmp_path / "t.png",
    )
    assert figure.get_size_inches()[0] == 9.0
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    figure.canvas.draw()
    width, height = figure.get_size_inches() * figure.dpi
    assert max(width, height) < 1000


def test_bands_show_the_most_frequent_label():
    labels = ["a"] * 3_200 + ["b"] * 3_200
    figure = plot_timeline(labels)
    image = figure.axes[0].images[0] if figure.axes[0].images else figure.axes[0].collections[0]
    colours = np.asarray(image.get_array()).reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) == 2
    assert len(colours) == 1_600


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "nothing to draw"),
        ({"predicted": []}, "nothing to draw"),
        ({"predicted": ["a"], "truth": ["a", "b"]}, "lengths differ: predicted has 1, true has 2"),
        ({"probabilities": [[0.5, 0.5]]}, "no classes"),
        ({"predicted": ["a"], "columns": {"x": [[1.0]]}}, "column 'x': has the shape"),
    ],
)
def test_what_cannot_be_drawn(given, message):
    with pytest.raises(InputError, match=message):
        plot_timeline(**given)


def test_the_history_of_what_has_none():
    with pytest.raises(InputError, match="has no history"):
        plot_history(object())


def test_single_positions_are_not_drawn_by_thousands():
    from hedgerow.report import plot_sequence

    with pytest.raises(InputError, match=r"1,444 positions .* Draw them with plot_timeline"):
        plot_sequence(["x"] * 1_444, np.ones((1_444, 1)), ["a"])
