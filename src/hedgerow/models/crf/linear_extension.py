"""A layout that grows: new features and labels get weights, and the old weights find their new places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Column, Dataset, Label, Schema
from hedgerow.estimators.constraints import legal_space
from hedgerow.legend import CODE, INDEX, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import Streams, WeightIndex
from hedgerow.models.crf.linear_layout import lay_out


@dataclass(frozen=True)
class Moved:
    """How the weights of an old layout pass to a new one: they keep their order, with new ones in between.

    before : int64[n], rising: new weight i stands before the old weight before[i], or at the end
    """

    before: IndexArray

    def __call__(self, vector: FloatArray, fill: float = 0.0) -> FloatArray:
        """A vector that is laid out as the old weights, laid out as the new ones; new weights get `fill`."""
        return np.insert(vector, self.before, fill)


def extend_layout(
    old_schema: Schema, old: ChainLayout, dataset: Dataset, space: StateSpace, *, transitions: str, pairs: str
) -> tuple[ChainLayout, Moved]:
    """The layout that has the weights of an old one and those that new data asks for.

    Every pair of a feature and a label that the data shows gets a weight: a threshold on how often has no meaning where
    the data before is not at hand. The time is linear in the number of weights and the size of the data.

    Parameters
    ----------
    old_schema, old : the layout so far and its schema
    dataset : new sequences, encoded by `extend(old_schema, …)`
    space : the legal moves between the labels of the dataset, as `extend_space` gives them
    transitions, pairs : as in LinearCRF. The columns whose features score label pairs stay those of the old layout.
    """
    columns = None if old.pairs is None else old.pair_columns
    fresh, _ = lay_out(
        dataset, space, transitions=transitions, pairs=pairs, min_frequency=0.0, transition_columns=columns
    )
    labels = label_map(old_schema, dataset.schema)
    schemas, complete = (old_schema, dataset.schema), pairs == "all"
    nodes, of_nodes = _merge(schemas, old.nodes, fresh.nodes, labels, complete=complete)
    arc_from, arc_to, of_arcs = _merge_arcs(old, fresh, labels)
    before = [of_nodes, of_arcs + old.nodes.n_weights]
    label_pairs = None
    if old.pairs is not None and fresh.pairs is not None:
        outputs = (labels[:, None] * fresh.n_labels + labels).ravel()  # to·K + from
        label_pairs, of_pairs = _merge(schemas, old.pairs, fresh.pairs, outputs, complete=complete)
        before.append(of_pairs + old.n_weights - old.pairs.n_weights)
    layout = ChainLayout(nodes, arc_from, arc_to, space, label_pairs, old.pair_columns)
    return layout, Moved(np.concatenate(before))


def extend_space(
    old_schema: Schema,
    old: StateSpace,
    dataset: Dataset,
    constraints: str | Iterable[tuple[Label, Label]] | None,
    *,
    forbid_unseen: bool,
) -> StateSpace:
    """The legal moves between the labels of new data: what the constraints leave.

    Where unseen transitions are forbidden, those seen before and those of the new data are legal.
    """
    labels = label_map(old_schema, dataset.schema)
    seen = np.zeros((dataset.n_labels, dataset.n_labels), dtype=bool)
    seen[np.ix_(labels, labels)] = old.transitions
    return legal_space(dataset, constraints, forbid_unseen=forbid_unseen, seen=seen)


def label_map(old: Schema, new: Schema) -> IndexArray:
    """int64[K]: the code that each label of an old schema has in one that extends it. It rises: labels are sorted."""
    return np.array([new.label_codes[label] for label in old.labels], dtype=INDEX)


def _merge(
    schemas: tuple[Schema, Schema], old: WeightIndex, fresh: WeightIndex, output_map: IndexArray, *, complete: bool
) -> tuple[WeightIndex, IndexArray]:
    """The slots of an old index and of that of new data in one; and the old slot before which each new one stands.

    Slots are sorted by row and output, and neither changes its order from the old index to the new one.
    """
    M = fresh.n_outputs
    rows, sizes = _row_map(schemas, old.streams, fresh.streams), np.diff(old.row_ptr)
    outputs = output_map.astype(CODE)[old.slot_label]
    keys = np.repeat(rows * M, sizes) + outputs
    wanted = fresh.slot_rows() * M + fresh.slot_label
    if complete and len(output_map) < M:  # the features seen before get weights for the new outputs
        added = np.setdiff1d(np.arange(M, dtype=INDEX), output_map)
        wanted = np.union1d(wanted, (rows[sizes > 0][:, None] * M + added).ravel())
    before = np.searchsorted(keys, wanted)
    is_new = np.append(keys, -1)[before] != wanted
    before, wanted = before[is_new], wanted[is_new]
    new_sizes = np.bincount(wanted // M, minlength=fresh.streams.n_rows)
    new_sizes[rows] += sizes
    row_ptr = np.concatenate([np.zeros(1, dtype=INDEX), np.cumsum(new_sizes, dtype=INDEX)])
    return WeightIndex(fresh.streams, M, row_ptr, np.insert(outputs, before, wanted % M)), before


def _row_map(schemas: tuple[Schema, Schema], old: Streams, new: Streams) -> IndexArray:
    """int64[R]: the row that each row of an old index has in a new one. Codes are the same, the runs have moved."""
    begins = {key: first for key, first, _ in _runs(schemas[1], new)}
    runs = [begins[key] + np.arange(n_rows, dtype=INDEX) for key, _, n_rows in _runs(schemas[0], old)]
    return np.concatenate([np.empty(0, dtype=INDEX), *runs])


def _runs(schema: Schema, streams: Streams) -> list[tuple[tuple[str, str, int], int, int]]:
    """What each stream reads (group, column, offset), its first row and its number of rows, in order."""

    def reads(group: str, columns: list[Column], column: IndexArray, shift: IndexArray) -> list[tuple[str, str, int]]:
        return [(group, columns[c].name, o) for c, o in zip(column.tolist(), shift.tolist())]

    codes, numbers = schema.of("categorical", "boolean"), schema.of("numeric")
    constants = schema.of("categorical", "boolean", constant=True)
    constant_numbers = schema.of("numeric", constant=True)
    keys = [
        *reads("codes", codes, streams.column, streams.shift),
        *reads("numbers", numbers, streams.num_column, streams.num_shift),
        *reads("constants", constants, streams.seq_column, np.zeros_like(streams.seq_column)),
        *reads("constant numbers", constant_numbers, streams.seq_num_column, np.zeros_like(streams.seq_num_column)),
        *(("attributes", "*", o) for o in streams.attr_shift.tolist()),
    ]
    bases = (streams.base, streams.num_base, streams.seq_base, streams.seq_num_base, streams.attr_base)
    begins = np.concatenate(bases)
    sizes = np.diff(begins, append=streams.n_rows)
    return list(zip(keys, begins.tolist(), sizes.tolist()))


def _merge_arcs(old: ChainLayout, fresh: ChainLayout, labels: IndexArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """The transitions of both layouts, (A,) and (A,), and the old one before which each new one stands."""
    K = fresh.n_labels
    keys, wanted = labels[old.arc_from] * K + labels[old.arc_to], fresh.arc_from * K + fresh.arc_to
    wanted = np.setdiff1d(wanted, keys)
    before = np.searchsorted(keys, wanted)
    return *np.divmod(np.insert(keys, before, wanted), K), before
