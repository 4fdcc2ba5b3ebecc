"""Graphs: which nodes are joined, laid out for kernels, and items with features, of which an image is one.

An item is checked when it is made, so that kernels need not check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.data.sequences import unmasked
from hedgerow.errors import InputError
from hedgerow.lattice import kernels
from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.lattice.inference.chains import Cover

MAX_NODES = 2**30  # half-edges are counted in 32 bits
MAX_DIRECTIONS = 1000
NEIGHBOURS = {1: {2: 1}, 2: {4: 1, 8: 2}, 3: {6: 1, 26: 3}}  # axes of the grid: {neighbours: steps that one may take}


@dataclass(frozen=True, eq=False)
class Topology:
    """A graph without its features: edge e joins ends[e, 0], its tail, and ends[e, 1], its head.

    Half-edge 2e leaves the tail of e and 2e+1 its head. `out[ptr[i]:ptr[i+1]]` are those that leave node i, first those
    towards nodes before i in `order`, then, from middle[i] on, those towards nodes after it.

    n_nodes ; ends int32[M, 2] ; ptr int64[n+1] ; out int32[2M] ; middle int64[n] ; order int32[n] ; n_components
    """

    n_nodes: int
    ends: CodeArray
    ptr: IndexArray
    out: CodeArray
    middle: IndexArray
    order: CodeArray
    n_components: int

    @classmethod
    def of(cls, n_nodes: int, ends: AnyArray) -> Topology:
        """Lay out a graph with these edges (M, 2), which are sound: see `Graph`."""
        ends = np.array(ends, dtype=CODE, order="C").reshape(-1, 2)
        order: CodeArray = np.arange(n_nodes, dtype=CODE)
        ptr, out, middle = _half_edges(n_nodes, ends, order)
        breadth_first: CodeArray = np.empty(n_nodes, dtype=CODE)
        n_components = kernels.order.breadth_first(ends, ptr, out, breadth_first, np.zeros(n_nodes, dtype=np.uint8))
        if len(ends) == n_nodes - n_components:  # no circle: in this order, one sweep back and one forth are exact
            order = breadth_first
            ptr, out, middle = _half_edges(n_nodes, ends, order)
        for array in (ends, ptr, out, middle, order):
            array.flags.writeable = False
        return cls(n_nodes, ends, ptr, out, middle, order, int(n_components))

    @property
    def n_edges(self) -> int:
        return len(self.ends)

    @cached_property
    def is_acyclic(self) -> bool:
        """Whether belief propagation is exact here."""
        return self.n_edges == self.n_nodes - self.n_components

    @cached_property
    def chains(self) -> Cover:
        """What tree-reweighting needs: an order of the nodes, and a weight for each edge."""
        from hedgerow.lattice.inference.chains import cover

        return cover(self)

    def in_order(self, order: CodeArray) -> Topology:
        """The same graph with its nodes in another order."""
        ptr, out, middle = _half_edges(self.n_nodes, self.ends, order)
        for array in (ptr, out, middle, order):
            array.flags.writeable = False
        return replace(self, ptr=ptr, out=out, middle=middle, order=order)


def _half_edges(n_nodes: int, ends: CodeArray, order: CodeArray) -> tuple[IndexArray, CodeArray, IndexArray]:
    """ptr, out, middle of a Topology."""
    rank: CodeArray = np.empty(n_nodes, dtype=CODE)
    rank[order] = np.arange(n_nodes, dtype=CODE)
    ptr: IndexArray = np.empty(n_nodes + 1, dtype=INDEX)
    middle: IndexArray = np.empty(n_nodes, dtype=INDEX)
    out, work = np.empty((2, 2 * len(ends)), dtype=CODE)
    kernels.order.half_edges(ends, order, rank, ptr, out, middle, work)
    return ptr, out, middle


@lru_cache(maxsize=64)
def grid_topology(shape: tuple[int, ...], neighbours: int) -> tuple[Topology, CodeArray]:
    """The graph of a grid, and the direction of each edge: 0, 1, … in the order of `grid_directions`."""
    steps = grid_directions(len(shape), neighbours)
    inside = np.zeros((*shape, len(steps)), dtype=bool)
    for number, step in enumerate(steps):
        part = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(step, shape))
        inside[..., number][part] = True
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    reach: IndexArray = np.array([sum(s * width for s, width in zip(step, strides)) for step in steps], dtype=INDEX)
    # By node, and for a node by the number of its neighbour: messages of one node lie together.
    tail, number_of = np.nonzero(inside.reshape(-1, len(steps)))
    direction = number_of.astype(CODE)
    direction.flags.writeable = False
    return Topology.of(int(np.prod(shape)), np.column_stack([tail, tail + reach[number_of]])), direction


def grid_directions(n_axes: int, neighbours: int) -> list[tuple[int, ...]]:
    """The steps along the axes from a node to its neighbours after it: (0, 1) is to the right, (1, 0) is down."""
    if n_axes not in NEIGHBOURS or neighbours not in NEIGHBOURS[n_axes]:
        choices = " or ".join(map(str, NEIGHBOURS.get(n_axes, {})))
        hint = f"Choose {choices}." if choices else "A grid has one to three axes."
        raise InputError(f"a grid of {n_axes} axes has no {neighbours!r} neighbours", hint=hint)
    n_steps = NEIGHBOURS[n_axes][neighbours]
    steps = [step for step in product((-1, 0, 1), repeat=n_axes) if 0 < sum(map(abs, step)) <= n_steps]
    return [step for step in steps if step > (0,) * n_axes]


# ------------------------------------------------------------------------------------------------ items


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes with features, and edges that join two of them; made by `graph` or `grid`.

    topology : which nodes are joined
    node_features : (n, F)
    edge_features : (M, E), E may be 0
    directions : int32[M], which way an edge goes (in a grid: right, down …); all 0 where edges have no direction
    shape : of the image, and so of the labels; (n,) where there is none
    """

    topology: Topology
    node_features: FloatArray
    edge_features: FloatArray
    directions: CodeArray
    shape: tuple[int, ...]

    @property
    def n_nodes(self) -> int:
        return self.topology.n_nodes

    @property
    def n_edges(self) -> int:
        return self.topology.n_edges

    def __repr__(self) -> str:
        size = "×".join(map(str, self.shape))
        return f"Graph({size} nodes, {self.n_edges} edges, {self.node_features.shape[1]} features)"


