"""The one place that imports numba: how kernels are compiled, and where the compiled code is kept."""

from __future__ import annotations

import ast
import gc
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import decode_source, resolve_name
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar, cast

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# What chain kernels may reorder. The full fastmath=True also assumes that no NaN and no infinity exists, and then
# `x == -inf` is False: impossible would no longer be a true −inf.
CHAIN_MATH = {"reassoc", "contract", "arcp", "nsz"}


def _show(name: str) -> None:
    """Say what is compiled, where someone watches: in a line that is gone when it is done."""
    if "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty()):
        text = name and f"compiling kernels, once: {name}"
        print(f"\r{text:<60}" + "\r" * (not text), end="", file=sys.stderr, flush=True)


_tell: list[Callable[[str], None]] = [_show]  # the last one is told


class _Compiler(Compiler):
    """Numba's compiler. It makes so many objects that looking for garbage among them took a tenth of the time."""

    _outermost = True  # a part is compiled while the kernel is that calls it; numba's lock lets one thread in

    def compile_extra(self, function: Any) -> Any:
        if not _Compiler._outermost:
            return super().compile_extra(function)  # type: ignore[no-untyped-call]
        collects, tell = gc.isenabled(), _tell[-1]
        _Compiler._outermost = False
        gc.disable()
        try:
            tell(function.__name__)
            return super().compile_extra(function)  # type: ignore[no-untyped-call]
        finally:
            tell("")
            _Compiler._outermost = True
            if collects:
                gc.enable()


class _Text(JITCodeLibrary):
    """The code of a part, to be linked into kernels. A kernel optimises and translates all that it calls; numba would
    do the same for each part alone, with all that the part calls, and nothing would ever use it."""

    codegen: Any = SimpleNamespace(set_env=lambda *_: None)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        self._ensure_finalized()
        return 0


# `_Text` stands on names that numba does not promise. By other versions than those it was tried with, parts are
# compiled as numba does it, which takes longer and gives the same kernels.
TEXT_FROM, TEXT_TO = (0, 61), (0, 68)


class _PartCompiler(_Compiler):
    def compile_extra(self, function: Any) -> Any:
        if TEXT_FROM <= numba.version_info.short <= TEXT_TO:
            self.state.library = _Text(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


# Kernels allocate nothing, so arrays need no counting of references: less to compile, and no atomic counters in loops.
# Nothing calls them from C.
_PLAIN: dict[str, Any] = {"_nrt": False, "nogil": True, "no_cfunc_wrapper": True}


def kernel(function: Kernel) -> Kernel:
    """Compile at the first call, without reordering any sum; release the GIL; keep the machine code on disk."""
    return _compile(function, False)


def part(function: Kernel) -> Kernel:
    """A piece of kernels, of this file or another: compiled with each that calls it, and not called from Python.

    No sum is reordered, and it says so: left open, that would be as the kernel allows that is compiled first.
    """
    return _compile_part(function, False, _PartCompiler)


def chain_part(function: Kernel) -> Kernel:
    """As `part`, and sums may be reordered, as in a `chain_kernel`. In which order is LLVM's choice, and might be
    another one for text that was not optimised before: so these are, as numba does it."""
    return _compile_part(function, CHAIN_MATH, _Compiler)


def _compile_part(function: Kernel, fastmath: Any, compiler: type[Compiler]) -> Kernel:
    options = _PLAIN | {"no_cpython_wrapper": True, "pipeline_class": compiler}
    return cast(Kernel, numba.njit(fastmath=fastmath, **options)(function))


def chain_kernel(function: Kernel) -> Kernel:
    """As `kernel`, and sums may be reordered so that they vectorise. The order is fixed at compile time."""
    return _compile(function, CHAIN_MATH)


def chain_kernel_with(kernel: Kernel, name: str, **parts: Any) -> Kernel:
    """A `chain_kernel` with the text of another one, in which some global names stand for other parts.

    So a recursion stands once and is compiled for each form of what it runs over. Numba could take a part as an
    argument, but not cache the kernel then. `name` is that of the module which has this kernel, and its name there.
    """
    function: Any = inspect.unwrap(kernel)
    other: Any = FunctionType(function.__code__, function.__globals__ | parts, function.__name__)
    other.__module__, other.__doc__ = name.rpartition(".")[0], function.__doc__
    other.__qualname__ = name  # numba's cache names its file after this and the file of the text
    return cast(Kernel, chain_kernel(other))


def _compile(function: Kernel, fastmath: Any) -> Kernel:
    options = _PLAIN | {"fastmath": fastmath, "pipeline_class": _Compiler}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep a cache in: a read-only install and no writable home
        return cast(Kernel, numba.njit(cache=False, **options)(function))
    _stamp_with_sources(compiled)
    return cast(Kernel, compiled)


def _stamp_with_sources(compiled: Any) -> None:
    """Tie the cache of a kernel to the content of all its sources. Numba itself looks at the kernel's own file alone.

    Where numba keeps its stamp elsewhere, or a source cannot be read, numba's own stamp stays.
    """
    file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if not (hasattr(file, "_source_stamp") and hasattr(file, "_version")):
        return
    try:
        stamp = source_stamp(compiled.__module__)
    except (AttributeError, KeyError, OSError, SyntaxError, ValueError):
        return
    file._source_stamp = stamp
    # The version is compared before anything else of the index is read. The rest names the classes of arguments, and
    # reading it would fail where a source has since lost or renamed one.
    file._version = f"{file._version} {stamp}"


# By module: the loader that ran it, the digest of its source, and what it imports of its package. The source is read
# when a kernel first needs it and again only if the module is loaded again: what counts is the code that runs, not
# what has been edited on disk meanwhile.
_read: dict[str, tuple[Any, str, frozenset[str]]] = {}


def source_stamp(name: str) -> str:
    """A digest of the source of a loaded module and of all that it imports from its package, directly or not.

    Names and content of the modules count; where the files lie and when they were written does not.
    """
    package = name.partition(".")[0]
    digests: dict[str, str] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        module = sys.modules[name]
        loader: Any = module.__loader__
        if name not in _read or _read[name][0] is not loader:
            source = loader.get_data(module.__file__)
            imports = _imported(module, _head(decode_source(source)))
            inside = frozenset(name for name in imports if name.partition(".")[0] == package)
            _read[name] = loader, hashlib.sha256(source).hexdigest(), inside
        _, digests[name], inside = _read[name]
        waiting.extend(inside - digests.keys())
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


def _head(source: str) -> ast.Module:
    """The part of a module that holds its imports: parsing all of it would take a third of the time to import it."""
    body = re.search(r"^(@|def |class )", source, re.MULTILINE)
    if body and not re.search(r"^(from|import) ", source[body.start() :], re.MULTILINE):
        try:
            return ast.parse(source[: body.start()])
        except SyntaxError:  # that was a line of a docstring
            pass
    return ast.parse(source)


def _imported(module: ModuleType, tree: ast.Module) -> Iterator[str]:
    """The modules that a module takes something from, by its imports that are not inside another statement."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), module.__package__)
            for alias in node.names:
                value = getattr(sys.modules[origin], alias.name, None)
                if isinstance(value, ModuleType):
                    yield value.__name__
                else:  # `origin` may only hand on what another module defines
                    yield origin
                    yield str(getattr(value, "__module__", origin))


@contextmanager
def before_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Within this context, call `tell` with the name of each kernel that is compiled and not read from the cache,
    before that, and with "" after it. Without one, a terminal or a notebook shows a line meanwhile."""
    _tell.append(tell)
    try:
        yield
    finally:
        _tell.remove(tell)
