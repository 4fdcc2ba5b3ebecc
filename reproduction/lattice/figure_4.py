"""Figure 4 of Vishwanathan et al. 2006: training objective and test error of denoising, by passes."""

from __future__ import annotations

from typing import Any

from reproduction.lattice.denoising import DRAWINGS, NOISE, SHAPES
from reproduction.lattice.drawing import draw_objectives
from reproduction.lattice.tables import NOTES, compare, curves, table
from reproduction.report import Report
from reproduction.settings import Settings

TITLE = "Vishwanathan et al. 2006, figure 4: wrong pixels of binary images with noise"


def run(settings: Settings) -> Report:
    """Everybody on made shapes and on parts of drawings."""
    found = {task.name: compare(task, settings, follow=task is SHAPES) for task in (SHAPES, DRAWINGS)}
    tables = [table(f"{TITLE}, {name}", runs) for name, runs in found.items()]
    notes = [
        f"Gaussian noise of standard deviation {NOISE:g} on brightness 0 and 1; {len(settings.seeds)} seeds, each with"
        " images and noise of its own.",
        *NOTES,
    ]
    return Report("smd-fig-4", tables, notes, {"runs": found})


def draw(data: dict[str, Any]) -> Any:
    """Made shapes: a row for each criterion, the objective and the error."""
    return draw_objectives(curves(data["runs"][SHAPES.name]))
