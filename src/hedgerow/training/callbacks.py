"""Functions of users that are told of every iteration, and may end training.

As a deadline is, they are no parameters of a model: they hold for all that is trained inside `with listening(...):`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hedgerow.errors import InputError

Callback = Callable[[Any], Any]

_current: ContextVar[tuple[Callback, ...]] = ContextVar("callbacks", default=())


@contextmanager
def listening(callbacks: Callback | Sequence[Callback] | None) -> Iterator[None]:
    """Every training inside tells these functions, beside those of a `fit` around it."""
    given = [callbacks] if callable(callbacks) else list(callbacks or ())
    for one in given:
        if not callable(one):
            what = f"⟦callbacks⟧ holds {one!r}, which is not a function"
            raise InputError(what, hint="Give functions of a step: callbacks=[lambda step: step.loss < 10].")
    token = _current.set((*_current.get(), *given))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def muted() -> Iterator[None]:
    """Around what is trained for a choice, and thrown away: no one is told."""
    token = _current.set(())
    try:
        yield
    finally:
        _current.reset(token)


def current_callbacks() -> tuple[Callback, ...]:
    """The functions that are told of whatever is trained here and now."""
    return _current.get()
