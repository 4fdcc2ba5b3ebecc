"""The files of a checkout: nothing of one machine, nothing left for later, version and changes in step."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest

import hedgerow

from .sources import ROOT

# Spelt so that this file does not find itself.
LATER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b")
MACHINE = re.compile(r"(?:^|[^\w.~/])/(?:home|Users|root|tmp|work|mnt|opt)/\w" r"|\b[A-Z]:\\Users\b")


def tracked() -> list[tuple[str, str]]:
    """(path, text) of every text file that git knows or would add."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("the tests do not stand in a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    found = []
    for name in filter(None, listing.split("\0")):
        path = ROOT / name
        if path.is_file():
            contents = path.read_bytes()
            if b"\0" not in contents:
                found.append((name, contents.decode("utf-8")))
    return found


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}, line {number}: {line.strip()}"
        for name, text in tracked()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_nothing_is_left_for_later():
    assert lines_with(LATER) == []


def test_no_path_of_a_machine():
    assert lines_with(MACHINE) == []


@pytest.mark.parametrize("text", ["/" + "home/ann/x", 'open("/' + 'tmp/x")', "C:" + "\\Users\\ann"])
def test_the_check_for_paths_can_fail(text):
    assert MACHINE.search(text)


def test_addresses_are_not_paths():
    assert not MACHINE.search("https://example.org/" + "home/page")


def test_every_folder_of_tests_is_a_package():
    """Otherwise two test files of one name, in two folders, would be one module."""
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_version_is_one():
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the tests do not stand in a checkout")
    with open(ROOT / "pyproject.toml", "rb") as file:
        assert tomllib.load(file)["project"]["version"] == hedgerow.__version__


def test_the_citation_has_the_version():
    if not (ROOT / "CITATION.cff").exists():
        pytest.skip("the tests do not stand in a checkout")
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(hedgerow.__version__)}$", text, re.MULTILINE)


def test_the_changes_of_this_version_are_told():
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the tests do not stand in a checkout")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[?{re.escape(hedgerow.__version__)}\b", changes, re.MULTILINE)
