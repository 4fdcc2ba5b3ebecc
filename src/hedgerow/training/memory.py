"""Whether scores fit into memory: asked before they are made, since a system may promise what it does not have."""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.chain.edges.history_rows import count_rows
from hedgerow.errors import InputError, warn
from hedgerow.linear.chain import ChainLayout

_ARRAYS = 3  # scores, their exponentials, and gradients
_A_WEIGHT = 112  # bytes of the whole-corpus trainers: eight vectors, and twelve of single precision
_MANY_STEPS = 10**12  # from label to label: what is worth a warning
_A_STEP = 1e-9  # seconds
_LITTLE = 2**12  # bytes that there are
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def check_joint_memory(n_positions: int, n_labels: int, n_histories: int | None = None) -> None:
    """Refuse N·K² scores, or N·K·H of H histories, that this machine cannot hold."""
    n_before = n_labels if n_histories is None else n_histories
    needed = 8 * _ARRAYS * n_positions * n_labels * n_before
    arcs = f"{n_labels}² scores"
    if n_histories is not None:
        arcs = f"{n_labels * n_before:,} arcs ({n_labels} labels after {n_before:,} histories)"
    what = f"⟦edges='joint'⟧ keeps {arcs} for each of {n_positions:,} positions:"
    _check(needed, what, "Use ⟦edges='shared'⟧, a lower ⟦order⟧, or fewer positions at once.")


def check_chain_memory(layout: ChainLayout, order: int, longest: int, n_positions: int, n_threads: int) -> None:
    """Refuse a linear chain whose training this machine cannot hold.

    longest, n_positions : of a sequence, and of a chunk; each thread has messages for one chunk at a time
    """
    K, histories = layout.n_labels, layout.histories
    each = n_positions * (2 * K + 2)
    if histories is not None:
        S = histories.n_states
        each += count_rows(longest, S) * S + 3 * S + histories.n_arcs
    needed = layout.n_weights * (_A_WEIGHT + 8 * n_threads) + 8 * n_threads * each
    what = f"⟦order={order}⟧ has {layout.n_arcs:,} arcs and {layout.n_weights:,} weights in all: training needs"
    hint = "Use a lower ⟦order⟧, ⟦transitions='observed'⟧ with ⟦min_frequency⟧, fewer features, or fewer threads."
    _check(needed, what, hint)


def check_k_best_memory(k: int, n_labels: int, longest: int, n_positions: int) -> None:
    """Refuse k labelings of every sequence, whose paths to each label this machine cannot hold."""
    needed = 24 * k * n_labels * longest + 16 * k * n_positions
    hint = "Give a smaller ⟦k⟧, or fewer sequences at once."
    _check(needed, f"⟦k={k}⟧ labelings of {n_positions:,} positions need", hint)


def check_pairs_memory(n_labels: int, n_positions: int) -> None:
    """Refuse pairs of labels that this machine cannot hold; say how long each pass over them takes where it is long."""
    what = f"{n_labels:,} labels have {n_labels**2:,} pairs, and tables of them need"
    _check(32 * n_labels**2, what, "Use fewer labels.")
    steps = n_positions * n_labels**2
    if steps > _MANY_STEPS:
        text = f"{n_labels:,} labels at {n_positions:,} positions are {steps:.1g} steps from label to label"
        hint = "Use fewer labels, a SlidingWindow, or ⟦order=0⟧."
        warn(f"{text}: each pass over them may take {steps * _A_STEP / 60:,.0f} minutes. {hint}", stacklevel=2)


def check_leaves_memory(n_leaves: int, n_cells: float, n_labels: int, limit: float) -> None:
    """Refuse a tree for all labels whose leaves have more sums than half the memory of a worker that adds them up."""
    what = f"one tree for {n_labels} labels: half of a worker's memory is for the sums of its leaves, which take"
    hint = "Set ⟦multi_strategy='one_output_per_tree'⟧, lower ⟦max_bins⟧, or give workers more memory, or more workers."
    _check(8 * n_leaves * n_cells * n_labels, what, hint, 0.5 * limit)


def check_lattice_memory(form: str, n_labels: int, n_edges: int) -> None:
    """Refuse pairs of labels on edges that this machine cannot hold.

    n_edges : of the largest graph
    """
    K = n_labels
    n_values = {"full": K * K, "symmetric": K * (K + 1) // 2}.get(form, 1)
    what = f"⟦form={form!r}⟧ of {K:,} labels has {n_values:,} values of an edge, and an item {n_edges:,} edges:"
    _check(16 * K * K * (n_values + n_edges), what, "Use ⟦form='ising'⟧, fewer labels, or smaller items.")


def _check(needed: float, what: str, hint: str, limit: float | None = None) -> None:
    """Refuse what needs more bytes than there are. To ask how many these are takes longer than a few positions do."""
    limit = memory_limit() if limit is None and needed > _LITTLE else limit
    if limit is not None and needed > limit:
        sizes = f"{needed / 2**30:.1f} GB, and there are {limit / 2**30:.1f} GB of memory"
        raise InputError(f"{what} {sizes}", hint=hint)


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
