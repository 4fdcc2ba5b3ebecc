"""The one place that imports numba: how kernels are compiled, and where the compiled code is kept."""

from __future__ import annotations

import ast
import gc
import hashlib
import inspect
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.util import decode_source, resolve_name
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import uuid4

import llvmlite.binding
import numba
from numba.core import typed_passes, types, untyped_passes
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
config: Any = numba.core.config

# What chain kernels may reorder. The full fastmath=True also assumes that no NaN and no infinity exists, and then
# `x == -inf` is False: impossible would no longer be a true −inf.
CHAIN_MATH = {"reassoc", "contract", "arcp", "nsz"}


def _show(name: str) -> None:
    """Say what is compiled, where someone watches: in a line that is gone when it is done."""
    if "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty()):
        text = name and f"compiling kernels, once: {name}"
        print(f"\r{text:<60}" + "\r" * (not text), end="", file=sys.stderr, flush=True)


_tell: list[Callable[[str], None]] = [_show]  # the last one is told


# What makes compiling cheaper stands on names that numba does not promise, and so does a cache that loads kernels
# without all that numba compiles with. By other versions than those it was tried with, kernels are compiled and loaded
# as numba does it, which takes longer and gives the same kernels.
TRIED = (0, 61) <= numba.version_info.short <= (0, 68)
# Kernels have no closures and no expressions of whole arrays, and nothing to free where a variable is last used.
_LEFT_OUT = untyped_passes.InlineClosureLikes, typed_passes.NopythonRewrites, typed_passes.IRLegalization


class _Compiler(Compiler):
    """Numba's compiler. It makes so many objects that looking for garbage among them took a tenth of the time."""

    began: float | None = None  # when the kernel did that is compiled, with all its parts; numba lets one thread in
    seconds = 0.0  # that all kernels took so far

    def compile_extra(self, function: Any) -> Any:
        if _Compiler.began is not None:
            return super().compile_extra(function)  # type: ignore[no-untyped-call]
        collects, tell = gc.isenabled(), _tell[-1]
        _Compiler.began = time.monotonic()
        gc.disable()
        try:
            tell(function.__name__)
            return super().compile_extra(function)  # type: ignore[no-untyped-call]
        finally:
            _Compiler.seconds += time.monotonic() - _Compiler.began
            _Compiler.began = None
            if collects:
                gc.enable()
            tell("")

    def define_pipelines(self) -> Any:
        pipelines: Any = super().define_pipelines()  # type: ignore[no-untyped-call]
        for each in pipelines if TRIED else ():
            each.passes = [(step, text) for step, text in each.passes if step not in _LEFT_OUT]
        return pipelines


def clock() -> float:
    """Seconds on a clock that stands still while kernels are compiled, for budgets of time: a first run should do as
    much as any other."""
    began = _Compiler.began
    return (time.monotonic() if began is None else began) - _Compiler.seconds


class _Text(JITCodeLibrary):
    """The code of a part, to be linked into kernels. A kernel optimises and translates all that it calls; numba would
    do the same for each part alone, with all that the part calls, and nothing would ever use it."""

    codegen: Any = SimpleNamespace(set_env=lambda *_: None)
    reorders = False

    def _optimize_final_module(self) -> None:
        if self.reorders:  # in which order is LLVM's choice: another one where the text was not optimised before
            super()._optimize_final_module()  # type: ignore[no-untyped-call]

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        self._ensure_finalized()
        return 0


class _PartCompiler(_Compiler):
    def compile_extra(self, function: Any) -> Any:
        if TRIED:
            self.state.library = _Text(self.state.targetctx.codegen(), function.__qualname__)
            self.state.library.reorders = bool(self.state.flags.fastmath)
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
    return _compile_part(function, False)


def chain_part(function: Kernel) -> Kernel:
    """As `part`, and sums may be reordered, as in a `chain_kernel`."""
    return _compile_part(function, CHAIN_MATH)


def _compile_part(function: Kernel, fastmath: Any) -> Kernel:
    options = _PLAIN | {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}
    compiled: Any = numba.njit(fastmath=fastmath, **options)(function)
    resolve = getattr(compiled, "get_call_template", None)
    if TRIED and resolve:  # or numba compiles a form of its own for each constant that is given
        compiled.get_call_template = lambda args, named: resolve([*map(types.unliteral, args)], named)
    return cast(Kernel, compiled)


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
    other.__qualname__ = name  # the cache names its files after this
    return cast(Kernel, chain_kernel(other))


def _compile(function: Kernel, fastmath: Any) -> Kernel:
    compiled: Any = numba.njit(fastmath=fastmath, pipeline_class=_Compiler, **_PLAIN)(function)
    if hasattr(compiled, "_cache"):  # and not a plain function, as where NUMBA_DISABLE_JIT is set
        try:
            compiled._cache = _KernelCache(function, source_stamp(function.__module__))
        except (AttributeError, KeyError, OSError, SyntaxError, ValueError):  # no source: entered by hand, or frozen
            with suppress(RuntimeError):  # nothing to keep a cache by
                compiled.enable_caching()
    return cast(Kernel, compiled)


