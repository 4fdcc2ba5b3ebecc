"""Numbers in bulk: LinearCRF on embeddings beside scikit-learn's LogisticRegression, and many data frames.

    python benchmarks/dense.py [--positions 120000] [--columns 300] [--labels 9] [--output dense.json]

Made vectors of single precision, in sentences of 20 positions, with labels that depend on them. Each contender has a
process of its own on one thread: CPU seconds of the fit, iterations, seconds an iteration, and by how much the peak of
memory rose above what there was before the fit, in parts of X. The frames are 54 sequences of 301 columns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = ("hedgerow", "numpy", "scikit-learn", "numba")
LENGTH = 20


def made(n: int, n_columns: int, n_labels: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_columns), dtype=np.float32)
    scores = X @ rng.normal(size=(n_columns, n_labels)).astype(np.float32) * 0.2 + rng.gumbel(size=(n, n_labels))
    return X, scores.argmax(axis=1).astype(str)


def child(name: str, n: int, n_columns: int, n_labels: int) -> dict[str, Any]:
    from benchmarks.machine import peak_bytes, resident_bytes

    warnings.simplefilter("ignore")
    if name == "frames":
        return frames()
    X, y = made(n, n_columns, n_labels)
    if name == "LinearCRF":
        from hedgerow import LinearCRF

        LinearCRF(window=0, n_jobs=1, max_iter=2).fit(X[:400], y[:400], lengths=[LENGTH] * (400 // LENGTH))
        model, lengths = LinearCRF(window=0, n_jobs=1), {"lengths": [LENGTH] * (n // LENGTH)}
    else:
        from sklearn.linear_model import LogisticRegression

        LogisticRegression(max_iter=2).fit(X[:400], y[:400])
        model, lengths = LogisticRegression(max_iter=500), {}
    before, began = resident_bytes(), time.process_time()
    model.fit(X, y, **lengths)
    seconds, rose = time.process_time() - began, peak_bytes() - before
    iterations = int(max(model.n_iter_)) if name != "LinearCRF" else int(model.n_iter_)
    right = model.score(X, y, **lengths)
    return {
        "seconds": seconds, "iterations": iterations, "an_iteration": seconds / iterations,
        "memory_of_X": rose / X.nbytes,
        "right_in_training": float(right),
    }  # fmt: skip


def frames() -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    from hedgerow import LinearCRF

    rng = np.random.default_rng(0)
    X = [pd.DataFrame(rng.normal(size=(60, 300))).add_prefix("c").assign(place="here") for _ in range(54)]
    y = [["up" if value > 0 else "down" for value in frame["c0"]] for frame in X]
    LinearCRF(window=0, max_iter=5, n_jobs=1).fit(X[:3], y[:3])
    began = time.process_time()
    LinearCRF(window=0, max_iter=5, n_jobs=1).fit(X, y)
    return {"seconds": time.process_time() - began}


def run(name: str, *sizes: int) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, __file__, "--child", name, "--positions", str(sizes[0]), "--columns", str(sizes[1]),
         "--labels", str(sizes[2])],
        env=os.environ | dict.fromkeys(THREADS, "1"), check=True, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=120_000)
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--labels", type=int, default=9)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = asked.positions, asked.columns, asked.labels
    if asked.child:
        print(json.dumps(child(asked.child, *sizes)))
        return
    from benchmarks.machine import describe

    machine = describe(PACKAGES)
    found = {name: run(name, *sizes) for name in ("LinearCRF", "LogisticRegression")}
    print("contender            CPU s  iterations  s an iteration  memory above X, in parts of X  right in training")
    for name, one in found.items():
        print(f"{name:20} {one['seconds']:5.1f}  {one['iterations']:10}  {one['an_iteration']:14.3f}"
              f"  {one['memory_of_X']:29.2f}  {one['right_in_training']:.4f}")  # fmt: skip
    ratio = found["LinearCRF"]["an_iteration"] / found["LogisticRegression"]["an_iteration"]
    print(f"an iteration of LinearCRF takes {ratio:.2f} times one of LogisticRegression")
    found["frames"] = run("frames", *sizes)
    print(f"54 frames of 301 columns, five iterations: {found['frames']['seconds']:.2f} CPU s")
    if asked.output:
        asked.output.write_text(json.dumps({"machine": machine, "sizes": sizes, "results": found}, indent=1))


if __name__ == "__main__":
    main()
