"""The features of batches in plain NumPy and Python, with the names of the kernels; results are returned.

`rows` is a list with the (row, value) pairs of each position. Lists are a pair of lists of lists: the first slots of
spread rows with their values, and (slot, label, value) entries, of each position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.legend import AnyArray, FloatArray

Rows = list[list[tuple[int, float]]]
Spread = list[list[tuple[int, float]]]
Entries = list[list[tuple[int, int, float]]]


def read_rows(sequences: AnyArray, dataset: Any, streams: Any) -> Rows:
    """The weight rows of every position of some sequences of a Dataset, with their values."""
    found: Rows = []
    lengths = np.diff(dataset.offsets)
    for i in sequences:
        for p in range(dataset.start[i], dataset.start[i] + lengths[i]):
            own = [(int(b + dataset.codes[c, p + o]), 1.0) for c, o, b in _zip(streams, "column", "shift", "base")]
            for o, b in _zip(streams, "attr_shift", "attr_base"):
                for e in range(dataset.attr_ptr[p + o], dataset.attr_ptr[p + o + 1]):
                    own.append((int(b + dataset.attr_id[e]), 1.0 if dataset.attr_val is None else dataset.attr_val[e]))
            for c, o, center, scale, b in _zip(
                streams, "num_column", "num_shift", "num_center", "num_scale", "num_base"
            ):
                own.append((int(b), (dataset.numeric[c, p + o] - center) * scale))
            own += [(int(b + dataset.seq_codes[c, i]), 1.0) for c, b in _zip(streams, "seq_column", "seq_base")]
            for c, center, scale, b in _zip(
                streams, "seq_num_column", "seq_num_center", "seq_num_scale", "seq_num_base"
            ):
                own.append((int(b), (dataset.seq_numeric[c, i] - center) * scale))
            found.append([(row, float(value)) for row, value in own if not np.isnan(value)])
    return found


def _zip(streams: Any, *names: str) -> Any:
    return zip(*(getattr(streams, name) for name in names))


def list_rows(
    rows: Rows, first_slot: AnyArray, n_slots: AnyArray, label_of: AnyArray, K: int, origin: int
) -> tuple[Spread, Entries]:
    """The lists of positions that have these rows; a row of K slots is spread."""
    spread = [[(int(origin + first_slot[r]), x) for r, x in own if n_slots[r] == K] for own in rows]
    entries = [
        [
            (int(origin + j), int(label_of[j]), x)
            for r, x in own
            if n_slots[r] != K
            for j in range(first_slot[r], first_slot[r] + n_slots[r])
        ]
        for own in rows
    ]
    return spread, entries


def load_edges(
    x: FloatArray, origin: int, factor: float, cells: AnyArray, table: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """The table with the weights in its cells, the table less its largest, and that; 0 where all are −inf."""
    filled = table.copy()
    filled[cells] = factor * x[origin : origin + len(cells)]
    largest = float(filled.max())
    largest = 0.0 if np.isneginf(largest) else largest
    return filled, filled - largest, largest


def gather(
    lengths: AnyArray,
    spread: Spread,
    entries: Entries,
    x: FloatArray,
    factor: float,
    start: FloatArray,
    end: FloatArray,
) -> tuple[FloatArray, AnyArray]:
    """Scores (n, K) and `first` (n+1,) of a batch whose positions have these lists."""
    K = len(start)
    scores, first = np.zeros((len(spread), K)), np.zeros(len(spread) + 1, dtype=np.uint8)
    for t, (wide, narrow) in enumerate(zip(spread, entries)):
        for slot, value in wide:
            scores[t] += value * x[slot : slot + K]
        for slot, label, value in narrow:
            scores[t, label] += value * x[slot]
    scores *= factor
    ends = np.cumsum(lengths)
    first[np.concatenate([[0], ends])] = 1
    scores[ends - lengths] += start
    scores[ends - 1] += end
    return scores, first


def touch(active: AnyArray, spread: Spread, entries: Entries) -> tuple[list[int], list[int]]:
    """The first slots of spread rows, and the single slots, of the positions that are active; in order, each once."""
    runs = [slot for t, own in enumerate(spread) if active[t] for slot, _ in own]
    slots = [slot for t, own in enumerate(entries) if active[t] for slot, _, _ in own]
    return list(dict.fromkeys(runs)), list(dict.fromkeys(slots))


def scatter(active: AnyArray, spread: Spread, entries: Entries, rows: FloatArray, size: int) -> FloatArray:
    """(size,): the gradient of the weights from that of the scores, rows (n, K), at the active positions."""
    K = rows.shape[1]
    gradient: FloatArray = np.zeros(size)
    for t in np.flatnonzero(active):
        for slot, value in spread[t]:
            gradient[slot : slot + K] += value * rows[t]
        for slot, label, value in entries[t]:
            gradient[slot] += value * rows[t, label]
    return gradient


def indicators(labels: AnyArray, lengths: AnyArray, K: int) -> tuple[FloatArray, FloatArray]:
    """Which labels (n, K) and how many transitions (K, K) a labeling of a batch has."""
    nodes, edges = np.zeros((len(labels), K)), np.zeros((K, K))
    nodes[np.arange(len(labels)), labels] = 1.0
    for own in np.split(labels, np.cumsum(lengths)[:-1]):
        np.add.at(edges, (own[:-1], own[1:]), 1.0)
    return nodes, edges


def likelihood(
    labels: AnyArray,
    lengths: AnyArray,
    scores: FloatArray,
    table: FloatArray,
    log_partition: float,
    probs: FloatArray,
    edge_sums: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """The loss Σ log Z − score of the truth, and its gradients by the node scores (n, K) and the edge scores (K, K)."""
    nodes, edges = indicators(labels, lengths, scores.shape[1])
    return log_partition - _score(nodes, edges, scores, table), probs - nodes, edge_sums - edges


def errors(
    labels: AnyArray, lengths: AnyArray, found: AnyArray, scores: FloatArray, table: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """The loss Σ score of the labeling found − score of the truth, and its gradients, likewise."""
    nodes, edges = indicators(labels, lengths, scores.shape[1])
    best_nodes, best_edges = indicators(found, lengths, scores.shape[1])
    loss = _score(best_nodes, best_edges, scores, table) - _score(nodes, edges, scores, table)
    return loss, best_nodes - nodes, best_edges - edges


def _score(nodes: FloatArray, edges: FloatArray, scores: FloatArray, table: FloatArray) -> float:
    return float(scores[nodes > 0].sum() + (edges[edges > 0] * table[edges > 0]).sum())
