"""Data frames: pumps that wear
============================

A row is a minute of a pump: when it was, what was measured, in which state it was. `fit` takes the frame as it is, and
`predict` gives a label for each row; the rows are in no order, and an hour in the middle has none.

Run it: `python examples/pumps.py [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from hedgerow import SlidingWindow, TreeCRF
from hedgerow.report import plot_timeline

STATES = np.array(["fine", "wears", "leaks"])

rng = np.random.default_rng(0)
minutes = np.arange(600) + 60 * (np.arange(600) >= 300)
pumps = []
for pump in range(8):
    state = (rng.random(600) < 0.02).cumsum() % 3
    readings = {"heat": rng.normal(60 + 2 * (state > 0), 2), "noise": rng.normal(1 + 0.4 * (state > 1), 0.5)}
    at = pd.Timestamp("2024-05-01 06:00") + pd.to_timedelta(minutes, unit="min")
    pumps.append(pd.DataFrame({"pump": f"P{pump}", "at": at, **readings, "state": STATES[state]}))
frame = pd.concat(pumps).sample(frac=1, random_state=0)
print(frame.head())

# %%
# The same trees, first row by row, then as a sequence.
train, test = frame[frame["pump"] < "P6"], frame[frame["pump"] >= "P6"]
for model in (SlidingWindow(window=2, random_state=0), TreeCRF(window=2, random_state=0)):
    model.fit(train, by="pump", label="state", time="at", max_gap="5min")
    print(f"{type(model).__name__}: {model.score(test):.0%} of the minutes of new pumps")

# %%
# One new pump: its readings, the probabilities of the states, the labels that come of them, and the truth.
one = test[test["pump"] == "P6"].sort_values("at")
probabilities = model.predict_proba(one)
figure = plot_timeline(
    model.predict(one),
    one["state"],
    probabilities[model.classes_.tolist()],
    model.classes_,
    {"heat": one["heat"], "noise": one["noise"]},
)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110, facecolor="white")