# --- where compiled code is kept -----------------------------------------------------------------------------------

# A platform wheel has kernels that were compiled for a processor with these features, by the first word of LLVM's name
# for the machine: a name for LLVM, and the features.
BASELINES = {
    "x86_64": (
        "x86-64-v3",
        "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3"
        ",+sse4.1,+sse4.2,+ssse3,+xsave",
    )
}
SHIPPED = Path(__file__).with_name("compiled")  # the folder of those kernels


@lru_cache
def baseline(triple: str) -> tuple[str, str] | None:
    """The name and the features of what kernels are shipped for, if this processor has all of them."""
    found = BASELINES.get(triple.partition("-")[0])
    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot tell
        return None
    return found if found and all(features.get(needed[1:]) for needed in found[1].split(",")) else None


class _KernelCache(NullCache):
    """The machine code of one kernel on disk: a file for each signature.

    First it is looked for among the shipped kernels, then in the folders that may be written to. The name of a file
    has a digest of all that the code depends on, so that a file serves or is not there, and writers do not meet.
    Numba's own cache has an index for each kernel, which two writers overwrite for each other; it fails where a
    file is damaged, and does not read a folder that it may not write to.
    """

    def __init__(self, function: Any, sources: str) -> None:
        module, name = function.__module__, function.__qualname__
        full = name if name.startswith(f"{module}.") else f"{module}.{name}"
        self._name = re.sub(r"[^\w.]", "", full.partition(".")[2]) + f".{sys.implementation.cache_tag}"
        self._stamp = _digest(full, sources, numba.__version__, llvmlite.__version__)
        self._folders = _folders(inspect.getfile(function))

    @property
    def cache_path(self) -> str:
        return str(self._folders[0])

    def _file(self, signature: Any, target: Any) -> str:
        """The name of the file for types of arguments and a triple of LLVM: machine, processor, features."""
        flags = config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT
        return f"{self._name}-{self._stamp}-{_digest(signature, tuple(target), flags)}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types of arguments, or None."""
        if not TRIED:  # 70 modules and 30 MB: what can be compiled, and the counting of references
            target_context.refresh()
        target = target_context.codegen().magic_tuple()
        paths = [folder / self._file(sig, target) for folder in self._folders]
        if portable := baseline(target[0]):
            paths.insert(0, SHIPPED / self._file(sig, (target[0], *portable)))
        for path in paths:
            try:
                return _unpacked(path.read_bytes(), target_context, sig)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except Exception as error:  # whatever pickle, numba or LLVM say of bytes that are not what was written
                _warn_once(f"a compiled kernel cannot be read, and is compiled again: {path}: {_said(error)}")
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, in the first folder that takes it, and remove what older sources have left there."""
        if data.library.has_dynamic_globals or data.lifted:
            return
        why = ""
        for folder in self._folders:
            try:
                _write(folder / self._file(sig, data.library.codegen.magic_tuple()), _packed(data))
                for path in folder.glob(f"{self._name}-*.nbc"):
                    if not path.name.startswith(f"{self._name}-{self._stamp}-"):
                        path.unlink(missing_ok=True)
                return
            except Exception as error:  # a full disk, no permission, a numba that packs its results otherwise
                why = why or f"{folder}: {_said(error)}"
        _warn_once(
            f"compiled kernels cannot be kept, and are compiled again in each process: {why}. "
            "NUMBA_CACHE_DIR names another folder for them."
        )


def _folders(file: str) -> list[Path]:
    """Where the kernels of a source file are kept, in order: where NUMBA_CACHE_DIR says; or beside the source, or in
    the home of the user."""
    source = Path(file).absolute().parent
    own = f"{source.name}_{hashlib.sha1(str(source).encode()).hexdigest()}"
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR) / own]
    return [source / "__pycache__", Path(AppDirs(appname="numba", appauthor=False).user_cache_dir) / own]


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


def _packed(compiled: Any) -> bytes:
    """A result of compilation as bytes: a checksum, and numba's own form without the text for `inspect_types`, which
    names folders of the machine that compiled."""
    data = dumps(tuple("" if isinstance(part, str) else part for part in compiled._reduce()))
    return hashlib.sha256(data).digest() + cast(bytes, data)


def _unpacked(packed: bytes, target_context: Any, signature: Any) -> Any:
    if hashlib.sha256(packed[32:]).digest() != packed[:32]:
        raise ValueError("the file is damaged")
    compiled = CompileResult._rebuild(target_context, *pickle.loads(packed[32:]))
    if compiled.signature.args != tuple(signature):
        raise ValueError("the file is for other types of arguments")
    return compiled


def _write(path: Path, data: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    passing = path.with_name(f"{path.name}.{uuid4().hex[:8]}")
    try:
        passing.write_bytes(data)
        passing.replace(path)
    except BaseException:
        with suppress(OSError):
            passing.unlink()
        raise


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


_warned: list[str] = []


def _warn_once(text: str) -> None:
    from hedgerow.errors import warn  # here, since it is no source of any kernel

    if not _warned:
        _warned.append(text)
        warn(text, stacklevel=2)


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
