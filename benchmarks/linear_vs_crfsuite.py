"""LinearCRF against python-crfsuite: the same attributes, transitions and penalty, in one run, alternating.

    python benchmarks/linear_vs_crfsuite.py [--repeats 5] [--force] [--converged]

Data is CoNLL-2000 where HEDGEROW_DATA has it, otherwise made data of the same shape. Measured, medians over the
repeats: the time to reach the loss that CRFsuite has after 50 iterations (feature index included, encoding not), the
time to encode dicts, the time to tag, and the peak of memory above that of the bare imports. Losses at equal weights
must agree to 1e-8. With --converged instead the time, by the clock and of the processor, in which CRFsuite comes to its
own end, and in which LinearCRF comes to the same loss, once each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import describe, peak_bytes, require_quiet, resident_bytes

Columns = list[tuple[list[str], list[str], list[str]]]
ITERATIONS, MOST_ITERATIONS = 50, 500
L2 = 1.0
TARGETS = {  # what the ratios hedgerow / CRFsuite should reach
    "train_two_threads": 0.30,
    "train_one_thread": 0.45,
    "encode": 1.0,
    "memory": 1.0,
    "tag_dicts": 1.5,
    "tag_dataset": 1 / 3,
}


def load(sentences: int | None) -> tuple[str, Columns, Columns]:
    """(words, tags, labels) of training and test sentences."""
    folder = os.environ.get("HEDGEROW_DATA")
    if folder and (Path(folder) / "conll2000").is_dir():
        parts = [_read(Path(folder) / "conll2000" / name) for name in ("train.txt", "test.txt")]
        return "CoNLL-2000", parts[0][:sentences], parts[1]
    from hedgerow.datasets import make_chunking_like

    X, y = make_chunking_like(8936 + 2012)
    made = [([row["word[0]"] for row in xs], [row["pos[0]"] for row in xs], ys) for xs, ys in zip(X, y)]
    return "made, shaped like CoNLL-2000", made[:8936][:sentences], made[8936:]


def _read(path: Path) -> Columns:
    from hedgerow.data.readers import read_conll

    X, y = read_conll(path)
    assert y is not None
    words, tags = X.columns["0"].tolist(), X.columns["1"].tolist()
    ends = X.offsets.tolist()
    return [(words[a:b], tags[a:b], y[i]) for i, (a, b) in enumerate(itertools.pairwise(ends))]


def features(columns: Columns) -> Iterator[list[dict[str, str]]]:
    from hedgerow.datasets import chunking_features

    return (chunking_features(words, tags) for words, tags, _ in columns)


def labels(columns: Columns) -> list[list[str]]:
    return [truth for _, _, truth in columns]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


# --- the two systems ---------------------------------------------------------------------------------------------


def crfsuite_append(X: Any, y: Any) -> Any:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for xs, ys in zip(X, y):
        trainer.append(xs, ys)
    return trainer


def crfsuite_train(trainer: Any, path: str, iterations: int = ITERATIONS) -> list[dict[str, Any]]:
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0.0, "c2": L2, "max_iterations": iterations, "feature.possible_transitions": True})
    trainer.train(path)
    found: list[dict[str, Any]] = trainer.logparser.iterations
    return found


def hedgerow_train(dataset: Any, n_jobs: int, max_iter: int) -> Any:
    from hedgerow import LinearCRF

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LinearCRF(l2=L2, max_iter=max_iter, tol=0.0, n_jobs=n_jobs).fit(dataset)


# --- measurements --------------------------------------------------------------------------------------------------


def measure_memory(system: str, sentences: int | None) -> int:
    """Peak bytes above the bare imports, in a process of its own; sentences become dicts one by one."""
    command = [sys.executable, __file__, "--memory-of", system]
    command += ["--sentences", str(sentences)] if sentences else []
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def memory_of(system: str, sentences: int | None) -> int:
    """Peak bytes of encoding and training above the bare imports; sentences come from the file one by one."""
    if system == "crfsuite":
        import pycrfsuite  # noqa: F401
    else:
        import numba  # noqa: F401
        import sklearn.base  # noqa: F401

    from hedgerow.data.encoding import learn
    from hedgerow.datasets import chunking_features

    X = (chunking_features(words, tags) for words, tags, _ in stream(sentences))
    y = (truth for _, _, truth in stream(sentences))
    bare = resident_bytes()
    if system == "crfsuite":
        with tempfile.TemporaryDirectory() as folder:
            crfsuite_train(crfsuite_append(X, y), str(Path(folder) / "model"))
    else:
        hedgerow_train(learn(X, y), 2, ITERATIONS)
    return peak_bytes() - bare


def stream(sentences: int | None) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """The training sentences, never all at once where they come from a file."""
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder:
        yield from load(sentences)[1]
        return
    rows: list[list[str]] = []
    n = 0
    with (Path(folder) / "conll2000" / "train.txt").open() as lines:
        for line in itertools.chain(lines, [""]):
            if line.strip():
                rows.append(line.split())
            elif rows:
                words, tags, truth = map(list, zip(*rows))
                yield words, tags, truth
                rows, n = [], n + 1
                if n == sentences:
                    return


def check_losses(path: str, dataset: Any, y: Any, reported: float) -> float:
    """The relative difference of the losses at CRFsuite's final weights."""
    from tests.equivalence.crfsuite_model import put_weights, read_model

    model = hedgerow_train(dataset, 2, 1)
    assert put_weights(model, read_model(Path(path))) == 0
    ours = L2 * float(np.square(model.weights_).sum()) - float(model.log_probability(dataset, y).sum())
    return abs(ours - reported) / abs(reported)


