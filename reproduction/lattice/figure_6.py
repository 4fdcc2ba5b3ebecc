"""Figure 6 of Vishwanathan et al. 2006: training objective and test error on photographs, by passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reproduction.lattice.drawing import draw_objectives
from reproduction.lattice.structure import STRUCTURE
from reproduction.lattice.tables import NOTES, compare, curves, table
from reproduction.report import Report
from reproduction.settings import Settings

TITLE = "Vishwanathan et al. 2006, figure 6: wrong blocks of photographs with man-made structure"


def run(settings: Settings) -> Report:
    """Everybody on the photographs, whose split is given: a seed stands for the order of images and those held out."""
    runs = compare(STRUCTURE, replace(settings, seeds=settings.seeds[:1]), follow=True)
    notes = ["One seed: the split is that of the data.", *NOTES]
    return Report("smd-fig-6", [table(TITLE, runs)], notes, {"runs": runs})


def draw(data: dict[str, Any]) -> Any:
    """A row for each criterion: the objective and the error."""
    return draw_objectives(curves(data["runs"]))
