"""The soak, for a moment."""

from __future__ import annotations

from . import soak


def test_a_moment_of_it():
    predictions, fits, memory, faults = soak.soak(2.0)
    assert faults == []
    assert predictions > 8
    assert fits > 0
    assert memory[-1] > 0
