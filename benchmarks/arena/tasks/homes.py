"""van Kasteren's homes A and B: what the inhabitant does, minute by minute, from switches on doors and cupboards."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hedgerow.data.sequences import Sequences

FORM = "%d-%b-%Y %H:%M:%S"
NOTHING = "none"
MINUTES = 24 * 60
ACTIVITIES = {
    1: "leave house", 4: "use toilet", 5: "take shower", 6: "brush teeth", 10: "go to bed", 13: "prepare breakfast",
    15: "prepare dinner", 17: "get drink",
}  # fmt: skip


class Event(NamedTuple):
    """From `start` to `end`, in minutes since the first midnight, a sensor was on or an activity went on."""

    start: float
    end: float
    code: int


def read_events(path: Path, origin: datetime | None = None) -> tuple[list[Event], datetime]:
    """The lines "start, end, code" of a file, by tab, as they start; and the midnight that they count from."""
    rows = [line.split("\t") for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    times = [(datetime.strptime(row[0], FORM), datetime.strptime(row[1], FORM), int(row[2])) for row in rows]
    if origin is None:
        origin = min(start for start, _, _ in times).replace(hour=0, minute=0, second=0)
    minute = timedelta(minutes=1)
    return sorted(Event((start - origin) / minute, (end - origin) / minute, code) for start, end, code in times), origin


def load_home(folder: Path, house: str) -> tuple[Sequences, list[list[str]]]:
    """A sequence of 1,440 minutes for each day that has an activity and a sensor that changed.

    X has two flags for each sensor: "change", it went on or off in this minute, and "last", it is the one that changed
    last. y has the activity; where two share a minute it is the later one. Days run from the first activity
    to the last.
    """
    activities, origin = read_events(folder / f"house{house}-as.txt")
    sensors, _ = read_events(folder / f"house{house}-ss.txt", origin)
    n_days = int(max(event.end for event in activities) // MINUTES) + 1
    labels = np.full(n_days * MINUTES, NOTHING, dtype=object)
    for event in activities:
        labels[int(event.start) : int(event.end) + 1] = ACTIVITIES.get(event.code, str(event.code))
    codes = sorted({event.code for event in sensors})
    change, last = sensor_flags(sensors, codes, len(labels))
    seen = (labels != NOTHING).reshape(n_days, MINUTES).any(axis=1) & change.any(axis=1).reshape(n_days, -1).any(axis=1)
    rows = np.repeat(seen, MINUTES)
    columns = {f"change {code}": change[rows, j] for j, code in enumerate(codes)}
    columns |= {f"last {code}": last[rows, j] for j, code in enumerate(codes)}
    offsets = MINUTES * np.arange(int(seen.sum()) + 1)
    return Sequences(columns, offsets, dict.fromkeys(columns, "boolean")), labels[rows].reshape(-1, MINUTES).tolist()


def sensor_flags(sensors: list[Event], codes: list[int], n_minutes: int) -> tuple[np.ndarray, np.ndarray]:
    """(n_minutes, sensors) bool each: which sensors changed in a minute, and which one changed last by its end."""
    changes = sorted((time, codes.index(event.code)) for event in sensors for time in (event.start, event.end))
    change = np.zeros((n_minutes, len(codes)), dtype=bool)
    latest = np.full(n_minutes, -1)
    for time, j in changes:
        if 0 <= time < n_minutes:
            change[int(time), j] = True
        if time < n_minutes:
            latest[max(0, int(time))] = j
    filled = np.maximum.accumulate(np.where(latest >= 0, np.arange(n_minutes), 0))
    return change, latest[filled][:, None] == np.arange(len(codes))
