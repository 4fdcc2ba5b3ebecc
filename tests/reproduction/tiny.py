"""A problem that trains in no time, and settings to match."""

from __future__ import annotations

import numpy as np

from reproduction.datasets import make_hmm
from reproduction.problems import Part, Problem, folds
from reproduction.settings import Settings

SETTINGS = Settings(
    seeds=(0, 1),
    inner_folds=2,
    outer_folds=2,
    max_iterations=4,
    shrinkages=(5.0, 40.0),
    leaves=(4, 8),
    variances=(1.0, 10.0),
)
N_TRAIN, N_TEST = 30, 20


def tiny_problem(name="protein", *, redrawn=False, n_folds=None):
    """Sequences of a hidden Markov model: the first train and the others test, or folds, or a draw for each seed."""
    X, y = make_hmm(N_TRAIN + N_TEST, 12, random_state=7)
    places = np.arange(len(X))

    def parts(seed):
        if n_folds is not None:
            return folds(len(X), n_folds, seed)
        order = np.random.default_rng(seed).permutation(places) if redrawn else places
        return [Part(np.sort(order[:N_TRAIN]), np.sort(order[N_TRAIN:]))]

    return Problem(name, name.title(), X, y, window=1, n_features=75, parts=parts, redrawn=redrawn)
