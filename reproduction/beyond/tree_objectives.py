"""New: TreeCRF trained for labelwise accuracy and for the margin, against TreeCRF by likelihood."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.models.crf.tree import TreeCRF
from reproduction.comparison import Difference, between, spread
from reproduction.contenders import Contender, Labelling, label_parts
from reproduction.datasets import load_letters
from reproduction.drawing import draw_accuracies
from reproduction.problems import QUICK_TEST, QUICK_TRAIN, Part, Problem, load_problem
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings

TITLE = "TreeCRF by objective: labels right (%)"
TESTS = "McNemar's test on labels, against the likelihood with the same decoder"
LIKELIHOOD = "log_likelihood"
OBJECTIVES = (LIKELIHOOD, "labelwise", "margin")
HEADER = ("data", *(f"{objective}, {decoder}" for objective in OBJECTIVES for decoder in DECODERS), "CPU seconds")
TEST_HEADER = ("data", *(f"{objective}, {decoder}" for objective in OBJECTIVES[1:] for decoder in DECODERS))


def run(settings: Settings) -> Report:
    """Every objective on protein, hyphenation and letters, by both decoders."""
    data: dict[str, Any] = {}
    for load in PROBLEMS:
        problem = load(settings)
        data[problem.name] = compare(problem, problem.narrow(settings))
    rows = [_row(found) for found in data.values()]
    tests = [_test_row(found) for found in data.values()]
    tables = [Grid(TITLE, HEADER, rows), Grid(TESTS, TEST_HEADER, tests)]
    return Report("tree-objectives", tables, _notes(data, settings), data)


def compare(problem: Problem, settings: Settings) -> dict[str, Any]:
    """The objectives on one data set: accuracies over seeds, tests against the likelihood, CPU seconds."""
    labellings: dict[tuple[str, str], list[Labelling]] = {(o, d): [] for o in OBJECTIVES for d in DECODERS}
    for seed in settings.seeds:
        for objective in OBJECTIVES:
            both = label_parts(_contender(objective), problem, seed, settings)
            for d, decoder in enumerate(DECODERS):
                labellings[objective, decoder].append(_half(both, d))
            accuracy = spread(problem, [seed], labellings[objective, DECODERS[0]][-1:])
            settings.say(f"{problem.title}, seed {seed}: {objective} {accuracy} %")
    found: dict[str, Any] = {
        "title": problem.title,
        "seeds": len(settings.seeds),
        "accuracy": {},
        "against_likelihood": {},
        "seconds": {},
    }
    for (objective, decoder), own in labellings.items():
        key = f"{objective}, {decoder}"
        found["accuracy"][key] = spread(problem, settings.seeds, own)
        found["seconds"][objective] = [labelling.seconds for labelling in own]
        found.setdefault("chosen", {})[objective] = [labelling.details for labelling in own]
        if objective != LIKELIHOOD:
            reference = labellings[LIKELIHOOD, decoder]
            found["against_likelihood"][key] = between(problem, settings.seeds, own, reference)
    return found


def _contender(objective: str) -> Contender:
    """TreeCRF as it comes, but for the objective and the most iterations. It labels twice: by each decoder, one after
    the other."""

    def label(
        X: Any, y: Any, X_test: Any, seed: int, window: Window, settings: Settings
    ) -> tuple[Iterable[Any], float, dict[str, Any]]:
        model = TreeCRF(
            window=window,
            objective=objective,
            n_estimators=settings.max_iterations,
            random_state=seed,
            n_jobs=settings.n_jobs,
        )
        began = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - began
        dataset = model.encode(X_test)
        predicted = [labels for decoder in DECODERS for labels in model.predict(dataset, decoder=decoder)]
        return predicted, seconds, {"iterations": model.best_iteration_, "outcome": model.outcome_}

    return label


def _half(both: Labelling, d: int) -> Labelling:
    """What one decoder said, where a problem has one part."""
    n = len(both.predicted) // len(DECODERS)
    return Labelling(both.predicted[d * n : (d + 1) * n], both.seconds, both.details)


def letters_problem(settings: Settings) -> Problem:
    """Handwritten words: seed s trains on fold s mod 10 and tests on the other nine, as in the literature."""
    X, y, folds = load_letters(None if settings.folder is None else Path(settings.folder) / "letters")
    numbers = np.unique(folds)

    def parts(seed: int) -> list[Part]:
        own = folds == numbers[seed % len(numbers)]
        train, test = np.flatnonzero(own), np.flatnonzero(~own)
        return [Part(train[:QUICK_TRAIN], test[:QUICK_TEST]) if settings.quick else Part(train, test)]

    X_numbers = [word.astype(np.float64) for word in X]
    return Problem(
        "letters", "Letters", X_numbers, y, window=0, n_features=X[0].shape[1], parts=parts, narrow=narrow_letters
    )


def narrow_letters(settings: Settings) -> Settings:
    """Two seeds and at most 150 iterations: it has 26 labels."""
    return replace(settings, seeds=settings.seeds[:2], max_iterations=min(150, settings.max_iterations))


PROBLEMS: tuple[Callable[[Settings], Problem], ...] = (
    lambda settings: load_problem("protein", settings),
    lambda settings: load_problem("hyphen", settings),
    letters_problem,
)


def _row(found: dict[str, Any]) -> Row:
    seconds = " / ".join(f"{np.mean(found['seconds'][objective]):.1f}" for objective in OBJECTIVES)
    return (found["title"], *(str(accuracy) for accuracy in found["accuracy"].values()), seconds)


def _test_row(found: dict[str, Any]) -> Row:
    tests: dict[str, Difference] = found["against_likelihood"]
    return (found["title"], *(f"{test.difference:+.2f} ({test})" for test in tests.values()))


def _notes(data: dict[str, Any], settings: Settings) -> list[str]:
    tests = [test for found in data.values() for test in found["against_likelihood"].values()]
    wins, losses = (sum(test.verdict == verdict for test in tests) for verdict in ("better", "worse"))
    return [
        "TreeCRF(window=…, objective=…, n_estimators=…) and nothing else: at most"
        f" {settings.max_iterations} iterations, early stopping on held-out sequences, then all sequences. Letters: at"
        f" most {narrow_letters(settings).max_iterations}.",
        f"Mean and range over {len(settings.seeds)} seeds; the median p over seeds. Letters: {data['letters']['seeds']}"
        " seeds, and seed s trains on fold s and tests on the other nine.",
        f"Against the likelihood: {wins} significantly better, {losses} worse, of {len(tests)}.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each data set."""
    return draw_accuracies({found["title"]: found["accuracy"] for found in data.values()})
