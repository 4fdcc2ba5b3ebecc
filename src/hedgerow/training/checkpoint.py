"""How far a training has come, in a file: killed at any moment it goes on from there, and ends with the same bits.

A fit is a series of stages, each a training with a monitor of its own or a result that is kept as a whole (the window
that was chosen, what a fold told). They have numbers, which are the same in every run, for nothing that numbers them
depends on a clock. The file holds what ended stages gave and the state of the one that runs. Who goes on from it runs
the same code: a stage that has ended gives what it gave, and the one that ran goes on after its last iteration.

What is kept are plain values: None, numbers, str, lists and dicts of them, and arrays. They are written by
`persistence`, so nothing is ever unpickled. As with a deadline, no estimator and no trainer hands a checkpoint on: it
holds for all that is trained inside `with checkpoint.applied():`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, NoReturn, TypeVar

import numpy as np

from hedgerow import __version__, persistence
from hedgerow.errors import InputError, ModelFileError
from hedgerow.legend import AnyArray

KIND = "checkpoint"
EVERY = 30.0  # seconds between two writes
SHARE = 0.01  # of the time, at most, is for writing

Result = TypeVar("Result")
_current: ContextVar[Checkpoint | None] = ContextVar("checkpoint", default=None)


class Checkpoint:
    """A file that a training goes on from when it was killed.

    Give it to `fit`, or the path alone. Where the file is there, training goes on from it; the data and the parameters
    must be those that it began with. It is deleted when `fit` ends, but not when `fit` was interrupted.

    Parameters
    ----------
    path : where to; the file is replaced at once, or not at all
    every : seconds between two writes. They are further apart where writing takes long: it may take a hundredth of the
        time. 0 writes after every iteration
    """

    def __init__(self, path: str | os.PathLike[str], *, every: float = EVERY) -> None:
        if not isinstance(every, Real) or isinstance(every, bool) or not 0.0 <= every < math.inf:
            raise InputError(f"⟦every⟧ is {every!r}", hint="Give the seconds between two writes.")
        self.path: str = os.fspath(path)
        self.every: float = float(every)
        self._forget()

    def _forget(self) -> None:
        self.frozen = False  # training was interrupted: what comes now is no part of it
        self._ended: dict[str, Any] = {}
        self._running: tuple[str, Any] | None = None
        self._numbers = [0]
        self._written, self._cost = time.monotonic(), 0.0

    # -------------------------------------------------------------------------------------------- the file

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Every training inside is kept, and goes on from the file where it is there."""
        if _current.get() is not None:
            raise InputError("a checkpoint is kept already", hint="Give ⟦checkpoint⟧ to the outer fit alone.")
        persistence.check_target(self.path)
        self._forget()
        if os.path.exists(self.path):
            self._read()
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def remove(self) -> None:
        """Delete the file, where there is one: what it was for is done."""
        if os.path.exists(self.path):
            os.unlink(os.path.realpath(self.path))  # as it is written: a link stays

    def _read(self) -> None:
        header, tensors = persistence.read(self.path)
        if header["kind"] != KIND:
            raise ModelFileError(f"{self.path}: it holds a {header['kind']}, and not a checkpoint")
        if header.get("version") != __version__:
            what = f"it was written by hedgerow {header.get('version')!r:.40}, and this is {__version__}"
            self._refuse(f"{what}: bits may differ")
        try:
            ended, running = (_unpack(header[name], tensors) for name in ("ended", "running"))
            self._ended = {str(number): value for number, value in ended.items()}
            self._running = None if running is None else (str(running[0]), running[1])
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelFileError(f"{self.path}: is damaged: what it holds is no checkpoint") from error

    def _write(self) -> None:
        began = time.monotonic()
        tensors: dict[str, AnyArray] = {}
        header = {"kind": KIND, "version": __version__, "ended": _pack(self._ended, tensors)}
        header["running"] = _pack(None if self._running is None else list(self._running), tensors)
        persistence.write(self.path, header, tensors)
        self._written = time.monotonic()
        self._cost = self._written - began

    def _refuse(self, why: str) -> NoReturn:
        hint = f"Give what it began with, or another ⟦checkpoint⟧; to begin anew, delete {self.path}."
        raise InputError(f"cannot go on from this checkpoint: {why}", hint=hint, path=self.path)

    # -------------------------------------------------------------------------------------------- stages

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        wait = max(self.every, self._cost / SHARE) if self.every else 0.0
        return not self.frozen and time.monotonic() - self._written >= wait

    def number(self) -> str:
        """The number of the next stage."""
        number = ".".join(map(str, self._numbers))
        self._numbers[-1] += 1
        return number

    def ended(self, number: str) -> Any:
        """What a stage gave that has ended; None where it has not."""
        return self._ended.get(number)

    def running(self, number: str) -> Any:
        """The state of a stage, where it is the one that ran; else None."""
        return self._running[1] if self._running is not None and self._running[0] == number else None

    def keep(self, number: str, state: Any) -> None:
        """Write, with the state of the stage that runs."""
        if not self.frozen:
            self._running = number, state
            self._write()
            self._running = None  # it is in the file, and its arrays go on changing

    def end(self, number: str, result: Any) -> None:
        """A stage has ended with this result; the stages inside it are done with."""
        if not self.frozen:
            inner = f"{number}."
            self._ended = {name: value for name, value in self._ended.items() if not name.startswith(inner)}
            self._ended[number] = _copied(result)
            if self._running is not None and f"{self._running[0]}.".startswith(inner):
                self._running = None
            if self.due:
                self._write()

    def freeze(self) -> None:
        """Training was interrupted: leave the file as it is."""
        self.frozen = True

    def result_of(
        self, work: Callable[[], Result], pack: Callable[[Result], Any], unpack: Callable[[Any], Result]
    ) -> Result:
        """What `work` gives, or gave before; see `remembered`."""
        number = self.number()
        known = self.ended(number)
        if known is not None:
            return unpack(known[0])
        outer, self._numbers = self._numbers, [*_order(number), 0]
        try:
            result = work()
        finally:
            self._numbers = outer
        self.end(number, [pack(result)])
        return result

    def check(self, what: str, found: Mapping[str, Any]) -> None:
        """Refuse to go on where something is not what it was: name → plain value."""
        number = self.number()
        known = self.ended(number)
        if known is None:
            if self._running is not None or any(_order(name) > _order(number) for name in self._ended):
                self._refuse("it is that of another training")
            self.end(number, dict(found))
        elif not isinstance(known, dict) or known != dict(found):
            before = known if isinstance(known, dict) else {}
            names = sorted(name for name in {*before, *found} if before.get(name) != found.get(name))
            self._refuse(f"{what} ({', '.join(names)})" if names else what)


