"""Threads whose number does not change a bit of the result.

Work is cut into chunks of whole sequences, by the data only. Chunk c belongs to lane c mod L; a lane does its chunks
in order, with an accumulator of its own; the caller adds the lanes' results in lane order. Threads take whole lanes,
so every sum has one order whatever the number of threads.

    chunks = plan_chunks(offsets)
    with Lanes(n_jobs, count_lanes(n_weights, len(chunks) - 1)) as lanes:
        lanes.run(work, len(chunks) - 1)        # calls work(lane, chunk)
        total = sum(results[lane] for lane in range(lanes.n_lanes))
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import INDEX, IndexArray

CHUNK_POSITIONS = 2000  # the messages of so many positions stay in the cache, and calls are few
MAX_LANES = 8
_WEIGHTS_A_LANE = 5_000_000  # above it, a gradient a lane costs more memory than threads are worth

Work = Callable[[int, int], None]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Chunk(NamedTuple):
    """The sequences first … last−1 of a corpus.

    rows : their flat positions
    offsets : int64[last − first + 1], where they begin and end, from the first of these positions
    """

    first: int
    last: int
    rows: slice
    offsets: IndexArray


def plan_chunks(offsets: IndexArray, target: int = CHUNK_POSITIONS) -> IndexArray:
    """Cut sequences into chunks of about `target` positions: chunk c has the sequences plan[c] … plan[c+1]−1.

    A chunk ends with the sequence that reaches the target, so a sequence longer than that may have others before it
    in its chunk, and none after.
    """
    offsets = np.asarray(offsets, dtype=INDEX)
    n_sequences = len(offsets) - 1
    cuts = [0]
    while cuts[-1] < n_sequences:
        reach = np.searchsorted(offsets, offsets[cuts[-1]] + target, side="left")
        cuts.append(min(max(int(reach), cuts[-1] + 1), n_sequences))
    return np.array(cuts, dtype=INDEX)


def cut_chunks(offsets: IndexArray, target: int = CHUNK_POSITIONS) -> list[Chunk]:
    """The chunks that `plan_chunks` plans."""
    bounds = pairwise(plan_chunks(offsets, target).tolist())
    return [Chunk(a, b, slice(int(offsets[a]), int(offsets[b])), offsets[a : b + 1] - offsets[a]) for a, b in bounds]


def over_chunks(
    function: Callable[[Chunk], Result], offsets: IndexArray, n_jobs: int | None, target: int = CHUNK_POSITIONS
) -> list[Result]:
    """function(chunk) for every chunk of a corpus, in threads, results in order."""
    return over_items(function, cut_chunks(offsets, target), n_jobs)


def over_items(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> list[Result]:
    """function(item) for every item, in threads, results in order."""
    results: list[Any] = [None] * len(items)

    def work(lane: int, i: int) -> None:
        results[i] = function(items[i])

    with Lanes(n_jobs, max(1, min(MAX_LANES, len(items)))) as lanes:
        lanes.run(work, len(items))
    return results


def count_lanes(n_weights: int, n_chunks: int) -> int:
    """How many lanes: eight, fewer for very many weights, never more than chunks. By the data only."""
    lanes = max(1, min(MAX_LANES, MAX_LANES * _WEIGHTS_A_LANE // max(1, n_weights)))
    return max(1, min(lanes, n_chunks))


def count_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None is 1, −1 is every core this process may use, −2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise InputError("⟦n_jobs=0⟧ is not supported", hint="Use None or 1 for one thread, −1 for every core.")
    if n_jobs > 0:
        return int(n_jobs)
    from joblib import cpu_count  # knows the limits of containers, and is slow to import

    return max(1, int(cpu_count()) + 1 + int(n_jobs))


class Lanes:
    """A pool of threads for one `fit` or `predict`; use it as a context manager.

    An error in a chunk, or Ctrl-C in the caller, stops every lane at its next chunk and is raised in the caller.
    Of several errors that of the earliest lane is raised. `n_threads` is how many lanes may be under way at once.
    """

    def __init__(self, n_jobs: int | None, n_lanes: int) -> None:
        self.n_lanes = n_lanes
        self.n_threads = min(count_threads(n_jobs), n_lanes)
        self._pool: ThreadPoolExecutor | None = None
        self._stop = threading.Event()
        self._turn = threading.Condition()
        self._next = 0

    def __enter__(self) -> Lanes:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="hedgerow")
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def run(self, work: Work, n_chunks: int, finish: Callable[[int], None] | None = None) -> None:
        """Call work(lane, chunk) for every chunk; return when all are done.

        `finish(lane)` is called after the last chunk of a lane, in the order of the lanes, never two at once: there the
        caller adds what the lane summed, and needs room for no more sums than threads.
        """
        self._stop.clear()
        self._next = 0
        if self._pool is None:
            for lane in range(self.n_lanes):
                self._run_lane(work, lane, n_chunks, finish)
            return
        futures = [self._pool.submit(self._run_lane, work, lane, n_chunks, finish) for lane in range(self.n_lanes)]
        try:
            pending = set(futures)
            while pending:  # in short pieces: on some systems an endless wait does not hear Ctrl-C
                _, pending = wait(pending, timeout=0.2)
        except BaseException:  # Ctrl-C included: lanes must not go on in the background
            self._stop.set()
            wait(futures)
            raise
        for future in futures:
            future.result()

    def _run_lane(self, work: Work, lane: int, n_chunks: int, finish: Callable[[int], None] | None) -> None:
        try:
            for chunk in range(lane, n_chunks, self.n_lanes):
                if self._stop.is_set():
                    return
                work(lane, chunk)
            if finish is not None:
                self._in_turn(lane, finish)
        except BaseException:
            self._stop.set()
            raise

    def _in_turn(self, lane: int, finish: Callable[[int], None]) -> None:
        """Wait for the lanes before this one. The pool starts lanes in order, so they are under way or done."""
        with self._turn:
            while self._next < lane:
                if self._stop.is_set():
                    return
                self._turn.wait(timeout=0.1)
            finish(lane)
            self._next = lane + 1
            self._turn.notify_all()
