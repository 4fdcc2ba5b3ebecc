"""The scripts in examples/ run, on little data, and show what they claim."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from .sources import ROOT

# The size that each script is given, and how long it may be: small enough to be quick, large enough to learn.
SIZES = {"chunking.py": "400", "time_series.py": "30"}


@pytest.fixture
def run_example(monkeypatch, capsys):
    def run(name):
        path = ROOT / "examples" / name
        if not path.exists():
            pytest.skip("the examples are not beside the tests")
        monkeypatch.setattr(sys, "argv", [name, SIZES[name]])
        runpy.run_path(str(path), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_every_example_is_run_here():
    if not (ROOT / "examples").exists():
        pytest.skip("the examples are not beside the tests")
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == SIZES.keys()


def test_chunking(run_example):
    out = run_example("chunking.py")
    assert float(re.search(r"FB1: +([\d.]+)", out)[1]) > 60
    assert "The chunks of one sentence:\n  " in out


def test_a_sequence_is_better_than_its_seconds(run_example):
    out = run_example("time_series.py")
    alone, sequence, window = map(float, re.findall(r"([\d.]+)%$", out, re.MULTILINE)[:3])
    assert alone + 10 < sequence
    assert sequence - 5 < window
