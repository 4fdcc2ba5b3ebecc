"""Approximate inference on graphs: messages, mean field, searches."""
