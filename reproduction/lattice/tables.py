"""Tables of those who are compared on images: errors, a paired test by image, passes, seconds."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from reproduction.lattice.methods import BASE, TRAINED, Run, Task, run_method
from reproduction.report import Grid, Row
from reproduction.settings import LEVEL, Settings

HEADER = ("trained by", "wrong, %", f"against {BASE.name}", "p", "loss", "passes", "at rest", "gain", "CPU seconds")
NOTES = (
    f"Wrong: of all test nodes, mean over seeds. The test against {BASE.name} is Wilcoxon's for pairs, with the shares"
    " of wrong nodes of a test image, by each of the two, as a pair; images of all seeds are taken together.",
    "Passes of L-BFGS are iterations; a line search may look at the data more than once in one. A pass of SMD has two"
    " more looks, for the Hessian. Loss: of all training images at the end, with the penalty, mean over seeds.",
    "Gains: of the paper's and four smaller ones, by eights, the one with the smallest loss. Rows with auto have"
    " the one that the trainer finds itself, and its own settings. Seconds are of the training with the gain taken.",
)


def compare(task: Task, settings: Settings, *, follow: bool) -> dict[str, list[Run]]:
    """Everybody on the images of every seed; with `follow` curves of the test error are read off on the first seed."""
    runs: dict[str, list[Run]] = {method.name: [] for method in task.methods}
    for seed in settings.seeds:
        images = task.load(settings, seed)
        for method in task.methods:
            drawn = follow and seed == settings.seeds[0] and method in TRAINED
            found = run_method(task, method, images, settings, seed, follow=drawn)
            runs[method.name].append(found)
            error = statistics.fmean(found.wrong)
            settings.say(f"{task.name}, seed {seed}, {method.name}: {error:.2f} % wrong, {found.seconds:.1f} s")
    return runs


def table(title: str, runs: dict[str, list[Run]]) -> Grid:
    """A row for everybody."""
    base = images_of(runs[BASE.name])
    return Grid(title, HEADER, [_row(name, own, base) for name, own in runs.items()])


def images_of(own: list[Run]) -> list[float]:
    """The share of wrong nodes of each test image of each seed, in %."""
    return [share for run in own for share in run.wrong]


def paired_test(one: list[float], other: list[float]) -> float:
    """Wilcoxon's p for pairs, two-sided; 1 where no pair differs."""
    from scipy.stats import wilcoxon

    if np.allclose(one, other, rtol=0.0, atol=1e-12):
        return 1.0
    return float(wilcoxon(one, other, zero_method="zsplit", method="approx").pvalue)


def _row(name: str, own: list[Run], base: list[float]) -> Row:
    wrong = images_of(own)
    by_seed = [statistics.fmean(run.wrong) for run in own]
    spread = f" ({min(by_seed):.2f}–{max(by_seed):.2f})" if len(own) > 1 else ""
    gains = sorted({run.gain for run in own if isinstance(run.gain, float)})
    losses = [run.loss for run in own if run.loss is not None]
    verdict, shown = "–", "–"
    if name != BASE.name:
        p, difference = paired_test(wrong, base), statistics.fmean(wrong) - statistics.fmean(base)
        word = "alike" if p >= LEVEL else "worse" if difference > 0 else "better"
        verdict, shown = f"{difference:+.2f}, {word}", "< 0.001" if p < 0.001 else f"{p:.3f}"
    return (
        name,
        f"{statistics.fmean(wrong):.2f}{spread}",
        verdict,
        shown,
        f"{statistics.fmean(losses):.1f}" if losses else "–",
        f"{statistics.fmean(len(run.losses) for run in own):.0f}",
        f"{sum(run.at_rest for run in own)} of {len(own)}",
        ", ".join(f"{gain:g}" for gain in gains) or "–",
        f"{statistics.fmean(run.seconds for run in own):.1f}",
    )


def curves(runs: dict[str, list[Run]]) -> dict[str, dict[str, tuple[list[float], list[float]]]]:
    """The losses and errors of each criterion and trainer, by pass, on the first seed."""
    panels: dict[str, dict[str, Any]] = {}
    for method in TRAINED:
        first = runs[method.name][0]
        panels.setdefault(method.criterion, {})[method.trainer] = first.losses, first.errors
    return panels
