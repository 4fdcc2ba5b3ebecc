"""`explain` of a label: parts that add up to the log-odds of marginals, each of them what it says it is."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import pytest

from hedgerow import HMM, MEMM, AutoLabeler, LinearCRF, RecurrentSlidingWindow, SlidingWindow, TreeCRF
from hedgerow.errors import InputError
from hedgerow.estimators.why.explanation import Explanation, Part

from .made import COLUMNS, corpus

TREES = {"n_estimators": 4, "max_leaf_nodes": 6, "early_stopping": False, "window": 1, "l2_regularization": 1.0}
MODELS = {
    "linear": lambda: LinearCRF(window=1),
    "linear, order 0": lambda: LinearCRF(window=1, order=0),
    "linear, order 2": lambda: LinearCRF(window=1, order=2),
    "linear, pairs": lambda: LinearCRF(window=1, transition_columns=["letter"]),
    "linear, weighted, tempered": lambda: LinearCRF(
        window=1, class_weight={"x": 3.0}, early_stopping=True, random_state=0
    ),
    "trees, joint": lambda: TreeCRF(edges="joint", **TREES),
    "trees, shared": lambda: TreeCRF(edges="shared", **TREES),
    "trees for all labels": lambda: TreeCRF(edges="shared", multi_strategy="multi_output_tree", **TREES),
    "trees, joint, order 2": lambda: TreeCRF(edges="joint", order=2, **TREES),
    "trees, shared, order 2": lambda: TreeCRF(edges="shared", order=2, **TREES),
    "trees on a linear chain": lambda: TreeCRF(edges="shared", init=LinearCRF(window=1, missing="impute"), **TREES),
    "HMM": lambda: HMM(),
    "HMM, order 2": lambda: HMM(order=2),
    "MEMM": lambda: MEMM(window=1),
    "recurrent, right to left": lambda: RecurrentSlidingWindow(
        window=1, direction="right_to_left", order=2, estimator="linear"
    ),
    "MEMM of trees": lambda: MEMM(
        window=1, estimator=TreeCRF(n_estimators=4, early_stopping=False, leaves="mean", max_leaf_nodes=6)
    ),
    "sliding window": lambda: SlidingWindow(window=1, estimator="linear"),
    "recurrent": lambda: RecurrentSlidingWindow(window=1, order=1, estimator="linear"),
}


def words(rng, n_sequences=30):
    """A corpus with categories, flags and attributes alone, which every model takes."""
    X, y = corpus(rng, n_sequences)
    keep = ("letter", "flag", "tag")
    return [[{key: row[key] for key in keep if key in row} for row in x] for x in X], y


def fitted(name, rng):
    X, y = words(rng)
    if name == "trees for all labels":  # which read no attributes
        X = [[{key: row[key] for key in row if key != "tag"} for row in x] for x in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]().fit(X, y), X, y


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_add_up_to_the_log_odds_of_the_marginals(name, rng):
    model, X, _ = fitted(name, rng)
    names, kinds = model.classes_.tolist(), set()
    for x in X[:6]:
        probs = model.predict_proba([x])[0]
        for t in range(len(x)):
            found = model.explain(x, t)
            best, second = np.argsort(-probs[t], kind="stable")[:2]
            assert (found.label, found.against) == (names[best], names[second])
            wanted = np.log(probs[t, best]) - np.log(probs[t, second])
            np.testing.assert_allclose(sum(part.log_odds for part in found.parts), wanted, rtol=0, atol=1e-9)
            np.testing.assert_allclose(found.log_odds, wanted, rtol=0, atol=1e-9)
            kinds |= {part.kind for part in found.parts}
    assert "feature" in kinds


@pytest.mark.parametrize("name", ["linear", "trees, shared", "trees for all labels", "trees, shared, order 2", "HMM"])
def test_features_add_up_to_the_score_of_the_position(name, rng):
    """Not by what is left: the score of the node by itself, and the table of transitions by itself."""
    model, X, _ = fitted(name, rng)
    codes = model.schema_.label_codes
    for x in X[:5]:
        potentials = model._potentials(model.encode([x]), 0, 1)
        for t in range(1, len(x)):
            found = model.explain(x, t, "x", against="z")
            a, b = codes["x"], codes["z"]
            nodes = potentials.node_scores[t, a] - potentials.node_scores[t, b]
            told = (found.total("feature") + found.total("base")) * model.temperature_
            np.testing.assert_allclose(told, nodes, rtol=0, atol=1e-9)
            before = next((part for part in found.parts if part.kind == "before"), None)
            if hasattr(potentials.edges, "scores_to") and before is not None:
                u = codes[before.name.rpartition(" ")[2]]
                wanted = potentials.edges.scores[u, a] - potentials.edges.scores[u, b]
                np.testing.assert_allclose(before.log_odds * model.temperature_, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["linear", "linear, order 2", "trees, joint", "MEMM"])
def test_the_rest_is_what_enumeration_says(name, rng):
    """With the labels around given, the log-odds are all but the rest."""
    model, X, _ = fitted(name, rng)
    x = next(x for x in X if len(x) == 4)
    labels = model.classes_.tolist()
    probs = {path: np.exp(model.log_probability([x], [list(path)])[0]) for path in itertools.product(labels, repeat=4)}
    assert sum(probs.values()) == pytest.approx(1.0)
    for t in range(4):
        found = model.explain(x, t, "y", against="x")
        share = [sum(p for path, p in probs.items() if path[t] == k) for k in ("y", "x")]
        np.testing.assert_allclose(found.log_odds, np.log(share[0] / share[1]), rtol=0, atol=1e-9)
        around = [labels[k] for k in np.argmax(model.predict_proba([x])[0], axis=1)]
        given = [probs[(*around[:t], k, *around[t + 1 :])] for k in ("y", "x")]
        np.testing.assert_allclose(found.log_odds - found.total("rest"), np.log(given[0] / given[1]), rtol=0, atol=1e-9)


def test_a_forbidden_move_is_no_part(rng):
    """Where the most probable neighbours rule one of the labels out, others are taken, or all is one part."""
    X, y = words(rng)
    y = [["x" if k == "y" and t and labels[t - 1] == "z" else k for t, k in enumerate(labels)] for labels in y]
    model = LinearCRF(window=1, transitions="forbid_unseen").fit(X, y)
    n = 0
    for x in X[:10]:
        probs = model.predict_proba([x])[0]
        for t in range(len(x)):
            if probs[t].min() == 0.0:
                continue
            for label, other in itertools.permutations(model.classes_.tolist(), 2):
                found = model.explain(x, t, label, against=other)
                assert all(np.isfinite(part.log_odds) for part in found.parts)
                np.testing.assert_allclose(sum(part.log_odds for part in found.parts), found.log_odds, atol=1e-9)
                n += 1
    assert n > 20


def test_known_labels_are_kept(rng):
    model, X, _ = fitted("linear", rng)
    x = next(x for x in X if len(x) >= 3)
    known = [None] * len(x)
    known[0] = "z"
    probs = model.predict_proba([x], known=[known])[0][1]
    found = model.explain(x, 1, "x", against="y", known=known)
    codes = model.schema_.label_codes
    np.testing.assert_allclose(found.log_odds, np.log(probs[codes["x"]] / probs[codes["y"]]), atol=1e-9)
    assert any(part.name == "the label before: z" for part in found.parts)
    with pytest.raises(InputError, match="impossible"):
        model.explain(x, 0, "z", against="x", known=known)


def test_of_a_search_the_best_model_is_explained(rng):
    X, y = words(rng)
    model = AutoLabeler(n_trials=2, candidates=[LinearCRF(window=1)], random_state=0).fit(X, y)
    alone, found = model.best_estimator_.explain(X[1], 0), model.explain(X[1], 0)
    assert found.to_dict() == alone.to_dict()


def test_a_row_of_a_frame_is_explained_in_its_sequence(rng):
    """Rows in any order, of several machines: `position` is the row, and what is told is what `predict_proba` says."""
    pd = pytest.importorskip("pandas")
    n = 60
    frame = pd.DataFrame({"machine": np.arange(n) // 20, "t": np.arange(n) % 20, "heat": rng.normal(size=n)})
    frame["state"] = np.where(np.roll(frame["heat"], 1) + frame["heat"] > 0, "hot", "cold")
    frame = frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
    model = LinearCRF(window=1).fit(frame, by="machine", label="state", time="t")
    probs = model.predict_proba(frame)
    for row in (0, 7, 31, -1):
        found = model.explain(frame, row)
        assert found.position == row
        assert found.probability == pytest.approx(probs.iloc[row].max(), abs=1e-12)
        here = next(part.value for part in found.parts if part.name == "heat" and part.offset == 0)
        assert float(here) == pytest.approx(frame["heat"].iloc[row], rel=1e-5)
    with pytest.raises(InputError, match="The frame has rows 0 to 59"):
        model.explain(frame, 60)
    with pytest.raises(InputError, match="a list of frames"):
        model.predict([frame])


# ------------------------------------------------------------------------------------------------ changes


@pytest.mark.parametrize("name", ["linear", "trees, shared", "trees, joint", "HMM"])
def test_changes_turn_the_label(name, rng):
    """Each change that is told, made by hand, gives the label and the probability that it tells."""
    X, _ = words(rng)
    runs = [np.repeat(rng.permutation(["x", "y", "z"]), 3)[: len(x)].tolist() for x in X]  # labels that stay
    for x, row in zip(X, runs):
        for item, label in zip(x, row):
            item["letter"] = label if rng.random() < 0.5 else "?"
    model = MODELS[name]().fit(X, runs)
    labels, tried = model.classes_.tolist(), {"features": 0, "neighbour": 0}
    for x in X[:10]:
        for t in range(len(x)):
            found = model.explain(x, t, counterfactuals=True)
            for change in found.changes:
                if change.kind == "neighbour":
                    known = [None] * len(x)
                    side, label = change.what.removeprefix("the label ").split(" were ")
                    known[t - 1 if side == "before" else t + 1] = label
                    probs = model.predict_proba([x], known=[known])[0][t]
                elif change.what.count(" were ") == 1 and "it had not" not in change.what:
                    column, _, value = change.what.removeprefix("if ").partition(" were ")
                    changed = [dict(row) for row in x]
                    if value == "missing":
                        changed[t].pop(column)
                    else:
                        changed[t][column] = {"true": True, "false": False}.get(value, value.strip("'"))
                    probs = model.predict_proba([changed])[0][t]
                else:
                    continue
                tried[change.kind] += 1
                assert labels[int(probs.argmax())] == change.label != found.label
                np.testing.assert_allclose(probs.max(), change.probability, rtol=0, atol=1e-12)
    assert min(tried.values()) > 0


def test_two_attributes_together(rng):
    """Neither turns the label alone."""
    X, y = [], []
    for _ in range(60):
        flags = rng.random((4, 2)) < 0.5
        X.append([[name for name, there in zip("ab", row) if there] + ["c"] for row in flags])
        y.append(["yes" if row.any() else "no" for row in flags])
    model = LinearCRF(window=0, l2=0.01).fit(X, y)
    changes = model.explain([["a", "b", "c"]], 0, counterfactuals=True).changes
    assert any(change.what.count("it had not") == 2 and change.label == "no" for change in changes)


def test_long_sequences_are_tried_in_parts(rng, monkeypatch):
    from hedgerow.estimators.why import counterfactuals

    X = [[{"a": f"v{i}", "z": "on" if k else "off"} for i, k in enumerate(row)] for row in rng.integers(0, 2, (30, 6))]
    y = [[row["z"] for row in x] for x in X]
    model = LinearCRF(window=0).fit(X, y)
    whole = model.explain(X[0], 2, counterfactuals=True)
    monkeypatch.setattr(counterfactuals, "_MOST_POSITIONS", 12)
    assert model.explain(X[0], 2, counterfactuals=True).changes == whole.changes != ()


def test_the_nearest_number_and_taken_attributes(rng):
    X = [[{"heat": float(rng.normal(2.0 * k, 0.4)), "tag": ["a"] if k else ["b"]} for k in row] for row in
         rng.integers(0, 2, (60, 5)).tolist()]  # fmt: skip
    y = [["hot" if row["heat"] > 1.0 else "cold" for row in x] for x in X]
    model = LinearCRF(window=0, columns={"heat": "numeric"}).fit(X, y)
    x = X[0]
    t = next(t for t, row in enumerate(x) if row["heat"] > 1.2)
    change = next(one for one in model.explain(x, t, counterfactuals=True).changes if "heat were" in one.what)
    number = float(change.what.rpartition(" ")[2])
    for moved, label in ((number - 1e-3, "cold"), (number + 0.02, "hot")):
        changed = [dict(row) for row in x]
        changed[t]["heat"] = moved
        if "and" not in change.what:
            assert model.predict([changed], decoder="posterior")[0][t] == label


# ------------------------------------------------------------------------------------------------ faces, errors


def test_faces():
    parts = (
        Part("feature", "<script>", -1, "'&'", 2.0), Part("feature", "far", None, "", -0.5),
        Part("feature", "heat", 1, "missing", 0.25), Part("after", "the label after: <b>", None, "", -0.25),
    )  # fmt: skip
    found = Explanation(3, "<b>", "[red]", 0.8, 0.2, 1.5, parts)
    assert "<script>" not in found.to_html()
    assert "&lt;script&gt;[-1] = &#x27;&amp;&#x27;" in found._repr_html_()
    assert repr(found).splitlines()[0] == "position 3: <b> (80.0%) against [red] (20.0%), log-odds +1.50"
    assert "heat[+1] is missing" in repr(found)
    assert found.rows(1)[1] == ("2 more features", -0.25)
    again = json.loads(found.to_json())
    assert again["parts"][0]["name"] == "<script>"
    assert sum(part["log_odds"] for part in again["parts"]) == 1.5


@pytest.mark.parametrize(
    ("position", "more", "message"),
    [
        (9, {}, "position is 9. The sequence has positions 0 to"),
        ("1", {}, "position is '1'"),
        (0, {"label": "w"}, "label is 'w', which is not one of the labels of training"),
        (0, {"label": "x", "against": "x"}, "the same"),
    ],
)
def test_what_cannot_be_asked(position, more, message, rng):
    model, X, _ = fitted("linear", rng)
    with pytest.raises(InputError, match=message):
        model.explain(X[0][:3], position, **more)


def test_one_sequence_at_a_time(rng):
    model, X, _ = fitted("linear", rng)
    with pytest.raises(InputError, match="takes one sequence, and these are 2"):
        model.explain(model.encode(X[:2]), 0)


def test_of_numbers(rng):
    """The value that is told is the number that was given, also where a score reads it standardised."""
    X, y = corpus(rng, 20)
    X = [[{"size": row.get("size", 1.0), "heat": float(row.get("heat", 0.5))} for row in x] for x in X]
    columns = dict.fromkeys(("size", "heat"), COLUMNS["size"])
    for model in (LinearCRF(window=1, columns=columns), TreeCRF(columns=columns, edges="shared", **TREES)):
        model.fit(X, y)
        for t, row in enumerate(X[0]):
            told = {part.name: part.value for part in model.explain(X[0], t).parts if part.offset == 0}
            assert told
            assert all(float(value) == pytest.approx(row[name]) for name, value in told.items())
