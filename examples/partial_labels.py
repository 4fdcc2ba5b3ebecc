"""Partial labels: a third of the work
===================================

Somebody labels only some positions of each sequence, or says what a label may be. Training sums over what is open, so
that unlabelled neighbours still count. To cut such sequences into their labelled pieces loses that.

Run it: `python examples/partial_labels.py [number of sequences] [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from hedgerow import LinearCRF
from hedgerow.datasets import make_sequences

n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
X, y = make_sequences(n + 200, 4, n_tokens=30, mean_length=12, concentration=0.8, random_state=3)
X, y, X_new, y_new = X[:n], y[:n], X[n:], y[n:]
labels = sorted({label for one in y for label in one})


# %%
# Of each position either the label is known, or None stands there.
def hide(share: float) -> list[list[str | None]]:
    rng = np.random.default_rng(0)
    return [[label if rng.random() < share else None for label in one] for one in y]


def pieces(partly: list[list[str | None]]) -> tuple[list[list[str]], list[list[str]]]:
    """The labelled positions alone, each run of them a sequence of its own."""
    X_cut, y_cut = [], []
    for tokens, one in zip(X, partly):
        before = None
        for token, label in zip(tokens, one):
            if label is not None and before is None:
                X_cut.append([])
                y_cut.append([])
            if label is not None:
                X_cut[-1].append(token)
                y_cut[-1].append(label)
            before = label
    return X_cut, y_cut


shares = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
scores: dict[str, list[float]] = {"as they are": [], "labelled pieces alone": []}
for share in shares:
    partly = hide(share)
    scores["as they are"].append(LinearCRF(window=0).fit(X, partly).score(X_new, y_new))
    scores["labelled pieces alone"].append(LinearCRF(window=0).fit(*pieces(partly)).score(X_new, y_new))
print("labelled" + "".join(f"{share:8.0%}" for share in shares))
for name, values in scores.items():
    print(f"{name}: " + ", ".join(f"{value:.1%}" for value in values))

# %%
# Where somebody is unsure between two labels, a set says so. Here every label is one of two, never one alone.
rng = np.random.default_rng(0)
either = [[{label, str(rng.choice(labels))} for label in one] for one in y]
print(f"one of two: {LinearCRF(window=0).fit(X, either).score(X_new, y_new):.1%}")

# %%
figure = Figure(figsize=(6.0, 3.0), layout="constrained")
ax = figure.subplots()
for (name, values), colour in zip(scores.items(), ("#14532d", "#eb9d5f")):
    ax.plot([100 * share for share in shares], [100 * value for value in values], "o-", color=colour, label=name)
ax.set(xlabel="positions that have a label, %", ylabel="labels right, %")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=130, facecolor="white")
