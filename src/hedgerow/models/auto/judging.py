"""How good predictions of held-out sequences are, and by how much two models differ on the same of them.

A standard error is that of the jackknife: the score without one group of sequences after the other. So it serves any
metric, and two models are compared on the same groups, which takes out what all models find hard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset, Schema
from hedgerow.errors import InputError
from hedgerow.estimators.base import label_lists
from hedgerow.estimators.holding_out import cut_blocks
from hedgerow.estimators.values import AUTO, LOG_LIKELIHOOD, score_labels
from hedgerow.legend import AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.metrics.spans import looks_like_spans
from hedgerow.models.auto.folds import Part

GROUPS = 25  # of the jackknife
LEAST = 1e-12  # a probability, where its logarithm is taken
MOST_STEPS, MOST_CELLS = 20, 100_000  # of Newton; probabilities that a temperature is found by
DOUBT = 4.0  # with so many held-out sequences half of log T is believed
HOTTEST = 8.0  # temperatures are from 1/8 to 8
SHARES = np.array([0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2])  # of labels that a model has no idea of
POSTERIOR, VITERBI = "posterior", "viterbi"


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of the held-out sequences of a fold.

    labels : decoder → int32 (n,); probs : float32 (n, K)
    """

    labels: dict[str, CodeArray]
    probs: AnyArray


class Difference(NamedTuple):
    """By how much one model is better than another, with its standard error."""

    mean: float
    error: float

    def clearly(self, n_errors: float = 1.0) -> bool:
        """Whether the first is better by more than so many standard errors."""
        return self.mean > n_errors * self.error and self.mean > 0.0


@dataclass(frozen=True, eq=False)
class Truth:
    """The held-out sequences of a fold.

    known : the positions that count one by one; units : where sequences, or blocks of few of them, begin and end
    """

    schema: Schema
    labels: CodeArray
    known: BoolArray
    offsets: IndexArray
    units: IndexArray = field(init=False)

    def __post_init__(self) -> None:
        few = len(self.offsets) <= GROUPS
        object.__setattr__(self, "units", cut_blocks(self.offsets, 1 / GROUPS) if few else self.offsets)

    @classmethod
    def of(cls, part: Part) -> Truth:
        assert part.held.labels is not None
        return cls(part.held.schema, part.held.labels, part.known, part.held.offsets)


class Judge:
    """Scores answers by a metric: greater is better.

    spans : whether the metric hangs on whole labelings, for which no average of models has a decoder
    """

    def __init__(self, scoring: Any, dataset: Dataset, *, constrained: bool) -> None:
        self.scoring = find_scoring(scoring, dataset)
        self.decoders = (VITERBI,) if constrained else (POSTERIOR, VITERBI)
        self.averages = not constrained and self.scoring in ("accuracy", "label_f1", LOG_LIKELIHOOD)
        self._metric: Callable[[AnyArray, AnyArray], float] | None = None
        if self.scoring not in ("accuracy", LOG_LIKELIHOOD):
            self._metric = score_labels(self.scoring, None)

    @property
    def name(self) -> str:
        return self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", "score")

    def stages(self, truths: Sequence[Truth], answers: Sequence[Answers], decoder: str) -> FloatArray:
        """(1 + G,): the score of all held-out sequences, then that without each of G groups of them."""
        if self.scoring == LOG_LIKELIHOOD:
            return self.log_probs(truths, answers)
        if self._metric is None:
            pairs = zip(truths, answers)
            right = [np.where(t.known, one.labels[decoder] == t.labels, 0).astype(np.float64) for t, one in pairs]
            return _without_groups(truths, right)
        return self._by_metric(truths, [one.labels[decoder] for one in answers])

    def log_probs(self, truths: Sequence[Truth], answers: Sequence[Answers]) -> FloatArray:
        """The same of the mean log-probability of the true label of a position, at the best temperature."""
        logs = []
        temperature = find_temperature(truths, answers)
        for truth, one in zip(truths, answers):
            rows = np.flatnonzero(truth.known)
            values = np.zeros(len(truth.labels))
            probs = tempered(one.probs[rows].astype(np.float64), temperature)
            values[rows] = np.log(np.maximum(probs[np.arange(len(rows)), truth.labels[rows]], LEAST))
            logs.append(values)
        return _without_groups(truths, logs)

    def _by_metric(self, truths: Sequence[Truth], predicted: Sequence[CodeArray]) -> FloatArray:
        assert self._metric is not None
        lists = [
            np.concatenate([label_lists(t.schema, codes, t.units) for t, codes in zip(truths, given)])
            for given in ([t.labels for t in truths], predicted)
        ]
        groups = np.arange(len(lists[0])) % _count(len(lists[0]))
        parts = [np.ones(len(groups), dtype=bool), *(groups != g for g in range(int(groups.max()) + 1))]
        return np.array([self._call(*(one[part] for one in lists)) for part in parts])

    def _call(self, true: AnyArray, predicted: AnyArray) -> float:
        assert self._metric is not None
        value = float(self._metric(true, predicted))
        if np.isnan(value):
            raise InputError(f"⟦scoring={self.name!r}⟧ gave {value} on held-out sequences")
        return value


