"""What learning and coding share: blocks in, places named, arrays put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.builders import AttributeRows
from hedgerow.data.dataset import Column, Dataset, Schema, locate
from hedgerow.data.rows import Block, Field, add_dicts
from hedgerow.data.values import read_values
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, FloatArray, IndexArray


class Reader:
    """What learning and coding share: counting positions, naming places, shifting rows of a block."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.n_positions = 0

    def add(self, block: Block) -> None:
        self.lengths.extend(block.lengths)
        size = sum(block.lengths)
        everywhere = np.arange(self.n_positions, self.n_positions + size, dtype=INDEX)
        shifted: dict[int, IndexArray] = {}  # fields of one group of rows share one array
        for field in block.fields:
            if field.where is None:
                where = everywhere
            else:
                where = shifted.setdefault(id(field.where), field.where + self.n_positions)
            self.add_field(field, where)
        for rows, names, weights in block.entries:
            self.add_entries(rows + self.n_positions, names, weights)
        for rows, names, numbers in block.weights:
            self.add_weights(rows + self.n_positions, names, numbers)
        first = len(self.lengths) - len(block.lengths)
        for field in constant_fields(block):
            where = field.where if field.where is not None else np.arange(len(block.lengths), dtype=INDEX)
            self.add_constant(field, where + first)
        self.n_positions += size

    def locate(self, flat: int) -> tuple[int, int]:
        return locate(np.concatenate([[0], np.cumsum(self.lengths)]).astype(INDEX), flat)

    def locate_sequence(self, sequence: int) -> tuple[int, int]:
        return sequence, 0

    def add_field(self, field: Field, where: IndexArray) -> None:
        raise NotImplementedError

    def add_constant(self, field: Field, where: IndexArray) -> None:
        raise NotImplementedError

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        raise NotImplementedError

    def add_weights(self, where: IndexArray, names: list[str], numbers: list[Any]) -> None:
        raise NotImplementedError


def constant_fields(block: Block) -> list[Field]:
    """The features of whole sequences in a block, as fields over its sequences."""
    if not any(block.constants):
        return block.constant_fields
    turned = Block([])
    add_dicts(turned, list(block.constants), np.arange(len(block.constants), dtype=INDEX), "")
    turned.fields.extend(
        Field(name, rows[[i]], [number])
        for rows, names, numbers in turned.weights
        for i, (name, number) in enumerate(zip(names, numbers))
    )
    return turned.fields


def check_name(name: Any, where: IndexArray, reader: Reader) -> None:
    if not isinstance(name, str):
        sequence, position = reader.locate(int(where[0]))
        raise InputError(f"the key {name!r} is not a str", sequence=sequence, position=position)


def check_keys(names: list[Any], where: IndexArray, reader: Reader) -> None:
    if set(map(type, names)) - {str}:
        for i, name in enumerate(names):
            check_name(name, where[i : i + 1], reader)


def check_finite(values: FloatArray, names: list[str], where: IndexArray, reader: Reader) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        read_values(Field(names[bad[0]], None, values[bad[:1]].tolist()), where[bad[:1]], None, reader.locate)


def assemble(
    schema: Schema,
    offsets: IndexArray,
    start: IndexArray,
    size: int,
    arrays: list[tuple[Column, AnyArray]],
    attributes: AttributeRows,
) -> Dataset:
    def stack(numeric: bool, constant: bool) -> AnyArray:
        picked = [a for c, a in arrays if c.constant == constant and (c.kind == "numeric") == numeric]
        dtype = np.float64 if numeric else CODE
        width = len(start) if constant else size
        return np.stack(picked) if picked else np.empty((0, width), dtype=dtype)

    return Dataset(
        schema,
        offsets,
        start,
        stack(False, False),
        stack(True, False),
        attributes.ptr,
        attributes.ids,
        attributes.values,
        stack(False, True),
        stack(True, True),
    )
