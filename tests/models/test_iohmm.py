"""IOHMM: probabilities by enumeration, gradients by differences, a likelihood that never falls."""

from __future__ import annotations

import os
import signal
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import IOHMM, InputError, LinearCRF, learn, load
from hedgerow.datasets import make_sequences
from hedgerow.models.iohmm.regression import Fit, Regressions
from hedgerow.parallel import Lanes, plan_chunks
from hedgerow.training.monitor import Monitor
from tests.reference import iohmm as reference

from .corpora import COLUMNS, partial_labels, rich_corpus

X, Y = make_sequences(40, mean_length=4, n_tokens=12, random_state=1)


def fitted(**parameters: Any) -> IOHMM:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return IOHMM(**{"window": 0, "n_states": 2, "max_iter": 6, "random_state": 0} | parameters).fit(X, Y)


MODEL = fitted()


def tables(model: IOHMM, x: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start (n,), moves (T, n, n) and outputs (T, n, K) of a sequence, by adding up the weights of its tokens."""
    n, K = model.n_states_, len(model.classes_)
    dataset = model.encode([x])
    found = []
    for own, weights, shape in zip(model.regressions_, model.parameters_, ((n + 1, n), (n, K))):
        bias = weights[own.index.n_weights :]
        scores = []
        for code in dataset.codes[0]:
            begin, end = own.index.row_ptr[code], own.index.row_ptr[code + 1]
            scores.append(bias + (weights[begin:end] if end > begin and code else 0.0))
        found.append(reference.softmax(np.array(scores).reshape(len(x), *shape)))
    moves, outputs = found
    return moves[0, 0], moves[:, 1:], outputs


def codes(model: IOHMM, labels: list[Any]) -> list[int]:
    return [model.classes_.tolist().index(label) for label in labels]


class TestByEnumeration:
    SHORT = tuple(i for i in range(len(X)) if len(X[i]) in (1, 2, 3))[:6]

    @pytest.mark.parametrize("i", SHORT)
    def test_one_sequence(self, i):
        x, every = X[i], reference.every_joint(*tables(MODEL, X[i]))
        np.testing.assert_allclose(sum(every.values()), 1.0, rtol=1e-10)
        probs = np.zeros((len(x), len(MODEL.classes_)))
        states = np.zeros((len(x), 2))
        labelings: dict[Any, float] = {}
        for (path, labels), p in every.items():
            for t in range(len(x)):
                probs[t, labels[t]] += p
                states[t, path[t]] += p
            labelings[labels] = labelings.get(labels, 0.0) + p
        np.testing.assert_allclose(MODEL.predict_proba([x])[0], probs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(MODEL.state_proba([x])[0], states, rtol=1e-9, atol=1e-12)
        assert MODEL.predict([x])[0] == MODEL.classes_[probs.argmax(axis=1)].tolist()
        best = max(every, key=every.__getitem__)
        assert codes(MODEL, MODEL.predict([x], decoder="viterbi")[0]) == list(best[1])
        whole = np.log(labelings[tuple(codes(MODEL, Y[i]))])
        np.testing.assert_allclose(MODEL.log_probability([x], [Y[i]])[0], whole, rtol=1e-9)
        first = sum(p for labels, p in labelings.items() if labels[0] == codes(MODEL, Y[i])[0])
        np.testing.assert_allclose(MODEL.span_probability([x], [(0, 0, Y[i][:1])])[0], first, rtol=1e-9)

    def test_what_is_known_of_the_labels(self):
        i = next(i for i in self.SHORT if len(X[i]) == 3)
        known = [None, set(MODEL.classes_[:2].tolist()), MODEL.classes_[0]]
        every = reference.every_joint(*tables(MODEL, X[i]))
        allowed = {own: p for own, p in every.items() if own[1][1] < 2 and own[1][2] == 0}
        probs = np.zeros((3, len(MODEL.classes_)))
        for (_, labels), p in allowed.items():
            probs[np.arange(3), list(labels)] += p / sum(allowed.values())
        found = MODEL.predict_proba([X[i]], known=[known])[0]
        np.testing.assert_allclose(found, probs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(MODEL.log_probability([X[i]], [known])[0], np.log(sum(allowed.values())), rtol=1e-9)
        drawn = MODEL.sample([X[i]], 200, random_state=1, known=[known])
        assert all(row[0][2] == known[2] and row[0][1] in known[1] for row in drawn)

    def test_samples_are_as_frequent_as_probable(self):
        i = next(i for i in self.SHORT if len(X[i]) == 2)
        drawn = [tuple(own[0]) for own in MODEL.sample([X[i]], 4000, random_state=3)]
        for labeling in set(drawn):
            p = float(np.exp(MODEL.log_probability([X[i]], [list(labeling)])[0]))
            assert abs(drawn.count(labeling) / 4000 - p) < 5 * np.sqrt(p / 4000) + 1e-3


class TestTraining:
    def test_the_gradient_of_the_regressions(self):
        Z, z = rich_corpus(12, seed=1)
        dataset = learn(Z, z, columns=COLUMNS, window=1)
        own, _ = Regressions.of(dataset, 3, 2)
        rng = np.random.default_rng(2)
        targets = [rng.random((dataset.n_positions, 3, 2))]
        weights = rng.normal(size=own.n_weights)
        assert len(plan_chunks(dataset.offsets)) == 2
        with Lanes(None, 1) as lanes:
            chunks = [own.loaded(weights).scorer.compile(dataset, 0, len(dataset))]
            fit = Fit(own, chunks, targets, lanes)
            _, gradient = fit(weights)
            for place in rng.choice(own.n_weights, size=25, replace=False):
                step = np.zeros_like(weights)
                step[place] = 1e-5
                slope = (fit(weights + step)[0] - fit(weights - step)[0]) / 2e-5
                np.testing.assert_allclose(gradient[place], slope, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("partial", [False, True])
    def test_the_loss_never_rises(self, partial):
        Z, z = rich_corpus(40, seed=3)
        z = partial_labels(z, seed=4) if partial else z
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = IOHMM(n_states=3, columns=COLUMNS, max_iter=25, tol=0.0, random_state=0).fit(Z, z)
        losses = [step.loss for step in model.history_]
        assert np.all(np.diff(losses) <= 1e-10 * abs(losses[0]))
        penalty = 0.1 * sum(float((own**2).sum()) for own in model.parameters_)
        np.testing.assert_allclose(model.loss_, penalty - model.log_probability(Z, z).sum(), rtol=1e-9)

    def test_states_remember_what_labels_do_not_show(self):
        rng = np.random.default_rng(5)
        Z = [[str(rng.choice(["on", "off"])), *rng.choice(["on", "off", "x", "x", "x"], size=12)] for _ in range(60)]
        z = []
        for row in Z:
            now, labels = "", []
            for token in row:
                now = token if token != "x" else now
                labels.append("command" if token != "x" else now)
            z.append(labels)
        model = IOHMM(window=0, n_states=6, n_init=2, tol=1e-2, random_state=1).fit(Z[:40], z[:40])
        assert model.score(Z[40:], z[40:]) > 0.99
        assert LinearCRF(window=0).fit(Z[:40], z[:40]).score(Z[40:], z[40:]) < 0.9

    def test_weight_two_is_a_sequence_twice(self):
        weighted = IOHMM(n_states=2, random_state=0).fit(X[:20], Y[:20], sample_weight=[2.0] * 5 + [1.0] * 15)
        doubled = [*X[:20], *X[:5]], [*Y[:20], *Y[:5]]
        loss = 0.1 * sum(float((own**2).sum()) for own in weighted.parameters_)
        np.testing.assert_allclose(weighted.loss_, loss - weighted.log_probability(*doubled).sum(), rtol=1e-9)

    def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(self):
        Z, z = make_sequences(700, random_state=6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models = [IOHMM(max_iter=2, random_state=7, n_jobs=n).fit(Z, z) for n in (1, 2)]
        for ours, theirs in zip(*(model.parameters_ for model in models)):
            np.testing.assert_array_equal(ours, theirs)

    def test_the_best_start_is_kept(self):
        losses = [fitted(n_init=n).loss_ for n in (1, 2, 3)]
        assert losses[0] >= losses[1] >= losses[2]

    def test_ctrl_c_keeps_what_there_is(self, monkeypatch):
        step = Monitor.step

        def press(self, *args, **options):
            if self.max_iter == 77 and self.n_iter == 1:
                os.kill(os.getpid(), signal.SIGINT)
            return step(self, *args, **options)

        monkeypatch.setattr(Monitor, "step", press)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model = IOHMM(max_iter=77, n_init=3, random_state=0).fit(X, Y)
        assert (model.outcome_, model.n_iter_) == ("interrupted", 2)


class TestContract:
    def test_files(self, tmp_path):
        Z, z = rich_corpus(25, seed=8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = IOHMM(columns=COLUMNS, window=1, max_iter=3, random_state=0).fit(Z, z)
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert type(loaded) is IOHMM
        for ours, theirs in zip(loaded.predict_proba(Z), model.predict_proba(Z)):
            np.testing.assert_array_equal(ours, theirs)

    def test_one_by_one_or_together(self):
        assert MODEL.predict(X).tolist() == [MODEL.predict([x])[0] for x in X]
        assert MODEL.predict([]).tolist() == []

    def test_what_cannot_be_done_is_refused(self):
        assert not hasattr(MODEL, "predict_k_best")  # many sequences of states share a labeling
        assert not hasattr(MODEL, "entropy")
        with pytest.raises(InputError, match="decoder is 'beam'"):
            MODEL.predict(X, decoder="beam")
        with pytest.raises(InputError, match="span 0"):
            MODEL.span_probability(X, [(0, 0, ["L0"] * 99)])

    def test_too_many_states_for_the_memory(self):
        with pytest.raises(InputError, match=r"1000000 states .* GB of memory. Use fewer states"):
            IOHMM(n_states=1_000_000).fit(X, Y)

    @pytest.mark.parametrize(
        ("parameters", "what"),
        [
            ({"n_states": 0}, "n_states is 0"),
            ({"l2": -1.0}, "l2 is -1.0"),
            ({"n_init": 0}, "n_init is 0"),
            ({"max_iter": 0}, "max_iter is 0"),
            ({"tol": -1.0}, "tol is -1.0"),
            ({"decoder": "beam"}, "decoder is 'beam'"),
            ({"random_state": "x"}, "random_state is 'x'"),
        ],
    )
    def test_parameters(self, parameters, what):
        with pytest.raises(InputError, match=what):
            IOHMM(**parameters).fit(X, Y)
