"""`hedgerow reproduce` in a checkout: its options, and the names of the experiments."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option, Typer

from hedgerow.cli.train_options import option
from reproduction.run import reproduce

app = Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def command(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="thesis-3.4, thesis-3.5, thesis-3.6, thesis-fig-3.1, thesis-fig-3.3, thesis-fig-4.1,"
            " thesis-table-4.1, thesis-fig-4.2, thesis-5.3, thesis-5.4, thesis-5.5, future-lines; icml-figures,"
            " icml-table-3; smd-fig-1 to smd-fig-6, smd-noise; snakes; labelwise-fig-1, labelwise-fig-2;"
            " tree-objectives, tree-options, separate-trees; iterative-scaling; search-methods; slides-methods,"
            " slides-tts, slides-tts-19000; all.",
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
    reproduce(name, quick=quick, seeds=seeds, jobs=jobs, folds=folds_or_none, data=data, out=out, verbose=True)
