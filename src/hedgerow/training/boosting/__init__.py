"""Gradient boosting of scores by regression trees."""
