"""One browser for all tests, and the reports that they open. Where there is no browser, they say so and are skipped."""

from __future__ import annotations

import pytest

from hedgerow import HMM, LinearCRF
from hedgerow.report import compare, write_comparison

from ..report.page import made
from .chromium import FLAGS, find_chromium


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make browser-test")
    with api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        except api.Error as error:
            pytest.skip(f"no Chromium starts ({str(error).splitlines()[0]}): make browser-test")
        yield started
        started.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """kind → the address of a report: of a text with hostile words, of a sensor, of images, of two
    models."""
    folder = tmp_path_factory.mktemp("reports")
    X, y = made.text_corpus()
    signals, states = made.sensor_corpus()
    images, masks = made.shapes()
    found = {
        "text": made.text_model().report(X[40:], y[40:], X_train=X[:40], y_train=y[:40]),
        "sensor": made.sensor_model().report(signals[8:], states[8:]),
        "lattice": made.lattice_model().report(images[5:], masks[5:]),
    }
    for name, report in found.items():
        report.save(folder / f"{name}.html")
    compared = compare({"<hmm>": HMM(), "linear": LinearCRF()}, X[:40], y[:40], X_test=X[40:], y_test=y[40:])
    write_comparison(compared, folder / "models.html")
    return {name: (folder / f"{name}.html").as_uri() for name in (*found, "models")}
