"""Online use of a linear chain: one pass over the sequences at hand, call after call, while the model grows.

The sequences of all calls are one corpus that grows, and a call goes on with a pass over it: with m sequences seen so
far, those at hand among them, a batch of b bears the share b/m of the penalty. What the trainer keeps for each weight
(sums of squares, averages, gains) stays on the model and moves with the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.chain.objectives import tilt_of
from hedgerow.data.dataset import Dataset
from hedgerow.data.derived import parse_features
from hedgerow.data.encoding import learn
from hedgerow.data.extension import extend
from hedgerow.data.settling import Learnt
from hedgerow.errors import InputError
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.prepare import with_choices
from hedgerow.estimators.values import class_weights, is_auto, random_generator, same_window, sees_otherwise
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout
from hedgerow.models.crf.linear_extension import Moved, extend_layout, extend_space
from hedgerow.models.crf.linear_layout import lay_out
from hedgerow.models.crf.linear_training import Plan, batch_size, stage_objective
from hedgerow.trainers import TRAINERS, AdaGrad, OnlineTrainer
from hedgerow.training.counting import count_weights
from hedgerow.training.ctrl_c import stages
from hedgerow.training.monitor import Monitor, Step, Trained
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.state import TrainerState
from hedgerow.training.online.trainers import train_online

if TYPE_CHECKING:
    from hedgerow.models.crf.linear import LinearCRF

ENOUGH = 2000  # positions of a first call that finds the gain
# The gain of a first call that has too little data to find one: on a few sequences the best gain would be the one that
# learns them by heart. These did well on 300 sequences in portions of 30: chunking, with twenty features per
# position and with the word alone, and made chains.
_USUAL_GAINS = {"sgd": 0.1, "annealed_sgd": 0.2, "adagrad": 0.8, "adam": 0.2, "smd": 0.1}


@dataclass(frozen=True)
class Progress:
    """What online training keeps on a model between two calls.

    weights : (W,), of the model when the call ended; a model that has others since begins with a fresh state
    square : (W,), the mean square of the values of each weight's feature; 1 for those that came after the first call
    state : what the trainer keeps for the next call
    """

    trainer: str
    weights: FloatArray
    square: FloatArray
    state: TrainerState
    n_calls: int = 0

    def fits(self, model: LinearCRF, plan: Plan) -> bool:
        """Whether training can go on with it."""
        return self.trainer == plan.trainer.name and np.array_equal(self.weights, model.weights_)

    def moved(self, moved: Moved) -> Progress:
        """The same in another layout of the weights."""
        weights, square = moved(self.weights), moved(self.square, 1.0)
        return replace(self, weights=weights, square=square, state=self.state.moved(moved))


def partial_fit(model: LinearCRF, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> None:
    """One pass of the model's online trainer over some sequences. What is new in them is added to the model.

    The model is changed at the end of the call, or not at all.
    """
    plan = _online_plan(model)
    assert isinstance(plan.trainer, OnlineTrainer)
    if isinstance(X, Dataset):
        raise InputError("partial_fit takes sequences, not a Dataset", hint="A Dataset keeps the schema it has.")
    going_on = hasattr(model, "weights_")
    grow = _go_on if going_on else _begin
    with stages():
        dataset, layout, progress = grow(model, plan, X, y, sample_weight, classes)
        n_before = getattr(model, "n_sequences_", 0) if going_on else 0
        objective = stage_objective(model, plan, dataset, plan.stages[0])
        seed = int(random_generator(model.random_state).randint(2**31 - 1)) + progress.n_calls
        size = batch_size(plan.trainer)
        batches = Batches(layout, dataset, objective, batch_size=size, seed=seed, n_before=n_before)
        trained = _one_pass(model, plan, batches, progress, model.history_ if going_on else [])
    notes = model.metadata_ if going_on else {}
    model._store(dataset, None, layout, trained, online=True)
    model.metadata_ = notes
    model.__dict__.pop("temperature_", None)  # of other weights
    model.tilt_ = tilt_of(plan.objective, class_weights(model.class_weight, dataset))
    model.n_sequences_ = batches.n_corpus
    model._progress = replace(progress, weights=model.weights_, n_calls=progress.n_calls + 1)


def _online_plan(model: LinearCRF) -> Plan:
    """The plan of a model for training online; an error where a parameter asks for all data at once."""
    plan: Plan = model._check_parameters()
    if model.trainer == "auto" and not isinstance(plan.trainer, OnlineTrainer):
        plan = replace(plan, trainer=AdaGrad())
    if not isinstance(plan.trainer, OnlineTrainer):
        online = (repr(name) for name, kind in TRAINERS.items() if issubclass(kind, OnlineTrainer))
        what = f"⟦trainer⟧ {plan.trainer.name!r} needs all data at once, and partial_fit has a part"
        raise InputError(what, hint=f"Use one of {', '.join(online)}, or 'auto'.")
    hint = "partial_fit sees only a part of the data: use fit, or leave it out."
    if isinstance(model.class_weight, str):
        raise InputError(f"class_weight is {model.class_weight!r} and needs all data at once", hint=hint)
    for name, unset in (("l1", 0), ("min_frequency", 0), ("early_stopping", False), ("missing", None)):
        if getattr(model, name) != unset:
            raise InputError(f"{name} is {getattr(model, name)!r} and needs all data at once", hint=hint)
    if sees_otherwise(model):
        what = "missing values filled in" if model.imputation_ is not None else "features found"
        raise InputError(f"the model was fitted with {what}, which needs all data at once", hint=hint)
    if model.start in ("log_likelihood", "sgd"):
        raise InputError(f"⟦start⟧ is {model.start!r} and needs all data at once", hint=hint)
    # Where `fit` would begin with the likelihood's solution, counts come nearest to it. The first sharpness, the
    # mildest, serves all calls: when the next one should begin is not known.
    start = "counts" if plan.start == "log_likelihood" else plan.start
    return replace(plan, start=start, stages=plan.stages[:1])


def _begin(
    model: LinearCRF, plan: Plan, X: Any, y: Any, sample_weight: Any, classes: Any
) -> tuple[Dataset, ChainLayout, Progress]:
    """The data of the first call, the layout that it asks for, and weights to start from."""
    if y is None:
        raise InputError("y is missing", hint="Give the labels of the sequences.")
    if model.constraints is not None and (model.repair or model.constraints_at == "prediction"):
        name = "repair" if model.repair else "constraints_at='prediction'"
        raise InputError(f"⟦{name}⟧ is not supported by partial_fit", hint="Use fit, or give labels that keep to them.")
    window: Any = 0 if is_auto(model.window) else model.window
    dataset = learn(X, y, columns=model.columns, window=window, classes=classes, sample_weight=sample_weight)
    dataset = with_choices(model._preparation(), Learnt(dataset, dataset.attr_id)).dataset
    dataset.require_numbers()
    space = legal_space(dataset, model.constraints, forbid_unseen=model.transitions == "forbid_unseen")
    layout, statistics = lay_out(
        dataset,
        space,
        transitions=model.transitions,
        pairs=model.pairs,
        min_frequency=0.0,
        transition_columns=model.transition_columns,
    )
    start = count_weights(dataset, layout) if plan.start == "counts" else np.zeros(layout.n_weights)
    return dataset, layout, Progress(plan.trainer.name, start, statistics.squares, TrainerState())


def _go_on(
    model: LinearCRF, plan: Plan, X: Any, y: Any, sample_weight: Any, classes: Any
) -> tuple[Dataset, ChainLayout, Progress]:
    """The data of a later call, the layout with what is new in it, and the weights so far."""
    _check_unchanged(model)
    dataset = extend(model.schema_, X, y, classes=classes, sample_weight=sample_weight)
    dataset.require_numbers()
    forbid_unseen = model.transitions == "forbid_unseen"
    old = model.schema_, model.layout_
    space = extend_space(old[0], old[1].space, dataset, model.constraints, forbid_unseen=forbid_unseen)
    layout, moved = extend_layout(*old, dataset, space, transitions=model.transitions, pairs=model.pairs)
    progress: Progress | None = getattr(model, "_progress", None)
    if progress is None or not progress.fits(model, plan):
        ones = np.ones(len(model.weights_))
        progress = Progress(plan.trainer.name, model.weights_, ones, TrainerState(resumes=True))
    return dataset, layout, progress.moved(moved)


def _check_unchanged(model: LinearCRF) -> None:
    """Refuse parameters that no longer fit the features that the model has."""
    schema, hint = model.schema_, "Set it back, or begin anew with another model."
    if not same_window(model.window, schema.window):
        raise InputError(f"⟦window⟧ is {model.window!r} and the model began with {schema.window!r}", hint=hint)
    if not is_auto(model.features) and set(parse_features(model.features)) != set(schema.features):
        what = f"⟦features⟧ is {model.features!r} and the model began with {list(schema.features)}"
        raise InputError(what, hint=hint)
    if model.columns is not None and dict(model.columns) != dict(schema.declared):
        what = f"⟦columns⟧ is {model.columns!r} and the model began with {dict(schema.declared)!r}"
        raise InputError(what, hint=hint)
    began = None if model.layout_.pairs is None else list(model.layout_.pair_columns)
    wanted = None if model.transition_columns is None else sorted(set(model.transition_columns))
    if wanted != began:
        raise InputError(f"⟦transition_columns⟧ is {wanted!r} and the model began with {began!r}", hint=hint)


def _one_pass(
    model: LinearCRF, plan: Plan, batches: Batches, progress: Progress, history: list[Step]
) -> Trained[FloatArray]:
    """Train, and leave in the state of `progress` what the next call needs."""
    assert isinstance(plan.trainer, OnlineTrainer)
    state = progress.state
    if not np.isfinite(state.gain) and batches.dataset.n_positions < ENOUGH:
        state.gain = _USUAL_GAINS.get(progress.trainer, 1.0)
    with Monitor(max_iter=1, tol=0.0, verbose=model.verbose, previous=history) as monitor:
        weights = train_online(
            plan.trainer, batches, progress.weights, monitor, l2=float(model.l2), square=progress.square, state=state
        )
    outcome = "interrupted" if monitor.interrupted else "partial_fit"
    return Trained(weights, monitor.history, monitor.n_iter, monitor.kept, outcome)
