"""What a cluster does, without one: an engine whose members lie in this process and answer one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hedgerow.data.parts.corpus import Piece
from hedgerow.training.pool import Lost, Operation, Seat


class LocalPool:
    """Members in this process, one after the other."""

    def __init__(self, makers: Sequence[Callable[[], Any]]) -> None:
        self.seats = [Seat(make) for make in makers]
        self.n_members, self.n_calls = len(self.seats), 0

    def call(self, operations: Sequence[Operation], history: Sequence[Operation]) -> list[list[Any]]:
        given = []
        for seat in self.seats:
            answer = seat.call(self.n_calls, operations)
            if answer is None:
                seat.catch_up(self.n_calls, [*history, *operations[:-1]])
                answer = seat.call(self.n_calls, operations[-1:])
            assert answer is not None
            given.append(answer)
        self.n_calls += 1
        return given

    def swap(self, operations: Sequence[Operation], then: str, history: Sequence[Operation]) -> list[Any]:
        given = [seat.call(self.n_calls, operations) for seat in self.seats]
        self.n_calls += 1
        for seat, one in zip(self.seats, given):
            if one is None:
                seat.catch_up(self.n_calls, [*history, *operations[:-1]])
        packed = [one[-1] for one in given if one is not None]
        if len(packed) < len(given):
            raise Lost
        return [getattr(seat.member, then)(m, [own[m] for own in packed]) for m, seat in enumerate(self.seats)]

    def close(self) -> None:
        self.seats.clear()


class LocalEngine:
    """Parts in this process: what a cluster does, without one."""

    def __init__(self, parts: Sequence[Any], n_members: int, n_threads: int = 1) -> None:
        self.parts, self.n_parts, self.n_members, self.n_threads = parts, len(parts), n_members, n_threads
        self.memory = float("inf")

    def each(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [function(part, *own) for part, own in zip(self.parts, arguments, strict=True)]

    def pool(self, members: Sequence[Sequence[Piece]], make: Callable[..., Any], given: Sequence[Any]) -> LocalPool:
        def maker(pieces: Sequence[Piece], own: Sequence[Any]) -> Callable[[], Any]:
            return lambda: make(*own, [one.function(self.parts[one.part], *one.arguments) for one in pieces])

        return LocalPool([maker(pieces, own) for pieces, own in zip(members, given, strict=True)])
