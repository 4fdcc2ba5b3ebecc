"""Trainings that are killed from outside; `python -m benchmarks.kills` does it as often as wanted."""

from __future__ import annotations

import pytest

from benchmarks.kills import run, train


@pytest.mark.parametrize("name", ["linear", "trees"])
def test_a_process_that_is_killed_goes_on_to_the_same_bits(name, tmp_path):
    path, found, kills = tmp_path / "kept", None, 0
    while found is None:  # each time it comes further: what is written stays
        found, _ = run(name, str(path), 0.4 if kills < 2 else None)
        kills += found is None
    assert kills
    assert found == train(name, None)
    assert not list(tmp_path.iterdir())
