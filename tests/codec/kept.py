"""Forged checkpoints: those of trainings that died, changed as model files are, sealed again, and gone on from.

    python -m tests.codec.kept --each 100 --seed 7 frank-wolfe trees

A training refuses them, or ends with a model that gives sane labels. Run it with NUMBA_BOUNDSCHECK=1, as `make fuzz`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from hedgerow import persistence
from hedgerow.errors import HedgerowError
from tests.fuzz.clock import limited
from tests.models.checkpoints import Died, Mortal, fitted
from tests.models.test_checkpoint import MODELS

from .mutants import mutate, seal, told, use


def writes(name: str, path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Checkpoints of a training: an early one, one on the way, and the last."""
    model, data = MODELS[name]
    whole = Mortal(path)
    fitted(model, data, whole)
    found = []
    for lives in sorted({2, (whole.writes + 1) // 2, whole.writes}):
        path.unlink(missing_ok=True)
        try:
            fitted(model, data, Mortal(path, lives))
        except Died:
            found.append(persistence.read(path))
    path.unlink(missing_ok=True)
    return found


def attempt(name: str, data: bytes, path: Path) -> str:
    """What becomes of a checkpoint: "refused" or "used"; anything else is raised."""
    path.write_bytes(data)
    model, corpus = MODELS[name]
    try:
        with limited(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            use(fitted(model, corpus, path), list(corpus[0][:3]))
    except HedgerowError:
        return "refused"
    finally:
        path.unlink(missing_ok=True)
    return "used"


def run(name: str, n: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Try n changed checkpoints of a training; how many were refused and used, and what went wrong."""
    outcomes, failures = Counter[str](), []
    with mock.patch.object(persistence.os, "fsync", return_value=None):
        known = writes(name, folder / "kept")
        for i in range(n):
            rng = np.random.default_rng([seed, i, zlib.crc32(name.encode())])
            header, tensors, done = mutate(rng, *known[i % len(known)])
            try:
                outcomes[attempt(name, seal(header, tensors), folder / "kept")] += 1
            except Exception as error:
                outcomes["failed"] += 1
                failures.append(f"checkpoint of {name}, seed {seed}, mutant {i} ({', '.join(done)}): {told(error)}")
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=10, help="mutants of every training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", help=f"trainings; all by default: {', '.join(MODELS)}")
    options = parser.parse_args()
    total, failures = Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or MODELS:
            outcomes, wrong = run(name, options.each, options.seed, Path(folder))
            total += outcomes
            failures += wrong
            print(f"checkpoint of {name}: {dict(outcomes)}", *wrong, sep="\n", flush=True)
    print(f"seed {options.seed}, {total.total()} checkpoints: {dict(total)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
