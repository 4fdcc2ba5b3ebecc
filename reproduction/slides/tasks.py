"""Made tasks that each ask one question of a method: does it use labels beside a label, the input beside a position,
and evidence that comes late? Each knows the best accuracy there is, and that without what is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import node_marginals
from hedgerow.datasets.made import MadeChain
from hedgerow.legend import BoolArray, FloatArray
from hedgerow.metrics import label_accuracy

LENGTH = 20  # of sequences
N_LABELS, N_TOKENS = 4, 8
LETTERS = "riob"
RIB = 0.6  # how often the word is "rib"

Corpus = tuple[list[list[str]], list[list[str]]]


@dataclass(frozen=True)
class Task:
    """A task with its measure: the accuracy on the positions that count.

    window : that methods which have one may use
    without, best : accuracies of the best that does not have what is asked for, and of the best that does
    counted : bool, of each test position, end to end; None for all
    """

    X: list[list[str]]
    y: list[list[str]]
    X_test: list[list[str]]
    y_test: list[list[str]]
    window: int
    without: float
    best: float
    counted: BoolArray | None = None

    def accuracy(self, predicted: list[list[str]]) -> float:
        """The share of the positions that count which is right."""
        return _accuracy(self.y_test, predicted, self.counted)

    def captured(self, predicted: list[list[str]]) -> float:
        """How much of what there is to gain was gained: 0 is `without`, 1 is `best`."""
        return (self.accuracy(predicted) - self.without) / (self.best - self.without)


def _accuracy(truth: list[list[str]], predicted: list[list[str]], counted: BoolArray | None) -> float:
    if counted is None:
        return label_accuracy(truth, predicted)
    flat = [[label for row in rows for label in row] for rows in (truth, predicted)]
    chosen = [[[own[i] for i in np.flatnonzero(counted)]] for own in flat]
    return label_accuracy(*chosen)


def neighbouring_labels(n_train: int, n_test: int, seed: int) -> Task:
    """Labels and tokens from a random chain, drawn anew for each seed: nothing but labels relates positions.

    without : P(label | token) alone; best : the posterior of the chain itself
    """
    rng = np.random.default_rng([seed, 0])
    chain = MadeChain(
        start=np.full(N_LABELS, 1 / N_LABELS),
        transitions=rng.dirichlet(np.full(N_LABELS, 0.3), size=N_LABELS),
        emissions=rng.dirichlet(np.full(N_TOKENS, 1.0), size=N_LABELS),
    )
    (X, y), (X_test, y_test) = (_drawn(chain, n, rng) for n in (n_train, n_test))
    frequent = np.linalg.matrix_power(chain.transitions, LENGTH)[0]  # of labels, in the long run
    alone = (chain.emissions * frequent[:, None]).argmax(axis=0)
    without = [[str(alone[int(token)]) for token in x] for x in X_test]
    best = _posterior(chain, X_test)
    return Task(X, y, X_test, y_test, 0, label_accuracy(y_test, without), label_accuracy(y_test, best))


def _drawn(chain: MadeChain, n: int, rng: np.random.Generator, length: int = LENGTH) -> Corpus:
    lengths = np.full(n, length)
    tokens, labels = chain.sample(lengths, rng)
    cut = [[[str(value) for value in row] for row in own.reshape(n, length)] for own in (tokens, labels)]
    return cut[0], cut[1]


def _posterior(chain: MadeChain, X: list[list[str]]) -> list[list[str]]:
    """The most probable label at each position, by the model that drew the data."""
    with np.errstate(divide="ignore"):
        emissions, moves, start = np.log(chain.emissions), np.log(chain.transitions), np.log(chain.start)
    offsets = np.cumsum([0, *map(len, X)])
    tokens = np.array([int(token) for x in X for token in x])
    potentials = chain_from_scores(emissions.T[tokens], moves, offsets)
    potentials.add_start_end(start, None)
    labels = node_marginals(potentials).argmax(axis=1)
    return [[str(k) for k in labels[begin:end]] for begin, end in itertools.pairwise(offsets)]


def neighbouring_inputs(n_train: int, n_test: int, seed: int) -> Task:
    """Labels drawn from a softmax of the token and of those beside it, each position by itself.

    without : the best label given the token at the position; best : given all three
    """
    rng = np.random.default_rng([seed, 1])
    scores = rng.normal(0.0, 1.5, size=(3, N_TOKENS + 1, N_LABELS))
    scores[:, N_TOKENS] = 0.0  # outside the sequence
    (X, y, _), (X_test, y_test, best) = (_from_windows(scores, n, rng) for n in (n_train, n_test))
    middle = np.zeros((N_TOKENS, N_LABELS))
    for before, here, after in itertools.product(range(N_TOKENS), repeat=3):
        middle[here] += _softmax(scores[0, before] + scores[1, here] + scores[2, after])
    alone = middle.argmax(axis=1)
    without = [[str(alone[int(token)]) for token in x] for x in X_test]
    return Task(X, y, X_test, y_test, 1, label_accuracy(y_test, without), label_accuracy(y_test, best))


def _from_windows(scores: FloatArray, n: int, rng: np.random.Generator) -> tuple[list[list[str]], ...]:
    """Tokens, labels, and the most probable labels."""
    padded = np.full((n, LENGTH + 2), N_TOKENS)
    padded[:, 1:-1] = rng.integers(N_TOKENS, size=(n, LENGTH))
    total = sum(scores[o][padded[:, o : o + LENGTH]] for o in range(3))
    probs = _softmax(np.asarray(total))
    labels = (probs.cumsum(axis=2) <= rng.random((n, LENGTH, 1))).sum(axis=2)
    return tuple(
        [[str(value) for value in row] for row in own] for own in (padded[:, 1:-1], labels, probs.argmax(axis=2))
    )


def _softmax(scores: FloatArray) -> FloatArray:
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: FloatArray = exps / exps.sum(axis=-1, keepdims=True)
    return shares


def rib_and_rob(n_train: int, n_test: int, seed: int) -> Task:
    """The network of Lafferty, McCallum and Pereira 2001: "rib" and "rob", each letter right with 29/32, else one of
    the other three. Labels say the word: 0 1 2, or 3 4 2. What counts is the second label, where the letter tells.

    "rib" is somewhat more frequent, which decides for those who have to decide at the first letter.

    without : always "rib"; best : the posterior of the network itself
    """
    moves = np.zeros((5, 5))
    for before, after in ((0, 1), (1, 2), (3, 4), (4, 2), (2, 2)):  # the last is never taken: words end there
        moves[before, after] = 1.0
    emissions = np.full((5, len(LETTERS)), 1 / 32)
    for label, letter in enumerate(("r", "i", "b", "r", "o")):
        emissions[label, LETTERS.index(letter)] = 29 / 32
    chain = MadeChain(np.array([RIB, 0.0, 0.0, 1 - RIB, 0.0]), moves, emissions)
    rng = np.random.default_rng([seed, 2])
    (X, y), (X_test, y_test) = (_drawn(chain, n, rng, length=3) for n in (n_train, n_test))
    second: BoolArray = np.tile([False, True, False], n_test)
    without = _accuracy(y_test, [["0", "1", "2"]] * n_test, second)
    best = _accuracy(y_test, _posterior(chain, X_test), second)
    return Task(X, y, X_test, y_test, 0, without, best, second)


TASKS: dict[str, Callable[[int, int, int], Task]] = {
    "labels beside labels": neighbouring_labels,
    "input beside the position": neighbouring_inputs,
    "late evidence (label bias)": rib_and_rob,
}
