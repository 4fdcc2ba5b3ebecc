"""Rules that every kernel file keeps, and the cache of compiled kernels."""

from __future__ import annotations

import ast
import gc
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow import jit

SOURCE = Path(hedgerow.__file__).parent
KERNELS = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if re.search(r"^@(chain_)?kernel$", path.read_text(encoding="utf-8"), re.MULTILINE)
]

compiles = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


def test_full_fast_math_is_nowhere():
    """It assumes that no infinity exists, and then −inf is not impossible any more."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "fastmath":
                full = isinstance(node.value, ast.Constant) and node.value.value is True
                assert not full, f"{path.name}, line {node.value.lineno}"


def test_what_kernels_may_reorder_leaves_infinities_alone():
    assert not set(jit.CHAIN_MATH) & {"fast", "nnan", "ninf", "afn"}


def made(text: str) -> dict[str, Any]:
    """Functions that are in no file, so in no cache either."""
    functions: dict[str, Any] = {"np": np}
    exec(text, functions)
    return functions


@compiles
def test_compiling_is_told_for_each_kernel_and_only_where_it_happens():
    functions = made("def add(x): return inner(x) + 1\ndef inner(x): return x\ndef double(x): return 2 * x")
    functions["inner"] = jit.part(functions["inner"])
    add, double = jit.kernel(functions["add"]), jit.kernel(functions["double"])
    told: list[str] = []
    with jit.before_compiling(told.append):
        assert told == []
        assert (add(1), double(2), add(1.5), add(3)) == (2, 4, 2.5, 4)
    assert told == ["add", "", "double", "", "add", ""]
    double(0.5)
    assert len(told) == 6


@compiles
@pytest.mark.parametrize("where", ["terminal", "notebook", "file"])
def test_a_terminal_and_a_notebook_say_what_is_compiled(where, monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: where == "terminal", raising=False)
    monkeypatch.setattr(sys, "stderr", stderr)
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", None)
    jit.kernel(made("def add(x): return x + 1")["add"])(1)
    lines = [line.strip() for line in stderr.getvalue().split("\r")]
    assert lines == ([""] if where == "file" else ["", "compiling kernels, once: add", "", ""])


@compiles
@pytest.mark.parametrize("enabled", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(enabled):
    fails = jit.kernel(made("def fails(x): return x.there_is_no_such_thing")["fails"])
    adds = jit.kernel(made("def add(x): return x + 1")["add"])
    was = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        told: list[str] = []
        with jit.before_compiling(told.append):
            with pytest.raises(Exception, match="there_is_no_such_thing"):
                fails(1)
            assert gc.isenabled() == enabled
            assert (adds(1), gc.isenabled()) == (2, enabled)
        assert told == ["fails", "", "add", ""]
    finally:
        gc.enable() if was else gc.disable()


@pytest.fixture
def translated(monkeypatch):
    """The names of what is made machine code of, as it comes."""
    names = []

    def translate(library, inner=jit.JITCodeLibrary._finalize_specific):
        names.append(library.name)
        inner(library)

    monkeypatch.setattr(jit.JITCodeLibrary, "_finalize_specific", translate)
    return names


@compiles
def test_by_a_numba_that_was_not_tried_parts_are_compiled_as_numba_does_it(monkeypatch, translated):
    monkeypatch.setattr(jit, "TEXT_TO", (0, 0))
    functions = made("def half(x, y): return x // y\ndef whole(x, y): return half(x, y) + half(y, x)")
    functions["half"] = jit.part(functions["half"])
    assert jit.kernel(functions["whole"])(7, 2) == 3
    assert translated == ["half", "whole"]


@compiles
def test_a_part_has_no_machine_code_of_its_own(translated):
    """A kernel has what it calls in it, to any depth, errors included."""
    functions = made(
        "def first(x, y): return second(x, y) + 1\ndef second(x, y): return x // y\n"
        "def whole(x, y): return first(x, y) + second(y, x)"
    )
    functions["second"] = jit.part(functions["second"])
    functions["first"] = jit.part(functions["first"])
    whole = jit.kernel(functions["whole"])
    assert whole(7, 2) == 4
    assert translated == ["whole"]
    with pytest.raises(ZeroDivisionError):
        whole(0, 1)


def test_a_text_with_other_parts():
    functions = made("def grow(x): return x + 1\ndef double(x): return 2 * x\ndef twice(x): return step(step(x))")
    functions["step"] = jit.chain_part(functions["grow"])
    twice = jit.chain_kernel(functions["twice"])
    other = jit.chain_kernel_with(twice, f"{__name__}.other", step=jit.chain_part(functions["double"]))
    assert (twice(3), other(3), twice(4)) == (5, 12, 6)
    assert other.__module__ == __name__


@compiles
def test_kernels_of_one_text_have_files_of_their_own():
    """Numba names the files of a cache after the place of the text; two kernels in one file would oust each other."""
    from hedgerow.chain.kernels import arcs, chain, covariance, position_chain

    names = "forward", "backward", "past", "past_along", "future", "future_along"
    forms = chain, covariance, arcs, position_chain
    kernels = [vars(form)[name] for form in forms for name in names if name in vars(form)]
    files = {kernel._cache._cache_file._index_path for kernel in kernels}
    assert len(files) == len(kernels) == 18


def test_kernel_files_are_found():
    assert len(KERNELS) > 20


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_kernel_file_imports_at_its_top(path):
    """The stamp of the cache follows no import inside another statement."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) and node not in tree.body]
    assert inner == []


