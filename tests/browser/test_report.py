"""Reports in a browser: they open in silence, ask for nothing, fit, can be read by all, filter and explain."""

from __future__ import annotations

import re

import pytest

from .chromium import open_page

KINDS = ("text", "sensor", "lattice")
ASKED = {"text": "a.p.e", "sensor": "svg a.ask", "lattice": "a.pin"}  # what is clicked to see why


def faults(page):
    """What axe-core calls serious or critical, each with the first place where it is."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: make browser-test")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:120]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", [*KINDS, "models"])
def test_a_report_opens(browser, reports, kind, width, scheme):
    with open_page(browser, reports[kind], width, scheme, bypass_csp=True) as opened:
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for part in page.query_selector_all("details"):
            part.evaluate("part => { part.open = true; }")
        assert faults(page) == []
        page.mouse.wheel(0, 4000)
        assert (opened.complaints, opened.dialogs) == ([], [])
        assert [one for one in opened.requests if not one.startswith("data:")] == [reports[kind]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_obeys_its_own_rules(browser, reports, kind):
    """The policy of the page forbids all scripts but its own: nothing is refused, and nothing hostile runs."""
    with open_page(browser, reports[kind]) as opened:
        assert opened.page.evaluate("document.documentElement.className") == "js"
        assert (opened.complaints, opened.dialogs) == ([], [])


def visible(page):
    return page.locator(".item:visible").count()


@pytest.mark.parametrize("kind", KINDS)
def test_filters_filter(browser, reports, kind):
    with open_page(browser, reports[kind]) as opened:
        page = opened.page
        whole = visible(page)
        assert whole == page.locator(".item").count() > 1
        for name, data in (("#by-label", "labels"), ("#by-error", "errors")):
            choice = page.locator(f"{name} option").nth(1).get_attribute("value")
            page.select_option(name, choice)
            having = [
                choice in (item.get_attribute(f"data-{data}") or "").split() for item in page.locator(".item").all()
            ]
            assert visible(page) == sum(having) > 0
            assert f"{sum(having)} of {whole} shown" in page.inner_text("#count")
            page.select_option(name, "")
        sure = [int(item.get_attribute("data-sure")) for item in page.locator(".item").all()]
        page.locator("#by-sure").fill(str(max(sure)))
        assert 0 < visible(page) == sum(one >= max(sure) for one in sure)
        page.locator("#by-sure").fill("0")
        assert visible(page) == whole


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_a_click_explains(browser, reports, kind, width):
    with open_page(browser, reports[kind], width) as opened:
        page = opened.page
        assert page.locator(".why:visible").count() == 0
        links = page.locator(f".item:first-of-type {ASKED[kind]}")
        for i in (0, 1):
            links.nth(i).click()
            why = page.locator(".why:visible")
            assert why.count() == 1
            assert why.get_attribute("id") == links.nth(i).get_attribute("href")[1:]
            assert re.search(r"against .*log-odds [+-]\d", why.inner_text())
            assert why.locator("tr").count() > 1
        links.nth(1).focus()
        page.keyboard.press("Enter")  # once more closes it
        assert page.locator(".why:visible").count() == 0
        assert opened.complaints == []


def test_light_and_dark(browser, reports):
    def paper(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    with open_page(browser, reports["text"], scheme="dark") as opened:
        dark = paper(opened.page)
        opened.page.click("#theme")
        light = paper(opened.page)
        opened.page.click("#theme")
        assert paper(opened.page) == dark != light
    with open_page(browser, reports["text"], scheme="light") as opened:
        assert paper(opened.page) == light


def test_without_scripts_all_can_be_read(browser, reports):
    with open_page(browser, reports["text"], java_script_enabled=False) as opened:
        page = opened.page
        assert page.locator(".filters").is_hidden()
        assert page.locator("button:visible").count() == 0
        assert visible(page) == page.locator(".item").count()
        page.locator(".whys summary").first.click()
        assert page.locator(".why:visible").count() > 0


def test_tables_sort_and_lists_are_saved(browser, reports):
    with open_page(browser, reports["text"]) as opened:
        page = opened.page
        head = page.locator("#next-table thead th", has_text="margin")
        for falling in (True, False):
            head.click()
            shown = [float(cell) for cell in page.locator("#next-table tbody td:nth-child(4)").all_inner_texts()]
            assert shown == sorted(shown, reverse=falling)
        with page.expect_download() as download:
            page.click(".save[data-table=next-table]")
        assert download.value.suggested_filename == "label-next.csv"
        lines = download.value.path().read_text(encoding="utf-8").splitlines()
        assert lines[0] == "sequence,positions,entropy,margin,at,what stands there"
        assert len(lines) == len(shown) + 1


def test_on_paper(browser, reports):
    with open_page(browser, reports["text"]) as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.locator("nav").is_hidden()
        assert opened.page.locator(".filters").is_hidden()
        assert len(opened.page.pdf()) > 10_000


@pytest.mark.parametrize(
    "fault",
    [
        "<script>throw Error('x')</script>",
        "<img src='https://example.invalid/x.png' alt=''>",
        "<script>alert(1)</script>",
        "<script>console.error('x')</script>",
    ],
)
def test_the_watch_can_fail(browser, tmp_path, fault):
    path = tmp_path / "bad.html"
    path.write_text(f"<!doctype html><title>x</title>{fault}")
    with open_page(browser, path.as_uri()) as opened:
        opened.page.wait_for_timeout(100)
        assert opened.complaints or opened.dialogs or opened.requests != [path.as_uri()]


def test_axe_can_fail(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<!doctype html><html lang=en><title>x</title><p style='color:#ccc;background:#fff'>pale</p>")
    with open_page(browser, path.as_uri()) as opened:
        assert any(one.startswith("color-contrast") for one in faults(opened.page))
