"""UCI's Bach choral harmony: the chord of each event of 60 chorales."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np

from hedgerow.data.sequences import Sequences

PITCHES = tuple(f"PC{i}" for i in range(1, 13))


def load_chorales(folder: Path) -> tuple[Sequences, list[list[str]]]:
    """X has a flag for each of 12 pitch classes, the bass and the metre (1 to 5, a number); y has the chords."""
    with open(folder / "chorales.csv", encoding="ascii", newline="") as file:
        rows = [{name: value.strip() for name, value in row.items()} for row in csv.DictReader(file)]
    names = [row["Choral_ID"] for row in rows]
    begins = [t for t in range(len(rows)) if t == 0 or names[t] != names[t - 1]]
    if len(begins) != len(set(names)):
        raise ValueError("the events of a chorale do not stand together")
    columns: dict[str, np.ndarray] = {pitch: np.array([row[pitch] == "YES" for row in rows]) for pitch in PITCHES}
    columns["bass"] = np.array([row["Bass"] for row in rows], dtype=object)
    columns["metre"] = np.array([float(row["Meter"]) for row in rows])
    ends = [*begins, len(rows)]
    chords = [row["Chord"] for row in rows]
    kinds = {**dict.fromkeys(PITCHES, "boolean"), "bass": "categorical", "metre": "numeric"}
    return Sequences(columns, ends, kinds), [chords[a:b] for a, b in pairwise(ends)]
