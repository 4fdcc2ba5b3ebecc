"""Trainers that see the whole corpus in each iteration."""
