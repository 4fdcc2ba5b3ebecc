"""The search: a first look at all models, the best of them on one fold, then on all, then what is near the best."""

from __future__ import annotations

import logging
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hedgerow.data.dataset import Window
from hedgerow.errors import HedgerowError
from hedgerow.models.auto.candidates import Traits, cost, in_python, neighbours, set_up
from hedgerow.models.auto.parameters import AutoParameters
from hedgerow.models.auto.trials import INTERRUPTED, OUT_OF_TIME, Trial, Tries
from hedgerow.training.ctrl_c import CtrlC, end_whole
from hedgerow.training.deadline import Deadline
from hedgerow.training.monitor import progress_bar, say

log = logging.getLogger("hedgerow")

LOOKING = 0.25  # of the time, at most, is for first looks, and as much for features that are "auto"
FINALISTS = 3  # that are trained on all folds, and more where that takes no more than
RACING = 0.3  # of the time that is left
ELDEST = 3  # models near the best of all for one that is near the best of another family
BEHIND = 2.0  # standard errors by which a model on its way is clearly behind the best
_SILENT = ("n_jobs", "random_state")  # of no interest in a list of models


class Over(Exception):
    """The search ends here, for this reason."""


class Search:
    """Tries models within a budget.

    given : the parameters of the AutoLabeler; free : whether other windows than the first may be tried
    deadline : when all must be done, the last training on all sequences among it; it never passes with `n_trials`
    """

    def __init__(
        self, tries: Tries, given: AutoParameters, traits: Traits, deadline: Deadline, *, seed: int, free: bool
    ) -> None:
        self.tries, self.given, self.traits, self.deadline = tries, given, traits, deadline
        self.seed, self.free = seed, free
        self.trials: list[Trial] = []
        self.leader: Trial | None = None
        self.outcome = ""  # why it ended
        self._lines: set[str] = set()
        self._ctrl_c = CtrlC("stopping the search")  # while a model trains, its monitor listens
        self._shown: Any = None
        self._n_folds = len(tries.corpus.folds)
        self._budget = deadline.end - deadline.began

    # -------------------------------------------------------------------------------------------- the course of it

    def run(self, models: Sequence[Any], window: Window) -> None:
        """Try the models, and what is near the best of them. Afterwards `leader` is the best, None where none is."""
        with self._ctrl_c, self._showing():
            try:
                self._climb(models, window)
                self.outcome = "exhausted"
            except Over as over:
                self.outcome = str(over)
        if self._ctrl_c.pressed:
            end_whole()
        looked = [trial for trial in self.trials if trial.looked is not None]
        if self.leader is None and looked:  # time for no more: it is trained for as long as there is
            self.leader = self.tries.best(looked, ())
            self.leader.cut = True
        if self.leader is None and not self._ctrl_c.pressed and self.outcome != OUT_OF_TIME:
            raise next(trial.error for trial in self.trials if trial.error is not None)

    def _climb(self, models: Sequence[Any], window: Window) -> None:
        new = (trial for model in models for trial in self._new(model, window))
        started = sorted(new, key=lambda trial: cost(trial.model))
        if self.tries.corpus.is_large():
            started = self._look(started)
        for trial in started:
            self._run(trial, 0)
        self._all_folds()
        self._refine()

    def _look(self, trials: list[Trial]) -> list[Trial]:
        """A first look at each: the better half goes on, best first, and those that are not clearly worse."""
        for trial in trials:
            if self.deadline.elapsed < LOOKING * self._budget or trial is trials[0]:
                self._guarded(trial, None)
        seen = [trial for trial in trials if trial.looked is not None]
        if not seen:
            return trials
        best = self.tries.best(seen, ())
        seen.sort(key=lambda trial: (trial is not best, -float(self.tries.stages(trial, ())[0])))
        half = -(-len(seen) // 2)
        return [
            trial
            for i, trial in enumerate(seen)
            if i < half or trial.number == 1 or not self.tries.beats(best, trial, ()).clearly(BEHIND)
        ]

    def _all_folds(self) -> None:
        """Models that are not clearly behind, on the other folds, one after the other: as many of the best as there is
        time for, and the best of another family."""
        alive = [trial for trial in self.trials if 0 in trial.answers]
        for fold in range(1, self._n_folds):
            for trial in self._finalists(alive, tuple(range(fold)), self._n_folds - fold):
                self._run(trial, fold)
            alive = [trial for trial in alive if fold in trial.answers]

    def _finalists(self, alive: list[Trial], folds: tuple[int, ...], n_more: int) -> list[Trial]:
        """Who goes on; the cheapest comes first where time is short."""
        if not alive:
            return []
        best = self.tries.best(alive, folds)
        ranked = sorted(alive, key=lambda trial: (trial is not best, -float(self.tries.stages(trial, folds)[0])))
        behind = BEHIND + (len(folds) == 1)  # one fold is soon wrong
        close = [trial for trial in ranked if not self.tries.beats(best, trial, folds).clearly(behind)]
        seconds = [n_more * trial.longest for trial in close]
        within = [sum(seconds[: i + 1]) < RACING * self.deadline.left for i in range(len(close))]
        finalists = [trial for i, trial in enumerate(close) if i < FINALISTS or within[i]]
        families = {trial.family for trial in finalists}
        finalists += [trial for trial in close if trial.family not in families][:1]
        return finalists if math.isinf(self.deadline.left) else sorted(finalists, key=lambda trial: trial.longest)

    def _refine(self) -> None:
        """Models that differ from the best in one setting, or from the best of another family, as long as there are
        any; then those that fell behind on their way, for that may have been chance, and what differs from them."""
        again: list[Trial] = []
        while True:
            while self.given.candidates is None and (trial := self._untried()) is not None:
                self._race(trial, 1.0)
            fallen = [trial for trial in self.trials if trial not in again]
            if not fallen:
                return
            again.append(min(fallen, key=lambda trial: cost(trial.model)))
            self._race(again[-1], BEHIND)

    def _race(self, trial: Trial, behind: float) -> None:
        """A model on one fold after the other, as long as it is not behind the best by so many standard errors, or
        gives true labels higher probabilities, which an average may gain by."""
        for fold in range(self._n_folds):
            if trial.answers and self.leader is not None and trial is not self.leader:
                common = tuple(sorted(trial.answers.keys() & self.leader.answers.keys()))
                sharper = self.tries.judge.averages and self.tries.is_sharper(trial, self.leader, common)
                if self.tries.beats(self.leader, trial, common).clearly(behind) and not sharper:
                    return
            self._run(trial, fold)
            if fold not in trial.answers:
                return

    def _untried(self) -> Trial | None:
        """A new model near the best of a family: that of the best of all has ELDEST times as many as another."""
        folds = tuple(range(self._n_folds))
        full = [trial for trial in self.trials if len(trial.answers) == len(folds)]
        full.sort(key=lambda trial: (trial is not self.leader, -float(self.tries.stages(trial, folds)[0])))
        bases: dict[str, Trial] = {}
        for trial in full:
            bases.setdefault(trial.family, trial)
        tried = Counter(trial.family for trial in self.trials)
        turns = {name: tried[name] * (1 if base is full[0] else ELDEST) for name, base in bases.items()}
        for base in sorted(bases.values(), key=lambda base: turns[base.family]):
            for model, window in neighbours(base.model, base.window, free=self.free):
                for trial in self._new(model, window):
                    return trial
        return None

    # -------------------------------------------------------------------------------------------- one trial

    def _new(self, model: Any, window: Window) -> list[Trial]:
        """A trial of this model; none where it was tried before, or where there may be no more."""
        made = set_up(model, self.given, self.traits, window, self.seed)
        line = in_python(made, _SILENT)
        if line in self._lines:
            return []
        if self.given.n_trials is not None and len(self.trials) >= self.given.n_trials:
            if not self.leader:
                return []
            raise Over("n_trials")
        self._lines.add(line)
        trial = Trial(len(self.trials) + 1, made, getattr(made, "window", 0), line)
        self.trials.append(trial)
        return [trial]

    def _run(self, trial: Trial, fold: int) -> None:
        if trial.error is None and fold not in trial.answers:
            self._guarded(trial, fold)

    def _guarded(self, trial: Trial, fold: int | None) -> None:
        """Train on a fold, or have a first look (None): within the time there is. The search goes on where this model
        cannot be trained."""
        if self._ctrl_c.pressed:  # while answers were compared
            raise Over(INTERRUPTED)
        limit = self._limit() if fold is not None else min(self._limit(), LOOKING / 3.0 * self._budget)
        within = self.deadline.within(limit)
        try:
            outcome = self.tries.look(trial, within) if fold is None else self.tries.run(trial, fold, within)
        except (HedgerowError, ArithmeticError, MemoryError) as error:
            trial.error = error
            log.debug("%s cannot be trained: %s", trial.line, error)
            outcome = ""
        if fold is not None and fold in trial.answers:
            self._compare(trial)
        if outcome == INTERRUPTED or self._ctrl_c.pressed:
            self._ctrl_c.pressed = True
            raise Over(INTERRUPTED)

    def _limit(self) -> float:
        """Seconds that the next training may take: a third of what is left, and no more than leaves time for the best
        model to be trained on all sequences."""
        left = self.deadline.left
        limit = min(left - self.reserve(), left / 3.0)
        if limit <= 0.0:
            raise Over(OUT_OF_TIME)
        return limit

    def reserve(self) -> float:
        """Seconds that the training of the best model on all sequences takes, about, and that of those that may be
        averaged with it."""
        if self.leader is None:
            return 0.0
        members = self.given.max_models if self.tries.judge.averages else 1
        known = sorted((trial.longest for trial in self.trials if len(trial.answers) > 1), reverse=True)
        others = sum(known[: members - 1])
        return 1.2 * self.tries.corpus.share(0) * (self.leader.longest + min(others, 0.2 * self.given.time_budget))

    def _compare(self, trial: Trial) -> None:
        """The best after a trial has been trained on one more fold. Whoever knows more folds leads, unless it is
        beaten on those that both know, and clearly where the other knows fewer."""
        leader = self.leader
        if leader is None:
            self.leader = trial
        elif trial is not leader:
            common = tuple(sorted(trial.answers.keys() & leader.answers.keys()))
            if common and len(trial.answers) >= len(leader.answers):
                self.leader = self.tries.best([leader, trial], common)
            elif common and self.tries.beats(trial, leader, common).clearly(BEHIND + 1):
                self.leader = trial
        self._report(trial)

    # -------------------------------------------------------------------------------------------- in words

    def ranking(self) -> list[Trial]:
        """All trials, the best first: the leader, then by folds and score; those that could not be trained last."""

        def key(trial: Trial) -> tuple[Any, ...]:
            if trial.error is not None or (not trial.answers and trial.looked is None):
                return (3, 0, 0.0, trial.number)
            score = float(self.tries.stages(trial, tuple(sorted(trial.answers)))[0])
            return (trial is not self.leader, -len(trial.answers), -score, trial.number)

        return sorted(self.trials, key=key)

    def _report(self, trial: Trial) -> None:
        if not self.given.verbose or self.leader is None:
            return
        score = self.tries.stages(trial, tuple(sorted(trial.answers)))[0]
        best = self.tries.stages(self.leader, tuple(sorted(self.leader.answers)))[0]
        if self._shown is not None:
            text = f"trial {trial.number}  best {best:.4f} {self.leader.line}"
            done = self.deadline.elapsed if self.given.n_trials is None else len(self.trials)
            self._shown.update(self._shown.task_ids[0], description=text, completed=done)
        else:
            words = (trial.number, trial.line, len(trial.answers), self._n_folds, self.tries.judge.name, score, best)
            say("trial %d  %s  %d of %d folds  %s %.4f  best %.4f  %.1f s", *words, self.deadline.elapsed)

    @contextmanager
    def _showing(self) -> Iterator[None]:
        """A progress bar with the best so far, where there is a terminal."""
        if not (self.given.verbose and sys.stderr.isatty()):
            yield
            return
        total = self.given.time_budget if self.given.n_trials is None else self.given.n_trials
        with progress_bar("searching", float(total)) as self._shown:
            yield
        self._shown = None
