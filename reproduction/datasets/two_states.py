"""A hidden Markov model with two states over A, C, G and T, and labels of which whole runs are wrong."""

from __future__ import annotations

import numpy as np

from hedgerow.data.readers.columns import nested
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, IndexArray

BASES = ("A", "C", "G", "T")
STATES = ("C", "I")
STAY = 0.993
# P(base | state): state C prefers C and G, state I prefers A and T.
EMISSIONS = np.array([[0.222, 0.278, 0.278, 0.222], [0.278, 0.222, 0.222, 0.278]])


def make_two_states(
    n_sequences: int = 1, length: int = 1_000_000, *, noise: float = 0.0, random_state: int = 0
) -> tuple[Sequences, AnyArray]:
    """Sequences of bases, each labelled "C" or "I", with whole runs of "C" mislabelled as "I".

    X is Sequences with the column "base", y an object array of lists of labels. A state stays with probability 0.993;
    "C" shows C or G with 0.278 each and A or T with 0.222 each, "I" the other way round. The first state is either.
    Every run of "C" is labelled "I" instead with probability `noise`. With another `noise` and the same seed, bases
    and true runs are the same, and runs that are wrong stay wrong where there is more of it.

    This is the experiment of Gross et al. (2007), section 4.1. The numbers of its figure 1a are not in the text: ours
    are such that the model itself is right about as often as theirs, 79.6 % by the posterior and 71.0 % by Viterbi.
    """
    if min(n_sequences, length) < 1 or not 0 <= noise <= 1:
        raise InputError("make_two_states needs a sequence, a length of at least 1, and a noise from 0 to 1")
    rng = np.random.default_rng(random_state)
    drawn = [_draw(length, noise, rng) for _ in range(n_sequences)]
    names: AnyArray = np.array(BASES, dtype=object)
    bases = names[np.concatenate([part for part, _ in drawn])]
    X = Sequences({"base": bases}, length * np.arange(n_sequences + 1), {"base": "categorical"})
    labels = np.array(STATES, dtype=object)[np.concatenate([part for _, part in drawn])]
    return X, nested(labels.tolist(), X.offsets)


def _draw(length: int, noise: float, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    """The bases and the labels of one sequence, as numbers.

    Runs are drawn instead of steps: their lengths are geometric, and there are far fewer of them than of positions.
    """
    first = int(rng.integers(len(STATES)))
    lengths: list[IndexArray] = []
    left = length
    while left > 0:
        lengths.append(rng.geometric(1 - STAY, size=1024))
        left -= int(lengths[-1].sum())
    runs = np.concatenate(lengths)
    states = (first + np.arange(len(runs))) % len(STATES)
    wrong = (rng.random(len(runs)) < noise) & (states == 0)
    truth = np.repeat(states, runs)[:length]
    shown = np.repeat(np.where(wrong, 1, states), runs)[:length]
    heights = np.cumsum(EMISSIONS, axis=1)[:, :-1]
    bases = (rng.random(length)[:, None] >= heights[truth]).sum(axis=1)
    return bases, shown
