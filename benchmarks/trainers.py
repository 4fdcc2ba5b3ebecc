"""Every trainer of LinearCRF against CRFsuite's online trainers, and what every objective costs, in one run.

    python benchmarks/trainers.py [--repeats 5] [--passes 10] [--quick] [--force]

Data is CoNLL-2000 where HEDGEROW_DATA has it, otherwise made data of the same shape; the same attributes, transitions
and penalty for both, one thread, gains and other options as they come. The time of a pass is that of so many passes
less that of one, over one pass fewer: what is done once (the feature index, a first gain) is not in it, and stands in a
column of its own. An iteration of L-BFGS, conjugate gradient and gradient descent counts as a pass. Systems take turns;
medians over the repeats. Quality is that of the test sentences after 1, 2, 5, … passes, each trained from the start.

A target: no slower a pass than the peer, with a span F1 after the last pass that is no lower (by more than 0.1, half of
its standard error on the test sentences of CoNLL-2000).

The second table is the time of a gradient of every objective over that of the log-likelihood, on scores alone and with
the features, and of a product with the Hessian.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.linear_vs_crfsuite import L2, crfsuite_append, features, labels, load, seconds
from benchmarks.machine import Watch, describe, require_quiet

OURS = {  # trainer: the peer that does the same, or the nearest to it
    "lbfgs": "lbfgs",
    "conjugate_gradient": "lbfgs",
    "gradient_descent": "lbfgs",
    "sgd": "l2sgd",
    "annealed_sgd": "l2sgd",
    "smd": "l2sgd",
    "adagrad": "l2sgd",
    "adam": "l2sgd",
    "averaged_perceptron": "averaged-perceptron",
    "passive_aggressive": "passive-aggressive",
    "arow": "arow",
    "frank_wolfe": "passive-aggressive",
}
PEERS = ("lbfgs", "l2sgd", "averaged-perceptron", "passive-aggressive", "arow")
PENALISED = ("lbfgs", "l2sgd")
TARGETED = ("l2sgd", "averaged-perceptron")
TIE = 0.001  # of span F1
OBJECTIVE_TARGETS = {"pointwise": 3.0, "expected_accuracy": 3.0, "labelwise": 3.0, "Hessian product": 3.0}
OBJECTIVE_SENTENCES = 2000


class Corpus(NamedTuple):
    """Training and test sentences, for both systems."""

    name: str
    X: list[Any]
    y: list[Any]
    dataset: Any
    X_test: list[Any]
    dataset_test: Any
    y_test: list[Any]


def read(sentences: int | None) -> Corpus:
    from hedgerow.data.encoding import encode, learn

    name, train, test = load(sentences)
    X, y, X_test, y_test = list(features(train)), labels(train), list(features(test)), labels(test)
    dataset = learn(X, y)
    return Corpus(name, X, y, dataset, X_test, encode(dataset.schema, X_test), y_test)


# --- training ----------------------------------------------------------------------------------------------------


def train_ours(trainer: str, corpus: Corpus, passes: int) -> Any:
    from hedgerow import LinearCRF

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops before it converges, as it is told to
        return LinearCRF(trainer=trainer, l2=L2, max_iter=passes, tol=0.0, random_state=0).fit(corpus.dataset)


class Peer:
    """CRFsuite, with the sentences appended once for all its trainings."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.path = str(folder / "model")
        self.trainer = crfsuite_append(corpus.X, corpus.y)

    def train(self, algorithm: str, passes: int) -> str:
        self.trainer.select(algorithm)
        options: dict[str, Any] = {"max_iterations": passes, "feature.possible_transitions": True}
        if algorithm in PENALISED:
            options["c2"] = L2
        self.trainer.set_params(options)
        self.trainer.train(self.path)
        return self.path

    def tag(self, X: list[Any]) -> list[list[str]]:
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(self.path)
        return [tagger.tag(xs) for xs in X]


def quality(y_true: list[Any], predicted: Any) -> dict[str, float]:
    from hedgerow.metrics import label_accuracy, span_f1

    return {"accuracy": label_accuracy(y_true, predicted), "span_f1": span_f1(y_true, predicted)}


