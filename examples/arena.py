"""The arena: models side by side
==============================

Several models on the same folds of whole sequences, nothing tuned, with a test that counts sequences. The arena of the
repository (`python -m benchmarks.arena`) does this on public data, beside LightGBM and CRFsuite.

Run it: `python examples/arena.py [number of words]`
"""

from __future__ import annotations

import sys

from hedgerow import LinearCRF, SlidingWindow, TreeCRF
from hedgerow.datasets import load_hyphenation
from hedgerow.report import compare, plot_comparison

n_words = int(sys.argv[1]) if len(sys.argv) > 1 else 600
X, y = load_hyphenation(n_words=n_words)
models = {
    "window of letters": SlidingWindow(window=3, random_state=0),
    "LinearCRF": LinearCRF(window=3),
    "TreeCRF": TreeCRF(window=3, random_state=0),
}
comparison = compare(models, X, y, cv=3)
print(comparison)

# %%
figure = plot_comparison(comparison).figure
