"""Eight threads that predict and one that refits, for minutes: answers stay those of one of the models, to the bit, and
memory stays flat.

    python -m tests.fuzz.soak --minutes 10
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow

THREADS = 8
GROWTH = 30e6  # bytes that memory may grow by after the first fifth of the time


def resident() -> float:
    """Bytes of memory that this process has now; where the system does not say, the most it had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * float(resource.getpagesize())
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def corpus(seed: int) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    y = [rng.integers(3, size=n).tolist() for n in rng.integers(3, 30, size=40)]
    return [np.array(own)[:, None] + rng.normal(size=(len(own), 2)) for own in y], y


def models() -> list[Any]:
    """One of weights and one of trees: short sequences, chunks and threads all have their own ways through them."""
    trees = hedgerow.TreeCRF(n_estimators=5, early_stopping=False, window=1, random_state=0)
    return [hedgerow.LinearCRF(tol=0.01, window=1), trees]


def soak(seconds: float) -> tuple[int, int, list[float], list[str]]:
    """Predictions, fits, memory now and then, and what went wrong."""
    parts = [corpus(seed) for seed in range(3)]
    asked = parts[0][0]
    known = [[clone(model).fit(*part) for part in parts] for model in models()]
    allowed = [{answer(model, asked) for model in fitted} for fitted in known]
    serving = [fitted[0] for fitted in known]
    counts, faults, stop = [0] * THREADS, list[str](), threading.Event()

    def predict(lane: int) -> None:
        while not stop.is_set():
            which = lane % len(serving)
            try:
                if answer(serving[which], asked) not in allowed[which]:
                    faults.append(f"thread {lane}: an answer that none of the models gives")
            except Exception as error:
                faults.append(f"thread {lane}: {error!r}")
            counts[lane] += 1

    threads = [threading.Thread(target=predict, args=(lane,)) for lane in range(THREADS)]
    for thread in threads:
        thread.start()
    memory, fits, begin = [resident()], 0, time.monotonic()
    while time.monotonic() - begin < seconds and not faults:
        which = fits % len(serving)
        serving[which] = clone(models()[which]).fit(*parts[fits // len(serving) % len(parts)])
        fits += 1
        gc.collect()
        memory.append(resident())
    stop.set()
    for thread in threads:
        thread.join()
    return sum(counts), fits, memory, faults


def clone(model: Any) -> Any:
    return type(model)(**model.get_params())


def answer(model: Any, X: list[Any]) -> bytes:
    """What a model says of sequences together and of one alone, to the bit."""
    return np.concatenate([*model.predict_proba(X), *model.predict_proba(X[:1])]).tobytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    predictions, fits, memory, faults = soak(60 * options.minutes)
    early = max(memory[: max(1, len(memory) // 5)])
    print(f"{predictions:,} predictions and {fits:,} fits in {options.minutes:g} minutes")
    first, last = memory[0] / 1e6, memory[-1] / 1e6
    print(f"memory {first:.0f} MB at first, {early / 1e6:.0f} MB at most in the first fifth, {last:.0f} MB at last")
    print(*faults[:10], sep="\n", end="\n" if faults else "")
    return int(bool(faults) or memory[-1] - early > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
