"""Trainings that are killed (SIGKILL) at random moments and go on from their checkpoint: do they end with the same
bits?

    python -m benchmarks.kills --times 50

Each model is trained once without a checkpoint, and then in a process of its own with one that is written after every
iteration. That process is killed after a random part of the time that the first took, and another goes on, until one
comes to the end.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import hedgerow
from hedgerow.datasets import make_sequences
from hedgerow.estimators.files import pack_model

FITS: dict[str, Any] = {
    "linear": lambda: hedgerow.LinearCRF(l2=0.01, early_stopping=True, random_state=0, n_jobs=1),
    "adagrad": lambda: hedgerow.LinearCRF(window=0, trainer="adagrad", random_state=0, n_jobs=1),
    "trees": lambda: hedgerow.TreeCRF(max_leaf_nodes=8, n_iter_no_change=4, random_state=0, n_jobs=1),
    "hmm": lambda: hedgerow.HMM(max_iter=200, tol=1e-12, n_jobs=1),
}


def train(name: str, path: str | None = None) -> str:
    """Train a model; a hash of all that it has learnt."""
    X, y = make_sequences(120, n_tokens=60, mean_length=10, random_state=0)
    if name == "hmm":
        y = [[None if t % 2 else label for t, label in enumerate(one)] for one in y]
    model = FITS[name]().fit(X, y, checkpoint=None if path is None else hedgerow.Checkpoint(path, every=0.0))
    header, tensors = pack_model(model)
    found = hashlib.sha256(repr(header).encode())
    for tensor in sorted(tensors):
        found.update(tensor.encode() + tensors[tensor].tobytes())
    return found.hexdigest()


def run(name: str, path: str, out: str, seconds: float) -> str | None:
    """Train in another process, which is killed after so many seconds; what it found, or None where it was killed."""
    child = os.fork()  # this process has one thread, and all kernels are loaded
    if not child:
        try:
            Path(out).write_text(train(name, path))
            os._exit(0)
        finally:
            os._exit(1)
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            break
        time.sleep(0.001)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{name} failed")
    return Path(out).read_text()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50, help="how many kills at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+", default=list(FITS), choices=list(FITS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    draws, kills, rounds = random.Random(given.seed), 0, 0
    expected = {}
    for name in given.models:
        train(name)  # kernels are compiled
        began = time.monotonic()
        expected[name] = train(name), time.monotonic() - began
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "kept"), os.path.join(folder, "out")
        while kills < given.times:
            name, before, found = given.models[rounds % len(given.models)], kills, None
            whole, seconds = expected[name]
            while found is None:
                found = run(name, path, out, draws.uniform(0.05, 1.0) * seconds)
                kills += found is None
            rounds += 1
            same = "the same bits" if found == whole else "OTHER BITS"
            print(f"{name:8} killed {kills - before} times, {same}; {kills} kills so far", flush=True)
            if found != whole or os.listdir(folder) != ["out"]:
                sys.exit(f"{name}: {found} in place of {whole}, seed {given.seed}, files {os.listdir(folder)}")
    print(f"{kills} kills in {rounds} trainings (seed {given.seed}): the same bits in all")


if __name__ == "__main__":
    main()
