"""Rules that every kernel file keeps, and the cache of compiled kernels."""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import llvmlite.binding
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
TRIPLE = llvmlite.binding.get_process_triple()
has_baseline = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1" or jit.baseline(TRIPLE) is None, reason="no kernels are shipped"
)


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


@compiles
def test_the_clock_of_budgets_stands_still_while_kernels_are_compiled():
    looks: list[float] = []

    def tell(name: str) -> None:
        if name:
            looks.append(jit.clock())
            time.sleep(0.05)
            looks.append(jit.clock())

    adds = jit.kernel(made("def add(x): return x + 1")["add"])
    began, before = time.monotonic(), jit.clock()
    with jit.before_compiling(tell):
        adds(1)
    after, ended = jit.clock(), time.monotonic()
    assert before <= looks[0] == looks[1] <= after
    assert (ended - began) - (after - before) >= 0.05


@compiles
def test_a_line_that_cannot_be_shown_leaves_the_clock_and_the_collector_running():
    def tell(name: str) -> None:
        if not name:
            raise BrokenPipeError

    with jit.before_compiling(tell), pytest.raises(BrokenPipeError):
        jit.kernel(made("def add(x): return x + 1")["add"])(1)
    before = jit.clock()
    time.sleep(0.01)
    assert jit.clock() > before
    assert gc.isenabled()


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
    monkeypatch.setattr(jit, "TRIED", False)
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


@compiles
def test_nor_has_one_whose_sums_may_be_reordered(translated):
    functions = made("def half(x): return x * 0.5\ndef whole(x): return half(x) + half(x)")
    functions["half"] = jit.chain_part(functions["half"])
    assert jit.chain_kernel(functions["whole"])(3.0) == 3.0
    assert translated == ["whole"]


@compiles
def test_a_part_has_one_form_for_all_constants():
    functions = made("def add(x, y): return x + y\ndef whole(x): return add(x, 0) + add(x, 1) + add(x, x)")
    functions["add"] = jit.part(functions["add"])
    assert jit.kernel(functions["whole"])(2) == 9
    assert len(functions["add"].signatures) == 1


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
    files = {kernel._cache._name for kernel in kernels}
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
    kernels = [value for value in kernels if value.__module__ == name and value._cache.cache_path]
    assert kernels
    for kernel in kernels:
        assert vars(kernel._cache) == vars(jit._KernelCache(kernel.py_func, jit.source_stamp(name)))
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


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def package(tmp_path):
    return write(tmp_path / "first" / "made")


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    package = write(tmp_path_factory.mktemp("compiled") / "made")
    assert call(package) == (7.0, 0, 1)
    return package


@pytest.fixture
def compiled(compiled_once, tmp_path):
    """The package with its cache, in a folder of its own."""
    return Path(shutil.copytree(compiled_once, tmp_path / "first" / "made"))


def call(package: Path, script: str = CALL, *, warns: str = "", **settings: str) -> tuple[float, int, int]:
    """The result of `total` in a new process, and how often it was read from the cache and how often compiled. The
    process gives one warning with this text, or none."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = os.pathsep.join([str(package.parent), str(SOURCE.parent)])
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python's own cache goes by the time, which `edit` keeps
    environment |= settings
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("Warning") == bool(warns), run.stderr
    assert warns in run.stderr
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
def test_a_kernel_is_compiled_again_when_a_file_that_it_imports_changes(compiled):
    assert call(compiled) == (7.0, 1, 0)
    edit(compiled, "callee", "x + made", "x - made")  # a kernel that it calls
    assert call(compiled) == (5.0, 0, 1)
    edit(compiled, "callee", "pair.left[i] *", "pair.left[i] -")  # a part compiled into it
    assert call(compiled) == (-4.0, 0, 1)
    edit(compiled, "constants", "1.0", "3.0")  # a constant, two imports away
    assert call(compiled) == (-6.0, 0, 1)
    edit(compiled, "distant", "1.0", "2.0")  # a part that comes by way of another file
    assert call(compiled) == (-12.0, 0, 1)
    (compiled / "unrelated.py").write_text("x = 1\n", encoding="utf-8")
    assert call(compiled) == (-12.0, 1, 0)


@compiles
def test_a_cache_survives_the_renaming_of_a_class_that_it_names(compiled):
    """Numba would fail to read the old index, which names the class of the argument."""
    edit(compiled, "callee", "class Pair", "class Both")
    assert call(compiled, CALL.replace("import Pair", "import Both as Pair")) == (7.0, 0, 1)


@compiles
def test_a_cache_goes_by_content_and_not_by_time_or_place(compiled, tmp_path):
    copy = tmp_path / "second" / "made"
    shutil.copytree(compiled, copy)
    for path in copy.glob("*.py"):
        os.utime(path, (10**9, 10**9))
    assert call(copy) == (7.0, 1, 0)


@compiles
def test_a_source_that_cannot_be_read_leaves_the_cache_of_numba(package):
    unread = """
