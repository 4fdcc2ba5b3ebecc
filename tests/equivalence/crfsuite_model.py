"""Reads the weights of a CRFsuite model from its binary file; the text dump of CRFsuite rounds them.

The file, all numbers little-endian: a header of 48 bytes (magic "lCRF", size, type "FOMC", version, the numbers of
features, labels and attributes, then the places of the features, the labels, the attributes and two tables that are
not needed here); a chunk "FEAT" of (type, source, target, weight) records; and two constant databases "CQDB" that map
numbers to strings.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hedgerow import LinearCRF
from hedgerow.linear.index import row_names

RECORD = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


@dataclass(frozen=True)
class CRFsuiteModel:
    """state[(attribute, label)] and transition[(from, to)] weights."""

    state: dict[tuple[str, str], float]
    transition: dict[tuple[str, str], float]

    def weights(self) -> np.ndarray:
        return np.array([*self.state.values(), *self.transition.values()])


def read_model(path: Path) -> CRFsuiteModel:
    data = path.read_bytes()
    magic, _, kind, _, _, _, _, features, labels, attributes = struct.unpack_from("<4sI4sI6I", data)
    assert (magic, kind) == (b"lCRF", b"FOMC")
    label_names, attribute_names = _strings(data, labels), _strings(data, attributes)
    chunk, _, count = struct.unpack_from("<4sII", data, features)
    assert chunk == b"FEAT"
    records = np.frombuffer(data, RECORD, count, features + 12)
    state, transition = {}, {}
    for kind, source, target, weight in records.tolist():
        if kind == 0:
            state[attribute_names[source], label_names[target]] = weight
        else:
            transition[label_names[source], label_names[target]] = weight
    return CRFsuiteModel(state, transition)


def _strings(data: bytes, begin: int) -> dict[int, str]:
    """The strings of a database by their numbers: its backward array holds the place of each record."""
    chunk, _, _, _, count, place = struct.unpack_from("<4s5I", data, begin)
    assert chunk == b"CQDB"
    found = {}
    for number, record in enumerate(struct.unpack_from(f"<{count}I", data, begin + place)):
        if record:
            _, size = struct.unpack_from("<II", data, begin + record)
            found[number] = data[begin + record + 8 : begin + record + 8 + size].rstrip(b"\0").decode()
    return found


def put_weights(model: LinearCRF, source: CRFsuiteModel) -> int:
    """Give a fitted LinearCRF the weights of a CRFsuite model, by name; returns how many have no place in it."""
    layout, labels = model.layout_, model.schema_.labels
    weights = np.zeros(layout.n_weights)
    nodes, arcs, _ = layout.split(weights)
    names = row_names(model.schema_)
    n_placed = 0
    rows = layout.nodes.slot_rows().tolist()
    for slot, (row, label) in enumerate(zip(rows, layout.nodes.slot_label.tolist())):
        key = names[row], labels[label]
        nodes[slot] = source.state.get(key, 0.0)
        n_placed += key in source.state
    for arc, (u, v) in enumerate(zip(layout.arc_from.tolist(), layout.arc_to.tolist())):
        key = labels[u], labels[v]
        arcs[arc] = source.transition.get(key, 0.0)
        n_placed += key in source.transition
    model.weights_ = weights
    return len(source.state) + len(source.transition) - n_placed
