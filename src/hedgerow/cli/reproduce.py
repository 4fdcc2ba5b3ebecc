"""`hedgerow reproduce`: a table or figure of the papers, done again."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

from typer import Argument, Option

from hedgerow.cli.train_options import option
from hedgerow.errors import HedgerowError


def command(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="thesis-3.4, thesis-3.5, thesis-3.6, thesis-fig-3.1, thesis-fig-3.3, thesis-fig-4.1,"
            " thesis-table-4.1, thesis-fig-4.2, thesis-5.3, thesis-5.4, thesis-5.5, future-lines; icml-figures,"
            " icml-table-3; smd-fig-1 to smd-fig-6, smd-noise; snakes; labelwise-fig-1, labelwise-fig-2;"
            " tree-objectives, tree-options, separate-trees; search-methods; slides-methods, slides-tts,"
            " slides-tts-19000; all.",
        ),
    ],
    quick: Annotated[bool, Option("--quick", help="Little data, few iterations: only to see it run.")] = False,
    seeds: Annotated[int, option("N", "Seeds: of folds, draws, orders.", min=1)] = 5,
    jobs: Annotated[int | None, option("N", "Processes. \\[all cores]", min=1)] = None,
    folds: Annotated[int, option("N", "Folds of the lines of papers.", min=2)] = 5,
    leave_one_out: Annotated[
        bool, Option("--leave-one-out", help="Leave one paper out at a time, instead of folds.")
    ] = False,
    data: Annotated[str | None, option("FOLDER", "Where the data sets lie. \\[$HEDGEROW_DATA]")] = None,
    out: Annotated[str, option("FOLDER", "For the numbers and the picture.", "--out", "-o")] = ("experiments-output"),
) -> None:
    """Redo a table or figure of the papers.

    Prints ours beside the published figures, and writes NAME.json and NAME.png.
    """
    folds_or_none = None if leave_one_out else folds
    _runner().reproduce(
        name, quick=quick, seeds=seeds, jobs=jobs, folds=folds_or_none, data=data, out=out, verbose=True
    )


def _runner() -> Any:
    """The module that runs experiments. It lies beside the package in a checkout, and is not installed with it."""
    try:
        return importlib.import_module("reproduction.run")
    except ModuleNotFoundError as error:
        if error.name not in ("reproduction", "reproduction.run"):
            raise
        what = "the experiments of the papers are not part of the installed package"
        hint = "Clone hedgerow's repository, and run `make reproduce NAME=thesis-3.5` in it."
        raise HedgerowError(f"{what}. {hint}") from error
