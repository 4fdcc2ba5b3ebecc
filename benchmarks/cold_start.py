"""What the first fit and predict cost, before any kernel is compiled, and what they cost after that.

    python benchmarks/cold_start.py [--scenario tree-3] [--top 12] [--force] [--wheel dist/NAME.whl]

Each scenario runs in processes of its own: first with an empty cache of kernels, then again with the one that the
first has left. It makes a small corpus, and fits and predicts with a model of default parameters, so that what is
measured is not the training. With `--wheel`, hedgerow comes from that wheel, with the kernels that it ships. Seconds
are those of the processor, of all threads together.

Printed: the seconds from the first import on; of these, of imports, and of compiling; of compiling, of LLVM (passes
over functions, the cheap and the full passes over modules, making machine code); functions compiled, with how many
are kernels; how many kernels had more than one signature; and the most expensive functions: their own seconds, without
what they call.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import Watch, describe, require_quiet

WORDS = ("a", "dog", "the", "runs", "cat", "sees", "house", "small", "and", "sleeps")


def numbers(n_labels: int) -> tuple[Any, Any]:
    """40 sequences of 30 rows with three numbers, of which two tell the label."""
    import numpy as np
    import pandas as pd

    from hedgerow import sequences

    rng = np.random.default_rng(0)
    label = (rng.random(1200) < 0.3).cumsum() % n_labels
    frame = pd.DataFrame({"day": np.arange(1200) // 30, "noise": rng.normal(size=1200)})
    frame["angle"], frame["speed"] = rng.normal(label % 4, 0.5), rng.normal(label // 4, 0.5)
    frame["label"] = [f"label {k}" for k in label]
    return sequences(frame, by="day", label="label")


def words() -> tuple[Any, Any]:
    """40 sentences of dicts, as CRFsuite's."""
    import numpy as np

    rng = np.random.default_rng(0)
    chosen = rng.integers(len(WORDS), size=(40, 12))
    X = [[{"word": WORDS[w], "last": WORDS[w][-1], "length": str(len(WORDS[w]))} for w in row] for row in chosen]
    return X, [["verb" if WORDS[w][-1] == "s" else "other" for w in row] for row in chosen]


SCENARIOS: dict[str, tuple[str, Callable[[], tuple[Any, Any]]]] = {
    "tree-3": ("TreeCRF", lambda: numbers(3)),
    "tree-20": ("TreeCRF", lambda: numbers(20)),
    "tree-words": ("TreeCRF", words),
    "linear-3": ("LinearCRF", lambda: numbers(3)),
    "linear-20": ("LinearCRF", lambda: numbers(20)),
    "linear-words": ("LinearCRF", words),
}


# --- in a process of its own ---------------------------------------------------------------------------------------


