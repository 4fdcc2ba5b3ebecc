"""The hidden Markov model of the thesis' timing experiments: 3 labels, 24 symbols, as long and as many as wanted."""

from __future__ import annotations

import numpy as np

from hedgerow.datasets.made import MadeChain
from hedgerow.errors import InputError

N_LABELS = 3
OWN = 8  # symbols that belong to a label


def thesis_chain() -> MadeChain:
    """The chain itself. A label stays with probability 0.6 and goes to each other one with 0.2. It shows one of its own
    eight symbols with probability 0.6 and one of the other sixteen with 0.4; within each, all are alike."""
    same = np.eye(N_LABELS, dtype=bool)
    own = np.repeat(same, OWN, axis=1)
    return MadeChain(
        start=np.full(N_LABELS, 1 / N_LABELS),
        transitions=np.where(same, 0.6, 0.2),
        emissions=np.where(own, 0.6 / OWN, 0.4 / (OWN * (N_LABELS - 1))),
    )


def make_hmm(
    n_sequences: int = 100, length: int = 100, *, random_state: int = 0
) -> tuple[list[list[str]], list[list[str]]]:
    """Sequences of one length from a hidden Markov model with 3 labels and 24 symbols.

    X has a list of symbols ("o1" … "o24") for each sequence, y its labels ("l1" … "l3"). Label i stays with
    probability 0.6 and goes to each of the others with 0.2; it shows one of the symbols 8i−7 … 8i with probability
    0.6, else one of the other sixteen. This is the model of section 3.5.3 of Hao's thesis (2009), which measures how
    training time grows with the length of sequences and with the width of the window. The first label, of which it
    says nothing, is any of the three.
    """
    if min(n_sequences, length) < 1:
        raise InputError("make_hmm needs at least one sequence, and a length of at least 1")
    rng = np.random.default_rng(random_state)
    symbols, labels = thesis_chain().sample(np.full(n_sequences, length), rng)
    X = [[f"o{symbol + 1}" for symbol in row] for row in symbols.reshape(n_sequences, length).tolist()]
    y = [[f"l{label + 1}" for label in row] for row in labels.reshape(n_sequences, length).tolist()]
    return X, y
