"""No BLAS where models are trained: the same product has other bits for other numbers of BLAS threads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .sources import Module, modules, read_module

ELSEWHERE = ("reference", "experiments")  # the oracles of the tests, and what runs the estimators from outside
PRODUCTS = {
    "dot",
    "vdot",
    "inner",
    "matmul",
    "tensordot",
    "linalg",
    "polyfit",
    "cov",
    "corrcoef",
    "convolve",
    "correlate",
}
LIBRARIES = ("scipy.optimize", "scipy.linalg", "numpy.linalg", "sklearn.linear_model")

# Function → why a product of matrices has the same bits there for any number of threads.
ALLOWED = {
    "count_moves": "sums of 0 and 1, which are exact in any order",
    "IOTraining._first_targets": "sums of 0 and 1, which are exact in any order",
    "_open_labels": "sums of 0 and 1, which are exact in any order",
    "run_keys": "whole numbers, for which NumPy has no BLAS",
    "Extrapolation.__call__": "at most five equations: LAPACK takes one thread",
}


def products(module: Module) -> Iterator[tuple[str, int, str]]:
    """(function, line, what stands there) of everything that may call BLAS."""
    yield from _products(module.tree, "")
    for own in module.imports:
        if own.target.startswith(LIBRARIES):
            yield "", own.line, own.target


def _products(node: ast.AST, where: str) -> Iterator[tuple[str, int, str]]:
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.ClassDef)
        inside = f"{where}.{child.name}".removeprefix(".") if named else where
        found = _product(child)
        if found:
            yield inside, child.lineno, found  # type: ignore[attr-defined]
        yield from _products(child, inside)


def _product(node: ast.AST) -> str:
    """What a node is, if it may call BLAS."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        return "@"
    if isinstance(node, ast.Attribute):
        of = ast.unparse(node.value)
        if (node.attr == "dot" and not of.endswith("kernels.vectors")) or (
            node.attr in PRODUCTS and of in ("np", "numpy")
        ):
            return f"{of}.{node.attr}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "einsum":
        chosen = [own.value for own in node.keywords if own.arg == "optimize"]
        return "" if all(isinstance(own, ast.Constant) and own.value is False for own in chosen) else "einsum(optimize)"
    return ""


def test_no_product_calls_blas():
    found = [
        f"{module.name}, line {line}, in {where or 'the module'}: {what}"
        for module in modules()
        if module.area not in ELSEWHERE
        for where, line, what in products(module)
        if where not in ALLOWED
    ]
    assert found == []


def test_nothing_is_allowed_that_is_not_there():
    there = {where for module in modules() if module.area not in ELSEWHERE for where, _, _ in products(module)}
    assert set(ALLOWED) <= there


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b):\n    return a @ b",
        "a @= b",
        "np.dot(a, b)",
        "a.dot(b)",
        "np.linalg.solve(a, b)",
        "np.inner(a, b)",
        "np.einsum('ij,jk->ik', a, b, optimize=True)",
        "def f():\n    from scipy.optimize import minimize",
        "import numpy.linalg",
    ],
)
def test_the_check_can_fail(text):
    assert [*products(read_module("hedgerow.x", Path("x.py"), text))]


@pytest.mark.parametrize(
    "text",
    ["kernels.vectors.dot(a, b)", "np.einsum('ij,jk->ik', a, b)", "np.einsum('i,i', a, b, optimize=False)", "a * b"],
)
def test_what_calls_no_blas_is_not_found(text):
    assert [*products(read_module("hedgerow.x", Path("x.py"), text))] == []