def current_checkpoint() -> Checkpoint | None:
    """The checkpoint of whatever is trained here and now."""
    return _current.get()


def _as_it_is(value: Any) -> Any:
    return value


def remembered(
    work: Callable[[], Result], pack: Callable[[Result], Any] = _as_it_is, unpack: Callable[[Any], Result] = _as_it_is
) -> Result:
    """What `work` gives. Where a checkpoint is kept it is a stage, which is done once: `pack` makes a plain value of
    its result, and `unpack` the result again."""
    checkpoint = _current.get()
    return work() if checkpoint is None else checkpoint.result_of(work, pack, unpack)


@contextmanager
def kept_in(given: Checkpoint | str | os.PathLike[str] | None) -> Iterator[Checkpoint | None]:
    """Around a `fit`: keep it in this checkpoint, which is deleted when all went well; None: in that around it."""
    if given is None:
        yield _current.get()
        return
    checkpoint = given if isinstance(given, Checkpoint) else Checkpoint(given)
    with checkpoint.applied():
        yield checkpoint
    if not checkpoint.frozen:
        checkpoint.remove()


# ------------------------------------------------------------------------------------------------ states of objects


def state_of(owner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Some attributes of an object; one that has `KEPT`, the names of its own, by these."""
    values = {name: getattr(owner, name) for name in names}
    return {name: state_of(value, value.KEPT) if hasattr(value, "KEPT") else value for name, value in values.items()}


def restore(owner: Any, names: tuple[str, ...], state: Any) -> None:
    """Give an object the attributes that `state_of` took. Arrays are filled in place: others may hold them, too."""
    for name in names:
        value, found = getattr(owner, name), state[name]
        if hasattr(value, "KEPT"):
            restore(value, value.KEPT, found)
        elif isinstance(value, np.ndarray):
            fill(value, found)
        else:
            setattr(owner, name, found)


def fill(array: AnyArray, found: Any) -> None:
    """Write an array of a checkpoint into the one that it was taken from."""
    if not isinstance(found, np.ndarray) or found.shape != array.shape or found.dtype != array.dtype:
        raise ModelFileError("the checkpoint is not that of this training: an array has another shape")
    array[...] = found


# ------------------------------------------------------------------------------------------------ plain values


def _order(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


def _copied(value: Any) -> Any:
    """The same with arrays of its own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _pack(value: Any, tensors: dict[str, AnyArray]) -> Any:
    """A plain value as JSON; its arrays become tensors."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if isinstance(value, np.ndarray):
        tensors[name := str(id(value))] = value  # one that is there twice is written once
        return {"array": name}
    if isinstance(value, Mapping):
        return {"dict": {str(name): _pack(inner, tensors) for name, inner in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_pack(inner, tensors) for inner in value]
    return value


def _unpack(value: Any, tensors: Mapping[str, AnyArray]) -> Any:
    if isinstance(value, list):
        return [_unpack(inner, tensors) for inner in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "dict":
        return {name: _unpack(one, tensors) for name, one in inner.items()}
    return tensors[inner] if kind == "array" else {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[inner]
