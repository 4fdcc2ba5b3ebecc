"""A plugin of pytest for kernels that run as plain Python: the run fails where some kernel was never called.

    NUMBA_DISABLE_JIT=1 python -m pytest -p tests.kernel_calls tests/kernels …

What is chosen so is run with the bounds of arrays checked, too (Makefile): so each kernel is.
"""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Callable
from typing import Any

import pytest

from hedgerow import jit

from .project.sources import modules

DECORATORS = ("kernel", "chain_kernel", "part", "chain_part")
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
    """The names of all kernels, and of their parts, by the sources."""
    return {
        f"{module.name}.{node.name}"
        for module in modules()
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(own, ast.Name) and own.id in DECORATORS for own in node.decorator_list)
    }


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
