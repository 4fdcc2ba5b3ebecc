"""Random corpora with every kind of feature, and their features by name: the oracle of the linear scorer."""

from __future__ import annotations

import numpy as np

from hedgerow.data.columns import window_offsets
from hedgerow.data.rows import Item

KINDS = {"word": "categorical", "flag": "boolean", "size": "numeric", "names": "attributes", "more": "attributes"}
WINDOWS = [0, 1, (2, 0), {"word": 1, "size": (0, 2)}, {"*": (1, 1), "word": 0}]


def corpus(rng, *, weighted, n_sequences=6, n_labels=8):
    """X with codes, flags, numbers, attributes (with weights where asked for) and constants; y."""
    X, y = [], []
    for _ in range(n_sequences):
        rows = []
        for _ in range(rng.integers(1, 6)):
            row = {"word": str(rng.choice(list("abc"))), "size": round(float(rng.normal()), 2)}
            if rng.random() < 0.7:
                row["flag"] = bool(rng.random() < 0.6)
            if rng.random() < 0.8:
                row["names"] = [str(name) for name in rng.choice(list("xyz"), size=rng.integers(0, 3), replace=False)]
            if weighted and rng.random() < 0.7:
                row["more"] = {str(rng.choice(list("pq"))): round(float(rng.normal()), 2)}
            rows.append(row)
        X.append(Item(rows, {"lang": str(rng.choice(["de", "en"])), "length": float(len(rows))}))
        y.append([int(k) for k in rng.integers(0, n_labels, len(rows))])
    return X, y


def flattened(item):
    """The rows of an item with nested keys joined, as columns have them."""
    return [
        {key: value for key, value in row.items() if key != "more"}
        | {f"more:{name}": weight for name, weight in row.get("more", {}).items()}
        for row in item.positions
    ]


def named_features(item, window, t, schema):
    """(name, value) of each feature of position t, named as `row_names` does; written down from the definition."""
    standard = {column.name: (column.center, column.spread) for column in schema.columns}
    return [
        (name, (value - standard.get(name.split("[")[0], (0, 1))[0]) / standard.get(name.split("[")[0], (0, 1))[1])
        for name, value in _raw_features(item, window, t)
    ]


def _raw_features(item, window, t):
    rows = flattened(item)
    found = [("length", item.features["length"]), (f"lang:{item.features['lang']}", 1.0)]
    reads = {name: window_offsets(window, name) for name in ("word", "flag", "size")}
    for name, offsets in reads.items():
        for o in offsets:
            tail = f"[{o:+d}]" if o else ""
            inside = 0 <= t + o < len(rows)
            if not inside and name != "size":
                found.append((f"{name}{tail} is outside", 1.0))
            elif inside and name == "word":
                found.append((f"word{tail}:{rows[t + o]['word']}", 1.0))
            elif inside and rows[t + o].get(name) is not None:
                found.append((f"{name}{tail}", float(rows[t + o][name])))
    attribute_reads = window_offsets(window, "*")
    for o in attribute_reads:
        tail = f"[{o:+d}]" if o else ""
        if 0 <= t + o < len(rows):
            found += [(f"names:{name}{tail}", 1.0) for name in rows[t + o].get("names", ())]
            found += [(f"{key}{tail}", weight) for key, weight in rows[t + o].items() if key.startswith("more:")]
    outside = {o for o in (*reads["size"], *attribute_reads) if o and not 0 <= t + o < len(rows)}
    found += [(f"(outside)[{o:+d}]", 1.0) for o in outside]
    return found


def seeded(seed):
    return np.random.default_rng(seed)
