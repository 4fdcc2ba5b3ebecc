"""Table 5.4 of Hao 2009: labels that depend on what is ahead, by windows, MEMMs, CRFs and future features."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import joblib

from hedgerow.datasets.future import KINDS
from hedgerow.estimators.base import ChainModel
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.local.memm import MEMM
from hedgerow.models.local.sliding_window import SlidingWindow
from reproduction.comparison import Spread
from reproduction.contenders import shorten
from reproduction.drawing import draw_accuracies
from reproduction.published import TABLE_5_4
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.thesis.table_5_3 import cut

TITLE = "Hao 2009, table 5.4: sequences whose labels depend on what is ahead (test accuracy, %)"
HEADER = ("data", "method", "ours", "published", "seconds")

METHODS: dict[str, Callable[..., ChainModel]] = {
    "SW": SlidingWindow,
    "MEMM-1": partial(MEMM, order=1, estimator="trees"),
    **{f"CRF-{order}": partial(TreeCRF, order=order) for order in (1, 2, 3, 4)},
    "FF-MEMM-0": partial(FutureFeatureMEMM, order=0),
}


def run(settings: Settings) -> Report:
    """Every method on every kind of sequences, and on those of every seed."""
    tasks = [(kind, method, seed) for kind in KINDS for method in METHODS for seed in settings.seeds]
    results = joblib.Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        joblib.delayed(measure)(kind, method, seed, settings.alone()) for kind, method, seed in tasks
    )
    found: dict[str, dict[str, list[tuple[float, float]]]] = {kind: {} for kind in KINDS}
    for (kind, method, seed), own in zip(tasks, results):
        found[kind].setdefault(method, []).append(own)
        settings.say(f"{kind}, {method}, seed {seed}: {own[0]:.2f} %")
    data = {
        kind: {
            method: {
                "accuracy": Spread.of([accuracy for accuracy, _ in own]),
                "seconds": [seconds for _, seconds in own],
                "published": TABLE_5_4[kind][method],
            }
            for method, own in methods.items()
        }
        for kind, methods in found.items()
    }
    rows = [_row(kind, method, own) for kind, methods in data.items() for method, own in methods.items()]
    notes = [
        "All are boosted trees that see their own position alone, with their defaults, and are stopped by the same 200"
        " sequences. CRFs have joint edges and posterior decoding.",
        f"Mean and range over {len(settings.seeds)} seeds, each with sequences of its own. Seconds of CPU time of one"
        " training.",
    ]
    return Report("thesis-5.4", [Grid(TITLE, HEADER, rows)], notes, data)


def measure(kind: str, method: str, seed: int, settings: Settings) -> tuple[float, float]:
    """The test accuracy of one method in percent, and the CPU seconds of its training."""
    train, stop, test = cut(kind, seed, settings)
    model: Any = METHODS[method](random_state=seed)
    if settings.quick:
        shorten(model, settings.max_iterations)
    began = time.process_time()
    model.fit(*train, X_val=stop[0], y_val=stop[1])
    seconds = time.process_time() - began
    return 100.0 * model.score(*test), seconds


def _row(kind: str, method: str, own: dict[str, Any]) -> Row:
    seconds = sum(own["seconds"]) / len(own["seconds"])
    return (kind.upper(), method, str(own["accuracy"]), f"{own['published']:.1f}", f"{seconds:.1f}")


def draw(data: dict[str, Any]) -> Any:
    """A panel for each kind of sequences: ours with their ranges, and the published figures."""
    return draw_accuracies(
        {
            kind.upper(): {
                name: value
                for method, own in methods.items()
                for name, value in ((f"{method}, ours", own["accuracy"]), (f"{method}, published", own["published"]))
            }
            for kind, methods in data.items()
        }
    )