@compiles
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_every_kernel_has_the_stamp_of_its_sources(path):
    name = ".".join(("hedgerow", *path.relative_to(SOURCE).with_suffix("").parts))
    kernels = [value for value in vars(importlib.import_module(name)).values() if hasattr(value, "enable_caching")]
    files = [value._cache._cache_file for value in kernels if value.__module__ == name and value._cache.cache_path]
    assert files
    for file in files:
        assert file._source_stamp == jit.source_stamp(name)
        assert file._version.endswith(file._source_stamp)
    assert {name, jit.__name__} <= jit._read.keys()  # the options of compilation count too


# A package whose kernel `total` calls a kernel and a part of another file, with a NamedTuple, and freezes a constant
# that a third file defines. `lazy` hands on what a fourth defines without importing it at its top.
PACKAGE = {
    "__init__": "",
    "constants": "STEP = 1.0\n",
    "callee": '''
"""The header of a kernel file.

class of functions, says a line that looks like code
"""

from typing import NamedTuple

import made.constants
from hedgerow.jit import kernel, part


class Pair(NamedTuple):
    left: object
    right: object


@part
def combine(pair, i):
    return pair.left[i] * pair.right[i]


@kernel
def shift(x):
    return x + made.constants.STEP
''',
    "distant": "from hedgerow.jit import part\n\n\n@part\ndef twist(x):\n    return x * 1.0\n",
    "lazy": "def __getattr__(name):\n    from made import distant\n    return getattr(distant, name)\n",
    "caller": """
from hedgerow.jit import kernel
from made import callee
from made.callee import combine
from made.lazy import twist


@kernel
def total(pair):
    x = 0.0
    for i in range(pair.left.shape[0]):
        x += combine(pair, i)
    return twist(callee.shift(x))
""",
    "unrelated": "",
}
CALL = """
import numpy as np
from made import unrelated
from made.callee import Pair
from made.caller import total
result = total(Pair(np.ones(3), np.full(3, 2.0)))
print(result, sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "first" / "made"
    folder.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def call(package: Path, script: str = CALL, **settings: str) -> tuple[float, int, int]:
    """The result of `total` in a new process, and how often it was read from the cache and how often compiled."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = os.pathsep.join([str(package.parent), str(SOURCE.parent)])
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python's own cache goes by the time, which `edit` keeps
    environment |= settings
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    result, hits, misses = run.stdout.split()
    return float(result), int(hits), int(misses)


