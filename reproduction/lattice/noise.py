"""Where the pseudo-likelihood breaks down: section 5.1 of Vishwanathan et al. 2006 with noise of many strengths.

The paper reports more than half of the pixels wrong by pseudo-likelihood, and images that are black all over, and does
not say how strong its noise is. So here it is weak and strong, on made shapes.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reproduction.drawing import draw_lines
from reproduction.lattice.denoising import SHAPES, load_shapes
from reproduction.lattice.methods import ALONE, AUTO, TRAINED, TREES, Method, label, train
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

NOISES = (0.3, 0.5, 0.7, 1.0, 1.4, 2.0)
QUICK = (0.3, 2.0)
NAMES = ("LBP, L-BFGS", "PL, L-BFGS", "PL, SGD, auto", "PL, SMD, auto")
METHODS: tuple[Method, ...] = (ALONE, *(own for own in (*TRAINED, *AUTO) if own.name in NAMES), TREES[2])
WRONG = "Wrong pixels, %, by the standard deviation of the noise on made shapes of brightness 1 on 0"
FOUND = "Pixels that are labelled as shape, for each that is one"
TRUTH = "always background"


def run(settings: Settings) -> Report:
    """Train on the images of each noise and seed."""
    noises = QUICK if settings.quick else NOISES
    runs: dict[str, dict[str, Any]] = {name: {} for name in (TRUTH, *(method.name for method in METHODS))}
    for noise in noises:
        for name, own in at_noise(noise, settings).items():
            runs[name][f"{noise:g}"] = own
            settings.say(f"noise {noise:g}, {name}: {statistics.fmean(own['wrong']):.2f} % wrong")
    header = ("method", *(f"{noise:g}" for noise in noises))
    tables = [
        Grid(WRONG, header, [_row(name, own, "wrong") for name, own in runs.items()]),
        Grid(FOUND, header, [_row(name, own, "found") for name, own in runs.items()]),
    ]
    notes = [f"Mean and range over {len(settings.seeds)} seeds, each with shapes and noise of its own."]
    return Report("smd-noise", tables, notes, {"methods": runs, "noises": list(noises)})


def at_noise(noise: float, settings: Settings) -> dict[str, dict[str, list[float]]]:
    """Wrong pixels and those found of each method, one number for each seed."""
    task = replace(SHAPES, load=partial(load_shapes, noise=noise))
    found: dict[str, dict[str, list[float]]] = {}
    for seed in settings.seeds:
        images = task.load(settings, seed)
        labellings = {TRUTH: [np.zeros_like(mask) for mask in images.y_test]}
        for method in METHODS:
            model, _, _ = train(task, method, images, settings, seed)
            labellings[method.name] = label(method, model, images)
        truth = np.stack(images.y_test)
        for name, labels in labellings.items():
            own = found.setdefault(name, {"wrong": [], "found": []})
            own["wrong"].append(100.0 * float((np.stack(labels) != truth).mean()))
            own["found"].append(float(np.stack(labels).mean() / truth.mean()))
    return found


def _row(name: str, own: dict[str, Any], what: str) -> Row:
    cells = []
    for at in own.values():
        values = at[what]
        spread = f" ({min(values):.2f}–{max(values):.2f})" if len(values) > 1 else ""
        cells.append(f"{statistics.fmean(values):.2f}{spread}")
    return (name, *cells)


def draw(data: dict[str, Any]) -> Any:
    """Wrong pixels by the strength of the noise."""
    lines = {
        method.name: [statistics.fmean(at["wrong"]) for at in data["methods"][method.name].values()]
        for method in METHODS
    }
    return draw_lines(data["noises"], lines, x="standard deviation of the noise", y="wrong pixels, %")
