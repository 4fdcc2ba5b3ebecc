"""Iterative scaling, which the papers name as what L-BFGS replaced: GIS and IIS beside L-BFGS, by iteration."""

from __future__ import annotations

import time
from typing import Any

from hedgerow.metrics import label_accuracy
from hedgerow.models.crf.linear import LinearCRF
from reproduction.comparison import Spread
from reproduction.drawing import draw_accuracies
from reproduction.linear import fit_to_end
from reproduction.problems import load_problem, take
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "Hyphenation, single letters: training loss by iteration, and test labels right (%)"
TRAINERS = {"lbfgs": "L-BFGS", "iis": "IIS", "gis": "GIS"}
STOPS = (10, 30, 100, 300)
HEADER = ("trainer", *(f"loss after {stop}" for stop in STOPS), "at the end", "iterations", "labels right", "CPU s")
PENALTY = 0.1


def run(settings: Settings) -> Report:
    """Each trainer once, on the first part."""
    problem = load_problem("hyphen", settings)
    part = problem.parts(settings.seeds[0])[0]
    X_test, y_test = take(problem.X, part.test), take(problem.y, part.test)
    most = settings.max_iterations if settings.quick else STOPS[-1]
    data: dict[str, Any] = {}
    for name, title in TRAINERS.items():
        model = LinearCRF(window=problem.window, trainer=name, l2=PENALTY, max_iter=most)
        began = time.process_time()
        fit_to_end(model, take(problem.X, part.train), take(problem.y, part.train))
        seconds = time.process_time() - began
        losses = [step.loss for step in model.history_]
        accuracy = Spread.of([100 * label_accuracy(y_test, model.predict(X_test))])
        data[title] = {"losses": losses, "accuracy": accuracy, "seconds": seconds}
        settings.say(f"{title}: {losses[-1]:.1f} after {len(losses)}, {accuracy} %")
    notes = [f"l2 = {PENALTY}, one run each, no window beyond the columns. Labels by the decoder that is the default."]
    return Report("iterative-scaling", [Grid(TITLE, HEADER, list(map(_row, data.items())))], notes, data)


def _row(entry: tuple[str, dict[str, Any]]) -> Row:
    title, found = entry
    losses = found["losses"]
    stops = (f"{losses[stop - 1]:,.0f}" if stop <= len(losses) else "–" for stop in STOPS)
    return (
        title, *stops, f"{losses[-1]:,.1f}", str(len(losses)), str(found["accuracy"]), f"{found['seconds']:.1f}",
    )  # fmt: skip


def draw(data: dict[str, Any]) -> Any:
    """The accuracies at the end."""
    return draw_accuracies({"Hyphenation": {name: found["accuracy"] for name, found in data.items()}})
