"""The public names as text: each name with its parameters and their defaults, classes with their methods.

`python -m tests.project.api` writes the list anew, after a change that is meant.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.base import BaseEstimator

MODULES = (
    "hedgerow",
    "hedgerow.compat",
    "hedgerow.compat.pycrfsuite",
    "hedgerow.datasets",
    "hedgerow.explain",
    "hedgerow.metrics",
    "hedgerow.model_selection",
    "hedgerow.report",
    "hedgerow.trainers",
)
LIST = Path(__file__).with_name("api.txt")


def describe() -> str:
    """The whole list, a line per name."""
    lines: list[str] = []
    for name in MODULES:
        if importlib.util.find_spec(name) is not None:
            lines += describe_module(importlib.import_module(name))
    return "\n".join(lines) + "\n"


def describe_module(module: ModuleType) -> list[str]:
    lines = []
    for name in sorted(module.__all__):
        thing = getattr(module, name)
        full = f"{module.__name__}.{name}"
        if inspect.isclass(thing):
            lines.append(f"{full}{_parameters(thing)}")
            lines += [f"{full}.{line}" for line in _members(thing)]
        elif callable(thing):
            lines.append(f"{full}{_parameters(thing)}")
        else:
            lines.append(f"{full}: {type(thing).__name__}")
    return lines


def _members(cls: type) -> list[str]:
    """Public methods and properties that hedgerow itself defines; what a base class of another package brings is not
    ours to freeze, nor are the set_…_request methods that scikit-learn generates."""
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "hedgerow":
            members |= vars(base)
    parameters = inspect.signature(cls).parameters if issubclass(cls, BaseEstimator) else {}
    lines = []
    for name, member in sorted(members.items()):
        if name.startswith("_") or name in parameters or (name.startswith("set_") and name.endswith("_request")):
            continue
        if isinstance(member, classmethod | staticmethod):
            lines.append(f"{name}{_parameters(getattr(cls, name))}")
        elif inspect.isfunction(member):
            lines.append(f"{name}{_parameters(member)}")
        else:
            lines.append(name)
    return lines


def _parameters(thing: Any) -> str:
    """The signature without annotations: Python versions print those in different ways."""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # an exception or another class of C's making
        return ""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


if __name__ == "__main__":
    LIST.write_text(describe(), encoding="utf-8")
