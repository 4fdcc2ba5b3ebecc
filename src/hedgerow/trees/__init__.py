"""Regression trees over binned columns: they know gradients and positions, not what labels are called."""
