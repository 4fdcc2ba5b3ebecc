"""Contenders over many data sets with nothing tuned: accuracy, segments, probabilities, time and memory.

    HEDGEROW_DATA=/path/to/data python -m benchmarks.arena --quick
    python -m benchmarks.arena --inside-train --task protein --model "TreeCRF(learning_rate=0.1)" --model LightGBM

Every run (task, contender, seed) has a process of its own, on one thread. With --inside-train no test part is touched:
defaults are chosen there. Results are JSON, and --merge adds to those of another day.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.arena.comparison import pair_lines, rank_lines
from benchmarks.arena.resolver import Missing, canonical, resolve
from benchmarks.arena.running import Run, key_of, run_all
from benchmarks.arena.table import results_table, skipped_lines
from benchmarks.arena.tasks import TASKS
from benchmarks.machine import describe

CONTENDERS = ("AutoLabeler", "TreeCRF", "LinearCRF", "HMM", "MEMM", "LightGBM", "LightGBMChain", "CRFsuite")
LIMIT, QUICK_LIMIT = 1800.0, 60.0


def main(arguments: list[str] | None = None) -> None:
    options = read_options(arguments)
    names = [named(text, options.time) for text in options.model or CONTENDERS]
    absent = {name: why for name in names if (why := check(name))}
    runs = [
        Run(task, name, seed, options.quick, options.inside_train)
        for task in options.task or TASKS.loaders
        for name in names
        for seed in options.seed or range(options.seeds)
    ]
    output = Path(options.output)
    kept = json.loads(output.read_text())["results"] if options.merge and output.exists() else []
    results = {key_of(found): found for found in kept}
    limit = options.limit or (QUICK_LIMIT if options.quick else LIMIT)
    if not options.table:
        output.parent.mkdir(parents=True, exist_ok=True)
        machine = describe(("hedgerow", "numpy", "numba", "lightgbm", "python-crfsuite"))
        for run in (run for run in runs if run.contender in absent):
            results[run] = {**run._asdict(), "status": "skipped", "why": absent[run.contender]}
        for found in run_all([run for run in runs if run.contender not in absent], limit, options.jobs):
            results[key_of(found)] = found
            print(progress(found), flush=True)
            output.write_text(json.dumps({"machine": machine, "results": list(results.values())}))
    mode = options.quick, options.inside_train
    shown = ordered([own for own in results.values() if (own["quick"], own["inside"]) == mode], options.time)
    print(report(shown, named(options.against, options.time)))


def named(text: str, seconds: float) -> str:
    """A contender in one spelling; one that chooses by itself has so many CPU seconds, unless its text says so."""
    name = canonical(text)
    return f"AutoLabeler(time_budget={seconds:g})" if name == "AutoLabeler()" else name


def report(results: list[dict[str, Any]], against: str) -> str:
    """All tables, and what was left out."""
    beside = f"Percentage points right above `{against}`; * differs at 5 % by a permutation test on sequences (Holm):"
    parts = ["", results_table(results), "", *rank_lines(results), "", beside, "", *pair_lines(results, against)]
    return "\n".join([*parts, "", *skipped_lines(results)])


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.arena", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small parts of the data, in minutes")
    parser.add_argument("--inside-train", action="store_true", help="validate inside the training parts")
    parser.add_argument("--task", action="append", choices=tuple(TASKS.loaders), help="may be given several times")
    parser.add_argument("--model", action="append", help="a name, or a name with keyword arguments; several times")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 0, 1, … (default 1; the full arena has 5)")
    parser.add_argument(
        "--seed", type=int, action="append", help="this one in place of those; may be given several times"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--against", default="TreeCRF", help="the contender that others are compared with")
    parser.add_argument("--limit", type=float, help=f"CPU seconds of a run (default {LIMIT:g}, quick {QUICK_LIMIT:g})")
    parser.add_argument("--time", type=float, default=120.0, help="CPU seconds of a fit of AutoLabeler (default 120)")
    parser.add_argument("--output", default="benchmarks/results/arena.json")
    parser.add_argument("--merge", action="store_true", help="keep what the output has; the same runs are replaced")
    parser.add_argument("--table", action="store_true", help="run nothing, print what the output has")
    options = parser.parse_args(arguments)
    options.merge = options.merge or options.table
    return options


def check(name: str) -> str:
    """Why a contender is not to be had here, "" where it is. One that is none ends the program before anything runs."""
    try:
        resolve(name)
    except Missing as error:
        return str(error)
    except Exception as error:
        sys.exit(str(error))
    return ""


def ordered(results: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """In the order of tasks, contenders and seeds."""
    tasks, names = list(TASKS.loaders), [named(name, seconds) for name in CONTENDERS]

    def place(found: dict[str, Any]) -> tuple[Any, ...]:
        name = found["contender"]
        return tasks.index(found["task"]), names.index(name) if name in names else len(names), found["seed"]

    return sorted(results, key=place)


def progress(found: dict[str, Any]) -> str:
    """A line for a run that has ended."""
    what = f"{found['task']}, {found['contender']}, seed {found['seed']}: "
    if found["status"] != "ok":
        return what + f"{found['status']}: {found['why']}"
    own = found["measures"]
    loss = "" if own["log_loss"] is None else f", log-loss {own['log_loss']:.3f}"
    scores = f"{100 * own['accuracy']:.2f} % right, macro-F1 {100 * own['macro_f1']:.2f}{loss}"
    return (
        what
        + f"{scores}, {found['fit_seconds']:.1f} s"
        + "".join(f"; {line}" for line in dict.fromkeys(found.get("chosen", ())))
        + ("" if found["warm"] == "yes" else f" (warm-up {found['warm']})")
    )


if __name__ == "__main__":
    main()
