"""Conjunctions of features, as a corpus of their own: each is an attribute of the positions where all its atoms are.

An atom is a weight row of `Streams.of(schema)`: a value of a column at an offset, an attribute, a number. What scores
conjunctions sees a corpus that has nothing but attributes, so that streams, chunks and files know nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset, Schema, Vocabulary
from hedgerow.legend import CODE, INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.index import Streams, row_names

CONSTANT = "(constant)"
AND = " & "
_ONES: FloatArray = np.empty(0)  # stands for values that are all 1


class Held(NamedTuple):
    """What holds at n positions: ptr int64[n+1], and numbers and values of what position t has at ptr[t]:ptr[t+1].
    `values` is empty where all are 1."""

    ptr: IndexArray
    numbers: AnyArray
    values: FloatArray

    def at(self, positions: IndexArray) -> Held:
        """The same of some positions."""
        sizes = np.diff(self.ptr)[positions]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX)
        entries = np.repeat(self.ptr[positions] - ptr[:-1], sizes) + np.arange(ptr[-1])
        return Held(ptr, self.numbers[entries], self.values[entries] if len(self.values) else self.values)

    def by_number(self, n_numbers: int) -> Held:
        """The positions of each number, which rise."""
        turned = self._matrix(n_numbers).tocsc()
        places = turned.indices.astype(CODE, copy=False)
        return Held(turned.indptr.astype(INDEX), places, turned.data if len(self.values) else self.values)

    def distinct(self, keys: FloatArray) -> IndexArray:
        """The first of each n that have the same numbers, values and key, in order. keys : float64[n], sorted"""
        kept = ~np.isin(keys, keys[1:][keys[1:] == keys[:-1]])
        first: dict[tuple[bytes, bytes], int] = {}
        for t in np.flatnonzero(~kept).tolist():
            own = slice(self.ptr[t], self.ptr[t + 1])
            kept[first.setdefault((self.numbers[own].tobytes(), self.values[own].tobytes()), t)] = True
        return np.flatnonzero(kept)

    def joined(self, more: Held, n_before: int) -> Held:
        """What holds by this and by `more`, whose numbers go on after the first `n_before`."""
        from scipy.sparse import hstack

        both = hstack([self._matrix(n_before), more._matrix(int(more.numbers.max(initial=0)) + 1)], format="csr")
        values = both.data if len(self.values) + len(more.values) else _ONES
        return Held(both.indptr.astype(INDEX), both.indices.astype(CODE, copy=False), values)

    def _matrix(self, n_numbers: int) -> Any:
        """What holds where, as a sparse matrix: positions times numbers."""
        from scipy.sparse import csr_array

        values = self.values if len(self.values) else np.ones(len(self.numbers), dtype=np.int8)
        return csr_array((values, self.numbers, self.ptr), shape=(len(self.ptr) - 1, n_numbers))


def meet(sets: Iterable[tuple[int, ...]], atoms: Held, places: Held | None = None) -> Held:
    """The positions of each of some sets of atoms. places : those of each atom, of all that sets have, if known"""
    listed, n = list(sets), len(atoms.ptr) - 1
    starts = np.cumsum([0, *map(len, listed)], dtype=INDEX)
    rows = np.fromiter(chain.from_iterable(listed), dtype=INDEX, count=starts[-1])
    if places is None:
        places = atoms.by_number(1 + max(rows.max(initial=0), atoms.numbers.max(initial=0)))
    room = len(listed) * n
    if len(rows):  # no more than the rarest atom of each has
        counts = np.append(np.diff(places.ptr)[rows], n)
        room = int(np.where(np.diff(starts) > 0, np.minimum.reduceat(counts, starts[:-1]), n).sum())
    ptr, found = np.empty(len(starts), dtype=INDEX), np.empty(room, dtype=CODE)
    values, mark = np.empty(room if len(atoms.values) else 0), np.zeros(n, dtype=CODE)
    size = kernels.conjunctions.meet(starts, rows, places.ptr, places.numbers, *atoms, mark, ptr, found, values)
    return Held(ptr, found[:size], values[:size])


def list_atoms(dataset: Dataset) -> Held:
    """The rows of all positions of a corpus, which rise at each, and their values; without what is 0, and each once."""
    n = dataset.n_positions
    which: list[IndexArray] = [np.empty(0, dtype=INDEX)]
    rows, values, plain = [np.empty(0, dtype=INDEX)], [np.empty(0)], True
    for base, n_rows, where, codes, numbers in Streams.of(dataset.schema).observed_at(dataset, np.arange(n)):
        numbers = np.broadcast_to(numbers, where.shape)
        if not numbers.all():
            there = np.flatnonzero(numbers)
            where, codes, numbers = where[there], codes[there], numbers[there]
        if n_rows > 1 and (where[1:] == where[:-1]).any():  # attributes come in any order, and may come twice
            order = np.lexsort((codes, where))
            rises = (np.diff(where[order]) != 0) | (np.diff(codes[order]) != 0)
            order = order[np.append(True, rises)]
            where, codes, numbers = where[order], codes[order], numbers[order]
        plain = plain and bool((numbers == 1).all())
        which.append(where)
        rows.append(base + codes)
        values.append(numbers)
    position = np.concatenate(which)
    order = np.argsort(position, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(position, minlength=n))]).astype(INDEX)
    return Held(ptr, np.concatenate(rows)[order].astype(CODE), _ONES if plain else np.concatenate(values)[order])


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Sets of atoms, as the paths of a trie.

    schema : whose rows are the atoms
    parent, row : int64[J], of each node that before it and the row of the atom it adds; row rises along a path. Node 0
        is the root, with the row −1.
    node : int64[F], where the path of each conjunction ends; that of the constant ends at the root
    names : of all rows, if known
    """

    schema: Schema
    parent: IndexArray
    row: IndexArray
    node: IndexArray
    names: Sequence[str] = ()

    @classmethod
    def of(cls, schema: Schema, sets: Iterable[tuple[int, ...]], names: Sequence[str] = ()) -> Conjunctions:
        """Conjunctions of these rows."""
        nothing: IndexArray = np.zeros(0, dtype=INDEX)
        return cls(schema, np.zeros(1, dtype=INDEX), np.full(1, -1, dtype=INDEX), nothing, names).extended(sets)

    def extended(self, sets: Iterable[tuple[int, ...]]) -> Conjunctions:
        """These conjunctions and more, none of which is among them. Old ones keep their numbers."""
        nodes, more = {path: j for j, path in enumerate(self._paths)}, [tuple(sorted(one)) for one in sets]
        for one in more:
            for i in range(len(one)):
                nodes.setdefault(one[: i + 1], len(nodes))
        paths = list(nodes)
        new = paths[len(self.parent) :]
        columns = [nodes[path[:-1]] for path in new], [path[-1] for path in new], [nodes[one] for one in more]
        arrays = zip((self.parent, self.row, self.node), columns)
        parent, row, node = (np.append(old, np.array(column, dtype=INDEX)) for old, column in arrays)
        made = replace(self, parent=parent, row=row, node=node)
        made.__dict__["_paths"] = paths  # what is known need not be found again
        if "seen" in self.__dict__:
            made.__dict__["seen"] = replace(self.seen, attributes=self.seen.attributes.extended(self._texts(more)))
        return made

    @cached_property
    def _paths(self) -> list[tuple[int, ...]]:
        """The rows from the root to each node."""
        paths: list[tuple[int, ...]] = [()]
        for parent, row in zip(self.parent[1:].tolist(), self.row[1:].tolist()):
            paths.append((*paths[parent], row))
        return paths

    def __len__(self) -> int:
        return len(self.node)

    def sets(self) -> list[tuple[int, ...]]:
        """The rows of each conjunction."""
        return [self._paths[node] for node in self.node.tolist()]

    def _texts(self, sets: Iterable[tuple[int, ...]]) -> list[str]:
        names = self.names or row_names(self.schema)
        return [AND.join([names[row] for row in rows]) or CONSTANT for rows in sets]

    @cached_property
    def seen(self) -> Schema:
        """The schema of what `apply` gives: an attribute for each conjunction."""
        texts = Vocabulary(self._texts(self.sets()))
        return replace(self.schema, columns=(), attributes=texts, attribute_offsets=(0,), window=0)

    def apply(self, dataset: Dataset, held: Held | None = None) -> Dataset:
        """The corpus with conjunctions for attributes, and nothing else. held : those that it has, if known"""
        held = self.held(list_atoms(dataset)) if held is None else held
        n, S = dataset.n_positions, dataset.n_sequences
        return replace(
            dataset,
            schema=self.seen,
            start=dataset.offsets[:-1].copy(),
            codes=np.empty((0, n), dtype=CODE),
            numeric=np.empty((0, n)),
            attr_ptr=held.ptr,
            attr_id=held.numbers,
            attr_val=held.values if len(held.values) else None,
            seq_codes=np.empty((0, S), dtype=CODE),
            seq_numeric=np.empty((0, S)),
        )

    def held(self, atoms: Held, places: Held | None = None) -> Held:
        """Which conjunctions hold where; their numbers rise. places : as `meet` has them"""
        return meet(self.sets(), atoms, places).by_number(len(atoms.ptr) - 1)

    @cached_property
    def children(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Pointers, rows and nodes of the children of each node."""
        order = 1 + np.lexsort((self.row[1:], self.parent[1:])).astype(INDEX)
        sizes = np.bincount(self.parent[1:], minlength=len(self.parent))
        return np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX), self.row[order], order

    @cached_property
    def feature(self) -> IndexArray:
        """The conjunction that ends at each node, or −1."""
        feature = np.full(len(self.parent), -1, dtype=INDEX)
        feature[self.node] = np.arange(len(self.node))
        return feature
