"""Run an experiment: print its table, write its numbers and its picture."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hedgerow.errors import MissingExtraError
from hedgerow.parallel import count_threads
from reproduction import EXPERIMENTS, Experiment, find_experiment
from reproduction.report import Report
from reproduction.settings import Settings

ALL = "all"
_WIDTH = 200  # of a table that does not go to a terminal


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
    name : "thesis-3.5", "smd-fig-1" or another key of `reproduction.EXPERIMENTS`; "all" for one after the other, of
        which the last is returned
    quick : little data and few iterations, to see that it runs; NAME becomes NAME-quick
    seeds : how many seeds: of the cross-validation, of draws, of the order of sequences
    jobs : processes that train at the same time; None for as many as there are cores
    folds : of the lines of papers; None leaves one paper out at a time
    data : the folder of the data sets; None for the one that HEDGEROW_DATA names
    out : the folder for numbers and picture
    verbose : say on standard error what is being done
    """
    if name == ALL:
        options = {"quick": quick, "seeds": seeds, "jobs": jobs, "folds": folds, "data": data, "out": out}
        for one in EXPERIMENTS:
            report = reproduce(one, verbose=verbose, **options)  # type: ignore[arg-type]
        return report
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
    cpu = time.process_time()
    report = module.run(settings)
    report.notes.append(_cost(name, settings, time.process_time() - cpu))
    _show(report, quick)
    _write(report, module, folder / (f"{name}-quick" if quick else name), settings)
    return report


def _cost(name: str, settings: Settings, seconds: float) -> str:
    """What stands below every table: its command, its seeds and its time."""
    workers = "" if settings.n_jobs == 1 else f" of the first of {settings.n_jobs} processes (--jobs 1 counts all)"
    return (
        f"hedgerow reproduce {name}, seeds {', '.join(map(str, settings.seeds))}: {seconds:.0f} CPU seconds{workers}."
    )


def _show(report: Report, quick: bool) -> None:
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=_WIDTH)
    report.show(console)
    if quick:
        console.print("This was --quick: the figures mean nothing.")


def _write(report: Report, module: Experiment, path: Path, settings: Settings) -> None:
    """The numbers first: they are there even where the picture cannot be drawn."""
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