def measure_training(corpus: Corpus, repeats: int, counts: tuple[int, ...]) -> dict[str, Any]:
    """Of each trainer: seconds of one pass and of the last count, by repeat, and the quality after each count."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(corpus, Path(folder))

        def ours(trainer: str, passes: int) -> tuple[float, Any]:
            return seconds(lambda: train_ours(trainer, corpus, passes))

        def theirs(algorithm: str, passes: int) -> tuple[float, Any]:
            return seconds(lambda: peer.train(algorithm, passes))

        jobs: list[tuple[str, Callable[[int], tuple[float, Any]], Callable[[Any], Any]]] = [
            *((name, lambda n, t=name: ours(t, n), lambda model: model.predict(corpus.dataset_test)) for name in OURS),
            *((f"CRFsuite {a}", lambda n, a=a: theirs(a, n), lambda _: peer.tag(corpus.X_test)) for a in PEERS),
        ]
        for name in OURS:
            train_ours(name, corpus._replace(dataset=corpus.dataset.take(np.arange(20))), 1)  # compile before the clock
        for repeat in range(repeats):
            print(f"repeat {repeat + 1} of {repeats}", flush=True)
            for name, train, predict in jobs:
                row = found.setdefault(name, {"first": [], "all": [], "quality": {}})
                for passes in counts if repeat == 0 else (counts[0], counts[-1]):
                    took, model = train(passes)
                    if passes in (counts[0], counts[-1]):
                        row["first" if passes == counts[0] else "all"].append(took)
                    if repeat == 0:
                        row["quality"][passes] = quality(corpus.y_test, predict(model))
                print(f"  {name:32s} {row['all'][-1]:8.2f} s for {counts[-1]} passes", flush=True)
    for row in found.values():
        every = [(last - first) / (counts[-1] - counts[0]) for first, last in zip(row["first"], row["all"])]
        row["pass"] = statistics.median(every)
        row["once"] = statistics.median(row["first"]) - row["pass"]
    return found


def compare(found: dict[str, Any], last: int) -> list[dict[str, Any]]:
    """Ours beside the peer: ratio of the seconds of a pass, the two F1, and whether a target is reached."""
    rows = []
    for trainer, algorithm in OURS.items():
        own, other = found[trainer], found[f"CRFsuite {algorithm}"]
        ratio = own["pass"] / other["pass"]
        scores = own["quality"][last]["span_f1"], other["quality"][last]["span_f1"]
        reached = ratio <= 1.0 and scores[0] >= scores[1] - TIE
        rows.append(
            {"trainer": trainer, "peer": algorithm, "ratio": ratio, "span_f1": scores, "target": algorithm in TARGETED}
            | {"reached": reached}
        )
    return rows


# --- objectives --------------------------------------------------------------------------------------------------


def measure_objectives(corpus: Corpus, repeats: int) -> dict[str, dict[str, float]]:
    """Seconds of a gradient of each objective, on scores alone and with features, at weights that are half trained."""
    from hedgerow.chain.objectives import NAMES, make_objective
    from hedgerow.chain.objectives.log_likelihood import log_likelihood
    from hedgerow.linear.chain import Evaluation, LinearChain
    from hedgerow.parallel import Lanes

    data = corpus.dataset.take(np.arange(min(OBJECTIVE_SENTENCES, len(corpus.y))))
    model = train_ours("lbfgs", corpus._replace(dataset=data), 10)
    every = {name: make_objective(name, n_labels=data.n_labels) for name in NAMES}
    alone, featured = _on_scores(model, data, every), {}
    with Lanes(None, 1) as lanes:
        for name, objective in every.items():
            evaluation = Evaluation(LinearChain(model.layout_), data, objective, lanes)
            featured[name] = lambda evaluation=evaluation: evaluation(model.weights_)
        times: dict[str, dict[str, list[float]]] = {}
        for repeat in range(repeats + 1):
            for kind, jobs in (("alone", alone), ("features", featured)):
                for name, job in jobs.items():
                    took, _ = seconds(job)
                    if repeat:  # the first compiles
                        times.setdefault(name, {}).setdefault(kind, []).append(took)
    found = {name: {kind: statistics.median(own) for kind, own in row.items()} for name, row in times.items()}
    base = found[log_likelihood.__name__]
    return {name: {kind: value / base[kind] for kind, value in row.items()} for name, row in found.items()}


def _on_scores(model: Any, data: Any, every: dict[str, Any]) -> dict[str, Callable[[], None]]:
    """Each objective over chunks of scores that are made before the clock runs; and the product with the Hessian."""
    from itertools import pairwise

    from hedgerow.chain.inference import Workspace
    from hedgerow.chain.objectives import CURVATURES, Truth
    from hedgerow.linear.chain import LinearChain
    from hedgerow.parallel import plan_chunks

    chain = LinearChain(model.layout_)
    chain.load(model.weights_)
    rng, workspace, chunks = np.random.default_rng(0), Workspace(), []
    for first, last in pairwise(plan_chunks(data.offsets).tolist()):
        potentials = chain.potentials(chain.compile(data, first, last))
        rows = data.labels[data.offsets[first] : data.offsets[last]]
        chunks.append((potentials, rows, rng.normal(size=potentials.node_scores.shape)))
    edges = rng.normal(size=(data.n_labels, data.n_labels))

    def gradients(objective: Any) -> None:
        for potentials, rows, _ in chunks:
            objective(potentials, Truth(rows), workspace=workspace)

    def products(curvature: Any) -> None:
        for potentials, rows, nodes in chunks:
            curvature(potentials, Truth(rows), (nodes, edges), workspace=workspace)

    jobs: dict[str, Callable[[], None]] = {name: lambda own=own: gradients(own) for name, own in every.items()}
    jobs["Hessian product"] = lambda: products(CURVATURES[every["log_likelihood"]])
    return jobs


# --- report ------------------------------------------------------------------------------------------------------


def training_table(found: dict[str, Any], counts: tuple[int, ...]) -> str:
    heads = ["trainer", "seconds per pass", "passes per second", "once"]
    heads += [f"accuracy, F1 after {n}" for n in counts]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for name, row in found.items():
        cells = [name, f"{row['pass']:.3f}", f"{1 / row['pass']:.2f}", f"{row['once']:.2f}"]
        cells += [f"{row['quality'][n]['accuracy']:.2%}, {100 * row['quality'][n]['span_f1']:.2f}" for n in counts]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparison_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        f"{'seconds per pass, ours / peer':22s} {'CRFsuite':20s} {'ratio':>6s} {'target':>6s} {'F1':>6s} {'its':>6s}"
    ]
    for row in rows:
        verdict = "" if not row["target"] else "reached" if row["reached"] else "MISSED"
        target = "1.00" if row["target"] else ""
        own, other = (100 * score for score in row["span_f1"])
        names = f"{row['trainer']:27s} {row['peer']:20s}"
        lines.append(f"{names} {row['ratio']:6.2f} {target:>6s} {own:6.2f} {other:6.2f}  {verdict}")
    return "\n".join(lines)


def objective_table(found: dict[str, dict[str, float]]) -> str:
    lines = [f"{'gradient / log-likelihood':26s} {'scores':>8s} {'features':>9s} {'target':>7s}"]
    for name, row in found.items():
        target = OBJECTIVE_TARGETS.get(name)
        verdict = "" if target is None else "reached" if row["alone"] <= target else "MISSED"
        featured = f"{row['features']:9.2f}" if "features" in row else " " * 9
        lines.append(f"{name:26s} {row['alone']:8.2f} {featured} {'' if target is None else target!s:>7s}  {verdict}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--passes", type=int, default=10, help="the most passes")
    parser.add_argument("--sentences", type=int, default=None, help="use only so many training sentences")
    parser.add_argument("--quick", action="store_true", help="500 sentences, 5 passes, one repeat: shows that it runs")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--output", default="benchmarks/results/trainers.json")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats, arguments.passes, arguments.sentences = 1, 5, 500
    load_before = require_quiet(arguments.force)
    machine = describe(("hedgerow", "numpy", "numba", "scikit-learn", "python-crfsuite"))
    counts = (*(n for n in (1, 2, 5, 10, 20, 50) if n < arguments.passes), arguments.passes)
    watch, corpus = Watch(), read(arguments.sentences)
    objective_costs = measure_objectives(corpus, arguments.repeats)
    found = measure_training(corpus, arguments.repeats, counts)
    rows, others = compare(found, counts[-1]), watch.others()
    print(f"\n{corpus.name}, {len(corpus.y)} training sentences; other work took {others:.0%} of the cores")
    print(f"\n{training_table(found, counts)}\n\n{comparison_table(rows)}\n\n{objective_table(objective_costs)}")
    results = {
        "machine": machine,
        "other_load": [load_before, others],
        "data": corpus.name,
        "sentences": len(corpus.y),
        "training": found,
        "comparison": rows,
        "objectives": objective_costs,
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    if not arguments.quick:
        Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
        Path(arguments.output).write_text(json.dumps(results, indent=1))
        print(f"\nwritten to {arguments.output}")


if __name__ == "__main__":
    main()
