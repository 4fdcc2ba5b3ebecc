"""Chunks of sentences
===================

Spans with labels such as B-NP and I-NP, features as dicts, scores by span. The sentences are made up, with the shape of
newspaper text; for real ones there is `hedgerow.datasets.load_conll2000`.

Run it: `python examples/chunking.py [number of sentences]`
"""

from __future__ import annotations

import sys

from hedgerow import LinearCRF
from hedgerow.datasets import make_chunking_like
from hedgerow.metrics import span_report, spans
from hedgerow.model_selection import train_test_split

n_sentences = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
X, y = make_chunking_like(n_sentences, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

# %%
# Legal labels only: I-NP follows B-NP or I-NP and nothing else. Half of the test part stops training early.
half = len(X_test) // 2
model = LinearCRF(constraints="iob2", scoring="span_f1", n_jobs=-1)
model.fit(X_train, y_train, X_val=X_test[:half], y_val=y_test[:half])
print(f"{len(model.weights_):,} weights, best of {model.n_iter_} iterations: {model.best_iteration_}\n")

predicted = model.predict(X_test[half:])
print(span_report(y_test[half:], predicted))

# %%
words = [position["word[0]"] for position in X_test[half]]
print("The chunks of one sentence:")
for kind, start, end in spans(predicted[0]):
    print(f"  {kind:<5} {' '.join(words[start:end])}")

# %%
print("What speaks for the start of a noun phrase:")
for feature, _, weight in model.feature_weights("B-NP")[:5]:
    print(f"  {weight:+.2f}  {feature}")
