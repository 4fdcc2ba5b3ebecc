"""Importance: sums over splits or weights, by column and offset."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from hedgerow import LinearCRF
from hedgerow.errors import InputError
from hedgerow.explain import importance
from hedgerow.trees.nodes import LEAF

from .made import AT_MOST, EQUAL, HAS, LABEL, corpus, made_model, random_tree, stream, tree


@pytest.fixture(scope="module")
def data():
    return corpus(np.random.default_rng(5))


def attribute_item(model, name):
    source = model.binning_.item_source[model.binning_.names.index("*")].tolist()
    return source.index(model.schema_.attributes.names().index(name))


@pytest.fixture(scope="module")
def model(data):
    """Gains fall from the root on: 9, 8, 7 and 6 in the first tree, 3 in the second."""
    bare, _ = made_model(*data)
    heat = attribute_item(bare, "heat")

    def trees(binning):
        size, word, before = stream(binning, "size"), stream(binning, "word", 1), stream(binning, "*", -1)
        one = tree(
            (size, 1, AT_MOST, 1, 2), (LABEL, 0, EQUAL, 3, 4), (before, heat + 1, HAS, 5, 6), (word, 0, HAS, 7, 8),
            (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0),
        )  # fmt: skip
        two = tree((stream(binning, "size", 1), 0, AT_MOST, 1, 2), (0.0, 1.0), (0.0, 1.0))
        return [one, two, tree((size, 0, AT_MOST, 1, 2), (0.0, 1.0), (0.0, 1.0))]

    return made_model(*data, trees)[0]


def test_by_gain(model):
    found = importance(model)
    assert [row[:3] for row in found.rows] == [
        ("size", 0, 9.0 + 3.0),
        ("previous label", None, 8.0),
        ("heat", -1, 7.0),
        ("word", 1, 6.0),
        ("size", 1, 3.0),
    ]
    assert [row.share for row in found.rows] == pytest.approx([12 / 36, 8 / 36, 7 / 36, 6 / 36, 3 / 36])
    assert found.by == "gain"


def test_by_use(model):
    assert importance(model, by="use").rows[0][:3] == ("size", 0, 2.0)
    assert sum(row.value for row in importance(model, by="use").rows) == 6


def test_totals_of_columns(model):
    found = importance(model)
    assert [(row.column, row.offset, row.value) for row in found.columns] == [
        ("size", None, 15.0),
        ("previous label", None, 8.0),
        ("heat", None, 7.0),
        ("word", None, 6.0),
    ]
    assert found.share("size") == pytest.approx(15 / 36)
    assert found.share("size", 1) == pytest.approx(3 / 36)
    assert found.share("no such column") == 0.0


def test_the_table(model):
    assert repr(importance(model)).splitlines() == [
        "importance by gain",
        "   33.3%  size[0]",
        "   22.2%  previous label",
        "   19.4%  heat[-1]",
        "   16.7%  word[+1]",
        "    8.3%  size[+1]",
    ]
    assert importance(model).table(2).splitlines()[-1] == "  and 3 more"


def test_every_split_counts_once(data):
    rng = np.random.default_rng(3)
    model, _ = made_model(*data, lambda binning: [random_tree(rng, binning, 3, 30) for _ in range(6)])
    splits = model.ensemble_.nodes[:, 0] != LEAF
    assert sum(row.value for row in importance(model).rows) == pytest.approx(model.ensemble_.gains[splits].sum())
    assert sum(row.value for row in importance(model, "use").rows) == splits.sum() == 29 * 6
    for by in ("gain", "use"):
        assert sum(row.share for row in importance(model, by).rows) == pytest.approx(1.0)


def test_a_model_that_never_splits(data):
    model, _ = made_model(*data, lambda _: [tree((1.0, 1.0))] * 3)
    assert importance(model).rows == ()
    assert repr(importance(model)) == "importance by gain"


def named_sums(model):
    """Σ|w| by (column, offset), from the names of the features."""
    sums = defaultdict(float)
    for feature, _, weight in model.feature_weights():
        name = feature.partition(":")[0] if not feature.startswith("tag") else feature
        name = name.removesuffix(" is missing").removesuffix(" is outside").removesuffix(" is false")
        name = name.removesuffix(" is not")
        column, _, rest = name.partition("[")
        sums[column, int(rest.rstrip("]") or 0)] += abs(weight)
    return {key: value for key, value in sums.items() if value > 0}


def test_weights_of_a_linear_model(data):
    columns = {"letter": "categorical", "size": "numeric", "flag": "boolean", "word": "categorical"}
    model = LinearCRF(window=1, columns=columns, tol=0.01, l1=0.5).fit(
        [[{**row, "size": row.get("size", 1.0)} for row in x] for x in data[0]], data[1]
    )
    found = importance(model)
    assert found.by == "weight"
    by_key = {(row.column, row.offset): row.value for row in found.rows}
    expected = named_sums(model) | {("previous label", None): np.abs(model.transition_weights_).sum()}
    assert by_key == pytest.approx(expected)


def test_weights_of_pairs_count_for_their_column(data):
    X = [[{"letter": row.get("letter", "a"), "word": row["word"]} for row in x] for x in data[0]]
    model = LinearCRF(window=1, tol=0.01, transition_columns=["letter"]).fit(X, data[1])
    found = importance(model)
    assert sum(row.value for row in found.rows) == pytest.approx(np.abs(model.weights_).sum())
    arcs = np.abs(model.transition_weights_).sum()
    assert sum(row.value for row in found.rows if row.column == "previous label") == pytest.approx(arcs)
    words = sum(abs(weight) for feature, _, weight in model.feature_weights() if feature.startswith("word"))
    assert sum(row.value for row in found.rows if row.column == "word") == pytest.approx(words)


def test_what_is_refused(model):
    with pytest.raises(InputError, match=r"by is 'weight'.*'gain' or 'use'"):
        importance(model, "weight")
    with pytest.raises(InputError, match=r"by is 'gain'.*choose 'weight'"):
        importance(LinearCRF().fit([["a", "b"]], [["x", "y"]]), "gain")
    with pytest.raises(InputError, match="not fitted"):
        importance(LinearCRF())
