"""Fields with fields of their own, and the one walk that writes a declaration and the one that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from hedgerow.estimators.codec.steps import Field, Scope, Section, Step, Tensors, refuse


class Record(NamedTuple):
    """How an object is kept: its steps, and how it is made of what they read."""

    steps: Sequence[Step]
    make: Callable[[Scope], Any]


class State(NamedTuple):
    """How the state of a kind of model is kept. A step with `of` is an attribute of the model once it is read.

    settle : gives a model what else follows from what was read
    parameters : brings parameters of older files up to date, beyond other names
    renamed : the names that parameters of this kind alone had, and those that they have now
    """

    steps: Sequence[Step]
    settle: Callable[[Any, Scope], None] | None = None
    parameters: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    renamed: Mapping[str, str] = MappingProxyType({})


def made_by(constructor: Callable[..., Any], *names: str) -> Callable[[Scope], Any]:
    """Makes an object by a call with these names of the scope as arguments."""
    return lambda scope: constructor(**{name: scope[name] for name in names})


def made_by_order(constructor: Callable[..., Any], *names: str) -> Callable[[Scope], Any]:
    """The same where the arguments are called otherwise: they are given in order."""
    return lambda scope: constructor(*(scope[name] for name in names))


def pack(record: Record, value: Any) -> tuple[dict[str, Any], Tensors]:
    """An object as a JSON header and tensors."""
    section = Section({}, {})
    write_steps(record.steps, value, section)
    return section.header, section.tensors


def unpack(record: Record, header: dict[str, Any], tensors: Mapping[str, Any], **known: Any) -> Any:
    """The object that `pack` packed. What is not sound is a ModelFileError, or the error of what could not be made.

    known : what the steps refer to beyond their own
    """
    left, scope = dict(tensors), Scope(**known)
    read_steps(record.steps, Section(header, left), scope)
    check_all_read(left)
    return record.make(scope)


def check_all_read(left: Mapping[str, Any]) -> None:
    """Refuse tensors that no step has taken."""
    for name in left:
        refuse(f"there is {name!r}, which has no place here")


def write_steps(steps: Sequence[Step], owner: Any, section: Section) -> None:
    """Write what the steps have of an object."""
    for step in steps:
        step.write(owner, section)


def read_steps(steps: Sequence[Step], section: Section, scope: Scope) -> None:
    """Read and check the steps into the scope."""
    for step in steps:
        step.read(section, scope)
    known = {step.name for step in steps if isinstance(step, Field)}
    for name in section.header.keys() - known:
        refuse(f"there is {section.path + name!r}, which has no place here")


def read_record(record: Record, section: Section, scope: Scope) -> Any:
    """The object in a section, whose steps have a scope of their own."""
    inner = Scope(scope)
    read_steps(record.steps, section, inner)
    return record.make(inner)


@dataclass(frozen=True)
class Part(Field):
    """An object with fields of its own."""

    record: Record

    def pack(self, value: Any, section: Section) -> None:
        header = section.header[self.name] = {}
        write_steps(self.record.steps, value, section.inner(self.name, header))

    def unpack(self, section: Section, scope: Scope) -> Any:
        return read_record(self.record, section.inner(self.name, section.value(self.name)), scope)


@dataclass(frozen=True)
class Each(Field):
    """A tuple of objects with fields of their own."""

    record: Record

    def pack(self, value: Any, section: Section) -> None:
        headers = section.header[self.name] = [{} for _ in value]
        for i, (one, header) in enumerate(zip(value, headers)):
            write_steps(self.record.steps, one, section.inner(f"{self.name}.{i}", header))

    def unpack(self, section: Section, scope: Scope) -> tuple[Any, ...]:
        headers = section.value(self.name)
        if not isinstance(headers, list):
            refuse(f"{section.path}{self.name} is no list")
        return tuple(
            read_record(self.record, section.inner(f"{self.name}.{i}", header), scope)
            for i, header in enumerate(headers)
        )
