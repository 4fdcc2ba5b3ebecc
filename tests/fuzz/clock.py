"""Ten seconds for an answer: of work, since others may be busy, and not of compiling, which is done once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hedgerow.jit import before_compiling

SECONDS = 10.0


class Slow(Exception):
    """No answer in time."""


def _hang(*_: Any) -> None:
    raise Slow("no answer in time")


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise `Slow` after so many seconds of work; the clock stands still while a kernel is compiled."""
    left = [seconds]

    def compiling(name: str) -> None:
        if name:
            left[0] = signal.setitimer(signal.ITIMER_PROF, 0)[0]
        else:
            signal.setitimer(signal.ITIMER_PROF, max(left[0], 0.01))

    before = signal.signal(signal.SIGPROF, _hang)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with before_compiling(compiling):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
