"""Missing values: readings that are lost on the way
=================================================

Three sensors on the body tell what somebody does. Wrist, hip and ankle send how much they move, ten times a minute. A
radio packet that is lost takes all three readings of a moment with it; and now and then one sensor is out of reach for
a while. TreeCRF deals with that in five ways, `missing=`; LightGBM on the same windows takes missing numbers too, but
knows nothing of the labels beside.

Run it: `python examples/dropped_readings.py [number of recordings] [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from hedgerow import TreeCRF
from hedgerow.metrics import label_accuracy
from reproduction.windows import WindowBooster

STATES = np.array(["sits", "walks", "climbs"])
MOVES = np.array([[0.5, 0.3, 0.2], [1.0, 1.0, 1.2], [0.9, 1.5, 1.6]])  # of wrist, hip and ankle in each state
STAYS = 0.95  # the probability that a state goes on
RATES = (0.0, 0.1, 0.2, 0.4)
OPTIONS = {"window": 2, "max_leaf_nodes": 8, "n_estimators": 60, "random_state": 0}
WAYS = ("learned", "weighting", "surrogate", "impute", "indicator")


def make_recordings(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """Recordings of a hundred moments, (100, 3) arrays, and what was done."""
    X, y = [], []
    for _ in range(n):
        states = [int(rng.integers(3))]
        while len(states) < 100:
            states.append(states[-1] if rng.random() < STAYS else int(rng.integers(3)))
        effort = np.exp(0.35 * rng.normal(size=(100, 1)))  # the same for all sensors: they tell on each other
        X.append(MOVES[states] * effort + 0.15 * rng.normal(size=(100, 3)))
        y.append(STATES[states].tolist())
    return X, y


def drop(recording: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """NaN for about this share of the readings: half of it whole moments, half of it a sensor for twenty moments."""
    damaged = recording.copy()
    damaged[rng.random(len(damaged)) < rate / 2] = np.nan
    for sensor in range(damaged.shape[1]):
        for begin in np.flatnonzero(rng.random(len(damaged)) < rate / 40):
            damaged[begin : begin + 20, sensor] = np.nan
    return damaged


# %%
# The share of right labels of every way, and of LightGBM.
def compare(n: int, rate: float) -> dict[str, float]:
    rng = np.random.default_rng(0)
    X, y = make_recordings(2 * n, rng)
    X = [drop(x, rate, rng) for x in X]
    found = {}
    for way in WAYS:
        model = TreeCRF(missing=way, **OPTIONS).fit(X[:n], y[:n])
        found[f"TreeCRF, {way}"] = model.score(X[n:], y[n:])
    windows = WindowBooster(TreeCRF(**OPTIONS)).fit(X[:n], y[:n])
    found["LightGBM on windows"] = label_accuracy(y[n:], windows.predict(X[n:]))
    return found


n = int(sys.argv[1]) if len(sys.argv) > 1 else 8
results = {rate: compare(n, rate) for rate in RATES}
print(f"{'readings lost':<22}" + "".join(f"{rate:>8.0%}" for rate in results))
for name in results[0.0]:
    print(f"{name:<22}" + "".join(f"{found[name]:>8.1%}" for found in results.values()))

# %%
figure = Figure(figsize=(6.4, 3.6), layout="constrained")
ax = figure.subplots()
colours = ("#14532d", "#3f8f5b", "#8fc08a", "#eb9d5f", "#c2410c", "#8a978f")
for name, colour in zip(results[0.0], colours):
    values = [100 * found[name] for found in results.values()]
    ax.plot([100 * rate for rate in results], values, "o-", color=colour, label=name, markersize=4)
ax.set_xlabel("readings lost, %")
ax.set_ylabel("moments right, %")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize=8)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=150, facecolor="white")
