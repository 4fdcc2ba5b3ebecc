"""The tables and figures of the papers, done again. `make reproduce NAME=thesis-3.5` runs one of them.

Each has a file with `run(settings) -> Report` and `draw(data) -> figure`. They stand on shared modules: the published
figures, the data sets with their windows and splits, the cross-validation, those who are compared, the tests.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

from hedgerow.errors import InputError

if TYPE_CHECKING:
    from reproduction.report import Report
    from reproduction.settings import Settings

EXPERIMENTS = {
    "thesis-3.4": "thesis.table_3_4",
    "thesis-3.5": "thesis.table_3_5",
    "thesis-3.6": "thesis.table_3_6",
    "thesis-fig-3.1": "thesis.figure_3_1",
    "thesis-fig-3.3": "thesis.figure_3_3",
    "thesis-fig-4.1": "thesis.figure_4_1",
    "thesis-table-4.1": "thesis.table_4_1",
    "thesis-fig-4.2": "thesis.figure_4_2",
    "thesis-5.3": "thesis.table_5_3",
    "thesis-5.4": "thesis.table_5_4",
    "thesis-5.5": "thesis.table_5_5",
    "future-lines": "beyond.future_lines",
    "icml-figures": "icml.figures",
    "icml-table-3": "icml.table_3",
    "smd-fig-1": "smd.figure_1",
    "smd-fig-2": "smd.figure_2",
    "smd-fig-3": "lattice.figure_3",
    "smd-fig-4": "lattice.figure_4",
    "smd-fig-5": "lattice.figure_5",
    "smd-fig-6": "lattice.figure_6",
    "smd-noise": "lattice.noise",
    "snakes": "lattice.snakes",
    "labelwise-fig-1": "labelwise.figure_1",
    "labelwise-fig-2": "labelwise.figure_2",
    "tree-objectives": "beyond.tree_objectives",
    "tree-options": "beyond.tree_options",
    "iterative-scaling": "beyond.iterative_scaling",
    "slides-methods": "slides.methods",
    "slides-tts": "slides.tts",
    "slides-tts-19000": "slides.tts_19000",
    "search-methods": "beyond.search_methods",
    "separate-trees": "beyond.separate_trees",
}


class Experiment(Protocol):
    """A module of an experiment."""

    def run(self, settings: Settings) -> Report:
        """Do it."""

    def draw(self, data: dict[str, Any]) -> Any:
        """A matplotlib figure of what it found."""


def find_experiment(name: str) -> Experiment:
    """The module of the experiment of that name."""
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment {name!r}", hint=f"Choose one of {', '.join(EXPERIMENTS)}.")
    return cast(Experiment, importlib.import_module(f"reproduction.{EXPERIMENTS[name]}"))
