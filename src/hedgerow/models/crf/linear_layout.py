"""Which weights a linear chain has, what they are called, and how they pass to another chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label, Schema
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.estimators.constraints import count_moves
from hedgerow.estimators.histories import carry_histories, history_frequency
from hedgerow.legend import CODE, INDEX, CodeArray, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import Streams, WeightIndex, index_weights, row_names, weight_statistics


@dataclass(frozen=True)
class Statistics:
    """What training shows of the feature behind each weight, (W,) each.

    frequency : how often it is seen, with any label
    square : the mean square of its values; None where all values of all features are 1
    """

    frequency: FloatArray
    square: FloatArray | None

    @property
    def squares(self) -> FloatArray:
        """The mean squares, also where all are 1."""
        return np.ones(len(self.frequency)) if self.square is None else self.square


def lay_out(
    dataset: Dataset,
    space: StateSpace,
    *,
    transitions: str,
    pairs: str,
    min_frequency: float,
    transition_columns: Iterable[str] | None,
    order: int = 1,
    histories: Histories | None = None,
) -> tuple[ChainLayout, Statistics]:
    """The layout of the weights, and what training shows of their features.

    order : 0 gives transitions no weights
    histories : of a chain of order 2 and more; their arcs have weights then, and transitions have none
    """
    K = dataset.n_labels
    where, labels = observed_labels(dataset)

    def index(names: set[str] | None, where: IndexArray, outputs: CodeArray, n_outputs: int) -> _Indexed:
        streams = Streams.of(dataset.schema, names)
        indexed, totals = index_weights(
            dataset, streams, where, outputs, n_outputs, min_frequency=min_frequency, all_pairs=pairs == "all"
        )
        return indexed, *weight_statistics(dataset, indexed, totals, where)

    arc_from, arc_to = weighed_arcs(dataset, space, transitions, min_frequency)
    if order != 1:
        arc_from, arc_to = arc_from[:0], arc_to[:0]
    nodes, *of_nodes = index(None, where, labels, K)
    of_arcs = [np.full(len(arc_from), max(len(where), 1) / K), np.ones(len(arc_from))]
    if histories is not None:
        of_arcs = [history_frequency(dataset, histories), np.ones(histories.n_arcs)]
    if transition_columns is None:
        layout = ChainLayout(nodes, arc_from, arc_to, space, histories=histories)
        parts = [of_nodes, of_arcs]
    else:
        names = _check_columns(dataset.schema, transition_columns)
        label_pairs, frequency, square = index(names, *_observed_moves(dataset), K * K)
        layout = ChainLayout(nodes, arc_from, arc_to, space, label_pairs, tuple(sorted(names)))
        parts = [of_nodes, of_arcs, [frequency / K, square]]
    frequency, square = (np.concatenate(columns) for columns in zip(*parts))
    return layout, Statistics(frequency, None if (square == 1.0).all() else square)


_Indexed = tuple[WeightIndex, FloatArray, FloatArray]


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


def weighed_arcs(
    dataset: Dataset | SharedCorpus, space: StateSpace, transitions: str, min_frequency: float
) -> tuple[IndexArray, IndexArray]:
    """The transitions that have a weight: all legal ones, or those seen, and seen often enough."""
    moves = space.transitions
    if transitions == "observed":
        counts = count_moves(dataset)
        moves = moves & (counts > 0) & (counts >= min_frequency)
    arc_from, arc_to = np.nonzero(moves)
    return arc_from.astype(INDEX), arc_to.astype(INDEX)


def _check_columns(schema: Schema, names: Iterable[str]) -> set[str]:
    if isinstance(names, str):
        raise InputError(f"⟦transition_columns⟧ is the str {names!r}", hint="Give a list of column names.")
    if not isinstance(names, Iterable):
        raise InputError(f"⟦transition_columns⟧ is {names!r}", hint="Give a list of column names.")
    return check_names(schema, {name if isinstance(name, str) else repr(name) for name in names}, "transition_columns")


def check_names(schema: Schema, wanted: set[str], parameter: str) -> set[str]:
    """The same names of columns, "*" for the attributes; an error for one that a parameter names and no column has."""
    known = {column.name for column in schema.columns} | ({"*"} if schema.n_attributes else set())
    for name in sorted(wanted - known):
        hint = f"Columns: {', '.join(sorted(known)[:10])}."
        raise InputError(f"is in ⟦{parameter}⟧ and not in the data", hint=hint, column=name)
    return wanted


def named_weights(schema: Schema, layout: ChainLayout, weights: FloatArray) -> list[tuple[str, Label, float]]:
    """(feature, label, weight) of the node weights, the largest first."""
    names = row_names(schema)
    nodes = layout.split(weights)[0]
    rows, labels = layout.nodes.slot_rows(), layout.nodes.slot_label
    order = np.argsort(-nodes, kind="stable")
    return [(names[rows[j]], schema.labels[labels[j]], float(nodes[j])) for j in order]


def weights_of(
    label: Label | None, schema: Schema, weights: list[tuple[str, Label, float]]
) -> list[tuple[str, Label, float]]:
    """Of entries (what is seen, label, weight) those of one label; all where it is None."""
    if label is None:
        return weights
    if label not in schema.labels:
        known = ", ".join(map(repr, schema.labels[:10])) + (", …" if len(schema.labels) > 10 else "")
        raise InputError(f"the label {label!r} is not one of those seen in training", hint=f"Known: {known}.")
    return [entry for entry in weights if entry[1] == label]


def carry_over(
    old_schema: Schema, old: ChainLayout, old_weights: FloatArray, new_schema: Schema, new: ChainLayout
) -> FloatArray:
    """Starting weights of a new chain: those of an old one, matched by the names of features and labels."""
    start: FloatArray = np.zeros(new.n_weights)
    K = old.n_labels
    label_map = np.array([old_schema.label_codes.get(label, -1) for label in new_schema.labels], dtype=INDEX)
    old_nodes, old_arcs, old_pairs = old.split(old_weights)
    new_nodes, new_arcs, new_pairs = new.split(start)
    row_map = _match(row_names(old_schema), row_names(new_schema))
    new_nodes[:] = _carry(old.nodes, old_nodes, new.nodes, row_map, label_map)
    if old.histories is not None and new.histories is not None:
        new_arcs[:] = carry_histories(old_schema, old.histories, old_arcs, new_schema, new.histories)
    elif old.histories is None and new.histories is None:
        table: FloatArray = np.zeros((K + 1, K + 1))  # the last row and column: labels not known
        table[old.arc_from, old.arc_to] = old_arcs
        new_arcs[:] = table[label_map[new.arc_from], label_map[new.arc_to]]
    if old.pairs is not None and new.pairs is not None:
        row_map = _match(row_names(old_schema, set(old.pair_columns)), row_names(new_schema, set(new.pair_columns)))
        known = (label_map[:, None] >= 0) & (label_map >= 0)
        pair_map = np.where(known, label_map[:, None] * K + label_map, -1).ravel()  # to·K + from
        new_pairs[:] = _carry(old.pairs, old_pairs, new.pairs, row_map, pair_map)
    return start


def _match(old: list[str], new: list[str]) -> IndexArray:
    """The place of each new name among the old ones, −1 where it is not there."""
    places = {name: row for row, name in enumerate(old)}
    return np.array([places.get(name, -1) for name in new], dtype=INDEX)


def _carry(
    old: WeightIndex, weights: FloatArray, new: WeightIndex, row_map: IndexArray, output_map: IndexArray
) -> FloatArray:
    """The weights of the new slots: of the old slot with the same row and output, 0 where there is none."""
    keys = old.slot_rows() * old.n_outputs + old.slot_label
    order = np.argsort(keys, kind="stable")
    rows, outputs = row_map[new.slot_rows()], output_map[new.slot_label]
    wanted = rows * old.n_outputs + outputs
    place = np.searchsorted(keys[order], wanted)
    place[place == len(keys)] = 0
    slots = order[place] if len(keys) else place
    same = (rows >= 0) & (outputs >= 0) & (keys[slots] == wanted if len(keys) else False)
    carried: FloatArray = np.zeros(new.n_weights)
    carried[same] = weights[slots[same]]
    return carried
