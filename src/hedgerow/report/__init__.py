"""What a user looks at after training: pictures of labellings, of how training went, of what was learnt, models side by
side, and a page with all of it."""

from hedgerow.report.compare import Comparison, compare
from hedgerow.report.page import Report, make_report
from hedgerow.report.page.compared import write_comparison
from hedgerow.report.plots import (
    plot_comparison,
    plot_explanation,
    plot_future,
    plot_history,
    plot_reliability,
    plot_sequence,
)
from hedgerow.report.timeline import plot_timeline
from hedgerow.report.trees import plot_importance, plot_tree

__all__ = [
    "Comparison",
    "Report",
    "compare",
    "make_report",
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
