"""Tests about the project itself: how its modules import each other, its public names, its docs and its files."""
