"""How much memory some work takes at its height, where the system tells: Linux does."""

from __future__ import annotations

import gc
import re
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """A context: afterwards `size` says how far the memory of this process rose above what it had before; None where
    the system cannot tell."""

    size: int | None = None

    def __enter__(self) -> PeakMemory:
        gc.collect()
        try:
            _RESET.write_text("5")  # the kernel begins anew to note the peak
            self._before = _read("VmRSS")
        except OSError:
            self._before = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None and (peak := _read("VmHWM")) is not None:
            self.size = max(0, peak - self._before)


def _read(name: str) -> int | None:
    """An entry of the status of this process, in bytes."""
    entry = re.search(rf"^{name}:\s*(\d+)", _STATUS.read_text(errors="replace"), re.MULTILINE)
    return int(entry[1]) * 1024 if entry else None
