"""What a user looks at after training: pictures of labellings and of how training went."""

from __future__ import annotations

from hedgerow.report.plots import plot_history, plot_sequence

__all__ = ["plot_history", "plot_sequence"]
