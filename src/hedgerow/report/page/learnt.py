"""What a model has learnt: which columns it leans on, its largest weights or rules, which labels follow each other, and
how training went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.explain import importance, rules
from hedgerow.explain.splits import explained
from hedgerow.legend import FloatArray
from hedgerow.report.page.tested import Tested

_COLUMNS = 15
_TOP = 12  # weights of either sign, and rules
_MOST_LEAVES = 40_000  # of trees that are told as rules
_NODES = 12  # labels of the graph
_POINTS = 200  # of a curve


class ShareRow(NamedTuple):
    """One column: its share of all, and at each offset of `Learnt.offsets` (0 where it has none there)."""

    column: str
    share: float
    cells: list[float]


class Weight(NamedTuple):
    """A weight of a feature, or of a rule, for a label."""

    text: str
    label: str
    weight: float


@dataclass(frozen=True)
class Learnt:
    """`moves` are P(to | from) as the model's labels follow each other here, of the most frequent `states`;
    `true_moves` are those of the true labels. `curves`: name → (iteration, value)."""

    by: str
    offsets: list[int]
    columns: list[ShareRow]
    weights: list[Weight]
    weights_name: str
    states: list[str]
    moves: FloatArray
    true_moves: FloatArray | None
    frequency: list[float]
    curves: dict[str, list[tuple[float, float]]]
    best_iteration: int | None
    trials: list[tuple[str, ...]]


def learnt(tested: Tested) -> Learnt:
    """What a model has learnt, as far as models of its kind can tell."""
    model = explained(tested.model)
    model = getattr(model, "scorer_", model)  # what classifies the positions of a local model
    by, offsets, columns = _importance(model)
    name, weights = _weights(model)
    states, moves, true_moves, frequency = _moves(tested)
    curves, best = _curves(explained(tested.model))
    board = getattr(tested.model, "leaderboard_", None)
    trials = [tuple(map(str, row)) for row in board.rows(8)] if board else []
    graph = states, moves, true_moves, frequency
    return Learnt(by, offsets, columns, weights, name, *graph, curves, best, trials)


def _importance(model: Any) -> tuple[str, list[int], list[ShareRow]]:
    if hasattr(model, "node_weights_"):  # of a lattice: features are standardised, so that weights compare
        sums = np.abs(model.node_weights_[1:]).sum(axis=1)
        total = float(sums.sum()) or 1.0
        order = np.argsort(-sums, kind="stable")[:_COLUMNS].tolist()
        return "weight", [], [ShareRow(f"feature {j}", float(sums[j]) / total, []) for j in order]
    try:
        found = importance(model)
    except (InputError, AttributeError):
        return "", [], []
    shown = found.columns[:_COLUMNS]
    names = {total.column for total in shown}
    offsets = sorted({row.offset for row in found.rows if row.offset is not None and row.column in names})
    shares = {(row.column, row.offset): row.share for row in found.rows}
    rows = [ShareRow(one.column, one.share, [shares.get((one.column, o), 0.0) for o in offsets]) for one in shown]
    return found.by, offsets, rows


def _weights(model: Any) -> tuple[str, list[Weight]]:
    """The largest weights of either sign; of trees the rules that weigh most."""
    if hasattr(model, "feature_weights"):
        listed = model.feature_weights()
        ends = listed if len(listed) <= 2 * _TOP else [*listed[:_TOP], *listed[-_TOP:]]
        return "weights", [Weight(str(feature), str(label), float(weight)) for feature, label, weight in ends]
    if hasattr(model, "ensemble_") and model.ensemble_.n_leaves <= _MOST_LEAVES:
        try:
            return "rules", [Weight(rule.when, str(rule.label), rule.weight) for rule in rules(model, _TOP)]
        except (InputError, AttributeError):
            return "", []
    return "", []


def _moves(tested: Tested) -> tuple[list[str], FloatArray, FloatArray | None, list[float]]:
    """How often labels follow each other, of the most frequent ones."""
    K = len(tested.labels)
    counts = np.bincount(tested.predicted, minlength=K)
    kept = np.argsort(-counts, kind="stable")[:_NODES]
    kept = kept[counts[kept] > 0]
    nothing: FloatArray = np.zeros((0, 0))
    if tested.shapes is not None or len(kept) < 2:
        return [], nothing, None, []
    place = np.full(K + 1, -1)
    place[kept] = np.arange(len(kept))

    def follow(codes: Any) -> FloatArray:
        inside = tested.sequence[1:] == tested.sequence[:-1]
        before, after = (place[part] for part in (codes[:-1][inside], codes[1:][inside]))
        both = (before >= 0) & (after >= 0)
        n = len(kept)
        pairs = np.bincount(before[both] * n + after[both], minlength=n * n).reshape(n, n).astype(np.float64)
        shares: FloatArray = pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1.0)
        return shares

    truth = follow(tested.true) if tested.labelled.all() else None
    names = [str(tested.labels[k]) for k in kept.tolist()]
    return names, follow(tested.predicted), truth, (counts[kept] / counts.sum()).tolist()


def _curves(model: Any) -> tuple[dict[str, list[tuple[float, float]]], int | None]:
    history = list(getattr(model, "history_", ()))
    step = max(1, len(history) // _POINTS)
    kept = history[::step] + (history[-1:] if len(history) % step != 1 and step > 1 else [])
    curves = {"loss": [(float(one.iteration), float(one.loss)) for one in kept if np.isfinite(one.loss)]}
    told = [one for one in history if one.score is not None and np.isfinite(one.score)]
    scored = [(float(one.iteration), float(one.score)) for one in told]
    if scored:
        curves["held-out score"] = scored[::step]
    best = getattr(model, "best_iteration_", None) if scored else None
    return {name: points for name, points in curves.items() if len(points) > 1}, best
