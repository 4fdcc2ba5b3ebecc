"""Averages of models: which are worth it, and what the mean of their probabilities says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.windows import with_window
from hedgerow.estimators.scored import ScoredChain
from hedgerow.legend import FloatArray
from hedgerow.models.auto.judging import POSTERIOR, Answers, difference
from hedgerow.models.auto.trials import Trial, Tries


def choose_members(tries: Tries, leader: Trial, trials: Sequence[Trial], most: int) -> list[Trial]:
    """The models to average, the best first: alone, unless an average is clearly better on held-out sequences.

    One model after the other is added: the one with which the average gives true labels the highest probability. It
    stays where that is higher than before by half a standard error and the score is not lower by as much, or where the
    score is clearly higher.
    """
    folds = tuple(sorted(leader.answers))
    pool = [trial for trial in trials if trial is not leader and leader.answers.keys() <= trial.answers.keys()]
    members, truths = [leader], tries.truths(folds)
    score, logs = tries.stages(leader, folds), tries.log_probs(leader, folds)
    while folds and tries.judge.averages and len(members) < most and pool:
        tried = [average([*members, trial], folds) for trial in pool]
        found = [tries.judge.log_probs(truths, answers) for answers in tried]
        i = int(np.argmax([stages[0] for stages in found]))
        stages = tries.judge.stages(truths, tried[i], POSTERIOR)
        better, sharper = difference(stages, score), difference(found[i], logs)
        if not (better.clearly() or (sharper.clearly(0.5) and better.mean >= -0.5 * better.error)):
            break
        members.append(pool.pop(i))
        score, logs = stages, found[i]
    return members


def average(trials: Sequence[Trial], folds: tuple[int, ...]) -> list[Answers]:
    """What the average of some models says of the held-out sequences of each fold."""
    answers = []
    for fold in folds:
        probs = np.mean([trial.answers[fold].probs for trial in trials], axis=0)
        answers.append(Answers({POSTERIOR: probs.argmax(axis=1).astype(np.int32)}, probs))
    return answers


def seen_by(member: ScoredChain, dataset: Dataset) -> Dataset:
    """A corpus as a member reads it, under its own window, with what is known of its labels."""
    made = member._dataset(with_window(dataset, member.schema_), None, None)
    return replace(made, labels=dataset.labels, allowed=dataset.allowed)


def mean_probs(members: Sequence[ScoredChain], dataset: Dataset) -> FloatArray:
    """(N, K): the mean of what the members say of each position."""
    total: FloatArray = np.zeros((dataset.n_positions, dataset.n_labels))
    for member in members:
        total += member._node_probs(seen_by(member, dataset))
    return total / len(members)
