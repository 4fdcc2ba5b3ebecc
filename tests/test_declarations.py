"""Parameters as declarations: what is checked, what an error says, and what stands in a docstring."""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from hedgerow.declarations import (
    Check,
    Count,
    NonNegative,
    OneOf,
    Range,
    Share,
    check_choice,
    check_parameters,
    check_value,
    declared,
    documented,
)
from hedgerow.errors import InputError

WHOLE = Annotated[int, Range(2, 5)]
OPEN = Annotated[float, Range(above=0, below=1)]


@pytest.mark.parametrize(
    ("kind", "good", "bad", "hint"),
    [
        (NonNegative, [0, 0.5, 10**30, np.float32(2), Fraction(1, 3)], [-1, -1e-9, "1", None, [1.0]], "a number ≥ 0"),
        (NonNegative, [np.int64(0)], [np.nan, np.inf, True, np.True_, 10**400, 1j], "a number ≥ 0"),
        (Count, [1, np.int32(7)], [0, 1.0, True, "1"], "a whole number ≥ 1"),
        (WHOLE, [2, 5], [1, 6, 3.0], "a whole number ≥ 2 and ≤ 5"),
        (OPEN, [0.5, 1e-9], [0.0, 1.0, 0, 1], "a number > 0 and < 1"),
        (Share, [1, 0.1], [0, 1.1], "a number > 0 and ≤ 1"),
        (Annotated[int, Range()], [-3, 0], [1.5], "a whole number"),
        (Count | None, [None, 3], [0, "none"], "a whole number ≥ 1 or None"),
        (NonNegative | Literal["auto"], [0.0, "auto"], ["Auto", -1, None], "a number ≥ 0 or 'auto'"),
        (bool, [True, np.False_], [0, 1, None, "yes"], "True or False"),
        (bool | Literal["auto"], [False, "auto"], [1, "odd"], "True, False or 'auto'"),
    ],
)  # fmt: skip
def test_values_that_fit_and_values_that_do_not(kind, good, bad, hint):
    for value in good:
        check_value("own", value, kind)
    for value in bad:
        with pytest.raises(InputError) as caught:
            check_value("own", value, kind)
        assert str(caught.value) == str(InputError(f"⟦own⟧ is {value!r}", hint=f"Give {hint}."))  # long values are cut


@pytest.mark.parametrize("kind", [Literal["a", "b"], Annotated[str, OneOf(("a", "b"))]])
def test_choices(kind):
    check_value("own", "a", kind)
    for value in ("c", None, 1, ["a"], np.array(["a", "b"])):
        with pytest.raises(InputError, match=r"^own is .*Choose one of 'a', 'b'\.$"):
            check_value("own", value, kind)
    check_value("own", None, kind | None)
    with pytest.raises(InputError, match="Choose one of 'a', 'b', None"):
        check_value("own", "c", kind | None)
    with pytest.raises(InputError, match=r"own is 'c'\. Choose one of 'a', 'b'"):
        check_choice("own", "c", ("a", "b"))


def test_a_function_checks_by_itself():
    def refuse(value: Any) -> None:
        if value == 3:
            raise InputError("three")

    kind = Annotated[int | None, Check(refuse)]
    check_value("own", "anything", kind)
    with pytest.raises(InputError, match=r"^three$"):
        check_value("own", 3, kind)


@pytest.mark.parametrize("kind", [Any, str, int, float | None, dict[str, int], bool | int])
def test_a_type_without_bounds_is_a_note(kind):
    check_value("own", object(), kind)


@declared
class Base:
    """The base.

    Parameters
    ----------
    shared
        What both have.
        On two lines.
    changed
        As the base has it.
    """

    shared: Count | None = None
    changed: Literal["x", "y"] = "x"


@declared
class Derived(Base):
    """A class of its own.

    Parameters
    ----------
    own : number of things
        How many.
    changed
        As the derived class has it.
    """

    own: NonNegative = 1.0
    changed: Literal["y", "z"] = "y"


@documented
class Thing(Derived):
    """A thing.

    It does things.

    Attributes
    ----------
    learnt_ : nothing
    """

    learnt_: int  # no parameter


def test_parameters_are_given_by_name_and_kept_as_they_are():
    with pytest.raises(TypeError):
        Thing(1.0)
    value = np.float64(3)
    thing = Thing(own=value, changed="odd")
    assert thing.own is value
    assert vars(thing) == {"shared": None, "changed": "odd", "own": value}
    assert list(inspect.signature(Thing).parameters) == ["own", "shared", "changed"]


def test_the_most_derived_declaration_counts():
    check_parameters(Thing())
    check_parameters(Base(changed="x"))
    for parameters, name in (({"changed": "x"}, "changed"), ({"own": -1}, "own"), ({"shared": 0}, "shared")):
        with pytest.raises(InputError, match=f"^{name} is "):
            check_parameters(Thing(**parameters))


def test_the_docstring_has_every_parameter_once():
    assert Thing.__doc__ == inspect.cleandoc(
        """A thing.

        It does things.

        Parameters
        ----------
        own : number of things, default 1.0
            How many.
        shared : int, optional
            What both have.
            On two lines.
        changed : {"y", "z"}, default "y"
            As the derived class has it.

        Attributes
        ----------
        learnt_ : nothing"""
    )
