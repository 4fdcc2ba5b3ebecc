"""The one place that imports numba: how kernels are compiled, and where the compiled code is kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# What chain kernels may reorder. The full fastmath=True also assumes that no NaN and no infinity exists, and then
# `x == -inf` is False: impossible would no longer be a true −inf.
CHAIN_MATH = {"reassoc", "contract", "arcp", "nsz"}


# Kernels allocate nothing, so arrays need no counting of references: less to compile, and no atomic counters in loops.
_PLAIN: dict[str, Any] = {"_nrt": False}


def kernel(function: Kernel) -> Kernel:
    """Compile at the first call, without reordering any sum; release the GIL; keep the machine code on disk."""
    return _compile(function, False)


def part(function: Kernel) -> Kernel:
    """A piece of the kernels in its file: compiled with the kernel that calls it, and not to be called from Python."""
    options = _PLAIN | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Kernel, numba.njit(nogil=True, **options)(function))


def chain_kernel(function: Kernel) -> Kernel:
    """As `kernel`, and sums may be reordered so that they vectorise. The order is fixed at compile time."""
    return _compile(function, CHAIN_MATH)


def _compile(function: Kernel, fastmath: Any) -> Kernel:
    try:
        compiled = numba.njit(cache=True, nogil=True, fastmath=fastmath, **_PLAIN)(function)
    except RuntimeError:  # no folder to keep a cache in: a read-only install and no writable home
        compiled = numba.njit(cache=False, nogil=True, fastmath=fastmath, **_PLAIN)(function)
    return cast(Kernel, compiled)


class _First(event.Listener):
    """Calls a function before the first compilation, and never again."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, _: Any) -> None:
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()

    def on_end(self, _: Any) -> None:
        pass


def before_compiling(tell: Callable[[], None]) -> AbstractContextManager[Any]:
    """Within this context, call `tell` once, before the first kernel that is compiled and not read from the cache."""
    return cast("AbstractContextManager[Any]", event.install_listener("numba:compile", _First(tell)))
