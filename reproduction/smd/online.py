"""Online trainers against L-BFGS: F on test sequences by passes over the training sequences, all passes counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from hedgerow.chain.objectives import Objective, log_likelihood, perceptron
from hedgerow.errors import InputError
from hedgerow.legend import CodeArray, FloatArray, IndexArray
from hedgerow.trainers import SGD, SMD, AnnealedSGD, AveragedPerceptron, OnlineTrainer
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.trainers import train_online
from reproduction.chains import ChainTask, Reader, Watched, descend
from reproduction.published import OnlineScores
from reproduction.settings import Settings

L2 = 0.5  # σ = 1 in the paper: l2 = 1 / (2σ²)
GAIN = 0.1  # η₀, which the paper tuned for SGD
GAIN_DECAY = 1.0  # λ
CORRECTIONS = 5  # steps that the paper's L-BFGS remembers
MAX_ITER = 1_000
NEAR = 0.1  # in points of F: as good as converged
FINE = 0.02  # how much further a reading is than the one before, at least

Scores = Callable[[CodeArray], dict[str, float]]


@dataclass(frozen=True)
class OnlineTask:
    """A data set of the paper.

    score : codes of test labels → F in percent by name; the first decides who is near whom
    batch_size, meta_gain : b and μ of the paper
    n_passes : of the online trainers, with Hessian-vector products as passes of their own
    published, published_score, other_score : what the paper prints, and the scores that it and its line stand for
    """

    title: str
    chain: ChainTask
    score: Scores
    batch_size: int
    meta_gain: float
    n_passes: int
    published: OnlineScores
    published_score: str
    other_score: str

    @cached_property
    def reader(self) -> Reader:
        return Reader(self.chain.layout, self.chain.test)

    def read(self, weights: FloatArray) -> dict[str, float]:
        """F of the labels that these weights give, by Viterbi."""
        return self.score(self.reader.labels(weights, "viterbi"))


@dataclass
class Curve:
    """What was read off during one training.

    passes : over the training sequences, when it was read
    scores : F by name, for each of them
    seconds : of CPU time in training, reading off not counted
    labels : codes of the test labels at the end
    diverged : why training broke off, where the gain that was given was too large
    """

    passes: list[float] = field(default_factory=list)
    scores: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    labels: CodeArray | None = None
    diverged: str = ""

    def line(self, name: str, first: int = 0) -> tuple[list[float], list[float]]:
        """Passes, and F after them."""
        return self.passes[first:], [scores[name] for scores in self.scores[first:]]

    def within(self, name: str, passes: float) -> float | None:
        """F at the last reading within so many passes; None where there is none."""
        known = [scores[name] for own, scores in zip(self.passes, self.scores) if own <= passes]
        return known[-1] if known else None

    def at(self, name: str, passes: float) -> float | None:
        """The same, and None where training ended before."""
        return self.within(name, passes) if self.passes and self.passes[-1] >= passes else None

    def reached(self, name: str, target: float) -> float | None:
        """The passes after which F is first no more than NEAR below the target."""
        return next((passes for passes, scores in zip(self.passes, self.scores) if scores[name] >= target - NEAR), None)

    def settled(self, name: str, target: float) -> float | None:
        """The passes from which on F never again falls more than NEAR below the target; None where it does."""
        found = None
        for passes, scores in zip(reversed(self.passes), reversed(self.scores)):
            if scores[name] < target - NEAR:
                break
            found = passes
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"passes": self.passes, "scores": self.scores, "seconds": self.seconds, "diverged": self.diverged}


class CountedBatches(Batches):
    """A batch whose Hessian is multiplied by a direction counts twice: for the gradient, and for the product."""

    def curve(self, sequences: IndexArray, x: FloatArray, direction: FloatArray) -> float:
        loss = super().curve(sequences, x, direction)
        self.passes += len(sequences) / self.n_sequences
        return loss


class _Recorder:
    """Reads F off after every pass; and within the first, where that is wanted, after every batch, or after every
    fiftieth more of them: nothing finer can be seen on a logarithmic axis."""

    def __init__(self, task: OnlineTask, batches: Batches, *, closely: bool) -> None:
        self.task, self.batches = task, batches
        self.curve = Curve()
        self._every = max(1, task.batch_size // batches.batch_size)  # the perceptron's batch is one sequence
        self._close = batches.n_batches if closely else 0  # the first pass; its last batch ends it
        self._seen = self._next = 0
        self._last = time.process_time()

    def after_batch(self, passes: float, get_weights: Callable[[], FloatArray]) -> None:
        self._seen += 1
        if self._next <= self._seen < self._close and self._seen % self._every == 0:
            self._next = int(self._seen * (1.0 + FINE))
            self._read(get_weights())

    def after_pass(self, loss: float, weights: FloatArray) -> None:
        self._read(weights)

    def _read(self, weights: FloatArray) -> None:
        self.curve.seconds += time.process_time() - self._last
        self.curve.passes.append(self.batches.passes)
        self.curve.labels = self.task.reader.labels(weights, "viterbi")
        self.curve.scores.append(self.task.score(self.curve.labels))
        self._last = time.process_time()


def _online(
    task: OnlineTask,
    seed: int,
    settings: Settings,
    closely: bool,
    *,
    trainer: OnlineTrainer,
    objective: Objective = log_likelihood,
    batch_size: int | None = None,
    looks: int = 1,
    l2: float = L2,
) -> Curve:
    chain = task.chain
    size = task.batch_size if batch_size is None else batch_size
    batches = CountedBatches(chain.layout, chain.train, objective, batch_size=size, seed=seed)
    recorder = _Recorder(task, batches, closely=closely)
    n_passes = min(task.n_passes, settings.max_iterations) if settings.quick else task.n_passes
    # No tolerance: the running loss of a pass that rises is no reason to stop.
    with Watched(recorder.after_pass, max_iter=-(-n_passes // looks), tol=-np.inf) as monitor:
        try:
            train_online(trainer, batches, chain.zeros(), monitor, l2=l2, observe=recorder.after_batch)
        except InputError as error:
            recorder.curve.diverged = str(error)
    return recorder.curve


def train_smd(
    task: OnlineTask,
    seed: int,
    settings: Settings,
    closely: bool,
    gain: float | Literal["auto"] = "auto",
    schedule: Literal["averaged", "plain"] = "averaged",
    max_growth: float | None = 2.0,
) -> Curve:
    """SMD as hedgerow does it: with a gain that it finds itself, which is counted, and averaged; or as it is told. μ
    and λ are the paper's. It looks at a sequence twice where it goes through the data once."""
    trainer = SMD(gain=gain, meta_gain=task.meta_gain, gain_decay=GAIN_DECAY, schedule=schedule, max_growth=max_growth)
    return _online(task, seed, settings, closely, trainer=trainer, looks=2)


