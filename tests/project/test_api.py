"""The public API changes only on purpose: the list in api.txt is part of every change to it."""

from __future__ import annotations

import types

import hedgerow

from .api import LIST, describe, describe_module


def test_the_public_names_are_those_of_the_list():
    assert describe() == LIST.read_text(encoding="utf-8"), (
        "The public API is not that of tests/project/api.txt. If the change is meant, run `make api` and say so in "
        "CHANGELOG.md."
    )


def test_every_public_name_is_listed_by_dir():
    assert set(hedgerow.__all__) <= set(dir(hedgerow))


def test_the_list_sees_names_parameters_and_defaults():
    def public(a: int, *, b: str = "x") -> None: ...

    class Thing:
        def __init__(self, size: int = 3) -> None: ...
        def method(self, x: int = 1) -> None: ...
        def _hidden(self) -> None: ...
        @property
        def shape(self) -> int: ...
        @classmethod
        def make(cls, y: int) -> None: ...

    Thing.__module__ = "hedgerow.made"
    module = types.ModuleType("made")
    vars(module).update(__all__=["public", "Thing", "N"], public=public, Thing=Thing, N=3)
    assert describe_module(module) == [
        "made.N: int",
        "made.Thing(size=3)",
        "made.Thing.make(y)",
        "made.Thing.method(self, x=1)",
        "made.Thing.shape",
        "made.public(a, *, b='x')",
    ]
