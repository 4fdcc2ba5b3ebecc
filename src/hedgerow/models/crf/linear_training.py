"""Training of a linear chain: which objective and which trainer, where weights start, one stage after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain import objectives
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.data.dataset import Dataset
from hedgerow.declarations import check_choice
from hedgerow.errors import InputError
from hedgerow.estimators.costs import cost_table
from hedgerow.estimators.parameters import random_generator
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout, LinearChain
from hedgerow.models.crf.linear_layout import Statistics
from hedgerow.models.crf.parameters import ONLINE
from hedgerow.parallel import Lanes, count_lanes, plan_chunks
from hedgerow.training import kernels
from hedgerow.training.counting import count_weights
from hedgerow.training.evaluation import Evaluation, Objective
from hedgerow.training.frank_wolfe import frank_wolfe
from hedgerow.training.memory import check_chain_memory
from hedgerow.training.monitor import Monitor, Step
from hedgerow.training.online import sgd, smd
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.by_name import train_online
from hedgerow.training.whole.conjugate_gradient import conjugate_gradient
from hedgerow.training.whole.gradient_descent import gradient_descent
from hedgerow.training.whole.lbfgs import curvature_scale, lbfgs

# On the whole corpus at once.
WHOLE = {"lbfgs": lbfgs, "conjugate_gradient": conjugate_gradient, "gradient_descent": gradient_descent}

MAX_ITERATIONS = 500
MAX_PASSES = 50
MAX_ROUNDS = 200  # of Frank–Wolfe
BATCH_SIZE = 8
GAP = 1000.0  # times tol: a gap is a bound, and the loss is nearer to its minimum by far

# The trainer of an objective, where "auto" is given and it is not L-BFGS; and the objective of a trainer.
_TRAINER = {"margin": "adagrad", "slack_margin": "adagrad", "perceptron": "averaged_perceptron"}
_OBJECTIVE = {"frank_wolfe": "margin", "averaged_perceptron": "perceptron"}
_SCHEDULES = {"annealed_sgd": sgd.SCHEDULES, "smd": smd.SCHEDULES}
CURVED = tuple(sorted(objective.__name__ for objective in objectives.CURVATURES))  # with second derivatives
_SHARPNESS = {"labelwise": (5.0, 15.0), "classification_error": (1.0,)}


@dataclass(frozen=True)
class Plan:
    """What the parameters of a LinearCRF mean together.

    start : "zero", "log_likelihood" or "counts"
    stages : the sharpness of each stage; one None where the objective has no such thing
    """

    objective: str
    trainer: str
    start: str
    stages: tuple[float | None, ...]

    @property
    def online(self) -> bool:
        return self.trainer in ONLINE

    @classmethod
    def of(cls, model: Any, dataset: Dataset | None = None, *, warm: bool = False) -> Plan:
        """The plan of a model, for its data where they are there; an error where two parameters do not go together."""
        objective, trainer = model.objective, model.trainer
        if objective == "auto":
            objective = _OBJECTIVE.get(trainer, "log_likelihood")
        if trainer == "auto":
            trainer = "lbfgs" if model.l1 and objective != "perceptron" else _TRAINER.get(objective, "lbfgs")
            if objective == "margin" and not model.l1 and not warm and _suits_frank_wolfe(model, dataset):
                trainer = "frank_wolfe"
        _check_pair(objective, trainer)
        _check_order(model, objective, trainer)
        _check_schedule(model.schedule, trainer)
        if model.l1 and trainer != "lbfgs":
            raise InputError(f"⟦l1⟧ is {model.l1} and ⟦trainer⟧ {trainer!r} has no L1", hint="Use 'lbfgs', or ⟦l1=0⟧.")
        if trainer == "frank_wolfe" and not model.l2:
            raise InputError("⟦trainer⟧ 'frank_wolfe' needs ⟦l2⟧ above 0", hint="Give ⟦l2=1.0⟧, say.")
        start = model.start
        if start == "auto":
            rough = trainer in WHOLE and objective not in objectives.SMOOTH  # at 0 all labelings tie: a kink
            start = "log_likelihood" if rough or objective not in objectives.CONVEX else "zero"
        return cls(objective, trainer, start, _stages(objective, model.sharpness))


def _suits_frank_wolfe(model: Any, dataset: Dataset | None) -> bool:
    known = dataset is not None and dataset.labels is not None and bool((dataset.labels >= 0).all())
    return known and model.l2 > 0 and model.start in ("auto", "zero")


def _check_pair(objective: str, trainer: str) -> None:
    own = _OBJECTIVE.get(trainer)
    if own is not None and objective != own:
        raise InputError(
            f"⟦trainer⟧ {trainer!r} is for ⟦objective⟧ {own!r}, not {objective!r}", hint="Leave one of them out."
        )
    if trainer in WHOLE and objective == "perceptron":  # it is smallest where all weights are 0
        raise InputError(f"⟦objective⟧ 'perceptron' has no minimum for ⟦trainer⟧ {trainer!r}", hint="Use 'margin'.")
    if trainer == "smd" and objective not in CURVED:
        hint = f"It takes {' and '.join(map(repr, CURVED))}; for others there is 'adagrad'."
        raise InputError(
            f"⟦trainer⟧ 'smd' needs second derivatives, and ⟦objective⟧ {objective!r} has none here", hint=hint
        )


def _check_order(model: Any, objective: str, trainer: str) -> None:
    """Refuse what chains of order 2 and more cannot do."""
    if model.order > 1:
        has = {"objective": ("log_likelihood",), "trainer": tuple(WHOLE), "start": ("auto", "zero", "log_likelihood")}
        for (name, known), value in zip(has.items(), (objective, trainer, model.start)):
            if value not in known:
                hint = f"Choose {' or '.join(map(repr, known))}; ⟦order⟧ 1 and 0 have them all."
                raise InputError(f"⟦{name}={value!r}⟧ is not available for ⟦order={model.order}⟧", hint=hint)
    if model.order != 1 and getattr(model, "transition_columns", None) is not None:
        raise InputError(f"⟦transition_columns⟧ are for ⟦order⟧ 1, not {model.order}", hint="Leave one of them out.")


def _check_schedule(schedule: Any, trainer: str) -> None:
    if schedule == "auto":
        return
    if trainer not in _SCHEDULES:
        has = " and ".join(map(repr, _SCHEDULES))
        raise InputError(f"⟦trainer⟧ {trainer!r} has no ⟦schedule⟧", hint=f"{has} have; leave it 'auto' elsewhere.")
    check_choice("schedule", schedule, ("auto", *_SCHEDULES[trainer]))


def _stages(objective: str, sharpness: Any) -> tuple[float | None, ...]:
    if objective not in _SHARPNESS:
        if sharpness is not None:
            has = " and ".join(map(repr, _SHARPNESS))
            raise InputError(
                f"⟦objective⟧ {objective!r} has no ⟦sharpness⟧", hint=f"{has} have; leave it None elsewhere."
            )
        return (None,)
    given = _SHARPNESS[objective] if sharpness is None else sharpness
    values = tuple(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else (given,)
    good = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) and 0 < v < np.inf for v in values)
    if not values or not good:
        raise InputError(f"⟦sharpness⟧ is {sharpness!r}", hint="Give a number above 0, or a list of them, one a stage.")
    return tuple(float(v) for v in values)


class Stage(NamedTuple):
    """A part of training; the next one begins where it ends."""

    trainer: str
    objective: Objective
    name: str


class Trained(NamedTuple):
    """What training gives: weights, and how it went."""

    weights: FloatArray
    history: list[Step]
    n_iter: int
    best: Step
    outcome: str
    online: bool

    def complaint(self, max_iter: int | None) -> str:
        """What is to be said of how training ended; nothing where it ended well. max_iter as the user gave it."""
        if self.outcome == "interrupted":
            return f"training was interrupted after {self.n_iter} iterations; the best weights so far are kept"
        if self.outcome == "diverged":
            return f"training made the loss larger, to {self.best.loss:.6g}; give a smaller ⟦gain⟧, or ⟦gain='auto'⟧"
        if self.outcome == "stuck":
            return "no first step made the loss smaller; ⟦start='log_likelihood'⟧ or an online ⟦trainer⟧ may"
        if self.outcome == "max_iter" and not self.online:
            most = "⟦max_iter⟧" if max_iter is None else f"⟦max_iter={max_iter}⟧"
            return f"training stopped after {most} iterations before it converged; raise ⟦max_iter⟧ or ⟦tol⟧"
        return ""


class LinearTraining:
    """One fit: the parameters of the model, its data and the layout of its weights."""

    def __init__(
        self, model: Any, plan: Plan, dataset: Dataset, layout: ChainLayout, statistics: Statistics, validate: Any
    ) -> None:
        self.model = model
        self.plan = plan
        self.dataset = dataset
        self.layout = layout
        self.validate = validate
        self.l2 = float(model.l2)  # a float32 would round the loss
        self.costs = cost_table(model.costs, dataset.schema.labels)
        self.square = statistics.square
        self.scale = curvature_scale(statistics.frequency, statistics.square, layout.n_labels, self.l2)
        self.n_lanes = count_lanes(layout.n_weights, len(plan_chunks(dataset.offsets)) - 1)

    def train(self, warm: FloatArray | None, previous: list[Step] | None) -> Trained:
        """All stages, from the weights of an earlier fit or from the plan's start."""
        with Lanes(self.model.n_jobs, self.n_lanes) as lanes:
            self._check_memory(lanes.n_threads)
            weights: FloatArray = np.zeros(self.layout.n_weights) if warm is None else warm
            history, n_iter = previous, 0
            if warm is None and self.plan.start == "counts":
                weights = count_weights(self.dataset, self.layout)
            for stage in self._stages(warm is not None):
                began = weights
                weights, monitor = self._run(stage, weights, history, lanes)
                history, n_iter = monitor.history, n_iter + monitor.n_iter
                if monitor.outcome == "interrupted":
                    break
            kept, outcome = monitor.kept, monitor.outcome
            if stage.trainer in ONLINE:  # what it reported is the loss on the way
                kept = replace(kept, loss=self._loss(stage, weights, lanes))
                if self.plan.objective != "perceptron" and not kept.loss <= self._loss(stage, began, lanes):
                    outcome = "diverged"
        return Trained(weights, monitor.history, n_iter, kept, outcome, stage.trainer in ONLINE)

    def _stages(self, warm: bool) -> list[Stage]:
        """The trainings one after another. They have names where there are several."""
        plan = self.plan
        sharp = [] if plan.stages == (None,) else [f"{plan.objective}, sharpness {s:g}" for s in plan.stages]
        names = sharp or [plan.objective]
        stages = [
            Stage(plan.trainer, stage_objective(self.model, plan, self.dataset, s), name)
            for s, name in zip(plan.stages, names)
        ]
        if not warm and plan.start == "log_likelihood" and plan.objective != "log_likelihood":
            stages.insert(0, Stage("lbfgs", log_likelihood, "log_likelihood"))
        return stages if len(stages) > 1 else [stages[0]._replace(name="")]

    def _check_memory(self, n_threads: int) -> None:
        offsets = self.dataset.offsets
        longest, widest = int(np.diff(offsets).max()), int(np.diff(offsets[plan_chunks(offsets)]).max())
        check_chain_memory(self.layout, int(self.model.order), longest, widest, n_threads)

    def _loss(self, stage: Stage, weights: FloatArray, lanes: Lanes) -> float:
        """The loss at some weights, with the penalty that the trainer knows."""
        loss, _ = Evaluation(LinearChain(self.layout), self.dataset, stage.objective, lanes)(weights)
        l2 = 0.0 if stage.trainer == "averaged_perceptron" else self.l2
        return loss + l2 * float(kernels.vectors.dot(weights, weights))

    def _run(
        self, stage: Stage, start: FloatArray, previous: list[Step] | None, lanes: Lanes
    ) -> tuple[FloatArray, Monitor]:
        model, trainer, objective = self.model, stage.trainer, stage.objective
        most = max_iterations(model.max_iter, trainer)
        with Monitor(
            max_iter=most,
            tol=model.tol * (GAP if trainer == "frank_wolfe" else 1.0),
            validate=self.validate,
            n_iter_no_change=model.n_iter_no_change,
            verbose=model.verbose,
            previous=previous,
            plateau=trainer != "frank_wolfe",
            stage=stage.name,
        ) as monitor:
            if trainer in WHOLE:
                evaluation = Evaluation(LinearChain(self.layout), self.dataset, objective, lanes)
                options = {"l1": float(model.l1)} if trainer == "lbfgs" else {}
                weights = WHOLE[trainer](evaluation, start, monitor, l2=self.l2, scale=self.scale, **options)
            else:
                weights = self._online(trainer, objective, start, monitor)
        return weights, monitor

    def _online(self, trainer: str, objective: Objective, start: FloatArray, monitor: Monitor) -> FloatArray:
        model = self.model
        seed = int(random_generator(model.random_state).randint(2**31 - 1))
        if trainer == "frank_wolfe":
            return frank_wolfe(self.layout, self.dataset, start, monitor, l2=self.l2, costs=self.costs, seed=seed)
        batches = Batches(self.layout, self.dataset, objective, batch_size=batch_size(model, trainer), seed=seed)
        return train_online(
            trainer,
            batches,
            start,
            monitor,
            l2=self.l2,
            gain=model.gain,
            square=self.square,
            options=online_options(model, trainer),
        )


