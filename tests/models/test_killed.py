"""Trainings that are killed from outside; `python -m benchmarks.kills` does it as often as wanted."""

from __future__ import annotations

import subprocess
import sys


def test_processes_that_are_killed_go_on_to_the_same_bits():
    command = [sys.executable, "-m", "benchmarks.kills", "--times", "3", "--models", "linear", "trees"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("the same bits in all\n")
