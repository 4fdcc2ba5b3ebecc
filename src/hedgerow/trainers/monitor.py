"""What every trainer reports to: history, convergence, early stopping, Ctrl-C, progress."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from hedgerow.legend import FloatArray

log = logging.getLogger("hedgerow")

PERIOD = 10  # the loss is compared with the loss so many iterations ago


@dataclass(frozen=True)
class Step:
    """One iteration. `loss` is what is minimised, penalties included; `score` the metric on held-out sequences."""

    iteration: int
    loss: float
    seconds: float
    score: float | None = None


class Monitor:
    """Keeps the history and the best weights, and says when to stop. A context manager: it listens for Ctrl-C.

    Parameters
    ----------
    max_iter : the most iterations
    tol : stop when the loss fell by less than this share in the last ten iterations
    validate : weights → score on held-out sequences (higher is better), or None
    n_iter_no_change : with `validate`, stop after so many iterations without a better score
    verbose : 1 shows a progress bar on a terminal and log lines elsewhere
    previous : the history of an earlier fit, where training goes on from it
    """

    def __init__(
        self,
        *,
        max_iter: int,
        tol: float,
        validate: Callable[[FloatArray], float] | None = None,
        n_iter_no_change: int = 10,
        verbose: int = 0,
        previous: list[Step] | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.validate = validate
        self.n_iter_no_change = n_iter_no_change
        self.verbose = verbose
        self.history: list[Step] = list(previous or ())
        self.first = len(self.history)
        self.outcome = "max_iter"
        self.best_weights: FloatArray | None = None
        self.best_step: Step | None = None
        self._interrupted = False
        self._began = time.perf_counter()
        self._bar: Any = None

    def __enter__(self) -> Monitor:
        self._old_handler: Any = None
        self._listening = threading.current_thread() is threading.main_thread()
        if self._listening:
            self._old_handler = signal.signal(signal.SIGINT, self._on_interrupt)
        if self.verbose and sys.stderr.isatty():
            self._bar = _progress_bar(self.max_iter)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listening:
            signal.signal(signal.SIGINT, self._old_handler)
        if self._bar is not None:
            self._bar.stop()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """The first Ctrl-C ends training after the iteration under way and keeps the best model; the second kills."""
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        log.warning("stopping after this iteration; press Ctrl-C again to give up at once")

    @property
    def n_iter(self) -> int:
        """Iterations of this run."""
        return len(self.history) - self.first

    def step(self, loss: float, weights: FloatArray) -> bool:
        """Record an iteration; True means stop."""
        score = self.validate(weights) if self.validate is not None else None
        record = Step(len(self.history) + 1, loss, time.perf_counter() - self._began, score)
        self.history.append(record)
        self._keep_best(record, weights)
        self._show(record)
        outcome = self._reason()
        if outcome is not None:
            self.outcome = outcome
        return outcome is not None

    def finish(self, outcome: str) -> None:
        """The trainer ended by itself, for this reason."""
        self.outcome = outcome

    def weights(self, last: FloatArray) -> FloatArray:
        """The weights to keep: of the best score where scores are taken, else the last ones."""
        return last if self.best_weights is None else self.best_weights

    def _keep_best(self, record: Step, weights: FloatArray) -> None:
        if record.score is None:
            return
        if self.best_step is None or self.best_step.score is None or record.score > self.best_step.score:
            self.best_step, self.best_weights = record, weights.copy()

    def _reason(self) -> str | None:
        if self._interrupted:
            return "interrupted"
        if self.best_step is not None and len(self.history) - self.best_step.iteration >= self.n_iter_no_change:
            return "early_stopping"
        own = [record.loss for record in self.history[self.first :]]
        if len(own) > PERIOD and own[-1 - PERIOD] - own[-1] <= self.tol * abs(own[-1]):
            return "converged"
        return "max_iter" if self.n_iter >= self.max_iter else None

    def _show(self, record: Step) -> None:
        if not self.verbose:
            return
        score = "" if record.score is None else f"  score {record.score:.4f}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, description=f"loss {record.loss:.4f}{score}")
        else:
            log.info("iteration %d  loss %.4f%s  %.1f s", record.iteration, record.loss, score, record.seconds)


def _progress_bar(total: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=total)
    bar.start()
    return bar


def check_loss(loss: float, weights: FloatArray) -> None:
    """A loss that is not a number is a fault of the numerics; say so at once."""
    if not np.isfinite(loss):
        raise FloatingPointError(f"the loss became {loss} (largest weight {np.abs(weights).max():.3g})")
