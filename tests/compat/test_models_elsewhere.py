"""A model file of CRFsuite where any model file may stand: the command line, and pickles; and what importing costs."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import hedgerow
from hedgerow.cli.evaluate import evaluate
from hedgerow.cli.info import describe
from hedgerow.cli.tag import tag

from .corpora import train


@pytest.fixture(scope="module")
def model_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.crfsuite"
    train(([[["w=a", "BOS"], ["w=b"]], [["w=b", "BOS"]]] * 3, [["A", "B"], ["B"]] * 3), path, c2=0.01)
    return path


def test_tag_eval_and_info(model_path, tmp_path):
    data = tmp_path / "new.crfsuite"
    data.write_text("A\tw=a\tBOS\nB\tw=b\n\nA\tw=b\tBOS\n", encoding="utf-8")
    assert tag(str(model_path), str(data)).decode().split() == ["A", "A", "B", "B", "A", "B"]
    assert "0.6667" in str(evaluate(str(model_path), str(data)))
    text = describe(str(model_path))
    assert "LinearCRF" in text
    assert "read from a CRFsuite model" in text
    assert "w=a → A" in text


def test_pickles_and_warm_starts(model_path):
    model = hedgerow.load(model_path)
    again = pickle.loads(pickle.dumps(model))
    X, y = [[["w=a"], ["w=c"]]], [["A", "C"]]
    assert list(again.predict(X)[0]) == list(model.predict(X)[0])
    before = model.feature_weights()
    model.set_params(warm_start=True, max_iter=100).fit(X, y)
    assert set(model.classes_) == {"A", "C"}
    assert model.feature_weights() != before


def test_it_learns_on_bit_by_bit(model_path):
    model = hedgerow.load(model_path).set_params(trainer="passive_aggressive", random_state=0)
    model.partial_fit([[["w=a"], ["w=c"]]] * 3, [["A", "C"]] * 3)
    assert list(model.predict([[["w=a"], ["w=c"]]])[0]) == ["A", "C"]
    assert list(model.predict([[["w=a"], ["w=b"]]])[0]) == ["A", "B"]


def test_a_corpus_that_training_knows_nothing_of(model_path):
    model = hedgerow.load(model_path)
    assert len(model.predict([[["unknown"], []]])[0]) == 2
    assert len(model.predict([[{"unknown": "x"}]])[0]) == 1


@pytest.mark.parametrize("code", ["import hedgerow", "import hedgerow; hedgerow.LinearCRF; hedgerow.load"])
def test_the_package_imports_none_of_it(code):
    theirs = "name in ('pycrfsuite', 'sklearn_crfsuite') or name.startswith('hedgerow.compat')"
    report = f"import sys; print([name for name in sys.modules if {theirs}])"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
