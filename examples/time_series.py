"""Time series: seconds that belong together
=========================================

A recording is an array with a row per second. The machine is idle, runs or runs hot; it stays in a state for a while,
and no reading alone tells which. A model that looks at each second by itself is compared with one that sees the whole
sequence.

Run it: `python examples/time_series.py [number of recordings]`
"""

from __future__ import annotations

import sys

import numpy as np

from hedgerow import LinearCRF
from hedgerow.metrics import label_accuracy
from hedgerow.model_selection import train_test_split
from hedgerow.report import plot_timeline

STATES = np.array(["idle", "running", "hot"])
STAYS = 0.95  # the probability that a state goes on for another second


def make_recordings(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """Recordings of two to four minutes, and the states of their seconds.

    A recording is a (T, 3) array of current, warmth and a constant 1, whose weight is the bias of a state.
    """
    X, y = [], []
    for _ in range(n):
        states = [int(rng.integers(3))]
        for _ in range(int(rng.integers(120, 240)) - 1):
            states.append(states[-1] if rng.random() < STAYS else int(rng.integers(3)))
        level = np.array(states)
        current = (level > 0) + rng.normal(0.0, 0.8, len(level))
        warmth = (level > 1) + rng.normal(0.0, 0.8, len(level))
        X.append(np.stack([current, warmth, np.ones(len(level))], axis=1))
        y.append(STATES[level].tolist())
    return X, y


n_recordings = int(sys.argv[1]) if len(sys.argv) > 1 else 80
X, y = make_recordings(n_recordings, np.random.default_rng(0))
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

# %%
# Cut into seconds, the same model knows nothing of what comes before and after.
seconds = [row[None] for recording in X_train for row in recording]
alone = LinearCRF(window=0, l2=0.01).fit(seconds, [[label] for labels in y_train for label in labels])
found = alone.predict([row[None] for recording in X_test for row in recording])
truth = [[label] for labels in y_test for label in labels]
print(f"each second by itself        {label_accuracy(truth, found):.1%}")

for window in (0, 2):
    model = LinearCRF(window=window, l2=0.01).fit(X_train, y_train)
    print(f"as a sequence, window = {window}    {label_accuracy(y_test, model.predict(X_test)):.1%}")

# %%
# One test recording: what was measured, how sure the model is, what it says and what was true.
probabilities = model.predict_proba(X_test[:1])[0]
unsure = int(np.argmin(probabilities.max(axis=1)))
named = ", ".join(f"{name} {p:.0%}" for name, p in zip(model.classes_, probabilities[unsure]))
print(f"The least certain second of the first test recording is number {unsure}: {named}.")
columns = {"current": X_test[0][:, 0], "warmth": X_test[0][:, 1]}
figure = plot_timeline(model.predict(X_test[:1])[0], y_test[0], probabilities, model.classes_, columns)
