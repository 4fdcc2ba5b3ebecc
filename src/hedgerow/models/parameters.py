"""Checks of parameters, made before any work: one clear error for a value that cannot be meant."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.data.dataset import Window, window_offsets
from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.decoding import Decoder

LOG_LIKELIHOOD = "log_likelihood"  # the one metric that reads probabilities, not labels


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
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_)) and _is_finite(value)
    inside = good and ((low < value < high) if strict else (low <= value <= high))
    if not inside:
        signs = (">", "<") if strict else ("≥", "≤")
        bounds = " and ".join(f"{sign} {bound}" for sign, bound in zip(signs, (low, high)) if np.isfinite(bound))
        raise InputError(
            f"{name} is {value!r}", hint=f"Give a {'whole ' if whole else ''}number {bounds}".strip() + "."
        )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(map(repr, choices))}.")


def check_metric(metric: Any) -> None:
    """Refuse what early stopping cannot score by."""
    from hedgerow.metrics import get_metric

    if not (isinstance(metric, str) and metric == LOG_LIKELIHOOD):
        get_metric(metric, also=(LOG_LIKELIHOOD,))


def find_decoder(name: Any) -> Decoder:
    """The decoder of that name."""
    from hedgerow.decoding import DECODERS, decoder

    if not isinstance(name, str):
        raise InputError(f"decoder is {name!r}", hint=f"Choose one of {', '.join(map(repr, DECODERS))}.")
    return decoder(name)


def random_generator(random_state: Any) -> np.random.RandomState:
    """The generator that None, a seed or a RandomState stands for."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        hint = "Give None, a whole number from 0 to 2**32 - 1, or a numpy.random.RandomState."
        raise InputError(f"random_state is {random_state!r}", hint=hint) from error


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # a whole number that no float holds
        return False


def same_window(one: Window, other: Window) -> bool:
    """Whether two windows mean the same: 1 and (1, 1) do."""
    names = {"*"}.union(*(window for window in (one, other) if isinstance(window, Mapping)))
    return all(window_offsets(one, name) == window_offsets(other, name) for name in names)
