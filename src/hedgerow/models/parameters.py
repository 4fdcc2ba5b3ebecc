"""Checks of estimator parameters, made in `fit`: one clear error for a value that cannot be meant."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from hedgerow.errors import InputError


def check_number(
    name: str,
    value: Any,
    *,
    low: float,
    high: float = np.inf,
    whole: bool = False,
    strict: bool = False,
) -> None:
    """Refuse what is not a number (a whole one) from low to high; with `strict` the bounds are refused too."""
    kind = numbers.Integral if whole else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_)) and bool(np.isfinite(float(value)))
    inside = good and ((low < value < high) if strict else (low <= value <= high))
    if not inside:
        signs = (">", "<") if strict else ("≥", "≤")
        bounds = " and ".join(f"{sign} {bound}" for sign, bound in zip(signs, (low, high)) if np.isfinite(bound))
        raise InputError(
            f"{name} is {value!r}", hint=f"Give a {'whole ' if whole else ''}number {bounds}".strip() + "."
        )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(map(repr, choices))}.")
