"""The modules of the package as syntax trees, and what each imports. An installed wheel will do as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import hedgerow

PACKAGE = Path(hedgerow.__file__).parent
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    """One imported module. `eager`: it is imported when the module that says so is (not inside a function)."""

    target: str
    line: int
    eager: bool
    for_types: bool


@dataclass(frozen=True)
class Module:
    """A module of the package: its dotted name, its path, and what it imports."""

    name: str
    path: Path
    tree: ast.Module
    imports: tuple[Import, ...]

    @property
    def area(self) -> str:
        """The folder or file right under the package; "" for the package's own __init__."""
        return self.name.removeprefix("hedgerow").removeprefix(".").partition(".")[0]


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, in the order of their names."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("hedgerow", *path.relative_to(PACKAGE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(read_module(name, path, path.read_text(encoding="utf-8")))
    return tuple(found)


def read_module(name: str, path: Path, text: str) -> Module:
    tree = ast.parse(text, str(path))
    return Module(name, path, tree, tuple(_imports(tree.body, eager=True, for_types=False)))


def _imports(nodes: list[ast.stmt], eager: bool, for_types: bool) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, eager, for_types)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                # `from hedgerow import kernels` names a module, `from hedgerow.errors import InputError` does not:
                # the longer name is right for both, since only its beginning is compared.
                yield Import(f"{base}.{alias.name}", node.lineno, eager, for_types)
        else:
            in_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            in_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from _imports(_inner(node), eager and not in_function, for_types or in_types)


def _inner(node: ast.AST) -> list[ast.stmt]:
    """The statements right inside a statement: its bodies, and those of its except clauses and cases."""
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            found.append(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            found += _inner(child)
    return found
