"""Conditional random fields: LinearCRF, TreeCRF, and their presets."""