from hedgerow import jit
def unread(name):
    raise OSError(name)
jit.source_stamp = unread
"""
    assert call(package, unread + CALL) == (7.0, 0, 1)
    assert list(package.rglob("*.nbi"))  # numba's index
    assert call(package, unread + CALL) == (7.0, 1, 0)


@compiles
def test_what_older_sources_have_left_is_removed(compiled):
    (old,) = compiled.rglob("caller.total.*.nbc")
    assert call(compiled, **{"NUMBA_OPT": "1"}) == (7.0, 0, 1)  # another way to compile is no older one
    assert len(list(compiled.rglob("caller.total.*.nbc"))) == 2
    edit(compiled, "callee", "x + made", "x - made")
    assert call(compiled) == (5.0, 0, 1)
    (new,) = compiled.rglob("caller.total.*.nbc")
    assert old.name != new.name


DAMAGE = [
    lambda data: b"",
    lambda data: data[: len(data) // 2],
    lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    lambda data: hashlib.sha256(b"no pickle").digest() + b"no pickle",
]


@compiles
def test_a_damaged_file_is_compiled_again_and_replaced(compiled):
    for damage in DAMAGE:
        for path in compiled.rglob("*.nbc"):
            path.write_bytes(damage(path.read_bytes()))
        assert call(compiled, warns="a compiled kernel cannot be read, and is compiled again") == (7.0, 0, 1)
    assert call(compiled) == (7.0, 1, 0)


@compiles
def test_a_file_for_other_arguments_is_not_used(compiled):
    """Types go into the name of a file by what numba calls them, and are compared when it is read."""
    files = {path.name.partition(".cpython")[0]: path for path in compiled.rglob("*.nbc")}
    shutil.copy(files["callee.shift"], files["caller.total"])
    assert call(compiled, warns="for other types of arguments") == (7.0, 0, 1)


@compiles
def test_kernels_work_where_no_cache_can_be_written(package, tmp_path):
    (package / "__pycache__").write_text("a file where the folder would be")  # as good as a read-only install
    home = tmp_path / "home"
    for _ in range(2):
        settings = home_is(package / "__init__.py")
        assert call(package, warns="compiled kernels cannot be kept", **settings) == (7.0, 0, 1)
    assert call(package, **home_is(home)) == (7.0, 0, 1)  # a read-only install caches in the home of the user
    assert call(package, **home_is(home)) == (7.0, 1, 0)
    edit(package, "callee", "x + made", "x - made")
    assert call(package, **home_is(home)) == (5.0, 0, 1)


@compiles
def test_a_full_disk_fails_nothing_and_leaves_nothing(package):
    full = """
from pathlib import Path
def write_bytes(path, data, inner=Path.write_bytes):
    inner(path, data[:100])
    raise OSError(28, "No space left on device")