def stage_objective(model: Any, plan: Plan, dataset: Dataset, sharpness: float | None) -> Objective:
    """The objective of a stage."""
    return objectives.make_objective(
        plan.objective,
        n_labels=dataset.n_labels,
        softness=model.softness,
        costs=cost_table(model.costs, dataset.schema.labels),
        **({} if sharpness is None else {"sharpness": sharpness}),
    )


def online_options(model: Any, trainer: str) -> dict[str, Any]:
    """What an online trainer takes beside what all of them take."""
    options: dict[str, Any] = {}
    if model.schedule != "auto":
        options["schedule"] = model.schedule
    if trainer == "smd":
        options |= {"meta_gain": float(model.meta_gain), "gain_decay": float(model.gain_decay), "lazy": model.lazy}
    return options


def batch_size(model: Any, trainer: str) -> int:
    """The sequences of a batch."""
    if model.batch_size is not None:
        return int(model.batch_size)
    return 1 if trainer == "averaged_perceptron" else BATCH_SIZE


def max_iterations(given: int | None, trainer: str) -> int:
    """The most iterations of a trainer, or passes."""
    if given is not None:
        return int(given)
    if trainer == "frank_wolfe":
        return MAX_ROUNDS
    return MAX_PASSES if trainer in ONLINE else MAX_ITERATIONS
