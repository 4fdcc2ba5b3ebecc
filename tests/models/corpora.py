"""Corpora with every kind of feature, and what is needed to look at the training loss itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow import Item, LinearCRF
from hedgerow.chain.objectives import log_likelihood
from hedgerow.data.encoding import learn
from hedgerow.estimators.constraints import legal_space
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import Evaluation, LinearChain
from hedgerow.models.crf.linear_layout import carry_over, lay_out
from hedgerow.parallel import Lanes

LABELS = ("B-X", "I-X", "O")
COLUMNS = {"tags": "attributes"}

X_SMALL = [["the", "cat"], ["a", "dog", "barks"], ["the", "old", "dog", "barks"], ["dog"]]
Y_SMALL = [["D", "N"], ["D", "N", "V"], ["D", "A", "N", "V"], ["N"]]


def chunk_labels(rng: np.random.Generator, length: int) -> list[str]:
    """Labels that obey IOB2."""
    labels: list[str] = []
    for _ in range(length):
        choices = LABELS if labels and labels[-1] != "O" else ("B-X", "O")
        labels.append(str(rng.choice(choices)))
    return labels


def rich_corpus(n_sequences: int, seed: int) -> tuple[list[Item], list[list[Any]]]:
    """Strings, numbers, flags, weighted attributes (rare keys), features of the whole sequence. Labels obey IOB2."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_sequences):
        labels = chunk_labels(rng, int(rng.integers(1, 8)))
        rows = []
        for label in labels:
            k = LABELS.index(label)
            row: dict[str, Any] = {
                "word": f"w{(2 * k + rng.integers(4)) % 7}",
                "size": float(np.round(rng.normal() + k, 2)),
                "upper": bool(rng.random() < 0.3 + 0.2 * k),
                "tags": {f"t{j}": float(np.round(rng.random() + 0.1, 2)) for j in rng.integers(0, 60, size=2)},
            }
            if rng.random() < 0.1:
                del row["word"]
            rows.append(row)
        X.append(Item(rows, {"language": str(rng.choice(["en", "de"])), "length": float(len(rows))}))
        y.append(labels)
    return X, y


def partial_labels(y: list[list[str]], seed: int) -> list[list[Any]]:
    """The same labels, some of them unknown and some among others."""
    rng = np.random.default_rng(seed)
    return [
        [None if draw < 0.2 else {label, "O"} if draw < 0.4 else label for label, draw in zip(labels, draws)]
        for labels, draws in ((labels, rng.random(len(labels))) for labels in y)
    ]


class Loss:
    """The training loss of a LinearCRF with these parameters, as a function of its weights."""

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, n_jobs: int | None = None, **parameters: Any) -> None:
        model = LinearCRF(**{"window": 0} | parameters)
        self.dataset = learn(X, y, columns=model.columns, window=model.window, sample_weight=sample_weight)
        space = legal_space(self.dataset, model.constraints, forbid_unseen=model.transitions == "forbid_unseen")
        self.layout, self.statistics = lay_out(
            self.dataset,
            space,
            transitions=model.transitions,
            pairs=model.pairs,
            min_frequency=model.min_frequency,
            transition_columns=model.transition_columns,
        )
        self.n_jobs = n_jobs

    @property
    def n_weights(self) -> int:
        return self.layout.n_weights

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        with Lanes(self.n_jobs, 4) as lanes:
            return Evaluation(LinearChain(self.layout), self.dataset, log_likelihood, lanes)(weights)

    def carry(self, weights: FloatArray, source: Loss) -> FloatArray:
        """Weights of another loss in this layout. Rare keys may be columns in one and attributes in the other."""
        return carry_over(source.dataset.schema, source.layout, weights, self.dataset.schema, self.layout)