def edit(package: Path, name: str, old: str, new: str) -> None:
    """Replace text, with the time of the file kept; the tests replace by as many characters."""
    path = package / f"{name}.py"
    text, times = path.read_text(encoding="utf-8"), path.stat()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@compiles
def test_a_kernel_is_compiled_again_when_a_file_that_it_imports_changes(package):
    assert call(package) == (7.0, 0, 1)
    assert call(package) == (7.0, 1, 0)
    edit(package, "callee", "x + made", "x - made")  # a kernel that it calls
    assert call(package) == (5.0, 0, 1)
    edit(package, "callee", "pair.left[i] *", "pair.left[i] -")  # a part compiled into it
    assert call(package) == (-4.0, 0, 1)
    edit(package, "constants", "1.0", "3.0")  # a constant, two imports away
    assert call(package) == (-6.0, 0, 1)
    edit(package, "distant", "1.0", "2.0")  # a part that comes by way of another file
    assert call(package) == (-12.0, 0, 1)
    (package / "unrelated.py").write_text("x = 1\n", encoding="utf-8")
    assert call(package) == (-12.0, 1, 0)


@compiles
def test_a_cache_survives_the_renaming_of_a_class_that_it_names(package):
    """Numba would fail to read the old index, which names the class of the argument."""
    assert call(package) == (7.0, 0, 1)
    edit(package, "callee", "class Pair", "class Both")
    assert call(package, CALL.replace("import Pair", "import Both as Pair")) == (7.0, 0, 1)


@compiles
def test_a_cache_goes_by_content_and_not_by_time_or_place(package, tmp_path):
    assert call(package) == (7.0, 0, 1)
    copy = tmp_path / "second" / "made"
    shutil.copytree(package, copy)
    for path in copy.glob("*.py"):
        os.utime(path, (10**9, 10**9))
    assert call(copy) == (7.0, 1, 0)


@compiles
def test_a_numba_that_keeps_its_stamp_elsewhere_still_caches(package):
    hidden = """
import numba.core.caching as caching
class Hidden:
    def __init__(self, inner=caching.IndexDataCacheFile, **options):
        inner = inner(**options)
        self.load, self.save, self.flush = inner.load, inner.save, inner.flush
caching.IndexDataCacheFile = Hidden
"""
    assert call(package, hidden + CALL) == (7.0, 0, 1)
    assert call(package, hidden + CALL) == (7.0, 1, 0)


@compiles
def test_a_source_that_cannot_be_read_leaves_the_stamp_of_numba(monkeypatch):
    class Compiled:
        class _cache:
            class _cache_file:
                _source_stamp, _version = "numba's", "1.0"

    file = Compiled._cache._cache_file
    monkeypatch.setattr(Compiled, "__module__", "a_module_that_nothing_loaded")
    jit._stamp_with_sources(Compiled)
    assert (file._source_stamp, file._version) == ("numba's", "1.0")
    monkeypatch.setattr(Compiled, "__module__", jit.__name__)
    jit._stamp_with_sources(Compiled)
    assert (file._source_stamp, file._version) != ("numba's", "1.0")


@compiles
def test_kernels_work_where_no_cache_can_be_written(package, tmp_path):
    (package / "__pycache__").write_text("a file where the folder would be")  # as good as a read-only install
    home = tmp_path / "home"
    for _ in range(2):
        assert call(package, **home_is(package / "__init__.py")) == (7.0, 0, 1)
    assert call(package, **home_is(home)) == (7.0, 0, 1)  # a read-only install caches in the home of the user
    assert call(package, **home_is(home)) == (7.0, 1, 0)
    edit(package, "callee", "x + made", "x - made")
    assert call(package, **home_is(home)) == (5.0, 0, 1)


def home_is(folder: Path) -> dict[str, str]:
    """Settings that make numba keep its caches of a user in a folder."""
    return {name: str(folder) for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE")}
