"""Which weights a linear chain has, what they are called, and how they pass to another chain."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hedgerow.data.dataset import Dataset, Label, Schema
from hedgerow.errors import InputError
from hedgerow.legend import CODE, CodeArray, FloatArray, IndexArray
from hedgerow.scorers.chain import ChainLayout
from hedgerow.scorers.linear import WeightIndex, index_weights
from hedgerow.scorers.streams import Streams, row_names
from hedgerow.structure.states import StateSpace


def lay_out(
    dataset: Dataset,
    space: StateSpace,
    *,
    transitions: str,
    pairs: str,
    min_frequency: float,
    transition_columns: Iterable[str] | None,
) -> tuple[ChainLayout, FloatArray]:
    """The layout of the weights, and for each weight how often its feature is seen in training."""
    options = {"min_frequency": min_frequency, "all_pairs": pairs == "all"}
    where, labels = observed_labels(dataset)
    nodes, totals = index_weights(
        dataset,
        Streams.of(dataset.schema),
        where,
        labels,
        dataset.n_labels,
        **options,  # type: ignore[arg-type]
    )
    arc_from, arc_to, arc_counts = _arcs(dataset, space, transitions)
    frequency = [row_frequency(nodes, totals), arc_counts]
    index = None
    if transition_columns is not None:
        names = _check_columns(dataset.schema, transition_columns)
        where, moves = _observed_moves(dataset)
        index, totals = index_weights(
            dataset,
            Streams.of(dataset.schema, names),
            where,
            moves,
            dataset.n_labels**2,
            **options,  # type: ignore[arg-type]
        )
        frequency.append(row_frequency(index, totals) / dataset.n_labels)
    return ChainLayout(nodes, arc_from, arc_to, space, index), np.concatenate(frequency)


def observed_labels(dataset: Dataset) -> tuple[IndexArray, CodeArray]:
    """Flat positions and labels that stand, or may stand, there. Positions that may have any label count for none."""
    assert dataset.labels is not None
    where = np.flatnonzero(dataset.labels >= 0)
    labels = dataset.labels[where]
    if dataset.allowed is not None:
        open_ = (dataset.labels < 0) & ~dataset.allowed.all(axis=1)
        places, possible = np.nonzero(dataset.allowed & open_[:, None])
        where, labels = np.concatenate([where, places]), np.concatenate([labels, possible.astype(CODE)])
        order = np.argsort(where, kind="stable")
        where, labels = where[order], labels[order]
    return where, labels


def _observed_moves(dataset: Dataset) -> tuple[IndexArray, CodeArray]:
    """Flat positions after the first of their sequence, and to·K + from there."""
    labels = dataset.labels
    assert labels is not None
    inner = np.ones(dataset.n_positions, dtype=bool)
    inner[dataset.offsets[:-1]] = False
    where = np.flatnonzero(inner & (labels >= 0) & (np.roll(labels, 1) >= 0))
    return where, labels[where] * CODE(dataset.n_labels) + labels[where - 1]


def _arcs(dataset: Dataset, space: StateSpace, transitions: str) -> tuple[IndexArray, IndexArray, FloatArray]:
    assert dataset.labels is not None
    legal = space
    if transitions == "observed":
        seen = StateSpace.observed(dataset.labels, dataset.offsets, dataset.n_labels)
        legal = space.intersect(StateSpace(space.start, seen.transitions, space.end))
    arc_from, arc_to = legal.arcs()
    return arc_from, arc_to, np.full(len(arc_from), dataset.n_positions / dataset.n_labels)


def _check_columns(schema: Schema, names: Iterable[str]) -> set[str]:
    if isinstance(names, str):
        raise InputError(f"transition_columns is the str {names!r}", hint="Give a list of column names.")
    known = {column.name for column in schema.columns} | ({"*"} if len(schema.attributes) else set())
    for name in names:
        if name not in known:
            raise InputError(
                "is in transition_columns and not in the data",
                hint=f"Columns: {', '.join(sorted(known)[:10])}.",
                column=name,
            )
    return set(names)


def row_frequency(index: WeightIndex, totals: FloatArray) -> FloatArray:
    """For each slot, how often the feature of its row is seen with any label."""
    rows = index.slot_rows()
    sums: FloatArray = np.bincount(rows, weights=np.abs(totals), minlength=index.streams.n_rows).astype(np.float64)
    return sums[rows]


def named_weights(schema: Schema, layout: ChainLayout, weights: FloatArray) -> list[tuple[str, Label, float]]:
    """(feature, label, weight) of the node weights, the largest first."""
    names = row_names(schema)
    nodes = layout.split(weights)[0]
    rows, labels = layout.nodes.slot_rows(), layout.nodes.slot_label
    order = np.argsort(-nodes, kind="stable")
    return [(names[rows[j]], schema.labels[labels[j]], float(nodes[j])) for j in order]


def carry_over(
    old_schema: Schema, old: ChainLayout, old_weights: FloatArray, new_schema: Schema, new: ChainLayout
) -> FloatArray:
    """Starting weights of a new chain: those of an old one, matched by the names of features and labels."""
    start: FloatArray = np.zeros(new.n_weights)
    label_map = np.array([old_schema.label_codes.get(label, -1) for label in new_schema.labels], dtype=np.int64)
    old_nodes, old_arcs, _ = old.split(old_weights)
    new_nodes, new_arcs, _ = new.split(start)
    old_rows = {name: row for row, name in enumerate(row_names(old_schema))}
    row_map = np.array([old_rows.get(name, -1) for name in row_names(new_schema)], dtype=np.int64)
    known = dict(zip(zip(old.nodes.slot_rows().tolist(), old.nodes.slot_label.tolist()), old_nodes.tolist()))
    slots = zip(row_map[new.nodes.slot_rows()].tolist(), label_map[new.nodes.slot_label].tolist())
    new_nodes[:] = [known.get(slot, 0.0) for slot in slots]
    table: FloatArray = np.zeros((old.n_labels + 1, old.n_labels + 1))  # the last row and column: labels not known
    table[old.arc_from, old.arc_to] = old_arcs
    new_arcs[:] = table[label_map[new.arc_from], label_map[new.arc_to]]
    return start
