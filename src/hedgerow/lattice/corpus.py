"""Many graphs as flat arrays plus offsets, with their labels as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.data.dataset import Label
from hedgerow.errors import InputError
from hedgerow.lattice.graphs import Graph, as_graph
from hedgerow.lattice.inference.topology import Topology
from hedgerow.legend import CODE, INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Corpus:
    """S graphs. Nodes node_offsets[i] … node_offsets[i+1]−1 are those of graph i, and edges likewise.

    topologies, shapes : of each graph
    node_offsets, edge_offsets : int64[S+1]
    nodes : (N, F) features
    edges : (M, E) features, given ones and then |h_i − h_j| where these were asked for
    directions : int32[M]
    labels : int32[N], UNLABELLED where not known; None where there are none
    weights : float64[S], or None
    node_weights : float64[N], or None; there are not both
    """

    topologies: tuple[Topology, ...]
    shapes: tuple[tuple[int, ...], ...]
    node_offsets: IndexArray
    edge_offsets: IndexArray
    nodes: FloatArray
    edges: FloatArray
    directions: CodeArray
    labels: CodeArray | None = None
    weights: FloatArray | None = None
    node_weights: FloatArray | None = None

    @property
    def n_graphs(self) -> int:
        return len(self.topologies)

    def nodes_of(self, i: int) -> slice:
        return slice(int(self.node_offsets[i]), int(self.node_offsets[i + 1]))

    def edges_of(self, i: int) -> slice:
        return slice(int(self.edge_offsets[i]), int(self.edge_offsets[i + 1]))

    def weights_of(self, i: int) -> tuple[FloatArray, ...]:
        """The weights of the nodes of graph i, as further arguments of an objective: none where nodes have none."""
        return () if self.node_weights is None else (self.node_weights[self.nodes_of(i)],)

    def spread_weights(self) -> tuple[FloatArray, FloatArray] | None:
        """What each node (N,) and each edge (M,) counts: as its graph does, or an edge as its two nodes on average."""
        if self.weights is not None:
            sizes = np.diff(self.node_offsets), np.diff(self.edge_offsets)
            return np.repeat(self.weights, sizes[0]), np.repeat(self.weights, sizes[1])
        if self.node_weights is None:
            return None
        own = [self.weights_of(i)[0][top.ends].mean(axis=1) for i, top in enumerate(self.topologies)]
        return self.node_weights, np.concatenate(own)

    def cut(self, flat: AnyArray) -> list[AnyArray]:
        """What belongs to all nodes (N, …), graph by graph, each in the shape of its image."""
        return [flat[self.nodes_of(i)].reshape(*self.shapes[i], *flat.shape[1:]) for i in range(self.n_graphs)]


def read_graphs(X: Any, *, neighbours: int | None, ndim: int) -> list[Graph]:
    """The items of X as graphs that go together: with as many features each."""
    hint = "Give a list of images, of graphs, or of tuples (node features, edges, edge features)."
    if isinstance(X, (Graph, str, bytes, Mapping, tuple)) or not isinstance(X, Iterable):
        what = "one graph" if isinstance(X, Graph) else f"a {type(X).__name__}"
        raise InputError(f"X is {what}, not a list", hint=hint)
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim < ndim + 1:
        what = f"X is one array of the shape {X.shape}"
        raise InputError(what, hint=f"{hint} One image is a list of one: [image].")
    graphs = [as_graph(item, i, neighbours=neighbours, ndim=ndim) for i, item in enumerate(X)]
    for i, own in enumerate(graphs):
        for name in ("node_features", "edge_features"):
            here, first = getattr(own, name).shape[1], getattr(graphs[0], name).shape[1]
            if here != first:
                word = "channels" if len(own.shape) > 1 and name == "node_features" else name.replace("_", " ")
                raise InputError(f"item {i} has {here} {word}, and item 0 has {first}", hint="All must have as many.")
    return graphs


def make_corpus(graphs: list[Graph], *, differences: bool) -> Corpus:
    """Flat arrays of graphs; with `differences` |h_i − h_j| of the node features become edge features."""
    nodes = np.concatenate([own.node_features for own in graphs])
    edges = []
    for own in graphs:
        parts = [own.edge_features]
        if differences:
            tail, head = own.topology.ends.T
            parts.append(np.abs(own.node_features[tail] - own.node_features[head]))
        edges.append(np.concatenate(parts, axis=1))
    return Corpus(
        tuple(own.topology for own in graphs),
        tuple(own.shape for own in graphs),
        _ends([own.n_nodes for own in graphs]),
        _ends([own.n_edges for own in graphs]),
        nodes,
        np.concatenate(edges),
        np.concatenate([own.directions for own in graphs]),
    )


def _ends(sizes: list[int]) -> IndexArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX)


# ------------------------------------------------------------------------------------------------ labels


def read_masks(y: Any, graphs: list[Graph], *, unlabelled: Any, name: str = "y") -> list[AnyArray]:
    """The labels of each graph as a flat array, None (in an array of objects) or `unlabelled` where there is none."""
    if y is None:
        raise InputError(f"{name} is missing", hint="Give the labels of every item, shaped like it.")
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InputError(f"{name} is a {type(y).__name__}", hint="Give a list of arrays of labels.")
    masks = list(y)
    if len(masks) != len(graphs):
        raise InputError(f"X has {len(graphs)} items and {name} has {len(masks)}")
    return [_read_mask(mask, own, i, name) for i, (mask, own) in enumerate(zip(masks, graphs))]


def _read_mask(mask: Any, own: Graph, i: int, name: str) -> AnyArray:
    try:
        array = np.asarray(mask)
    except ValueError as error:
        raise InputError(f"item {i}: {name} is not an array of labels ({error})") from error
    if array.shape not in (own.shape, (own.n_nodes,)):
        sizes = ["×".join(map(str, shape)) or "one value" for shape in (own.shape, array.shape)]
        raise InputError(f"item {i}: X has {sizes[0]} nodes and {name} has {sizes[1]} labels")
    if array.dtype == np.bool_:
        array = array.astype(INDEX)
    if array.dtype.kind not in "iuUO":
        hint = "Labels are whole numbers or strings; convert with mask.astype(int)."
        raise InputError(f"item {i}: {name} is an array of {array.dtype}", hint=hint)
    return array.ravel()


def learn_labels(masks: list[AnyArray], *, unlabelled: Any) -> tuple[Label, ...]:
    """The distinct labels, sorted."""
    found: set[Any] = set().union(*labels_of_items(masks, unlabelled=unlabelled))
    if not found:
        raise InputError("y has no label at all", hint="At least one node must be labelled.")
    if len({type(label) for label in found}) > 1:
        raise InputError("y has both whole numbers and strings", hint="Use one type for all labels.")
    return tuple(sorted(found))


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
            raise InputError(
                f"item {i}: {name} has the label {unknown[0]!r}, which was not seen in training", hint=hint
            )
        if mask.dtype == object:
            parts.append(np.array([codes[_plain(value)] for value in mask], dtype=CODE))
        else:
            values, where = np.unique(mask, return_inverse=True)
            parts.append(np.array([codes[value] for value in values.tolist()], dtype=CODE)[where])
    return np.concatenate(parts)


def _distinct(mask: AnyArray, i: int) -> set[Any]:
    if mask.dtype != object:
        return set(np.unique(mask).tolist())
    found = set()
    for value in mask:
        plain = _plain(value)
        if plain is not None and type(plain) not in (int, str):
            raise InputError(f"item {i}: {value!r} is not a label", hint="Labels are whole numbers or strings.")
        found.add(plain)
    return found


def _plain(value: Any) -> Any:
    """A label as str, int or None."""
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, bool) else value


# ------------------------------------------------------------------------------------------------ weights and parts


Weights = FloatArray | list[FloatArray] | None  # of the items (S,), or of the nodes of each item, flat


def read_weights(sample_weight: Any, graphs: list[Graph]) -> Weights:
    """The weights of the items or, where they are arrays in the shapes of the items, of the nodes of each."""
    if sample_weight is None:
        return None
    hint = "Give a number an item, or an array an item with a number for each of its nodes."
    try:
        parts = [np.asarray(own, dtype=np.float64) for own in sample_weight]
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight does not hold numbers ({error})", hint=hint) from error
    if len(parts) != len(graphs):
        raise InputError(f"sample_weight has {len(parts)} entries, and there are {len(graphs)} items", hint=hint)
    by_item = all(own.ndim == 0 for own in parts)
    for i, (own, item) in enumerate(zip(parts, graphs)):
        if not by_item and own.shape not in (item.shape, (item.n_nodes,)):
            raise InputError(f"item {i} has the shape {item.shape}, and its weights {own.shape}", hint=hint)
    flat = np.concatenate([own.ravel() for own in parts])
    if not np.isfinite(flat).all() or (flat < 0).any() or not flat.any():
        raise InputError("sample_weight has a number that is no weight, or all are 0", hint="Give numbers ≥ 0.")
    return flat if by_item else [own.ravel() for own in parts]


def with_labels(corpus: Corpus, labels: CodeArray, weights: Weights = None) -> Corpus:
    """The corpus with labels (N,) and weights."""
    if isinstance(weights, list):
        return replace(corpus, labels=labels, node_weights=np.concatenate(weights))
    return replace(corpus, labels=labels, weights=weights)


def check_known(nodes: FloatArray, corpus: Corpus) -> None:
    """Refuse missing values, which linear scores cannot read."""
    missing: BoolArray = np.logical_or.reduce(np.isnan(nodes), axis=1)
    if missing.any():
        place = int(np.flatnonzero(missing)[0])
        i = int(np.searchsorted(corpus.node_offsets, place, side="right")) - 1
        where = np.unravel_index(place - int(corpus.node_offsets[i]), corpus.shapes[i])
        what = f"item {i}: the features at {tuple(map(int, where))} have a missing value (NaN)"
        raise InputError(what, hint="Fill it in, or use TreeLatticeCRF.")
