"""A fit reads and encodes its corpus once, also where it trains a second time on all sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow import MEMM, BeamSearchTagger, FutureFeatureMEMM, RecurrentSlidingWindow, SlidingWindow, TreeCRF
from hedgerow.estimators import base, prepare
from hedgerow.models.crf import tree_shared
from hedgerow.models.future import training as future_training
from hedgerow.models.search import ranking
from tests.models.local_models import local

N = 30
FEW: dict[str, Any] = {"window": 0, "n_estimators": 3, "random_state": 0, "validation_fraction": 0.2}
CASES: list[tuple[Any, int]] = [  # and how many binnings a training learns
    (TreeCRF(**FEW), 1),
    (TreeCRF(**FEW, missing="impute"), 1),
    (local(MEMM, estimator="trees", **FEW), 1),
    (local(SlidingWindow, estimator="trees", **FEW), 1),
    (local(RecurrentSlidingWindow, estimator="trees", **FEW), 1),
    (FutureFeatureMEMM(**FEW), 2),  # of the input, and of what the trees of labels see
    (BeamSearchTagger(window=0, ranking="trees", max_iter=3, random_state=0, validation_fraction=0.2), 1),
    (BeamSearchTagger(ranking="perceptron", max_iter=3, random_state=0, validation_fraction=0.2), 0),
]


def corpus() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    y = [rng.choice(["a", "b"], size=5).tolist() for _ in range(N)]
    return [[{"x": float(rng.normal() + (label == "a")), "w": label} for label in labels] for labels in y], y


@pytest.mark.parametrize(("model", "binnings"), CASES, ids=lambda own: type(own).__name__)
def test_training_again_on_all_encodes_nothing_a_second_time(model, binnings, monkeypatch):
    read: list[int] = []
    encoded: list[int] = []
    binned: list[int] = []

    def counted(function, calls, size):
        def call(*given, **options):
            calls.append(0)
            found = function(*given, **options)
            calls[-1] = size(found, *given)
            return found

        return call

    X, y = corpus()
    learn = counted(prepare.learn_corpus, read, lambda found, *given: len(found.dataset))
    monkeypatch.setattr(prepare, "learn_corpus", learn)
    for module in (prepare, base):
        monkeypatch.setattr(module, "encode", counted(module.encode, encoded, lambda found, *given: len(found)))
    for module in (tree_shared, future_training, ranking):
        learn = counted(module.learn_binning, binned, lambda found, dataset, *given: len(dataset))
        monkeypatch.setattr(module, "learn_binning", learn)
    model.fit((sequence for sequence in X), (labels for labels in y))  # generators: they can be read once
    assert model.refitted_
    assert read == [N]
    assert encoded == []
    n_folds = 3 if isinstance(model, TreeCRF) else 1
    assert binned == [24] * binnings * n_folds + [N] * binnings  # bins of all are others than those of a part
