"""What the documentation site is made of is whole: every page, every public name; docstrings come out right."""

from __future__ import annotations

import importlib
import re
import runpy

import pytest

import hedgerow

from .sources import ROOT

WEBSITE = ROOT / "website"
pytestmark = pytest.mark.skipif(not WEBSITE.exists(), reason="the site is not beside the tests")
# Modules of functions that stand in the reference by themselves, and names that another module has already.
MODULES = ("compat", "datasets", "explain", "features", "lattice", "metrics", "model_selection", "report", "trainers")
ELSEWHERE = {"lattice.LatticeCRF", "lattice.TreeLatticeCRF", "lattice.load", "compat.metrics", "compat.scorers",
             "compat.utils", "trainers.FeatureInduction"}  # fmt: skip


def listed(page: str) -> list[str]:
    """The indented names of a page's lists."""
    return re.findall(r"^   ([\w.]+)$", (WEBSITE / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_public_name_is_in_the_reference_once():
    public = {name for name in hedgerow.__all__ if name not in MODULES}
    for module in MODULES:
        public |= {f"{module}.{name}" for name in importlib.import_module(f"hedgerow.{module}").__all__} - ELSEWHERE
    assert sorted(listed("api.rst")) == sorted(public), "Put new names in website/api.rst."


def test_every_page_is_in_a_menu_once():
    menus = "".join((WEBSITE / f"{page}.md").read_text(encoding="utf-8") for page in ("guide", "project"))
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"CHANGELOG", "CONTRIBUTING", "SECURITY"}
    assert sorted(re.findall(r"^([\w-]+)$", menus, re.MULTILINE)) == sorted(pages), "Put new pages in website/guide.md."


@pytest.fixture(scope="module")
def as_rest():
    return runpy.run_path(str(WEBSITE / "docstrings.py"))["as_rest"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("the weights_ of |w| and **more", r"the weights\_ of \|w\| and \*\*more"),
        ("`weights_` stays, classes_ not", r"`weights_` stays, classes\_ not"),
        ("a snake_case name", "a snake_case name"),
    ],
)
def test_marks_are_text(as_rest, line, expected):
    assert as_rest([line])[0] == expected


def test_paragraphs_come_before_parameters(as_rest):
    lines = [
        "Do it.",
        "",
        "Parameters",
        "----------",
        "x : (T,) numbers",
        "n : int, default 1",
        "    How many.",
        "",
        "Returns y.",
    ]
    assert [line for line in as_rest(lines) if line] == [
        "Do it.", "Returns y.",
        "Parameters", "----------", "x", "    (T,) numbers", "n : int, default 1", "    How many.",
    ]  # fmt: skip


def test_examples_stay_as_they_are(as_rest):
    lines = ["Do it.", "", "Examples", "--------", ">>> a_ ** b_", "3"]
    assert as_rest(lines)[-2:] == lines[-2:]
