"""docs/published.md has every experiment, and every table and figure of the documents, with what the reader needs."""

from __future__ import annotations

import re

import pytest

from hedgerow.metrics import two_proportions
from reproduction import EXPERIMENTS

from .sources import ROOT

PAGE = ROOT / "docs" / "published.md"
WORSE = "## Where ours is worse than published"
OVERVIEW = "## Every table and figure of the documents"
# Of each document: its tables and its figures.
DOCUMENTS = {
    "Dietterich and others 2004": ("1 2 3", "1 2 3 4"),
    "Hao 2009": ("3.1 3.2 3.3 3.4 3.5 3.6 4.1 5.1 5.2 5.3 5.4 5.5", "1.1 3.1 3.2 3.3 4.1 4.2"),
    "Gross and others 2007": ("", "1 2"),
    "Vishwanathan and others 2006": ("", "1 2 3 4 5 6"),
    "slides": ("", ""),
}
COLUMNS = ["in the document", "here", "found: ours, published", "seeds", "what differs", "CPU s"]
VERDICTS = "alike|better|worse|as published|as in the slides|times faster|no figures"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the docs are not beside the tests")


def section(title: str) -> tuple[str, str]:
    """A section of the page, and all that comes after it."""
    found, _, after = PAGE.read_text(encoding="utf-8").partition(title)[2].partition("\n## ")
    return found, after


def rows() -> list[dict[str, str]]:
    """The rows of the first table, each with its document; rows below a document's first do not name it again."""
    lines_of_tables = [line for line in section(OVERVIEW)[0].splitlines() if line.startswith("|")]
    header, _, *lines = [line.strip("| ").split("|") for line in lines_of_tables]
    assert [cell.strip() for cell in header] == COLUMNS
    found, document = [], ""
    for line in lines:
        row = dict(zip(COLUMNS, [cell.strip() for cell in line] + [""] * len(COLUMNS)))
        document = next((name for name in DOCUMENTS if row["in the document"].startswith(name)), document)
        found.append({**row, "document": document})
    return found


def numbers(text: str, kind: str) -> set[str]:
    """The numbers of tables or figures that a cell names: "figure 1", "tables 1, 2"."""
    lists = re.findall(rf"{kind}s? ([\d.]+(?:, [\d.]+)*)", text)
    return {number for one in lists for number in one.split(", ")}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_on_the_page_by_its_command(name):
    for part in section(OVERVIEW):
        assert f"`{name}`" in part


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("kind", ["table", "figure"])
def test_every_table_and_figure_of_a_document_has_a_row(document, kind):
    own = [row["in the document"] for row in rows() if row["document"] == document]
    assert own
    expected = set(DOCUMENTS[document][kind == "figure"].split())
    assert {number for cell in own for number in numbers(cell, kind)} == expected


def test_a_row_names_its_command_seeds_differences_and_time_or_says_what_it_is():
    for row in rows():
        commands = [name for name in re.findall(r"`([a-z0-9.-]+)`", row["here"]) if name in EXPERIMENTS]
        assert row["here"], row
        if commands:
            assert row["seeds"], row
            assert row["what differs"], row
            assert re.search(VERDICTS, row["found: ours, published"]), row
            assert re.search(r"\d|in its table|in their tables|not noted", row["CPU s"]), row
        else:
            assert re.search(r"algorithm|derivation|drawing", row["here"]), row


def test_what_is_called_worse_is_so_and_is_explained():
    _, _, *lines = [line.strip("| ").split(" | ") for line in section(WORSE)[0].splitlines() if line.startswith("|")]
    assert lines
    for what, published, ours, n_ours, n_theirs, p_value, known in lines:
        sizes = [int(n.replace(",", "")) for n in (n_ours, n_theirs)]
        right = [round(float(share) / 100 * n) for share, n in zip((ours, published), sizes)]
        found = two_proportions(right[0], sizes[0], right[1], sizes[1]).p_value
        assert float(ours) < float(published), what
        assert found < 0.05, what
        assert p_value == ("< 0.001" if found < 0.001 else f"{found:.3f}"), what
        assert known, what
