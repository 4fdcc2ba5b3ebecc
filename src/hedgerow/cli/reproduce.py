"""`hedgerow reproduce`: a table or figure of the papers, done again."""

from __future__ import annotations

import importlib

import typer

from hedgerow.errors import HedgerowError


def command(context: typer.Context) -> None:
    """Redo a table or figure of the papers."""
    try:
        app = importlib.import_module("reproduction.command").app  # beside the package in a checkout, not in a wheel
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "reproduction":
            raise
        what = "the experiments of the papers are not part of the installed package"
        hint = "Clone hedgerow's repository, and run `make reproduce NAME=thesis-3.5` in it."
        raise HedgerowError(f"{what}. {hint}") from error
    own = typer.main.get_command(app)
    with own.make_context("hedgerow reproduce", context.args) as inner:
        own.invoke(inner)
