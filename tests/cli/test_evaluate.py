"""hedgerow eval: the numbers are those of hedgerow.metrics."""

from __future__ import annotations

import json

import pytest

import hedgerow as package
from hedgerow.cli.evaluate import evaluate
from hedgerow.data.readers import read_conll
from hedgerow.metrics import label_report, sequence_accuracy, span_report
from hedgerow.metrics.spans import looks_like_spans
from tests.cli.conftest import table

# Labels that a model of the corpus gets wrong in places.
OTHER = "He PRP B-NP\nsleeps VBZ B-NP\n\nShe PRP B-NP\nreckons VBZ B-VP\n. . O\n"


@pytest.fixture
def truth_and_prediction(trained):
    X, y = read_conll(OTHER.splitlines(), columns=["word", "pos", "chunk"])
    return y, package.load(trained).predict(X)


def test_text(hedgerow, trained, truth_and_prediction):
    done = hedgerow("eval", trained, "-", stdin=OTHER)
    y, predicted = truth_and_prediction
    assert done.code == 0
    assert done.out == (
        f"{label_report(y, predicted)}\nsequence accuracy {sequence_accuracy(y, predicted):.4f} (2 sequences)\n\n"
        f"{span_report(y, predicted)}\n"
    )


def test_json(hedgerow, trained, truth_and_prediction):
    report = json.loads(hedgerow("eval", trained, "-", "--json", stdin=OTHER).out)
    y, predicted = truth_and_prediction
    assert report["sequences"] == 2
    assert report["label_accuracy"] == label_report(y, predicted).accuracy < 1
    assert report["sequence_accuracy"] == sequence_accuracy(y, predicted)
    assert report["spans"] == span_report(y, predicted).to_dict()
    assert set(report["labels"]["per_label"]) == {"B-NP", "B-VP", "O"}


def test_the_scheme_is_passed_on(hedgerow, trained):
    odd = OTHER.replace("B-VP", "E-VP")
    assert "processed 5 tokens" in hedgerow("eval", trained, "-", stdin=odd).out
    assert "'E-VP' is not a span label" in hedgerow("eval", trained, "-", "--scheme", "iob2", stdin=odd).complaint


def test_other_labels_have_no_spans(hedgerow, folder):
    (folder / "plain.txt").write_text("the DT\ncat NN\n\na DT\n")
    hedgerow("train", "plain.txt", "-o", "m", "--model", "linear", "-q")
    done = hedgerow("eval", "m", "plain.txt")
    assert "sequence accuracy" in done.out
    assert "phrases" not in done.out
    assert evaluate("m", "plain.txt").spans is None


def test_a_table_without_labels_and_options_of_training(hedgerow, folder):
    (folder / "t.csv").write_text(table())
    (folder / "new.csv").write_text(table(label=False))
    assert hedgerow("train", "t.csv", "--by", "sentence", "-o", "m", "-q", "-m", "linear").code == 0
    complaint = "new.csv: there is no column 'label', where the labels should be. "
    assert hedgerow("eval", "m", "new.csv").complaint == (
        complaint + "Label it first, or use `hedgerow tag` to predict its labels."
    )
    assert hedgerow("report", "m", "new.csv", "-o", "r.html").complaint == (
        complaint + "Give --unlabelled for a report without scores."
    )
    remembers = "The model remembers it from training."
    assert remembers in hedgerow("eval", "m", "t.csv", "--by", "sentence").complaint
    assert remembers in hedgerow("tag", "m", "t.csv", "--label", "label").complaint
    assert remembers not in hedgerow("eval", "m", "t.csv", "--wrong").complaint
    train = hedgerow("train", "t.csv", "--label", "odd", "-o", "n")
    assert "no column 'odd'. Columns are 'sentence'" in train.complaint


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["B-NP", "I-NP", "O"], True),
        (["S-X", "E-X"], True),
        (["O"], False),
        (["B-NP", "NN"], False),
        (["B", "I", "O"], False),
        (["B-NP", None], False),
        ([0, 1], False),
    ],
)
def test_what_looks_like_spans(labels, expected):
    assert looks_like_spans(labels) is expected
