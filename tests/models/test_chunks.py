"""How a corpus is cut into chunks changes no answer: a law for every chain estimator that hedgerow exports."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hedgerow import MEMM, BeamSearchTagger, FutureFeatureMEMM, LinearCRF, RecurrentSlidingWindow, TreeCRF, parallel
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.legend import INDEX

from .test_conventions import ESTIMATORS, quick

CHAINS = [kind for kind in ESTIMATORS if not kind.__module__.startswith("hedgerow.lattice")]
N_SEQUENCES = 3 * parallel.MAX_LANES + 2
SPANS = [(i, 0, ["L1"]) for i in range(N_SEQUENCES)]

FEW_TREES = TreeCRF(n_estimators=2, early_stopping=False)

# Parameters by which other code makes the answers than by default.
VARIANTS: list[tuple[type, dict[str, Any]]] = [
    (BeamSearchTagger, {"ranking": "trees"}),
    (BeamSearchTagger, {"future_features": True, "direction": "right_to_left"}),
    (FutureFeatureMEMM, {"decoder": "greedy", "direction": "right_to_left"}),
    (LinearCRF, {"order": 2, "missing": "impute"}),
    (MEMM, {"order": 2, "decoder": "beam"}),
    (RecurrentSlidingWindow, {"estimator": FEW_TREES, "order": 2}),
    (TreeCRF, {"edges": "shared", "init": LinearCRF(l2=1.0), "early_stopping": False}),
]

QUESTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "explain": lambda model, X, y: [(part.name, part.log_odds) for x in X for part in model.explain(x, 0).parts],
    "entropy": lambda model, X, y: model.entropy(X),
    "log_likelihood": lambda model, X, y: model.log_likelihood(X),
    "log_probability": lambda model, X, y: model.log_probability(X, y),
    "predict": lambda model, X, y: model.predict(X),
    "predict_features": lambda model, X, y: model.predict_features(X),
    "predict_k_best": lambda model, X, y: model.predict_k_best(X, 3),
    "predict_marginals": lambda model, X, y: model.predict_marginals(X),
    "predict_patterns": lambda model, X, y: model.predict_patterns(X),
    "predict_proba": lambda model, X, y: model.predict_proba(X),
    "sample": lambda model, X, y: model.sample(X, 3, random_state=0),
    "score": lambda model, X, y: model.score(X, y),
    "span_probability": lambda model, X, y: model.span_probability(X, SPANS),
    "staged_score": lambda model, X, y: list(model.staged_score(X, y)),
    "state_proba": lambda model, X, y: model.state_proba(X),
}
NO_ANSWERS = {"encode", "fit", "partial_fit", "report", "seen"}  # methods that take X and cut nothing, train, or ask


def methods(kind: type) -> set[str]:
    """The public methods that take X."""
    members = inspect.getmembers(kind, inspect.isfunction)
    return {name for name, own in members if not name.startswith("_") and "X" in inspect.signature(own).parameters}


def cut(monkeypatch: pytest.MonkeyPatch, plan: Callable[..., Any]) -> list[int]:
    """Let every module plan its chunks so; gives a list that fills with how many chunks each plan had."""
    counts: list[int] = []
    original = parallel.plan_chunks

    def planned(offsets: Any, target: int = 0) -> Any:
        cuts = np.array(plan(len(offsets) - 1), dtype=INDEX)
        counts.append(len(cuts) - 1)
        return cuts

    for name, module in list(sys.modules.items()):
        if name.startswith("hedgerow") and getattr(module, "plan_chunks", None) is original:
            monkeypatch.setattr(module, "plan_chunks", planned)
    return counts


def answers(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """What a model says to each question, or why it refuses to."""
    found = {}
    for name in sorted(methods(type(model)) - NO_ANSWERS):
        try:
            found[name] = QUESTIONS[name](model, X, y)
        except InputError as error:
            found[name] = str(error)
    return found


def flat(answer: Any) -> list[Any]:
    """An answer as one list of labels and numbers."""
    if isinstance(answer, dict):
        return [value for own in answer.values() for value in flat(own)]
    if isinstance(answer, (list, tuple, np.ndarray)):
        return [value for own in answer for value in flat(own)]
    return [answer]


def is_number(value: Any) -> bool:
    return isinstance(value, (float, np.floating))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [*((kind, {}) for kind in CHAINS), *VARIANTS],
    ids=lambda own: getattr(own, "__name__", None) or "-".join(own) or "default",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_answer_depends_on_the_cuts(kind, parameters, monkeypatch):
    model = quick(kind).set_params(**parameters)
    if getattr(model, "estimator", None) == "trees":
        model.set_params(estimator=FEW_TREES)  # the same code, in less time
    model.fit(*make_sequences(20, n_tokens=12, mean_length=4, random_state=0))
    X, y = make_sequences(N_SEQUENCES, n_tokens=12, mean_length=4, random_state=1)
    with monkeypatch.context() as patch:
        cut(patch, lambda n: [0, n])
        whole = answers(model, X, y)
    refused = {name for name, answer in whole.items() if isinstance(answer, str)}
    assert refused <= {"predict_k_best", "entropy"}
    if hasattr(model, "n_jobs"):
        model.set_params(n_jobs=2)
    for plan in (lambda n: range(n + 1), lambda n: [*range(0, n, 2), n]):
        with monkeypatch.context() as patch:
            counts = cut(patch, plan)
            pieces = answers(model, X, y)
        assert max(counts) > parallel.MAX_LANES
        assert set(whole) == set(pieces)
        for name in whole:
            ours, theirs = flat(pieces[name]), flat(whole[name])
            assert [own for own in ours if not is_number(own)] == [own for own in theirs if not is_number(own)], name
            numbers = [[own for own in answer if is_number(own)] for answer in (ours, theirs)]
            # The last position of a chunk may be an exponential by itself, where others are four at once.
            np.testing.assert_allclose(*numbers, rtol=1e-12, err_msg=name)


def test_every_method_is_asked():
    """A new method that takes X is asked too, or is said to give no answer."""
    assert set().union(*map(methods, CHAINS)) == QUESTIONS.keys() | NO_ANSWERS
