"""`hedgerow reproduce`: a table or figure of the papers, done again."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hedgerow.experiments import Experiment
    from hedgerow.experiments.report import Report
    from hedgerow.experiments.settings import Settings

_WIDTH = 200  # of a table that does not go to a terminal


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="thesis-3.4, thesis-3.5, thesis-3.6, thesis-fig-3.1, thesis-fig-3.3, thesis-fig-4.1,"
            " thesis-table-4.1, thesis-fig-4.2, thesis-5.3, thesis-5.4, thesis-5.5, future-lines; icml-table-3;"
            " smd-fig-1, smd-fig-2, smd-fig-3, smd-fig-4, smd-fig-5, smd-fig-6; snakes; labelwise-fig-1,"
            " labelwise-fig-2; tree-objectives; search-methods; slides-methods, slides-tts or slides-tts-19000.",
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Little data, few iterations: only to see it run.")] = False,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds: of folds, draws, orders.")] = 5,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes. \\[all cores]")] = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Folds of the lines of papers.")] = 5,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Leave one paper out at a time, instead of folds.")
    ] = False,
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where the data sets lie. \\[$HEDGEROW_DATA]")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="For the numbers and the picture.")] = (
        "experiments-output"
    ),
) -> None:
    """Redo a table or figure of the papers.

    Prints ours beside the published figures, and writes NAME.json and NAME.png.
    """
    reproduce(
        name,
        quick=quick,
        seeds=seeds,
        jobs=jobs,
        folds=None if leave_one_out else folds,
        data=data,
        out=out,
        verbose=True,
    )


def reproduce(
    name: str,
    *,
    quick: bool = False,
    seeds: int = 5,
    jobs: int | None = None,
    folds: int | None = 10,
    data: str | None = None,
    out: str = "experiments-output",
    verbose: bool = False,
) -> Report:
    """Run an experiment, print its table, and write NAME.json and NAME.png into the folder `out`.

    Parameters
    ----------
    name : "thesis-3.5", "smd-fig-1" or another key of `hedgerow.experiments.EXPERIMENTS`
    quick : little data and few iterations, to see that it runs; NAME becomes NAME-quick
    seeds : how many seeds: of the cross-validation, of draws, of the order of sequences
    jobs : processes that train at the same time; None for as many as there are cores
    folds : of the lines of papers; None leaves one paper out at a time
    data : the folder of the data sets; None for the one that HEDGEROW_DATA names
    out : the folder for numbers and picture
    verbose : say on standard error what is being done
    """
    from hedgerow.experiments import find_experiment
    from hedgerow.experiments.settings import Settings
    from hedgerow.parallel import count_threads

    module = find_experiment(name)
    began = time.perf_counter()

    def say(message: str) -> None:
        if verbose:
            print(f"[{time.perf_counter() - began:7.1f} s] {message}", file=sys.stderr, flush=True)

    settings = Settings(
        seeds=tuple(range(seeds)),
        n_jobs=count_threads(-1) if jobs is None else jobs,
        folder=data,
        outer_folds=folds,
        say=say,
    )
    if quick:
        settings = settings.quickly()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    report = module.run(settings)
    _show(report, quick)
    _write(report, module, folder / (f"{name}-quick" if quick else name), settings)
    return report


def _show(report: Report, quick: bool) -> None:
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    report.show(console)
    if quick:
        console.print("This was --quick: the figures mean nothing.")


def _write(report: Report, module: Experiment, path: Path, settings: Settings) -> None:
    """The numbers first: they are there even where the picture cannot be drawn."""
    from hedgerow.errors import MissingExtraError

    numbers, picture = path.with_name(f"{path.name}.json"), path.with_name(f"{path.name}.png")
    report.save(numbers, settings)
    try:
        figure = module.draw(report.data)
    except MissingExtraError as error:
        print(f"hedgerow: there is no picture. {error}", file=sys.stderr)
        print(f"The numbers are in {numbers}.")
        return
    figure.savefig(picture, dpi=150, facecolor="white")
    print(f"The numbers are in {numbers}, a picture is in {picture}.")
