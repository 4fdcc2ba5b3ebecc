"""Parameters as declarations: what a value may be, its default and its description stand together, once.

    @declared
    class Penalised:
        \"\"\"How weights are kept small.

        Parameters
        ----------
        l2
            The penalty l2·‖w‖².
        \"\"\"

        l2: Annotated[float, Range(0)] = 1.0

An estimator inherits the declarations of its parameters. `check_parameters` holds its values to them, and `documented`
puts the descriptions of all of them into its docstring. A parameter that a class declares anew keeps its place, and its
description unless the docstring of that class has another one.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

from hedgerow.errors import InputError

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Range:
    """Finite numbers from `least` to `most`; `above` and `below` are bounds that do not belong to it."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def holds(self, value: Any) -> bool:
        return bool(self.least <= value <= self.most and self.above < value < self.below)

    def __str__(self) -> str:
        bounds = (("≥", self.least), (">", self.above), ("≤", self.most), ("<", self.below))
        return " and ".join(f"{sign} {bound:.6g}" for sign, bound in bounds if math.isfinite(bound))


@dataclass(frozen=True)
class OneOf:
    """One of the names in a table that stands elsewhere. Names that stand nowhere else are a Literal."""

    choices: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """What a function of the value does not refuse."""

    function: Callable[[Any], object]


Count = Annotated[int, Range(1)]
NonNegative = Annotated[float, Range(0)]
Positive = Annotated[float, Range(above=0)]
Share = Annotated[float, Range(above=0, most=1)]


# ------------------------------------------------------------------------------------------------ declaring


@dataclass_transform(kw_only_default=True, eq_default=False)
def declared(cls: Class) -> Class:
    """Make a class of fields a declaration: a keyword-only constructor sets each of them, as it is given."""
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    init: Any = vars(cls)["__init__"]
    signature = inspect.signature(init)
    itself, *given = signature.parameters.values()
    places = {name: place for place, name in enumerate(_in_order(cls))}
    given.sort(key=lambda parameter: places[parameter.name])
    init.__signature__ = signature.replace(parameters=[itself, *given])
    return cls


def _declarations(cls: type) -> list[type]:
    """The declarations that a class is made of, the most derived first."""
    return [base for base in cls.__mro__ if "__dataclass_fields__" in vars(base)]


def _in_order(cls: type) -> list[str]:
    """The parameters: those of a class before those of its bases, where each is declared for the first time."""
    names = {field.name for field in fields(cls)}
    ordered: list[str] = []
    bases = _declarations(cls)
    for i, base in enumerate(bases):
        older = {name for other in bases[i + 1 :] for name in inspect.get_annotations(other)}
        ordered += [name for name in inspect.get_annotations(base) if name in names - older]
    return ordered


# ------------------------------------------------------------------------------------------------ checking


def check_parameters(given: Any) -> None:
    """Refuse, by name, the first value of an object that its declaration does not allow."""
    kinds = _kinds(_declarations(type(given))[0])
    for field in fields(given):
        check_value(field.name, getattr(given, field.name), kinds[field.name])


@cache
def _kinds(declaration: type) -> dict[str, Any]:
    return get_type_hints(declaration, include_extras=True)


def check_value(name: str, value: Any, kind: Any) -> None:
    """Refuse a value that is not of a kind: a type as parameters are declared with.

    Without Range, OneOf or Check only bool, None and Literal are constraints; any other type is a note for readers.
    """
    kinds = list(_alternatives(kind))
    for _, limit in kinds:
        if isinstance(limit, Check):
            limit.function(value)
            return
    if not any(_fits(value, type_, limit) for type_, limit in kinds):
        raise InputError(f"⟦{name}⟧ is {value!r}", hint=_hint(kinds))


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is not one of the choices."""
    check_value(name, value, Annotated[str, OneOf(tuple(choices))])


def _alternatives(kind: Any) -> Iterator[tuple[Any, Any]]:
    """(type, Range, OneOf, Check or None) of each member of a union; a Literal is a type with its values as OneOf."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        for member in get_args(kind):
            yield from _alternatives(member)
    elif origin is Annotated:
        type_, *limits = get_args(kind)
        yield type_, next((limit for limit in limits if isinstance(limit, Range | OneOf | Check)), None)
    elif origin is Literal:
        yield str, OneOf(get_args(kind))
    else:
        yield kind, None


