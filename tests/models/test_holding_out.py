"""What is set aside to stop training: folds of whole sequences, and blocks of few long ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from hedgerow import HMM, MEMM, LinearCRF, TreeCRF
from hedgerow.data.encoding import learn
from hedgerow.estimators.holding_out import choose_folds, cut_blocks, hide_blocks, how_many_folds, without_unseen_labels
from hedgerow.models.crf.tree_form import Duration, edges_to_try, make_form
from hedgerow.models.crf.tree_training import Training


def recordings(n, length, rng, n_labels=3):
    """Labels that stay for a while, and two noisy numbers that tell them."""
    X, y = [], []
    for _ in range(n):
        moves = rng.random(length) < 0.1
        labels = rng.integers(n_labels, size=length)[np.maximum.accumulate(np.where(moves, np.arange(length), 0))]
        X.append(labels[:, None] + rng.normal(size=(length, 2)))
        y.append(labels.tolist())
    return X, y


class TestFolds:
    def test_they_are_disjoint_and_the_first_is_the_only_one_of_one_fold(self):
        labels = [{"a", "b"}] * 23
        folds = choose_folds(labels, 0.1, 5, n_folds=4)
        held = np.concatenate([fold.held for fold in folds])
        assert len(folds) == 4
        assert len(held) == len(set(held.tolist())) == 12
        for fold in folds:
            np.testing.assert_array_equal(np.sort(np.concatenate(fold)), np.arange(23))
        np.testing.assert_array_equal(folds[0].held, choose_folds(labels, 0.1, 5)[0].held)

    def test_a_label_that_one_sequence_has_is_never_held_out(self):
        labels = [{"a"}, {"a", "rare"}, {"a"}, {"a"}]
        folds = choose_folds(labels, 0.25, 0, n_folds=4)
        assert sorted(int(i) for fold in folds for i in fold.held) == [0, 2, 3]

    def test_where_nothing_can_be_held_out_there_is_none(self):
        assert choose_folds([{"a"}, {"b"}], 0.5, 0, n_folds=2) == []

    def test_where_every_sequence_has_a_label_of_its_own_the_other_labels_count(self, rng):
        X, y = recordings(20, 30, rng)
        for i, labels in enumerate(y):
            labels[i] = 1000 + i
        [fold] = choose_folds([set(labels) for labels in y], 0.1, 0)
        assert len(fold.held) == 2
        dataset = learn(X, y)
        rest = without_unseen_labels(dataset.take(fold.held), dataset.take(fold.kept))
        assert [rest.labels[30 * j : 30 * j + 30].tolist().count(-1) for j in range(2)] == [1, 1]
        model = TreeCRF(random_state=0, max_leaf_nodes=4, validation_folds=1, edges="shared").fit(X, y)
        assert model.refitted_

    @pytest.mark.parametrize(("wanted", "n", "expected"), [("auto", 100, 3), ("auto", 500, 1), (3, 500, 3), (1, 10, 1)])
    def test_how_many(self, wanted, n, expected):
        assert how_many_folds(wanted, n, 0.1) == expected

    def test_the_median_of_what_they_say_is_trained_on_all_sequences(self, rng, monkeypatch):
        X, y = recordings(12, 30, rng)
        found = []
        median = Duration.median
        monkeypatch.setattr(Duration, "median", lambda folds: found.append(folds) or median(folds))
        model = TreeCRF(edges="shared", validation_folds=3, max_leaf_nodes=4, random_state=0, calibrate=False).fit(X, y)
        [folds] = found
        numbers = [one.n_iterations for one in folds]
        assert len(numbers) == 3
        assert model.best_iteration_ == model.ensemble_.n_iterations == int(np.median(numbers))
        assert model.refitted_
        again = TreeCRF(
            edges="shared", early_stopping=False, max_leaf_nodes=4, random_state=0, n_estimators=model.best_iteration_
        )
        np.testing.assert_array_equal(again.fit(X, y).predict_proba(X)[0], model.predict_proba(X)[0])

    def test_trees_on_a_linear_model_have_one_of_each_fold(self, rng):
        X, y = recordings(12, 30, rng)
        model = TreeCRF(init=LinearCRF(), validation_folds=2, max_leaf_nodes=4, random_state=0).fit(X, y)
        assert model.refitted_
        np.testing.assert_array_equal(model.linear_.weights_, LinearCRF().fit(X, y).weights_)

    def test_the_first_says_which_edges_all_have(self, rng, monkeypatch):
        X, y = recordings(12, 30, rng)
        grown = []
        made = Training.train
        monkeypatch.setattr(Training, "train", lambda self, *given: grown.append(self.form.edges) or made(self, *given))
        model = TreeCRF(window=0, validation_folds=3, max_leaf_nodes=4, random_state=0).fit(X, y)
        assert grown == ["shared", "joint", *[model.edges_] * 3]

    def test_labels_that_are_all_but_certain_end_training(self):
        rng = np.random.default_rng(0)
        X = [rng.choice(list("abcd"), size=6).tolist() for _ in range(60)]
        y = [["u" if letter in "ab" else "v" for letter in letters] for letters in X]
        model = TreeCRF(window=0, random_state=0).fit(X, y)
        assert model.outcome_ == "early_stopping"
        assert model.n_iter_ < 400  # it was 10,000
        assert model.score(X, y) == 1.0

    def test_a_score_that_stays_the_same_does_not_rise(self):
        X, y = [[["a"], ["b"]] * 5] * 30, [["u", "v"] * 5] * 30
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = TreeCRF(n_estimators=5, scoring="accuracy", window=0, edges="shared", min_samples_leaf=0.1)
            assert {step.score for step in model.fit(X, y).history_} == {1.0}

    @pytest.mark.parametrize(("most", "warns"), [(3, True), (400, False)])
    def test_training_is_not_cut_short_in_silence(self, rng, most, warns):
        X, y = recordings(12, 30, rng)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            TreeCRF(n_estimators=most, max_leaf_nodes=4, edges="shared", validation_folds=1, random_state=0).fit(X, y)
        said = "n_estimators=3 ended training while the score of held-out sequences still rose"
        assert [said in str(warning.message) for warning in caught] == [True] * warns

    def test_without_a_last_training_one_part_decides(self, rng):
        X, y = recordings(12, 30, rng)
        model = TreeCRF(refit=False, max_leaf_nodes=4, random_state=0)
        assert model._preparation().validation_folds == 1
        assert not model.fit(X, y).refitted_


class TestBlocks:
    def test_they_cover_the_corpus_and_none_is_in_two_sequences(self):
        offsets = np.array([0, 100, 103, 250])
        blocks = cut_blocks(offsets, 0.1)
        assert set(offsets) <= set(blocks.tolist())
        assert np.diff(blocks).max() <= 30
        assert 9 <= len(blocks) - 1 <= 12

    def test_training_sees_no_label_of_a_block_nor_near_it(self, rng):
        X, y = recordings(2, 50, rng)
        dataset = learn(X, y, window=(3, 1))
        blocks = np.array([0, 10, 50, 60, 100])
        part, rest = hide_blocks(dataset, blocks, np.array([1, 2]))
        hidden = np.zeros(100, dtype=bool)
        hidden[10:60] = True
        near = np.zeros(100, dtype=bool)
        near[7:63] = True  # as far as the window reaches, to both sides; never beyond a sequence
        np.testing.assert_array_equal(part.labels, np.where(near, -1, dataset.labels))
        np.testing.assert_array_equal(rest.labels, np.where(hidden, dataset.labels, -1))

    def test_sets_of_labels_are_hidden_too(self):
        X, y = [[["a"], ["b"], ["a"], ["b"]]], [["u", {"u", "v"}, "w", "v"]]
        part, rest = hide_blocks(learn(X, y), np.array([0, 2, 4]), np.array([0]))
        assert part.allowed[:2].all()
        np.testing.assert_array_equal(rest.allowed[1], [True, True, False])
        assert rest.allowed[2:].all()
        np.testing.assert_array_equal(rest.labels[2:], -1)

    def test_one_long_recording_trains(self, rng):
        [X, *others], [y, *truth] = recordings(6, 400, rng)
        model = TreeCRF(random_state=0, max_leaf_nodes=4).fit([X], [y])
        assert model.outcome_ == "early_stopping"
        assert model.refitted_
        assert model.score(others, truth) > 0.75

    def test_a_label_that_only_a_held_block_has_does_not_count(self, rng):
        X, y = recordings(1, 400, rng)
        for t in range(0, 400, 20):
            y[0][t] = 1000 + t
        dataset = learn(X, y)
        blocks = np.arange(0, 401, 40)
        _, rest = hide_blocks(dataset, blocks, np.array([3]))
        known = np.flatnonzero(rest.labels >= 0)
        np.testing.assert_array_equal(known, np.setdiff1d(np.arange(120, 160), [120, 140]))
        # No block has common labels alone, and yet some are held out.
        model = TreeCRF(random_state=0, max_leaf_nodes=4, validation_folds=1).fit(X, y)
        assert model.refitted_


class TestDefaults:
    @pytest.mark.parametrize(
        ("parameters", "leaves", "rate", "shrinkage"),
        [
            ({}, "newton", 0.1, 20.0),
            ({"order": 0}, "newton", 0.1, 5.0),
            ({"l2_regularization": 0.0}, "mean", 0.3, 0.0),
            ({"objective": "pointwise"}, "mean", 0.3, 20.0),
            ({"leaves": "mean"}, "mean", 0.3, 20.0),
            ({"learning_rate": 0.5, "l2_regularization": 2.0}, "newton", 0.5, 2.0),
            ({"learning_rate": "line_search"}, "newton", "line_search", 20.0),
        ],
    )
    def test_what_auto_comes_to(self, parameters, leaves, rate, shrinkage):
        form = make_form(TreeCRF(**parameters), "joint", stopped=True)
        assert form[1:4] == (leaves, rate, shrinkage)

    @pytest.mark.parametrize(
        ("parameters", "again", "rate", "coarse"),
        [
            ({}, True, 0.3, True),
            ({}, False, 0.1, False),
            ({"learning_rate": 0.1}, True, 0.1, False),
            ({"n_estimators": 50}, True, 0.1, False),
            ({"leaves": "mean"}, True, 0.3, False),
        ],
    )
    def test_steps_are_longer_where_another_training_follows(self, parameters, again, rate, coarse):
        form = make_form(TreeCRF(**parameters), "shared", stopped=True, again=again)
        assert form.learning_rate == pytest.approx(rate)
        assert form.coarse is coarse

    def test_each_of_these_counts_as_four_and_three_end_training_sooner(self, rng, monkeypatch):
        X, y = recordings(24, 30, rng)
        model = TreeCRF(edges="shared", validation_folds=1, max_leaf_nodes=4, random_state=0, n_iter_no_change=6, tol=0)
        model.fit(X, y)
        best = max(model.history_, key=lambda step: step.score).iteration
        assert model.outcome_ == "early_stopping"
        assert model.n_iter_ == best + 2
        assert model.best_iteration_ == model.ensemble_.n_iterations == 4 * best
        whole = TreeCRF(edges="shared", early_stopping=False, max_leaf_nodes=4, random_state=0, n_estimators=4 * best)
        np.testing.assert_array_equal(whole.fit(X, y).ensemble_.values, model.ensemble_.values)

    def test_a_position_of_shared_edges_has_one_row_and_so_less_shrinkage(self):
        assert make_form(TreeCRF(), "shared", stopped=True).l2_regularization == 5.0

    def test_trees_of_joint_edges_have_to_be_clearly_better_than_a_table(self):
        table = Duration("shared", 10, 10, -100.0)
        assert not Duration("joint", 10, 10, -99.5).beats(table)
        assert Duration("joint", 10, 10, -98.5).beats(table)

    @pytest.mark.parametrize(
        ("n_labels", "compared", "expected"),
        [
            (3, True, ("shared", "joint")),
            (12, True, ("shared", "joint")),
            (13, True, ("shared",)),
            (3, False, ("joint",)),
            (7, False, ("shared",)),
        ],
    )
    def test_edges_to_try(self, n_labels, compared, expected):
        assert edges_to_try(TreeCRF(), n_labels, 1000, compared=compared) == expected
        assert edges_to_try(TreeCRF(order=2), n_labels, 1000, compared=compared) == ("shared",)
        assert edges_to_try(TreeCRF(edges="joint"), n_labels, 1000, compared=compared) == ("joint",)

    def test_edges_that_do_not_fit_into_memory_are_not_tried(self):
        assert edges_to_try(TreeCRF(), 6, 10**12, compared=True) == ("shared",)

    def test_the_papers_are_not_touched(self):
        assert make_form(TreeCRF.paper("2009"), "joint", stopped=False)[:5] == ("joint", "mean", 1.0, 20.0, 100)
        assert TreeCRF.paper("2004").edges == "joint"

    def test_trees_ask_for_the_label_before_where_that_pays(self, rng):
        """The input says whether a label is that of before or the other one: no table can say so."""
        X = [[{"keep": str(int(k))} for k in rng.integers(2, size=12)] for _ in range(260)]
        y = []
        for x in X:
            labels = [0]
            for row in x[1:]:
                labels.append(labels[-1] if row["keep"] == "1" else 1 - labels[-1])
            y.append(labels)
        model = TreeCRF(random_state=0, max_leaf_nodes=4).fit(X[:200], y[:200])
        assert model.edges_ == "joint"
        assert model.score(X[200:], y[200:]) > 0.95

    def test_steps_do_not_shrink_with_the_number_of_labels(self, rng):
        """Thirty labels, each told by its own value: the same few iterations learn them as learn three."""
        scores = {}
        for n_labels in (3, 30):
            y = rng.integers(n_labels, size=(150, 10))
            X = [[{"v": str(v)} for v in row] for row in y]
            model = TreeCRF(early_stopping=False, n_estimators=30, edges="joint", max_leaf_nodes=4)
            p = model.fit(X, y.tolist()).predict_proba(X)
            scores[n_labels] = np.mean([row[t, k] for row, ks in zip(p, y) for t, k in enumerate(ks)])
        assert scores[30] > 0.6 * scores[3]


class TestDecoder:
    X = (["the", "cat"], ["a", "dog", "barks"])
    y = (["D", "N"], ["D", "N", "V"])
    spans = (["O", "B-N"], ["O", "B-N", "I-N"])

    @pytest.mark.parametrize("model", [LinearCRF(), TreeCRF(early_stopping=False, n_estimators=2), HMM(), MEMM()])
    def test_labels_that_count_one_by_one_are_decoded_one_by_one(self, model):
        assert model.fit(self.X, self.y)._decoder_name() == "posterior"
        assert model.fit(self.X, self.spans)._decoder_name() == "viterbi"
        assert model.set_params(transitions="forbid_unseen").fit(self.X, self.y)._decoder_name() == "viterbi"

    @pytest.mark.parametrize("objective", ["margin", "perceptron"])
    def test_objectives_of_labelings(self, objective):
        assert LinearCRF(objective=objective).fit(self.X, self.y)._decoder_name() == "viterbi"
