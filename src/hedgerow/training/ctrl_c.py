"""Ctrl-C: the first is noted, so that what is under way ends well and its result is kept; the second gives up."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

log = logging.getLogger("hedgerow")

_ending: ContextVar[bool] = ContextVar("ending", default=False)


class CtrlC:
    """Listens while it is entered; one that is entered inside listens in its place.

    what : what the first Ctrl-C does, in words
    pressed : whether there was one, here or in an earlier stage of the same `fit`
    """

    def __init__(self, what: str) -> None:
        self.what, self.pressed = what, False
        self._old: Any = None

    def __enter__(self) -> CtrlC:
        self.pressed = self.pressed or _ending.get()
        # Only the main thread may listen. A handler that Python did not set cannot be put back, and a job in the
        # background, which ignores Ctrl-C, goes on ignoring it.
        current = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and current not in (None, signal.SIG_IGN):
            self._old = current
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *error: object) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        log.warning("%s; press Ctrl-C again to give up at once", self.what)


@contextmanager
def stages() -> Iterator[None]:
    """Around a `fit` that does something before it trains: what `end_soon` says holds inside it."""
    token = _ending.set(_ending.get())
    try:
        yield
    finally:
        _ending.reset(token)


def end_soon() -> None:
    """Ctrl-C was pressed in an earlier stage: every training to come in this `fit` ends after its first iteration."""
    _ending.set(True)
