"""Labels of a sequence whose positions come one by one: what a model knows of them so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.chain.decoding import tilted
from hedgerow.chain.filtering import Filter, Position
from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.labels import encode_labels
from hedgerow.data.rows import NUMBERS
from hedgerow.data.sequences import unmasked
from hedgerow.errors import InputError, placed
from hedgerow.estimators.predictor import is_learnt, learnt, make_ready
from hedgerow.legend import INDEX, BoolArray, FloatArray

if TYPE_CHECKING:
    from hedgerow.estimators.scored import ScoredChain

_ONE = np.array([0, 1], dtype=INDEX)


def window_reach(schema: Schema) -> tuple[int, int]:
    """How many positions before and after a position its features look at, those among them that look back further."""
    spans = [(c.offsets, 0 if c.derived is None else c.derived.span) for c in schema.columns]
    spans += [(schema.attribute_offsets, 0)]
    return -min(min(offsets) - span for offsets, span in spans), max(max(offsets) for offsets, _ in spans)


class Streaming:
    """What all streams have. A subclass gives `push`, `finish` and `reset`."""

    delay: int
    n_pushed: int
    _nothing: FloatArray

    def push(self, x: Any, known: Any = None) -> FloatArray:
        raise NotImplementedError

    def extend(self, rows: Iterable[Any], known: Sequence[Any] | None = None) -> FloatArray:
        """Take some positions, those of a data frame among them; the probabilities (m, K) that can be told then. Where
        one of them is refused, none has come."""
        if isinstance(rows, (str, bytes)) or isinstance(known, str):
            raise InputError("a str is not a sequence of positions or labels", hint="Give a list.")
        if hasattr(rows, "columns") and hasattr(rows, "shape"):
            import narwhals as nw

            frame: Any = rows
            rows = nw.from_native(frame, eager_only=True).iter_rows(named=True)
        labels: Iterable[Any] = repeat(None)
        if known is not None:
            rows, labels = list(rows), list(known)
            if len(labels) != len(rows):
                raise InputError(f"there are {len(rows)} positions and {len(labels)} labels", hint="None is not known.")
        state = self._state()
        try:
            return np.concatenate([self._nothing, *map(self.push, rows, labels)])
        except BaseException:
            self._restore(state)
            raise

    def _state(self) -> Any:
        raise NotImplementedError

    def _restore(self, state: Any) -> None:
        raise NotImplementedError


class Stream(Streaming):
    """The labels of one sequence, position by position; made by `model.stream(lag)`.

    P(y_t | x_1 … x_{t+lag}) comes out when position t + delay has been pushed. Memory does not grow, however long the
    sequence is. Streams of one model are independent of each other; one stream is for one thread at a time, and for the
    model as it is: once that is fitted anew, it takes another stream.

    delay : positions by which probabilities come later than what they are of: the lag, and what windows look ahead
    n_pushed : positions so far
    """

    def __init__(self, model: ScoredChain, lag: int) -> None:
        self._model, self._ready, self._learnt = model, make_ready(model), learnt(model)
        self._behind, self._ahead = model._reach()
        if self._ready is None:  # potentials of a chunk know of starts and ends: a position in between has neighbours
            self._behind = max(self._behind, 1, getattr(model, "order_", model.order))
        self.delay, self._ends = lag + self._ahead, model._knows_ends()
        self._filter = Filter(len(model.classes_), lag)
        self._nothing: FloatArray = np.empty((0, len(model.classes_)))
        self.reset()

    def __repr__(self) -> str:
        return f"Stream({self._model!r}, delay={self.delay}, n_pushed={self.n_pushed})"

    def reset(self) -> None:
        """Forget all positions: the next one is the first of another sequence."""
        self.n_pushed = self._n_scored = 0
        self._rows: deque[tuple[Any, BoolArray | None]] = deque(maxlen=self._behind + 1 + self._ahead)
        self._filter = Filter(self._filter.n_labels, self._filter.lag)

    def push(self, x: Any, known: Any = None) -> FloatArray:
        """Take the next position; the probabilities (m, K) that can be told now, columns as in `classes_`.

        m is 1, and 0 for the first `delay` positions. A position that is refused has not come.

        Parameters
        ----------
        x : a dict of features, a token, a list of attributes or a row of numbers
        known : the label of the position, a set of labels of which it is one, or None
        """
        self._check_model()
        mask, row, state = None if known is None else self._mask(known), self._checked(_row(x)), self._state()
        self._rows.append((row, mask))
        self.n_pushed += 1
        try:
            if self.n_pushed > self._ahead:
                return self._step(last=False)
            self._dataset([self._rows[-1][0]], self.n_pushed - 1)  # what is wrong with it is said at once
            return self._nothing
        except BaseException:
            self._restore(state)
            raise

    def _check_model(self) -> None:
        """Refuse to go on where the model was fitted again since the stream began."""
        if not is_learnt(self._model, self._learnt):
            raise InputError("the model was fitted anew since this stream began", hint="Make another: model.stream().")

    def _checked(self, row: Any) -> Any:
        """Refuse a row of numbers among others, or of another width: only rows of one shape can be read together."""
        before = self._rows[-1][0] if self._rows else row
        if np.shape(before) != np.shape(row) and any(isinstance(one, np.ndarray) for one in (before, row)):
            hint = "Give every position in one shape."
            raise InputError("is of another shape than the positions before it", hint=hint, position=self.n_pushed)
        return row

    def _state(self) -> tuple[Any, ...]:
        return self._rows.copy(), self.n_pushed, self._n_scored, self._filter.state()

    def _restore(self, state: tuple[Any, ...]) -> None:
        self._rows, self.n_pushed, self._n_scored, of_filter = state
        self._filter.restore(of_filter)

    def finish(self) -> FloatArray:
        """The sequence has ended: the probabilities (m, K) of all positions that have not been told. The next position
        is the first of another sequence."""
        self._check_model()
        told, last = [self._nothing], None
        if self._n_scored < self.n_pushed:
            while self._n_scored < self.n_pushed:
                told.append(self._step(last=self._n_scored == self.n_pushed - 1))
        elif self._filter.pending:  # the last one did not know that it was that
            last = self._position(self.n_pushed - 1, last=True)
        told.append(tilted(self._filter.finish(last), self._model.tilt_))
        self.reset()
        return np.concatenate(told)

    def _step(self, *, last: bool) -> FloatArray:
        """Score the next position; the probabilities (m, K) of the one that is due, if any is."""
        position = self._position(self._n_scored, last=last)
        try:
            told = self._filter.push(position)
        except InputError as error:
            raise placed(error, sequence=None, position=self._n_scored) from None
        self._n_scored += 1
        return self._nothing if told is None else tilted(told[None], self._model.tilt_)

    def _position(self, t: int, *, last: bool) -> Position:
        """The scores of position t, and the edges that lead to it."""
        rows, begin = [row for row, _ in self._rows], self.n_pushed - len(self._rows)
        i, nodes = t - begin, np.empty((1, self._filter.n_labels))
        if self._ready is not None:
            edges = self._ready.score_one(self._dataset(rows, begin), nodes, i, first=t == 0, last=last)
            position = Position(nodes[0], edges)
        else:
            if self._ends and not last and i == len(rows) - 1:
                rows.append(rows[-1])  # so that it is not taken for the last one
            position = Position.of(self._model._tempered(self._dataset(rows, begin), 0, 1), i)
        allowed = self._rows[i][1]
        return position if allowed is None else position.restrict(allowed)

    def _dataset(self, rows: list[Any], begin: int) -> Dataset:
        X = [np.stack(rows) if isinstance(rows[0], np.ndarray) else rows]
        try:
            short = self._model._short_dataset(X, None) if self._ready is not None else None
            return self._model._dataset(X, None, None) if short is None else short
        except InputError as error:
            place = None if error.position is None else min(begin + error.position, self.n_pushed - 1)
            raise placed(error, sequence=None, position=place) from None

    def _mask(self, known: Any) -> BoolArray:
        codes = self._model.schema_.label_codes
        try:
            coded = encode_labels([[known]], _ONE, codes)
        except InputError as error:
            raise placed(error, sequence=None, position=self.n_pushed) from None
        allowed: BoolArray = np.arange(len(codes)) == coded.codes[0]
        return allowed if coded.allowed is None else np.asarray(coded.allowed[0])


class AverageStream(Streaming):
    """The mean of what streams of several models tell of one sequence.

    streams : of models with the same labels and the same lag
    temper : what makes the probabilities (m, K) of their mean
    """

    def __init__(self, streams: Sequence[Stream], temper: Callable[[FloatArray], FloatArray]) -> None:
        self._streams, self._temper = streams, temper
        self.delay, self._nothing = max(one.delay for one in streams), streams[0]._nothing
        self.reset()

    @property
    def n_pushed(self) -> int:  # type: ignore[override]
        """Positions so far."""
        return self._streams[0].n_pushed

    def reset(self) -> None:
        """Forget all positions: the next one is the first of another sequence."""
        for one in self._streams:
            one.reset()
        self._told = [self._nothing] * len(self._streams)  # by some streams, and not yet by all

    def push(self, x: Any, known: Any = None) -> FloatArray:
        """As `Stream.push`."""
        state = self._state()
        try:
            return self._mean([one.push(x, known) for one in self._streams])
        except BaseException:
            self._restore(state)
            raise

    def _state(self) -> tuple[Any, ...]:
        return [one._state() for one in self._streams], list(self._told)

    def _restore(self, state: tuple[Any, ...]) -> None:
        states, self._told = state
        for one, own in zip(self._streams, states):
            one._restore(own)

    def finish(self) -> FloatArray:
        """As `Stream.finish`."""
        told = self._mean([one.finish() for one in self._streams])
        self.reset()
        return told

    def _mean(self, told: list[FloatArray]) -> FloatArray:
        self._told = [np.concatenate(pair) for pair in zip(self._told, told)]
        m = min(map(len, self._told))
        mean: FloatArray = np.mean([probs[:m] for probs in self._told], axis=0)
        self._told = [probs[m:] for probs in self._told]
        return self._temper(mean) if m else self._nothing


def _row(x: Any) -> Any:
    """A position as an object of its own, for its owner may use it again; a row of numbers as an array."""
    if isinstance(x, (list, tuple)):
        numbers = any(isinstance(value, NUMBERS) for value in x)
        if numbers and all(value is None or isinstance(value, NUMBERS) for value in x):
            return np.array([np.nan if value is None else value for value in x], dtype=np.float64)
        return list(x)
    return unmasked(x).copy() if isinstance(x, np.ndarray) else x.copy() if isinstance(x, dict) else x
