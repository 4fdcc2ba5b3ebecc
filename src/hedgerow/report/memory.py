"""How much memory some work takes at its height, where the system tells: Linux does."""

from __future__ import annotations

import gc
from types import TracebackType

_STATUS = "/proc/self/status"
_RESET = "/proc/self/clear_refs"


class PeakMemory:
    """A context: afterwards `size` says how far the memory of this process rose above what it had before; None where
    the system cannot tell."""

    size: int | None = None

    def __enter__(self) -> PeakMemory:
        gc.collect()
        self._before = _read("VmRSS") if _reset_peak() else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        peak = _read("VmHWM")
        if self._before is not None and peak is not None:
            self.size = max(0, peak - self._before)


def _reset_peak() -> bool:
    """Let the kernel begin anew to note the peak."""
    try:
        with open(_RESET, "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _read(name: str) -> int | None:
    """An entry of the status of this process, in bytes."""
    try:
        with open(_STATUS, encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
