"""Accuracy and time on public data: LinearCRF and python-crfsuite with the same features, penalty and stopping rule.

    HEDGEROW_DATA=/path/to/data python benchmarks/public_data.py [--only chunking]

The penalty is 1.0 for both, not tuned. The ± is the standard error over sequences of the test set, by the bootstrap
(1,000 resamples, seed 0). p is of McNemar's test on the labels. Prints a Markdown table and writes JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import describe, require_quiet

L2 = 1.0


class Task(NamedTuple):
    """Dict features and labels of training and test sequences, and how the labels are scored."""

    name: str
    X: list[Any]
    y: list[Any]
    X_test: list[Any]
    y_test: list[Any]
    metric: str


def chunking(folder: Path) -> Task:
    from hedgerow.datasets import chunking_features, load_conll2000

    def features(X: Any) -> list[Any]:
        words, tags, ends = X.columns["word"], X.columns["pos"], X.offsets.tolist()
        return [chunking_features(words[a:b].tolist(), tags[a:b].tolist()) for a, b in pairwise(ends)]

    X, y, X_test, y_test = load_conll2000(folder / "conll2000")
    return Task("chunking (CoNLL-2000), span F1", features(X), list(y), features(X_test), list(y_test), "span_f1")


def entities(folder: Path) -> Task:
    from hedgerow.data.readers import read_conll

    def features(X: Any) -> list[Any]:
        words, ends = X.columns["0"].tolist(), X.offsets.tolist()
        return [_entity_features(words[a:b]) for a, b in pairwise(ends)]

    X, y = read_conll(folder / "jnlpba" / "Genia4ERtask1.iob2")
    X_test, y_test = read_conll(folder / "jnlpba" / "Genia4EReval1.iob2")
    assert y is not None
    assert y_test is not None
    return Task("entities (JNLPBA), span F1", features(X), list(y), features(X_test), list(y_test), "span_f1")


def _entity_features(words: list[str]) -> list[dict[str, str]]:
    shapes = [
        "".join("A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in w) for w in words
    ]
    rows = []
    for t, word in enumerate(words):
        row = {"shape": shapes[t]}
        for n in (2, 3, 4):
            row[f"prefix{n}"], row[f"suffix{n}"] = word[:n], word[-n:]
        for offset in (-2, -1, 0, 1, 2):
            if 0 <= t + offset < len(words):
                row[f"word[{offset}]"] = words[t + offset].lower()
        for offset in (-1, 0):
            if t + offset >= 0 and t + offset + 1 < len(words):
                row[f"word[{offset}]|word[{offset + 1}]"] = "|".join(words[t + offset : t + offset + 2]).lower()
        rows.append(row)
    return rows


def letters(folder: Path) -> Task:
    table = np.load(folder / "letters" / "letters.npz")
    ends = np.cumsum(table["word_lengths"])[:-1]
    names = [f"pixel{j}" for j in range(table["X"].shape[1])]
    X = [[{names[j]: 1.0 for j in np.flatnonzero(row)} for row in word] for word in np.split(table["X"], ends)]
    y = [[chr(97 + label) for label in word] for word in np.split(table["y"], ends)]
    train, test = np.flatnonzero(table["folds"] == 1), np.flatnonzero(table["folds"] != 1)
    name = "letters (OCR, train on fold 1), accuracy"
    return Task(
        name, [X[i] for i in train], [y[i] for i in train], [X[i] for i in test], [y[i] for i in test], "accuracy"
    )


TASKS: dict[str, Callable[[Path], Task]] = {"chunking": chunking, "entities": entities, "letters": letters}


def run_hedgerow(task: Task) -> tuple[Any, float, int]:
    from hedgerow import LinearCRF

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearCRF(window=0, l2=L2, n_jobs=2, max_iter=1000, decoder="viterbi").fit(task.X, task.y)
    took = time.perf_counter() - begin
    return model.predict(task.X_test), took, model.n_iter_


def run_crfsuite(task: Task) -> tuple[Any, float, int]:
    import pycrfsuite

    begin = time.perf_counter()
    trainer = pycrfsuite.Trainer(verbose=False)
    for xs, ys in zip(task.X, task.y):
        trainer.append(xs, ys)
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0.0, "c2": L2, "max_iterations": 1000, "feature.possible_transitions": True})
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer.train(path)
        took = time.perf_counter() - begin
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return [tagger.tag(xs) for xs in task.X_test], took, len(trainer.logparser.iterations)


def standard_error(metric: Callable[[Any, Any], float], y_true: list[Any], y_pred: Any, resamples: int = 1000) -> float:
    """The spread of the score over resampled test sequences."""
    from hedgerow.metrics import span_report

    rng = np.random.default_rng(0)
    n = len(y_true)
    counts = np.empty((n, 3))
    for i in range(n):
        if metric.__name__ == "span_f1":
            overall = span_report([y_true[i]], [y_pred[i]]).overall
            counts[i] = overall.correct, overall.found, overall.true
        else:
            right = sum(a == b for a, b in zip(y_true[i], y_pred[i]))
            counts[i] = right, len(y_true[i]), len(y_true[i])
    picks = rng.integers(0, n, (resamples, n))
    sums = np.stack([counts[pick].sum(axis=0) for pick in picks])
    return float(np.std(2 * sums[:, 0] / (sums[:, 1] + sums[:, 2])))


def run(task: Task) -> dict[str, Any]:
    from hedgerow.metrics import get_metric, mcnemar

    metric = get_metric(task.metric)
    found: dict[str, Any] = {"task": task.name, "train": len(task.X), "test": len(task.X_test)}
    predictions = {}
    for system, work in (("hedgerow", run_hedgerow), ("crfsuite", run_crfsuite)):
        predicted, took, iterations = work(task)
        predictions[system] = predicted
        found[system] = {
            "score": metric(task.y_test, predicted),
            "error": standard_error(metric, task.y_test, predicted),
            "seconds": took,
            "iterations": iterations,
        }
    found["p"] = mcnemar(task.y_test, predictions["hedgerow"], predictions["crfsuite"]).p_value
    return found


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| task | hedgerow | seconds | CRFsuite | seconds | p |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        cells = [row["task"]]
        for system in ("hedgerow", "crfsuite"):
            own = row[system]
            cells += [f"{100 * own['score']:.2f} ± {100 * own['error']:.2f}", f"{own['seconds']:.0f}"]
        lines.append("| " + " | ".join([*cells, f"{row['p']:.2f}"]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--only", choices=tuple(TASKS), action="append")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--output", default="benchmarks/results/public_data.json")
    arguments = parser.parse_args()
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder:
        sys.exit("Set HEDGEROW_DATA to the folder that holds conll2000, jnlpba and letters.")
    load = require_quiet(arguments.force)
    rows = []
    for name in arguments.only or TASKS:
        rows.append(run(TASKS[name](Path(folder))))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    machine = describe(("hedgerow", "numpy", "numba", "scikit-learn", "python-crfsuite"))
    Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.output).write_text(json.dumps({"machine": machine, "other_load": load, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
