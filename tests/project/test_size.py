"""A reader finds the way: no crowded folder, no long module or function; every folder says what belongs there."""

from __future__ import annotations

import ast
from collections import Counter

from .sources import Module, modules

MOST_MODULES = 20
MOST_LINES = 400
LONGEST_FUNCTION = 60
LONGEST_KERNEL = 80
# The aim for what was there at first is 42,000. Since then came the search over models (2,080); trees for all labels at
# once, temperatures and weights of labels, windows that are found (1,450 together); features of numbers, single
# precision, one short sequence, streams, warm-up (2,300 together); explanations of labels (1,000); metrics of segments,
# spans and probabilities, and timelines (800); CRFsuite's model files, trainers and names (1,400); checkpoints and safe
# saving (1,200); data frames with time, words, datasets and documents (1,600); checks of input and of files (600);
# kernels that are shipped, vectors and memory (500); a page about a model and one about several (2,800); training of a
# corpus whose parts lie elsewhere, and Dask (2,400); features that are found in training (900); all objectives and
# trainers at every order, features of the search's own errors, iterative scaling (1,300); checks of checkpoints (300);
# facts of a fit in notebooks, and steps that know runs of labels (300).
MOST_IN_PACKAGE = 64_200


def n_lines(module: Module) -> int:
    return module.path.read_text(encoding="utf-8").count("\n")


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring, from `def` on."""
    docstring = ast.get_docstring(node, clean=False)
    first = node.body[0]
    n_doc = first.end_lineno - first.lineno + 1 if docstring is not None and first.end_lineno else 0
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1 - n_doc


def test_no_folder_is_crowded():
    folders = Counter(module.path.parent for module in modules())
    assert {str(folder): n for folder, n in folders.items() if n > MOST_MODULES} == {}


def test_no_module_is_long():
    assert {module.name: n_lines(module) for module in modules() if n_lines(module) >= MOST_LINES} == {}


def test_no_function_is_long():
    found = {}
    for module in modules():
        most = LONGEST_KERNEL if ".kernels." in module.name else LONGEST_FUNCTION
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node) >= most:
                found[f"{module.name}.{node.name}"] = code_lines(node)
    assert found == {}


def test_the_package_stays_small():
    assert sum(map(n_lines, modules())) <= MOST_IN_PACKAGE


def test_every_folder_says_what_belongs_there():
    packages = [module for module in modules() if module.path.name == "__init__.py"]
    assert [module.name for module in packages if not ast.get_docstring(module.tree)] == []