def graph(node_features: Any, edges: Any, edge_features: Any = None, *, directions: Any = None) -> Graph:
    """A graph from arrays.

    Parameters
    ----------
    node_features : (n, F), or (n,) for one feature; NaN is a missing value, which only trees can read
    edges : (M, 2), the numbers of the nodes that each edge joins; each pair stands once, in either direction
    edge_features : (M, E) or (M,), optional
    directions : (M,) whole numbers from 0, optional: kinds of edges, which may have weights of their own
    """
    nodes = _features(node_features, "node_features")
    n = len(nodes)
    if n == 0:
        raise InputError("the graph has no nodes", hint="Leave an empty graph out.")
    ends = _check_edges(edges, n)
    topology = Topology.of(n, ends)
    features = _edge_features(edge_features, topology)
    ways = np.zeros(len(ends), dtype=CODE) if directions is None else _check_directions(directions, len(ends))
    return Graph(topology, nodes, features, ways, (n,))


def grid(image: Any, *, neighbours: int | None = None, ndim: int = 2, edge_features: Any = None) -> Graph:
    """An image as a graph: a node for each pixel, and an edge between neighbours.

    Parameters
    ----------
    image : (H, W) or (H, W, C) with C channels; with ndim=3 a volume (D, H, W) or (D, H, W, C)
    neighbours : 4 (the default) or 8 in an image; 6 (the default) or 26 in a volume
    ndim : 2 for an image, 3 for a volume
    edge_features : (M, E), optional, in the order of `grid(image).topology.ends`
    """
    if ndim not in (2, 3):
        raise InputError(f"⟦ndim⟧ is {ndim!r}", hint="Give 2 for images, 3 for volumes.")
    pixels = _numbers(image, "the image")
    if pixels.ndim == ndim:
        pixels = pixels[..., None]
    if pixels.ndim != ndim + 1:
        names = "(H, W) or (H, W, channels)" if ndim == 2 else "(D, H, W) or (D, H, W, channels)"
        raise InputError(f"the image has the shape {pixels.shape}", hint=f"With ⟦ndim={ndim}⟧ it should be {names}.")
    shape = pixels.shape[:ndim]
    if 0 in pixels.shape:
        raise InputError(f"the image has no pixels: its shape is {pixels.shape}", hint="Leave an empty image out.")
    features = np.ascontiguousarray(pixels.reshape(-1, pixels.shape[-1]))
    _check_finite(features, "the image")
    topology, directions = grid_topology(shape, min(NEIGHBOURS[ndim]) if neighbours is None else neighbours)
    return Graph(topology, features, _edge_features(edge_features, topology), directions, shape)


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        array = np.asarray(unmasked(values))
        if array.dtype.kind not in "biuf":
            array = array.astype(np.float64) if array.dtype == object else array
        if array.dtype.kind not in "biuf":
            raise TypeError(f"dtype {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} does not hold numbers ({error})", hint="Give an array of numbers.") from error


