"""The experiments on images, small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hedgerow.experiments import lattice_figure_3, lattice_figure_4
from hedgerow.experiments.lattice_denoising import ALONE, Images, Run, first_gain, load_images, methods, run_method
from hedgerow.experiments.settings import Settings

SETTINGS = Settings(seeds=(0,), quick=True)


def test_the_images_are_those_of_the_paper_in_number_and_size():
    images = load_images(replace(SETTINGS, quick=False), 3)
    assert (len(images.X), len(images.X_test)) == (40, 10)
    assert {image.shape for image in (*images.X, *images.X_test)} == {(64, 64)}


def test_everybody_is_compared():
    assert len(methods()) == 14
    assert first_gain("LBP, SMD") == 1e-4
    assert first_gain("PL, L-BFGS") is None


@pytest.mark.parametrize("method", [ALONE, "PL, SMD"])
def test_a_run_follows_loss_and_error(method):
    images = load_images(SETTINGS, 0)
    found = run_method(method, images, SETTINGS, 0)
    assert 0.0 <= found.errors[-1] <= 50.0
    assert len(found.losses) == (0 if method == ALONE else len(found.errors))
    assert isinstance(images, Images)


def test_figure_4_prints_and_draws(monkeypatch, tmp_path):
    monkeypatch.setattr(lattice_figure_4, "methods", lambda: ["LBP, L-BFGS", "PL, SGD"])
    said = []
    report = lattice_figure_4.run(replace(SETTINGS, say=said.append))
    assert report.name == "smd-fig-4"
    assert len(report.tables[0].rows) == len(said) == 2
    assert all(len(row) == len(report.tables[0].header) for row in report.tables[0].rows)
    assert isinstance(report.data["runs"]["PL, SGD"][0], Run)
    lattice_figure_4.draw(report.data).savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5_000
    report.save(tmp_path / "a.json", SETTINGS)


def test_figure_3_prints_and_draws(monkeypatch, tmp_path):
    monkeypatch.setattr(lattice_figure_3, "METHODS", ("PL, L-BFGS", "LBP, SMD"))
    report = lattice_figure_3.run(SETTINGS)
    assert report.name == "smd-fig-3"
    assert [row[0] for row in report.tables[0].rows] == [ALONE, "PL, L-BFGS", "LBP, SMD"]
    lattice_figure_3.draw(report.data).savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5_000
