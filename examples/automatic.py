"""AutoLabeler: leave the choice open
===================================

Which model, with which window and settings? `AutoLabeler` tries them on folds of whole sequences, for as many seconds
or trials as it may take, and keeps the best; the leaderboard says what was tried.

Run it: `python examples/automatic.py [number of trials]`
"""

from __future__ import annotations

import sys

from hedgerow import AutoLabeler
from hedgerow.datasets import load_hyphenation

n_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 6
X, y = load_hyphenation(n_words=800)
model = AutoLabeler(n_trials=n_trials, random_state=0).fit(X[:600], y[:600])
print(f"{model.score(X[600:], y[600:]):.1%} of the letters of new words")

# %%
print(model.leaderboard_)
