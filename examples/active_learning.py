"""Active learning: which sequence next?
=====================================

Labelling costs, and a model knows where it is unsure. `entropy` is how open the labels of a sequence are, in
nats; per position it points at the sequences that teach most. Here they are labelled ten at a time.

Run it: `python examples/active_learning.py [number of sequences] [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from hedgerow import LinearCRF
from hedgerow.datasets import make_chunking_like
from hedgerow.metrics import label_accuracy

n = int(sys.argv[1]) if len(sys.argv) > 1 else 600
X, y = make_chunking_like(n + 200, random_state=1)
X = [[{"word": position["word[0]"], "pos": position["pos[0]"]} for position in one] for one in X]
X_new, y_new = X[n:], y[n:]
STEP, ROUNDS = 10, 8


# %%
# Each round asks for the labels of ten more sequences, by a rule, and trains again.
def learn(rule: str, seed: int) -> tuple[list[int], list[float]]:
    rng = np.random.default_rng(seed)
    chosen = list(rng.permutation(n)[:STEP])
    asked, scores = [], []
    for _ in range(ROUNDS):
        model = LinearCRF(window=0).fit([X[i] for i in chosen], [y[i] for i in chosen])
        asked.append(sum(len(y[i]) for i in chosen))
        scores.append(label_accuracy(y_new, model.predict(X_new)))
        rest = np.setdiff1d(np.arange(n), chosen)
        if rule == "most unsure":
            pool = [X[i] for i in rest]
            rest = rest[np.argsort(-model.entropy(pool) / [len(x) for x in pool])]
        else:
            rest = rng.permutation(rest)
        chosen += rest[:STEP].tolist()
    return asked, scores


curves = {rule: [learn(rule, seed) for seed in range(3)] for rule in ("most unsure", "by chance")}
for rule, runs in curves.items():
    asked, score = np.mean([run[0][-1] for run in runs]), np.mean([run[1][-1] for run in runs])
    print(f"{rule}: {score:.1%} right after {asked:.0f} labels")

# %%
figure = Figure(figsize=(6.0, 3.0), layout="constrained")
ax = figure.subplots()
for (rule, runs), colour in zip(curves.items(), ("#14532d", "#eb9d5f")):
    for number, (asked, scores) in enumerate(runs):
        ax.plot(asked, [100 * score for score in scores], color=colour, label=rule if number == 0 else None)
ax.set(xlabel="labels that were asked for", ylabel="labels right, %")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=130, facecolor="white")
