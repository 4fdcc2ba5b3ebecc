"""Which nodes a graph joins, laid out for kernels: half-edges by the node they leave, and an order of the nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import InputError
from hedgerow.lattice import kernels
from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.lattice.inference.chains import Cover

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
        found: CodeArray = np.empty(n_nodes, dtype=CODE)
        n_components = kernels.order.breadth_first(ends, ptr, out, found, np.zeros(n_nodes, dtype=np.uint8))
        if len(ends) == n_nodes - n_components:  # no circle: in this order, one sweep back and one forth are exact
            order = found
            ptr, out, middle = _half_edges(n_nodes, ends, order)
        for array in (ends, ptr, out, middle, order):
            array.flags.writeable = False
        return cls(n_nodes, ends, ptr, out, middle, order, int(n_components))

    @property
    def n_edges(self) -> int:
        return len(self.ends)

    @property
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
