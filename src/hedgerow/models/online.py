"""Online use of a linear chain: one pass over the sequences at hand, call after call, while the model grows.

The sequences of all calls are one corpus that grows, and a call goes on with a pass over it: with m sequences seen so
far, those at hand among them, a batch of b bears the share b/m of the penalty. What the trainer keeps for each weight
(sums of squares, averages, gains) stays on the model and moves with the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow import objectives
from hedgerow.data.dataset import Dataset
from hedgerow.data.encoding import learn
from hedgerow.data.extension import extend
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.models.constraints import legal_space
from hedgerow.models.costs import cost_table
from hedgerow.models.extension import Moved, extend_layout, extend_space
from hedgerow.models.layout import lay_out
from hedgerow.models.linear_training import ONLINE, Plan, Trained, batch_size
from hedgerow.models.parameters import random_generator, same_window
from hedgerow.scorers.chain import ChainLayout
from hedgerow.scorers.linear import check_numbers
from hedgerow.trainers.adagrad import _Adaptive
from hedgerow.trainers.adam import _Adam
from hedgerow.trainers.averaged_perceptron import _Averaged
from hedgerow.trainers.batches import Batches
from hedgerow.trainers.counting import count_weights
from hedgerow.trainers.gain import LEAST_POSITIONS
from hedgerow.trainers.monitor import Monitor
from hedgerow.trainers.online import Learner, train
from hedgerow.trainers.sgd import Descent, falling_rate, unit_scale
from hedgerow.trainers.smd import _Meta

# What the learner of each trainer keeps: vectors that are laid out as the weights, with the value that a new weight
# begins with (None: the gain), and numbers.
_VECTORS: dict[str, dict[str, float | None]] = {
    "sgd": {},
    "annealed_sgd": {"u": 0.0, "average.sum": 0.0},
    "averaged_perceptron": {"x": 0.0, "total": 0.0},
    "adagrad": {"pull": 0.0, "square": 1.0},
    "adam": {"mean": 0.0, "square": 0.0, "last": 0.0},
    "smd": {"v": 0.0, "gain": None, "last": 0.0},
}
_NUMBERS: dict[str, tuple[str, ...]] = {
    "sgd": ("seen",),
    "annealed_sgd": ("seen", "c", "average.n", "average.n_steps", "average.restart"),
    "averaged_perceptron": ("n_steps",),
    "adagrad": ("seen",),
    "adam": ("seen", "n_steps"),
    "smd": ("seen", "n_steps"),
}
# The gain of a first call that has too little data to find one: on a few sequences the best is the one that learns them
# by heart. Found on chunking, 1,000 sentences in portions of 25.
_USUAL_GAINS = {"sgd": 0.1, "annealed_sgd": 0.1, "adagrad": 0.4, "adam": 0.05, "smd": 0.1}
_IN_PASSES = {"average.restart"}  # kept in sequences: a pass over a corpus that grows is longer at each call


@dataclass
class Progress:
    """What online training keeps on a model between two calls.

    weights : of the model when the call ended; a model that has others since begins with fresh gains
    given_gain, gain : the parameter, and the gain that was taken
    square : (W,), the mean square of the values of each weight's feature; 1 for those that came later
    """

    trainer: str
    given_gain: float | str
    weights: FloatArray
    square: FloatArray
    gain: float = np.nan
    n_calls: int = 0
    vectors: dict[str, FloatArray] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    def fits(self, model: Any, plan: Plan) -> bool:
        """Whether training can go on with it."""
        same = self.trainer == plan.trainer and self.given_gain == model.gain
        return same and np.array_equal(self.weights, model.weights_)

    def moved(self, moved: Moved) -> Progress:
        fills = {name: self.gain if fill is None else fill for name, fill in _VECTORS[self.trainer].items()}
        vectors = {name: moved(vector, fills[name]) for name, vector in self.vectors.items()}
        return replace(self, weights=moved(self.weights), square=moved(self.square, 1.0), vectors=vectors)

    def recall(self, learner: Any) -> None:
        """Give a learner that was just made what one before it had."""
        batches = learner.batches
        for name, vector in self.vectors.items():
            owner, last = _owner(learner, name)
            fresh = getattr(owner, last)  # it also has places that are no weights, and they stay as they are
            kept = np.where(batches.working.real > 0, batches.working.pack(vector), fresh)
            setattr(owner, last, kept.astype(fresh.dtype, copy=False))
        for name, number in self.numbers.items():
            owner, last = _owner(learner, name)
            setattr(owner, last, number / batches.n_sequences if name in _IN_PASSES else number)

    def keep(self, learner: Any, gain: float, weights: FloatArray) -> None:
        """Take from a learner what the next one needs."""
        batches = learner.batches
        self.vectors, self.numbers = {}, {}
        for name in _VECTORS[self.trainer]:
            vector = batches.working.unpack(getattr(*_owner(learner, name)))
            self.vectors[name] = vector.astype(np.float64, copy=False)
        for name in _NUMBERS[self.trainer]:
            number = getattr(*_owner(learner, name))
            self.numbers[name] = number * batches.n_sequences if name in _IN_PASSES else number
        self.gain, self.weights, self.n_calls = gain, weights, self.n_calls + 1


def _owner(learner: Any, name: str) -> tuple[Any, str]:
    """Who has what a dotted name says, and its last part."""
    *path, last = name.split(".")
    for step in path:
        learner = getattr(learner, step)
    return learner, last


class Portion(Batches):
    """Batches of the last sequences of a corpus that grows: `n_before` of its sequences were seen before."""

    def __init__(self, *args: Any, n_before: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self.n_before = n_before

    @property
    def n_sequences(self) -> int:
        return self.n_before + self.dataset.n_sequences

    def order(self, number: int, sequences: IndexArray | None = None) -> Iterator[IndexArray]:
        return super().order(number, np.arange(self.dataset.n_sequences) if sequences is None else sequences)


def partial_fit(model: Any, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> None:
    """One pass of the model's online trainer over some sequences. What is new in them is added to the model.

    The model is changed at the end of the call, or not at all.
    """
    plan = _online_plan(model)
    if isinstance(X, Dataset):
        raise InputError("partial_fit takes sequences, not a Dataset", hint="A Dataset keeps the schema it has.")
    going_on = hasattr(model, "weights_")
    grow = _go_on if going_on else _begin
    dataset, layout, progress = grow(model, plan, X, y, sample_weight, classes)
    n_before = getattr(model, "n_sequences_", 0) if going_on else 0
    batches = _portion(model, plan, dataset, layout, n_before, progress.n_calls)
    trained = _one_pass(model, batches, progress, model.history_ if going_on else [])
    notes = model.metadata_ if going_on else {}
    model._store(dataset, layout, trained)
    model.metadata_ = notes
    model.n_sequences_ = batches.n_sequences
    model._progress = progress


def _online_plan(model: Any) -> Plan:
    """The plan of a model for training online; an error where a parameter asks for all data at once."""
    plan: Plan = model._check_parameters()
    if model.trainer == "auto" and not plan.online:
        plan = replace(plan, trainer="adagrad")
    if not plan.online:
        hint = f"Use one of {', '.join(map(repr, ONLINE))}, or 'auto'."
        raise InputError(f"trainer {plan.trainer!r} needs all data at once, and partial_fit has a part", hint=hint)
    hint = "partial_fit sees only a part of the data: use fit, or leave it out."
    for name, unset in (("l1", 0), ("min_frequency", 0), ("early_stopping", False)):
        if getattr(model, name) != unset:
            raise InputError(f"{name} is {getattr(model, name)!r} and needs all data at once", hint=hint)
    if model.start == "log_likelihood":
        raise InputError("start is 'log_likelihood' and needs all data at once", hint=hint)
    return plan


def _begin(
    model: Any, plan: Plan, X: Any, y: Any, sample_weight: Any, classes: Any
) -> tuple[Dataset, ChainLayout, Progress]:
    """The data of the first call, the layout that it asks for, and weights to start from."""
    if y is None:
        raise InputError("y is missing", hint="Give the labels of the sequences.")
    dataset = learn(X, y, columns=model.columns, window=model.window, classes=classes, sample_weight=sample_weight)
    check_numbers(dataset, dataset.schema)
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
    return dataset, layout, Progress(plan.trainer, model.gain, start, statistics.square)


def _go_on(
    model: Any, plan: Plan, X: Any, y: Any, sample_weight: Any, classes: Any
) -> tuple[Dataset, ChainLayout, Progress]:
    """The data of a later call, the layout with what is new in it, and the weights so far."""
    _check_unchanged(model)
    dataset = extend(model.schema_, X, y, classes=classes, sample_weight=sample_weight)
    check_numbers(dataset, dataset.schema)
    forbid_unseen = model.transitions == "forbid_unseen"
    old = model.schema_, model.layout_
    space = extend_space(old[0], old[1].space, dataset, model.constraints, forbid_unseen=forbid_unseen)
    layout, moved = extend_layout(*old, dataset, space, transitions=model.transitions, pairs=model.pairs)
    progress: Progress | None = getattr(model, "_progress", None)
    if progress is None or not progress.fits(model, plan):
        progress = Progress(plan.trainer, model.gain, model.weights_, np.ones(len(model.weights_)))
    return dataset, layout, progress.moved(moved)


def _check_unchanged(model: Any) -> None:
    """Refuse parameters that no longer fit the features that the model has."""
    schema, hint = model.schema_, "Set it back, or begin anew with another model."
    if model.window != 0 and not same_window(model.window, schema.window):
        raise InputError(f"window is {model.window!r} and the model began with {schema.window!r}", hint=hint)
    if model.columns is not None and dict(model.columns) != dict(schema.declared):
        what = f"columns is {model.columns!r} and the model began with {dict(schema.declared)!r}"
        raise InputError(what, hint=hint)
    began = None if model.layout_.pairs is None else list(model.layout_.pair_columns)
    wanted = None if model.transition_columns is None else sorted(set(model.transition_columns))
    if wanted != began:
        raise InputError(f"transition_columns is {wanted!r} and the model began with {began!r}", hint=hint)


def _portion(model: Any, plan: Plan, dataset: Dataset, layout: ChainLayout, n_before: int, n_calls: int) -> Portion:
    sharpness = plan.stages[-1]
    objective = objectives.make_objective(
        plan.objective,
        n_labels=layout.n_labels,
        softness=model.softness,
        costs=cost_table(model.costs, dataset.schema.labels),
        **({} if sharpness is None else {"sharpness": sharpness}),
    )
    seed = int(random_generator(model.random_state).randint(2**31 - 1)) + n_calls
    size = batch_size(model, plan.trainer)
    return Portion(layout, dataset, objective, batch_size=size, seed=seed, n_before=n_before)


def _one_pass(model: Any, batches: Portion, progress: Progress, history: list[Any]) -> Trained:
    """Train, and leave in `progress` what the next call needs."""
    made: list[tuple[Any, float]] = []
    l2 = 0.0 if progress.trainer == "averaged_perceptron" else float(model.l2)

    def make(start: FloatArray, gain: float) -> Learner:
        learner = _learner(model, batches, progress, start, gain)
        progress.recall(learner)
        made[:] = [(learner, gain)]
        return learner

    gain = _gain(model, batches, progress)
    with Monitor(max_iter=1, tol=0.0, verbose=model.verbose, previous=history) as monitor:
        weights = train(batches, progress.weights, monitor, make, l2=l2, gain=gain, observe=None, start_loss=np.nan)
    progress.keep(*made[-1], weights)
    outcome = "interrupted" if monitor.interrupted else "partial_fit"
    return Trained(weights, monitor.history, monitor.n_iter, monitor.kept, outcome, online=True)


def _gain(model: Any, batches: Portion, progress: Progress) -> float | str:
    """The gain of the calls before. The first call finds it where it has data enough to tell."""
    if progress.trainer == "averaged_perceptron":
        return 1.0  # the average does not depend on it
    if progress.n_calls:
        return progress.gain
    if model.gain == "auto" and batches.dataset.n_positions < LEAST_POSITIONS:
        return _USUAL_GAINS[progress.trainer]
    return model.gain  # type: ignore[no-any-return]


def _learner(model: Any, batches: Portion, progress: Progress, start: FloatArray, gain: float) -> Learner:
    """The learner of the trainer, as its own function makes it."""
    l2 = float(model.l2)
    match progress.trainer:
        case "sgd":
            return Descent(batches, start, l2, gain)
        case "annealed_sgd":
            rate, scale = falling_rate(l2, gain), unit_scale(progress.square)
            return Descent(batches, start, l2, gain, rate=rate, power=0.75, average=True, scale=scale)
        case "adagrad":
            return _Adaptive(batches, start, l2, gain, progress.square)
        case "adam":
            return _Adam(batches, start, l2, gain)
        case "smd":
            meta_gain, decay = float(model.meta_gain), float(model.gain_decay)
            return _Meta(batches, start, l2, gain, meta_gain=meta_gain, decay=decay, lazy=True, rate=0.0)
    return _Averaged(batches, start)
