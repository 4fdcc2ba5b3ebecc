"""What a user looks at after training: pictures of labellings, of how training went, of what was learnt, and models
side by side."""

from __future__ import annotations

from hedgerow.report.compare import Comparison, compare
from hedgerow.report.compare_pages import plot_comparison, write_comparison
from hedgerow.report.explanation import plot_explanation
from hedgerow.report.future import plot_future
from hedgerow.report.plots import plot_history, plot_reliability, plot_sequence
from hedgerow.report.timeline import plot_timeline
from hedgerow.report.trees import plot_importance, plot_tree

__all__ = [
    "Comparison",
    "compare",
    "plot_comparison",
    "plot_explanation",
    "plot_future",
    "plot_history",
    "plot_importance",
    "plot_reliability",
    "plot_sequence",
    "plot_timeline",
    "plot_tree",
    "write_comparison",
]
