"""The peak of memory of a TreeCRF's fit, in bytes a row.

    python benchmarks/tree_memory.py [--rows 500000] [--columns 32] [--labels 5] [--window 2]

Made numbers of double precision in sequences of 100 rows, without early stopping, which would copy a part of the data.
Two fits: one is given an encoded corpus, and counts what rises above it; the other is given arrays, and counts the
encoded corpus, too. A small fit before them compiles the kernels.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import peak_bytes, resident_bytes

LENGTH = 100


def main() -> None:
    from hedgerow import TreeCRF
    from hedgerow.data.encoding import learn

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    for name, default in (("rows", 500_000), ("columns", 32), ("labels", 5), ("window", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, n = np.random.default_rng(0), given.rows // LENGTH
    y = ((rng.random((n, LENGTH)) < 0.1).cumsum(axis=1) % given.labels).ravel()
    X = rng.normal(size=(n * LENGTH, given.columns))
    X[:, ::3] += 0.5 * y[:, None]
    for edges in ("joint", "shared"):
        model = TreeCRF(edges=edges, window=given.window, n_estimators=3, early_stopping=False, random_state=0)
        model.fit(X[:4000], y[:4000], lengths=[LENGTH] * 40)
        before = resident_bytes()
        model.fit(X, y, lengths=[LENGTH] * n)
        above_arrays = peak_bytes() - before
        dataset = learn(X, y, window=given.window, lengths=[LENGTH] * n)
        before = resident_bytes()
        model.fit(dataset)
        above_corpus = peak_bytes() - before
        print(f"{edges}: {above_corpus / len(y):.0f} bytes a row above the encoded corpus, ", end="")
        print(f"{above_arrays / len(y):.0f} above the arrays, of {X.nbytes // len(y)}")
        del dataset


if __name__ == "__main__":
    main()
