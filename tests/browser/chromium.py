"""Chromium, where there is one, and pages in it that note whatever they complain of and ask for."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip


def find_chromium() -> str | None:
    """The program: what HEDGEROW_CHROMIUM names, or one of the usual names; None for Playwright's own."""
    return os.environ.get("HEDGEROW_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Opened:
    """A page, and what was heard of it: complaints of console and scripts, dialogs, addresses that it asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@contextmanager
def open_page(browser, address, width=1280, scheme="light", height=900, **more):
    """Open an address in a window of its own."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
    opened = Opened(context.new_page())
    page = opened.page
    page.on("console", lambda said: opened.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.on("dialog", lambda dialog: (opened.dialogs.append(dialog.message), dialog.dismiss()))
    try:
        page.goto(address)
        yield opened
    finally:
        context.close()
