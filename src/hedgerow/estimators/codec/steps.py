"""The steps of a declaration, and what is known while they are walked.

A declaration is a list of steps. A field is a step that a file holds: an array, a value of the header, a part with
fields of its own. `Let` names what follows from the steps before it, and `Check` refuses what no field can say. Steps
are walked in order, so that one may refer to any before it: by the name of a size (a shape of ("R+1",), an index that
`points_into="K"`), or by a function of the scope.

Kernels do not check bounds, so nothing that one indexes with leaves a declaration unchecked. And what is made of a file
is made after the sizes of its arrays were checked, so that few bytes cannot ask for much memory.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NoReturn

from hedgerow.errors import ModelFileError
from hedgerow.legend import AnyArray

Tensors = dict[str, AnyArray]
Size = int | str  # a number, the name of one in the scope, or a name and what is added to it: "R+1"

MOST_BYTES = 1 << 31  # that a file may ask for beyond its own size


def refuse(what: str) -> NoReturn:
    """Raise the error for a file that is complete, and not valid."""
    raise ModelFileError(what)


class Scope:
    """What is known while a file is read, by name. An inner scope sees what the outer ones hold, but for sizes that
    are known from the shapes of their arrays: those are their own."""

    def __init__(self, outer: Scope | None = None, /, **known: Any) -> None:
        self.known: ChainMap[str, Any] = ChainMap(known, *(outer.known.maps if outer else ()))
        self.sizes: dict[str, int] = {}

    def __getitem__(self, name: str) -> Any:
        return self.known[name] if name in self.known else self.sizes[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.known[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self.known or name in self.sizes

    def size(self, given: Size) -> int:
        """The number that a size is: itself, or what is known by a name such as "K" or "K+1"."""
        if isinstance(given, int):
            return given
        name, _, more = given.partition("+")
        return int(self[name]) + int(more or 0)

    def fits(self, given: Size, actual: int) -> bool:
        """Whether a size is the actual one. A name that is not known yet stands for it from now on."""
        if isinstance(given, str) and given.partition("+")[0] not in self:
            name, _, more = given.partition("+")
            self.sizes[name] = actual - int(more or 0)
            return actual >= int(more or 0)
        return self.size(given) == actual


@dataclass
class Section:
    """A part of a file: its own header, and its tensors, whose names begin with `path`. Reading takes tensors out."""

    header: dict[str, Any]
    tensors: Tensors
    path: str = ""

    def inner(self, name: str, header: Any) -> Section:
        """The part of the file that has this name."""
        if not isinstance(header, dict):
            refuse(f"{self.path}{name} is {header!r:.80}")
        return Section(header, self.tensors, f"{self.path}{name}.")

    def value(self, name: str) -> Any:
        """What the header has under this name."""
        if name not in self.header:
            refuse(f"there is no {self.path + name!r}")
        return self.header[name]

    def tensor(self, name: str) -> AnyArray:
        """Take out the tensor of this name, and return it."""
        if self.path + name not in self.tensors:
            refuse(f"there is no {self.path + name!r}")
        return self.tensors.pop(self.path + name)


class Step:
    """A step that files say nothing of, unless it is a field."""

    def write(self, owner: Any, section: Section) -> None:
        """Write what this step reads."""

    def read(self, section: Section, scope: Scope) -> None:
        """Read and check a value, and put it into the scope."""


@dataclass(frozen=True)
class Let(Step):
    """Names what follows from the steps before it. of : the attribute of a model that it becomes, if any"""

    name: str
    follows: Callable[[Scope], Any]
    _: KW_ONLY
    of: str | None = None

    def read(self, section: Section, scope: Scope) -> None:
        scope[self.name] = self.follows(scope)


@dataclass(frozen=True)
class Check(Step):
    """Refuses what does not fit together: the function raises ModelFileError."""

    function: Callable[[Scope], None]

    def read(self, section: Section, scope: Scope) -> None:
        self.function(scope)


@dataclass(frozen=True)
class Allocates(Step):
    """Refuses what would take more than MOST_BYTES, before it is made."""

    what: str
    n_bytes: Callable[[Scope], int]

    def read(self, section: Section, scope: Scope) -> None:
        if self.n_bytes(scope) > MOST_BYTES:
            refuse(f"{self.what} would take {self.n_bytes(scope):,} bytes")


@dataclass(frozen=True)
class Field(Step):
    """Something that a file holds.

    of : the attribute of the object that has it, or a function of the object; by default the attribute of this name
    optional : it may be absent, and is None then
    when : whether the file has it, by what was read before; it is None where not
    """

    name: str
    _: KW_ONLY
    of: str | Callable[[Any], Any] | None = None
    optional: bool = False
    when: Callable[[Scope], Any] | None = None

    def write(self, owner: Any, section: Section) -> None:
        value = self.of(owner) if callable(self.of) else getattr(owner, self.of or self.name)
        if value is not None or not (self.optional or self.when):
            self.pack(value, section)

    def read(self, section: Section, scope: Scope) -> None:
        present = self.present(section)
        wanted = present if self.optional else self.when is None or bool(self.when(scope))
        if present and not wanted:
            refuse(f"there is {section.path + self.name!r}, which has no place here")
        scope[self.name] = self.unpack(section, scope) if wanted else None

    def present(self, section: Section) -> bool:
        """Whether a file has it."""
        return self.name in section.header

    def pack(self, value: Any, section: Section) -> None:
        """Put a value into the file."""
        raise NotImplementedError

    def unpack(self, section: Section, scope: Scope) -> Any:
        """The value, after it was checked."""
        raise NotImplementedError
