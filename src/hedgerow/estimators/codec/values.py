"""Fields of the header: numbers, flags, words and lists of them; and how Python's values become JSON and come back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from hedgerow.errors import ModelFileError
from hedgerow.estimators.codec.steps import Field, Scope, Section, Size, refuse


def plain(value: Any) -> Any:
    """A value as JSON gives it back; TypeError where JSON has no form for it."""
    return json.loads(json.dumps(value, default=_known))


def _known(value: Any) -> Any:
    """What JSON does not know, as what it does: numbers and arrays of NumPy, sets."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def tupled(value: Any) -> Any:
    """JSON has no tuples: pairs become tuples again."""
    if isinstance(value, list):
        return tuple(tupled(item) for item in value)
    if isinstance(value, dict):
        return {name: tupled(item) for name, item in value.items()}
    return value


@dataclass(frozen=True)
class Value(Field):
    """A value of the header. `back` gives it as it was, and raises ModelFileError where it cannot be one.

    nullable : it may be None
    """

    back: Callable[[Any, Scope], Any]
    _: KW_ONLY
    nullable: bool = False

    def pack(self, value: Any, section: Section) -> None:
        section.header[self.name] = plain(value)

    def unpack(self, section: Section, scope: Scope) -> Any:
        value = section.value(self.name)
        if value is None and self.nullable:
            return None
        try:
            return self.back(value, scope)
        except ModelFileError as error:
            raise ModelFileError(f"{section.path}{self.name} is {value!r:.80}; {error}") from None


def flag(name: str, **more: Any) -> Value:
    """True or False."""

    def back(value: Any, scope: Scope) -> bool:
        return value if type(value) is bool else refuse("it must be true or false")

    return Value(name, back, **more)


def whole(name: str, low: int = 0, high: float = math.inf, points_into: Size | None = None, **more: Any) -> Value:
    """A whole number from low to high, or an index into something of a size."""

    def back(value: Any, scope: Scope) -> int:
        most = high if points_into is None else scope.size(points_into) - 1
        if type(value) is not int or not low <= value <= most:
            refuse(f"it must be a whole number from {low} to {most}")
        return value

    return Value(name, back, **more)


def count(name: str, low: int = 0, each: int = 1, **more: Any) -> Value:
    """How many of something there are, each of which takes so many bytes of the file or more."""

    def back(value: Any, scope: Scope) -> int:
        if type(value) is not int or not low <= value <= scope["n_bytes"] // each:
            refuse(f"it must be a whole number from {low}, and the file has {scope['n_bytes']} bytes of arrays")
        return value

    return Value(name, back, **more)


def real(name: str, above: float = -math.inf, **more: Any) -> Value:
    """A finite number."""

    def back(value: Any, scope: Scope) -> float:
        if type(value) is not float or not above < value < math.inf:
            refuse(f"it must be a finite number above {above}")
        return value

    return Value(name, back, **more)


def choice(name: str, choices: tuple[str, ...], **more: Any) -> Value:
    """One of some words."""

    def back(value: Any, scope: Scope) -> str:
        return value if isinstance(value, str) and value in choices else refuse(f"it must be one of {choices}")

    return Value(name, back, **more)


def text(name: str, **more: Any) -> Value:
    """A str."""

    def back(value: Any, scope: Scope) -> str:
        return value if isinstance(value, str) else refuse("it must be text")

    return Value(name, back, **more)


def texts(name: str, **more: Any) -> Value:
    """A tuple of str."""

    def back(value: Any, scope: Scope) -> tuple[str, ...]:
        sound = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return tuple(value) if sound else refuse("it must be a list of texts")

    return Value(name, back, **more)


def mapping(name: str, sound: Callable[[dict[str, Any], Scope], bool], **more: Any) -> Value:
    """A dict with str for keys, which the function finds sound."""

    def back(value: Any, scope: Scope) -> dict[str, Any]:
        return value if isinstance(value, dict) and sound(value, scope) else refuse("it does not fit the columns")

    return Value(name, back, **more)


def anything(name: str, **more: Any) -> Value:
    """What JSON can say, with tuples for lists."""
    return Value(name, lambda value, scope: tupled(value), **more)
