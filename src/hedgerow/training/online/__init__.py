"""Trainers that see a few sequences before each step."""
