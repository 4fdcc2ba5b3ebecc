"""One run in a process of its own: a contender learns a task and labels its test sequences.

The process gets a JSON object as its argument and writes one to the file that it names. CPU time and the peak of memory
count from after a warm-up on a tiny slice, which compiles kernels; the limit of CPU seconds begins there too.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from benchmarks.arena.measures import count_errors, measure
from benchmarks.arena.resolver import Missing, given_parameters, resolve
from benchmarks.arena.tasks import TASKS, Asked, Task, inside_train, tiny
from benchmarks.machine import peak_bytes, resident_bytes
from hedgerow.data.encoding import learn
from hedgerow.data.sequences import take_sequences
from hedgerow.models.auto import estimator
from hedgerow.models.auto.candidates import Traits, first_guesses
from hedgerow.models.auto.trials import shortened

WARM_ITERATIONS = 3
GRACE = 1.5  # of the seconds that a contender was given for a fit


def main() -> None:
    asked = json.loads(sys.argv[1])
    estimator._clock = time.process_time  # a budget of CPU seconds: those of others must not count
    try:
        found = run(asked)
    except Missing as error:
        found = {"status": "skipped", "why": str(error)}
    except FileNotFoundError as error:
        found = {"status": "skipped", "why": str(error)}
    except Exception as error:
        found = {"status": "error", "why": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    Path(asked["answer"]).write_text(json.dumps(found))


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Load, warm up, learn and label."""
    folder = os.environ.get("HEDGEROW_DATA")
    task = TASKS.loaders[asked["task"]](Asked(Path(folder) if folder else None, asked["seed"], asked["quick"]))
    if asked["inside"]:
        task = inside_train(task, asked["seed"])
    model = prepare(asked["contender"], task, asked["seed"])
    warm_why = warm_up(asked["contender"], task, asked["seed"])
    reason = refusal(model, task)
    if reason:
        return {"status": "skipped", "why": reason}
    begin_limit(max(asked["limit"] or 0.0, GRACE * getattr(model, "time_budget", 0.0) * len(task.parts)))
    return {"status": "ok", "warm": warm_why or "yes", **label(asked["contender"], task, asked["seed"])}


def prepare(contender: str, task: Task, seed: int) -> Any:
    """The model with the task's window and the seed, on one thread. What the contender's text gives stays."""
    model = resolve(contender)
    known = model.get_params(deep=False)
    said = given_parameters(contender)
    wanted = {"window": task.window, "random_state": seed, "n_jobs": 1}
    return model.set_params(**{name: value for name, value in wanted.items() if name in known and name not in said})


def refusal(model: Any, task: Task) -> str:
    """Why a baseline does not apply to the data of a task."""
    if not hasattr(model, "fits"):
        return ""
    return str(model.fits(learn(*tiny(task.X, task.y), window=task.window)))


def warm_up(contender: str, task: Task, seed: int) -> str:
    """Compile what the contender needs; an error here is told and no more, for the run itself will show it."""
    model = prepare(contender, task, seed)
    part = task.parts[0]
    X, y = tiny(take_sequences(task.X, part.train), [task.y[i] for i in part.train])
    settings: dict[str, Any] = {"n_estimators": WARM_ITERATIONS, "max_iter": WARM_ITERATIONS}
    if hasattr(model, "time_budget"):
        brief = [shortened(one, WARM_ITERATIONS) for one in first_guesses(Traits.of(learn(X, y)))]
        settings = {"candidates": brief, "n_trials": len(brief), "cv": 2}
    model.set_params(**{name: value for name, value in settings.items() if name in model.get_params(deep=False)})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y).predict(X)
            model.predict_proba(X)
    except Exception as error:
        return f"no: {type(error).__name__}: {error}"
    return ""


def begin_limit(seconds: float | None) -> None:
    """End the process after so many more CPU seconds."""
    if seconds:
        used = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, resource.RLIM_INFINITY))


def label(contender: str, task: Task, seed: int) -> dict[str, Any]:
    """Learn every part and label its test; CPU seconds, memory, measures, and errors by sequence."""
    truth: list[Any] = []
    predicted: list[Any] = []
    probs: list[Any] | None = []
    classes: list[Any] = []
    chosen: list[str] = []
    fitting = labelling = 0.0
    before = resident_bytes()
    for part in task.parts:
        X, y, X_test = (
            take_sequences(task.X, part.train),
            [task.y[i] for i in part.train],
            take_sequences(task.X, part.test),
        )
        model = prepare(contender, task, seed)
        began = time.process_time()
        model.fit(X, y)
        middle = time.process_time()
        said = [list(labels) for labels in model.predict(X_test)]
        fitting, labelling = fitting + middle - began, labelling + time.process_time() - middle
        chosen += [model.chosen_] if hasattr(model, "chosen_") else []
        truth += [task.y[i] for i in part.test]
        predicted += said
        if probs is not None and hasattr(model, "predict_proba"):
            probs += model.predict_proba(X_test)
            classes += [list(model.classes_)] * len(said)
        else:
            probs = None
    peak = peak_bytes()
    wrong, positions = count_errors(truth, predicted, task.block)
    return {
        "measures": measure(truth, predicted, probs, classes, spans=task.spans),
        "primary": task.primary,
        "best": task.best,
        "redrawn": task.redrawn,
        "labels": task.n_labels(),
        "fit_seconds": fitting,
        "predict_seconds": labelling,
        "peak_megabytes": (peak - before) / 2**20,
        "process_megabytes": peak / 2**20,
        "sequences": [int(i) for part in task.parts for i in part.test],
        "chosen": chosen,
        "wrong": wrong,
        "positions": positions,
    }


if __name__ == "__main__":
    main()
