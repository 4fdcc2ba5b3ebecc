"""Figure 4 of Vishwanathan et al. 2006: training objective and test error of denoising, by passes."""

from __future__ import annotations

import statistics
from typing import Any

from hedgerow.experiments.lattice_denoising import CRITERIA, NOISE, Run, load_images, methods, run_method
from hedgerow.experiments.lattice_drawing import draw_objectives
from hedgerow.experiments.report import Grid, Report, Row
from hedgerow.experiments.settings import Settings

TITLE = "Vishwanathan et al. 2006, figure 4: wrong pixels of binary images with noise"


def run(settings: Settings) -> Report:
    """Everybody on the images of every seed."""
    runs: dict[str, list[Run]] = {method: [] for method in methods()}
    for seed in settings.seeds:
        images = load_images(settings, seed)
        for method in runs:
            found = run_method(method, images, settings, seed)
            runs[method].append(found)
            settings.say(f"seed {seed}, {method}: {found.errors[-1]:.2f} % wrong in {found.seconds:.1f} s")
    rows = [_row(method, own) for method, own in runs.items()]
    header = ("trained by", "wrong at the end, %", "lowest, %", "passes", "at rest", "gain", "CPU seconds")
    notes = [
        f"Made shapes with Gaussian noise of standard deviation {NOISE:g}; means over {len(settings.seeds)} seeds. The"
        " loss of a pass of an online trainer is the sum of the losses of its batches, each before the step it led to.",
        "The paper's gains are used where training does not diverge with them; else they are made smaller by eights.",
    ]
    return Report("smd-fig-4", [Grid(TITLE, header, rows)], notes, {"runs": runs})


def _row(method: str, own: list[Run]) -> Row:
    gains = {run.gain for run in own} - {None}
    return (
        method,
        f"{statistics.fmean(run.errors[-1] for run in own):.2f}",
        f"{statistics.fmean(min(run.errors) for run in own):.2f}",
        f"{statistics.fmean(len(run.losses) for run in own):.0f}",
        f"{sum(run.at_rest for run in own)} of {len(own)}",
        ", ".join(f"{gain:g}" for gain in sorted(filter(None, gains))) or "–",
        f"{statistics.fmean(run.seconds for run in own):.1f}",
    )


def draw(data: dict[str, Any]) -> Any:
    """A row for each criterion: the objective, and the error."""
    panels = {
        criterion: {
            method.split(", ")[1]: (runs[0].losses, runs[0].errors)
            for method, runs in data["runs"].items()
            if method.startswith(f"{criterion}, ")
        }
        for criterion in CRITERIA
    }
    return draw_objectives(panels)
