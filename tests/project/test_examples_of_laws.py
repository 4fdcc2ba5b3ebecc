"""As plain Python, laws of kernels are tried on a quarter of the examples, whatever their number is."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.examples import examples

from .sources import ROOT

TESTS = ROOT / "tests"
KERNEL_TESTS = sorted(
    [
        *(TESTS / "kernels").glob("test_*.py"),
        *(TESTS / "chain" / "inference").glob("test_*.py"),
        TESTS / "lattice" / "test_inference.py",
    ]
)


@pytest.mark.parametrize(("profile", "n"), [("default", 60), ("plain", 15), ("thorough", 1200)])
def test_a_number_of_examples_goes_by_the_profile(profile, n):
    settings.register_profile("before", settings.default)
    settings.load_profile(profile)
    try:
        assert examples(60).max_examples == n
        assert examples(1).max_examples == max(1, n // 60)
    finally:
        settings.load_profile("before")


@pytest.mark.parametrize("path", KERNEL_TESTS, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_law_of_a_kernel_has_a_number_of_its_own(path):
    assert "max_examples" not in path.read_text(encoding="utf-8")
