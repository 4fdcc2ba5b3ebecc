"""Table 5.5 of Hao 2009: NETtalk's stress, made binary, by windows, and by MEMMs, CRFs and FF-MEMMs of order 1 to 4."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import joblib

from hedgerow.estimators.base import ChainModel
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.local.memm import MEMM
from hedgerow.models.local.sliding_window import SlidingWindow
from reproduction.comparison import against_published, spread
from reproduction.contenders import Labelling, shorten
from reproduction.drawing import draw_accuracies
from reproduction.problems import Problem, load_problem, take
from reproduction.published import TABLE_5_5
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings

TITLE = "Hao 2009, table 5.5: accuracy (%) on NETtalk's stress, stressed or not, each letter by itself"
STRESSED = "12"  # the marks of strong and medium stress
SW, MEMMS, CRFS, FUTURE = "SW", "MEMM", "CRF", "FF-MEMM"
BAGS = (2, 4)
ORDERS = (1, 2, 3, 4)
HEADER = ("method", "published", "posterior", "Viterbi", "posterior vs published", "Viterbi vs published", "seconds")
PICTURED = {"posterior": "posterior", "viterbi": "Viterbi"}

Make = Callable[..., ChainModel]


def methods() -> dict[tuple[str, int], Make]:
    """(method, order) → what makes the model from a seed: with its own defaults, and no window."""
    found: dict[tuple[str, int], Make] = {(SW, 0): SlidingWindow}
    found |= {(MEMMS, order): partial(MEMM, order=order, estimator="trees") for order in ORDERS}
    found |= {(CRFS, order): partial(TreeCRF, order=order) for order in ORDERS}
    for bag in BAGS:
        found |= {(f"{FUTURE} (bag {bag})", k): partial(FutureFeatureMEMM, order=k, bag=bag) for k in ORDERS}
    return found


def run(settings: Settings) -> Report:
    """Every method on the words of every seed, read both ways."""
    problem = binary(load_problem("nettalk", settings))
    wanted = methods()
    tasks = [(key, seed) for key in wanted for seed in settings.seeds]
    found: dict[tuple[str, int], list[dict[str, Labelling]]] = {key: [] for key in wanted}
    results = joblib.Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        joblib.delayed(label)(wanted[key](random_state=seed), problem, seed, settings) for key, seed in tasks
    )
    for (key, seed), own in zip(tasks, results):
        found[key].append(own)
        settings.say(f"{name(*key)}, seed {seed}: {spread(problem, [seed], [own['posterior']])} %")
    data = {name(*key): _measured(problem, settings, key, own) for key, own in found.items()}
    rows = [_row(method, own) for method, own in data.items()]
    return Report("thesis-5.5", [Grid(TITLE, HEADER, rows)], _notes(settings), data)


def binary(problem: Problem) -> Problem:
    """Stressed or not, and no letter sees another."""
    labels = [["stressed" if label[-1] in STRESSED else "light" for label in row] for row in problem.y]
    return replace(problem, title="NETtalk stress, binary", y=labels, window=0, n_features=27)


def name(method: str, order: int) -> str:
    """What a row is called."""
    word, _, rest = method.partition(" ")
    return f"{word}-{order} {rest}".rstrip() if order else method


def label(model: Any, problem: Problem, seed: int, settings: Settings) -> dict[str, Labelling]:
    """Train a model and label the test words by each decoder; CPU seconds of training."""
    if settings.quick:
        shorten(model, settings.max_iterations)
    found = {decoder: Labelling([], 0.0, []) for decoder in DECODERS}
    for part in problem.parts(seed):
        began = time.process_time()
        model.fit(take(problem.X, part.train), take(problem.y, part.train))
        seconds = time.process_time() - began
        for decoder in DECODERS:
            rows = model.predict(take(problem.X, part.test), decoder=decoder)
            found[decoder] = found[decoder].plus(rows, seconds, {"iterations": model.best_iteration_})
    return found


def _measured(
    problem: Problem, settings: Settings, key: tuple[str, int], own: Sequence[dict[str, Labelling]]
) -> dict[str, Any]:
    published = TABLE_5_5[key[0]][key[1]]
    seconds = [one["posterior"].seconds for one in own]
    found: dict[str, Any] = {"method": key[0], "published": published, "seconds": seconds}
    for decoder in DECODERS:
        accuracy = spread(problem, settings.seeds, [one[decoder] for one in own])
        found[decoder] = {
            "accuracy": accuracy,
            "against_published": against_published(problem, settings.seeds, accuracy, published),
            "iterations": [one[decoder].details[0]["iterations"] for one in own],
        }
    return found


def _row(method: str, own: dict[str, Any]) -> Row:
    tests = [str(own[decoder]["against_published"]) for decoder in DECODERS]
    accuracies = [str(own[decoder]["accuracy"]) for decoder in DECODERS]
    seconds = sum(own["seconds"]) / len(own["seconds"])
    return (method, f"{own['published']:.1f}", *accuracies, *tests, f"{seconds:.1f}")


def _notes(settings: Settings) -> list[str]:
    return [
        "All are boosted trees with their defaults: as many as are best on a tenth of the training words, which is held"
        " out, then trained again on all. CRFs have joint edges.",
        "The thesis reads CRFs by posterior decoding; how it reads MEMMs it does not say.",
        f"Mean and range over {len(settings.seeds)} seeds, each with 1,000 + 1,000 words of its own. The tests are for"
        " two proportions, the published figure standing for 1,000 words.",
        "Seconds of CPU time of one training.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each method: ours with their ranges, and the published figures."""
    panels: dict[str, dict[str, Any]] = {}
    for method, own in data.items():
        panel = panels.setdefault(own["method"], {})
        for decoder, word in PICTURED.items():
            panel[f"{method}, {word}"] = own[decoder]["accuracy"]
        panel[f"{method}, published"] = own["published"]
    return draw_accuracies(panels)
