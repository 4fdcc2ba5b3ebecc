"""Rules that every kernel file keeps."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import pytest

import hedgerow

SOURCE = Path(hedgerow.__file__).parent
KERNELS = sorted(path for path in (SOURCE / "kernels").glob("*.py") if not path.name.startswith("_"))


def test_full_fast_math_is_nowhere():
    """It assumes that no infinity exists, and then −inf is not impossible any more."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "fastmath":
                full = isinstance(node.value, ast.Constant) and node.value.value is True
                assert not full, f"{path.name}, line {node.value.lineno}"


def test_what_kernels_may_reorder_leaves_infinities_alone():
    from hedgerow import jit as _jit

    assert not set(_jit.CHAIN_MATH) & {"fast", "nnan", "ninf", "afn"}


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_compiling_is_told_once_and_only_where_it_happens():
    from hedgerow import jit as _jit

    made: dict[str, Any] = {}
    exec("def add(x): return x + 1\ndef double(x): return 2 * x", made)  # in no file, so in no cache either
    add, double = _jit.kernel(made["add"]), _jit.kernel(made["double"])
    told: list[str] = []
    with _jit.before_compiling(lambda: told.append("first")):
        assert told == []
        assert (add(1), double(2), add(1.5)) == (2, 4, 2.5)
    assert told == ["first"]
    with _jit.before_compiling(lambda: told.append("again")):
        assert add(2) == 3
    double(0.5)
    assert told == ["first"]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_kernel_calls_only_kernels_of_its_own_file(path):
    """Numba's cache does not notice an edit in another file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hedgerow.kernels"):
            assert node.module == "hedgerow.jit"
