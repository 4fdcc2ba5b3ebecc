"""Figure 2 of Gross et al. 2007: objective and accuracy by iteration, for genes; and trees on the same window."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain.objectives import make_objective
from hedgerow.data.sequences import Sequences
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.training.counting import count_weights
from reproduction.chains import ChainTask, Reader, descend
from reproduction.comparison import Spread
from reproduction.curves import right_by_iteration
from reproduction.datasets import load_genes, trimers
from reproduction.drawing import draw_learning
from reproduction.intervals import paired
from reproduction.report import Grid, Report, Row
from reproduction.resampling import gap_interval
from reproduction.settings import DECODERS, Settings

TITLE = "Gross et al. 2007, figure 2: labels right (%) in human genes, from generative starting values"
HEADER = (
    "model", "objective", "from", "iterations", "loss a base: at first", "at the end",
    "train: at first", "at the end", "test: at first", "at the end", "by Viterbi", "against the start", "CPU seconds",
)  # fmt: skip
OVER_TITLE = "Over the splits: labels right at the end less those at the start, points, and the t-test for pairs"
OVER_HEADER = ("objective", "from", "train", "test")
SHARPNESS = 15.0
COUNTS, LIKELIHOOD = "counts", "log_likelihood"


class Run(NamedTuple):
    """A training: its objective, where its weights start, and how L-BFGS goes on, as `descend` has it."""

    objective: str
    start: str = COUNTS
    options: Mapping[str, Any] = MappingProxyType({})
    max_iter: int = 50
    memory: int = 6
    tol: float = 1e-5


# The likelihood comes first, for others go on from its end. A label goes on for thousands of bases, so that the loss is
# 10⁸ times as curved one way as another: L-BFGS comes to the end if it remembers about a step for each of 201 weights.
# The last two are those that the authors name as open.
RUNS = (
    Run(LIKELIHOOD, max_iter=3_000, memory=200, tol=1e-7),
    Run("labelwise", options={"sharpness": SHARPNESS}),
    Run("pointwise"),
    Run("labelwise", LIKELIHOOD, {"sharpness": SHARPNESS}),
    Run("expected_accuracy", LIKELIHOOD),
    Run("classification_error", LIKELIHOOD),
)
TREE_OBJECTIVES = ("log_likelihood", "labelwise")
POSTERIOR, VITERBI = DECODERS
L2 = 1.0
N_TREES = 30
WINDOW = 1  # a trimer: the base before, the base and the one after
QUICK_GENES, QUICK_BASES = 12, 1_000
SHARE = 16  # one gene in so many is used: six trainings on all of them take a CPU hour and more


@dataclass(frozen=True)
class Genes:
    """Bases and labels to train on and to test on."""

    X: Sequences
    y: AnyArray
    X_test: Sequences
    y_test: AnyArray


def run(settings: Settings) -> Report:
    """Objectives for the linear chain over trimers, on as many splits as there are seeds; then trees over the same
    three bases, on the first."""
    loaded = _load(settings)
    data: dict[str, Any] = {"linear": [], "trees": {}, "bases": []}
    for seed in settings.seeds:
        genes = split(loaded, seed, 1 if settings.quick else SHARE)
        task = ChainTask.of(trimers(genes.X), genes.y, trimers(genes.X_test), genes.y_test)
        data["bases"].append([task.train.n_positions, task.test.n_positions])
        starts, found = {COUNTS: count_weights(task.train, task.layout)}, {}
        for one in RUNS:
            found[_title(one)], end = trace(task, starts[one.start], one, settings)
            starts.setdefault(one.objective, end)
            settings.say(f"split {seed}, {_title(one)}: done")
        data["linear"].append(found)
    for name in TREE_OBJECTIVES:
        data["trees"][name] = grow(split(loaded, settings.seeds[0], 1 if settings.quick else SHARE), name, settings)
        settings.say(f"trees, {name}: done")
    rows = [_linear_row(one, [found[_title(one)] for found in data["linear"]]) for one in RUNS]
    rows += [_tree_row(name, found) for name, found in data["trees"].items()]
    over = [over_splits(one, [found[_title(one)] for found in data["linear"]]) for one in RUNS]
    tables = [Grid(TITLE, HEADER, rows), Grid(OVER_TITLE, OVER_HEADER, over)]
    return Report("labelwise-fig-2", tables, _notes(data), data)


def split(genes: Genes, seed: int, share: int = 1) -> Genes:
    """One gene in `share`: of both parts as they come for seed 0; for others all are dealt out anew, in two parts of as
    many genes."""
    if seed == 0 and share == 1:
        return genes
    n, total = len(genes.X), len(genes.X) + len(genes.X_test)
    order = np.random.default_rng(seed).permutation(total) if seed else np.arange(total)
    parts: list[Any] = []
    for own in (np.sort(order[:n:share]), np.sort(order[n::share])):
        cut = [_bases(genes.X, i) if i < n else _bases(genes.X_test, i - n) for i in own.tolist()]
        labels = np.empty(len(own), dtype=object)
        for j, i in enumerate(own.tolist()):
            labels[j] = genes.y[i] if i < n else genes.y_test[i - n]
        offsets = np.cumsum([0, *map(len, cut)])
        parts += [Sequences({"base": np.concatenate(cut)}, offsets, genes.X.kinds), labels]
    return Genes(*parts)


def _bases(X: Sequences, i: int) -> AnyArray:
    return X.columns["base"][X.offsets[i] : X.offsets[i + 1]]


def _title(one: Run) -> str:
    return one.objective if one.start == COUNTS else f"{one.objective}, from the likelihood"


def trace(task: ChainTask, start: FloatArray, one: Run, settings: Settings) -> tuple[dict[str, Any], FloatArray]:
    """The curves of one training: by iteration the passes, the loss a base, and accuracies in percent; and its end."""
    readers = {
        "train": Reader(task.layout, task.train, settings.n_jobs),
        "test": Reader(task.layout, task.test, settings.n_jobs),
    }
    found: dict[str, Any] = {"passes": [], "losses": [], "train": [], "test": [], "seconds": 0.0}
    watch = _Watch()

    def observe(passes: int, loss: float, weights: FloatArray) -> None:
        found["seconds"] += watch.lap()
        found["passes"].append(passes)
        found["losses"].append(loss / task.train.n_positions)
        for part, reader in readers.items():
            found[part].append(reader.accuracy(weights, POSTERIOR))
        watch.lap()

    end = descend(
        task,
        make_objective(one.objective, n_labels=task.layout.n_labels, **one.options),
        start,
        l2=L2,
        max_iter=min(settings.max_iterations, one.max_iter) if settings.quick else one.max_iter,
        tol=one.tol,
        n_jobs=settings.n_jobs,
        memory=one.memory,
        observe=observe,
    )
    reader = readers["test"]
    found["viterbi"] = {"start": reader.accuracy(start, VITERBI), "end": reader.accuracy(end, VITERBI)}
    found["against_start"] = gap_interval(
        _right_by_sequence(reader, end), _right_by_sequence(reader, start), np.diff(task.test.offsets)
    )
    return found, end


def grow(genes: Genes, objective: str, settings: Settings) -> dict[str, Any]:
    """Accuracies of trees by iteration, in percent, by both decoders; CPU seconds of training."""
    model = TreeCRF(
        window=WINDOW,
        objective=objective,
        n_estimators=settings.max_iterations if settings.quick else N_TREES,
        early_stopping=False,
        n_jobs=settings.n_jobs,
        random_state=settings.seeds[0],
    )
    began = time.process_time()
    model.fit(genes.X, genes.y)
    seconds = time.process_time() - began
    right = (
        100 * right_by_iteration(model, genes.X_test, genes.y_test.tolist(), DECODERS) / int(genes.X_test.lengths.sum())
    )
    curves = {decoder: own.tolist() for decoder, own in zip(DECODERS, right)}
    return {**curves, "losses": [step.loss for step in model.history_], "seconds": seconds}


class _Watch:
    """CPU seconds between laps."""

    def __init__(self) -> None:
        self._last = time.process_time()

    def lap(self) -> float:
        now = time.process_time()
        passed, self._last = now - self._last, now
        return passed


def _load(settings: Settings) -> Genes:
    place = None if settings.folder is None else Path(settings.folder) / "genes"
    X, y, X_test, y_test = load_genes(place)
    if settings.quick:
        (X, y), (X_test, y_test) = _shorten(X, y), _shorten(X_test, y_test)
    return Genes(X, y, X_test, y_test)


def _shorten(X: Sequences, y: AnyArray) -> tuple[Sequences, AnyArray]:
    """The middle of the first genes: their ends are all outside."""
    bases, offsets = X.columns["base"], X.offsets
    cut = []
    labels = np.empty(min(QUICK_GENES, len(X)), dtype=object)
    for i in range(len(labels)):
        middle = len(y[i]) // 2
        begin, end = max(0, middle - QUICK_BASES // 2), min(len(y[i]), middle + QUICK_BASES // 2)
        cut.append(bases[offsets[i] + begin : offsets[i] + end])
        labels[i] = y[i][begin:end]
    return Sequences({"base": np.concatenate(cut)}, np.cumsum([0, *map(len, cut)]), X.kinds), labels


def _right_by_sequence(reader: Reader, weights: FloatArray) -> FloatArray:
    right = reader.labels(weights, POSTERIOR) == reader.dataset.labels
    return np.add.reduceat(right, reader.dataset.offsets[:-1]).astype(np.float64)


def _linear_row(one: Run, splits: list[dict[str, Any]]) -> Row:
    """Means and ranges over splits; losses and the interval are those of the first."""
    low, high = splits[0]["against_start"]
    return (
        "LinearCRF, trimers",
        one.objective,
        one.start,
        f"{Spread.of([len(found['losses']) - 1 for found in splits]).mean:.0f}",
        *(f"{splits[0]['losses'][i]:.4f}" for i in (0, -1)),
        *(str(Spread.of([found[part][i] for found in splits])) for part in ("train", "test") for i in (0, -1)),
        str(Spread.of([found["viterbi"]["end"] for found in splits])),
        f"{low:+.2f} … {high:+.2f}",
        f"{Spread.of([found['seconds'] for found in splits]).mean:.0f}",
    )


def over_splits(one: Run, splits: list[dict[str, Any]]) -> Row:
    """What a training gained over where it began, a split being a pair."""
    tests = [paired(*([found[part][i] for found in splits] for i in (-1, 0))) for part in ("train", "test")]
    return (one.objective, one.start, *(f"{test.difference:+.2f}, {test}" for test in tests))


def _tree_row(name: str, found: dict[str, Any]) -> Row:
    n = len(found[POSTERIOR])
    own: Sequence[float] = found[POSTERIOR]
    ends = (f"{own[0]:.2f}", f"{own[-1]:.2f}", f"{found[VITERBI][-1]:.2f}")
    return ("TreeCRF, three bases", name, "zero", f"{n}", "–", "–", "–", "–", *ends, "–", f"{found['seconds']:.0f}")


def _notes(data: dict[str, Any]) -> list[str]:
    n_train, n_test = data["bases"][0]
    return [
        f"{len(data['bases'])} splits by gene, of one gene in {SHARE}, the first as the data come; means and ranges"
        " over them, losses and intervals of the first.",
        f"Labels c, i, n; {n_train:,} bases to train on, {n_test:,} to test. The paper has 28 million of the fruit fly,"
        " and its numbers are only in the picture: labelwise training rises above the start, the others fall below it.",
        f"L-BFGS, l2 = {L2:g}, the likelihood to its end, others at most 50 iterations; labelwise with λ ="
        f" {SHARPNESS:g}. The start is counted, P(b₃ | b₁ b₂, y) of each trimer, or the end of the likelihood."
        " Labels by the posterior unless it says Viterbi.",
        f"TreeCRF: {N_TREES} iterations from zero; with labelwise the second half of them.",
        "Splits deal out the same genes anew, so that they are not independent draws: p over splits is too small.",
        "Against the start: test accuracy less that of the start, in points, 95 % interval by resampling genes.",
        "CPU seconds of training, reading off the accuracies not counted. The first tree row is after one iteration.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """For each objective the loss and both accuracies by iteration; then the trees."""
    trees = {name: {"test": found[POSTERIOR], "losses": found["losses"]} for name, found in data["trees"].items()}
    panels = {f"LinearCRF: {name}": found for name, found in data["linear"][0].items()}
    return draw_learning({**panels, **{f"TreeCRF: {name}": found for name, found in trees.items()}})
