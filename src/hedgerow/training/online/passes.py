"""What online trainers share: passes over the batches, the gain, and what happens when it is too large."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FloatArray
from hedgerow.training import kernels
from hedgerow.training.checkpoint import checked, restore, restoring, state_of
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.batches import Diverged
from hedgerow.training.online.gain import find_gain
from hedgerow.training.online.learners import BatchSource, LastingLearner, Learner, Make
from hedgerow.training.online.state import TrainerState

log = logging.getLogger("hedgerow")

MAX_HALVINGS = 10
GROWN = 2.0  # a loss so many times that of the start says that the gain is too large
# Called after every batch with the passes so far, those that chose the gain included, and a way to get the weights.
Observe = Callable[[float, Callable[[], FloatArray]], None]


def train(
    batches: BatchSource,
    start: FloatArray,
    monitor: Monitor,
    make: Make,
    *,
    l2: float,
    gain: float | str,
    observe: Observe | None,
    tune: Make | None = None,
    state: TrainerState | None = None,
) -> FloatArray:
    """Go through the corpus until the monitor says stop; the weights that it keeps.

    The loss of a pass is the sum of the losses of its batches, each before the step it led to, and the penalty of the
    weights at the end. `make` starts a learner from weights (W,) with a gain. A gain of our own that was too large is
    divided by four, and training begins again; one that was given is an error.
    `tune` makes the learners that try gains, where `make` should not. With a `state` training goes on where that of an
    earlier call ended, whose weights are `start`; its gain is taken for "auto", and at the end it has what the next
    call needs. It is meant for one pass per call.
    """
    saved = monitor.resume()
    if saved is None:
        learner, chosen = _first_learner(batches, start, make, tune or make, monitor, l2=l2, gain=gain, state=state)
        weights, halvings = start, 0
        done = monitor.begin(_start_loss(batches, start, l2), start)
    else:
        with restoring():
            weights, done = checked(saved["weights"], start, "weights"), monitor.done
            chosen, halvings = checked([saved["gain"], saved["halvings"]], (float, int), "the gain")
            learner = make(start, chosen)
            if not done:
                restore(learner, learner.KEPT, saved["learner"])
                restore(batches, batches.KEPT, saved["batches"])

    def reached(ended: bool) -> dict[str, Any]:
        own = {} if ended else {"learner": state_of(learner, learner.KEPT), "batches": state_of(batches, batches.KEPT)}
        return own | {"weights": weights, "gain": chosen, "halvings": halvings}

    limit = GROWN * monitor.start_loss
    if state is not None:  # the sequences of one call may all be labelled right by the weights so far
        limit += GROWN * float(batches.lengths.mean()) * batches.n_corpus
    while not done:
        try:
            loss = _run_pass(batches, monitor, learner, monitor.n_iter, observe)
            after = learner.weights()
            penalised = loss + l2 * float(kernels.vectors.dot(after, after))
            if not np.isfinite(penalised):
                raise Diverged("the weights became too large")
            if gain == "auto" and halvings < MAX_HALVINGS and penalised > limit > 0.0:
                raise Diverged("the loss grew")
        except Diverged as error:
            if gain != "auto" or halvings == MAX_HALVINGS:
                raise _too_large(gain, chosen, error, monitor.n_iter + 1) from error
            chosen, halvings = chosen / 4.0, halvings + 1
            log.warning("%s; beginning again with gain %.3g", error, chosen)
            batches.clear()
            # From the start: the weights before this pass may be bad already, as a loss is taken before its step. And
            # without the state: what it kept may be what led astray.
            learner = make(start, chosen)
            continue
        weights = after
        done = monitor.step(penalised, weights, state=reached)
    if state is not None:
        cast(LastingLearner, learner).keep(state)
        state.gain = chosen
    return monitor.weights(weights)


def _too_large(gain: float | str, chosen: float, error: Diverged, number: int) -> InputError:
    """What is said where a gain leads nowhere."""
    given = gain != "auto"
    hint = "Give a smaller ⟦gain⟧, or ⟦gain='auto'⟧." if given else "Use another ⟦trainer⟧: 'adagrad'."
    return InputError(f"⟦gain={chosen:.3g}⟧ is too large: {error} in pass {number}", hint=hint)


def _first_learner(
    batches: BatchSource,
    start: FloatArray,
    make: Make,
    tune: Make,
    monitor: Monitor,
    *,
    l2: float,
    gain: float | str,
    state: TrainerState | None,
) -> tuple[Learner, float]:
    """A learner that begins, or goes on where a state says so; and its gain."""
    known = np.nan if state is None else state.gain
    if gain != "auto" or np.isfinite(known):
        chosen = _given(known if gain == "auto" else gain)
        learner = make(start, chosen)
    else:
        chosen = find_gain(batches, start, tune, l2=l2, stop=lambda: monitor.interrupted)
        learner = make(start, chosen)
        if learner.caution != 1.0:
            chosen *= learner.caution
            learner = make(start, chosen)
    if state is not None and state.numbers:
        cast(LastingLearner, learner).recall(state)
    elif state is not None and state.resumes:
        cast(LastingLearner, learner).resume()
    return learner, chosen


def _run_pass(batches: BatchSource, monitor: Monitor, learner: Learner, number: int, observe: Observe | None) -> float:
    """Learn from every batch once; the summed loss. Ctrl-C ends it early, and the loss is then what the share tells."""
    loss, seen = 0.0, 0
    for sequences in batches.order(number):
        loss += learner.step(sequences)
        seen += len(sequences)
        if observe is not None:
            observe(batches.passes, learner.weights)
        if monitor.interrupted:
            break
    return loss * batches.n_corpus / seen


def _given(gain: float | str) -> float:
    if isinstance(gain, str) or not 0.0 < gain < np.inf:
        raise InputError(f"⟦gain={gain!r}⟧ is not a number above 0", hint="Give one, or ⟦gain='auto'⟧.")
    return float(gain)


def _start_loss(batches: BatchSource, start: FloatArray, l2: float) -> float:
    """The penalised loss before training, as a sample of the sequences tells; NaN where it says nothing."""
    if batches.flat_at_zero:
        return np.nan
    return batches.sample_loss(start) + l2 * float(kernels.vectors.dot(start, start))
