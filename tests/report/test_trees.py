"""Pictures of trees and of importance: everything is there, in its place, and nothing covers anything else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.explain import importance
from hedgerow.explain.trees import branches
from hedgerow.report import plot_importance, plot_tree
from tests.explain.made import AT_MOST, EQUAL, LABEL, corpus, made_model, random_tree, stream, tree

pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch


@pytest.fixture(scope="module")
def data():
    return corpus(np.random.default_rng(5))


@pytest.fixture(scope="module", params=[2, 9, 32], ids="{} leaves".format)
def model(data, request):
    rng = np.random.default_rng(request.param)
    return made_model(*data, lambda binning: [random_tree(rng, binning, 3, request.param) for _ in range(3)])[0]


def boxes(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


def middle(box):
    return box.get_x() + box.get_width() / 2


def written(ax):
    return [text.get_text() for text in ax.texts]


def test_every_node_has_a_box_and_every_child_a_line(model):
    found = branches(model, 1, "y", most=5)
    ax = plot_tree(model, 1, "y")
    assert len(boxes(ax)) == len(found)
    assert sum(isinstance(patch, PathPatch) for patch in ax.patches) == len(found) - 1
    texts = written(ax)
    for branch in found:
        if branch.is_leaf:
            assert f"{branch.value:+.3f}" in texts
            assert f"{branch.rows:g}" in texts
        else:
            assert branch.text.split()[0] in " ".join(texts)
    assert "y, iteration 1" in texts
    assert texts.count("yes") == texts.count("no") == 1


def test_tiny_leaves_and_long_values(data):
    """A leaf shows digits that count, and no box is wider than its lines may be."""
    X, y = [["a" * 70, "b", "c", "d", "e"]], [["x", "y", "x", "y", "x"]]

    def trees(binning):
        split = (stream(binning, "token"), 2, EQUAL, 1, 2)
        return [tree(split, (0.0000123, 1.0), (-0.5, 4.0))] * 2

    model, _ = made_model(X, y, trees, columns=None)
    ax = plot_tree(model, 1, "x")
    texts = written(ax)
    assert "+1.2e-05" in texts
    assert "-0.500" in texts
    assert "".join(texts).count("a" * 20) >= 3
    assert max(map(len, texts)) <= 24


def test_where_the_condition_holds_the_way_goes_left_and_down(model):
    found = branches(model, 1, "y")
    ax = plot_tree(model, 1, "y")
    drawn = boxes(ax)
    for node, branch in enumerate(found):
        if not branch.is_leaf:
            left, right = drawn[branch.true], drawn[branch.false]
            assert middle(left) < middle(drawn[node]) < middle(right)
            assert left.get_y() + left.get_height() < drawn[node].get_y()


def test_boxes_do_not_touch_and_lie_within_the_axes(model):
    ax = plot_tree(model, 1, "x")
    extents = [(b.get_x(), b.get_x() + b.get_width(), b.get_y(), b.get_y() + b.get_height()) for b in boxes(ax)]
    for a, b in itertools.combinations(extents, 2):
        assert a[1] < b[0] or b[1] < a[0] or a[3] < b[2] or b[3] < a[2]
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert all(left < a[0] and a[1] < right and bottom < a[2] and a[3] < top for a in extents)


def test_text_fits_its_box(model):
    ax = plot_tree(model, 1, "x")
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()  # gives texts their size
    renderer = canvas.get_renderer()
    tiles = [box.get_window_extent(renderer) for box in boxes(ax)]
    texts = [text for text in ax.texts if text.get_family() == ["monospace"]]
    assert len(texts) >= len(tiles)
    for text in texts:
        size = text.get_window_extent(renderer)
        assert any(t.x0 <= size.x0 and size.x1 <= t.x1 and t.y0 <= size.y0 and size.y1 <= t.y1 for t in tiles)


def test_leaves_are_green_where_the_label_gains_and_amber_where_it_loses(data):
    split = (LABEL, 0, EQUAL, 1, 2)
    model, _ = made_model(*data, lambda _: [tree(split, (1.5, 9.0), (-1.5, 1.0))] * 3)
    root, gain, loss = (box.get_facecolor()[:3] for box in boxes(plot_tree(model, 1, "x")))
    assert root == (1.0, 1.0, 1.0)
    assert gain[1] == max(gain)
    assert loss[0] == max(loss)


def test_thicker_lines_have_more_rows(data):
    model, _ = made_model(*data, lambda _: [tree((LABEL, 0, EQUAL, 1, 2), (1.0, 90.0), (2.0, 10.0))] * 3)
    many, few = (p.get_linewidth() for p in plot_tree(model, 1, "x").patches if isinstance(p, PathPatch))
    assert many > 1.5 * few


def test_a_tree_that_is_a_leaf_and_given_axes(data, tmp_path):
    model, _ = made_model(*data, lambda _: [tree((0.5, 3.0))] * 3)
    figure = Figure(figsize=(2, 1))
    left, right = figure.subplots(1, 2)
    assert plot_tree(model, 1, "x", ax=right, path=tmp_path / "tree.svg") is right
    assert len(boxes(right)) == 1
    assert not left.patches
    assert (tmp_path / "tree.svg").read_bytes().startswith(b"<?xml")


def test_letters_shrink_to_fit_given_axes(model):
    full = plot_tree(model, 1, "x")
    small = plot_tree(model, 1, "x", ax=Figure(figsize=(1.5, 1.5)).add_subplot())
    assert max(t.get_fontsize() for t in small.texts) < max(t.get_fontsize() for t in full.texts)


@pytest.fixture(scope="module")
def simple(data):
    def trees(binning):
        size, after = stream(binning, "size"), stream(binning, "size", 1)
        one = tree((size, 0, AT_MOST, 1, 2), (LABEL, 0, EQUAL, 3, 4), *[(0.0, 1.0)] * 3)  # gains 5 and 4
        two = tree((after, 0, AT_MOST, 1, 2), *[(0.0, 1.0)] * 2)  # 3
        return [one, two, tree((stream(binning, "letter", -1), 2, EQUAL, 1, 2), *[(0.0, 1.0)] * 2)]

    return made_model(*data, trees)[0]


def test_importance_has_a_row_a_column_and_a_cell_an_offset(simple, tmp_path):
    ax = plot_importance(simple, path=tmp_path / "importance.png")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["size", "previous label", "letter"]
    assert len(boxes(ax)) == 2 * 3  # none for the previous label
    texts = written(ax)
    assert [text for text in texts if not text.endswith("%")] == ["-1", "0", "+1", "by gain"]
    shares = [text for text in texts if text.endswith("%")]
    assert shares == ["33%", "20%", "20%", "53%", "27%", "20%"]  # 5, 3 and 3 of 15; then 8, 4 and 3
    assert (tmp_path / "importance.png").read_bytes().startswith(b"\x89PNG")


def test_bars_are_as_long_as_their_shares(simple):
    ax = plot_importance(simple)
    widths = [bar.get_width() for container in ax.containers for bar in container]
    assert np.array(widths) / widths[0] == pytest.approx([1.0, 4 / 8, 3 / 8])
    colours = [bar.get_facecolor() for container in ax.containers for bar in container]
    assert colours[0] == colours[2] != colours[1]


def test_importance_that_was_computed_and_the_first_columns_alone(simple):
    ax = plot_importance(importance(simple, "use"), n=1)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["size"]
    assert "by use" in written(ax)


def test_nothing_to_draw(data):
    model, _ = made_model(*data, lambda _: [tree((0.5, 3.0))] * 3)
    with pytest.raises(InputError, match="nothing to draw"):
        plot_importance(model)
