"""How many examples a law is tried on."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(n: int, **more: Any) -> settings:
    """So many where Hypothesis tries a hundred by default. `settings(max_examples=n)` would be n in every profile: as
    plain Python, where a law takes a hundred times as long, and where it is searched thoroughly."""
    return settings(max_examples=max(1, n * settings.default.max_examples // 100), **more)
