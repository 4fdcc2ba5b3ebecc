"""Laws of data that hold for every estimator: what a weight means, what a mask means, which columns change nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import hedgerow
from hedgerow import InputError
from hedgerow.errors import HedgerowWarning
from hedgerow.models.local.training import named_estimator


class Case(NamedTuple):
    """An estimator, and what the laws need to know of it.

    make : the estimator
    apart : how far answers may lie from each other where training takes other steps to the same end
    trees : whether all it does with numbers is to split them
    copies : whether a copy of a sequence trains as its weight does. It does not where one sequence is seen after the
        other, so that a copy is one more step, nor where each position draws a random number to begin with
    """

    make: Callable[[], Any]
    apart: float = 2e-5  # trees add gradients in words of so many bits
    trees: bool = False
    copies: bool = True


QUIET: dict[str, Any] = {"window": 0}
TREES: dict[str, Any] = QUIET | {"n_estimators": 5, "early_stopping": False}
FILLED: dict[str, Any] = QUIET | {"missing": "impute"}


def rows(estimator: str) -> Any:
    """An estimator of rows that ends after few trees, or near the optimum of its weights."""
    options: dict[str, Any] = {"trees": {"n_estimators": 5, "early_stopping": False}, "linear": {"tol": 1e-10}}
    return named_estimator(estimator, **options[estimator])


SEARCH: dict[str, Any] = FILLED | {"early_stopping": False, "max_iter": 3, "random_state": 0}
CASES: dict[str, Case] = {
    "LinearCRF": Case(lambda: hedgerow.LinearCRF(**FILLED, tol=1e-10)),
    "TreeCRF": Case(lambda: hedgerow.TreeCRF(**TREES), trees=True),
    "VirtualEvidence": Case(lambda: hedgerow.VirtualEvidence(**TREES), trees=True),
    "SlidingWindow": Case(lambda: hedgerow.SlidingWindow(**QUIET, estimator=rows("trees")), trees=True),
    "RecurrentSlidingWindow": Case(
        lambda: hedgerow.RecurrentSlidingWindow(**QUIET, estimator=rows("trees")), trees=True
    ),
    "MEMM": Case(lambda: hedgerow.MEMM(**FILLED, estimator=rows("linear"))),
    "FutureFeatureMEMM": Case(lambda: hedgerow.FutureFeatureMEMM(**TREES), trees=True),
    "HMM": Case(hedgerow.HMM),
    "IOHMM": Case(lambda: hedgerow.IOHMM(**QUIET, random_state=0), copies=False),
    # Frank–Wolfe comes to its optimum slowly, and two ways there end apart: 0.08 in a weight, and 0.013 with tol=1e-6.
    "MaxMarginMarkovNetwork": Case(lambda: hedgerow.MaxMarginMarkovNetwork(**FILLED, random_state=0), apart=0.05),
    "BeamSearchTagger": Case(lambda: hedgerow.BeamSearchTagger(**SEARCH), copies=False),
    "LatticeCRF": Case(lambda: hedgerow.LatticeCRF(tol=1e-9), apart=1e-4),
    "TreeLatticeCRF": Case(lambda: hedgerow.TreeLatticeCRF(n_estimators=5), trees=True),
}


class Corpus(NamedTuple):
    X: list[Any]
    y: list[Any]


def corpus(name: str, rng: np.random.Generator) -> Corpus:
    """Sequences of three numbers, or small images of two; labels follow the numbers, with some noise."""
    if "Lattice" in name:
        y = [np.kron(rng.integers(2, size=(3, 3)), np.ones((2, 2), dtype=int)) for _ in range(8)]
        return Corpus([(mask[..., None] + rng.normal(size=(*mask.shape, 2))).astype(float) for mask in y], y)
    X, y = [], []
    for length in rng.integers(4, 10, size=24):
        own = rng.integers(3, size=length)
        X.append(own[:, None] * np.array([1.0, -0.5, 0.0]) + rng.normal(size=(length, 3)))
        y.append(own.tolist())
    return Corpus(X, y)


def answers(model: Any, X: list[Any]) -> list[Any]:
    """Probabilities where there are any, else labels."""
    return list(model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X))


def same(first: list[Any], second: list[Any], apart: float = 0.0) -> None:
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=0.0, atol=apart)


@pytest.fixture(params=CASES)
def case(request) -> tuple[str, Case]:
    return request.param, CASES[request.param]


def test_weight_0_is_not_there(case, rng):
    """Those of weight 0 are of another scale, have a label of their own, and would shape all that is learnt."""
    (name, (make, *_)), (X, y) = case, corpus(case[0], rng)
    strange = [1000.0 + 50.0 * item for item in X[:5]]
    labels = [np.full(np.shape(own), 7) for own in y[:5]]
    labels = labels if "Lattice" in name else [own.tolist() for own in labels]
    weight = np.r_[np.zeros(2), np.ones(len(X)), np.zeros(3)]
    without = make().fit(X, y)
    model = make().fit([*strange[:2], *X, *strange[2:]], [*labels[:2], *y, *labels[2:]], sample_weight=weight)
    assert model.classes_.tolist() == without.classes_.tolist()
    same(answers(model, X), answers(without, X))


def test_weight_2_is_twice(case, rng):
    (_, (make, apart, _, copies)), (X, y) = case, corpus(case[0], rng)
    if not copies:
        pytest.skip("a copy is one more step, or draws another number")
    X[1] = X[1] * 3  # without its weight, numbers would be standardised otherwise
    weight = np.ones(len(X))
    weight[1:4] = 2
    model, twice = make().fit(X, y, sample_weight=weight), make().fit([*X, *X[1:4]], [*y, *y[1:4]])
    same(answers(model, X), answers(twice, X), apart)


def test_masked_is_missing(case, rng):
    (_, (make, *_)), (X, y) = case, corpus(case[0], rng)
    masks = [rng.random(item.shape) < 0.1 for item in X]
    masked = [np.ma.MaskedArray(np.where(mask, 1e6, item), mask) for item, mask in zip(X, masks)]
    missing = [np.where(mask, np.nan, item) for item, mask in zip(X, masks)]
    try:
        wanted = answers(make().fit(missing, y), missing)
    except InputError:
        with pytest.raises(InputError):
            make().fit(masked, y)
        model = make().fit(X, y)
        with pytest.raises(InputError):
            model.predict(masked)
        return
    same(answers(make().fit(masked, y), masked), wanted)


@pytest.mark.parametrize("factor", [2.0**20, 1e-7])
def test_a_scaled_column_changes_no_tree(case, factor, rng):
    (_, (make, _, trees, _)), (X, y) = case, corpus(case[0], rng)
    if not trees:
        pytest.skip("no trees")
    scaled = [item * np.r_[factor, np.ones(item.shape[-1] - 1)] for item in X]
    same(answers(make().fit(scaled, y), scaled), answers(make().fit(X, y), X), 1e-9)


@pytest.mark.parametrize("value", [0.0, -1e9])
def test_a_constant_column_changes_nothing(case, value, rng):
    (_, (make, apart, *_)), (X, y) = case, corpus(case[0], rng)
    wider = [np.concatenate([item, np.full((*item.shape[:-1], 1), value)], axis=-1) for item in X]
    same(answers(make().fit(wider, y), wider), answers(make().fit(X, y), X), apart)


def hostile(X: list[Any], size: float, *, everywhere: bool) -> list[Any]:
    """The first feature is huge: everywhere, or at one place of two items."""
    X = [item.copy() for item in X]
    for i, item in enumerate(X):
        if everywhere:
            item[..., 0] = np.clip(item[..., 0], -1, 1) * size
        elif i < 2:
            item.reshape(-1, item.shape[-1])[1, 0] = size if i else -size
    return X


def sane(answer: Callable[[], list[Any]]) -> None:
    """Probabilities, or labels; or an error of ours."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = answer()
        except InputError:
            return
    for one in found:
        if np.ndim(one) > 1 and np.asarray(one).dtype.kind == "f":
            np.testing.assert_allclose(np.sum(one, axis=-1), 1.0, atol=1e-6)
            assert np.min(one) >= 0