def find_temperature(truths: Sequence[Truth], answers: Sequence[Answers]) -> float:
    """The T by which true labels of held-out sequences are most probable, with probabilities in proportion to p^(1/T).

    Their −log is convex in 1/T, so that Newton's steps find it; from 1/T = 1, each at most by a factor of 2. One label
    more of any kind among them all, as in Platt's method, keeps it finite where every label is right. Positions of one
    sequence are not independent: where there are few, T is nearer to 1.
    """
    probs, labels = _some(truths, answers)
    if len(labels) == 0:
        return 1.0
    probs = np.maximum(probs, LEAST)
    logs = np.log(probs)
    apart = logs - logs[np.arange(len(logs)), labels][:, None]
    one_more = float(apart.mean()) / (len(apart) + 2)
    power = 1.0
    for _ in range(MOST_STEPS):
        weights = tempered(probs, 1.0 / power)
        means = (weights * apart).sum(axis=1)
        curvature = float(((weights * apart**2).sum(axis=1) - means**2).mean())
        moved = power - (float(means.mean()) - one_more) / max(curvature, LEAST)
        before, power = power, float(np.clip(moved, max(power / 2, 1 / HOTTEST), min(power * 2, HOTTEST)))
        if abs(power - before) < 1e-4 * before:
            break
    return float(power ** -_belief(truths))


def find_doubt(truths: Sequence[Truth], answers: Sequence[Answers], temperature: float) -> float:
    """The share ε of `softened` by which true labels of held-out sequences are most probable; of few it is smaller."""
    probs, labels = _some(truths, answers)
    if len(labels) == 0:
        return 0.0
    own, possible = (table[np.arange(len(labels)), labels] for table in (tempered(probs, temperature), _evenly(probs)))
    logs = np.log(np.maximum(own[:, None] * (1.0 - SHARES) + possible[:, None] * SHARES, LEAST))
    return float(SHARES[logs.sum(axis=0).argmax()] * _belief(truths))


def softened(probs: FloatArray, temperature: float, doubt: float) -> FloatArray:
    """(N, K): (1 − ε) · p^(1/T), made to add up to 1, and ε for all labels that are possible alike. What is most
    probable stays so, and 0 stays 0."""
    own = tempered(probs, temperature)
    return own if doubt == 0.0 else (1.0 - doubt) * own + doubt * _evenly(probs)


def _evenly(probs: FloatArray) -> FloatArray:
    possible = probs > 0.0
    evenly: FloatArray = possible / possible.sum(axis=1, keepdims=True)
    return evenly


def _some(truths: Sequence[Truth], answers: Sequence[Answers]) -> tuple[FloatArray, CodeArray]:
    """Probabilities (n, K) and true labels (n,) of held-out positions, not too many of them."""
    pairs = [(one.probs[truth.known], truth.labels[truth.known]) for truth, one in zip(truths, answers)]
    step = 1 + sum(probs.size for probs, _ in pairs) // MOST_CELLS
    probs, labels = (np.concatenate([part[::step] for part in parts]) for parts in zip(*pairs))
    return probs.astype(np.float64), labels


def _belief(truths: Sequence[Truth]) -> float:
    """How much of what held-out sequences say is believed, from 0 to 1: more where they are many."""
    n = sum(len(truth.offsets) - 1 for truth in truths)
    return n / (n + DOUBT)


def tempered(probs: FloatArray, temperature: float) -> FloatArray:
    """(N, K): probabilities in proportion to p^(1/T). What is most probable stays so, and 0 stays 0."""
    if temperature == 1.0:
        return probs
    powers = (probs / probs.max(axis=1, keepdims=True)) ** (1.0 / temperature)
    scaled: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return scaled


def difference(one: FloatArray, other: FloatArray) -> Difference:
    """Of two models by their `stages` on the same sequences."""
    apart = one - other
    return Difference(float(apart[0]), standard_error(apart))


def standard_error(stages: FloatArray) -> float:
    """Of a score, or of a difference of scores, by the jackknife."""
    left_out = stages[1:]
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())) if n > 1 else np.inf


def find_scoring(scoring: Any, dataset: Dataset) -> Any:
    """What "auto" means for these labels."""
    if not (isinstance(scoring, str) and scoring == AUTO):
        return scoring
    assert dataset.labels is not None
    labels = dataset.schema.labels
    spans = looks_like_spans(labels) and len(labels) > 1
    return "span_f1" if spans and bool((dataset.labels >= 0).all()) else "accuracy"


def _without_groups(truths: Sequence[Truth], values: Sequence[FloatArray]) -> FloatArray:
    """The mean of values of known positions: of all, and without each group of units."""
    sums, counts = [], []
    for truth, own in zip(truths, values):
        sums.append(np.add.reduceat(own, truth.units[:-1]))
        counts.append(np.add.reduceat(truth.known.astype(np.float64), truth.units[:-1]))
    total, n = np.concatenate(sums), np.concatenate(counts)
    total, n = total[n > 0], n[n > 0]
    groups = np.arange(len(n)) % _count(len(n))
    of_groups = [np.bincount(groups, weights=x) for x in (total, n)]
    left = [np.concatenate([[x.sum()], x.sum() - x]) for x in of_groups]
    means: FloatArray = left[0] / np.maximum(left[1], 1.0)
    return means


def _count(n_units: int) -> int:
    return max(1, min(GROUPS, n_units))
