"""Fields of the header: numbers, flags, words and lists of them; and how Python's values become JSON and come back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from hedgerow.estimators.codec.steps import Field, Scope, Section, Size, refuse
from hedgerow.trainers import FeatureInduction, Trainer


def plain(value: Any) -> Any:
    """A value as JSON gives it back; TypeError where JSON has no form for it."""
    return json.loads(json.dumps(value, default=_known))


def _known(value: Any) -> Any:
    """What JSON does not know, as what it does: numbers and arrays of NumPy, sets, trainers."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Trainer):
        return {"name": value.name, "settings": value.get_params()}
    if isinstance(value, FeatureInduction):
        return value.get_params()
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
    """A value of the header.

    sound : whether a value, with what is known of the file, is one; it may raise ModelFileError itself
    words : what it should be, to be said after "it must be"
    back : gives the value as it was
    nullable : it may be None
    """

    sound: Callable[[Any, Scope], bool]
    words: str
    _: KW_ONLY
    back: Callable[[Any], Any] | None = None
    nullable: bool = False

    def pack(self, value: Any, section: Section) -> None:
        section.header[self.name] = plain(value)

    def unpack(self, section: Section, scope: Scope) -> Any:
        value = section.value(self.name)
        if value is None and self.nullable:
            return None
        if not self.sound(value, scope):
            refuse(f"{section.path}{self.name} is {value!r:.80}; it must be {self.words}")
        return value if self.back is None else self.back(value)


def flag(name: str, **more: Any) -> Value:
    """True or False."""
    return Value(name, lambda value, scope: type(value) is bool, "true or false", **more)


def whole(name: str, low: int = 0, high: float = math.inf, points_into: Size | None = None, **more: Any) -> Value:
    """A whole number from low to high, or an index into something of a size."""

    def sound(value: Any, scope: Scope) -> bool:
        most = high if points_into is None else scope.size(points_into) - 1
        return type(value) is int and low <= value <= most

    return Value(name, sound, f"a whole number from {low} to {high if points_into is None else points_into}", **more)


def count(name: str, low: int = 0, each: int = 1, **more: Any) -> Value:
    """How many of something there are, each of which takes so many bytes of the file or more."""
    words = f"a whole number from {low}, and not more than the file has room for"
    return Value(name, lambda n, scope: type(n) is int and low <= n <= scope["n_bytes"] // each, words, **more)


def real(name: str, above: float = -math.inf, below: float = math.inf, **more: Any) -> Value:
    """A finite number."""
    words = f"a finite number above {above} and below {below}"
    return Value(name, lambda x, scope: type(x) is float and above < x < below, words, **more)


def choice(name: str, choices: tuple[str, ...], **more: Any) -> Value:
    """One of some words."""
    return Value(name, lambda value, scope: isinstance(value, str) and value in choices, f"one of {choices}", **more)


def text(name: str, **more: Any) -> Value:
    """A str."""
    return Value(name, lambda value, scope: isinstance(value, str), "text", **more)


def texts(name: str, **more: Any) -> Value:
    """A tuple of str."""

    def sound(value: Any, scope: Scope) -> bool:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)

    return Value(name, sound, "a list of texts", back=tuple, **more)


def mapping(name: str, fits: Callable[[dict[str, Any], Scope], bool], **more: Any) -> Value:
    """A dict with str for keys, which the function finds to fit."""
    words = "a mapping of names to what belongs to them"
    return Value(name, lambda value, scope: isinstance(value, dict) and fits(value, scope), words, **more)


def anything(name: str, **more: Any) -> Value:
    """What JSON can say, with tuples for lists."""
    return Value(name, lambda value, scope: True, "anything", back=tupled, **more)
