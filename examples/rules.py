"""Rules: labels that may not follow each other
============================================

A washing machine fills, washes, drains and spins, in this order. A forbidden pair has probability 0, in training and in
prediction, so that no cycle is told that cannot be; and what somebody knows of a sequence pins its labels.

Run it: `python examples/rules.py [number of recordings] [picture]`
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np

from hedgerow import LinearCRF
from hedgerow.report import plot_timeline

STEPS = ("fills", "washes", "drains", "spins")
LEGAL = {(a, b) for a, b in zip(STEPS, STEPS[1:] + STEPS[:1])} | {(a, a) for a in STEPS}
FORBIDDEN = [(a, b) for a in STEPS for b in STEPS if (a, b) not in LEGAL]


def make_recordings(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """Recordings of two cycles, (T, 2) arrays of water and power, and what the machine did."""
    X, y = [], []
    for _ in range(n):
        lengths = rng.integers(4, 16, size=8)
        step = np.repeat(np.arange(8) % 4, lengths)
        water, power = np.array([1.0, 0.8, 0.5, 0.0])[step], np.array([0.2, 0.6, 0.3, 1.0])[step]
        X.append(np.stack([water, power], axis=1) + rng.normal(0, 0.5, size=(len(step), 2)))
        y.append([STEPS[s] for s in step])
    return X, y


n = int(sys.argv[1]) if len(sys.argv) > 1 else 6
X, y = make_recordings(n + 100, np.random.default_rng(0))
X, y, X_new, y_new = X[:n], y[:n], X[n:], y[n:]


# %%
def broken(labelings) -> int:
    return sum((a, b) not in LEGAL for labels in labelings for a, b in pairwise(labels))


free = LinearCRF(window=1).fit(X, y)
strict = LinearCRF(window=1, constraints=FORBIDDEN).fit(X, y)
for name, model in (("free", free), ("with rules", strict)):
    found = model.predict(X_new, decoder="viterbi")
    print(f"{name}: {model.score(X_new, y_new):.1%} right, {broken(found)} moves that cannot be")

# %%
# The door was open at the start, so it fills; and somebody heard it spin in the middle of the recording.
one, truth = X_new[0], y_new[0]
known = [None] * len(one)
known[0], known[truth.index("spins")] = "fills", "spins"
[told] = strict.predict([one], known=[known])
print(f"{np.mean(np.array(told) == truth):.0%} right with two labels told")

# %%
figure = plot_timeline(
    strict.predict([one])[0],
    truth,
    strict.predict_proba([one])[0],
    strict.classes_,
    {"water": one[:, 0], "power": one[:, 1]},
)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=110, facecolor="white")
