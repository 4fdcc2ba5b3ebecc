"""What a user looks at after training: pictures of labellings, of how training went, and of what was learnt."""

from __future__ import annotations

from hedgerow.report.plots import plot_history, plot_sequence
from hedgerow.report.trees import plot_importance, plot_tree

__all__ = ["plot_history", "plot_importance", "plot_sequence", "plot_tree"]