@pytest.mark.parametrize("size", [1e155, 1.7e308])
def test_huge_numbers_give_probabilities_or_an_error(case, size, rng):
    (_, (make, *_)), (X, y) = case, corpus(case[0], rng)
    model = make().fit(X, y)
    for everywhere in (False, True):
        huge = hostile(X, size, everywhere=everywhere)
        sane(lambda huge=huge: answers(model, huge))
        sane(lambda huge=huge: answers(make().fit(huge, y), huge))


@pytest.mark.parametrize("size", [1e-320, 1e-30])
def test_extreme_weights_give_probabilities_or_an_error(case, size, rng):
    (_, (make, *_)), (X, y) = case, corpus(case[0], rng)
    for n in (3, len(X)):
        weights = np.where(np.arange(len(X)) < n, size, 1.0)
        sane(lambda weights=weights: answers(make().fit(X, y, sample_weight=weights), X))


@pytest.mark.parametrize("make", [hedgerow.LinearCRF, hedgerow.BeamSearchTagger])
def test_huge_numbers_of_dicts_are_an_error(make):
    """They are not standardised, for one that is absent means 0."""
    X = [[{"x": 1e300}, {"x": -1e300}], [{"x": 1e299}, {"x": 3.0}]] * 4
    model = make(window=0)
    with pytest.raises(InputError, match="too large"), np.errstate(all="ignore"):
        model.fit(X, [["a", "b"]] * 8).predict(X)


def test_errors_name_sequences_as_they_were_given():
    model = hedgerow.LinearCRF(window=0)
    with pytest.raises(InputError, match="sequence 2, position 1"):
        model.fit([["a"], ["b"], ["a", 3]], [["x"], ["x"], ["x", "y"]], sample_weight=[1, 0, 1])


def test_very_many_labels_are_planned(monkeypatch):
    """Before work: an error for what does not fit into memory, and a warning for what takes long."""
    monkeypatch.setattr("hedgerow.training.memory.memory_limit", lambda: 10**6)
    X, y = [["a"] * 300], [[f"{k:03}" for k in range(300)]]
    with pytest.raises(InputError, match="300 labels have 90,000 pairs"):
        hedgerow.HMM().fit(X, y)
    with pytest.raises(InputError, match="form='symmetric' of 400 labels"):
        hedgerow.LatticeCRF().fit([np.zeros((20, 20, 1))], [np.arange(400).reshape(20, 20)])
    monkeypatch.undo()
    monkeypatch.setattr("hedgerow.training.memory._MANY_STEPS", 10)
    with pytest.warns(HedgerowWarning, match="6e\\+01 steps from label to label"):
        hedgerow.HMM().fit([["a"] * 4, ["b"] * 3], [list("abca"), list("bca")])


def test_a_plan_of_time_comes_before_windows_are_compared(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.training.memory._MANY_STEPS", 10)
    monkeypatch.setattr("hedgerow.estimators.prepare.choose_window", interrupt)
    for model in (hedgerow.TreeCRF(), hedgerow.LinearCRF(window="auto")):
        with pytest.warns(HedgerowWarning, match="steps from label to label"), pytest.raises(KeyboardInterrupt):
            model.fit([["a"] * 4, ["b"] * 3], [list("abca"), list("bca")])
