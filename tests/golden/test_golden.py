"""Files of this version and of all before it load, and predict what they predicted when they were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import MEMM, AutoLabeler, BeamSearchTagger, FutureFeatureMEMM, LinearCRF, load
from tests.models.test_conventions import ESTIMATORS

from .models import FOLDER, answers, corpora

FILES = sorted(FOLDER.glob("*.hedgerow"))


def read(path: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return expected


def probabilities(found: list[Any]) -> np.ndarray:
    """The probabilities of all items, (positions, labels)."""
    arrays = [np.array(rows) for rows in found]
    return np.concatenate([rows.reshape(-1, rows.shape[-1]) for rows in arrays])


def test_there_are_golden_files():
    assert {path.stem.partition("-")[0] for path in FILES} == set(corpora())
    assert all(path.with_suffix(".json").exists() for path in FILES)
    assert all(path.stat().st_size < 50_000 for path in FILES)


def test_every_estimator_that_saves_has_one():
    savers = {kind.__name__ for kind in ESTIMATORS if hasattr(kind, "save")}
    assert {type(load(path)).__name__ for path in FILES} == savers


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_predicts_what_it_predicted(path: Path):
    model = load(path)
    expected = read(path)
    untrained, X, y = corpora()[path.stem.partition("-")[0]]
    assert type(model) is type(untrained)
    found = answers(model, X, y)
    if getattr(model, "decoder", None) == "auto" and isinstance(model, (LinearCRF, MEMM, FutureFeatureMEMM)):
        parameters = found["parameters"]  # "auto" was Viterbi's labeling of these when the files were made
        found = answers(model.set_params(decoder="viterbi"), X, y) | {"parameters": parameters}
    assert expected.keys() <= found.keys()
    if hasattr(model, "estimator"):  # a model of version 0.1.0 had the parameters of both kinds of estimators of rows
        expected["parameters"] = {
            name: value for name, value in expected["parameters"].items() if name in found["parameters"]
        }
        found["parameters"] = {name: found["parameters"][name] for name in expected["parameters"]}
        assert {"l2", "max_leaf_nodes"} & found["parameters"].keys()
    for name in expected.keys() - {"probabilities", "log_probability"}:
        assert found[name] == expected[name], name
    if "probabilities" in expected:
        theirs = probabilities(expected["probabilities"])
        np.testing.assert_allclose(probabilities(found["probabilities"]), theirs, rtol=0, atol=1e-12)
    if "log_probability" in expected:
        np.testing.assert_allclose(found["log_probability"], expected["log_probability"], rtol=1e-10)
    if isinstance(model, BeamSearchTagger) and model.random_state is None:  # each fit draws an order of its own
        seeded = (one.set_params(random_state=0).fit(X, y) for one in (model, untrained))
        again, anew = (answers(one, X, y)["predictions"] for one in seeded)
        assert again == anew
        return
    model.fit(X, y)  # and its parameters are those that trained it
    if isinstance(model, AutoLabeler):
        model.temperature_ = 1.0  # there was none when the files were made
    found = answers(model, X, y)
    assert found["predictions"] == expected["predictions"]
    if "probabilities" in expected:
        np.testing.assert_allclose(probabilities(found["probabilities"]), theirs, rtol=0, atol=1e-3)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_predicted_is_not_trivial(path: Path):
    expected = read(path)
    assert len({label for labels in expected["predictions"] for label in np.ravel(labels).tolist()}) > 1
    if "probabilities" in expected:
        probs = probabilities(expected["probabilities"])
        assert probs.max() > 1.5 / probs.shape[1]
        assert len(np.unique(probs.round(6))) > min(10, len(probs))