class Clock:
    """Seconds of what is compiled, by function and by step, each without what is compiled inside it."""

    def __init__(self) -> None:
        self.by_function: dict[str, float] = defaultdict(float)
        self.by_step: dict[str, float] = defaultdict(float)
        self.signatures: Counter[str] = Counter()
        self.kernels: Counter[str] = Counter()
        self.total = 0.0
        self._running: list[list[Any]] = []  # name, begin, seconds of what was compiled inside

    def begin(self, dispatcher: Any) -> None:
        module = dispatcher.py_func.__module__.removeprefix("hedgerow.")
        name = f"{module}.{dispatcher.py_func.__name__}"
        self.signatures[name] += 1
        if not dispatcher.targetoptions.get("no_cpython_wrapper"):
            self.kernels[dispatcher.py_func.__qualname__ if "." in dispatcher.py_func.__qualname__ else name] += 1
        self._running.append([name, time.process_time(), 0.0])

    def end(self) -> None:
        name, began, inside = self._running.pop()
        seconds = time.process_time() - began
        self.by_function[name] += seconds - inside
        if self._running:
            self._running[-1][2] += seconds
        else:
            self.total += seconds

    def timed(self, owner: Any, method: str, step: str) -> None:
        """Add up the seconds of a method, where this numba has it."""
        inner = getattr(owner, method, None)
        if inner is None:
            return

        def outer(*args: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return inner(*args, **options)
            finally:
                self.by_step[step] += time.process_time() - began

        setattr(owner, method, outer)


def listen() -> Clock:
    """Install a clock into numba."""
    from numba.core import codegen, event

    clock = Clock()

    class Compile(event.Listener):
        def on_start(self, event: Any) -> None:
            clock.begin(event.data["dispatcher"])

        def on_end(self, event: Any) -> None:
            clock.end()

    event.register("numba:compile", Compile())
    clock.timed(codegen.CPUCodeLibrary, "_optimize_functions", "LLVM function passes")
    clock.timed(codegen.CPUCodeLibrary, "_optimize_final_module", "LLVM module passes")
    clock.timed(codegen.JITCodeLibrary, "_finalize_specific", "LLVM machine code")
    clock.timed(codegen.CPUCodeLibrary, "add_ir_module", "LLVM parsing and function passes")
    return clock


def run(scenario: str) -> dict[str, Any]:
    """Fit and predict; what it cost, by parts."""
    name, corpus = SCENARIOS[scenario]
    start = time.process_time()
    import hedgerow

    model = getattr(hedgerow, name)()
    X, y = corpus()
    imported = time.process_time()
    clock = listen()
    import hedgerow.jit  # numba

    listening = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    labels = model.predict(X)
    predicted = time.process_time()
    return {
        "seconds": predicted - start,
        "imports": listening - start,
        "numba": listening - imported,
        "fit": fitted - listening,
        "predict": predicted - fitted,
        "compiling": clock.total,
        "steps": dict(clock.by_step),
        "functions": sum(clock.signatures.values()),
        "kernels": sum(clock.kernels.values()),
        "repeated": {name: n for name, n in clock.kernels.items() if n > 1},
        "most expensive": dict(sorted(clock.by_function.items(), key=lambda item: -item[1])),
        "right": float(sum(a == b for p, q in zip(labels, y, strict=True) for a, b in zip(p, q, strict=True))),
    }


# --- in the process that is started --------------------------------------------------------------------------------


def measure(scenario: str, wheel: str | None) -> dict[str, dict[str, Any]]:
    """The same process twice: with an empty cache, and with what the first has left in it."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as site:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        if wheel is not None:
            zipfile.ZipFile(wheel).extractall(site)
            environment["PYTHONPATH"] = site
        command = [sys.executable, __file__, "--inside", scenario]
        runs = {}
        for cache in ("cold", "warm"):
            watch = Watch()
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            runs[cache] = json.loads(done.stdout.splitlines()[-1]) | {"others": watch.others()}
        runs["warm"]["cached bytes"] = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return runs


def show(scenario: str, runs: dict[str, dict[str, Any]], top: int) -> None:
    for cache, run in runs.items():
        print(
            f"{scenario:12s} {cache}: {run['seconds']:6.2f} s  imports {run['imports']:5.2f}  fit {run['fit']:6.2f}"
            f"  predict {run['predict']:5.2f}  compiling {run['compiling']:6.2f}"
            f"  functions {run['functions']:3d} ({run['kernels']} kernels)"
        )
    cold, again = runs["cold"], list(runs["warm"]["most expensive"])
    if again:
        print("    compiled again: " + ", ".join(again))
    print("    " + ", ".join(f"{step} {seconds:.2f}" for step, seconds in cold["steps"].items()))
    if cold["repeated"]:
        print("    more than one signature: " + ", ".join(f"{name} {n}" for name, n in cold["repeated"].items()))
    for name, seconds in list(cold["most expensive"].items())[:top]:
        print(f"    {seconds:6.2f} s  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), action="append", help="by default all of them")
    parser.add_argument("--top", type=int, default=12, help="show so many functions")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--wheel", help="measure what this wheel has, and not what is installed")
    parser.add_argument("--output", default="benchmarks/results/cold_start.json")
    parser.add_argument("--inside", choices=tuple(SCENARIOS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(json.dumps(run(arguments.inside)))
        return
    results: dict[str, Any] = {"machine": describe(("numba", "llvmlite", "numpy"))}
    results["machine"]["other_load"] = require_quiet(arguments.force)
    for scenario in arguments.scenario or SCENARIOS:
        results[scenario] = measure(scenario, arguments.wheel)
        show(scenario, results[scenario], arguments.top)
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
