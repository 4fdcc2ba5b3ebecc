"""Errors and warnings of the library in the words of the command line: `--leaves` where Python says max_leaf_nodes."""

from __future__ import annotations

import inspect
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from hedgerow.errors import LONGEST_LINE, InputError, Message, plain

# What is more than another name: (the option, what is said where a command has it).
_PHRASES = {
    "early_stopping=False": ("dev", "--dev 0"),
    **dict.fromkeys((f"estimator={one}(early_stopping=False)" for one in ("LinearCRF", "TreeCRF")), ("dev", "--dev 0")),
    "X_val and y_val": ("dev", "--dev FILE"),
    "y_val": ("dev", "--dev"),
    'kinds={"…": "categorical"}': ("kinds", "--kinds …=categorical"),
    "; or declare it 'categorical' with columns": ("columns", ": --columns names those to keep"),
    "; or give its encoding, such as encoding='latin-1'": ("encoding", ", or say what it is: --encoding latin-1"),
}
_PYTHON = "; "  # a mark that begins so is of no use here


@contextmanager
def in_flags(command: Callable[..., Any], parameters: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let an InputError name the options of a command, and a warning for its user be one line on standard error.

    parameters : parameter → option, where they are not called the same
    """
    flags = flags_of(command, parameters)
    with warnings.catch_warnings():
        in_python = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
            if issubclass(category, UserWarning):  # others are for programmers, who want the line of code
                text = message.args[0] if isinstance(message, Warning) and message.args else message
                print(f"hedgerow: {plain(with_flags(text, flags), LONGEST_LINE)}", file=sys.stderr)
            else:
                in_python(message, category, *place, **rest)

        warnings.showwarning = show
        try:
            yield
        except InputError as error:
            error.args = (with_flags(error.args[0], flags),)
            raise


def as_typed(context: typer.Context) -> str:
    """The command line, with all that was given: `run` keeps its words in the context."""
    return shlex.join(["hedgerow", *context.obj])


def flags_of(command: Callable[..., Any], parameters: Mapping[str, str] | None = None) -> dict[str, str]:
    """Parameter → flag, of all options of a command."""
    options = {name: name for name in inspect.signature(command).parameters}
    return {name: f"--{option.replace('_', '-')}" for name, option in {**options, **(parameters or {})}.items()}


def with_flags(message: Any, flags: Mapping[str, str]) -> str:
    """A message with flags in place of the parameters that it marks; a parameter that has no flag stays."""

    def write(mark: str) -> str:
        option, words = _PHRASES.get(mark, ("", ""))
        if option in flags:
            return words
        name, _, value = mark.partition("=")
        if name in flags:
            return f"{flags[name]} {value.strip(chr(39))}".rstrip()
        return "" if mark.startswith(_PYTHON) else mark

    return message.named(write) if isinstance(message, Message) else str(message)