def measure_converged(sentences: int | None) -> None:
    """To the loss at which CRFsuite stops by itself: iterations, seconds by the clock, and of the processor."""
    from hedgerow import LinearCRF
    from hedgerow.data.encoding import learn

    name, train, _ = load(sentences)
    X, y = list(features(train)), labels(train)
    dataset, trainer = learn(X, y), crfsuite_append(X, y)
    hedgerow_train(learn(X[:50], y[:50]), 2, 2)  # compile before the clock runs
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter(), time.process_time()
        log = crfsuite_train(trainer, str(Path(folder) / "model"), 10 * MOST_ITERATIONS)
        whole = time.perf_counter() - began[0], time.process_time() - began[1]
    target = float(log[-1]["loss"])
    all_of_it = f"{whole[0]:.1f} s by the clock, {whole[1]:.1f} CPU s"
    print(f"{name}: CRFsuite, {len(log)} iterations, loss {target:.3f}, {all_of_it}", flush=True)
    for n_jobs, start in itertools.product((1, 2), ("zero", "sgd")):
        began = time.perf_counter(), time.process_time()
        model = LinearCRF(l2=L2, max_iter=MOST_ITERATIONS, tol=0.0, n_jobs=n_jobs, start=start, random_state=0)
        model.fit(dataset, callbacks=[lambda step: step.stage != "sgd" and step.loss <= target])
        took = time.perf_counter() - began[0], time.process_time() - began[1]
        print(f"{n_jobs} thread(s), start={start!r}: {model.n_iter_} iterations, loss {model.loss_:.3f}, "
              f"{took[0]:.1f} s by the clock ({took[0] / whole[0]:.3f} of CRFsuite's), "
              f"{took[1]:.1f} CPU s ({took[1] / whole[1]:.3f})", flush=True)  # fmt: skip


