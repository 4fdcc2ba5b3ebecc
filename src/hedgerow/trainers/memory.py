"""Whether scores fit into memory: asked before they are made, since a system may promise what it does not have."""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.errors import InputError

_ARRAYS = 3  # scores, their exponentials, and gradients
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def check_joint_memory(n_positions: int, n_labels: int) -> None:
    """Refuse N·K² scores that this machine cannot hold."""
    needed = 8 * _ARRAYS * n_positions * n_labels**2
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise InputError(
            f"edges='joint' keeps {n_labels}² scores for each of {n_positions:,} positions: "
            f"{needed / 2**30:.1f} GB, and there are {limit / 2**30:.1f} GB of memory",
            hint="Use edges='shared', or fewer positions at once.",
        )


def memory_limit() -> int | None:
    """The bytes of memory that this process may have; None where the system does not say."""
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return None
    for path in _LIMITS:
        try:
            limit = min(limit, int(Path(path).read_text()))
        except (OSError, ValueError):  # not in a container, or one without a limit ("max")
            continue
    return limit if limit > 0 else None
