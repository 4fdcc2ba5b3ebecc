"""What every trainer reports to: history, convergence, early stopping, deadlines, Ctrl-C, progress."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from hedgerow.errors import InputError, NumbersError
from hedgerow.estimators.codec.arrays import Array
from hedgerow.legend import FLOAT, FloatArray
from hedgerow.training.callbacks import current_callbacks
from hedgerow.training.checkpoint import Checkpoint, Maybe, checked, current_checkpoint, restore, restoring, state_of
from hedgerow.training.ctrl_c import CtrlC
from hedgerow.training.deadline import current_deadline

log = logging.getLogger("hedgerow")

# What a checkpoint keeps of a monitor, beside its steps.
_KEPT = ("outcome", "start_loss", "best_weights", "_rose", "_risen_to", "_gap")
ENDED_EARLY = ("interrupted", "time_budget")  # by something else than the training itself
PERIOD = 10  # the loss is compared with the loss so many iterations ago

Learnt = TypeVar("Learnt")
State = Callable[[bool], Any]


@dataclass(frozen=True)
class Step:
    """One iteration. `loss` is what is minimised, penalties included; `score` the metric on held-out sequences.

    `stage` says what is minimised, where training has several stages: losses of two stages do not compare.
    """

    iteration: int
    loss: float
    seconds: float
    score: float | None = None
    stage: str = ""


@dataclass(frozen=True)
class Trained(Generic[Learnt]):
    """What training gives, and how it went: `n_iter` iterations, of which `best` is the one that is kept."""

    learnt: Learnt
    history: list[Step]
    n_iter: int
    best: Step
    outcome: str


def say(text: str, *values: Any) -> None:
    """What `verbose` tells where there is no bar: to the log where someone keeps one, else to standard error."""
    if log.isEnabledFor(logging.INFO):
        log.info(text, *values)
    else:
        print(text % values, file=sys.stderr, flush=True)


def in_notebook() -> bool:
    """Whether a notebook shows what is printed: rich draws its bar there, too."""
    return "ipykernel" in sys.modules


class Monitor:
    """Keeps the history and the best weights, and says when to stop. A context manager: it listens for Ctrl-C.

    A deadline that is applied where it is made (`deadline.py`) ends training too, with the outcome "time_budget".

    A trainer whose model only grows has no weights to report: it cuts the model to the iteration that is kept.

    Where a checkpoint is kept (`checkpoint.py`), it says when it is written. A trainer asks `resume` before it begins,
    and gives `step` what makes its state a plain value; a `validate` that keeps something between calls has `state`
    and `restore` for that.

    Parameters
    ----------
    max_iter : the most iterations
    tol : stop when the loss fell by less than this share in the last ten iterations, or is known to be nearer than
        this share to its minimum
    validate : the score on held-out sequences (higher is better), of the weights where the trainer has any; or None
    accept : told the weights that training starts from, and those of every iteration; or None
    n_iter_no_change : with `validate`, stop after so many iterations in which the score did not rise
    least_rise : what is less than this share of the score is no rise; the best score is kept all the same
    score_unit : a share of at least this, where the score itself may come near to 0
    rival, head_start : the scores of another training, iteration by iteration; "behind" ends this one where its score
        after so many iterations, or its best later on, is below the best that the other had by then
    verbose : 1 shows a progress bar on a terminal and log lines elsewhere
    stage : what is minimised, where training has several stages
    plateau : whether a loss that no longer falls ends training, and not only the bound on its distance from the minimum
    keeps_last : give the last weights to who trains on, whichever scored best; these are `best_weights`
    previous : the history of an earlier fit, where training goes on from its weights (warm); None where it does not.
        A warm start is scored too, so the best of it and all iterations is kept
    """

    FORMS: ClassVar[dict[str, Any]] = {"best_weights": Maybe(np.ndarray)}

    def __init__(
        self,
        *,
        max_iter: int,
        tol: float,
        validate: Callable[..., float] | None = None,
        accept: Callable[[FloatArray], None] | None = None,
        n_iter_no_change: int = 10,
        least_rise: float = 0.0,
        score_unit: float = 0.0,
        rival: Sequence[float] = (),
        head_start: int = 0,
        verbose: int = 0,
        previous: list[Step] | None = None,
        plateau: bool = True,
        keeps_last: bool = False,
        stage: str = "",
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.validate = validate
        self.accept = accept
        self.n_iter_no_change = n_iter_no_change
        self.least_rise, self.score_unit = least_rise, score_unit
        self.rival, self.head_start = np.maximum.accumulate([*rival]), head_start
        self.verbose = verbose
        self.plateau, self.keeps_last = plateau, keeps_last
        self.stage = stage
        self.history: list[Step] = list(previous or ())
        self.warm = previous is not None
        self.first = len(self.history)
        self.outcome = "max_iter"
        self.start_loss = np.inf
        self.best_weights: FloatArray | None = None
        self.best_step: Step | None = None
        self._rose, self._risen_to = 0, -np.inf  # the iteration of the last rise, and its score
        self._ctrl_c = CtrlC("stopping after this iteration")
        self._deadline, self._callbacks = current_deadline(), current_callbacks()
        self._began = time.perf_counter()
        self._bar: Any = None
        self._said = False
        self._context = ExitStack()
        self.done = False  # whether `resume` found that training has ended
        self._checkpoint: Checkpoint | None = None
        self._number = ""
        self._state: State | None = None
        self._gap, self._cut = np.inf, False

    def __enter__(self) -> Monitor:
        self._checkpoint = current_checkpoint()
        if self._checkpoint is not None:
            self._number = self._checkpoint.number()
        if self.verbose:
            from hedgerow.jit import before_compiling  # numba takes long to import

            if sys.stderr.isatty() or in_notebook():
                self._bar = progress_bar("training", self.max_iter, "compiling")
                self._bar.start()
            self._context.enter_context(before_compiling(self._say_compiling))
        self._ctrl_c.__enter__()  # the best model is kept
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ctrl_c.__exit__()
        if self._bar is not None:
            self._bar.stop()
        self._context.close()
        if self._checkpoint is not None and self._state is not None and kind is None and not self.done:
            self._checkpoint.end(self._number, [self._taken(ended=True), self._state(True)])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed: an iteration that takes long may end early."""
        self._cut = self._cut or self._ctrl_c.pressed
        return self._ctrl_c.pressed

    @property
    def n_iter(self) -> int:
        """Iterations of this run."""
        return len(self.history) - self.first

    @property
    def kept(self) -> Step:
        """The iteration whose weights are kept: the best score, else the last one, else the start of this run."""
        if self.best_step is not None:
            return self.best_step
        return self.history[-1] if self.n_iter else Step(self.first, self.start_loss, 0.0)

    def resume(self, state: State | None = None) -> Any:
        """The state of the trainer after the last iteration of the checkpoint that training goes on from, or after all
        of them (`done`); None where it begins. `state` as in `step`, of one that may end without another iteration."""
        self._state = state
        if self._checkpoint is None:
            return None
        ended = self._checkpoint.ended(self._number)
        found = self._checkpoint.running(self._number) if ended is None else ended
        if found is None:
            return None
        with restoring():
            taken, own = found
            self._restore(taken)
        reason = None if ended is not None else self._reason(self._gap)
        self.done, self.outcome = ended is not None or reason is not None, reason or self.outcome
        if reason in ENDED_EARLY:
            self._checkpoint.freeze()
        elif reason is not None:
            self._checkpoint.end(self._number, found)
        elif not self.done and self.verbose:
            say("going on from a checkpoint after iteration %d", len(self.history))
        return own

    def begin(self, loss: float, weights: FloatArray | None = None, gap: float = np.inf) -> bool:
        """Note the loss before the first iteration; True means that there is nothing to do. `gap` as in `step`."""
        self.start_loss = loss
        if self.accept is not None and weights is not None:
            self.accept(weights)
        if self.warm and self.validate is not None:
            self._keep_best(Step(self.first, loss, 0.0, self._score(weights)), weights)
        if gap <= self.tol * abs(loss):
            self.outcome = "converged"
            return True
        return False

    def step(
        self, loss: float, weights: FloatArray | None = None, gap: float = np.inf, state: State | None = None
    ) -> bool:
        """Record an iteration; True means stop.

        gap : bounds how far the loss is from its minimum
        state : what gives the state of the trainer, from which it can go on; told whether training has ended, when only
            the result is wanted
        """
        if np.isnan(loss):
            raise NumbersError("the loss became nan")
        if self.accept is not None and weights is not None:
            self.accept(weights)
        score = self._score(weights)
        record = Step(len(self.history) + 1, loss, time.perf_counter() - self._began, score, self.stage)
        self.history.append(record)
        self._keep_best(record, weights)
        self._show(record)
        for callback in self._callbacks:
            said = callback(record)
            self._ctrl_c.pressed |= isinstance(said, (bool, np.bool_)) and bool(said)
        self._gap, self._state = gap, state
        outcome = self._reason(gap)
        if outcome is not None:
            self.outcome = outcome
        if self._checkpoint is not None:
            self._keep_state(outcome)
        return outcome is not None

    def _keep_state(self, outcome: str | None) -> None:
        """Write the checkpoint where it is time to, and where training is interrupted after a whole iteration."""
        checkpoint, state = self._checkpoint, self._state
        assert checkpoint is not None
        if state is None:
            raise InputError("this training cannot be kept in a ⟦checkpoint⟧", hint="Leave ⟦checkpoint⟧ out.")
        stopped = outcome in ENDED_EARLY
        if (stopped and not self._cut) or (outcome is None and checkpoint.due):
            checkpoint.keep(self._number, [self._taken(), state(False)])
        if stopped:
            checkpoint.freeze()

    def _taken(self, *, ended: bool = False) -> dict[str, Any]:
        """The state of the monitor."""
        own = self.history[self.first :]
        taken = state_of(self, _KEPT) | {
            "seconds": time.perf_counter() - self._began,
            "steps": [[step.iteration for step in own], np.array([_numbers(step) for step in own])],
            "best_step": None if self.best_step is None else [self.best_step.iteration, *_numbers(self.best_step)],
        }
        if not ended and hasattr(self.validate, "state"):
            taken["validate"] = self.validate.state()  # type: ignore[union-attr]
        return taken

    def _restore(self, taken: Any) -> None:
        restore(self, _KEPT, taken)
        self._began = time.perf_counter() - checked(taken["seconds"], float, "seconds")
        iterations, numbers = taken["steps"]
        checked(iterations, [int], "steps")
        checked(numbers, Array("steps", FLOAT, (len(iterations), 4), nan=True, infinite=True), "steps")
        self.history += [self._step(i, *row) for i, row in zip(iterations, numbers.tolist())]
        best = checked(taken["best_step"], Maybe((int, float, float, float, float)), "best_step")
        self.best_step = None if best is None else self._step(*best)
        if "validate" in taken:
            self.validate.restore(taken["validate"])  # type: ignore[union-attr]

    def _step(self, iteration: int, loss: float, seconds: float, score: float, scored: float) -> Step:
        return Step(iteration, loss, seconds, score if scored else None, self.stage)

    def finish(self, outcome: str) -> None:
        """The trainer ended by itself, for this reason."""
        self.outcome = outcome

    def trained(self, learnt: Learnt) -> Trained[Learnt]:
        """What was learnt, with how its training went."""
        return Trained(learnt, self.history, self.n_iter, self.kept, self.outcome)

    def weights(self, last: FloatArray) -> FloatArray:
        """The weights to keep: of the best score where scores are taken, else the last ones."""
        if self.best_weights is None or self.keeps_last:
            return last
        if self._checkpoint is not None and self.best_weights.shape != last.shape:
            self._checkpoint.refuse(f"the best weights are {self.best_weights.shape}")
        return self.best_weights

    def _score(self, weights: FloatArray | None) -> float | None:
        if self.validate is None:
            return None
        return self.validate() if weights is None else self.validate(weights)

    def _keep_best(self, record: Step, weights: FloatArray | None) -> None:
        """Of iterations with the same score the last is kept: it fits training better. They do not win time, though."""
        if record.score is None:
            return
        best = -np.inf if self.best_step is None or self.best_step.score is None else self.best_step.score
        least = 0.0 if np.isinf(self._risen_to) else self.least_rise * max(abs(self._risen_to), self.score_unit)
        if record.score > self._risen_to + least:
            self._rose, self._risen_to = record.iteration, record.score
        if record.score >= best:
            self.best_step, self.best_weights = record, None if weights is None else weights.copy()

    def _reason(self, gap: float) -> str | None:
        if self._ctrl_c.pressed:
            return "interrupted"
        if self._deadline is not None and self._deadline.passed:
            return "time_budget"
        if self.best_step is not None and len(self.history) - self._rose >= self.n_iter_no_change:
            return "early_stopping"
        if len(self.rival) and self.n_iter >= self.head_start and self._behind():
            return "behind"
        losses = [self.start_loss, *(record.loss for record in self.history[self.first :])]
        level = self.tol * abs(losses[-1])
        flat = self.plateau and len(losses) > PERIOD and losses[-1 - PERIOD] - losses[-1] <= level
        if gap <= level or flat:
            return "converged"
        return "max_iter" if self.n_iter >= self.max_iter else None

    def _behind(self) -> bool:
        """Whether the rival was better after as many iterations. Scores that swing have had a good one by chance: the
        head start is judged by its last."""
        step = self.history[-1] if self.n_iter == self.head_start else self.best_step
        return step is not None and step.score is not None and step.score < self.rival[: self.n_iter][-1]

    def _say_compiling(self, kernel: str) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=kernel and f"compiling kernels, once: {kernel}")
        elif not self._said:
            self._said = True
            say("compiling kernels, which is done once and may take half a minute")

    def _show(self, record: Step) -> None:
        if not self.verbose:
            return
        score = "" if record.score is None else f"  score {record.score:.4f}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, description=f"loss {record.loss:.4f}{score}")
        else:
            stage = record.stage and f"  {record.stage}"
            say("iteration %d%s  loss %.4f%s  %.1f s", record.iteration, stage, record.loss, score, record.seconds)


def _numbers(step: Step) -> list[float]:
    """Loss, seconds, score, and whether there is one."""
    scored = step.score is not None
    return [float(step.loss), step.seconds, float(step.score) if step.score is not None else 0.0, float(scored)]


def progress_bar(what: str, total: float, described: str = "") -> Any:
    """A bar that is not shown yet: what is done, how much of it, and how it stands."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console() if in_notebook() else Console(stderr=True),
        transient=True,
    )
    bar.add_task(described, total=total)
    return bar
