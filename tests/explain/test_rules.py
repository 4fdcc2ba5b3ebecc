"""Rules: what holds adds up to the model's score, nothing is said twice, and equal rules are one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.explain import Rule, rules
from hedgerow.trees.ensemble import Ensemble

from .literal import holds
from .made import (
    AT_MOST,
    AT_MOST_OR_SPECIAL,
    EQUAL,
    HAS,
    LABEL,
    LABELS,
    SUBSET,
    corpus,
    engine_scores,
    made_model,
    random_tree,
    stream,
    tree,
)


def literal_scores(found, X, label):
    """Σ of the weights of the rules of a label that hold, by position and previous label (None first)."""
    mine = [rule for rule in found if rule.label == label]
    return [
        [
            sum(rule.weight for rule in mine if all(holds(c.text, x, t, previous) for c in rule.conditions))
            for previous in (None, *LABELS)
        ]
        for x in X
        for t in range(len(x))
    ]


@pytest.fixture(scope="module")
def data():
    return corpus(np.random.default_rng(5))


@pytest.fixture(scope="module")
def bare(data):
    """A model without trees, and its dataset."""
    return made_model(*data)


@given(seed=st.integers(0, 2**32 - 1))
def test_rules_that_hold_sum_to_the_score(data, bare, seed):
    rng = np.random.default_rng(seed)
    model, dataset = bare
    trees = [random_tree(rng, model.binning_, 3, rng.integers(1, 12)) for _ in range(2 * 3)]
    model = SimpleNamespace(**vars(model) | {"ensemble_": Ensemble.of(3, trees)})
    which = rng.integers(len(data[0]), size=3)
    X, few = [data[0][i] for i in which], dataset.take(which)
    edges, start = engine_scores(model, few)
    found = rules(model, n=None)
    first = np.zeros(few.n_positions, dtype=bool)
    first[few.offsets[:-1]] = True
    for k, label in enumerate(LABELS):
        scores = np.array(literal_scores(found, X, label))
        np.testing.assert_allclose(scores[first, 0], start[k][first], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(scores[~first, 1:], edges[k][~first], rtol=1e-9, atol=1e-9)
        when = [rule.when for rule in found if rule.label == label]
        assert len(set(when)) == len(when)


def texts(data, make_nodes, sets=(), **more):
    """weight → conditions, of one tree of the label x; the others are a leaf of 0."""
    nothing = tree((0.0, 1.0))
    model, _ = made_model(*data, lambda binning: [tree(*make_nodes(binning), sets=sets), nothing, nothing], **more)
    return {rule.weight: rule.when for rule in rules(model, n=None, label="x")}


def letter(data, value):
    model, _ = made_model(*data)
    column = next(c for c in model.schema_.columns if c.name == "letter")
    return 2 + column.vocabulary.names().index(value)


def test_a_value_makes_other_conditions_needless(data):
    a, b = letter(data, "a"), letter(data, "b")

    def nodes(binning):
        s = stream(binning, "letter", -1)
        return (
            (s, b, EQUAL, 1, 2), (1.0, 1.0), (s, 1, EQUAL, 3, 4), (2.0, 1.0), (s, a, EQUAL, 5, 6),
            (3.0, 1.0), (s, b, EQUAL, 7, 8), (4.0, 1.0), (5.0, 1.0),
        )  # fmt: skip

    assert texts(data, nodes) == {
        1.0: "letter[-1] = 'b'",
        2.0: "letter[-1] is outside",
        3.0: "letter[-1] = 'a'",
        # 4.0 asks for b, which an earlier split took
        5.0: "letter[-1] in {(missing), 'c d', e}",
    }


def test_intervals_are_merged(data):
    def nodes(binning):
        s, t = stream(binning, "size"), stream(binning, "size", 1)
        return (
            (s, 3, AT_MOST, 1, 2), (s, 0, AT_MOST_OR_SPECIAL, 3, 4), (1.0, 1.0), (2.0, 1.0), (s, 2, AT_MOST, 5, 6),
            (t, 1, AT_MOST_OR_SPECIAL, 7, 8), (3.0, 1.0), (4.0, 1.0), (5.0, 1.0),
        )  # fmt: skip

    assert texts(data, nodes) == {
        1.0: "size[0] > 3.5 or missing",  # nothing is outside at offset 0
        2.0: "size[0] <= 0.5",
        3.0: "2.5 < size[0] <= 3.5",
        4.0: "0.5 < size[0] <= 2.5 and (size[+1] <= 1.5 or missing or outside)",
        5.0: "0.5 < size[0] <= 2.5 and size[+1] > 1.5",
    }


def test_previous_labels_come_last(data):
    def nodes(binning):
        s = stream(binning, "flag")
        return (
            (LABEL, 0, SUBSET, 1, 2), (LABEL, 3, EQUAL, 3, 4), (1.0, 1.0), (2.0, 1.0), (s, 3, EQUAL, 5, 6),
            (3.0, 1.0), (4.0, 1.0),
        )  # fmt: skip

    assert texts(data, nodes, sets=[(0, 2, 3)]) == {
        1.0: "previous label = y",
        2.0: "previous label = (start)",
        3.0: "flag[0] is true and previous label in {x, z}",
        4.0: "flag[0] is not true and previous label in {x, z}",
    }


def test_attributes_and_their_values(data):
    model, _ = made_model(*data)
    names = model.schema_.attributes.names()
    source = model.binning_.item_source[model.binning_.names.index("*")].tolist()
    heat, tag = source.index(names.index("heat")), source.index(names.index("tag:t0"))

    def nodes(binning):
        s, before = stream(binning, "*"), stream(binning, "*", -1)
        return (
            (before, tag, HAS, 1, 2), (1.0, 1.0), (s, heat + 1, HAS, 3, 4), (s, heat, HAS, 5, 6),
            (s, heat, HAS, 7, 8), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0), (5.0, 1.0),
        )  # fmt: skip

    assert texts(data, nodes) == {
        1.0: "has 'tag:t0' [-1]",
        2.0: "has not 'tag:t0' [-1] and 'heat' [0] > 1.5",
        # 3.0 is for an attribute that is absent and large
        4.0: "has not 'tag:t0' [-1] and 'heat' [0] <= 1.5",
        5.0: "has not 'tag:t0' [-1] and has not 'heat' [0]",
    }


def test_words_of_a_column_with_very_many(data):
    model, _ = made_model(*data)
    source = model.binning_.item_source[model.binning_.names.index("word")].tolist()
    column = next(c for c in model.schema_.columns if c.name == "word")
    one, two = (source.index(2 + column.vocabulary.names().index(word)) for word in ("w3", "w4"))

    def nodes(binning):
        s = stream(binning, "word")
        return (s, two, HAS, 1, 2), (1.0, 1.0), (s, one, HAS, 3, 4), (2.0, 1.0), (3.0, 1.0)

    assert texts(data, nodes) == {1.0: "word[0] = 'w4'", 2.0: "word[0] = 'w3'", 3.0: "word[0] not in {w3, w4}"}


def test_equal_rules_of_several_trees_are_one(data):
    def trees(binning):
        s = stream(binning, "flag")
        one = tree((s, 3, EQUAL, 1, 2), (1.0, 1.0), (-2.0, 1.0))
        two = tree((LABEL, 0, SUBSET, 1, 2), (s, 3, EQUAL, 3, 4), (0.25, 1.0), (0.5, 1.0), (0.0, 1.0), sets=[range(4)])
        return [one, one, one, two, two, two]

    model, _ = made_model(*data, trees)
    found = rules(model, label="z")
    assert [(rule.weight, rule.when) for rule in found] == [(-2.0, "flag[0] is not true"), (1.5, "flag[0] is true")]
    assert str(found[0]) == "-2.0000  z  if flag[0] is not true"


def test_constants_and_tables_of_edges_are_rules_on_the_previous_label(data):
    constant = np.zeros((4, 3))
    constant[3, 0], constant[1, 0] = 0.5, -1.0
    tables = np.zeros((2, 3, 3))
    tables[:, 1, 0] = 2.0
    nothing = tree((0.125, 1.0))
    model, _ = made_model(*data, lambda _: [nothing] * 3, constant_=constant, edge_tables_=tables)
    assert [(rule.weight, rule.when) for rule in rules(model, label="x")] == [
        (3.0, "previous label = y"),
        (0.5, "previous label = (start)"),
        (0.125, "always"),
    ]


def test_the_largest_come_first_and_n_limits_them(data):
    rng = np.random.default_rng(1)
    model, _ = made_model(*data, lambda binning: [random_tree(rng, binning, 3, 9) for _ in range(6)])
    everything = rules(model, n=None)
    sizes = [abs(rule.weight) for rule in everything]
    assert sizes == sorted(sizes, reverse=True)
    assert rules(model, 5) == everything[:5]
    assert len(rules(model)) == 20
    assert rules(model, None, label="y") == [rule for rule in everything if rule.label == "y"]


def test_what_is_refused(data):
    model, _ = made_model(*data, lambda _: [tree((1.0, 1.0))] * 3)
    with pytest.raises(InputError, match=r"'q' is not one of .* Known: 'x', 'y', 'z'"):
        rules(model, label="q")
    with pytest.raises(InputError, match="n is -1"):
        rules(model, -1)


def test_a_small_weight_keeps_its_digits():
    assert str(Rule("x", 0.0000123, ())) == "+1.2e-05  x  if always"
    assert str(Rule("x", -0.5, ())) == "-0.5000  x  if always"
