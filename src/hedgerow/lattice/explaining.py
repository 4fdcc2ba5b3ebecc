"""Why a node of a graph has its label: the log-odds of two labels as a sum of parts.

With the neighbours at the labels that inference thinks most probable, only the scores of the node and of its edges
differ between two labels of it: these are parts. What the beliefs say beyond that is the rest: neighbours are not
certain, and inference is approximate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hedgerow.data.showing import number_text
from hedgerow.errors import InputError
from hedgerow.estimators.why.explanation import Explanation, Part
from hedgerow.estimators.why.parts import chosen_labels
from hedgerow.lattice.dataset import GraphDataset
from hedgerow.lattice.scores import Potentials
from hedgerow.lattice.tree_rows import bin_rows
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.trees.nodes import COLUMN
from hedgerow.trees.shapley import Row, sum_shapley


def explain_node(model: Any, dataset: GraphDataset, position: Any, label: Any, against: Any) -> Explanation:
    """Why a node of the one graph of a dataset has a label, rather than another."""
    shape, scores = dataset.shapes[0], model._scores(dataset)
    i = _node(shape, position)
    probs = model._infer(1, scores)[0].node_probs
    a, b = chosen_labels(tuple(model.classes_.tolist()), probs[i], i, label, against)
    log_odds = float(np.log(probs[i, a]) - np.log(probs[i, b]))
    parts = list(_parts(model, dataset, scores(0), probs.argmax(axis=1), i, a, b))
    if model.tilt_ is not None:
        parts.append(Part("base", "weights of the labels", None, "", float(model.tilt_[a] - model.tilt_[b])))
    parts.append(Part("rest", "the labels around are not certain", None, "", log_odds - _total(parts)))
    parts.sort(key=lambda part: -abs(part.log_odds))
    names = model.classes_.tolist()
    place: Any = i if len(shape) == 1 else tuple(map(int, np.unravel_index(i, shape)))
    return Explanation(place, names[a], names[b], float(probs[i, a]), float(probs[i, b]), log_odds, tuple(parts))


def _node(shape: tuple[int, ...], position: Any) -> int:
    """The number of a node, from its place in an image, or as it is."""
    place = position if isinstance(position, tuple) else (position,)
    whole = all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) for x in place)
    if not whole or len(place) != len(shape) or not all(0 <= x < n for x, n in zip(place, shape)):
        example = "a number" if len(shape) == 1 else f"{len(shape)} numbers, such as {tuple(n - 1 for n in shape)}"
        raise InputError(f"⟦position⟧ is {position!r}", hint=f"Give {example}, within the shape {shape}.")
    return int(np.ravel_multi_index(place, shape))


def _parts(
    model: Any, dataset: GraphDataset, potentials: Potentials, labels: AnyArray, i: int, a: int, b: int
) -> Iterator[Part]:
    """Features of the node, what the model adds whatever they are, and the neighbours."""
    features = list(_feature_parts(model, dataset, i, a, b))
    yield from features
    node = float(potentials.node_scores[i, a] - potentials.node_scores[i, b])
    yield Part("base", "the node, whatever its features", None, "", node - _total(features))
    names, ends, tables = model.classes_.tolist(), potentials.topology.ends, potentials.edge_scores
    sums: dict[Any, list[float]] = {}
    for e in np.flatnonzero((ends == i).any(axis=1)).tolist():
        tail, head = ends[e].tolist()
        table = tables[e if len(tables) > 1 else 0]
        table, other = (table, head) if tail == i else (table.T, tail)
        k = int(labels[other])
        sums.setdefault(names[k], []).append(float(table[a, k] - table[b, k]))
    for name, values in sums.items():
        count = f"{len(values)} neighbours are" if len(values) > 1 else "a neighbour is"
        yield Part("before", f"{count} {name}", None, "", sum(values))


def _feature_parts(model: Any, dataset: GraphDataset, i: int, a: int, b: int) -> Iterator[Part]:
    """What each feature of a node adds: its weight times its value, or the Shapley values of trees."""
    form = model.layout_.form if hasattr(model, "layout_") else model.form_
    row, tables = dataset.nodes[i], form.node_tables
    difference: FloatArray = tables[:, a] - tables[:, b]  # (P,)
    if hasattr(model, "layout_"):
        scaling = model.scaling_
        values = (row - scaling.node_center) / scaling.node_spread * (model.node_weights_[1:] * difference).sum(axis=1)
    else:
        data = bin_rows(model.bins_.nodes, dataset.nodes[i : i + 1], growing=False)
        trees = model.node_trees_.trees()
        P = len(tables)
        weighted = ((tree, difference[j % P] * tree.values) for j, tree in enumerate(trees))
        _, found = sum_shapley(Row(data, int(data.place[0]), 1, 2, {}), weighted)
        values = np.zeros(len(row))
        for (stream, _), value in found.items():
            values[int(model.bins_.nodes.names[model.bins_.nodes.streams[COLUMN, stream]][1:])] += value
    for j, value in enumerate(values.tolist()):
        if value != 0.0:
            yield Part("feature", f"feature {j}", 0, number_text(float(row[j])), value)


def _total(parts: list[Part]) -> float:
    return sum(part.log_odds for part in parts)
