"""Why this label?
===============

Why is this moment of a day a walk? What speaks for a label, what against it, and what would turn it.

Run it: `python examples/why_this_label.py [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from hedgerow import TreeCRF, sequences
from hedgerow.report import plot_explanation

rng = np.random.default_rng(0)
walking = (rng.random(4800) < 0.05).cumsum() % 2 == 1
frame = pd.DataFrame({"day": np.arange(4800) // 120, "pulse": rng.normal(70 + 9 * walking, 9)})
frame["activity"] = np.where(walking, "walks", "rests")
X, y = sequences(frame, by="day", label="activity")
model = TreeCRF(window=1, random_state=0).fit(X[:30], y[:30])

# %%
found = model.explain(X[31], position=70, counterfactuals=True)
print(found)

# %%
figure = plot_explanation(found, path=sys.argv[1] if len(sys.argv) > 1 else None).figure
