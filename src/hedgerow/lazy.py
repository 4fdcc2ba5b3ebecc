"""Folders of kernels whose files are imported at their first use: importing numba takes longer than all the rest."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def submodules(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `kernels.chain` imports the file chain.py of the package `kernels`."""

    def load(name: str) -> Any:
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return load
