"""Many labels: 150 of them
========================

With many labels, pairs of labels are the cost: 150 labels have 22,500. `TreeCRF` then grows one tree for all labels and
keeps one table of transitions; `LinearCRF` may leave out those that training does not show.

Run it: `python examples/many_labels.py [number of sequences] [picture]`
"""

from __future__ import annotations

import sys
from itertools import pairwise
from time import process_time

import numpy as np
from matplotlib.figure import Figure

from hedgerow import LinearCRF, TreeCRF
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy

K = 150
n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
X, y = make_sequences(n + 200, K, n_tokens=200, mean_length=20, concentration=0.02, random_state=0)
X, y, X_new, y_new = X[:n], y[:n], X[n:], y[n:]
pairs = {pair for labels in y for pair in pairwise(labels)}
print(f"{K} labels; {len(pairs):,} of {K * K:,} pairs are seen")

# %%
models = {
    "each by itself": LinearCRF(window=1, order=0, max_iter=30),
    "LinearCRF": LinearCRF(window=1, max_iter=30),
    "LinearCRF, pairs that are seen": LinearCRF(window=1, max_iter=30, transitions="observed"),
    "TreeCRF": TreeCRF(window=1, n_estimators=30, learning_rate=0.3, early_stopping=False, random_state=0),
}
scores = {}
for name, model in models.items():
    begin = process_time()
    model.fit(X, y)
    scores[name] = label_accuracy(y_new, model.predict(X_new))
    print(f"{name:<32} {scores[name]:.1%} right, {process_time() - begin:.1f} s")

# %%
# Ask for the few labels that are worth a look, with `predict_proba`, instead of one.
probs = np.concatenate(list(models["LinearCRF"].predict_proba(X_new)))
truth = np.concatenate(y_new)
ranks = np.argsort(-probs, axis=1)
classes = models["LinearCRF"].classes_
for k in (1, 3, 5):
    print(
        f"the true label is among the first {k}: {np.mean((classes[ranks[:, :k]] == truth[:, None]).any(axis=1)):.1%}"
    )

# %%
figure = Figure(figsize=(6.0, 2.0), layout="constrained")
ax = figure.subplots()
colours = ["#8a978f", "#8fc08a", "#3f8f5b", "#14532d"]
bars = ax.barh(list(scores), [100 * score for score in scores.values()], color=colours)
ax.bar_label(bars, fmt="%.1f", padding=4)
ax.invert_yaxis()
ax.set(xlabel="labels right, %", xlim=(0, 105))
ax.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=130, facecolor="white")
