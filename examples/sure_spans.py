"""How sure is a span?
===================

A span is right if all of its labels are, and the one behind it does not go on. The product of the labels' probabilities
says something else, since neighbours depend on each other. `span_probability` sums over all labelings of the rest.

Run it: `python examples/sure_spans.py [number of sentences] [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from hedgerow import LinearCRF
from hedgerow.datasets import make_chunking_like
from hedgerow.metrics import spans

n_sentences = int(sys.argv[1]) if len(sys.argv) > 1 else 600
X, y = make_chunking_like(n_sentences, random_state=0)
third = n_sentences // 3
model = LinearCRF(constraints="iob2", early_stopping=True, random_state=0).fit(X[:third], y[:third])
X_new, y_new = X[third:], y[third:]
predicted = model.predict(X_new)


# %%
# The labels of a span, and the probability that they stand there, without those labelings in which the span goes on.
def probabilities() -> tuple[list[tuple[int, str, int, int]], np.ndarray]:
    found = [(i, *span) for i, labels in enumerate(predicted) for span in spans(labels)]
    given = [(i, start, list(predicted[i][start:end])) for i, _, start, end in found]
    longer = [(i, start, [*labels, f"I-{kind}"]) for (i, kind, _, end), (_, start, labels) in zip(found, given)
              if end < len(X_new[i]) and f"I-{kind}" in model.classes_]  # fmt: skip
    goes_on = dict(zip([(i, start) for i, start, _ in longer], model.span_probability(X_new, longer)))
    sure = model.span_probability(X_new, given)
    return found, sure - [goes_on.get((i, start), 0.0) for i, start, _ in given]


found, sure = probabilities()
true = {(i, *span) for i, labels in enumerate(y_new) for span in spans(labels)}
right = np.array([span in true for span in found])
print(f"{right.mean():.1%} of {len(found):,} spans are right; {sure.mean():.1%} are expected to be")

# %%
# Hand the least sure spans to a person: how many of the rest are right?
order = np.argsort(sure)
for share in (0.0, 0.1, 0.25, 0.5):
    kept = order[round(share * len(order)) :]
    print(f"{share:4.0%} to a person, {right[kept].mean():.1%} of the others right")

# %%
figure = Figure(figsize=(7.2, 3.0), layout="constrained")
left, beside = figure.subplots(1, 2)
bins = np.array_split(order, 10)
left.plot([0, 1], [0, 1], color="#8a978f", linewidth=0.8, linestyle=":")
left.plot([sure[b].mean() for b in bins], [right[b].mean() for b in bins], "o-", color="#14532d", markersize=4)
left.set(xlabel="probability of a span", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
shares = np.linspace(0, 0.9, 46)
beside.plot(100 * shares, [100 * right[order[round(s * len(order)) :]].mean() for s in shares], color="#3f8f5b")
beside.set(xlabel="least sure spans handed to a person, %", ylabel="of the others right, %")
for ax in (left, beside):
    ax.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=130, facecolor="white")
