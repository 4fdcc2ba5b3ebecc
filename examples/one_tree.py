"""One tree, drawn
===============

One tree of a TreeCRF, and what it adds to each pair of neighbouring labels in a word. The tree is the first one of the
label "break", for hyphenation. A row of it is a letter together with the label before that letter. The lower part of
the picture shows every row of one word, in the colour of the leaf that it comes to.

Run it: `python examples/one_tree.py [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from hedgerow import TreeCRF
from hedgerow.datasets import load_hyphenation
from hedgerow.report import plot_tree
from hedgerow.trees.binning import bin_dataset
from hedgerow.trees.ensemble import add_trees

LOSES, GAINS = ["#c2410c", "#eb9d5f", "#f7d9bb"], ["#cfe3c6", "#8fc08a", "#3f8f5b", "#14532d"]
PLACES = [0.0, 1 / 6, 1 / 3, 0.5, 0.625, 0.75, 0.875, 1.0]  # the same colours as the leaves of the tree have
COLOURS = LinearSegmentedColormap.from_list("leaves", list(zip(PLACES, [*LOSES, "#f6f4ee", *GAINS])))
INK, PALE = "#1b2a22", "#8a978f"


def added(model: TreeCRF, letters: list[str], label: str) -> np.ndarray:
    """What the trees of a label add: (K+1, T) [previous label, position], the start last, NaN where there is no row."""
    K, n, k = len(model.classes_), len(letters), model.classes_.tolist().index(label)
    data = bin_dataset(model.binning_, model.encode([letters]), postings=False)
    edges, starts = np.zeros((K, n, K)), np.zeros((K, n))
    add_trees(data, data.place, model.ensemble_.trees(), edges, starts)
    found = np.full((K + 1, n), np.nan)
    found[:K, 1:] = edges[k, 1:].T
    found[K, 0] = starts[k, 0]
    return found


def draw_rows(ax, letters: list[str], names: list[str], values: np.ndarray, largest: float) -> None:
    """A cell for each letter and previous label."""
    for u, row in enumerate(values):
        for t, value in enumerate(row):
            if not np.isnan(value):
                ax.add_patch(_cell(t, u, COLOURS(0.5 + value / largest / 2)))
                colour = "white" if abs(value) > 0.8 * largest else INK
                ax.text(t, u, f"{value:+.3f}", ha="center", va="center", fontsize=7, family="monospace", color=colour)
    ax.set_xlim(-0.5, len(letters) - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.6)
    ax.set_xticks(range(len(letters)), letters, fontsize=11, color=INK)
    ax.set_yticks(range(len(names)), names, fontsize=9, color=INK)
    ax.set_ylabel("previous label", fontsize=9, color=PALE)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)


def _cell(t: int, u: int, colour) -> FancyBboxPatch:
    return FancyBboxPatch(
        (t - 0.44, u - 0.4), 0.88, 0.8, boxstyle="round,pad=0,rounding_size=0.1", facecolor=colour, edgecolor="none"
    )


# %%
X, y = load_hyphenation(n_words=2000)
model = TreeCRF(window=1, n_estimators=1, leaves="mean", learning_rate=1.0, max_leaf_nodes=6, early_stopping=False)
model.fit(X, y)

word, label = "hyphenation", "break"
values = added(model, list(word), label)
rows = values[np.isfinite(values)]
print(f"{len(rows)} rows of {word!r} come to {len(np.unique(rows))} leaves")

# %%
figure = Figure(figsize=(8, 5.6), layout="constrained")
above, below = figure.subplots(2, 1, height_ratios=[2.6, 1])
plot_tree(model, 1, label, ax=above)
leaves = model.ensemble_.tree(model.classes_.tolist().index(label)).values
below.set_title(f"what it adds to the score of {label!r} at each letter", fontsize=9, color=PALE, pad=12)
draw_rows(below, list(word), [*model.classes_.tolist(), "(start)"], values, np.abs(leaves).max())
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150, facecolor="white")
