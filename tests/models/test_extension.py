"""A layout that grows: the same weights by name as of all data at once, and every old weight in its place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Item, LinearCRF
from hedgerow.data.encoding import learn
from hedgerow.data.extension import extend
from hedgerow.estimators.constraints import legal_space
from hedgerow.linear.index import row_names
from hedgerow.models.crf.linear_extension import Moved, extend_layout, extend_space, label_map
from hedgerow.models.crf.linear_layout import carry_over, lay_out
from tests.linear.corpora import KINDS, WINDOWS, corpus

from .corpora import COLUMNS, LABELS, partial_labels, rich_corpus

OPTIONS = {"transitions": "all", "pairs": "observed"}


class Grown:
    """A chain that is laid out portion by portion, with weights that tell its slots apart."""

    def __init__(
        self, X, y, *, window=0, columns=None, classes=None, constraints=None, transition_columns=None, **options
    ):
        self.options, self.constraints = OPTIONS | options, constraints
        self.dataset = learn(X, y, columns=columns, window=window, classes=classes)
        self.schema = self.dataset.schema
        space = legal_space(self.dataset, constraints, forbid_unseen=self.forbids)
        self.layout, _ = lay_out(
            self.dataset, space, min_frequency=0.0, transition_columns=transition_columns, **self.options
        )
        self.weights = 1.0 + np.arange(self.layout.n_weights)

    @property
    def forbids(self):
        return self.options["transitions"] == "forbid_unseen"

    def add(self, X, y, fill=0.0):
        self.dataset = extend(self.schema, X, y)
        space = extend_space(self.schema, self.layout.space, self.dataset, self.constraints, forbid_unseen=self.forbids)
        layout, moved = extend_layout(self.schema, self.layout, self.dataset, space, **self.options)
        probe = 1.0 + np.arange(self.layout.n_weights)
        by_name = carry_over(self.schema, self.layout, probe, self.dataset.schema, layout)
        np.testing.assert_array_equal(moved(probe), by_name)
        np.testing.assert_array_equal(moved(probe, -1.0), np.where(by_name == 0, -1.0, by_name))
        self.schema, self.layout, self.weights = self.dataset.schema, layout, moved(self.weights, fill)
        return self

    def slots(self):
        return named_slots(self.schema, self.layout)


def named_slots(schema, layout):
    """Every weight by name: (feature, label), (from, to), (feature, from, to). None stands twice."""
    labels = schema.labels
    names = row_names(schema)
    found = [(names[r], labels[k]) for r, k in zip(layout.nodes.slot_rows(), layout.nodes.slot_label)]
    found += [(labels[u], "→", labels[v]) for u, v in zip(layout.arc_from, layout.arc_to)]
    if layout.pairs is not None:
        names = row_names(schema, set(layout.pair_columns))
        for r, output in zip(layout.pairs.slot_rows(), layout.pairs.slot_label):
            to, source = divmod(int(output), len(labels))
            found.append((names[r], labels[source], labels[to]))
    assert len(found) == len(set(found)) == layout.n_weights
    return set(found)


def whole(X, y, **options):
    return Grown(X, y, **options).slots()


@settings(max_examples=60)
@given(st.data())
def test_portions_give_the_weights_of_the_whole(data):
    """Labels, values, attributes and keys appear from portion to portion."""
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 8))
    X, y = corpus(rng, weighted=draw(st.booleans()), n_sequences=n, n_labels=draw(st.integers(1, 6)))
    options = {
        "window": draw(st.sampled_from(WINDOWS)),
        "columns": {"names": "attributes"} | {k: KINDS[k] for k in ("word", "size")},
        "pairs": draw(st.sampled_from(["observed", "all"])),
        "transitions": draw(st.sampled_from(["all", "observed", "forbid_unseen"])),
        "transition_columns": draw(st.sampled_from([None, ["word"], ["word", "lang", "size"]])),
    }
    cuts = sorted({1, *draw(st.sets(st.integers(2, n - 1), max_size=3))} if n > 2 else {1})
    portions = list(zip([0, *cuts], [*cuts, n]))
    X[0].positions[0]["flag"] = True  # a flag that comes later would be an attribute, and stand apart at an offset
    grown = Grown(X[:1], y[:1], **options)
    for first, last in portions[1:]:
        grown.add(X[first:last], y[first:last])
    assert grown.slots() == whole(X, y, **options)
    assert list(grown.schema.labels) == sorted(grown.schema.labels)


@pytest.mark.parametrize("pairs", ["observed", "all"])
@pytest.mark.parametrize("transitions", ["all", "observed", "forbid_unseen"])
def test_label_sets_and_unlabelled_positions(pairs, transitions):
    """With the labels announced: a set of all labels known so far would say nothing, and more once there are others."""
    X, y = rich_corpus(20, seed=5)
    y = partial_labels(y, seed=6)
    if transitions == "forbid_unseen":
        y = [["O" if label is None else label for label in labels] for labels in y]
    options = {"window": 1, "columns": COLUMNS, "pairs": pairs, "transitions": transitions, "classes": LABELS}
    grown = Grown(X[:5], y[:5], **options).add(X[5:6], y[5:6]).add(X[6:], y[6:])
    assert grown.slots() == whole(X, y, **options)


def test_labels_that_appear_later_are_sorted_in():
    grown = Grown([["a", "b"]], [["m", "t"]]).add([["a", "c"]], [["b", "t"]])
    assert grown.schema.labels == ("b", "m", "t")
    names = row_names(grown.schema)
    nodes, arcs, _ = grown.layout.split(grown.weights)
    found = {
        (names[r], int(k)): w for r, k, w in zip(grown.layout.nodes.slot_rows(), grown.layout.nodes.slot_label, nodes)
    }
    assert found == {("token:a", 0): 0, ("token:a", 1): 1, ("token:b", 2): 2, ("token:c", 2): 0}
    assert grown.layout.edge_table(arcs).tolist() == [[0, 0, 0], [0, 3, 4], [0, 5, 6]]
    assert label_map(learn([["a"]], [["m"]]).schema, grown.schema).tolist() == [1]


def test_all_pairs_of_old_features_get_the_new_label():
    grown = Grown([["a", "b"]], [["m", "t"]], pairs="all").add([["c"]], [["b"]])
    assert grown.layout.nodes.n_weights == 9
    assert ("token:a", "b") in grown.slots()


def test_observed_transitions_join():
    options = {"transitions": "observed"}
    grown = Grown([["a", "b"]], [["m", "t"]], **options).add([["a", "b", "a"]], [["t", "b", "t"]], fill=7.0)
    arcs = [slot for slot in grown.slots() if "→" in slot]
    assert sorted(arcs) == [("b", "→", "t"), ("m", "→", "t"), ("t", "→", "b")]
    assert grown.layout.split(grown.weights)[1].tolist() == [7.0, 3.0, 7.0]
    assert grown.layout.space.is_full()


def test_transitions_seen_before_stay_legal():
    grown = Grown([["a", "b"]], [["m", "t"]], transitions="forbid_unseen").add([["a", "b"]], [["c", "m"]])
    assert grown.layout.space.transitions.tolist() == [[False, True, False], [False, False, True], [False] * 3]


def test_open_positions_that_no_transition_seen_so_far_can_fill():
    grown = Grown([["a", "b"]], [["m", "t"]], transitions="forbid_unseen").add([["a", "b"]], [["m", None]])
    with pytest.raises(ValueError, match="forbid_unseen' leaves no labeling for the unlabelled positions here"):
        grown.add([["a", "b", "a"]], [["m", None, "t"]])


def test_constraints_hold_for_new_labels():
    grown = Grown([["a", "b"]], [["B-x", "I-x"]], constraints="iob2").add([["a", "b"]], [["B-y", "I-y"]])
    assert grown.schema.labels == ("B-x", "B-y", "I-x", "I-y")
    assert ("B-x", "→", "I-y") not in grown.slots()
    assert ("I-y", "→", "B-x") in grown.slots()
    with pytest.raises(ValueError, match=r"the labels go from 'B-x' to 'I-y', which the constraints forbid"):
        grown.add([["a", "b"]], [["B-x", "I-y"]])


def test_first_attributes_with_a_window():
    """They bring streams that stand between the old ones, and that know nothing of the data before them."""
    X = [Item([{"word": "a"}, {"word": "b"}], {"lang": "de"}), Item([{"word": "a"}], {"lang": "en"})]
    more = [Item([{"word": "b", "k": ["p", "q"]}, {"word": "c", "k": ["p"]}], {"lang": "en"})]
    y, z = [["x", "y"], ["y"]], [["x", "w"]]
    options = {"window": 1, "columns": {"k": "attributes"}, "transition_columns": ["word", "lang"]}
    grown = Grown(X, y, **options).add(more, z)
    at_once = whole([*X, *more], [*y, *z], **options)
    assert at_once - grown.slots() == {("(outside)[-1]", "y"), ("(outside)[+1]", "y")}
    assert grown.slots() - at_once == set()
    with_attributes = options | {"transition_columns": ["word", "*"]}
    grown = Grown(more, z, **with_attributes).add(
        [Item([{"word": "d", "k": ["r", "q"]}] * 2, {"lang": "fr"})], [["x"] * 2]
    )
    assert ("k:r[-1]", "x", "x") in grown.slots()


def test_nothing_new():
    grown = Grown([["a", "b"]], [["m", "t"]])
    before, weights = grown.layout, grown.weights
    grown.add([["a"]], [["m"]])
    assert grown.layout.n_weights == before.n_weights
    np.testing.assert_array_equal(grown.weights, weights)


def test_from_no_weights_at_all():
    grown = Grown([[{}, {}]], [["x", "y"]]).add([[{"k": "v"}]], [["x"]])
    assert grown.slots() == {("k:v", "x"), *((u, "→", v) for u in "xy" for v in "xy")}


def test_moved():
    moved = Moved(np.array([0, 2, 2, 3]))
    assert moved(np.array([1.0, 2.0, 3.0])).tolist() == [0, 1, 2, 0, 0, 3, 0]
    assert moved(np.array([1.0, 2.0, 3.0]), 9.0).tolist() == [9, 1, 2, 9, 9, 3, 9]


def test_predictions_on_old_data_stay():
    """New slots hold 0, so the old labels have their old probabilities among themselves."""
    X, y = rich_corpus(30, seed=1)
    parameters = {"columns": COLUMNS, "window": 1, "transition_columns": ["word", "language"]}
    old = LinearCRF(**parameters).fit(X, y)
    more, labels = rich_corpus(5, seed=2)
    for item in more:
        item.positions[0]["word"] = "unheard-of"
        item.features["language"] = "fr"
    for new_label in (None, "A-new"):
        z = labels if new_label is None else [["A-new"] * len(x) for x in labels]
        dataset = extend(old.schema_, more, z)
        space = extend_space(old.schema_, old.layout_.space, dataset, None, forbid_unseen=False)
        layout, moved = extend_layout(old.schema_, old.layout_, dataset, space, **OPTIONS)
        new = LinearCRF(**parameters).fit(X, y)
        new.schema_, new.classes_, new.layout_, new.weights_ = dataset.schema, None, layout, moved(old.weights_)
        first = 0 if new_label is None else 1
        known = [[set(old.classes_.tolist())] * len(x) for x in X]
        for ours, theirs in zip(new.predict_proba(X, known=known), old.predict_proba(X)):
            np.testing.assert_allclose(ours[:, first:], theirs, rtol=0, atol=1e-12)
        if new_label is None:
            assert new.predict(X).tolist() == old.predict(X).tolist()
