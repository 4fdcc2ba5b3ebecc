"""A pool: members that have the parts of a corpus, and do what they are asked to, all the same and in the same order.

A trainer that leads a pool sees nothing of the data but what members answer. Where they are is the engine's business:
`hedgerow.dask` has them on the workers of a cluster; another engine is one file. A member that is lost is made again
and told what it has to do over (`history`), so that it is what it was, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


class Operation(NamedTuple):
    """A method of a member, and what it is given. again : what does the same in a member that was made anew"""

    name: str
    arguments: tuple[Any, ...] = ()
    again: Any = None


class Lost(Exception):
    """A member was lost in a swap; it is again what all operations but the last had made it."""


class Pool(Protocol):
    """Members in the order of the corpus, of which each has a run of it."""

    @property
    def n_members(self) -> int:
        """How many there are."""

    def call(self, operations: Sequence[Operation], history: Sequence[Operation]) -> list[list[Any]]:
        """Let every member do these operations: for each member what they gave. history : what it takes to make a lost
        member what it was before them."""

    def swap(self, operations: Sequence[Operation], then: str, history: Sequence[Operation]) -> list[Any]:
        """Let every member do these operations, of which the last gives a parcel for each member; hand these out, and
        let every member do `then`, with its number and the parcels for it: for each member what that gave. Where a
        member is lost, it is made again, without the last operation, and the swap is `Lost`."""

    def close(self) -> None:
        """Forget the members."""


def close_pools(*leads: Any) -> None:
    """Forget the members of those that lead some: their memory is for the next training."""
    for lead in leads:
        if hasattr(lead, "pool"):
            lead.pool.close()


class Seat:
    """A member, and the number of the calls that it has answered: one that was made anew has answered none."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        self.member, self.n_calls = make(*given), 0

    def call(self, n_before: int, operations: Sequence[Operation]) -> list[Any] | None:
        """What the operations give; None where the member is not what `n_before` calls have made it."""
        if n_before != self.n_calls:
            return None
        self.n_calls = -1  # an error in the midst leaves a member that is of no use
        given = [getattr(self.member, one.name)(*one.arguments) for one in operations]
        self.n_calls = n_before + 1
        return given

    def catch_up(self, n_before: int, history: Sequence[Operation]) -> bool:
        """Do over what so many calls did, in a member that was made anew."""
        for one in history:
            instead = one if one.again is None else one.again
            getattr(self.member, instead.name)(*instead.arguments)
        self.n_calls = n_before
        return True
