"""What a measurement ran on, and whether the machine was quiet enough for it to mean something."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import Any

BUSY = 0.35  # of the cores: other work above this share makes a ratio worthless


def describe(packages: tuple[str, ...]) -> dict[str, Any]:
    """CPU, cores, versions and load, for the JSON that a benchmark writes."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "load_before": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def other_load(seconds: float = 3.0) -> float:
    """The share of all cores that other processes use, watched for a few seconds while this one sleeps."""
    before = _busy_jiffies()
    if before is None:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    time.sleep(seconds)
    after = _busy_jiffies()
    assert after is not None
    return (after[0] - before[0]) / max(1, after[1] - before[1])


def _busy_jiffies() -> tuple[int, int] | None:
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    fields = [int(value) for value in stat.read_text().splitlines()[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def require_quiet(force: bool) -> float:
    """End the program when other work would spoil the ratio; `force` measures all the same and says so."""
    load = other_load()
    if load > BUSY and not force:
        sys.exit(f"The machine is busy ({load:.0%} of its cores): no ratio. Wait, or add --force.")
    return load


class Watch:
    """Looks at the machine while this process works: the share of all cores that other processes use."""

    def __init__(self) -> None:
        self._before = _busy_jiffies()
        self._own = self._own_seconds()

    def others(self) -> float:
        """Since the watch began; by the load of the last minute where the system does not count."""
        after = _busy_jiffies()
        if self._before is None or after is None:
            return os.getloadavg()[0] / (os.cpu_count() or 1)
        own = (self._own_seconds() - self._own) * os.sysconf("SC_CLK_TCK")
        return max(0.0, after[0] - self._before[0] - own) / max(1, after[1] - self._before[1])

    def _own_seconds(self) -> float:
        """Of this process and of those it has started and waited for."""
        return sum(os.times()[:4])


def resident_bytes() -> int:
    """The resident size of this process now, and the start of a new peak."""
    status = Path("/proc/self/status")
    if not status.exists():
        return _largest()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    return _field(status, "VmRSS")


def peak_bytes() -> int:
    """The largest resident size of this process since `resident_bytes` was called."""
    status = Path("/proc/self/status")
    return _field(status, "VmHWM") if status.exists() else _largest()


def _field(status: Path, name: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _largest() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
