"""HMM against hmmlearn: the same parameters give the same likelihoods, and one step of EM the same parameters."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import HMM
from hedgerow.datasets import make_sequences

hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")


def categorical(model: HMM):
    probs = model.value_probs("token")
    theirs = hmm.CategoricalHMM(n_components=len(model.classes_), n_features=len(probs), init_params="", n_iter=1)
    theirs.startprob_, theirs.transmat_ = model.start_probs_, model.transition_probs_
    theirs.emissionprob_ = np.array(list(probs.values())).T
    return theirs, {word: i for i, word in enumerate(probs)}


def numbers(n: int, seed: int) -> tuple[list[np.ndarray], list[list[int]]]:
    rng = np.random.default_rng(seed)
    y = [[int(v) for v in np.cumsum(rng.random(int(rng.integers(5, 30))) < 0.2) % 3] for _ in range(n)]
    return [rng.normal(np.array(labels)[:, None] * [1.0, -2.0], [1.0, 2.5]) for labels in y], y


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 10.0])
def test_categories(smoothing):
    X, y = make_sequences(80, random_state=1)
    model = HMM(smoothing=smoothing).fit(X, y)
    theirs, codes = categorical(model)
    for x, ours in zip(X, model.log_likelihood(X)):
        np.testing.assert_allclose(ours, theirs.score([[codes[word]] for word in x]), rtol=0, atol=1e-8)
    coded = [[codes[word]] for x in X for word in x]
    lengths = [len(x) for x in X]
    np.testing.assert_allclose(
        np.concatenate(model.predict_proba(X)), theirs.predict_proba(coded, lengths), rtol=0, atol=1e-8
    )
    joint = model.log_likelihood(X) + model.log_probability(X, model.predict(X, decoder="viterbi"))
    for x, ours in zip(X, joint):  # paths of the same probability may differ
        np.testing.assert_allclose(ours, theirs.decode([[codes[word]] for word in x])[0], rtol=0, atol=1e-8)


def test_numbers():
    X, y = numbers(40, seed=2)
    model = HMM().fit(X, y)
    theirs = hmm.GaussianHMM(n_components=3, covariance_type="diag", init_params="")
    theirs.startprob_, theirs.transmat_ = model.start_probs_, model.transition_probs_
    theirs.means_ = np.array([model.normal(name)[0] for name in ("0", "1")]).T
    theirs.covars_ = np.array([model.normal(name)[1] for name in ("0", "1")]).T
    for x, ours in zip(X, model.log_likelihood(X)):
        np.testing.assert_allclose(ours, theirs.score(x), rtol=0, atol=1e-8)


def test_a_step_of_expectation_maximisation():
    """Both start from the same parameters and see sequences without labels; nothing is smoothed."""
    from hedgerow.models.hmm.training import HMMTraining
    from hedgerow.parallel import Lanes

    X, y = make_sequences(60, n_tokens=12, random_state=3)
    model = HMM(smoothing=0.0).fit(X[:30], y[:30])
    theirs, codes = categorical(model)
    known = {word for x in X[:30] for word in x}
    unlabelled = [[word for word in x if word in known] for x in X[30:]]
    unlabelled = [x for x in unlabelled if x]
    theirs.fit([[codes[word]] for x in unlabelled for word in x], [len(x) for x in unlabelled])
    dataset = model.encode(unlabelled, [[None] * len(x) for x in unlabelled])
    training = HMMTraining(dataset, model.moves_, model.space_, 0.0)
    with Lanes(None, 1) as lanes:
        ours = training.maximise(training.expect(model.parameters_, lanes)[0])
    np.testing.assert_allclose(np.exp(ours.moves.rows[0]), theirs.startprob_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.exp(ours.moves.rows[1:]), theirs.transmat_, rtol=0, atol=1e-8)
    probs = np.exp(ours.emissions.codes[2:]).T
    np.testing.assert_allclose(probs, theirs.emissionprob_, rtol=0, atol=1e-8)
