"""A contender is read, never evaluated."""

from __future__ import annotations

import pytest

import hedgerow
from benchmarks.arena.baselines import LightGBM
from benchmarks.arena.resolver import Missing, canonical, given_parameters, resolve
from hedgerow import MEMM, InputError, TreeCRF


def test_a_name_alone_is_a_model_as_it_comes():
    assert resolve("TreeCRF").get_params() == TreeCRF().get_params()
    assert canonical("TreeCRF") == canonical(" TreeCRF( ) ") == "TreeCRF()"


def test_keyword_arguments_are_literals():
    model = resolve("TreeCRF(leaves='newton', learning_rate=0.1, window=(1, 0))")
    assert (model.leaves, model.learning_rate, model.window) == ("newton", 0.1, (1, 0))
    assert given_parameters("TreeCRF(leaves='newton', window=3)") == {"leaves", "window"}
    assert given_parameters("TreeCRF") == set()


def test_an_argument_may_be_a_contender():
    model = resolve("MEMM(estimator=TreeCRF(n_estimators=7))")
    assert isinstance(model, MEMM)
    assert model.estimator.n_estimators == 7


def test_baselines_have_names_too():
    model = resolve("LightGBM(num_leaves=7)")
    assert isinstance(model, LightGBM)
    assert model.num_leaves == 7


@pytest.mark.parametrize(
    "text",
    [
        "TreeCRF(n_estimators=10**9)",
        "TreeCRF(window=len('abc'))",
        "TreeCRF(window=__import__('os'))",
        "TreeCRF(5)",
        "TreeCRF(**{'window': 1})",
        "TreeCRF().fit",
        "TreeCRF()()",
        "hedgerow.TreeCRF()",
        "(lambda: 1)()",
        "load(path='x')",
        "InputError()",
        "Sequences",
        "__builtins__",
        "print(1)",
        "NoSuchModel()",
        "TreeCRF(",
        "a = 1",
        "3",
        "",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(InputError):
        resolve(text)


def test_what_hedgerow_may_not_have_yet_is_told(monkeypatch):
    monkeypatch.setattr(hedgerow, "__all__", [name for name in hedgerow.__all__ if name != "AutoLabeler"])
    with pytest.raises(Missing, match="AutoLabeler"):
        resolve("AutoLabeler()")