def measure(repeats: int, sentences: int | None) -> dict[str, Any]:
    from hedgerow.data.encoding import learn

    name, train, test = load(sentences)
    X, y, X_test = list(features(train)), labels(train), list(features(test))
    warm = learn(X[:50], y[:50])
    hedgerow_train(warm, 2, 2).predict(X[:5])  # compile before the clock runs
    times: dict[str, list[float]] = {}
    difference = 0.0

    def note(key: str, value: float) -> None:
        times.setdefault(key, []).append(value)
        print(f"  {key:28s} {value:8.3f}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        needed = 0
        for repeat in range(repeats):
            print(f"repeat {repeat + 1} of {repeats}", flush=True)
            took, trainer = seconds(lambda: crfsuite_append(X, y))
            note("crfsuite append", took)
            took, dataset = seconds(lambda: learn(X, y))
            note("hedgerow encode", took)
            took, log = seconds(lambda trainer=trainer: crfsuite_train(trainer, path))
            note("crfsuite train", took)
            target = float(log[-1]["loss"])
            if not needed:
                difference = check_losses(path, dataset, y, target)
                history = hedgerow_train(dataset, 2, ITERATIONS).history_
                needed = next(step.iteration for step in history if step.loss <= target)
            for n_jobs, key in ((2, "hedgerow train, 2 threads"), (1, "hedgerow train, 1 thread")):
                took, model = seconds(lambda jobs=n_jobs, data=dataset, n=needed: hedgerow_train(data, jobs, n))
                note(key, took)
                assert model.loss_ <= target
            tag(X_test, path, model, note)
        memory = {system: measure_memory(system, sentences) for system in ("crfsuite", "hedgerow")}
    median = {key: statistics.median(values) for key, values in times.items()}
    return {
        "data": name,
        "sentences": len(train),
        "weights": len(model.weights_),
        "loss_after_50": target,
        "iterations_needed": needed,
        "loss_difference": difference,
        "seconds": times,
        "median_seconds": median,
        "memory_bytes": memory,
        "ratios": ratios(median, memory),
    }


def tag(X_test: Any, path: str, model: Any, note: Callable[[str, float], None]) -> None:
    """Tag the test sentences from dicts, and from a Dataset, with one thread."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    took, theirs = seconds(lambda: [tagger.tag(xs) for xs in X_test])
    note("crfsuite tag", took)
    model.predict(X_test[:1])
    note("hedgerow tag, dicts", seconds(lambda: model.predict(X_test))[0])
    dataset = model.encode(X_test)
    took, ours = seconds(lambda: model.predict(dataset))
    note("hedgerow tag, dataset", took)
    assert len(ours) == len(theirs)


def ratios(median: dict[str, float], memory: dict[str, int]) -> dict[str, float]:
    return {
        "train_two_threads": median["hedgerow train, 2 threads"] / median["crfsuite train"],
        "train_one_thread": median["hedgerow train, 1 thread"] / median["crfsuite train"],
        "encode": median["hedgerow encode"] / median["crfsuite append"],
        "memory": memory["hedgerow"] / memory["crfsuite"],
        "tag_dicts": median["hedgerow tag, dicts"] / median["crfsuite tag"],
        "tag_dataset": median["hedgerow tag, dataset"] / median["crfsuite tag"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=None, help="use only so many training sentences")
    parser.add_argument("--converged", action="store_true", help="to the loss at which CRFsuite stops by itself")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--output", default="benchmarks/results/linear_vs_crfsuite.json")
    parser.add_argument("--memory-of", choices=("crfsuite", "hedgerow"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(memory_of(arguments.memory_of, arguments.sentences))
        return
    load_before = require_quiet(arguments.force)
    if arguments.converged:
        measure_converged(arguments.sentences)
        return
    machine = describe(("hedgerow", "numpy", "numba", "scikit-learn", "python-crfsuite"))
    found = {"machine": machine, "other_load": load_before} | measure(arguments.repeats, arguments.sentences)
    print(f"\n{found['data']}, {found['weights']} weights; loss after {ITERATIONS} iterations of CRFsuite "
          f"{found['loss_after_50']:.3f}, reached in {found['iterations_needed']} iterations; "
          f"losses at equal weights differ by {found['loss_difference']:.1e}")  # fmt: skip
    print(f"\n{'ratio hedgerow / CRFsuite':28s} {'found':>8s} {'target':>8s}")
    for key, value in found["ratios"].items():
        print(f"{key:28s} {value:8.3f} {TARGETS[key]:8.3f}  {'reached' if value <= TARGETS[key] else 'MISSED'}")
    Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.output).write_text(json.dumps(found, indent=1))
    print(f"\nwritten to {arguments.output}")


if __name__ == "__main__":
    main()