def _fits(value: Any, kind: Any, limit: Any) -> bool:
    is_bool = isinstance(value, (bool, np.bool_))
    if isinstance(limit, OneOf):
        return isinstance(value, str) and value in limit.choices
    if isinstance(limit, Range):
        number = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, number) and not is_bool and _is_finite(value) and limit.holds(value)
    if kind is NoneType:
        return value is None
    return is_bool if kind is bool else True


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False


def _hint(kinds: list[tuple[Any, Any]]) -> str:
    """What to give instead."""
    if all(kind is NoneType or isinstance(limit, OneOf) for kind, limit in kinds):
        return f"Choose one of {', '.join(word for alternative in kinds for word in _words(*alternative))}."
    *most, last = (word for alternative in kinds for word in _words(*alternative))
    return f"Give {', '.join(most)} or {last}." if most else f"Give {last}."


def _words(kind: Any, limit: Any) -> list[str]:
    if isinstance(limit, OneOf):
        return [repr(choice) for choice in limit.choices]
    if isinstance(limit, Range):
        return [f"a {'whole ' if kind is int else ''}number {limit}".strip()]
    return ["True", "False"] if kind is bool else ["None"]


# ------------------------------------------------------------------------------------------------ describing


def documented(cls: Class) -> Class:
    """Put the descriptions of all parameters into the docstring of a class, before its attributes."""
    entries = "\n".join(_entry(cls, name) for name in _in_order(cls))
    about = inspect.cleandoc(cls.__doc__ or "")
    before, parameters, after = about.partition("Parameters\n----------\n")
    if parameters:
        after = after.partition("\n\n")[2]
    else:
        before, title, after = about.partition("Attributes\n----------\n")
        after = title + after
    cls.__doc__ = f"{before.rstrip()}\n\nParameters\n----------\n{entries}\n\n{after}".rstrip()
    return cls


def _entry(cls: type, name: str) -> str:
    """What numpydoc has of a parameter: its name, type and default, and under them its description."""
    descriptions = (_descriptions(base).get(name) for base in (cls, *_declarations(cls)))
    words, text = next((description for description in descriptions if description is not None), ("", ""))
    kind, default = _kinds(_declarations(cls)[0])[name], getattr(cls, name)
    words = words or _type_words(kind, default)
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{name} : {words}{', optional' if default is None else f', default {shown}'}\n{text}".rstrip()


@cache
def _descriptions(cls: type) -> dict[str, tuple[str, str]]:
    """Name → (type in words, description) of the parameters in the docstring of a class."""
    _, _, section = inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("Parameters\n----------\n")
    descriptions: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in section.split("\n\n")[0].splitlines():
        if line.startswith(" "):
            descriptions[name][1].append(line)
        else:
            name, _, words = line.partition(" : ")
            descriptions[name] = (words, [])
    return {name: (words, "\n".join(lines)) for name, (words, lines) in descriptions.items()}


def _type_words(kind: Any, default: Any) -> str:
    """A type as numpydoc writes it; None is left out where it is the default."""
    words = []
    for type_, limit in _alternatives(kind):
        if isinstance(limit, OneOf):
            choices = [f'"{choice}"' for choice in limit.choices]
            words.append(choices[0] if len(choices) == 1 else f"{{{', '.join(choices)}}}")
        elif type_ is not NoneType or default is not None:
            words.append("None" if type_ is NoneType else type_.__name__)
    return " or ".join(words)
