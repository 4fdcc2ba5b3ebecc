"""What stands in for missing values is learnt without the sequences that are held out: a law for every estimator."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from hedgerow import (
    MEMM,
    BeamSearchTagger,
    FutureFeatureMEMM,
    LinearCRF,
    MaxMarginMarkovNetwork,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    VirtualEvidence,
)

from .held_out import cut
from .local_models import local
from .test_conventions import ESTIMATORS

N = 20
CASES: list[tuple[type, dict[str, Any]]] = [
    (LinearCRF, {}),
    (MaxMarginMarkovNetwork, {}),
    (TreeCRF, {}),
    (VirtualEvidence, {}),
    (BeamSearchTagger, {"ranking": "perceptron"}),
    (BeamSearchTagger, {"ranking": "trees"}),
    (FutureFeatureMEMM, {}),
    (MEMM, {"estimator": "linear"}),
    (MEMM, {"estimator": "trees"}),
    (SlidingWindow, {"estimator": "linear"}),
    (SlidingWindow, {"estimator": "trees"}),
    (RecurrentSlidingWindow, {"estimator": "linear"}),
    (RecurrentSlidingWindow, {"estimator": "trees"}),
    (RecurrentSlidingWindow, {"estimator": "trees", "training": "predicted"}),
]
every_case = pytest.mark.parametrize(
    ("kind", "parameters"), CASES, ids=lambda own: getattr(own, "__name__", None) or "-".join(own.values()) or "default"
)


def corpus() -> tuple[list[Any], list[Any]]:
    """Numbers with gaps. Every sequence has its own mean, so that the mean of some tells which they are."""
    rng = np.random.default_rng(0)
    y = [rng.choice(["a", "b"], size=6).tolist() for _ in range(N)]
    X = []
    for i, labels in enumerate(y):
        numbers = [2.0**i / 1000 + (label == "a") for label in labels]
        numbers[i % 6] = float("nan")
        X.append([{"x": x, "word": label if i % 3 else "a"} for x, label in zip(numbers, labels)])
    return X, y


def mean(X: list[Any]) -> float:
    return float(np.nanmean([row["x"] for rows in X for row in rows]))


def new(kind: type, parameters: dict[str, Any], **more: Any) -> Any:
    names = kind().get_params()
    few = {"n_estimators": 3, "max_iter": 10, "n_iter_no_change": 20, "early_stopping": True, "missing": "impute"}
    few["calibrate"] = False
    own = few | {"validation_fraction": 0.3, "columns": {"x": "numeric"}, "random_state": 0} | parameters | more
    if "estimator" in names:
        return local(kind, **own)
    return kind(**{name: value for name, value in own.items() if name in names})


def test_every_estimator_that_fills_and_holds_out_is_a_case():
    needed = {"missing", "early_stopping", "validation_fraction"}
    names = {kind: {*kind().get_params()} for kind in ESTIMATORS}
    assert {kind for kind in ESTIMATORS if needed <= names[kind] or "estimator" in names[kind]} == {k for k, _ in CASES}


@pytest.mark.parametrize(
    ("kind", "parameters", "state"),
    [
        *((*case, 0) for case in CASES),
        *((*case, np.random.RandomState(0)) for case in CASES if "training" not in case[1]),  # whose folds draw first
    ],
    ids=lambda own: getattr(own, "__name__", None) or type(own).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_held_out_sequences_have_no_say(kind, parameters, state):
    X, y = corpus()
    kept = cut(new(kind, parameters), X, y)[0]
    assert len(kept) == 14
    model = new(kind, parameters, refit=False, random_state=copy.deepcopy(state)).fit(X, y)
    np.testing.assert_allclose(model.imputation_.numbers["x"], mean(kept), rtol=1e-12)


@every_case
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_again_on_all_learns_from_all(kind, parameters):
    X, y = corpus()
    model = new(kind, parameters, refit=True).fit(X, y)
    kept = cut(model, X, y)[0]
    again = getattr(model, "refitted_", False)
    linear = "linear" in parameters.values()
    assert again == (("refit" in model.get_params() or "estimator" in parameters) and not linear)
    np.testing.assert_allclose(model.imputation_.numbers["x"], mean(X if again else kept), rtol=1e-12)
    boosted = "n_estimators" in model.get_params() or "estimator" in parameters
    if again and boosted and kind is not FutureFeatureMEMM:
        form = {"edges": model.edges_} if kind is TreeCRF else {}
        alone = new(kind, parameters | form, early_stopping=False, n_estimators=model.best_iteration_).fit(X, y)
        for ours, theirs in zip(model.predict_proba(X), alone.predict_proba(X)):
            np.testing.assert_array_equal(ours, theirs)
