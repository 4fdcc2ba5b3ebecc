"""Ctrl-C: the first is noted, so that what is under way ends well and its result is kept; the second gives up.

SIGTERM, by which containers and batch systems stop a process, and SIGHUP, of a terminal that is gone, are the same.
"""

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

# SIGHUP is not everywhere.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_earlier: ContextVar[str] = ContextVar("earlier", default="")  # what Ctrl-C in an earlier stage means for this one


class CtrlC:
    """Listens while it is entered; one that is entered inside listens in its place.

    what : what the first Ctrl-C does, in words
    pressed : whether there was one, here or in an earlier stage of the same `fit`
    """

    def __init__(self, what: str) -> None:
        self.what, self.pressed = what, False
        self._old: dict[int, Any] = {}

    def __enter__(self) -> CtrlC:
        self.pressed = self.pressed or _earlier.get() == "ends"
        # Only the main thread may listen. A handler that Python did not set cannot be put back, and a job in the
        # background, which ignores Ctrl-C, or one that outlives its terminal (nohup), goes on ignoring it.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                current = signal.getsignal(number)
                if current not in (None, signal.SIG_IGN):
                    self._old[number] = current
                    signal.signal(number, self._press)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old = {}

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed or _earlier.get():
            raise KeyboardInterrupt
        self.pressed = True
        again = "press Ctrl-C again" if number == signal.SIGINT else f"send {signal.Signals(number).name} again"
        log.warning("%s; %s to give up at once", self.what, again)


@contextmanager
def stages() -> Iterator[None]:
    """Around a `fit` that does something before it trains: what `end_soon` or `end_whole` says holds inside it."""
    token = _earlier.set(_earlier.get())
    try:
        yield
    finally:
        _earlier.reset(token)


def end_soon() -> None:
    """Ctrl-C was pressed in an earlier stage: every training to come in this `fit` ends after its first iteration."""
    _earlier.set("ends")


def end_whole() -> None:
    """Ctrl-C was pressed in an earlier stage: the training to come is a whole one, and another Ctrl-C gives it up."""
    _earlier.set("goes on")
