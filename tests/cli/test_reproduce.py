"""`hedgerow reproduce`: the experiment that needs no data, from the command."""

from __future__ import annotations

import json
import re
import sys

import pytest

NAME = "thesis-fig-3.3"


def test_a_figure(hedgerow, folder):
    done = hedgerow("reproduce", NAME, "--quick", "--seeds", "1", "--jobs", "1", "--out", "results")
    assert done.code == 0
    assert "figure 3.3" in done.out
    assert re.search(r"hedgerow reproduce thesis-fig-3.3, seeds 0: \d+ CPU seconds\.", done.out)
    assert "This was --quick" in done.out
    assert "length 10, width 3: done" in done.err
    record = json.loads((folder / "results" / f"{NAME}-quick.json").read_text(encoding="utf-8"))
    assert record["experiment"] == NAME
    assert (folder / "results" / f"{NAME}-quick.png").exists()


def test_without_matplotlib_the_numbers_are_there(hedgerow, folder, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = hedgerow("reproduce", NAME, "--quick", "--seeds", "1", "--out", "results")
    assert done.code == 0
    assert "there is no picture" in done.err
    assert "hedgerow[experiments]" in done.err
    assert [path.name for path in (folder / "results").iterdir()] == [f"{NAME}-quick.json"]


@pytest.mark.parametrize(
    "name",
    [
        "thesis-3.4",
        "thesis-3.5",
        "thesis-3.6",
        "thesis-fig-3.1",
        "icml-table-3",
        "smd-fig-2",
        "labelwise-fig-2",
        "tree-objectives",
    ],
)
def test_without_data_both_ways_to_give_it_are_named(hedgerow, folder, name, monkeypatch):
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    assert "HEDGEROW_DATA" in hedgerow("reproduce", name, "--quick").complaint
    assert "has no file" in hedgerow("reproduce", name, "--quick", "--data", "nowhere").complaint


def test_outside_a_checkout_it_says_where_to_go(hedgerow, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "reproduction.command", None)
    assert "make reproduce NAME=thesis-3.5" in hedgerow("reproduce", NAME, "--quick").complaint
