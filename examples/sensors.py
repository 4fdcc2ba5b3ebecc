"""Sensors: a sign and a size that no line tells
=============================================

A pump idles, pumps forward or pumps backward. It shakes when it works, to both sides. Flow and pressure have the same
sign forward and opposite signs backward. No sensor tells by a sum what the pump does, so a linear model learns nothing
from them, until somebody makes the columns that it needs. Trees find these by themselves, and take missing readings.

Run it: `python examples/sensors.py [number of recordings]`
"""

from __future__ import annotations

import sys

import numpy as np

from hedgerow import LinearCRF, TreeCRF
from hedgerow.explain import importance, tree_text
from hedgerow.model_selection import train_test_split
from hedgerow.report import plot_importance

STATES = np.array(["idle", "forward", "backward"])
COLUMNS = ["shake", "flow", "pressure"]
STAYS = 0.93  # the probability that a state goes on for another second
MISSING = 0.05  # the share of readings that are lost


def make_recordings(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """Recordings of a hundred seconds, (100, 3) arrays with NaN where a reading is missing, and their states."""
    X, y = [], []
    for _ in range(n):
        states = [int(rng.integers(3))]
        while len(states) < 100:
            states.append(states[-1] if rng.random() < STAYS else int(rng.integers(3)))
        state = np.array(states)
        shake, flow, size = rng.normal(size=(3, 100))
        shake *= np.where(state == 0, 0.5, 1.5)
        sign = np.where(state == 0, rng.choice([-1, 1], 100), np.where(state == 1, 1, -1))
        faithful = np.where(rng.random(100) < 0.85, 1, -1)
        readings = np.stack([shake, flow, faithful * sign * np.sign(flow) * np.abs(size)], axis=1)
        readings[rng.random(readings.shape) < MISSING] = np.nan
        X.append(readings)
        y.append(STATES[state].tolist())
    return X, y


n_recordings = int(sys.argv[1]) if len(sys.argv) > 1 else 60
X, y = make_recordings(n_recordings, np.random.default_rng(0))
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)


# %%
# A linear model needs 0 for what is missing and a column that says so, and columns made by somebody who knows the pump.
def filled(recording: np.ndarray) -> np.ndarray:
    lost = np.isnan(recording)
    return np.hstack([np.where(lost, 0.0, recording), lost, np.ones((len(recording), 1))])


def by_hand(recording: np.ndarray) -> np.ndarray:
    readings = filled(recording)
    made = np.stack([np.abs(readings[:, 0]), np.sign(readings[:, 1] * readings[:, 2])], axis=1)
    return np.hstack([readings, made])


for name, features in (("LinearCRF", filled), ("LinearCRF, columns by hand", by_hand)):
    linear = LinearCRF(window=0, l2=0.1).fit([features(x) for x in X_train], y_train)
    print(f"{name:<28} {linear.score([features(x) for x in X_test], y_test):.1%}")
trees = TreeCRF(window=0, max_leaf_nodes=8, random_state=0, n_jobs=-1).fit(X_train, y_train)
print(f"{'TreeCRF':<28} {trees.score(X_test, y_test):.1%}")

# %%
# The first tree of "forward" has found both: the size of the shaking, and signs that agree.
print("The columns are " + ", ".join(f"{i}: {name}" for i, name in enumerate(COLUMNS)) + ".")
print(tree_text(trees, 1, "forward"))

# %%
figure = plot_importance(importance(trees)).figure
