"""A plugin of pytest for kernels that run as plain Python: the run fails where some kernel was never called.

    NUMBA_DISABLE_JIT=1 python -m pytest -p tests.kernel_calls tests/kernels …

What is chosen so is run with the bounds of arrays checked, too (Makefile): so each kernel is.
"""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from hedgerow import jit

from .project.sources import PACKAGE

DECORATORS = ("kernel", "chain_kernel", "part", "chain_part")
_MARK = re.compile(rf"^@({'|'.join(DECORATORS)})$", re.MULTILINE)
called: set[str] = set()


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    name = f"{function.__module__}.{function.__name__}"

    @functools.wraps(function)
    def noted(*arguments: Any) -> Any:
        called.add(name)
        return function(*arguments)

    return noted


@functools.cache
def kernels() -> set[str]:
    """The names of all kernels, and of their parts, by the sources. Files without any are not parsed, which took most
    of the time."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if _MARK.search(text):
            module = ".".join(("hedgerow", *path.relative_to(PACKAGE).with_suffix("").parts))
            found |= {
                f"{module}.{node.name}"
                for node in ast.parse(text).body
                if isinstance(node, ast.FunctionDef)
                and any(isinstance(own, ast.Name) and own.id in DECORATORS for own in node.decorator_list)
            }
    return found


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        raise pytest.UsageError("tests.kernel_calls needs NUMBA_DISABLE_JIT=1: compiled kernels do not tell who calls")
    for name in DECORATORS:  # before any file of kernels is imported
        setattr(jit, name, _noting)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["called"] = sorted(called)  # a worker of pytest-xdist
    elif kernels() - called and session.exitstatus == 0:
        session.exitstatus = 1


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    called.update(getattr(node, "workeroutput", {}).get("called", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    missed = sorted(kernels() - called)
    terminalreporter.section("kernels")
    terminalreporter.write_line(
        f"{len(kernels()) - len(missed)} of {len(kernels())} kernels and their parts were called"
    )
    for name in missed:
        terminalreporter.write_line(f"never called: {name}", red=True)
