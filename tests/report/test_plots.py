"""Pictures: what is drawn is what was given."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.metrics import calibration_curve, expected_calibration_error
from hedgerow.report import plot_history, plot_reliability, plot_sequence
from hedgerow.training.monitor import Step

pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

TOKENS = ["He", "runs", "$1", "$"]
CLASSES = ["B-NP", "B-VP", "O", "never"]
PROBS = np.array([[0.9, 0.08, 0.02, 0.0], [0.3, 0.6, 0.1, 0.0], [0.5, 0.1, 0.4, 0.0], [0.0, 0.0, 0.99, 0.01]])


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def marked(ax):
    """(position, row) of the tiles with a rim, in the order of the positions."""
    line = ax.lines[0]
    tiles = sorted((p for p in ax.patches if p.get_linewidth() > 0), key=lambda p: p.get_x())
    assert [p.get_y() + p.get_height() / 2 for p in tiles] == pytest.approx(list(line.get_ydata()))
    return [round(y) for y in line.get_ydata()]


def test_tokens_labels_and_numbers():
    ax = plot_sequence(TOKENS, PROBS, CLASSES)
    assert rows(ax) == ["B-NP", "B-VP", "O"]  # the fourth reaches 2 % nowhere
    assert len(ax.patches) == 4 * 3
    assert marked(ax) == [0, 1, 0, 2]
    shown = texts(ax)
    assert shown[-4:] == TOKENS
    assert sorted(shown[:-4]) == sorted(["90%", "8%", "30%", "60%", "10%", "50%", "10%", "40%", "99%"])


def test_darker_is_more_probable():
    ax = plot_sequence(TOKENS, PROBS, CLASSES)
    tiles = np.array(ax.patches, dtype=object).reshape(4, 3)
    lightness = [[sum(tile.get_facecolor()[:3]) for tile in column] for column in tiles]
    for t in range(4):
        np.testing.assert_array_equal(np.argsort(lightness[t]), np.argsort(-PROBS[t, :3]))
    assert to_hex(tiles[3, 2].get_facecolor()) != to_hex(tiles[3, 0].get_facecolor())


def test_a_given_labelling_is_marked_even_where_it_is_improbable():
    ax = plot_sequence(TOKENS, PROBS, CLASSES, labels=["B-NP", "O", "never", "O"])
    assert rows(ax) == CLASSES
    assert marked(ax) == [0, 2, 3, 2]
    assert "0%" in texts(ax)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_picture_is_saved(tmp_path, ending):
    path = tmp_path / f"picture.{ending}"
    plot_sequence(TOKENS, PROBS, CLASSES, path=path)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[ending])


def test_given_axes_are_drawn_into(tmp_path):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot_sequence(TOKENS, PROBS, CLASSES, ax=right) is right
    assert len(left.patches) == 0
    assert len(right.patches) == 12


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([], np.zeros((0, 4)), CLASSES), "empty"),
        ((TOKENS, PROBS[:3], CLASSES), r"shape \(3, 4\)"),
        ((TOKENS, PROBS.T[:3].T, CLASSES), r"shape \(4, 3\)"),
        ((TOKENS, PROBS * 2, CLASSES), "between 0 and 1"),
        ((TOKENS, PROBS * np.nan, CLASSES), "between 0 and 1"),
        ((TOKENS, PROBS, CLASSES, ["O"]), "1 labels for 4 tokens"),
        ((TOKENS, PROBS, CLASSES, ["O", "B-PP", "O", "O"]), "position 1: 'B-PP'"),
    ],
)
def test_what_cannot_be_drawn(arguments, match):
    with pytest.raises(InputError, match=match):
        plot_sequence(*arguments)


def test_history_has_the_loss_and_the_scores(tmp_path):
    history = [Step(1, 3.0, 0.1, 0.5), Step(2, 2.0, 0.2, None), Step(3, 1.5, 0.3, 0.8), Step(4, 1.4, 0.4, 0.7)]
    figure = plot_history(history, tmp_path / "history.png")
    losses, scores = figure.axes
    np.testing.assert_array_equal(losses.lines[0].get_xydata(), [[1, 3.0], [2, 2.0], [3, 1.5], [4, 1.4]])
    np.testing.assert_array_equal(scores.lines[0].get_xydata(), [[1, 0.5], [3, 0.8], [4, 0.7]])
    np.testing.assert_array_equal(scores.lines[1].get_xydata(), [[3, 0.8]])
    assert [text.get_text() for text in scores.texts] == ["0.8 at 3"]
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")


def test_history_without_scores():
    figure = plot_history([Step(1, 3.0, 0.1), Step(2, 2.0, 0.2)])
    assert len(figure.axes) == 1
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xydata(), [[1, 3.0], [2, 2.0]])


def test_an_empty_history():
    with pytest.raises(InputError, match="no step"):
        plot_history([])


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"hedgerow\[plot\]"):
        plot_sequence(TOKENS, PROBS, CLASSES)


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, hedgerow.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_reliability_curve_is_that_of_the_metric(tmp_path):
    true = [["B-NP", "B-VP", "O", "O"]]
    ax = plot_reliability(true, [PROBS], CLASSES, n_bins=5, path=tmp_path / "curve.png")
    prob_true, prob_pred = calibration_curve(true, [PROBS], CLASSES, n_bins=5)
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), np.column_stack([prob_pred, prob_true]))
    assert texts(ax) == [f"calibration error {expected_calibration_error(true, [PROBS], CLASSES, n_bins=5):.3f}"]
    assert (tmp_path / "curve.png").stat().st_size > 1000
    again = plot_reliability(true, [PROBS], CLASSES, pos_label="O", ax=ax)
    assert again is ax
    assert ax.get_xlabel() == "probability of O"
