"""What a notebook shows of an estimator: scikit-learn's picture of its parameters, and the facts of its fit."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
import sklearn

from hedgerow import HMM, AutoLabeler, LatticeCRF, LinearCRF, TreeCRF
from hedgerow.datasets import make_shapes

X = [["the", "cat", "sat"], ["a", "dog", "barks"]] * 6
y = [["D", "N", "V"]] * 12
# Older ones know no hook, and show their own picture alone.
pytestmark = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7), reason="the hook is scikit-learn 1.7's"
)


class Rows(HTMLParser):
    """The cells of the rows of the last table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.rows = []
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "td"

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def facts_of(model) -> dict[str, str]:
    parser = Rows()
    parser.feed(model._repr_html_())
    return dict(parser.rows)


def test_an_estimator_that_is_not_fitted_is_scikit_learns():
    shown = LinearCRF(window=1)._repr_html_()
    assert "LinearCRF" in shown
    assert "fitted</caption>" not in shown


def test_the_facts_of_weights():
    model = LinearCRF(window=1).fit(X, y)
    facts = facts_of(model)
    assert facts["labels"] == "3: D, N, V"
    assert facts["window"] == "1"
    assert facts["weights"] == f"{len(model.weights_):,}"
    assert facts["iterations"].startswith(f"{model.n_iter_} (")
    assert facts["loss"] == f"{model.loss_:.4f}"
    assert model._repr_mimebundle_()["text/html"].endswith("</table>")


def test_the_facts_of_trees_with_held_out_sequences():
    model = TreeCRF(window=0, n_estimators=5, random_state=0).fit(X, y, X_val=X[:2], y_val=y[:2])
    facts = facts_of(model)
    assert facts["trees"] == str(model.ensemble_.n_trees)
    assert float(facts["best score on held-out sequences"]) == pytest.approx(
        max(step.score for step in model.history_), abs=1e-4
    )


@pytest.mark.parametrize("model", [HMM(), AutoLabeler(candidates=[HMM()], n_trials=1, random_state=0)])
def test_other_models(model):
    facts = facts_of(model.fit(X, y))
    assert facts["labels"] == "3: D, N, V"
    assert ("chosen" in facts) == isinstance(model, AutoLabeler)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_lattices():
    images, masks = make_shapes(2, size=8, random_state=0)
    assert facts_of(LatticeCRF(max_iter=2, tol=0.5).fit(images, masks))["labels"] == "2: 0, 1"


def test_labels_are_shown_and_never_run():
    evil = [["<script>alert(1)</script>", "[red]", "نعم"]] * 12
    shown = LinearCRF(window=1).fit(X, evil)._repr_html_()
    table = shown[shown.rindex("<table") :]
    assert "<script" not in table
    assert "&lt;script&gt;" in table
    assert re.search("نعم", table)


def test_many_labels_are_not_all_named():
    model = HMM().fit([[str(i) for i in range(40)]], [[f"L{i:02d}" for i in range(40)]])
    assert facts_of(model)["labels"].endswith("L11, …")
