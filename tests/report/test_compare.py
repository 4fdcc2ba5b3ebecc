"""Models side by side: the same folds, the numbers of the metrics, Ctrl-C, failures, pages and pictures."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from hedgerow import HMM, InputError, Item, LinearCRF
from hedgerow.datasets import make_sequences
from hedgerow.metrics import (
    expected_calibration_error,
    label_accuracy,
    log_loss,
    macro_f1,
    mcnemar,
    segment_f1,
    sequence_accuracy,
    sequence_test,
    span_f1,
)
from hedgerow.model_selection import cross_val_predict
from hedgerow.report import Comparison, compare, plot_comparison, write_comparison
from hedgerow.report.memory import PeakMemory
from hedgerow.report.page.compared import comparison_page

X, Y = make_sequences(40, random_state=1)
MODELS = {"hmm": HMM(), "crf": LinearCRF()}


class Fixed(BaseEstimator):
    """Predicts one label everywhere, after taking some memory and perhaps pressing Ctrl-C."""

    def __init__(self, label="L0", press=False, size=0):
        self.label = label
        self.press = press
        self.size = size

    def fit(self, X, y):
        self.outcome_ = "converged"
        np.ones(self.size)
        if self.press and len(X) > 20:
            os.kill(os.getpid(), signal.SIGINT)
        return self

    def predict(self, X):
        return [[self.label] * len(x) for x in X]


class Interrupted(Fixed):
    """Hears Ctrl-C itself, as the estimators of hedgerow do."""

    def fit(self, X, y):
        super().fit(X, y)
        self.outcome_ = "interrupted" if len(X) > 20 else "converged"
        return self


def test_the_numbers_are_those_of_the_metrics():
    found = compare(MODELS, X, Y, cv=4, random_state=3)
    cv = KFold(4, shuffle=True, random_state=3)
    predicted = {name: list(cross_val_predict(model, X, Y, cv=cv)) for name, model in MODELS.items()}
    assert found.entries[0].accuracy >= found.entries[1].accuracy
    for entry in found.entries:
        assert entry.accuracy == pytest.approx(label_accuracy(Y, predicted[entry.name]), rel=1e-12)
        assert entry.sequence_accuracy == pytest.approx(sequence_accuracy(Y, predicted[entry.name]), rel=1e-12)
        assert entry.span_f1 is None
        assert len(entry.fold_accuracies) == 4
        assert entry.train_seconds > 0 < entry.predict_seconds
    best, other = found.entries
    assert (best.p_labels, best.p_sequences) == (None, None)
    tested = Y, predicted[best.name], predicted[other.name]
    assert other.p_labels == pytest.approx(mcnemar(*tested).p_value)
    order = np.concatenate([test for _, test in cv.split(X)])  # in which signs are drawn
    drawn = sequence_test(*([rows[i] for i in order] for rows in tested))
    assert other.p_sequences == pytest.approx(drawn.p_value)
    for entry in found.entries:
        assert entry.macro_f1 == pytest.approx(macro_f1(Y, predicted[entry.name]))
        assert entry.segment_f1 == pytest.approx(segment_f1(Y, predicted[entry.name]))
        parts = [(clone(MODELS[entry.name]).fit([X[i] for i in a], [Y[i] for i in a]), b) for a, b in cv.split(X)]
        probs = [p for m, b in parts for p in m.predict_proba([X[i] for i in b])]
        together = [Y[i] for i in order], probs, parts[0][0].classes_
        assert entry.log_loss == pytest.approx(log_loss(*together))
        assert entry.calibration_error == pytest.approx(expected_calibration_error(*together))
    assert (found.n_sequences, found.n_labels, found.folds) == (40, sum(map(len, Y)), 4)
    assert compare(MODELS, X, Y, cv=4, random_state=3).entries[0].accuracy == best.accuracy


def test_test_sequences():
    found = compare(MODELS, X[:30], Y[:30], X_test=X[30:], y_test=Y[30:])
    for entry in found.entries:
        assert entry.accuracy == MODELS[entry.name].fit(X[:30], Y[:30]).score(X[30:], Y[30:])
    assert "on the test sequences" in str(found)


def test_spans():
    x, y = [["a", "b", "c"]] * 6, [["B-X", "I-X", "O"]] * 5 + [["O", "B-X", "O"]]
    found = compare({"hmm": HMM()}, x, y, cv=3, scheme="auto")
    predicted = list(cross_val_predict(HMM(), x, y, cv=KFold(3, shuffle=True, random_state=0)))
    assert found.best.span_f1 == pytest.approx(span_f1(y, predicted))
    assert "span F1" in str(found)
    assert found.ranked_by == "span F1"


def test_spans_rank_by_their_f1():
    """A model that says O is right most often, and finds nothing."""

    class Nothing(HMM):
        def predict(self, X, **more):
            return [["O"] * len(row) for row in X]

    x, y = [["a", "b"] * 6] * 9, [["B-X", *["O"] * 11], *[["O"] * 11 + ["B-X"]] * 8]
    found = compare({"nothing": Nothing(), "hmm": HMM()}, x, y, X_test=x[:2], y_test=y[:2], scheme="auto")
    assert [entry.span_f1 for entry in found.entries] == sorted((e.span_f1 for e in found.entries), reverse=True)


def test_groups_and_splitters():
    groups = [i // 8 for i in range(40)]
    by_groups = compare({"hmm": HMM()}, X, Y, cv=5, groups=groups)
    assert by_groups.best.accuracy == compare({"hmm": HMM()}, X, Y, cv=GroupKFold(5), groups=groups).best.accuracy
    with pytest.raises(InputError, match="test parts of cv"):
        compare({"hmm": HMM()}, X, Y, cv=ShuffleSplit(3))


def test_the_table():
    text = str(compare(MODELS, X, Y, cv=2))
    lines = text.splitlines()
    assert lines[0].split()[:3] == ["model", "accuracy", "macro"]
    assert {line.split()[0] for line in lines[1:3]} == {"hmm", "crf"}
    assert "best" in lines[1]
    assert "40 sequences" in lines[-1]


@pytest.mark.parametrize("model", [Fixed(press=True), Interrupted()])
def test_ctrl_c_keeps_what_is_finished(model):
    found = compare({"hmm": HMM(), "slow": model, "crf": LinearCRF()}, X, Y, cv=3)
    assert [entry.name for entry in found.entries] == ["hmm"]
    assert found.interrupted
    assert "interrupted" in str(found)
    with pytest.raises(KeyboardInterrupt):
        compare({"slow": model}, X, Y, cv=3)


def test_a_model_that_refuses_the_data_is_left_out():
    x = [Item([{"word": word} for word in own], {"language": "de"}) for own in X]
    said = []
    found = compare(MODELS, x, Y, cv=2, say=said.append)
    assert [entry.name for entry in found.entries] == ["crf"]
    assert "whole sequence" in found.failed["hmm"]
    assert "hmm is left out" in str(found)
    assert any(line.startswith("crf: 2 of 2 done") for line in said)
    with pytest.raises(InputError, match="no model could be trained"):
        compare({"hmm": HMM()}, x, Y, cv=2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"cv": 1}, "cv is 1"),
        ({"cv": 41}, "cv is 41. Give 2 to 40"),
        ({"X_test": X}, "go together"),
        ({"X_test": X, "y_test": Y[:3]}, "y_test has 3"),
    ],
)
def test_refusals(options, what):
    with pytest.raises(InputError, match=what):
        compare(MODELS, X, Y, **options)


def test_a_scheme_that_there_is_not_is_refused_before_training():
    with pytest.raises(InputError, match="scheme is 'odd'"):
        compare({"slow": Fixed(press=True)}, X, Y, scheme="odd")


def test_no_models_and_lengths():
    with pytest.raises(InputError, match="no model to compare"):
        compare({}, X, Y)
    with pytest.raises(InputError, match="there are 40 sequences and y has 3"):
        compare(MODELS, X, Y[:3])


def test_memory():
    with PeakMemory() as memory:
        np.ones(10_000_000)
    if memory.size is None:
        pytest.skip("this system does not tell the peak")
    assert 60e6 < memory.size < 120e6
    found = compare({"small": Fixed(), "large": Fixed("L1", size=10_000_000)}, X, Y, cv=2)
    sizes = {entry.name: entry.peak_bytes for entry in found.entries}
    assert sizes["large"] > sizes["small"] + 50e6


class Cells(HTMLParser):
    """The text of the cells of a page."""

    def __init__(self, text):
        super().__init__()
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.strip()


def made() -> Comparison:
    return compare({"<a>&": HMM(), "b": LinearCRF(), "c": Fixed()}, X, Y, cv=2)


def test_the_page(tmp_path):
    found = made()
    page = comparison_page(found, "A & B")
    cells = Cells(page).cells
    header = found.rows()[0]
    assert cells[: len(header)] == list(header)
    assert "<a>&" in cells
    assert "<a>&</td>" not in page
    assert "<title>A &amp; B</title>" in page
    assert "src=" not in page
    assert "http:" not in page
    assert "https:" not in page
    write_comparison(found, tmp_path / "page.html", "A & B")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_csv_and_json():
    found = made()
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["name"] for row in rows] == [entry.name for entry in found.entries]
    assert float(rows[0]["accuracy"]) == found.best.accuracy
    assert rows[0]["p_labels"] == ""
    record = json.loads(json.dumps(found.to_dict()))
    assert record["entries"][0]["name"] == found.best.name
    assert record["folds"] == 2


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    figure = plot_comparison(made(), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000
    left, right = figure.axes
    assert len(left.get_yticklabels()) == 3
    assert right.get_xscale() == "log"
