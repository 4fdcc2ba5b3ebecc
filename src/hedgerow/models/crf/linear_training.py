"""Training of a linear chain: which objective and which trainer, where weights start, one stage after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain import objectives
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.margins import Margin
from hedgerow.chain.objectives.result import Objective
from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.estimators.values import class_weights, cost_table, random_generator
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout, Evaluation, LinearChain
from hedgerow.models.crf.linear_layout import Statistics
from hedgerow.models.crf.linear_shared import SharedEvaluation
from hedgerow.models.crf.parameters import LinearParameters
from hedgerow.parallel import Lanes, count_lanes
from hedgerow.trainers import LBFGS, TRAINERS, AnnealedSGD, MistakeTrainer, OnlineTrainer, Trainer
from hedgerow.training import kernels
from hedgerow.training.counting import count_weights
from hedgerow.training.frank_wolfe import frank_wolfe
from hedgerow.training.memory import check_chain_memory
from hedgerow.training.monitor import ENDED_EARLY, Monitor, Step, Trained
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.trainers import train_online
from hedgerow.training.pool import close_pools
from hedgerow.training.whole.conjugate_gradient import conjugate_gradient
from hedgerow.training.whole.gis import N_GROUPS
from hedgerow.training.whole.gradient_descent import gradient_descent
from hedgerow.training.whole.iis import iterative_scaling, scaling_groups
from hedgerow.training.whole.lbfgs import curvature_scale, lbfgs

# On the whole corpus at once.
DESCENTS = {"lbfgs": lbfgs, "conjugate_gradient": conjugate_gradient, "gradient_descent": gradient_descent}
WHOLE = (*DESCENTS, *N_GROUPS)

MAX_ITERATIONS = 500
MAX_PASSES = 50
MAX_ROUNDS = 200  # of Frank–Wolfe
FIRST_PASSES = 10  # of start="sgd"
BATCH_SIZE = 8
GAP = 1000.0  # times tol: a gap is a bound, and the loss is nearer to its minimum by far

# The trainer of an objective, where "auto" is given and it is not L-BFGS; and the objective of a trainer.
_TRAINER = {"margin": "adagrad", "slack_margin": "adagrad", "perceptron": "averaged_perceptron"}
_OBJECTIVE = {"frank_wolfe": "margin"} | {
    name: "perceptron" for name, kind in TRAINERS.items() if issubclass(kind, MistakeTrainer)
}
CURVED = tuple(sorted(objective.__name__ for objective in objectives.CURVATURES))  # with second derivatives
_SHARPNESS = {"labelwise": (5.0, 15.0), "classification_error": (1.0,)}


@dataclass(frozen=True)
class Plan:
    """What the parameters of a LinearCRF mean together.

    start : "zero", "log_likelihood", "counts" or "sgd"
    stages : the sharpness of each stage; one None where the objective has no such thing
    """

    objective: str
    trainer: Trainer
    start: str
    stages: tuple[float | None, ...]

    @classmethod
    def of(cls, model: LinearParameters, dataset: Dataset | None = None, *, warm: bool = False) -> Plan:
        """The plan of a model, for its data where they are there; an error where two parameters do not go together."""
        given = model.trainer
        objective, trainer = model.objective, given if isinstance(given, str) else given.name
        if objective == "auto":
            objective = _OBJECTIVE.get(trainer, "log_likelihood")
        if trainer == "auto":
            trainer = "lbfgs" if model.l1 and objective != "perceptron" else _TRAINER.get(objective, "lbfgs")
            if objective == "margin" and not model.l1 and not warm and _suits_frank_wolfe(model, dataset):
                trainer = "frank_wolfe"
        _check_pair(objective, trainer)
        if model.class_weight is not None:
            objectives.check_weighted(objective, model.class_weight)
        _check_order(model, trainer)
        if model.induction is not None:
            _check_induction(model, objective, trainer)
        if model.l1 and trainer != "lbfgs":
            raise InputError(f"⟦l1⟧ is {model.l1} and ⟦trainer⟧ {trainer!r} has no L1", hint="Use 'lbfgs', or ⟦l1=0⟧.")
        if trainer == "frank_wolfe" and model.start not in ("auto", "zero"):
            hint = "Leave one of them out."
            raise InputError(f"⟦trainer⟧ 'frank_wolfe' starts at zero, not by ⟦start={model.start!r}⟧", hint=hint)
        if trainer == "frank_wolfe" and not model.l2:
            raise InputError("⟦trainer⟧ 'frank_wolfe' needs ⟦l2⟧ above 0", hint="Give ⟦l2=1.0⟧, say.")
        start = model.start
        if start == "auto":
            rough = trainer in WHOLE and objective not in objectives.SMOOTH  # at 0 all labelings tie: a kink
            start = "log_likelihood" if rough or objective not in objectives.CONVEX else "zero"
        chosen = TRAINERS[trainer]() if isinstance(given, str) else given
        return cls(objective, chosen, start, _stages(objective, model.sharpness))


def _suits_frank_wolfe(model: LinearParameters, dataset: Dataset | None) -> bool:
    known = dataset is not None and dataset.labels is not None and bool((dataset.labels >= 0).all())
    return known and model.l2 > 0 and model.start in ("auto", "zero") and model.order <= 1


def _check_pair(objective: str, trainer: str) -> None:
    meant = _OBJECTIVE.get(trainer)
    if meant is not None and objective != meant:
        hint = "Leave one of them out."
        raise InputError(f"⟦trainer⟧ {trainer!r} is for ⟦objective⟧ {meant!r}, not {objective!r}", hint=hint)
    if trainer in WHOLE and objective == "perceptron":  # it is smallest where all weights are 0
        raise InputError(f"⟦objective⟧ 'perceptron' has no minimum for ⟦trainer⟧ {trainer!r}", hint="Use 'margin'.")
    if trainer in N_GROUPS and objective != "log_likelihood":
        raise InputError(f"⟦trainer⟧ {trainer!r} is for ⟦objective⟧ 'log_likelihood'", hint="Leave one of them out.")
    if trainer == "smd" and objective not in CURVED:
        hint = f"It takes {' and '.join(map(repr, CURVED))}; for others there is 'adagrad'."
        what = f"⟦trainer⟧ 'smd' needs second derivatives, and ⟦objective⟧ {objective!r} has none here"
        raise InputError(what, hint=hint)


def _check_order(model: LinearParameters, trainer: str) -> None:
    """Refuse what chains of order 2 and more cannot do."""
    for name, value, instead in (("trainer", trainer, "adagrad"), ("start", model.start, "log_likelihood")):
        if model.order > 1 and value in ("frank_wolfe", "counts"):
            hint = f"Use {instead!r}, or ⟦order⟧ 1 or 0."
            raise InputError(f"⟦{name}={value!r}⟧ is not available for ⟦order={model.order}⟧", hint=hint)
    if model.order != 1 and model.transition_columns is not None:
        raise InputError(f"⟦transition_columns⟧ are for ⟦order⟧ 1, not {model.order}", hint="Leave one of them out.")


def _check_induction(model: LinearParameters, objective: str, trainer: str) -> None:
    """Refuse what does not go with features that are found while training."""
    assert model.induction is not None
    refused = {
        f"⟦objective={objective!r}⟧": objective != "log_likelihood",
        f"⟦trainer={trainer!r}⟧": trainer not in DESCENTS,
        f"⟦start={model.start!r}⟧": model.start not in ("auto", "zero"),
        "⟦warm_start⟧": model.warm_start,
        "⟦class_weight⟧": model.class_weight is not None,
        "⟦transition_columns⟧": model.transition_columns is not None,
        f"⟦order={model.order}⟧ and features of pairs": model.order != 1 and model.induction.on == "pairs",
    }
    for what, holds in refused.items():
        if holds:
            raise InputError(f"⟦induction⟧ is not supported with {what}", hint="Leave one of them out.")


def _stages(objective: str, sharpness: Any) -> tuple[float | None, ...]:
    if objective not in _SHARPNESS:
        if sharpness is not None:
            has = " and ".join(map(repr, _SHARPNESS))
            hint = f"{has} have; leave it None elsewhere."
            raise InputError(f"⟦objective⟧ {objective!r} has no ⟦sharpness⟧", hint=hint)
        return (None,)
    given = _SHARPNESS[objective] if sharpness is None else sharpness
    values = tuple(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else (given,)
    good = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) and 0 < v < np.inf for v in values)
    if not values or not good:
        hint = "Give a number above 0, or a list of them, one per stage."
        raise InputError(f"⟦sharpness⟧ is {sharpness!r}", hint=hint)
    return tuple(float(v) for v in values)


class Stage(NamedTuple):
    """A part of training; the next one begins where it ends. max_iter : None is that of the model"""

    trainer: Trainer
    objective: Objective
    name: str
    max_iter: int | None = None


@dataclass(frozen=True)
class LinearTraining:
    """One fit: the parameters of a LinearCRF, its data and the layout of its weights.

    validate : the score of weights on held-out sequences, or None
    """

    settings: LinearParameters
    plan: Plan
    dataset: Any  # a Dataset, or a SharedCorpus, for trainers of the whole
    layout: ChainLayout
    statistics: Statistics
    validate: Callable[[FloatArray], float] | None

    @property
    def l2(self) -> float:
        return float(self.settings.l2)  # a float32 would round the loss

    def train_round(
        self, start: FloatArray | None, previous: list[Step] | None, *, max_iter: int, patience: int
    ) -> tuple[Monitor, FloatArray]:
        """A few iterations, and the weights after the last. patience : iterations in which no score need rise"""
        [stage] = self._stages(True)
        weights: FloatArray = np.zeros(self.layout.n_weights) if start is None else start
        with self._lanes() as lanes:
            options = {"max_iter": max_iter, "n_iter_no_change": patience, "keeps_last": True}
            weights, monitor = self._run(stage, weights, previous, lanes, **options)
        return monitor, weights

    @contextmanager
    def _lanes(self) -> Iterator[Lanes]:
        """Where the corpus is worked on. What it takes fits into memory."""
        offsets = self.dataset.offsets
        chunks = self.layout.plan(offsets)
        longest, widest = int(np.diff(offsets).max()), int(np.diff(offsets[chunks]).max())
        with Lanes(self.settings.n_jobs, count_lanes(self.layout.n_weights, len(chunks) - 1)) as lanes:
            check_chain_memory(self.layout, int(self.settings.order), longest, widest, lanes.n_threads)
            yield lanes

    def train(self, warm: FloatArray | None, previous: list[Step] | None) -> Trained[FloatArray]:
        """All stages, from the weights of an earlier fit or from the plan's start."""
        stages = self._stages(warm is not None)
        with self._lanes() as lanes:
            weights: FloatArray = np.zeros(self.layout.n_weights) if warm is None else warm
            history, n_iter = previous, 0
            if warm is None and self.plan.start == "counts":
                weights = count_weights(self.dataset, self.layout)
            for stage in stages:
                began = weights
                weights, monitor = self._run(stage, weights, history, lanes)
                history, n_iter = monitor.history, n_iter + monitor.n_iter
                if monitor.outcome in ENDED_EARLY:
                    break
            kept, outcome = monitor.kept, monitor.outcome
            if isinstance(stage.trainer, OnlineTrainer):  # what it reported is the loss on the way
                kept = replace(kept, loss=self._loss(stage, weights, lanes))
                if self.plan.objective != "perceptron" and not kept.loss <= self._loss(stage, began, lanes):
                    outcome = "diverged"
        return Trained(weights, monitor.history, n_iter, kept, outcome)

    def _stages(self, warm: bool) -> list[Stage]:
        """The trainings one after another. They have names where there are several."""
        plan = self.plan
        sharp = [] if plan.stages == (None,) else [f"{plan.objective}, sharpness {s:g}" for s in plan.stages]
        names = sharp or [plan.objective]
        stages = [
            Stage(plan.trainer, stage_objective(self.settings, plan, self.dataset, s), name)
            for s, name in zip(plan.stages, names)
        ]
        if not warm and plan.start == "log_likelihood" and plan.objective != "log_likelihood":
            stages.insert(0, Stage(LBFGS(), log_likelihood, "log_likelihood"))
        if not warm and plan.start == "sgd":
            first = stages[0].objective if plan.objective == "log_likelihood" else log_likelihood  # labels have weights
            most = min(FIRST_PASSES, max_iterations(self.settings.max_iter, AnnealedSGD.name))
            stages.insert(0, Stage(AnnealedSGD(), first, "sgd", most))
        return stages if len(stages) > 1 else [stages[0]._replace(name="")]

    def _evaluation(self, objective: Objective, lanes: Lanes) -> Evaluation | SharedEvaluation:
        if isinstance(self.dataset, SharedCorpus):
            return SharedEvaluation(self.layout, self.dataset, objective)
        return Evaluation(LinearChain(self.layout), self.dataset, objective, lanes)

    def _loss(self, stage: Stage, weights: FloatArray, lanes: Lanes) -> float:
        """The loss at some weights, with the penalty that the trainer knows."""
        loss, _ = self._evaluation(stage.objective, lanes)(weights)
        l2 = 0.0 if isinstance(stage.trainer, MistakeTrainer) else self.l2
        return loss + l2 * float(kernels.vectors.dot(weights, weights))

    def _run(
        self, stage: Stage, start: FloatArray, previous: list[Step] | None, lanes: Lanes, **changed: Any
    ) -> tuple[FloatArray, Monitor]:
        settings, trainer, objective = self.settings, stage.trainer.name, stage.objective
        options: dict[str, Any] = {
            "max_iter": stage.max_iter or max_iterations(settings.max_iter, trainer),
            "tol": settings.tol * (GAP if trainer == "frank_wolfe" else 1.0),
            "validate": self.validate,
            "n_iter_no_change": settings.n_iter_no_change,
            "verbose": settings.verbose,
            "previous": previous,
            "plateau": trainer != "frank_wolfe",
            "stage": stage.name,
        }
        with Monitor(**options | changed) as monitor:
            if trainer in N_GROUPS:
                groups = scaling_groups(self.layout, self.dataset, objective, lanes, N_GROUPS[trainer])
                weights = iterative_scaling(groups, start, monitor, l2=self.l2)
            elif trainer in DESCENTS:
                evaluation = self._evaluation(objective, lanes)
                options = {"l1": float(settings.l1)} if trainer == "lbfgs" else {}
                seen = self.statistics
                scale = curvature_scale(seen.frequency, seen.square, self.layout.n_labels, self.l2)
                weights = DESCENTS[trainer](evaluation, start, monitor, l2=self.l2, scale=scale, **options)
                close_pools(evaluation)
            else:
                weights = self._online(stage.trainer, objective, start, monitor)
        return weights, monitor

    def _online(self, trainer: Trainer, objective: Objective, start: FloatArray, monitor: Monitor) -> FloatArray:
        seed = int(random_generator(self.settings.random_state).randint(2**31 - 1))
        if not isinstance(trainer, OnlineTrainer):
            assert isinstance(objective, Margin)
            return frank_wolfe(self.layout, self.dataset, start, monitor, l2=self.l2, costs=objective.costs, seed=seed)
        batches = Batches(self.layout, self.dataset, objective, batch_size=batch_size(trainer), seed=seed)
        return train_online(trainer, batches, start, monitor, l2=self.l2, square=self.statistics.square)


def stage_objective(settings: LinearParameters, plan: Plan, dataset: Dataset, sharpness: float | None) -> Objective:
    """The objective of a stage."""
    return objectives.make_objective(
        plan.objective,
        n_labels=dataset.n_labels,
        softness=settings.softness,
        costs=cost_table(settings.costs, dataset.schema.labels),
        label_weights=class_weights(settings.class_weight, dataset),
        **({} if sharpness is None else {"sharpness": sharpness}),
    )


def batch_size(trainer: OnlineTrainer) -> int:
    """The sequences of a batch."""
    if trainer.batch_size is not None:
        return int(trainer.batch_size)
    return 1 if isinstance(trainer, MistakeTrainer) else BATCH_SIZE


def max_iterations(given: int | None, trainer: str) -> int:
    """The most iterations of a trainer, or passes."""
    if given is not None:
        return int(given)
    if trainer == "frank_wolfe":
        return MAX_ROUNDS
    return MAX_ITERATIONS if trainer in WHOLE else MAX_PASSES
