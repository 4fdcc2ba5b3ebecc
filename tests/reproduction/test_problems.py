"""The data sets and how they are cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.errors import InputError
from reproduction.problems import fixed_split, folds, load_problem, narrow_papers, take
from reproduction.settings import Settings

from .tiny import tiny_problem


@pytest.mark.parametrize(("n", "n_folds"), [(10, 3), (4, 4), (7, 2)])
def test_folds_test_everything_once(n, n_folds):
    parts = folds(n, n_folds, seed=1)
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(n))
    for train, test in parts:
        assert sorted([*train, *test]) == list(range(n))
        assert abs(len(test) - n / n_folds) < 1


def test_groups_stay_whole_in_folds():
    groups = np.array([0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6, 7])
    parts = folds(len(groups), 3, seed=1, groups=groups)
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(len(groups)))
    assert all(not set(groups[train]) & set(groups[test]) for train, test in parts)
    assert [len(test) for _, test in parts] == [4, 4, 4]
    other = folds(len(groups), 3, seed=2, groups=groups)
    assert [part.test.tolist() for part in other] != [part.test.tolist() for part in parts]


def test_the_seed_decides_the_folds():
    first, same, other = (folds(20, 2, seed)[0].test.tolist() for seed in (0, 0, 1))
    assert first == same != other


@pytest.mark.parametrize("n_folds", [1, 6])
def test_folds_that_cannot_be(n_folds):
    with pytest.raises(InputError):
        folds(5, n_folds, 0)


def test_a_fixed_split_is_the_same_for_every_seed():
    parts = fixed_split(3, 2, Settings())
    assert [part.tolist() for part in parts(0)[0]] == [part.tolist() for part in parts(5)[0]] == [[0, 1, 2], [3, 4]]


def test_truth_is_in_the_order_of_the_parts():
    problem = tiny_problem(n_folds=3)
    expected = [problem.y[i] for part in problem.parts(4) for i in part.test]
    assert problem.truth(4) == expected
    assert take(problem.X, np.array([2, 0])) == [problem.X[2], problem.X[0]]


def test_an_unknown_problem():
    with pytest.raises(InputError, match="there is no problem 'faq'"):
        load_problem("faq", Settings())


def test_papers_are_narrowed_and_never_widened():
    narrow = narrow_papers(Settings())
    assert (narrow.seeds, narrow.inner_folds, narrow.max_iterations) == ((0,), 2, 100)
    assert narrow_papers(Settings(max_iterations=3)).max_iterations == 3


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "train", "test", "n_features"),
    [
        ("protein", (111, 18_105), (17, 3_520), 231),
        ("nettalk", (1_000, None), (1_000, None), 351),
        ("hyphen", (1_951, 12_049), (908, 5_836), 162),
    ],
)
def test_the_real_data(name, train, test, n_features, data_folder):
    problem = load_problem(name, Settings())
    part = problem.parts(3)[0]
    assert problem.n_features == n_features
    for places, (n_sequences, n_positions) in ((part.train, train), (part.test, test)):
        assert len(places) == n_sequences
        assert n_positions in (None, sum(len(problem.y[i]) for i in places))
    assert not set(part.train) & set(part.test)


@pytest.mark.data
def test_draws_of_words_differ_and_have_their_stress(data_folder):
    problem = load_problem("nettalk", Settings())
    assert len(problem.X) == 20_007
    assert set(problem.parts(0)[0].test) != set(problem.parts(1)[0].test)
    assert {label for labels in problem.y for label in labels} == set("012<>")


@pytest.mark.data
def test_one_paper_is_left_out_at_a_time(data_folder):
    problem = load_problem("papers", Settings(outer_folds=None))
    assert [len(part.test) for part in problem.parts(0)] == [1] * 40
    assert problem.n_features == len(problem.X.columns) == 54


@pytest.mark.data
def test_a_few_papers_are_in_the_form_of_faqs(data_folder):
    settings = Settings()
    drawn = []
    for name, n in (("papers-a", 7), ("papers-b", 7), ("papers-c", 5)):
        problem = load_problem(name, settings)
        parts = problem.parts(3)
        own = {int(part.test[0]) for part in parts}
        assert len(own) == len(parts) == n
        assert all(set(part.train) == own - set(part.test) for part in parts)
        assert own != {int(part.test[0]) for part in problem.parts(4)}
        assert set(problem.X.kinds.values()) == {"boolean"}
        assert {label for labels in problem.y for label in labels} == {"head", "heading", "body", "tail"}
        assert problem.narrow(settings) == replace(settings, inner_folds=3)
        drawn += own
    assert len(set(drawn)) == 19


@pytest.mark.data
def test_heads_of_papers_are_in_folds(data_folder):
    problem = load_problem("headers", Settings(outer_folds=3))
    assert sorted(len(part.test) for part in problem.parts(0)) == [311, 312, 312]
    assert [len(row) for row in problem.X] == [len(row) for row in problem.y]
