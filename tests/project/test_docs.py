"""Every piece of code in README.md and docs/ runs and prints what the page says."""

from __future__ import annotations

import re
import textwrap

import pytest

from hedgerow.models.auto import estimator

from .pages import blocks, pages, run_page
from .sources import ROOT

PAGES = pages(ROOT)


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_page_runs(page, tmp_path, monkeypatch):
    if not page.exists():
        pytest.skip("the docs are not beside the tests")
    monkeypatch.chdir(tmp_path)
    # A budget of ten seconds is over after two: what is tried meanwhile differs between machines anyway.
    monkeypatch.setattr(estimator, "_clock", lambda inner=estimator._clock: 5.0 * inner())
    run_page(page.read_text(encoding="utf-8"), page.name)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_within_the_project_lead_somewhere(page):
    if not page.exists():
        pytest.skip("the docs are not beside the tests")
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    files = [link.partition("#")[0] for link in links if "://" not in link]
    assert [file for file in files if file and not (page.parent / file).exists()] == []


def page(text: str) -> str:
    return textwrap.dedent(text)


def test_blocks_share_a_namespace_and_text_is_compared():
    run_page(
        page("""
        ```python
        a = 3
        ```
        Words between.

        ```python
        print(a, " ")
        print()
        print(a + 1)
        ```

        ```text
        3

        4
        ```
        """),
        "made.md",
    )


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n```text\n1\n1\n```\n",
        "```python\na = 1\n```\n```text\n1\n```\n",
        "```bash\nhedgerow no-such-command\n```\n",
        "```console\n$ hedgerow no-such-command\n```\n",
        "```python\nassert False\n```\n",
    ],
)
def test_a_page_that_is_wrong_fails(text):
    with pytest.raises(AssertionError):
        run_page(text, "made.md")


def test_an_error_has_the_line_of_the_page():
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("Words.\n\n```python\na = 1\n1 / 0\n```\n", "made.md")
    place = caught.traceback[-1]
    assert (str(place.path).endswith("made.md"), place.lineno + 1) == (True, 5)


def test_what_is_not_run():
    run_page(
        page("""
        <!-- not run: it would fail -->
        ```python
        1 / 0
        ```

        ```text
        whatever
        ```

        ```bash
        make no-such-target
        ```

        ```text
        this stands alone
        ```

        ```json
        {"a": 1}
        ```
        """),
        "made.md",
    )
    with pytest.raises(ZeroDivisionError):  # a reason must be given
        run_page("<!-- not run: -->\n```python\n1 / 0\n```\n", "made.md")


def test_text_after_words_is_not_output():
    run_page("```python\nprint(1)\n```\n\nA file:\n\n```text\n2\n```\n", "made.md")


def test_a_block_without_an_end():
    with pytest.raises(ValueError, match="line 1"):
        list(blocks("```python\na = 1\n"))
