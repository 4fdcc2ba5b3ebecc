"""Training by Dask's workers beside training by threads: time an iteration, bytes, round trips, memory, and bits.

    python -m benchmarks.distributed                      # 0.1 million rows, two workers
    python -m benchmarks.distributed --rows 2_000_000 --iterations 3
    python -m benchmarks.distributed --rows 10_000_000 --workers 1 --out-of-core --memory 2.4GB --iterations 3
    python -m benchmarks.distributed --rows 2_000_000 --local --iterations 3    # the memory of one process

Rows are made by a seeded generator into Parquet files, sequences of 100 rows: 32 numbers, 5 labels or as many as are
given, a window of 2 and 32 leaves. Both sides do the same iterations, and the trees are compared, bit by bit.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import hedgerow
import hedgerow.dask
from hedgerow.dask import engine

N_COLUMNS, LENGTH = 32, 100
NAMES = {"by": "machine", "label": "state"}


def make_files(folder: Path, n_rows: int, rows_a_file: int, n_labels: int) -> list[str]:
    """Parquet files of whole sequences."""
    paths = []
    for j, first in enumerate(range(0, n_rows, rows_a_file)):
        paths.append(str(folder / f"{j:05d}.parquet"))
        if Path(paths[-1]).exists():  # those of an earlier run
            continue
        rng, n = np.random.default_rng([7, j]), min(rows_a_file, n_rows - first)
        state = np.repeat(rng.integers(n_labels, size=-(-n // 10)), 10)[:n]
        columns = {
            f"x{c:02d}": (0.4 * state * (c % 3 - 1) + rng.normal(size=n)).astype(np.float32) for c in range(N_COLUMNS)
        }
        frame = pd.DataFrame(columns | {"machine": (first + np.arange(n)) // LENGTH, "state": state})
        frame.to_parquet(paths[-1])
    return paths


def options(args: argparse.Namespace) -> dict[str, object]:
    return {
        "window": 2, "max_leaf_nodes": 32, "edges": args.edges, "early_stopping": False,
        "n_estimators": args.iterations, "random_state": 0,
    }  # fmt: skip


class Meter:
    """Counts what the driver asks of pools, and what that brings it."""

    def __init__(self) -> None:
        self.n_calls, self.received, self.sent = 0, 0, 0
        whole = engine.DaskPool._all

        def ask(pool: engine.DaskPool, name: str, *arguments: object) -> object:
            answers = whole(pool, name, *arguments)
            self.n_calls += 1
            self.received += size_of(answers)
            self.sent += size_of(arguments) * pool.n_members
            return answers

        engine.DaskPool._all = ask  # type: ignore[assignment, method-assign]


def size_of(value: object) -> int:
    if isinstance(value, (np.ndarray, bytes)):
        return memoryview(value).nbytes
    return sum(map(size_of, value)) if isinstance(value, (list, tuple)) else 8


class Clock:
    """Told of each iteration: CPU seconds of this process and of the workers, and seconds by the clock."""

    def __init__(self, client: Any = None) -> None:
        self.client, self.marks = client, list[tuple[float, float, float]]()

    def __call__(self, step: object) -> None:
        workers = 0.0 if self.client is None else sum(self.client.run(time.process_time).values())
        self.marks.append((time.process_time(), workers, time.perf_counter()))

    def __str__(self) -> str:
        """Of an iteration, without the first one, which warms up."""
        own, workers, clock = (np.array(self.marks[-1]) - self.marks[1]) / (len(self.marks) - 2)
        both = f"{own + workers:.2f} CPU s an iteration ({own:.2f} here, {workers:.2f} by workers)"
        return f"{both}, {clock:.2f} s by the clock"


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Together:
    """The most memory that this process and all that it started had at one time, in MB, by ten looks a second."""

    def __init__(self) -> None:
        self.peak, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Together:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        import psutil

        own = psutil.Process()
        while not self._over.wait(0.1):
            total = 0
            for one in [own, *own.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    total += one.memory_info().rss
            self.peak = max(self.peak, total / 2**20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")), default=100_000)
    parser.add_argument("--labels", type=int, default=5, help="above 6 with shared edges an iteration has one tree")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--edges", choices=("shared", "joint"), default="shared")
    parser.add_argument("--memory", default="auto", help="of each worker")
    parser.add_argument("--folder", type=Path, help="of the files, which are kept there for the next run")
    parser.add_argument("--out-of-core", action="store_true", help="leave the fit in this process out")
    parser.add_argument("--local", action="store_true", help="leave the fit by workers out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = make_files(
            args.folder or Path(folder), args.rows, min(250_000, max(LENGTH, args.rows // 8)), args.labels
        )
        shared = None if args.local else by_workers(paths, args)
        local = None if args.out_of_core else by_threads(paths, args)
        if local is not None and shared is not None:
            same = all(
                np.array_equal(a.nodes, b.nodes) and np.array_equal(a.values, b.values)
                for a, b in zip(local, shared, strict=True)
            )
            print(f"the same bits: {same}")


def by_workers(paths: list[str], args: argparse.Namespace) -> list[Any]:
    """The trees that workers grow; prints what that takes."""
    with (
        dask.config.set(engine.SPILLING if args.out_of_core else {}),
        LocalCluster(
            n_workers=args.workers, threads_per_worker=args.threads, memory_limit=args.memory, dashboard_address=":0"
        ) as cluster,
        Client(cluster, direct_to_workers=True) as client,
        Together() as together,
    ):
        meter, began, first = Meter(), time.perf_counter(), peak_mb()
        watch = Clock(client)
        shared = hedgerow.dask.TreeCRF(client=client, **options(args)).fit(paths, **NAMES, callbacks=watch)
        whole, (_, cpu, ready) = time.perf_counter() - began, watch.marks[0]
        driver = peak_mb()
        peaks = client.run(peak_mb)
    n = args.iterations * args.labels
    print(f"{args.rows:,} rows, {args.workers} workers, {args.edges} edges, {args.iterations} iterations")
    print(f"shared: {watch}; {whole:.1f} s in all;")
    print(f"  {ready - began:.1f} s, and {cpu:.1f} CPU s by workers, up to the end of the first iteration")
    print(f"  {meter.n_calls / args.iterations:.1f} round trips an iteration; an iteration and label brings")
    print(f"  {meter.received / n / 1e6:.2f} MB to the driver, and takes {meter.sent / n / 1e6:.2f} MB from it")
    print(f"  memory: driver {driver:.0f} MB ({first:.0f} before), workers {[round(p) for p in peaks.values()]} MB,")
    print(f"  all together at one time {together.peak:.0f} MB")
    trees: list[Any] = shared.ensemble_.trees()
    return trees


def by_threads(paths: list[str], args: argparse.Namespace) -> list[Any]:
    """The trees that threads grow; prints what that takes."""
    first, watch = peak_mb(), Clock()
    frame = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
    local = hedgerow.TreeCRF(n_jobs=args.workers, **options(args)).fit(frame, **NAMES, callbacks=watch)
    print(f"local, {args.workers} threads: {watch}; memory {peak_mb():.0f} MB ({first:.0f} before)")
    trees: list[Any] = local.ensemble_.trees()
    return trees


if __name__ == "__main__":
    main()
