"""Fields that are tensors: their type, shape and range, what they point into, and whether they rise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from hedgerow.estimators.codec.steps import Field, Scope, Section, Size, refuse
from hedgerow.legend import FLOAT, INDEX, AnyArray, IndexArray

LARGEST = 1e100  # of weights and scores: sums of them, and of products with features, stay finite


class Tensor(Field):
    """A field that is kept as tensors."""

    def present(self, section: Section) -> bool:
        return section.path + self.name in section.tensors


@dataclass(frozen=True)
class Array(Tensor):
    """A tensor.

    shape : its sizes, or a function of the scope that gives them
    low, high : the least and the largest value that is allowed
    above : all values are larger than this
    points_into : values are indices into something of this size
    rises : "weakly" or "strictly", from each value to the next
    first, last : what it begins and ends with; it is not empty then
    infinite, nan : infinities, and NaN, are allowed
    frozen : it cannot be written to once it is read
    """

    dtype: Any
    shape: tuple[Size, ...] | Callable[[Scope], tuple[int, ...]]
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    above: float | None = None
    points_into: Size | None = None
    rises: str | None = None
    first: int | None = None
    last: Size | None = None
    infinite: bool = False
    nan: bool = False
    frozen: bool = False

    def pack(self, value: Any, section: Section) -> None:
        section.tensors[section.path + self.name] = np.asarray(value)

    def unpack(self, section: Section, scope: Scope) -> AnyArray:
        array = section.tensor(self.name)
        self.check(array, section.path + self.name, scope)
        if self.frozen:
            array.flags.writeable = False
        return array

    def check(self, array: AnyArray, name: str, scope: Scope) -> None:
        """Refuse an array that is not as declared."""
        shape = self.shape(scope) if callable(self.shape) else self.shape
        fits = array.dtype == self.dtype and array.ndim == len(shape)
        if not fits or not all(scope.fits(size, actual) for size, actual in zip(shape, array.shape)):
            refuse(f"{name} is {array.dtype} of shape {array.shape}")
        if array.size and array.dtype != np.bool_:
            self._check_values(array, name, scope)
        if self.rises:  # neighbours are compared: a difference could wrap
            before, after = array[:-1], array[1:]
            if not np.all(after > before if self.rises == "strictly" else after >= before):
                refuse(f"{name} does not rise")
        for end, place in ((self.first, 0), (self.last, -1)):
            if end is not None and (not len(array) or int(array[place]) != scope.size(end)):
                refuse(f"{name} does not run from its beginning to its end")

    def _check_values(self, array: AnyArray, name: str, scope: Scope) -> None:
        if array.dtype.kind == "f":
            if not self.nan and np.isnan(array).any():
                refuse(f"{name} holds what is not a number")
            if not self.infinite and np.isinf(array).any():
                refuse(f"{name} holds what is not finite")
        low, high = self.low, self.high
        if self.points_into is not None:
            low, high = 0, scope.size(self.points_into) - 1
        if (low is not None and array.min() < low) or (high is not None and array.max() > high):
            refuse(f"{name} holds values from {array.min()} to {array.max()}, outside of {low} to {high}")
        if self.above is not None and not array.min() > self.above:
            refuse(f"{name} holds {array.min()}, and all values must be above {self.above}")


def scores(name: str, shape: tuple[Size, ...] | Callable[[Scope], tuple[int, ...]], **more: Any) -> Array:
    """float64: weights, or what else is summed to scores."""
    return Array(name, FLOAT, shape, low=-LARGEST, high=LARGEST, **more)


def pointers(name: str, n: str, into: Size, **more: Any) -> Array:
    """int64[n+1]: where each of n runs begins and ends in something of this size."""
    return Array(name, INDEX, (f"{n}+1",), rises="weakly", first=0, last=into, **more)


@dataclass(frozen=True)
class Ragged(Tensor):
    """n arrays, kept end to end with pointers. None among them is kept as an empty array.

    values : how the arrays are declared, end to end
    """

    n: str
    values: Array

    def pack(self, value: Any, section: Section) -> None:
        none = np.empty(0, self.values.dtype)
        parts = [none if one is None else one for one in value]
        ends = np.concatenate([[0], np.cumsum([len(one) for one in parts])]).astype(INDEX)
        section.tensors[section.path + self.name] = np.concatenate([none, *parts])
        section.tensors[section.path + self.name + "_ptr"] = ends

    def unpack(self, section: Section, scope: Scope) -> list[AnyArray]:
        values, name = section.tensor(self.name), section.path + self.name
        self.values.check(values, name, Scope(scope))
        ptr: IndexArray = section.tensor(self.name + "_ptr")
        scope[f"{self.name} end"] = len(values)
        pointers(self.name, self.n, f"{self.name} end").check(ptr, f"{name}_ptr", scope)
        return [values[begin:end] for begin, end in zip(ptr[:-1].tolist(), ptr[1:].tolist())]
