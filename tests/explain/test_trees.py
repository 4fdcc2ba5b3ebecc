"""One tree as text."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from hedgerow import LinearCRF
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from hedgerow.explain import tree_text
from hedgerow.explain.trees import branches

from .made import AT_MOST, AT_MOST_OR_SPECIAL, EQUAL, HAS, LABEL, SUBSET, corpus, made_model, random_tree, stream, tree


@pytest.fixture(scope="module")
def data():
    return corpus(np.random.default_rng(5))


def small_tree(binning):
    s, t = stream(binning, "size", -1), stream(binning, "size")
    nodes = [
        (s, 2, AT_MOST_OR_SPECIAL, 1, 2),
        (LABEL, 3, EQUAL, 3, 4),
        (LABEL, 0, SUBSET, 5, 6),
        (0.25, 1.0),
        (-0.5, 1200.0),
        (stream(binning, "flag", 1), 3, EQUAL, 7, 8),
        (t, 0, AT_MOST, 9, 10),
        (0.125, 10.0),
        (1.0, 20.0),
        (2.0, 30.0),
        (-3.0, 2.5),
    ]
    return tree(*nodes, sets=[(0, 1)])


def test_the_text_of_a_tree(data):
    leaf = tree((0.5, 7.0))
    model, _ = made_model(*data, lambda binning: [small_tree(binning), leaf, leaf])
    assert tree_text(model, 1, "x") == textwrap.dedent("""\
        iteration 1, label x: 6 leaves, 1,263.5 rows
        if size[-1] <= 2.5 or missing or outside:
            if previous label = (start):  +0.2500  1 row
            else:                         -0.5000  1,200 rows
        elif previous label in {x, y}:
            if flag[+1] is true:          +0.1250  10 rows
            else:                         +1.0000  20 rows
        elif size[0] <= 0.5:              +2.0000  30 rows
        else:                             -3.0000  2.5 rows""")
    assert tree_text(model, 1, "y") == "iteration 1, label y: 1 leaf, 7 rows\nalways  +0.5000  7 rows"


def test_tiny_leaves_show_what_they_are(data):
    nodes = [(LABEL, 3, EQUAL, 1, 2), (0.0000123, 1.0), (LABEL, 0, EQUAL, 3, 4), (-12.5, 2.0), (0.0, 3.0)]
    model, _ = made_model(*data, lambda _: [tree(*nodes)] * 3)
    assert tree_text(model, 1, "x").splitlines()[1:] == [
        "if previous label = (start):  +1.2e-05  1 row",
        "elif previous label = x:      -12.5000  2 rows",
        "else:                          +0.0000  3 rows",
    ]


def test_the_tree_is_that_of_the_iteration_the_label_and_the_member(data):
    trees = [tree((float(j), 1.0)) for j in range(2 * 2 * 3)]
    model, _ = made_model(*data, lambda _: trees, trees_per_step=2)
    values = {
        (iteration, member, label): branches(model, iteration, label, member)[0].value
        for iteration in (1, 2)
        for member in (1, 2)
        for label in "xyz"
    }
    assert list(values.values()) == list(range(12))


def test_a_tree_of_a_thousand_leaves_in_a_line(data):
    """Deeper than Python may recurse, on either side."""
    n = 1500

    def chain(true):
        nodes = []
        for i in range(n):
            leaf, rest = 2 * i + 1, 2 * i + 2
            nodes += [(LABEL, 0, EQUAL, *((rest, leaf) if true else (leaf, rest))), (float(i), 1.0)]
        return tree(*nodes, (0.5, 1.0))

    model, _ = made_model(*data, lambda _: [chain(True), chain(False), tree((0.0, 1.0))])
    deep, flat = (tree_text(model, 1, label).splitlines() for label in "xy")
    assert len(deep) == 1 + 2 * n
    assert len(flat) == 2 + n
    assert deep[-1].startswith("else:")
    assert flat[-2].startswith("elif previous label = x:")


def test_every_leaf_is_there_once(data):
    rng = np.random.default_rng(2)
    model, _ = made_model(*data, lambda binning: [random_tree(rng, binning, 3, 40) for _ in range(3)])
    found = branches(model, 1, "z")
    lines = tree_text(model, 1, "z").splitlines()[1:]
    leaves = [branch for branch in found if branch.is_leaf]
    assert len(leaves) == 40
    for leaf in leaves:
        assert sum(f"  {leaf.value:+.4f}  {leaf.rows:g} row" in line for line in lines) == 1


def test_a_value_of_the_whole_sequence_has_no_offset():
    X = Sequences(
        {"a": ["u", "v", "u"]}, np.array([0, 2, 3]), {"a": "categorical", "kind": "categorical"}, {"kind": ["p", "q"]}
    )
    model, _ = made_model(
        X, [["x", "y"], ["x"]], lambda b: [tree((stream(b, "kind"), 2, EQUAL, 1, 2), (1.0, 1.0), (2.0, 1.0))] * 2,
        columns=None,
    )  # fmt: skip
    assert "if kind = 'p':  +1.0000  1 row" in tree_text(model, 1, "x")


def test_outside_of_attributes_is_a_position(data):
    def trees(binning):
        split = (stream(binning, "(outside)", -1), 1, EQUAL, 1, 2)
        return [tree(split, (1.0, 1.0), (2.0, 1.0))] * 3

    model, _ = made_model(*data, trees)
    assert "if position[-1] is outside:  +1" in tree_text(model, 1, "x")


def test_has(data):
    model, _ = made_model(*data)
    source = model.binning_.item_source[model.binning_.names.index("*")].tolist()
    item = source.index(model.schema_.attributes.names().index("tag:t2"))

    def trees(binning):
        return [tree((stream(binning, "*", 1), item, HAS, 1, 2), (1.0, 1.0), (2.0, 1.0))] * 3

    model, _ = made_model(*data, trees)
    assert "if has 'tag:t2' [+1]:  +1" in tree_text(model, 1, "x")


def test_what_is_refused(data):
    model, _ = made_model(*data, lambda _: [tree((0.5, 7.0))] * 6)
    with pytest.raises(InputError, match=r"no iteration 3.*1 to 2"):
        tree_text(model, 3, "x")
    with pytest.raises(InputError, match="no iteration 0"):
        tree_text(model, 0, "x")
    with pytest.raises(InputError, match="'q' is not one"):
        tree_text(model, 1, "q")
    with pytest.raises(InputError, match="no tree 2 of a step"):
        tree_text(model, 1, "x", 2)
    with pytest.raises(InputError, match="not fitted"):
        tree_text(LinearCRF(), 1, "x")
    with pytest.raises(InputError, match=r"^LinearCRF has no trees"):
        tree_text(LinearCRF().fit([["a", "b"]], [["x", "y"]]), 1, "x")
