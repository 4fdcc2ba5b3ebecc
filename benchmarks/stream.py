"""The time of a step of a stream, in CPU µs of one thread.

    python benchmarks/stream.py [--steps 2000] [--quick]

Five labels, 32 numbers a position; and words of three columns. Medians of all steps but the first.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import Watch, describe


def step_us(model: Any, rows: list[Any], lag: int, steps: int) -> float:
    """The median of the CPU time of a step."""
    stream, found = model.stream(lag), []
    stream.extend(rows[:20])
    for i in range(steps):
        begin = time.process_time_ns()
        stream.push(rows[i % len(rows)])
        found.append(time.process_time_ns() - begin)
    return statistics.median(found) / 1000


def main() -> None:
    from hedgerow import HMM, LinearCRF, TreeCRF

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="small models")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    about, watch = describe(("numpy", "numba")), Watch()
    rng = np.random.default_rng(0)
    y = (rng.random((60, 100)) < 0.1).cumsum(axis=1) % 5
    X = rng.normal(size=(60, 100, 32)) + 0.5 * y[..., None] * (np.arange(32) % 3 == 0)
    codes = (y + rng.integers(0, 3, y.shape)).tolist()
    words = [[{"word": f"w{c}", "pos": f"p{c % 3}", "first": c > 3} for c in row] for row in codes]
    n, before = 20 if given.quick else 200, (2, 0)
    trees: dict[str, Any] = {"n_estimators": n, "early_stopping": False, "max_leaf_nodes": 16, "random_state": 0}
    models: list[tuple[str, Any, Any]] = [
        ("LinearCRF, words", LinearCRF(window=0, max_iter=20), words),
        ("LinearCRF, words, two before", LinearCRF(window=before, max_iter=20), words),
        ("LinearCRF, numbers", LinearCRF(window=0, max_iter=20), list(X)),
        ("HMM, words", HMM(), words),
        (f"TreeCRF, shared edges, {n} iterations", TreeCRF(edges="shared", window=0, **trees), list(X)),
        (
            f"TreeCRF, shared edges, {n} iterations, two before",
            TreeCRF(edges="shared", window=(2, 0), **trees),
            list(X),
        ),
        (f"TreeCRF, joint edges, {n} iterations", TreeCRF(edges="joint", window=0, **trees), list(X)),
    ]
    print("| CPU µs a step, median | lag 0 | lag 5 |\n| --- | --- | --- |")
    for name, model, data in models:
        model.fit(data, y.tolist())
        rows = [row for sequence in data[:5] for row in sequence]
        times = [step_us(model, rows, lag, given.steps) for lag in (0, 5)]
        print(f"| {name} | {times[0]:,.0f} | {times[1]:,.0f} |")
    print(f"{about['cpu']}; others used {watch.others():.0%} of the machine.")


if __name__ == "__main__":
    main()
