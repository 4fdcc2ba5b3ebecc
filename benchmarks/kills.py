"""Trainings that are killed (SIGKILL) at random moments and go on from their checkpoint: do they end with the same
bits?

    python -m benchmarks.kills --times 50

Each model is trained in a process of its own, once without a checkpoint, and then with one that is written after every
iteration. This process is killed after a random part of the time that the first took, and started again, until it ends.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

FITS = ("linear", "adagrad", "trees", "hmm")


def train(name: str, path: str | None) -> str:
    """Train a model; a hash of all that it has learnt."""
    import hedgerow
    from hedgerow.datasets import make_sequences
    from hedgerow.estimators.files import pack_model

    warnings.simplefilter("ignore")
    X, y = make_sequences(120, n_tokens=60, mean_length=10, random_state=0)
    model: Any = {
        "linear": lambda: hedgerow.LinearCRF(l2=0.01, early_stopping=True, random_state=0),
        "adagrad": lambda: hedgerow.LinearCRF(trainer="adagrad", random_state=0),
        "trees": lambda: hedgerow.TreeCRF(max_leaf_nodes=8, n_iter_no_change=4, random_state=0),
        "hmm": lambda: hedgerow.HMM(max_iter=300, tol=1e-12),
    }[name]()
    if name == "hmm":
        y = [[None if t % 2 else label for t, label in enumerate(one)] for one in y]
    print("begins", flush=True)
    model.fit(X, y, checkpoint=None if path is None else hedgerow.Checkpoint(path, every=0.0))
    header, tensors = pack_model(model)
    found = hashlib.sha256(repr(header).encode())
    for tensor in sorted(tensors):
        found.update(tensor.encode() + tensors[tensor].tobytes())
    return found.hexdigest()


def run(name: str, path: str, kill_after: float | None) -> tuple[str | None, float]:
    """Train in a process, which is killed so many seconds after training begins; what it found, or None, and how long
    it took from there."""
    command = [sys.executable, "-m", "benchmarks.kills", "--train", name, *([path] if path else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        try:
            out, _ = process.communicate(timeout=kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, time.monotonic() - began
    if process.returncode:
        raise SystemExit(f"{name} failed")
    return out.strip(), time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50, help="how many kills at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        print(train(given.train[0], given.train[1] if len(given.train) > 1 else None))
        return
    draws, kills, rounds = random.Random(given.seed), 0, 0
    expected = {name: run(name, "", None) for name in FITS}
    with tempfile.TemporaryDirectory() as folder:
        while kills < given.times:
            name = FITS[rounds % len(FITS)]
            path, (whole, seconds), found = os.path.join(folder, name), expected[name], None
            while found is None:
                found, _ = run(name, path, draws.uniform(0.02, 0.7) * max(seconds, 0.5))
                kills += found is None
            rounds += 1
            print(f"{name:8} {'the same bits' if found == whole else 'OTHER BITS'}, {kills} kills so far", flush=True)
            if found != whole or Path(path).exists():
                raise SystemExit(f"{name}: {found} and {whole}, seed {given.seed}")
    print(f"{kills} kills in {rounds} trainings (seed {given.seed}): the same bits in all")


if __name__ == "__main__":
    main()
