"""The documentation site, where `make site` has built it: pages open, fit, search and link to what is there."""

from __future__ import annotations

import threading
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from ..project.sources import ROOT
from .chromium import open_page

SITE = ROOT / "site"
PAGES = ("index", "guide", "tutorial", "metrics", "api", "reference/hedgerow.TreeCRF", "gallery/index", "gallery/pumps")
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="there is no site: make site")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *what: object) -> None:
        pass


@pytest.fixture(scope="module")
def address():
    """The site as a server gives it: a search reads pages, which a browser does not allow among files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_open_and_fit(browser, address, width, scheme):
    for name in PAGES:
        with open_page(browser, f"{address}/{name}.html", width, scheme) as opened:
            page = opened.page
            page.wait_for_load_state("load")
            assert page.locator("h1").count() == 1, name
            assert page.evaluate("document.documentElement.dataset.theme") == scheme
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
            broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
            assert page.evaluate(broken) == [], name
            assert opened.complaints == [], name
            assert [url for url in opened.requests if not url.startswith((address, "data:"))] == [], name


def test_search_finds_a_page_and_a_name(browser, address):
    for words, expected in (
        ("partial labels", "partial-labels.html"),
        ("plot_timeline", "hedgerow.report.plot_timeline"),
    ):
        with open_page(browser, f"{address}/search.html?q={words.replace(' ', '+')}") as opened:
            opened.page.wait_for_selector("#search-results li a")
            found = opened.page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
            assert any(expected in link for link in found), words


def test_the_theme_can_be_changed(browser, address):
    with open_page(browser, f"{address}/index.html") as opened:
        page = opened.page
        seen = set()
        for _ in range(3):
            page.locator(".theme-switch-button").first.click()
            options = page.locator(".theme-switch-option, [data-theme-option], .dropdown-menu [data-mode]")
            if options.count():
                options.nth(_ % options.count()).click()
            seen.add(page.evaluate("document.documentElement.dataset.theme"))
        assert seen == {"light", "dark"}


class Links(HTMLParser):
    """The links of a page, and the names that links to it may end with."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


@cache
def read(path: Path) -> Links:
    parser = Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def test_every_link_leads_somewhere():
    lost = []
    pages = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    assert len(pages) > 100
    for path in pages:
        for link in read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            named = not parts.fragment or target.suffix != ".html"
            if not (target.exists() and (named or unquote(parts.fragment) in read(target).names)):
                lost.append(f"{path.relative_to(SITE)}: {link}")
    assert lost == []
