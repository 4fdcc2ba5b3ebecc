"""Labelwise training: figures 1 and 2."""
