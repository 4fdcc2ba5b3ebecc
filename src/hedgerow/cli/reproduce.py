"""`hedgerow reproduce`: a table or figure of the papers, done again."""

from __future__ import annotations

import importlib

import typer

from hedgerow.errors import HedgerowError


def command(context: typer.Context) -> None:
    """Redo a table or figure of the papers."""
    try:
        experiments = importlib.import_module("reproduction.command")  # beside the package in a checkout, in no wheel
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "reproduction":
            raise
        what = "the experiments of the papers are not part of the installed package. Clone hedgerow's repository, and"
        raise HedgerowError(f"{what} run `make reproduce NAME=thesis-3.5` in it.") from error
    own = typer.main.get_command(experiments.app)
    own.invoke(own.make_context("hedgerow reproduce", context.args))
