"""Lines of papers and of their heads, one label against the rest: future features beside MEMMs and CRFs.

Hao's thesis (2009, section 6.2) asks for such tests of the FF-MEMM, on lines of documents among others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import joblib

from hedgerow.estimators.base import ChainModel
from hedgerow.metrics import label_report
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.local.memm import MEMM
from reproduction.comparison import between, spread
from reproduction.contenders import Labelling
from reproduction.drawing import draw_accuracies
from reproduction.problems import Problem, load_problem
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.thesis.table_5_5 import label

TITLE = "Lines of papers and of their heads, one label against the rest (accuracy, F1 of the label, %)"
PROBLEMS = ("papers", "headers")
N_TASKS, QUICK_TASKS = 4, 1  # of each problem: the labels that are most frequent, but the first
ORDERS = (1, 2)
REST = "(rest)"
DECODER = "posterior"

MEMMS, CRFS, FUTURE = "MEMM", "CRF", "FF-MEMM"
METHODS: dict[str, Callable[..., ChainModel]] = {
    MEMMS: partial(MEMM, estimator="trees"),
    CRFS: TreeCRF,
    FUTURE: FutureFeatureMEMM,
}
OTHERS = (MEMMS, CRFS)
HEADER = (
    "data", "label", "order", *METHODS, *(f"{FUTURE} vs {other}" for other in OTHERS), *(f"F1, {m}" for m in METHODS),
    "seconds",
)  # fmt: skip


def run(settings: Settings) -> Report:
    """Every method and order on every task. Documents are cut into folds by one seed."""
    settings = replace(settings, seeds=settings.seeds[:1])
    problems = [one for name in PROBLEMS for one in tasks(load_problem(name, settings), settings)]
    jobs = [(i, order, method) for i in range(len(problems)) for order in ORDERS for method in METHODS]
    results = joblib.Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        joblib.delayed(train_and_label)(METHODS[method], order, problems[i], settings) for i, order, method in jobs
    )
    found: dict[tuple[int, int], dict[str, Labelling]] = {}
    for (i, order, method), own in zip(jobs, results):
        found.setdefault((i, order), {})[method] = own
        settings.say(f"{problems[i].title}, {method}-{order}: {spread(problems[i], settings.seeds, [own])} %")
    data: dict[str, Any] = {problem.title: {} for problem in problems}
    for (i, order), labellings in found.items():
        data[problems[i].title][str(order)] = measure(problems[i], labellings, settings)
    rows = [_row(title, order, own) for title, orders in data.items() for order, own in orders.items()]
    return Report("future-lines", [Grid(TITLE, HEADER, rows)], _notes(problems[0], settings), data)


def tasks(problem: Problem, settings: Settings) -> list[Problem]:
    """A problem as several: each of its frequent labels, but the most frequent one, against the rest."""
    counts = Counter(str(own) for row in problem.y for own in row)
    n = QUICK_TASKS if settings.quick else N_TASKS
    return [_one_against_rest(problem, own) for own, _ in counts.most_common(n + 1)[1:]]


def _one_against_rest(problem: Problem, own: str) -> Problem:
    labels = [[own if str(other) == own else REST for other in row] for row in problem.y]
    return replace(problem, name=own, title=f"{problem.title}: {own}", y=labels)


def train_and_label(make: Callable[..., ChainModel], order: int, problem: Problem, settings: Settings) -> Labelling:
    """The labels that one method gives to all documents, fold by fold."""
    seed = settings.seeds[0]
    model = make(order=order, window=problem.window, random_state=seed)
    return label(model, problem, seed, settings.alone())[DECODER]


def measure(problem: Problem, labellings: dict[str, Labelling], settings: Settings) -> dict[str, Any]:
    """Accuracies, F1 of the label, tests of future features against the others, and seconds."""
    truth, seeds = problem.truth(settings.seeds[0]), settings.seeds
    return {
        "accuracy": {method: spread(problem, seeds, [own]) for method, own in labellings.items()},
        "f1": {
            method: 100 * label_report(truth, own.predicted, labels=[problem.name]).micro.f1
            for method, own in labellings.items()
        },
        "tests": {other: between(problem, seeds, [labellings[FUTURE]], [labellings[other]]) for other in OTHERS},
        "seconds": {method: own.seconds for method, own in labellings.items()},
    }


def _row(title: str, order: str, own: dict[str, Any]) -> Row:
    return (
        *title.split(": "),
        order,
        *(str(own["accuracy"][method]) for method in METHODS),
        *(str(own["tests"][other]) for other in OTHERS),
        *(f"{own['f1'][method]:.1f}" for method in METHODS),
        " / ".join(f"{own['seconds'][method]:.0f}" for method in METHODS),
    )


def _notes(problem: Problem, settings: Settings) -> list[str]:
    n_folds = len(problem.parts(settings.seeds[0]))
    return [
        "All are boosted trees that see a line alone, with their defaults: as many as are best on a tenth of the"
        " training documents, then trained again on all of these. The bag has 6 lines. CRFs have joint edges."
        " Posterior decoding.",
        f"Every document is labelled once, by models trained on the others, in {n_folds} folds.",
        "The tests are McNemar's on lines. Lines of one document are alike, so that p-values are smaller than they"
        " should be.",
        f"Seconds of CPU time of the {n_folds} trainings: {', '.join(METHODS)}.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each task: the accuracy of each method and order."""
    return draw_accuracies(
        {
            title: {f"{method}-{order}": own["accuracy"][method] for method in METHODS for order, own in orders.items()}
            for title, orders in data.items()
        }
    )
