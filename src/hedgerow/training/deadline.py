"""When training has to end: what a search over models sets, and what every monitor asks after each iteration.

A deadline is no parameter of a model: the same model without one is another run, and not another model. So it is not
handed through estimators and trainers, but holds for all that is trained inside `with deadline.applied():`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Clock = Callable[[], float]

_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


class Deadline:
    """A moment on a clock that never goes back.

    seconds : from now; infinite where nothing but the work itself ends it
    clock : seconds since some moment
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self.end = self.began + seconds

    @property
    def elapsed(self) -> float:
        """Seconds since it was set."""
        return self.clock() - self.began

    @property
    def left(self) -> float:
        """Seconds that are left; 0 once it has passed."""
        return max(0.0, self.end - self.clock()) if math.isfinite(self.end) else math.inf

    @property
    def passed(self) -> bool:
        return self.left == 0.0

    def within(self, seconds: float) -> Deadline:
        """One that is so many seconds from now. It may be later than this one."""
        return Deadline(seconds, self.clock)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Every training inside ends at this deadline, after the iteration under way."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def current_deadline() -> Deadline | None:
    """The deadline of whatever is trained here and now."""
    return _current.get()
