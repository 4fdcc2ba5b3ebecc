"""Files of this version and of all before it load, and predict what they predicted when they were written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hedgerow import load

from .models import FOLDER, corpora

FILES = sorted(FOLDER.glob("*.hedgerow"))


def test_there_are_golden_files():
    assert {path.stem.partition("-")[0] for path in FILES} == set(corpora())
    assert all(path.with_suffix(".json").exists() for path in FILES)
    assert all(path.stat().st_size < 50_000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_predicts_what_it_predicted(path: Path):
    model = load(path)
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    _, X, y = corpora()[path.stem.partition("-")[0]]
    assert model.classes_.tolist() == expected["classes"]
    assert model.predict(X).tolist() == expected["predictions"]
    for ours, theirs in zip(model.predict_proba(X), expected["probabilities"]):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.log_probability(X, y), expected["log_probability"], rtol=1e-10)
    for name, value in expected["parameters"].items():
        assert getattr(model, name) == value
    model.fit(X, y)  # and its parameters are those that trained it
    for ours, theirs in zip(model.predict_proba(X), expected["probabilities"]):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3)


def test_the_probabilities_are_not_trivial():
    for path in FILES:
        expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        probs = np.concatenate([np.array(rows) for rows in expected["probabilities"]])
        assert probs.max() > 0.6
        assert len(np.unique(probs.round(6))) > len(probs)
