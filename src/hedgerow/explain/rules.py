"""The ensemble as rules: every leaf is a feature, the conjunction of the conditions on its path, with a weight."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.explain.fields import signed
from hedgerow.explain.splits import Input, Splits, explained, label_code
from hedgerow.trees.nodes import FALSE_CHILD, LABEL, LEAF, STREAM, TRUE_CHILD

Path = frozenset[tuple[Input, int]]  # for each input that matters, the bins that it may have


class Condition(NamedTuple):
    """What one input has to be. `offset` is None for the previous label."""

    column: str
    offset: int | None
    text: str

    def __str__(self) -> str:
        return self.text


class Rule(NamedTuple):
    """Where all conditions hold, the score of the label rises by the weight."""

    label: Any
    weight: float
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return f"{signed(self.weight, 4)}  {self.label}  if {self.when}"

    @property
    def when(self) -> str:
        """The conditions as text."""
        texts = [condition.text for condition in self.conditions]
        if len(texts) > 1:
            texts = [f"({text})" if " or " in text else text for text in texts]
        return " and ".join(texts) or "always"


def rules(model: Any, n: int | None = 20, label: Any = None) -> list[Rule]:
    """The rules that the trees of a model add up to, those with the largest weights (of either sign) first.

    Parameters
    ----------
    model : a fitted TreeCRF, or any object with its schema_, classes_, binning_ and ensemble_; or an AutoLabeler
    n : how many rules; None for all
    label : the rules of this label alone

    A rule is a path from the root of a tree to a leaf, without conditions that follow from others; equal rules of
    different trees are one rule, with the sum of their weights. So the weights of all rules of label k that hold at
    position t after the previous label k' sum to the score F^k(k', x_t) of the model, but for a linear model that the
    trees stand on. That is of positions with all values. With missing="weighting" and "surrogate" conditions are about
    values that are there; where one is missing, leaves count by shares, or by what surrogates tell.
    """
    if n is not None and n < 0:
        raise InputError(f"n is {n}", hint="Give a number of rules, or None for all.")
    model = explained(model)
    splits = Splits(model, most=12)
    labels = range(len(model.schema_.labels)) if label is None else [label_code(model, label)]
    weighted = [(k, path, weight) for k in labels for path, weight in weigh_paths(model, k).items() if weight != 0.0]
    weighted.sort(key=lambda entry: -abs(entry[2]))
    names = model.schema_.labels
    return [Rule(names[k], weight, _conditions(splits, path)) for k, path, weight in weighted[:n]]


def weigh_paths(model: Any, k: int) -> dict[Path, float]:
    """The sum of the leaves of each path of label k, with what is added to pairs of labels whatever the input."""
    splits, ensemble = Splits(model), model.ensemble_
    weights: dict[Path, float] = defaultdict(float)
    for u, score in _pair_scores(model, k):
        weights[frozenset([(Input(LABEL), 1 << u)])] += score
    n_trees = ensemble.n_iterations * ensemble.trees_per_step
    for j in range(n_trees):
        _add_tree(splits, ensemble.label_tree(j, k), weights)
    return dict(weights)


def _pair_scores(model: Any, k: int) -> list[tuple[int, float]]:
    """(previous label, score): the constant that boosting started from, and the table of shared edges, which only
    chains of order 1 have."""
    if getattr(model, "order_", 1) != 1:
        return []
    scores = np.zeros(len(model.schema_.labels) + 1)  # ⊥ last
    constant, tables = getattr(model, "constant_", None), getattr(model, "edge_tables_", None)
    if constant is not None:
        scores += constant[:, k]
    if tables is not None:
        scores[:-1] += tables[:, :, k].sum(axis=0)
    return [(u, float(score)) for u, score in enumerate(scores) if score != 0.0]


def _add_tree(splits: Splits, tree: Any, weights: dict[Path, float]) -> None:
    """Add the leaves of one tree to the paths. Paths that nothing can take are left out."""
    nodes, values = tree.nodes.tolist(), tree.values.tolist()
    ahead: list[tuple[int, dict[Input, int]]] = [(0, {})]
    while ahead:
        i, path = ahead.pop()
        node = nodes[i]
        if node[STREAM] == LEAF:
            weights[frozenset(path.items())] += values[i]
            continue
        read, bins = splits.ask(node, tree.sets)
        possible = splits.field(read).possible
        before = path.get(read, possible)
        for child, side in ((node[FALSE_CHILD], before & ~bins), (node[TRUE_CHILD], before & bins)):
            if side == before:
                ahead.append((child, path))
            elif side:
                ahead.append((child, {**path, read: side}))


def _conditions(splits: Splits, path: Path) -> tuple[Condition, ...]:
    """In the order of columns and offsets, the previous label last."""
    order = sorted(path, key=lambda entry: (entry[0].stream < 0, *entry[0]))
    return tuple(Condition(splits.column(read), splits.offset(read), splits.text(read, bins)) for read, bins in order)