Path.write_bytes = write_bytes
"""
    assert call(package, full + CALL, warns="No space left on device", **home_is(package)) == (7.0, 0, 1)
    assert not [path for path in package.rglob("*") if ".nbc" in path.name]


@compiles
def test_a_folder_that_may_only_be_read_serves(package, tmp_path):
    """As in a container: filled by an administrator, used by others."""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert call(package, **settings) == (7.0, 0, 1)
    forbidden = "from hedgerow import jit\ndef write(*_): raise PermissionError('no')\njit._write = write\n"
    assert call(package, forbidden + CALL, **settings) == (7.0, 1, 0)
    edit(package, "constants", "1.0", "3.0")
    assert call(package, forbidden + CALL, warns="NUMBA_CACHE_DIR", **settings) == (9.0, 0, 1)


@compiles
def test_processes_that_compile_at_the_same_time_keep_what_each_has_compiled(package):
    """By numba's own cache one of two signatures was lost, as both processes wrote the index of the kernel."""
    other = CALL.replace("np.full(3, 2.0)", "np.full(3, 2)")
    meanwhile = f"""
import subprocess, sys
from hedgerow import jit
def write(path, data, inner=jit._write):
    jit._write = inner
    subprocess.run([sys.executable, "-c", {other!r}], check=True, stdout=subprocess.DEVNULL)
    inner(path, data)
jit._write = write
"""
    assert call(package, meanwhile + CALL) == (7.0, 0, 1)
    assert call(package) == (7.0, 1, 0)
    assert call(package, other) == (7.0, 1, 0)


# --- kernels of a platform wheel -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the kernels of the package, compiled for the baseline of this machine."""
    folder = tmp_path_factory.mktemp("built")
    name, features = jit.baseline(TRIPLE)
    settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder / "cache")}
    assert call(write(folder / "made"), **settings) == (7.0, 0, 1)
    return folder / "cache"


@pytest.fixture
def shipped(built, tmp_path):
    """A line that names a folder with copies of these kernels."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    for path in built.rglob("*.nbc"):
        shutil.copy(path, folder)
    return f"from pathlib import Path\nfrom hedgerow import jit\njit.SHIPPED = Path({str(folder)!r})\n"


@has_baseline
def test_shipped_kernels_serve_where_there_is_no_cache(package, shipped):
    (package / "__pycache__").write_text("a file where the folder would be")
    assert call(package, shipped + CALL, **home_is(package / "__init__.py")) == (7.0, 1, 0)


@has_baseline
def test_shipped_kernels_come_first(compiled, shipped):
    """So that what a model computes does not depend on what has been compiled before."""
    forged = """
def unpacked(packed, target_context, signature, inner=jit._unpacked):
    read.append(1)
    return inner(packed, target_context, signature)
jit._unpacked, read = unpacked, []
def read_bytes(path, inner=Path.read_bytes):
    assert path.parent == jit.SHIPPED
    return inner(path)
Path.read_bytes = read_bytes
"""
    assert call(compiled, shipped + forged + CALL + "assert read\n") == (7.0, 1, 0)


OTHERS = [
    "import llvmlite; llvmlite.__version__ = '0.1'",
    "import numba; numba.__version__ = '0.1'",
    "import sys; sys.implementation.cache_tag = 'cpython-999'",
    "import llvmlite.binding as llvm; llvm.get_host_cpu_features = lambda: llvm.FeatureMap(avx=True, avx2=False)",
    "from numba.core import config; config.BOUNDSCHECK = 0 if config.BOUNDSCHECK else 1",
]


@has_baseline
def test_shipped_kernels_are_for_their_versions_and_processors_alone(package, shipped):
    assert call(package, shipped + CALL) == (7.0, 1, 0)
    for other in OTHERS:
        assert call(package, f"{shipped}{other}\n{CALL}") == (7.0, 0, 1)
    assert call(package, f"{shipped}{other}\n{CALL}") == (7.0, 1, 0)  # from the ordinary cache


@has_baseline
def test_shipped_kernels_are_for_their_sources_alone(package, shipped):
    edit(package, "constants", "1.0", "3.0")
    assert call(package, shipped + CALL) == (9.0, 0, 1)


@has_baseline
def test_shipped_kernels_that_are_damaged_are_compiled(package, shipped, tmp_path):
    for path in (tmp_path / "shipped").iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()  # no folder of the machine that compiled
        path.write_bytes(path.read_bytes()[:1000])
    assert call(package, shipped + CALL, warns="cannot be read") == (7.0, 0, 1)


def home_is(folder: Path) -> dict[str, str]:
    """Settings that make numba keep its caches of a user in a folder."""
    return {name: str(folder) for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE")}
