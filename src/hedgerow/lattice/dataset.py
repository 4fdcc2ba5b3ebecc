"""Many graphs as flat arrays, with their labels as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from hedgerow.data.dataset import Label
from hedgerow.data.labels import check_largest
from hedgerow.errors import InputError
from hedgerow.lattice.graphs import Graph, Topology
from hedgerow.legend import CODE, INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class GraphDataset:
    """S graphs, whose nodes and edges stand one graph after another.

    topologies, shapes : of each graph
    node_slices, edge_slices : where the nodes and the edges of each graph stand
    nodes : (N, F) features
    edges : (M, E) features, given ones and then |h_i − h_j| where these were asked for
    directions : int32[M]
    labels : int32[N], UNLABELLED where not known; None where there are none
    weights : float64[S], or None
    node_weights : float64[N], or None; there are not both
    """

    topologies: tuple[Topology, ...]
    shapes: tuple[tuple[int, ...], ...]
    node_slices: tuple[slice, ...]
    edge_slices: tuple[slice, ...]
    nodes: FloatArray
    edges: FloatArray
    directions: CodeArray
    labels: CodeArray | None = None
    weights: FloatArray | None = None
    node_weights: FloatArray | None = None

    @property
    def sizes(self) -> IndexArray:
        """(S,): the nodes of each graph."""
        return np.array([top.n_nodes for top in self.topologies], dtype=INDEX)

    def spread_weights(self) -> tuple[FloatArray, FloatArray] | None:
        """What each node (N,) and each edge (M,) counts: as its graph does, or an edge as its two nodes on average."""
        if self.weights is not None:
            n_edges = [top.n_edges for top in self.topologies]
            return np.repeat(self.weights, self.sizes), np.repeat(self.weights, n_edges)
        if self.node_weights is None:
            return None
        pairs = [self.node_weights[rows][top.ends] for rows, top in zip(self.node_slices, self.topologies)]
        return self.node_weights, np.concatenate([pair.mean(axis=1) for pair in pairs])

    def cut(self, flat: AnyArray) -> list[AnyArray]:
        """What belongs to all nodes (N, …), graph by graph, each in the shape of its image."""
        return [flat[rows].reshape(*shape, *flat.shape[1:]) for rows, shape in zip(self.node_slices, self.shapes)]

    def require_numbers(self) -> None:
        """Refuse missing values, which linear scores cannot read."""
        missing: BoolArray = np.logical_or.reduce(np.isnan(self.nodes), axis=1)
        if missing.any():
            place = int(np.flatnonzero(missing)[0])
            i = next(i for i, rows in enumerate(self.node_slices) if place < rows.stop)
            where = np.unravel_index(place - self.node_slices[i].start, self.shapes[i])
            what = f"item {i}: the features at {tuple(map(int, where))} have a missing value (NaN)"
            raise InputError(what, hint="Fill it in, or use TreeLatticeCRF.")


def make_dataset(graphs: list[Graph], *, differences: bool) -> GraphDataset:
    """Flat arrays of graphs; with `differences` |h_i − h_j| of the node features become edge features."""
    edges = []
    for item in graphs:
        parts = [item.edge_features]
        if differences:
            tail, head = item.topology.ends.T
            parts.append(np.abs(item.node_features[tail] - item.node_features[head]))
        edges.append(np.concatenate(parts, axis=1))
    return GraphDataset(
        tuple(item.topology for item in graphs),
        tuple(item.shape for item in graphs),
        _slices([len(item.node_features) for item in graphs]),
        _slices([len(item.edge_features) for item in graphs]),
        np.concatenate([item.node_features for item in graphs]),
        np.concatenate(edges),
        np.concatenate([item.directions for item in graphs]),
    )


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = [0, *accumulate(sizes)]
    return tuple(slice(begin, end) for begin, end in pairwise(ends))


# ------------------------------------------------------------------------------------------------ labels


def read_masks(y: Any, graphs: list[Graph], *, name: str = "y") -> list[AnyArray]:
    """The labels of each graph as a flat array; None, in an array of objects, where there is none."""
    if y is None:
        raise InputError(f"{name} is missing", hint="Give the labels of every item, shaped like it.")
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InputError(f"{name} is a {type(y).__name__}", hint="Give a list of arrays of labels.")
    masks = list(y)
    if len(masks) != len(graphs):
        raise InputError(f"X has {len(graphs)} items and {name} has {len(masks)}")
    return [_read_mask(mask, item, i, name) for i, (mask, item) in enumerate(zip(masks, graphs))]


def _read_mask(mask: Any, item: Graph, i: int, name: str) -> AnyArray:
    try:
        array = mask.astype(object).filled(None) if np.ma.is_masked(mask) else np.asarray(mask)
    except ValueError as error:
        raise InputError(f"item {i}: {name} is not an array of labels ({error})") from error
    if array.shape not in (item.shape, (len(item.node_features),)):
        sizes = ["×".join(map(str, shape)) or "one value" for shape in (item.shape, array.shape)]
        raise InputError(f"item {i}: X has {sizes[0]} nodes and {name} has {sizes[1]} labels")
    if array.dtype == np.bool_:
        array = array.astype(INDEX)
    if array.dtype.kind not in "iuUO":
        hint = "Labels are whole numbers or strings; convert with mask.astype(int)."
        raise InputError(f"item {i}: {name} is an array of {array.dtype}", hint=hint)
    return array.ravel()


def learn_labels(masks: list[AnyArray], *, unlabelled: Any) -> tuple[Label, ...]:
    """The distinct labels, sorted."""
    labels: set[Any] = set().union(*labels_of_items(masks, unlabelled=unlabelled))
    if not labels:
        raise InputError("y has no label at all", hint="At least one node must be labelled.")
    if len({type(label) for label in labels}) > 1:
        raise InputError("y has both whole numbers and strings", hint="Use one type for all labels.")
    return tuple(sorted(labels))


def labels_of_items(masks: list[AnyArray], *, unlabelled: Any) -> list[set[Any]]:
    """The distinct labels of each item; what stands for no label is none of them."""
    return [_distinct(mask, i) - {None, _plain(unlabelled)} for i, mask in enumerate(masks)]


def encode_masks(masks: list[AnyArray], labels: tuple[Label, ...], *, unlabelled: Any, name: str = "y") -> CodeArray:
    """Codes of all labels, flat (N,); an error for one that training never saw."""
    codes: dict[Any, int] = {label: k for k, label in enumerate(labels)}
    codes[None] = codes[_plain(unlabelled)] = UNLABELLED
    parts: list[CodeArray] = [np.empty(0, dtype=CODE)]
    for i, mask in enumerate(masks):
        unknown = sorted(_distinct(mask, i) - codes.keys(), key=str)
        if unknown:
            shown = ", ".join(map(repr, labels[:10])) + (", …" if len(labels) > 10 else "")
            hint = f"Known labels: {shown}. A value that stands for no label is given as ⟦unlabelled=⟧."
            what = f"item {i}: {name} has the label {unknown[0]!r}, which was not seen in training"
            raise InputError(what, hint=hint)
        if mask.dtype == object:
            parts.append(np.array([codes[_plain(value)] for value in mask], dtype=CODE))
        else:
            values, where = np.unique(mask, return_inverse=True)
            parts.append(np.array([codes[value] for value in values.tolist()], dtype=CODE)[where])
    return np.concatenate(parts)


def _distinct(mask: AnyArray, i: int) -> set[Any]:
    if mask.dtype != object:
        return set(np.unique(mask).tolist())
    labels = set()
    for value in mask:
        plain = _plain(value)
        if plain is not None and type(plain) not in (int, str):
            raise InputError(f"item {i}: {value!r} is not a label", hint="Labels are whole numbers or strings.")
        labels.add(plain)
    return labels


def _plain(value: Any) -> Any:
    """A label as str, int or None."""
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, bool) else value


# ------------------------------------------------------------------------------------------------ weights


Weights = FloatArray | list[FloatArray] | None  # of the items (S,), or of the nodes of each item, flat


def read_weights(sample_weight: Any, graphs: list[Graph]) -> Weights:
    """The weights of the items or, where they are arrays in the shapes of the items, of the nodes of each."""
    if sample_weight is None:
        return None
    hint = "Give one number per item, or one array per item with one number per node."
    try:
        parts = [np.asarray(part, dtype=np.float64) for part in sample_weight]
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight does not hold numbers ({error})", hint=hint) from error
    if len(parts) != len(graphs):
        raise InputError(f"sample_weight has {len(parts)} entries, and there are {len(graphs)} items", hint=hint)
    by_item = all(part.ndim == 0 for part in parts)
    for i, (part, item) in enumerate(zip(parts, graphs)):
        if not by_item and part.shape not in (item.shape, (len(item.node_features),)):
            raise InputError(f"item {i} has the shape {item.shape}, and its weights {part.shape}", hint=hint)
    flat = np.concatenate([part.ravel() for part in parts])
    if not np.isfinite(flat).all() or (flat < 0).any() or not flat.any():
        raise InputError("sample_weight has a number that cannot be a weight, or only zeros", hint="Give numbers ≥ 0.")
    check_largest(flat)
    return flat if by_item else [part.ravel() for part in parts]


def weights_of(weights: Weights, items: list[int]) -> Weights:
    """The weights of some items."""
    return [weights[i] for i in items] if isinstance(weights, list) else None if weights is None else weights[items]


def with_labels(dataset: GraphDataset, labels: CodeArray, weights: Weights = None) -> GraphDataset:
    """The graphs with codes of labels (N,) and weights."""
    if isinstance(weights, list):
        return replace(dataset, labels=labels, node_weights=np.concatenate(weights))
    return replace(dataset, labels=labels, weights=weights)
