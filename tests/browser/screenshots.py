"""The pictures of reports in the docs: python -m tests.browser.screenshots docs/images"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from hedgerow import LatticeCRF, LinearCRF, TreeCRF, sequences
from hedgerow.datasets import load_hyphenation, make_shapes

from .chromium import FLAGS, find_chromium, open_page


def sensor_report():
    """That of docs/report.md."""
    rng = np.random.default_rng(0)
    walking = (rng.random(9600) < 0.05).cumsum() % 2 == 1
    frame = pd.DataFrame({"day": np.arange(9600) // 120, "pulse": rng.normal(70 + 9 * walking, 9)})
    frame["activity"] = np.where(walking, "walks", "rests")
    X, y = sequences(frame, by="day", label="activity")
    model = TreeCRF(window=1, random_state=0).fit(X[:50], y[:50])
    return model.report(X[50:], y[50:], X_train=X[:50], y_train=y[:50], title="Activities on 30 days")


def word_report():
    X, y = load_hyphenation(3000)
    model = LinearCRF(window=3, random_state=0).fit(X[:2400], y[:2400])
    return model.report(X[2400:], y[2400:], X_train=X[:2400], y_train=y[:2400], title="Hyphens in 600 words")


def image_report():
    images, masks = make_shapes(12, size=32, noise=0.7, random_state=1)
    return LatticeCRF().fit(images[:8], masks[:8]).report(images[8:], masks[8:], title="Shapes in noise")


def shoot(browser, address, path, width, scheme, place, height=1000, click=None):
    """Save what a window shows from a section on."""
    with open_page(browser, address, width, scheme, height) as opened:
        page = opened.page
        if click is not None:
            page.locator(click).first.click()
        if place is not None:
            page.evaluate("id => document.getElementById(id).scrollIntoView({behavior: 'instant'})", place)
        page.wait_for_timeout(300)
        page.screenshot(path=path)


def main(folder: str) -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        pages = {}
        for name, report in (("sensor", sensor_report), ("words", word_report), ("images", image_report)):
            report().save(Path(made) / f"{name}.html")
            pages[name] = (Path(made) / f"{name}.html").as_uri()
        into = Path(folder)
        shoot(browser, pages["sensor"], into / "report.png", 1120, "light", None, 860)
        shoot(browser, pages["sensor"], into / "report-worst.png", 1120, "light", "worst", 860, "svg a.ask")
        shoot(browser, pages["words"], into / "report-dark.png", 1120, "dark", "worst", 760, "a.p.e")
        shoot(browser, pages["images"], into / "report-images.png", 1120, "light", "worst", 640)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
