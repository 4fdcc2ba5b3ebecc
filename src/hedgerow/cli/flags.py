"""Errors and warnings of the library in the words of the command line: `--leaves` where Python says max_leaf_nodes."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hedgerow.errors import InputError

# What Python says in more than a name.
_PHRASES = {
    "early_stopping=False": "--dev 0",
    "X_val and y_val": "--dev FILE",
    "y_val": "--dev",
    'kinds={"…": "categorical"}': "--kinds …=categorical",
    "; or give a function of (y_true, y_pred)": "",
}


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
                print(f"hedgerow: {translate(str(message), flags)}", file=sys.stderr)
            else:
                in_python(message, category, *place, **rest)

        warnings.showwarning = show
        try:
            yield
        except InputError as error:
            error.args = (translate(str(error), flags),)
            raise


def flags_of(command: Callable[..., Any], parameters: Mapping[str, str] | None = None) -> dict[str, str]:
    """Parameter → flag, of all options of a command."""
    own = {name: name for name in inspect.signature(command).parameters}
    return {name: f"--{option.replace('_', '-')}" for name, option in {**own, **(parameters or {})}.items()}


def translate(message: str, flags: Mapping[str, str]) -> str:
    """A message with flags in place of parameters.

    A parameter may be a word that messages use for other things ("edges"), so that it counts as one only before " is "
    at the beginning, and before "=". One with an underscore always does. What stands in quotes is the user's.
    """
    for phrase, words in _PHRASES.items():
        message = message.replace(phrase, words)
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    message = re.sub(rf"(^|: )({names})(?= is )", lambda found: found[1] + flags[found[2]], message)
    given = rf"(?<![\w'\"-])({names})=('?)([\w-]*(?:\.\d+)?)\2"
    message = re.sub(given, lambda found: f"{flags[found[1]]} {found[3]}".rstrip(), message)
    return re.sub(r"(?<![\w'\"-])\w+_\w+", lambda found: flags.get(found[0], found[0]), message)
