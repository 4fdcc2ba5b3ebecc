"""What the features of a position add to the scores of its labels, in a LinearCRF and in a TreeCRF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import fill
from hedgerow.data.imputation import seen as as_seen
from hedgerow.data.showing import value_text
from hedgerow.estimators.why.explanation import Part
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.linear.attribution import added_scores
from hedgerow.trees.binning import ATTRIBUTES, bin_dataset
from hedgerow.trees.growing import Tree
from hedgerow.trees.nodes import COLUMN, ITEMS, KIND, LABEL, OFFSET
from hedgerow.trees.shapley import Row, sum_shapley


def linear_parts(model: Any, dataset: Dataset, t: int, around: AnyArray, a: int, b: int) -> Iterator[Part]:
    """Weights of features: value times weight of one label, less that of the other."""
    layout, K = model.layout_, dataset.n_labels
    seen = as_seen(model, dataset)
    nodes, _, pairs = layout.split(model.weights_)
    for added in added_scores(seen, layout.nodes, nodes, t, _difference(K, a, b)):
        yield Part("feature", *added)
    if layout.pairs is not None and t > 0:
        u = int(around[t - 1])
        outputs, after = _difference(K * K, a * K + u, b * K + u), f"after {model.schema_.labels[u]}"
        for added in added_scores(seen, layout.pairs, pairs, t, outputs, set(layout.pair_columns)):
            yield Part("feature", *added)._replace(value=f"{added.value} {after}".strip())


def tree_parts(model: Any, dataset: Dataset, t: int, around: AnyArray, a: int, b: int) -> Iterator[Part]:
    """Shapley values of the trees of one label, less those of the other; and what a linear model below says."""
    if model.linear_ is not None:
        yield from linear_parts(model.linear_, dataset.below, t, around, a, b)  # type: ignore[attr-defined]
    seen = fill(model.imputation_, dataset)
    row = _row(model, seen, t, around)
    base, found = sum_shapley(row, _differences(model.ensemble_, a, b))
    yield Part("base", "the trees, whatever the input", None, "", base)
    sums: dict[tuple[str, int | None, str], float] = defaultdict(float)
    for (stream, attribute), value in found.items():
        if stream != LABEL:  # the label before is told with the table of transitions
            sums[_named(model.binning_, seen, t, stream, attribute)] += value
    for (name, offset, text), value in sums.items():
        if value != 0.0:
            yield Part("feature", name, offset, text, value)


def _row(model: Any, seen: Dataset, t: int, around: AnyArray) -> Row:
    """The row of a position as the trees see it."""
    start, joint = model._start(), model.edges_ == "joint"
    data = start.seen_by_trees(bin_dataset(model.binning_, seen, postings=False), joint=joint)
    streams = model.binning_.streams
    sources = {
        s: model.binning_.item_source[streams[COLUMN, s]]
        for s in range(streams.shape[1])
        if streams[KIND, s] == ITEMS and model.binning_.names[streams[COLUMN, s]] == ATTRIBUTES
    }
    place, K = int(data.place[t]), seen.n_labels
    if not joint or model.order_ == 0:
        return Row(data, place, 1, 2, sources)
    table = start.history_table
    if table is None:
        return Row(data, place, int(around[t - 1]) if t > 0 else K, K + 1, sources)
    first = np.zeros(len(around) + 1, dtype=np.uint8)
    first[[0, -1]] = 1
    return Row(data, place, int(table.before(around, first)[t]), table.n_histories + 1, sources)


def _differences(ensemble: Any, a: int, b: int) -> Iterator[tuple[Tree, FloatArray]]:
    """All trees that score one of two labels, with what their leaves add to the difference."""
    for step in range(ensemble.n_iterations * ensemble.trees_per_step):
        if ensemble.vectors:
            tree = ensemble.tree(step)
            yield tree, tree.values[:, a] - tree.values[:, b]
            continue
        for k, sign in ((a, 1.0), (b, -1.0)):
            tree = ensemble.label_tree(step, k)
            yield tree, sign * tree.values


def _named(binning: Any, dataset: Dataset, t: int, stream: int, attribute: int) -> tuple[str, int | None, str]:
    """The column of a stream, its offset, and what it holds there."""
    schema, offset = dataset.schema, int(binning.streams[OFFSET, stream])
    if attribute >= 0:
        name = schema.attributes.names()[attribute]
        return name, offset, value_of_attribute(dataset, attribute, t + offset)
    name = binning.names[binning.streams[COLUMN, stream]]
    column = next(column for column in schema.columns if column.name == name)
    return name, None if column.constant else offset, value_text(dataset, column, 0, t + offset)


def value_of_attribute(dataset: Dataset, attribute: int, position: int) -> str:
    """Whether the one sequence of a dataset has an attribute at a position: "absent", "", or its value."""
    place = int(dataset.start[0]) + position
    entries = slice(*dataset.attr_ptr[place : place + 2])
    there = np.flatnonzero(dataset.attr_id[entries] == attribute)
    if not len(there):
        return "absent"
    return "" if dataset.attr_val is None else f"{dataset.attr_val[entries][there[0]]:.6g}"


def _difference(n: int, a: int, b: int) -> FloatArray:
    outputs: FloatArray = np.zeros(n)
    outputs[a], outputs[b] = 1.0, -1.0
    return outputs