def train_sgd(
    task: OnlineTask, seed: int, settings: Settings, closely: bool, gain: float | Literal["auto"] = GAIN
) -> Curve:
    """SGD with a fixed gain."""
    return _online(task, seed, settings, closely, trainer=SGD(gain=gain))


def train_annealed(task: OnlineTask, seed: int, settings: Settings, closely: bool) -> Curve:
    """SGD as hedgerow does it: a gain that it finds itself and that falls, and averaged weights."""
    return _online(task, seed, settings, closely, trainer=AnnealedSGD())


def train_perceptron(task: OnlineTask, seed: int, settings: Settings, closely: bool) -> Curve:
    """Collins' perceptron, averaged, one sequence at a time."""
    return _online(task, seed, settings, closely, trainer=AveragedPerceptron(), objective=perceptron, batch_size=1)


def train_lbfgs(task: OnlineTask, settings: Settings, *, as_published: bool) -> Curve:
    """L-BFGS to its end: hedgerow's own, or with the paper's five corrections and without scaled variables."""
    curve = Curve()
    last = time.process_time()

    def observe(passes: int, loss: float, weights: FloatArray) -> None:
        nonlocal last
        curve.seconds += time.process_time() - last
        curve.passes.append(float(passes))
        curve.labels = task.reader.labels(weights, "viterbi")
        curve.scores.append(task.score(curve.labels))
        last = time.process_time()

    options: dict[str, Any] = {"memory": CORRECTIONS, "scaled": False} if as_published else {}
    descend(
        task.chain,
        log_likelihood,
        task.chain.zeros(),
        l2=L2,
        max_iter=settings.max_iterations if settings.quick else MAX_ITER,
        observe=observe,
        **options,
    )
    return curve


def spans_counted(reader: Reader) -> Scores:
    """The scorer of chunks: F of spans."""
    from hedgerow.metrics import span_f1

    truth = reader.lists(_labels(reader))
    return lambda labels: {"chunks": 100 * span_f1(truth, reader.lists(labels))}


def names_counted(reader: Reader) -> Scores:
    """The scorer of names: F of spans; of labels that are not O; and of being part of a name at all, whatever name."""
    from hedgerow.metrics import span_f1

    codes = _labels(reader)
    truth = reader.lists(codes)
    outside = reader.dataset.schema.label_codes["O"]

    def score(labels: CodeArray) -> dict[str, float]:
        inside = (codes != outside, labels != outside)
        n = int(inside[0].sum() + inside[1].sum())
        return {
            "entities": 100 * span_f1(truth, reader.lists(labels)),
            "tokens": 200 * int(((codes == labels) & inside[0]).sum()) / n,
            "tokens, any name": 200 * int((inside[0] & inside[1]).sum()) / n,
        }

    return score


def _labels(reader: Reader) -> CodeArray:
    return reader.dataset.require_labels("scoring")


def final(curves: Sequence[Curve], name: str) -> list[float]:
    """F at the end, of each curve."""
    return [curve.scores[-1][name] for curve in curves]


def mean_line(curves: Sequence[Curve], name: str) -> tuple[list[float], list[float]]:
    """The mean over the orders that came to their end, of passes and of F, after each whole pass through the data."""
    whole = [curve for curve in curves if not curve.diverged]
    if not whole:
        return [], []
    # One order was read off after every batch of its first pass, too: count from the end.
    n = min(len(curve.passes) for curve in whole)
    lines = np.mean([curve.line(name, len(curve.passes) - n) for curve in whole], axis=0)
    return lines[0].tolist(), lines[1].tolist()
