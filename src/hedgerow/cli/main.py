"""The command line: the commands, and what every one of them does with errors.

Nothing slow is imported before a command runs, so that `hedgerow --help` answers at once.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer import Option

from hedgerow import __version__
from hedgerow.cli.compare import command as compare
from hedgerow.cli.demo import command as demo
from hedgerow.cli.evaluate import command as evaluate
from hedgerow.cli.explain import command as explain
from hedgerow.cli.info import command as info
from hedgerow.cli.lattice import app as lattice
from hedgerow.cli.report import command as report
from hedgerow.cli.tag import command as tag
from hedgerow.cli.train import INTERRUPTED
from hedgerow.cli.train import command as train
from hedgerow.cli.warm_up import command as warm_up
from hedgerow.errors import LONGEST_LINE, HedgerowError, plain

USER_ERROR = 2

# The base of what Typer raises for a wrong flag, a missing argument, a value of the wrong type.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    name="hedgerow",
    help="Label sequences: train a model on labelled files, tag new ones, measure how good it is.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train")(train)
app.command("tag")(tag)
app.command("eval")(evaluate)
app.command("report")(report)
app.command("compare")(compare)
app.command("info")(info)
app.command("explain")(explain)
app.add_typer(lattice, name="lattice")
app.command("warm-up")(warm_up)
app.command("demo")(demo)
_HANDED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command("reproduce", context_settings=_HANDED_ON, add_help_option=False)
def reproduce(context: typer.Context) -> None:
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


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The entry point of the command `hedgerow`."""
    if sys.stderr is None:  # closed: nobody reads what it says
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.exit(_complain("standard output is closed"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # labels and words are UTF-8, whatever the locale says
            stream.reconfigure(encoding="utf-8")
    if isinstance(sys.stdout.buffer, io.RawIOBase):  # python -u: writes what fits, and does not say that more was left
        sys.stdout = open(sys.stdout.fileno(), "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code: 0, 2 for a user error (one line on standard error), 130 for Ctrl-C."""
    try:
        # Not by calling `app`, which would turn Ctrl-C into an exit code without a word.
        command = typer.main.get_command(app)
        with command.make_context("hedgerow", list(arguments) or ["--help"], obj=tuple(arguments)) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as done:
        return int(done.exit_code)
    except BrokenPipeError:
        # Whoever read our output has gone. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", INTERRUPTED)
    except _UsageError as error:
        kept = arguments[0] != "train" and getattr(error, "option_name", None) in ("--by", "--label", "--time")
        return _complain(error.format_message() + (". The model remembers it from training." if kept else ""))
    except HedgerowError as error:
        return _complain(str(error))
    except MemoryError as error:
        return _complain(f"there is not enough memory for this{f': {error}' if str(error) else ''}")
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{name}{error.strerror or error}")
    return 0


def _complain(message: str, code: int = USER_ERROR) -> int:
    """Say what is wrong in one line."""
    print(f"hedgerow: {plain(' '.join(message.split()), LONGEST_LINE)}", file=sys.stderr)
    return code
