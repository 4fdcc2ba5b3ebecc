"""One model that is tried: trained on folds, and what it says of the sequences that were held out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hedgerow.chain.objectives import CONVEX
from hedgerow.data.dataset import Dataset, Window
from hedgerow.estimators.codec.arrays import Array
from hedgerow.legend import CODE, FloatArray
from hedgerow.models.auto.folds import FoldedCorpus, Part
from hedgerow.models.auto.judging import POSTERIOR, VITERBI, Answers, Difference, Judge, Truth, difference
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.crf.tree_form import Duration
from hedgerow.training.checkpoint import remembered
from hedgerow.training.deadline import Deadline

FIRST_LOOK = 60  # iterations that trees get in a first look, on few sequences
INTERRUPTED, OUT_OF_TIME = "interrupted", "time_budget"


@dataclass(eq=False)
class Trial:
    """A model, and how it did.

    model : not fitted, with all its settings; line : the same in words
    answers : fold → what it said of its held-out sequences; looked : the same of a first look at few sequences
    seconds : of all its trainings; longest : of the last one on a whole fold, without what is done once (compiling)
    length : how many iterations its trees have and with which edges, once a fold has told; None before, and of models
        without trees; look_length : the same of a first look
    cut : whether time ran out before it was known how long is best
    error : why it could not be trained
    """

    number: int
    model: Any
    window: Window
    line: str
    answers: dict[int, Answers] = field(default_factory=dict)
    looked: Answers | None = None
    seconds: float = 0.0
    longest: float = 0.0
    length: Duration | None = None
    look_length: Duration | None = None
    cut: bool = False
    error: Exception | None = None

    @property
    def family(self) -> str:
        """What it is and its form of edges, without other settings: models of two families err in different places."""
        kind = f"{type(self.model).__name__} {getattr(self.model, 'edges', '')}".strip()
        inner = getattr(self.model, "estimator", getattr(self.model, "init", None))
        return kind if inner is None or isinstance(inner, str) else f"{kind} {type(inner).__name__}"


class _Told(NamedTuple):
    """What a training told: answers, how it ended, how long it was at its best, and how long it would take again."""

    answers: Answers
    outcome: str
    length: Duration
    seconds: float

    def plain(self) -> list[Any]:
        """As a checkpoint keeps it."""
        return [self.answers.labels, self.answers.probs, *self[1:]]

    @classmethod
    def of(cls, plain: Any) -> _Told:
        labels, probs, outcome, length, seconds = plain
        return cls(Answers(labels, probs), outcome, Duration(*length), seconds)


class Tries:
    """Trains trials on folds and compares what they say."""

    def __init__(self, corpus: FoldedCorpus, judge: Judge) -> None:
        self.corpus, self.judge = corpus, judge
        self._truths: dict[int, Truth] = {}
        self._looked: Truth | None = None
        self._stages: dict[tuple[int, str, tuple[int, ...]], FloatArray] = {}

    # -------------------------------------------------------------------------------------------- training

    def look(self, trial: Trial, deadline: Deadline) -> str:
        """Train on few sequences, for few iterations; how training ended."""
        part = self.corpus.part(0, trial.window, small=True)
        self._looked = self._looked or Truth.of(part)
        model = shortened(clone(trial.model), FIRST_LOOK)
        told = self._try(trial, model, part, deadline)
        if told.outcome != INTERRUPTED:
            trial.looked, trial.look_length = told.answers, told.length
        return told.outcome

    def run(self, trial: Trial, fold: int, deadline: Deadline) -> str:
        """Train on a fold; how training ended.

        On the first fold that a model of trees sees, the held-out sequences tell how many iterations are best, and what
        else it leaves open. On others, and at last on all sequences, it has that: their own labels help no score.
        """
        part = self.corpus.part(fold, trial.window)
        if fold not in self._truths:
            self._truths[fold] = Truth.of(part)
        told = self._try(trial, self.sized(trial), part, deadline)
        if told.outcome != INTERRUPTED:
            trial.answers[fold] = told.answers
            trial.longest = told.seconds
            if stops_early(trial.model) and trial.length is None:
                trial.length, trial.cut = told.length, told.outcome == OUT_OF_TIME
        return told.outcome

    def sized(self, trial: Trial, more: float = 1.0) -> Any:
        """The model of a trial before training: as long as was best, and with the best edges, where these are known."""
        model = clone(trial.model)
        length = trial.look_length if trial.length is None and trial.cut else trial.length
        if length is None or not stops_early(model):
            return model
        return _settled(shortened(model, round(more * length.n_iterations)), length)

    def _try(self, trial: Trial, model: Any, part: Part, deadline: Deadline) -> _Told:
        before = deadline.elapsed
        held = {"X_val": part.stopping} if stops_early(model) else {}
        model = without_temperature(model)
        spared = _stand(model, part, deadline)

        def work() -> _Told:
            with warnings.catch_warnings(), deadline.applied():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(part.train, **held)
            answers = self._ask(model, part.hidden)
            return _Told(answers, str(model.outcome_), _length(model), _training_seconds(model))

        told = remembered(work, self._form(part.hidden), _Told.plain, _Told.of)
        seconds = deadline.elapsed - before
        trial.seconds += seconds
        return told._replace(seconds=min(told.seconds, seconds + spared))

    def _form(self, held: Dataset) -> Any:
        """What is told of held-out sequences, as a checkpoint keeps it."""
        n, K = held.n_positions, held.n_labels
        labels = Array("labels", CODE, (n,), points_into=K)
        probs = Array("probs", np.float32, (n, K), low=0.0, high=1.001)
        return dict.fromkeys(self.judge.decoders, labels), probs, str, (str, int, int, float), float

    def _ask(self, model: Any, held: Dataset) -> Answers:
        probs = np.concatenate(model.predict_proba(held))
        labels = {}
        for decoder in self.judge.decoders:
            if decoder == POSTERIOR:
                labels[decoder] = probs.argmax(axis=1).astype(np.int32)
            else:
                labels[decoder] = np.concatenate(model._decoding(VITERBI)(model._dataset(held, None, None)))
        return Answers(labels, probs.astype(np.float32))

    # -------------------------------------------------------------------------------------------- comparing

    def truths(self, folds: Sequence[int]) -> list[Truth]:
        return [self._truths[fold] for fold in folds]

    def stages(self, trial: Trial, folds: tuple[int, ...]) -> FloatArray:
        """(1 + G,): the score on these folds, then that without each group of sequences; () is the first look."""
        key = (trial.number, self.decoder(trial), folds)
        if key not in self._stages:
            self._stages[key] = self.judge.stages(*self._compared(trial, folds), key[1])
        return self._stages[key]

    def log_probs(self, trial: Trial, folds: tuple[int, ...]) -> FloatArray:
        """The same of the mean log-probability of true labels."""
        key = (trial.number, "log_probs", folds)
        if key not in self._stages:
            self._stages[key] = self.judge.log_probs(*self._compared(trial, folds))
        return self._stages[key]

    def _compared(self, trial: Trial, folds: tuple[int, ...]) -> tuple[list[Truth], list[Answers]]:
        if not folds:
            assert self._looked is not None
            assert trial.looked is not None
            return [self._looked], [trial.looked]
        return self.truths(folds), [trial.answers[fold] for fold in folds]

    def decoder(self, trial: Trial) -> str:
        """The decoder of a trial by all folds that it was tried on: that of whole labelings where they count or where
        it is clearly better, and else the labels that are most probable one by one."""
        first, *others = self.judge.decoders
        if not others or not (trial.answers or trial.looked):
            return first
        compared = self._compared(trial, tuple(sorted(trial.answers)))
        alone, whole = (self.judge.stages(*compared, decoder) for decoder in (POSTERIOR, VITERBI))
        found = difference(whole, alone)
        better = found.clearly() if self.judge.averages else found.mean > 0.0
        return VITERBI if better else POSTERIOR

    def beats(self, one: Trial, other: Trial, folds: tuple[int, ...]) -> Difference:
        """By how much one trial is better than another, on the same sequences."""
        return difference(self.stages(one, folds), self.stages(other, folds))

    def is_sharper(self, one: Trial, other: Trial, folds: tuple[int, ...], n_errors: float = 0.0) -> bool:
        """Whether the true labels are more probable by one trial than by another, by so many standard errors."""
        return difference(self.log_probs(one, folds), self.log_probs(other, folds)).clearly(n_errors)

    def best(self, trials: Sequence[Trial], folds: tuple[int, ...]) -> Trial:
        """The best of some trials on the same folds.

        Of those within a standard error of the best score, one whose probabilities of true labels are clearly higher
        than those of the best wins: they tell models apart that give almost the same labels. Equal ones: the first.
        """
        leader = max(trials, key=lambda trial: (self.stages(trial, folds)[0], self.log_probs(trial, folds)[0].round(3)))
        close = [trial for trial in trials if not self.beats(leader, trial, folds).clearly()]
        sharper = [trial for trial in close if self.is_sharper(trial, leader, folds, 2.0)]
        return max(sharper, key=lambda trial: self.log_probs(trial, folds)[0]) if sharper else leader


def _stand(model: Any, part: Part, deadline: Deadline) -> float:
    """Train the linear model that trees stand on, or take that of an earlier trial: how many seconds this spared. Not
    where there is no deadline: a search that goes on from a checkpoint does not have the models of before."""
    below = getattr(model, "init", None)
    if not isinstance(below, LinearCRF) or not math.isfinite(deadline.end):
        return 0.0
    name, before = repr(below), deadline.elapsed
    if name in part.below:
        model.init, seconds = part.below[name]
        return seconds
    with warnings.catch_warnings(), deadline.applied():
        warnings.simplefilter("ignore", ConvergenceWarning)
        below.fit(part.train)
    if below.outcome_ not in (INTERRUPTED, OUT_OF_TIME):
        part.below[name] = below, deadline.elapsed - before
    return 0.0


def _training_seconds(model: Any) -> float:
    """How long training would take again, by the middle one of its iterations: the first may have waited for kernels to
    be compiled. Infinite where there are too few to tell."""
    times = [step.seconds for step in model.history_]
    if len(times) < 4:
        return np.inf
    below = getattr(model, "linear_", None)  # which was trained before the trees
    return float(np.median(np.diff(times)) * len(times)) + (0.0 if below is None else _training_seconds(below))


def stops_early(model: Any) -> bool:
    """Whether held-out sequences tell a model how many trees to grow."""
    of_trees = getattr(model, "estimator", model)
    return isinstance(of_trees, TreeCRF) and bool(of_trees.early_stopping) and not of_trees.n_bags


def without_temperature(model: Any) -> Any:
    """The model, which is to take no temperature from sequences that it holds out: the search has its own."""
    known = model.get_params()
    for name in known:
        if name.split("__")[-1] == "calibrate" and known[name.replace("calibrate", "early_stopping")]:
            model.set_params(**{name: False})
    return model


def shortened(model: Any, n_iterations: int) -> Any:
    """A model with so many iterations of trees at most."""
    of_trees = getattr(model, "estimator", model)
    if isinstance(of_trees, TreeCRF):
        most = of_trees.n_estimators
        of_trees.set_params(n_estimators=n_iterations if isinstance(most, str) else min(int(most), n_iterations))
    return model


def _length(model: Any) -> Duration:
    """How long training was at its best. Trees of rows have no edges."""
    n_likelihood = getattr(getattr(model, "estimator_", model), "likelihood_iterations_", 0)
    return Duration(getattr(model, "edges_", ""), max(1, int(model.best_iteration_)), int(n_likelihood))


def _settled(model: Any, length: Duration) -> Any:
    """A model of trees, without what held-out sequences would tell: they have told it."""
    of_trees = getattr(model, "estimator", model)
    if of_trees.edges == of_trees.init == "auto" and length.edges == "joint":
        of_trees.set_params(init="zero")  # which joint trees stand on, if nothing is said
    of_trees.set_params(early_stopping=False, edges=length.edges or of_trees.edges)
    if of_trees.likelihood_steps == "auto" and of_trees.objective not in CONVEX:
        of_trees.set_params(likelihood_steps=length.n_likelihood)
    return model
