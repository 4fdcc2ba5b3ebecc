"""One item: a graph with features, or an image as one. Checked when it is made, so that kernels need not check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.lattice.inference.topology import NEIGHBOURS, Topology, grid_topology
from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, FloatArray, IndexArray

MAX_NODES = 2**30  # half-edges are counted in 32 bits
MAX_DIRECTIONS = 1000


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
    own = np.empty((len(ends), 0)) if edge_features is None else _features(edge_features, "edge_features")
    if len(own) != len(ends):
        raise InputError(f"there are {len(ends)} edges and {len(own)} rows of edge_features")
    ways = np.zeros(len(ends), dtype=CODE) if directions is None else _check_directions(directions, len(ends))
    return Graph(Topology.of(n, ends), nodes, own, ways, (n,))


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
    own = np.empty((topology.n_edges, 0)) if edge_features is None else _features(edge_features, "edge_features")
    if len(own) != topology.n_edges:
        raise InputError(f"the grid has {topology.n_edges} edges and {len(own)} rows of edge_features")
    return Graph(topology, features, own, directions, shape)


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        array = np.asarray(values)
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
        raise InputError(f"{name} has the shape {array.shape}", hint="Give a row for each, with a number a feature.")
    _check_finite(array, name)
    return np.ascontiguousarray(array)


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
    lost = np.flatnonzero(((ends < 0) | (ends >= n_nodes)).any(axis=1))
    if len(lost):
        pair = tuple(ends[lost[0]].tolist())
        hint = f"The graph has {n_nodes} nodes: 0 to {n_nodes - 1}."
        raise InputError(f"edge {lost[0]} joins {pair}", hint=hint)
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
        raise InputError(
            f"directions go from {array.min()} to {array.max()}", hint=f"Number them from 0 to {MAX_DIRECTIONS - 1}."
        )
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


def of_shape(array: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """What belongs to the nodes (n, …) in the shape of the image."""
    return array.reshape(*shape, *array.shape[1:])
