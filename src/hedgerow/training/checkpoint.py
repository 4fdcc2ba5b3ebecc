"""How far a training has come, in a file: killed at any moment it goes on from there, and ends with the same bits.

A fit is a series of stages, each a training with a monitor of its own or a result that is kept as a whole (the window
that was chosen, what a fold told). They have numbers, which are the same in every run, for nothing that numbers them
depends on a clock. The file holds what ended stages gave and the state of the one that runs. Who goes on from it runs
the same code: a stage that has ended gives what it gave, and the one that ran goes on after its last iteration.

What is kept are plain values: None, numbers, str, lists and dicts of them, and arrays. They are written by
`persistence`, so nothing is ever unpickled. A file is trusted no more than that of a model: what it brings back is
checked by a form (`checked`), by what it replaces (`restore`), or as in model files (trees). As with a deadline, no
estimator and no trainer hands a checkpoint on: it holds for all that is trained inside `with checkpoint.applied():`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from hedgerow import __version__, persistence
from hedgerow.errors import HedgerowError, InputError, ModelFileError
from hedgerow.estimators.codec.arrays import LARGEST, Array
from hedgerow.estimators.codec.steps import Scope, refuse
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
        """Every training inside is kept, and goes on from the file where it is there; no other keeps it meanwhile."""
        if _current.get() is not None:
            raise InputError("a checkpoint is kept already", hint="Give ⟦checkpoint⟧ to the outer fit alone.")
        persistence.check_target(self.path)
        with persistence.held(self.path):
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
            for number in [*self._ended, *([self._running[0]] if self._running else [])]:
                _order(number)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            self.refuse("what it holds is no checkpoint", error)

    def refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        """Say what is wrong with the file."""
        what = f"{self.path}: is damaged, or not that of this training: {why}. Delete it to begin anew."
        raise ModelFileError(what) from error

    def _write(self) -> None:
        began = time.monotonic()
        arrays: dict[int, tuple[str, AnyArray]] = {}
        header = {"kind": KIND, "version": __version__, "ended": _pack(self._ended, arrays)}
        header["running"] = _pack(None if self._running is None else list(self._running), arrays)
        persistence.write(self.path, header, dict(arrays.values()))
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
        self, work: Callable[[], Result], form: Any, pack: Callable[[Result], Any], unpack: Callable[[Any], Result]
    ) -> Result:
        """What `work` gives, or gave before; see `remembered`."""
        number = self.number()
        known = self.ended(number)
        if known is not None:
            with restoring():
                return unpack(checked(known, (form,), "a stage")[0])
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
            return
        before = {name: value for name, value in known.items() if type(value) is str} if type(known) is dict else {}
        if names := sorted(name for name in {*before, *found} if before.get(name) != found.get(name)):
            self._refuse(f"{what} ({', '.join(names)})")


def current_checkpoint() -> Checkpoint | None:
    """The checkpoint of whatever is trained here and now."""
    return _current.get()


def _as_it_is(value: Any) -> Any:
    return value


def remembered(
    work: Callable[[], Result],
    form: Any,
    pack: Callable[[Result], Any] = _as_it_is,
    unpack: Callable[[Any], Result] = _as_it_is,
) -> Result:
    """What `work` gives. Where a checkpoint is kept it is a stage, which is done once: `pack` makes a plain value of
    its result, which is of a `form`, and `unpack` the result again."""
    checkpoint = _current.get()
    return work() if checkpoint is None else checkpoint.result_of(work, form, pack, unpack)


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
    """Give an object the attributes that `state_of` took. Arrays are filled in place: others may hold them, too.

    What an attribute has before is the form of what it gets, unless `FORMS` of the object, by names, has another.
    """
    if not isinstance(state, Mapping):
        refuse(f"a state is {state!r:.80}")
    forms = getattr(owner, "FORMS", {})
    for name in names:
        value, found = getattr(owner, name), state.get(name)
        if hasattr(value, "KEPT"):
            restore(value, value.KEPT, found)
        elif isinstance(value, np.ndarray):
            fill(value, found, name)
        else:
            setattr(owner, name, checked(found, forms.get(name, value), name))


def fill(array: AnyArray, found: Any, name: str = "an array") -> None:
    """Write an array of a checkpoint into the one that it was taken from."""
    array[...] = checked(found, array, name)


class Maybe(NamedTuple):
    """What is of this form, or None."""

    form: Any


def checked(found: Any, form: Any, name: str) -> Any:
    """A plain value of a checkpoint, which is of a form, or else refused.

    form : an array: one of its type and shape, without NaN and no larger than scores are; `Array`: one as this
        declares; np.ndarray: any of float64, likewise; int: a whole number from 0; float, bool, str, or a value of such
        a type: one of the type; a tuple of forms: a list of these; a list of one form: a list of such; a dict of forms:
        these names; a frozenset: one of its values; `Maybe`: or None; None: None
    """
    if isinstance(form, Maybe):
        return None if found is None else checked(found, form.form, name)
    if isinstance(form, dict):
        sound = isinstance(found, dict) and found.keys() == form.keys()
        inner = [(found[key], one, key) for key, one in form.items()] if sound else []
    elif isinstance(form, (list, tuple)):
        sound = isinstance(found, list) and (isinstance(form, list) or len(found) == len(form))
        inner = [(one, form[0 if isinstance(form, list) else i], name) for i, one in enumerate(found)] if sound else []
    else:
        sound, inner = _is(found, form, name), []
    if not sound:
        array = isinstance(found, np.ndarray)
        refuse(f"{name} is " + (f"{found.dtype} of shape {found.shape}" if array else f"{found!r:.80}"))
    for one in inner:
        checked(*one)
    return found


def _is(found: Any, form: Any, name: str) -> bool:
    if isinstance(form, (Array, np.ndarray)) or form is np.ndarray:
        if not isinstance(found, np.ndarray):
            return False
        if isinstance(form, Array):
            form.check(found, name, Scope())
            return True
        dtype, shape = (np.float64, found.shape) if form is np.ndarray else (form.dtype, form.shape)
        fits = bool(found.dtype == dtype) and found.shape == shape
        if not fits or found.dtype.kind != "f":
            return fits
        return bool(np.all(found <= min(LARGEST, float(np.finfo(found.dtype).max))))  # −inf is what is impossible
    if isinstance(form, frozenset):
        return type(found) in (int, str) and found in form
    kind = form if form is None or isinstance(form, type) else type(form)
    if kind is int:
        return type(found) is int and 0 <= found < 1 << 53
    return found is None if kind is None else type(found) is kind or (kind is float and type(found) is int)


@contextmanager
def restoring() -> Iterator[None]:
    """What goes wrong inside is a fault of the checkpoint, which is told as that of a model file is."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        checkpoint = _current.get()
        if checkpoint is None or (isinstance(error, HedgerowError) and not isinstance(error, ModelFileError)):
            raise
        checkpoint.refuse(str(error) if isinstance(error, ModelFileError) else "a state is not sound", error)


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


def _pack(value: Any, arrays: dict[int, tuple[str, AnyArray]]) -> Any:
    """A plain value as JSON; its arrays get numbers, and one that is there twice is written once."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if isinstance(value, np.ndarray):
        return {"array": arrays.setdefault(id(value), (str(len(arrays)), value))[0]}
    if isinstance(value, Mapping):
        return {"dict": {str(name): _pack(inner, arrays) for name, inner in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_pack(inner, arrays) for inner in value]
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