def _features(values: Any, name: str) -> FloatArray:
    """(rows, features) of floats."""
    array = _numbers(values, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        hint = "Give one row per node or edge, with one number per feature."
        raise InputError(f"{name} has the shape {array.shape}", hint=hint)
    _check_finite(array, name)
    return np.ascontiguousarray(array)


def _edge_features(values: Any, topology: Topology) -> FloatArray:
    """(M, E); E is 0 where none are given."""
    if values is None:
        return np.empty((topology.n_edges, 0))
    features = _features(values, "edge_features")
    if len(features) != topology.n_edges:
        raise InputError(f"there are {topology.n_edges} edges and {len(features)} rows of edge_features")
    return features


def _check_finite(array: FloatArray, name: str) -> None:
    if np.isinf(array).any():
        row, column = np.argwhere(np.isinf(array))[0]
        raise InputError(f"{name} has an infinite number", hint="Replace it.", position=int(row), column=str(column))


def _check_edges(edges: Any, n_nodes: int) -> IndexArray:
    """(M, 2) of node numbers, or an error that names the first edge that is wrong."""
    array = np.asarray(edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=INDEX)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        what = f"⟦edges⟧ is an array of {array.dtype} of the shape {array.shape}"
        raise InputError(what, hint="Give whole numbers of the shape (edges, 2): the two nodes of each.")
    ends = array.astype(INDEX)
    if max(n_nodes, len(ends)) > MAX_NODES:
        raise InputError(f"a graph can have {MAX_NODES:,} nodes and edges", hint="Cut it into parts.")
    outside = np.flatnonzero(((ends < 0) | (ends >= n_nodes)).any(axis=1))
    if len(outside):
        pair = tuple(ends[outside[0]].tolist())
        hint = f"The graph has {n_nodes} nodes: 0 to {n_nodes - 1}."
        raise InputError(f"edge {outside[0]} joins {pair}", hint=hint)
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(loops):
        raise InputError(f"edge {loops[0]} joins node {ends[loops[0], 0]} with itself", hint="Leave it out.")
    keys = ends.min(axis=1) * n_nodes + ends.max(axis=1)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    if (counts > 1).any():
        twice = tuple(ends[first[counts > 1].min()].tolist())
        hint = "Each pair of nodes has one edge, in one direction."
        raise InputError(f"the edge {twice} stands more than once", hint=hint)
    return ends


def _check_directions(directions: Any, n_edges: int) -> CodeArray:
    array = np.asarray(directions)
    if array.shape != (n_edges,) or (n_edges and array.dtype.kind not in "iu"):
        what = f"⟦directions⟧ is an array of {array.dtype} of the shape {array.shape}"
        raise InputError(what, hint=f"Give a whole number for each of the {n_edges} edges.")
    if n_edges and (array.min() < 0 or array.max() >= MAX_DIRECTIONS):
        hint = f"Number them from 0 to {MAX_DIRECTIONS - 1}."
        raise InputError(f"directions go from {array.min()} to {array.max()}", hint=hint)
    return array.astype(CODE)


def as_graph(item: Any, number: int, *, neighbours: int | None, ndim: int) -> Graph:
    """An item of X as a graph: a Graph, a tuple (node features, edges[, edge features]), or an image."""
    try:
        if isinstance(item, Graph):
            return item
        if isinstance(item, tuple):
            if len(item) not in (2, 3):
                what = f"the item is a tuple of {len(item)}"
                raise InputError(what, hint="Give (node features, edges) or (node features, edges, edge features).")
            return graph(*item)
        return grid(item, neighbours=neighbours, ndim=ndim)
    except InputError as error:
        raise InputError(f"item {number}: {error}", sequence=None, position=error.position) from error


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
    for i, item in enumerate(graphs):
        for name in ("node_features", "edge_features"):
            here, first = getattr(item, name).shape[1], getattr(graphs[0], name).shape[1]
            if here != first:
                word = "channels" if len(item.shape) > 1 and name == "node_features" else name.replace("_", " ")
                raise InputError(f"item {i} has {here} {word}, and item 0 has {first}", hint="All must have as many.")
    return graphs
