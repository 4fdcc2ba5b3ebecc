"""LinearCRF against python-crfsuite: the same weights give the same numbers, and training finds the same optimum."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF

from .crfsuite_model import CRFsuiteModel, put_weights, read_model

Corpus = tuple[list[list[dict[str, Any]]], list[list[str]]]


def made_corpus(n_sequences: int, seed: int, *, weighted: bool = False) -> Corpus:
    """Items with strings, a flag, a list and (where asked for) numbers; labels that depend on them and on order.

    A flag that is off is absent, and no number is 0: CRFsuite gives an attribute of value 0 a weight for the label
    it stands with, hedgerow does not.
    """
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_sequences):
        labels, items = [], []
        label = int(rng.integers(4))
        for t in range(int(rng.integers(1, 13))):
            label = int(rng.choice([label, (label + 1) % 4, rng.integers(4)], p=[0.4, 0.3, 0.3]))
            word = f"w{(label * 3 + rng.integers(6)) % 17}"
            item: dict[str, Any] = {"bias": 1.0, "word": word, "parts": [word[:2], f"l{len(word)}"]}
            if t == 0:
                item["first"] = True
            if weighted:
                item["size"] = float(np.round(rng.normal() + label, 3)) or 1.0
            items.append(item)
            labels.append(f"L{label}")
        X.append(items)
        y.append(labels)
    return X, y


def train_crfsuite(corpus: Corpus, path: Path, **options: Any) -> tuple[CRFsuiteModel, float, pycrfsuite.Tagger]:
    """Its weights, its own penalised loss at them, and its tagger."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for items, labels in zip(*corpus):
        trainer.append(items, labels)
    trainer.select("lbfgs", "crf1d")
    trainer.set_params({"max_iterations": 1000, "epsilon": 1e-9, "delta": 1e-12, "period": 20, **options})
    trainer.train(str(path))
    losses = [entry["loss"] for entry in trainer.logparser.iterations]
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return read_model(path), min(losses), tagger


def train_hedgerow(corpus: Corpus, **options: Any) -> LinearCRF:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearCRF(**{"tol": 1e-11, "max_iter": 2000} | options).fit(*corpus)


def penalised_loss(model: LinearCRF, corpus: Corpus) -> float:
    weights = model.weights_
    penalty = model.l2 * float(weights @ weights) + model.l1 * float(np.abs(weights).sum())
    return -float(model.log_probability(*corpus).sum()) + penalty


def assert_same_numbers(model: LinearCRF, tagger: pycrfsuite.Tagger, corpus: Corpus) -> None:
    X, y = corpus
    log_probability, paths, probs = (
        model.log_probability(X, y),
        model.predict(X, decoder="viterbi"),
        model.predict_proba(X),
    )
    for i, (items, labels) in enumerate(zip(X, y)):
        tagger.set(items)
        np.testing.assert_allclose(np.exp(log_probability[i]), tagger.probability(labels), rtol=1e-6, atol=1e-12)
        assert tagger.tag() == paths[i]
        tagger.set(items)  # CRFsuite's Viterbi leaves its scores in a state that marginals do not expect
        marginals = [[tagger.marginal(label, t) for label in model.classes_] for t in range(len(items))]
        np.testing.assert_allclose(probs[i], marginals, rtol=0, atol=1e-6)


SETTINGS = [
    pytest.param({}, {}, id="all transitions"),
    pytest.param({"transitions": "observed"}, {"feature.possible_transitions": False}, id="observed transitions"),
    pytest.param({"pairs": "all"}, {"feature.possible_states": True}, id="all states"),
    pytest.param({"min_frequency": 4}, {"feature.minfreq": 4}, id="min_frequency"),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("ours", "theirs"), SETTINGS)
def test_l2_reaches_the_same_optimum(ours, theirs, weighted, tmp_path):
    corpus = made_corpus(100, seed=1, weighted=weighted)
    theirs = {"feature.possible_transitions": True, "c1": 0.0, "c2": 0.3, **theirs}
    source, loss, tagger = train_crfsuite(corpus, tmp_path / "model", **theirs)
    model = train_hedgerow(corpus, l2=0.3, **ours)
    np.testing.assert_allclose(model.loss_, loss, rtol=1e-6)
    own = model.weights_
    assert put_weights(model, source) == 0
    assert model.layout_.n_weights == len(source.weights())  # the same weights exist, no more and no less
    np.testing.assert_allclose(own, model.weights_, rtol=0, atol=2e-3)
    np.testing.assert_allclose(penalised_loss(model, corpus), loss, rtol=1e-8)
    assert_same_numbers(model, tagger, made_corpus(15, seed=2, weighted=weighted))


@pytest.mark.parametrize(("c1", "c2"), [(1.0, 0.0), (0.5, 0.1)])
def test_l1_reaches_the_same_optimum(c1, c2, tmp_path):
    corpus = made_corpus(60, seed=3)
    options = {"feature.possible_transitions": True, "c1": c1, "c2": c2, "max_iterations": 3000}
    source, loss, tagger = train_crfsuite(corpus, tmp_path / "model", **options)
    model = train_hedgerow(corpus, l1=c1, l2=c2, max_iter=3000)
    np.testing.assert_allclose(model.loss_, loss, rtol=1e-4)
    assert model.loss_ <= loss * (1 + 1e-6)
    # CRFsuite leaves weights out that are zero: its file holds the others
    n_ours, n_theirs = np.count_nonzero(model.weights_), len(source.weights())
    assert n_ours < model.layout_.n_weights
    assert abs(n_ours - n_theirs) <= max(2, 0.05 * n_theirs)
    assert put_weights(model, source) == 0
    np.testing.assert_allclose(penalised_loss(model, corpus), loss, rtol=1e-7)
    assert_same_numbers(model, tagger, corpus)


@pytest.mark.data
def test_chunking(data_folder, tmp_path):
    """A slice of CoNLL-2000: the loss of CRFsuite at its weights, its marginals and its best paths."""
    from hedgerow.datasets import chunking_features, load_conll2000

    X, y, _, _ = load_conll2000(data_folder / "conll2000")
    rows = [([item["word"] for item in X[i]], [item["pos"] for item in X[i]]) for i in range(300)]
    corpus = ([chunking_features(words, tags) for words, tags in rows], [list(labels) for labels in y[:300]])
    options = {"feature.possible_transitions": True, "c1": 0.0, "c2": 1.0, "max_iterations": 40}
    source, loss, tagger = train_crfsuite(corpus, tmp_path / "model", **options)
    model = train_hedgerow(corpus, max_iter=5)
    assert put_weights(model, source) == 0
    np.testing.assert_allclose(penalised_loss(model, corpus), loss, rtol=1e-8)
    assert_same_numbers(model, tagger, (corpus[0][:40], corpus[1][:40]))
