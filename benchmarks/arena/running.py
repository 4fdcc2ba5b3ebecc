"""Runs of the arena, each in a process of its own, several at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SLACK = 4.0  # a process may take so many times its limit of CPU seconds by the clock on the wall, and
START = 900.0  # so many seconds more to load and to compile
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Run(NamedTuple):
    """A contender on a task with a seed, in a mode."""

    task: str
    contender: str
    seed: int
    quick: bool
    inside: bool


def key_of(found: dict[str, Any]) -> Run:
    """The run that a result is of."""
    return Run(*(found[name] for name in Run._fields))


def run_all(runs: list[Run], limit: float, jobs: int) -> Iterator[dict[str, Any]]:
    """Results as they come in."""
    with ThreadPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(run_one, run, limit) for run in runs]):
            yield done.result()


def run_one(run: Run, limit: float) -> dict[str, Any]:
    """Start the process, wait, and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        asked = {**run._asdict(), "limit": limit, "answer": str(answer)}
        environment = os.environ | dict.fromkeys(THREADS, "1")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "benchmarks.arena.child", json.dumps(asked)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=SLACK * limit + START
            )
        except subprocess.TimeoutExpired:
            return {**run._asdict(), "limit": limit, "status": "over", "why": f"over {limit:g} s"}
        found = json.loads(answer.read_text()) if answer.exists() else _died(done, limit)
    return {**run._asdict(), "limit": limit, **found}


def _died(done: subprocess.CompletedProcess[str], limit: float) -> dict[str, Any]:
    """What there is to say of a process that wrote nothing."""
    if done.returncode == -signal.SIGXCPU:
        return {"status": "over", "why": f"over {limit:g} s"}
    if done.returncode < 0:
        return {"status": "error", "why": f"ended by {signal.Signals(-done.returncode).name}"}
    lines = done.stderr.strip().splitlines()
    return {"status": "error", "why": lines[-1] if lines else f"ended with {done.returncode}", "trace": done.stderr}
