"""What trees say of rows without a value: in text, in pictures, beside rules."""

from __future__ import annotations

import pytest

from hedgerow import TreeCRF
from hedgerow.explain import importance, tree_text
from hedgerow.explain.splits import note_of_gaps
from hedgerow.explain.trees import branches

COLUMNS = {"a": "categorical", "b": "numeric"}


def fit(missing, columns=COLUMNS, **more):
    """b says what a says; in one of ten rows a is missing."""
    rows = [{"a": None if i == 9 else "xxz"[i % 3], "b": 1.0 if i % 3 < 2 else 5.0} for i in range(10)] * 4
    X = [[{name: row[name] for name in columns}] for row in rows]
    y = [["p" if row["b"] < 3 else "q"] for row in rows]
    options = {
        "n_estimators": 1,
        "max_leaf_nodes": 2,
        "l2_regularization": 1.0,
        "leaves": "mean",
        "early_stopping": False,
        "columns": columns,
    }
    return TreeCRF(missing=missing, **options | more).fit(X, y)


def test_shares_stand_behind_a_condition():
    model = fit("weighting", columns={"a": "categorical"})
    assert tree_text(model, 1, "p").splitlines()[1].startswith("if a[0] = 'x' (missing: 66.7% yes):")
    leaves = [branch.rows for branch in branches(model, 1, "p") if branch.is_leaf]
    assert leaves == [26.7, 13.3]  # 24 and 12 rows, and shares of 4
    assert "by shares" in note_of_gaps(model)


def test_surrogates_stand_behind_a_condition():
    model = fit("surrogate")
    line = tree_text(model, 1, "p").splitlines()[1]
    assert line.startswith("if b[0] <= 3 (missing: as a[0] = 'x', else yes):")
    assert [branch.without for branch in branches(model, 1, "p")] == [("as a[0] = 'x'", "yes"), (), ()]
    assert "surrogate splits" in note_of_gaps(model)


@pytest.mark.parametrize("missing", ["learned", "impute", "indicator"])
def test_where_no_value_is_a_value_nothing_is_said(missing):
    model = fit(missing)
    assert "(missing:" not in tree_text(model, 1, "p")
    assert note_of_gaps(model) == ""


@pytest.mark.parametrize(("missing", "said"), [("weighting", "% yes"), ("surrogate", "1 surrogates")])
def test_a_picture_says_it_too(missing, said):
    pytest.importorskip("matplotlib")
    from hedgerow.report import plot_tree

    ax = plot_tree(fit(missing), 1, "p")
    texts = [text.get_text() for text in ax.texts]
    assert any(text.startswith("missing: ") and text.endswith(said) for text in texts), texts


def test_flags_have_a_share_of_the_importance():
    X = [[{"n": None if i % 2 else float(i)}] for i in range(20)]
    y = [["p" if x[0]["n"] is None else "q"] for x in X]
    options = {"n_estimators": 3, "l2_regularization": 1.0, "early_stopping": False, "columns": {"n": "numeric"}}
    found = importance(TreeCRF(missing="indicator", **options).fit(X, y))
    assert found.rows[0].column == "n (missing)"
