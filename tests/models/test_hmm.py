"""HMM: counts by hand, likelihoods by enumeration, expectation-maximisation that only climbs."""

from __future__ import annotations

import itertools
import os
import signal
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_limits

from hedgerow import HMM, InputError, Item, learn, load
from hedgerow.chain.edges import HistoryEdges
from hedgerow.chain.inference import marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.states import StateSpace
from hedgerow.datasets import make_sequences
from hedgerow.models.hmm.moves import make_moves
from hedgerow.training.monitor import Monitor
from tests.reference import hmm as reference

X_SMALL = [["a", "b"], ["b", "b", "c"], ["a"], ["c", "a", "b"]]
Y_SMALL = [["x", "y"], ["y", "y", "x"], ["x"], ["y", "x", "x"]]


def mixed(n: int, seed: int) -> tuple[list[Any], list[list[str]]]:
    """A category, a number, a flag and attributes at each position, each missing now and then."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels, rows = [], []
        k = 0
        for t in range(int(rng.integers(1, 5))):
            k = int(rng.integers(2)) if t == 0 or rng.random() < 0.3 else k
            row: dict[str, Any] = {
                "word": f"w{(k + rng.integers(3)) % 4}",
                "size": float(rng.normal(3.0 * k, 1.0 + k)),
                "upper": bool(rng.random() < 0.3 + 0.4 * k),
                "tags": [f"t{(k + j) % 5}" for j in rng.integers(0, 4, size=2)],
            }
            for name in ("word", "size", "upper"):
                if rng.random() < 0.15:
                    row[name] = None
            rows.append(row)
            labels.append("pq"[k])
        X.append(rows)
        y.append(labels)
    return X, y


MIXED = {"word": "categorical", "size": "numeric", "upper": "boolean", "tags": "attributes"}


def emitted(model: HMM, rows: list[dict[str, Any]]) -> np.ndarray:
    """P(x_t | k) of a sequence of `mixed`, column by column as the class says."""
    words, flags = model.value_probs("word"), model.value_probs("upper")
    mean, variance = model.normal("size")
    tags = dict(zip(model.schema_.attributes.names(), np.exp(model.parameters_.emissions.attributes)))
    found = []
    for row in rows:
        own = np.ones(len(model.classes_))
        if row["word"] is not None:
            own = own * words[row["word"]]
        if row["upper"] is not None:
            own = own * flags[row["upper"]]
        if row["size"] is not None:
            own = own * np.exp(-((row["size"] - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        for tag in row["tags"]:
            own = own * tags[f"tags:{tag}"]
        found.append(own)
    return np.array(found)


def hidden(y: list[list[str]], share: float, seed: int) -> list[list[Any]]:
    """The same labels with some unknown, and some in sets with another."""
    rng = np.random.default_rng(seed)
    names = sorted({label for row in y for label in row})

    def one(label: str) -> Any:
        draw = rng.random()
        if draw < share / 2:
            return None
        return {label, str(rng.choice(names))} if draw < share else label

    return [[one(label) for label in row] for row in y]


class TestCounts:
    def test_by_hand(self):
        model = HMM(smoothing=0.0).fit(X_SMALL, Y_SMALL)
        assert model.classes_.tolist() == ["x", "y"]
        np.testing.assert_allclose(model.start_probs_, [0.5, 0.5], rtol=1e-12)
        np.testing.assert_allclose(model.transition_probs_, [[1 / 2, 1 / 2], [2 / 3, 1 / 3]], rtol=1e-12)
        words = model.value_probs("token")
        np.testing.assert_allclose(words["a"], [3 / 5, 0], rtol=1e-12)
        np.testing.assert_allclose(words["b"], [1 / 5, 3 / 4], rtol=1e-12)
        np.testing.assert_allclose(words["c"], [1 / 5, 1 / 4], rtol=1e-12)
        assert (model.n_iter_, model.outcome_) == (0, "converged")

    def test_smoothing_adds_what_all_labels_show_together(self):
        model = HMM(smoothing=2.0).fit(X_SMALL, Y_SMALL)
        shares = {"a": 3 / 9, "b": 4 / 9, "c": 2 / 9}
        counts = {"a": (3, 0), "b": (1, 3), "c": (1, 1)}
        for word, probs in model.value_probs("token").items():
            by_hand = [(c + 2 * shares[word]) / (n + 2) for c, n in zip(counts[word], (5, 4))]
            np.testing.assert_allclose(probs, by_hand, rtol=1e-12)
        labels = (np.array([5, 4]) + 1) / 11
        np.testing.assert_allclose(model.start_probs_, (np.array([2, 2]) + 2 * labels) / 6, rtol=1e-12)

    def test_numbers(self):
        X = [np.array([[1.0], [3.0], [np.nan]]), np.array([[10.0], [14.0]])]
        y = [["a", "a", "a"], ["b", "b"]]
        model = HMM(smoothing=0.0).fit(X, y)
        mean, variance = model.normal("0")
        np.testing.assert_allclose(mean, [2.0, 12.0], rtol=1e-12)
        np.testing.assert_allclose(variance, [1.0, 4.0], rtol=1e-12)
        pooled = np.array([1.0, 3.0, 10.0, 14.0])
        mean, variance = HMM(smoothing=2.0).fit(X, y).normal("0")
        for k, own in enumerate(([1.0, 3.0], [10.0, 14.0])):  # as if two more were seen, spread as all four are
            numbers, weights = np.concatenate([own, pooled]), np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5])
            centre = np.average(numbers, weights=weights)
            np.testing.assert_allclose(mean[k], centre, rtol=1e-12)
            np.testing.assert_allclose(variance[k], np.average((numbers - centre) ** 2, weights=weights), rtol=1e-12)

    def test_one_number_alone_has_no_spread_of_its_own(self):
        model = HMM(smoothing=0.0).fit([np.array([[1.0], [2.0], [2.5]])], [["a", "b", "b"]])
        _, variance = model.normal("0")
        assert 0 < variance[0] < 1e-8
        assert np.isfinite(model.log_likelihood([np.array([[1.0]])])).all()

    def test_weight_two_is_a_sequence_twice(self):
        X, y = mixed(12, seed=0)
        weighted = HMM(columns=MIXED).fit(X, y, sample_weight=[2.0] * 3 + [1.0] * 9)
        twice = HMM(columns=MIXED).fit([*X, *X[:3]], [*y, *y[:3]])
        np.testing.assert_allclose(weighted.log_likelihood(X), twice.log_likelihood(X), rtol=1e-10)
        np.testing.assert_allclose(weighted.loss_, twice.loss_, rtol=1e-10)

    @pytest.mark.parametrize("order", [0, 1, 2, 3])
    def test_probabilities_add_to_one(self, order):
        X, y = make_sequences(30, random_state=3)
        model = HMM(order=order).fit(X, y)
        np.testing.assert_allclose(np.exp(model.parameters_.moves.rows).sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(sum(model.value_probs("token").values()), 1.0, rtol=1e-12)
        np.testing.assert_allclose(model.start_probs_.sum(), 1.0, rtol=1e-12)

    def test_counts_of_histories_walk_or_sum(self):
        """Where all labels are known there is one way through the histories, which the sums over all ways find too."""
        X, y = make_sequences(20, random_state=21)
        dataset = learn(X, y)
        moves = make_moves(dataset, 3, StateSpace.full(3))
        weights = np.arange(20.0)
        edges = HistoryEdges.from_scores(moves.histories, np.zeros(moves.histories.n_arcs))
        nodes = np.where(dataset.labels[:, None] == np.arange(3), 0.0, -np.inf)
        found = marginals(ChainPotentials(nodes, dataset.offsets, edges), None, weights)
        np.testing.assert_allclose(moves.known(dataset, weights).ravel(), found.edges, rtol=1e-9, atol=1e-9)

    def test_a_flag_that_is_never_set_in_training_says_nothing(self):
        columns = {"flag": "boolean", "word": "categorical"}
        rows = [{"flag": False, "word": "a"}, {"flag": False, "word": "b"}]
        model = HMM(columns=columns).fit([rows] * 3, [["x", "y"]] * 3)
        alone = HMM(columns={"word": "categorical"}).fit(
            [[{"word": row["word"]} for row in rows]] * 3, [["x", "y"]] * 3
        )
        found = model.predict_proba([[{"flag": True, "word": "a"}]])[0]
        np.testing.assert_allclose(found, alone.predict_proba([[{"word": "a"}]])[0], rtol=1e-12)


class TestLikelihood:
    def test_mixed_columns_by_enumeration(self):
        X, y = mixed(30, seed=1)
        model = HMM(columns=MIXED).fit(X, y)
        codes = {label: k for k, label in enumerate(model.classes_)}
        ours, shares = model.log_likelihood(X[:10]), model.log_probability(X[:10], y[:10])
        for i in range(10):
            table = emitted(model, X[i])
            whole = reference.likelihood(model.start_probs_, model.transition_probs_, table)
            np.testing.assert_allclose(ours[i], np.log(whole), rtol=1e-10)
            labels = np.array([codes[label] for label in y[i]])
            joint = reference.joint_probability(model.start_probs_, model.transition_probs_, table, labels)
            np.testing.assert_allclose(shares[i], np.log(joint / whole), rtol=1e-8, atol=1e-10)

    def test_the_loss_is_that_of_labels_and_input(self):
        X, y = mixed(30, seed=2)
        model = HMM(columns=MIXED, smoothing=0.0).fit(X, y)
        joint = model.log_likelihood(X) + model.log_probability(X, y)
        np.testing.assert_allclose(model.loss_, -joint.sum(), rtol=1e-10)

    @pytest.mark.parametrize("order", [0, 2, 3])
    def test_other_orders_by_enumeration(self, order):
        """P(label | history) is read off the rows; a history is the longest end of the labels that has a row."""
        X, y = make_sequences(25, n_labels=3, random_state=4)
        model = HMM(order=order).fit(X, y)
        words, h = model.value_probs("token"), model.moves_.histories
        rows = {
            tuple(v for v in own if v != -2): np.exp(row)
            for own, row in zip(h.labels.tolist(), model.parameters_.moves.rows)
        }

        def joint(words_in: list[str], labels: tuple[int, ...]) -> float:
            total, before = 1.0, (-1,)
            for word, label in zip(words_in, labels):
                past = before[max(0, len(before) - order) :] if order else ()
                while past not in rows:
                    past = past[1:]
                total *= rows[past][label] * words[word][label]
                before = (*before, label)
            return total

        for x in (X[0][:4], X[1][:5], X[2][:1]):
            by_hand = {own: joint(x, own) for own in itertools.product(range(3), repeat=len(x))}
            np.testing.assert_allclose(model.log_likelihood([x])[0], np.log(sum(by_hand.values())), rtol=1e-10)
            best = max(by_hand, key=by_hand.__getitem__)
            assert model.predict([x])[0] == model.classes_[list(best)].tolist()

    def test_order_recovers_what_lower_orders_cannot(self):
        """The label is that of two positions before, or not, and the input hardly tells."""
        rng = np.random.default_rng(5)
        X, y = [], []
        for _ in range(150):
            labels = rng.integers(0, 2, size=2).tolist()
            for _ in range(18):
                labels.append(labels[-2] if rng.random() < 0.95 else 1 - labels[-2])
            y.append([int(v) for v in labels])
            X.append([str(v if rng.random() < 0.7 else 1 - v) for v in labels])
        scores = [
            HMM(order=order, decoder="posterior").fit(X[:100], y[:100]).score(X[100:], y[100:]) for order in (1, 2)
        ]
        assert scores[1] > scores[0] + 0.05

    def test_what_was_never_seen_adds_no_factor(self):
        model = HMM().fit(X_SMALL, Y_SMALL)
        np.testing.assert_allclose(model.log_likelihood([["new"], [None]]), 0.0, atol=1e-12)


class TestUnknownLabels:
    @pytest.mark.parametrize("order", [0, 1, 2])
    def test_the_loss_only_falls(self, order):
        X, y = mixed(60, seed=6)
        partial = hidden(y, 0.6, seed=7)
        partial[5:15] = [[None] * len(row) for row in y[5:15]]
        model = HMM(order=order, columns=MIXED, tol=1e-9).fit(X, partial)
        losses = [step.loss for step in model.history_]
        assert len(losses) > 3
        assert np.all(np.diff(losses) <= 1e-9 * abs(losses[0]))
        assert model.loss_ == losses[-1]

    def test_the_loss_is_that_of_what_is_known(self):
        X, y = mixed(40, seed=8)
        partial = hidden(y, 0.5, seed=9)
        model = HMM(columns=MIXED, smoothing=0.0, tol=1e-10).fit(X, partial)
        known = model.log_likelihood(X) + model.log_probability(X, partial)
        np.testing.assert_allclose(model.loss_, -known.sum(), rtol=1e-9)

    def test_it_is_a_maximum(self):
        """At the end, moving any probability a little lowers the penalised likelihood of what is known."""
        X = [["a", "b", "a"], ["b", "b"], ["a", "a", "b"]]
        y = [["x", None, "x"], [None, "y"], ["x", "x", None]]
        model = HMM(smoothing=0.5, tol=0.0, max_iter=400)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        losses = [step.loss for step in model.history_]
        assert abs(losses[-1] - losses[-2]) < 1e-10 * abs(losses[-1])

    def test_unlabelled_sequences_help(self):
        X, y = make_sequences(300, n_tokens=40, random_state=10)
        few = HMM().fit(X[:4], y[:4])
        more = HMM().fit([*X[:4], *X[4:200]], [*y[:4], *([None] * len(row) for row in y[4:200])])
        assert more.score(X[200:], y[200:]) > few.score(X[200:], y[200:]) + 0.02

    def test_threads_do_not_change_a_bit(self):
        X, y = make_sequences(900, random_state=11)
        partial = hidden(y, 0.4, seed=12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models = [HMM(n_jobs=n, max_iter=3).fit(X, partial) for n in (1, 2)]
        np.testing.assert_array_equal(models[0].parameters_.emissions.codes, models[1].parameters_.emissions.codes)
        assert models[0].loss_ == models[1].loss_

    def test_too_few_iterations_are_told(self):
        X, y = make_sequences(40, random_state=13)
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            HMM(max_iter=2).fit(X, hidden(y, 0.5, seed=14))

    def test_ctrl_c_keeps_what_there_is(self, monkeypatch):
        X, y = make_sequences(40, random_state=15)
        step = Monitor.step

        def press(self, *args, **options):
            if self.n_iter == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return step(self, *args, **options)

        monkeypatch.setattr(Monitor, "step", press)
        with pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations"):
            model = HMM(tol=0.0).fit(X, hidden(y, 0.5, seed=16))
        assert (model.outcome_, model.n_iter_) == ("interrupted", 3)
        assert model.score(X, y) > 0.5


class TestContract:
    def test_everything_a_chain_can_do(self):
        X, y = mixed(30, seed=17)
        model = HMM(columns=MIXED).fit(X, y)
        for decoder in ("viterbi", "posterior"):
            assert [len(row) for row in model.predict(X, decoder=decoder)] == [len(row) for row in y]
        assert model.predict(X).tolist() == [model.predict([x])[0] for x in X]
        for probs in model.predict_proba(X):
            np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-10)
        best = model.predict_k_best(X[:3], 2)
        assert [own[0][0] for own in best] == model.predict(X[:3]).tolist()
        assert model.predict(X[:5], known=y[:5]).tolist() == y[:5]
        assert len(model.sample(X, 2, random_state=0)) == 2
        assert (model.entropy(X) >= 0).all()

    @pytest.mark.parametrize("parameters", [{}, {"order": 0}, {"order": 2}, {"constraints": [("p", "q")]}])
    def test_files(self, parameters, tmp_path):
        X, y = mixed(40, seed=18)
        if "constraints" in parameters:
            y = [sorted(row, reverse=True) for row in y]
        model = HMM(columns=MIXED, **parameters).fit(X, y)
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert type(loaded) is HMM
        assert loaded.order == model.order
        np.testing.assert_array_equal(loaded.log_likelihood(X), model.log_likelihood(X))
        assert loaded.predict(X).tolist() == model.predict(X).tolist()

    def test_constraints(self):
        X, y = [["a", "b", "c"], ["c", "c", "a"]], [["O", "B-X", "I-X"], ["B-X", "O", "O"]]
        model = HMM(constraints="iob2").fit(X, y)
        classes = model.classes_.tolist()
        assert model.transition_probs_[classes.index("O"), classes.index("I-X")] == 0
        assert model.start_probs_[classes.index("I-X")] == 0
        np.testing.assert_allclose(model.transition_probs_.sum(axis=1), 1.0, rtol=1e-12)
        seen = HMM(transitions="forbid_unseen").fit(X, y)
        assert seen.transition_probs_[classes.index("I-X"), classes.index("B-X")] == 0

    def test_cross_validation(self):
        X, y = make_sequences(30, random_state=19)
        assert cross_val_score(clone(HMM()), X, y, cv=3).mean() > 0.5


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "what"),
        [
            ({"order": -1}, "order is -1"),
            ({"order": 1.5}, "order is 1.5"),
            ({"smoothing": -0.5}, "smoothing is -0.5"),
            ({"transitions": "observed"}, "transitions is 'observed'"),
            ({"max_iter": 0}, "max_iter is 0"),
            ({"tol": -1.0}, "tol is -1.0"),
            ({"decoder": "best"}, "decoder is 'best'"),
            ({"n_jobs": 0}, "n_jobs is 0"),
        ],
    )
    def test_parameters(self, parameters, what):
        with pytest.raises(InputError, match=what):
            HMM(**parameters).fit(X_SMALL, Y_SMALL)

    def test_a_window(self):
        with pytest.raises(InputError, match="has a window"):
            HMM().fit(learn(X_SMALL, Y_SMALL, window=1))

    def test_a_feature_of_the_whole(self):
        X = [Item([{"a": "1"}], {"language": "de"})]
        with pytest.raises(InputError, match=r"column 'language'.*whole sequence"):
            HMM().fit(X, [["x"]])

    def test_negative_draws(self):
        X = [[{"t": {"a": 1.0}}], [{"t": {"a": 1.0}}, {"t": {"a": -1.0, "b": 2.0}}]]
        with pytest.raises(InputError, match=r"sequence 1, position 1.*negative"):
            HMM(columns={"*": "attributes"}).fit(X, [["x"], ["x", "y"]])

    def test_columns_that_are_not_there(self):
        model = HMM().fit(X_SMALL, Y_SMALL)
        with pytest.raises(InputError, match="is not a column of numbers"):
            model.normal("token")
        with pytest.raises(InputError, match="is not a column of categories"):
            model.value_probs("size")
        with pytest.raises(AttributeError, match="no table of transitions"):
            _ = HMM(order=2).fit(X_SMALL, Y_SMALL).transition_probs_

    def test_no_label_at_all(self):
        with pytest.raises(InputError, match="no label at all"):
            HMM().fit(X_SMALL, [[None] * len(x) for x in X_SMALL])


def test_the_threads_of_blas_change_no_bit(rng):
    X = [rng.normal(size=(500, 2)) for _ in range(40)]
    y = [(x[:, 0] > 0).astype(int) for x in X]
    models = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            models.append(HMM().fit(X, y))
    for column in ("0", "1"):
        np.testing.assert_array_equal(*(np.array(model.normal(column)) for model in models))
