"""Boosted trees for a chain: hedgerow's engine against LightGBM on the table written out, in one run, alternating.

    python benchmarks/tree_vs_lightgbm.py [--case protein] [--repeats 5] [--quick] [--force]

LightGBM gets what one has to give it for the same model: a table of N·K rows (a position with each previous label;
⊥ at first positions) and K trees per iteration (one booster of K classes; K boosters give the same trees in the same
time and more memory) from gradients computed outside, by the same forward-backward as hedgerow's. Both have λ = 20,
100 leaves, a step of 1 and two threads. LightGBM runs in both encodings, as categorical columns (one value against
the rest, as hedgerow splits) and as binary columns, and chooses itself between rows and columns; the better of the two
encodings is the yardstick, in each thing measured.

Measured, medians over iterations 3 … 25 of all repeats (3 … 8 with 20 labels, 3 … 12 with 160,000 positions, where
an iteration of LightGBM takes long): the time of the trees (scores of the training rows brought up to date included),
of forward-backward, and of whole iterations; beside the ratio of medians that of the fastest tenth, which other work on
the machine spoils less. Then leaves reached, the loss at the end, the peak of memory from the corpus on, and the time
to score the same rows with the trees of 100 iterations (8 and 12 there; with the bins of hedgerow made anew).
Outside the clock: hedgerow's Dataset and bins, LightGBM's Dataset.

That the two do the same work is checked at λ = 0, where the losses after four iterations must agree. At λ = 20 they
differ a little: below a node where a column gains nothing LightGBM does not try it again, and of a categorical column
it drops the rarest value.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.lightgbm_chain import OnTable
from benchmarks.machine import Watch, describe, peak_bytes, require_quiet, resident_bytes
from benchmarks.tree_tables import CASES, Corpus, Setup, load, to_sequences

Steps = list[dict[str, float]]
SYSTEMS = ("categorical", "binary", "hedgerow")  # the first two are LightGBM's encodings
FIRST = 3  # the first iteration that counts
DISTURBED = 0.1  # of the cores: at this share of other work LightGBM's threads wait for each other many times as long
MEMORY, PREDICTION = 0.25, 1 / 5  # targets, as shares of LightGBM's


class System(Protocol):
    """A booster on one corpus."""

    def step(self) -> dict[str, float]:
        """Add one iteration; the seconds of its parts."""

    def loss(self) -> float:
        """The loss that the last iteration started from."""

    def leaves(self) -> float:
        """The mean number of leaves of the trees so far."""

    def predict(self) -> float:
        """Score the training rows as if they were new; the seconds it took."""


# --- hedgerow ------------------------------------------------------------------------------------------------------


class Hedgerow:
    """hedgerow's booster: the one place that knows its interface."""

    def __init__(self, corpus: Corpus, width: int, setup: Setup) -> None:
        from hedgerow.data.encoding import learn
        from hedgerow.training.boosting.chain import Booster
        from hedgerow.trees.binning import bin_dataset, learn_binning

        self.setup = setup
        X, y = to_sequences(corpus)
        self.dataset = learn(X, y, window=width // 2)
        self.binning = learn_binning(self.dataset)
        data = bin_dataset(self.binning, self.dataset, postings=True)
        options: dict[str, Any] = {
            "max_leaf_nodes": setup.max_leaf_nodes,
            "l2_regularization": setup.l2_regularization,
            "learning_rate": 1.0,
        }
        self.booster = Booster(self.dataset, data, setup.lanes, **options)
        self.trees: list[Any] = []
        self._loss = 0.0

    def step(self) -> dict[str, float]:
        begin = self.setup.clock()
        self._loss = self.booster.evaluate()
        middle = self.setup.clock()
        trees = self.booster.step()
        end = self.setup.clock()
        self.trees.extend(trees)
        return {"trees": end - middle, "forward_backward": middle - begin, "copying": 0.0, "iteration": end - begin}

    def loss(self) -> float:
        return self._loss

    def leaves(self) -> float:
        return statistics.mean(int((tree.nodes[:, 0] == -2).sum()) for tree in self.trees)

    def predict(self) -> float:
        """Bins of the encoded corpus anew, then the trees, in runs of positions as threads take them."""
        from hedgerow.trees.binning import bin_dataset
        from hedgerow.trees.ensemble import add_trees

        K, n = self.dataset.n_labels, self.dataset.n_positions
        edges = np.linspace(0, n, 8 + 1).astype(np.int64)
        begin = self.setup.clock()
        data = bin_dataset(self.binning, self.dataset, postings=False)

        def score(_: int, s: int) -> None:
            own = slice(int(edges[s]), int(edges[s + 1]))
            size = own.stop - own.start
            add_trees(data, data.place[own], self.trees, np.zeros((K, size, K)), np.zeros((K, size)))

        self.setup.lanes.run(score, 8)
        return self.setup.clock() - begin


# --- measurements --------------------------------------------------------------------------------------------------


def start(system: str, corpus: Corpus, width: int, setup: Setup) -> System:
    return Hedgerow(corpus, width, setup) if system == "hedgerow" else OnTable(corpus, width, system, setup)


def train(system: str, corpus: Corpus, width: int, iterations: int, setup: Setup) -> tuple[System, Steps]:
    booster = start(system, corpus, width, setup)
    return booster, [booster.step() for _ in range(iterations)]


@contextmanager
def open_setup(threads: int) -> Iterator[Setup]:
    from hedgerow.parallel import MAX_LANES, Lanes

    with Lanes(threads, MAX_LANES) as lanes:
        yield Setup(lanes, threads)


def measure(name: str, threads: int, repeats: int, iterations: int, predicted: int) -> dict[str, Any]:
    """One case: check that the work is the same, then alternate the systems.

    Then prediction, with the trees of `predicted` iterations, and memory, in processes of their own; not if that is 0.
    """
    what, corpus = load(name)
    width = CASES[name].width
    print(f"\n{name}: {what}, N={corpus.n_positions}, K={corpus.n_labels}, width {width}", flush=True)
    steps: dict[str, Steps] = {system: [] for system in SYSTEMS}
    facts: dict[str, dict[str, float]] = {}
    more: dict[str, dict[str, float]] = {}
    watch = Watch()
    with open_setup(threads) as setup:
        for system in SYSTEMS:  # compile before the clock runs
            train(system, corpus.head(4), width, 2, setup)[0].predict()
        difference = compare_losses(corpus, width, setup)
        for _ in range(repeats):
            for system in SYSTEMS:
                booster, found = train(system, corpus, width, iterations, setup)
                steps[system] += found[FIRST - 1 :]
                facts[system] = {"leaves": booster.leaves(), "loss": booster.loss()}
        if predicted:
            more["prediction_seconds"] = {
                system: predict(system, corpus, width, predicted, setup) for system in SYSTEMS
            }
    others = watch.others()
    if predicted:
        more["memory_bytes"] = {system: memory_in_own_process(system, name, threads, iterations) for system in SYSTEMS}
    return {
        "data": what,
        "positions": corpus.n_positions,
        "labels": corpus.n_labels,
        "width": width,
        "other_load": others,
        "loss_difference_without_shrinkage": difference,
        "facts": facts,
        "median_seconds": {system: quantiles(steps[system], 0.5) for system in SYSTEMS},
        "fast_seconds": {system: quantiles(steps[system], 0.1) for system in SYSTEMS},
        "seconds": steps,
        **more,
    }


def compare_losses(corpus: Corpus, width: int, setup: Setup) -> float:
    """The relative difference of the losses after four iterations at λ = 0, where both must grow the same trees."""
    losses = []
    for system in ("binary", "hedgerow"):
        booster = start(system, corpus, width, replace(setup, l2_regularization=0.0))
        for _ in range(5):
            booster.step()
        losses.append(booster.loss())
    return abs(losses[1] - losses[0]) / losses[0]


def quantiles(steps: Steps, share: float) -> dict[str, float]:
    """Of each part, over the iterations of all repeats."""
    return {part: float(np.quantile([step[part] for step in steps], share)) for part in steps[0]}


def predict(system: str, corpus: Corpus, width: int, iterations: int, setup: Setup) -> float:
    booster, _ = train(system, corpus, width, iterations, setup)
    return statistics.median(booster.predict() for _ in range(3))


def memory_in_own_process(system: str, name: str, threads: int, iterations: int) -> int:
    command = [sys.executable, __file__, "--memory-of", system, "--case", name, "--iterations", str(iterations)]
    command += ["--threads", str(threads)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def memory_of(system: str, name: str, threads: int, iterations: int) -> int:
    """Peak bytes above what imports and a run on four sequences take: tables, gradients and trees, not code."""
    _, corpus = load(name)
    width = CASES[name].width
    with open_setup(threads) as setup:
        train(system, corpus.head(4), width, 2, setup)
        bare = resident_bytes()
        train(system, corpus, width, iterations, setup)
        return peak_bytes() - bare


# --- the report ----------------------------------------------------------------------------------------------------


def ratios(name: str, found: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """What hedgerow takes of LightGBM's better encoding; the same of the fastest tenth; and the target."""
    case = CASES[name]

    def share(value: Callable[[str], float]) -> float:
        return value("hedgerow") / min(value("categorical"), value("binary"))

    def part(name: str, target: float) -> tuple[float, float, float]:
        median = share(lambda system: found["median_seconds"][system][name])
        return median, share(lambda system: found["fast_seconds"][system][name]), target

    rows = {"trees": part("trees", case.trees), "iteration": part("iteration", case.iteration)}
    for key, target in (("memory_bytes", MEMORY), ("prediction_seconds", PREDICTION)):
        if key in found:
            value = share(found[key].__getitem__)
            rows[key.split("_")[0]] = value, value, target
    return rows


def report(name: str, threads: int, found: dict[str, Any]) -> None:
    heads = ("trees", "forw.-b.", "copying", "iteration ms", "leaves", "loss", "predict s", "memory MB")
    print(" " * 14 + "".join(f"{head:>13s}" for head in heads))
    for system in SYSTEMS:
        seconds, facts = found["median_seconds"][system], found["facts"][system]
        row = [1e3 * seconds[part] for part in ("trees", "forward_backward", "copying", "iteration")]
        row += [facts["leaves"], facts["loss"]]
        if "memory_bytes" in found:
            row += [found["prediction_seconds"][system], found["memory_bytes"][system] / 1e6]
        print(f"{system:14s}" + "".join(f"{value:13.2f}" for value in row))
    print(f"  losses at λ = 0 differ by {found['loss_difference_without_shrinkage']:.1e}")
    disturbed = found["other_load"] > DISTURBED
    for key, (value, fast, target) in ratios(name, found).items():
        verdict = "reached" if value <= target else "MISSED"
        if disturbed and threads > 1 and key != "memory":
            verdict = f"no verdict: other work took {found['other_load']:.0%} of the cores"
        print(
            f"  {key:12s} {value:6.3f} of LightGBM's better (fastest tenth {fast:6.3f}), target {target:.2f}  {verdict}"
        )
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--case", choices=sorted(CASES), action="append", help="by default all of them")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="1 measures time of the processor; targets are for 2")
    parser.add_argument("--quick", action="store_true", help="one repeat, ten iterations, and predict with those")
    parser.add_argument("--training", action="store_true", help="neither prediction nor memory")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--output", default="benchmarks/results/tree_vs_lightgbm.json")
    parser.add_argument("--memory-of", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--iterations", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", module="lightgbm")
    if arguments.memory_of:
        print(memory_of(arguments.memory_of, arguments.case[0], arguments.threads, arguments.iterations))
        return
    load_before = require_quiet(arguments.force)
    machine = describe(("hedgerow", "numpy", "numba", "lightgbm"))
    results: dict[str, Any] = {"machine": machine, "other_load": load_before, "threads": arguments.threads, "cases": {}}
    for name in arguments.case or CASES:
        case, quick = CASES[name], 10 if arguments.quick else 10**9
        repeats = 1 if arguments.quick else min(arguments.repeats, case.repeats)
        predicted = 0 if arguments.training else min(case.predicted, quick)
        found = measure(name, arguments.threads, repeats, min(case.iterations, quick), predicted)
        report(name, arguments.threads, found)
        results["cases"][name] = found | {"ratios": {key: value for key, (value, *_) in ratios(name, found).items()}}
    Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.output).write_text(json.dumps(results, indent=1))
    print(f"\nwritten to {arguments.output}")


if __name__ == "__main__":
    main()
