"""Comparisons that the documents do not have."""
