"""The peak of memory of a TreeCRF's fit, in bytes a row.

    python benchmarks/tree_memory.py [--rows 500000] [--columns 32] [--labels 5] [--window 2] [--edges joint]

Made numbers of double precision in sequences of 100 rows, without early stopping, which would copy a part of the data.
Two fits, each in a process of its own: one is given an encoded corpus, and counts what rises above it; the other is
given arrays, and counts the encoded corpus, too. A small fit before them compiles the kernels.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import peak_bytes, resident_bytes

LENGTH = 100


def rise(edges: str, what: str, given: argparse.Namespace) -> float:
    """By how many bytes a row the peak of memory rises in a fit."""
    from hedgerow import TreeCRF
    from hedgerow.data.encoding import learn

    rng, n = np.random.default_rng(0), given.rows // LENGTH
    y = ((rng.random((n, LENGTH)) < 0.1).cumsum(axis=1) % given.labels).ravel()
    X = rng.normal(size=(n * LENGTH, given.columns))
    X[:, ::3] += 0.5 * y[:, None]
    model = TreeCRF(edges=edges, window=given.window, n_estimators=3, early_stopping=False, random_state=0)
    model.fit(X[:4000], y[:4000], lengths=[LENGTH] * 40)
    lengths = [LENGTH] * n
    dataset = learn(X, y, window=given.window, lengths=lengths) if what == "corpus" else None
    before = resident_bytes()
    if dataset is None:
        model.fit(X, y, lengths=lengths)
    else:
        model.fit(dataset)
    return (peak_bytes() - before) / len(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    for name, default in (("rows", 500_000), ("columns", 32), ("labels", 5), ("window", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--edges", choices=("joint", "shared"), action="append", help="by default both")
    parser.add_argument("--of", choices=("corpus", "arrays"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.of:
        print(rise(given.edges[-1], given.of, given))
        return
    for edges in given.edges or ("joint", "shared"):
        command = [sys.executable, *sys.argv, "--edges", edges, "--of"]
        for what in ("corpus", "arrays"):
            found = subprocess.run([*command, what], check=True, capture_output=True, text=True).stdout
            print(f"{edges}: {float(found):.0f} bytes a row above the {what}", flush=True)


if __name__ == "__main__":
    main()
