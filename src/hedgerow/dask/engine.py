"""Parts and members on the workers of a Dask cluster. Nothing here knows what they compute.

Parts are futures: Dask keeps them on workers, writes them to disk where memory is short, and makes them again from
their source where a worker is lost. Members are actors, for they have a state that calls change. One that is lost is
made again on another worker, from the parts, and does over what it had done.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pickle import loads
from typing import Any

from hedgerow.data.parts.corpus import Piece
from hedgerow.errors import HedgerowError, InputError, shown
from hedgerow.training.pool import Lost, Operation, Seat

log = logging.getLogger("hedgerow.dask")

PATIENCE = 120  # seconds without any worker
MOST_LOST = 20  # members of one pool: beyond, workers die of the work itself
MORE_ROOM = (
    "Most often they run out of memory: give partitions fewer rows, or workers more memory, or start fewer of them. "
    "The logs of the workers say more."
)
# Of a worker's memory: what parts may have, which are read a few times. Members need the rest.
SPILLING = {"distributed.worker.memory.target": 0.2, "distributed.worker.memory.spill": 0.4}
PULSE = 2.0  # seconds after which one who waits looks whether the others are still there


def find_client(client: Any) -> Any:
    """The client that is given, or that there is; refused where its workers cannot do the work."""
    try:
        from distributed import Client, default_client
    except ImportError as error:
        raise InputError("Dask is not installed", hint="pip install 'hedgerow[dask]'") from error
    if client is None:
        try:
            client = default_client()  # type: ignore[no-untyped-call]
        except ValueError:
            hint = "Make one first: client = dask.distributed.Client(), or give ⟦client⟧."
            raise InputError("there is no Dask client", hint=hint) from None
    if not isinstance(client, Client):
        hint = "Give a dask.distributed.Client."
        raise InputError(f"⟦client⟧ is of type {type(client).__name__}", hint=hint)
    workers: Any = client  # Dask has no types
    if workers.status != "running":
        raise InputError(f"the Dask client is {workers.status}", hint="Make another: dask.distributed.Client().")
    if not workers.nthreads():
        raise InputError("the Dask cluster has no workers", hint="Start some: client.cluster.scale(2).")
    own = version("hedgerow")
    for worker, found in client.run(version, "hedgerow", on_error="return").items():
        if found != own:
            what = f"has hedgerow {found}" if isinstance(found, str) else "does not have hedgerow"
            raise InputError(f"the worker {worker} {what}", hint=f"Install hedgerow {own}, as here, on all workers.")
    return client


@contextmanager
def explained() -> Iterator[None]:
    """Say what it means that Dask gave up because workers died."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        n_lost = int(getattr(error, "allowed_failures", 0)) + 1
        raise HedgerowError(f"{n_lost} workers died of the same partition, one after the other. {MORE_ROOM}") from error


@contextmanager
def local_client(n_workers: int, memory: str | None = None) -> Iterator[Any]:
    """The client of worker processes on this machine, for as long as the block lasts. memory : of all together"""
    try:
        import dask.config
        from dask.utils import parse_bytes
        from distributed import Client, LocalCluster, WorkerPlugin
    except ImportError as error:
        raise InputError("Dask is not installed", hint="pip install 'hedgerow[dask]'") from error
    if n_workers < 1:
        raise InputError(f"⟦workers⟧ is {n_workers}", hint="Give at least 1.")
    try:
        limit: Any = "auto" if memory is None else parse_bytes(memory) // n_workers
    except ValueError:
        raise InputError(f"⟦memory⟧ is {memory!r}", hint="Give a size, such as 4GB.") from None

    class IgnoresTerminal(WorkerPlugin):
        """A terminal tells workers, too, of Ctrl-C and of its end; what that means is the driver's business."""

        def setup(self, worker: Any) -> None:
            for name in ("SIGINT", "SIGHUP"):
                if hasattr(signal, name):  # Windows has no SIGHUP
                    signal.signal(getattr(signal, name), signal.SIG_IGN)

    shape: dict[str, Any] = {"threads_per_worker": 1, "memory_limit": limit, "dashboard_address": ":0"}
    start: Any = LocalCluster  # Dask has no types
    connect: Any = Client
    with (
        dask.config.set(SPILLING),
        start(n_workers=n_workers, **shape) as cluster,
        connect(cluster, direct_to_workers=True) as client,
    ):
        client.register_plugin(IgnoresTerminal())
        yield client


class DaskEngine:
    """The parts of a corpus as futures, and pools of actors.

    sources : Delayed of the parts, which Dask makes again where one is lost
    """

    def __init__(self, client: Any, sources: Sequence[Any]) -> None:
        self.client = client
        self.parts: list[Any] = client.compute(list(sources))
        self.n_parts = len(self.parts)

    @property
    def n_members(self) -> int:
        return max(1, len(self.client.nthreads()))

    @property
    def n_threads(self) -> int:
        return min(self.client.nthreads().values(), default=1)

    @property
    def memory(self) -> float:
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return min((worker["memory_limit"] or float("inf") for worker in workers), default=float("inf"))

    def each(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        given = zip(self.parts, arguments, strict=True)
        futures = [self.client.submit(function, part, *own, pure=False) for part, own in given]
        return list(self.client.gather(futures))

    def pool(self, members: Sequence[Sequence[Piece]], make: Callable[..., Any], given: Sequence[Any]) -> DaskPool:
        return DaskPool(self, list(zip(members, given, strict=True)), make)

    def close(self) -> None:
        """Forget the parts."""
        self.parts = []


class DaskPool:
    """Members as actors, about as many on each worker."""

    def __init__(self, engine: DaskEngine, members: list[tuple[Any, Any]], make: Callable[..., Any]) -> None:
        self.engine, self.make, self.members = engine, make, members
        self.n_members, self.n_calls, self._n_lost, self._met = len(members), 0, 0, False
        self.places = [""] * len(members)  # the worker of each
        futures = [self._start(m) for m in range(len(members))]
        self.actors = [future.result() for future in futures]

    def _start(self, m: int) -> Any:
        """The future of a member's actor, on the worker that has the fewest of them."""
        client, (pieces, given) = self.engine.client, self.members[m]
        held = Counter(place for j, place in enumerate(self.places) if j != m)
        if not client.nthreads():  # nannies start others
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise HedgerowError(f"the Dask cluster has had no workers for {PATIENCE} seconds") from None
        lost = self.places[m]  # the scheduler may not have noticed yet
        workers = [worker for worker in client.nthreads() if worker != lost] or list(client.nthreads())
        self.places[m] = place = min(workers, key=lambda worker: held[worker])
        where = {"workers": [place], "allow_other_workers": True, "pure": False}
        parts = [client.submit(one.function, self.engine.parts[one.part], *one.arguments, **where) for one in pieces]
        return client.submit(DaskSeat, m, self.make, given, parts, actor=True, **where)

    def call(self, operations: Sequence[Operation], history: Sequence[Operation]) -> list[list[Any]]:
        answers = self._all("call", self.n_calls, dumps(list(operations)))
        for m, answer in enumerate(answers):
            while answer is None:
                self._make_again(m, [*history, *operations[:-1]])
                answer = self._answer(m, self._ask(m, "call", self.n_calls, dumps(list(operations[-1:]))))
            answers[m] = answer
        self.n_calls += 1
        return [loads(answer) for answer in answers]

    def swap(self, operations: Sequence[Operation], then: str, history: Sequence[Operation]) -> list[Any]:
        if not self._met:
            self._all("meet", self.actors)
        self._met = True
        found = self._all("swap", self.n_calls, dumps(list(operations)), then)
        self.n_calls += 1
        for m, one in enumerate(found):
            if one is None:
                self._make_again(m, [*history, *operations[:-1]])
        if not all(found):
            self._met = False
            self._count_loss()
            raise Lost
        return [loads(one) for one in found]

    def _all(self, name: str, *arguments: Any) -> list[Any]:
        """What a method of every seat gives; None where it is lost."""
        asked = [self._ask(m, name, *arguments) for m in range(self.n_members)]
        answers = []
        for m, future in enumerate(asked):
            answers.append(self._answer(m, future, asked))
            if not answers[-1]:
                self._give_up()
        return answers

    def _give_up(self) -> None:
        """Let nobody wait for what one who is lost would have handed out."""
        for j in range(self.n_members):
            self._ask(j, "give_up")

    def _ask(self, m: int, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self.actors[m], name)(*arguments)
        except (OSError, RuntimeError):  # its worker is gone
            return None

    def _answer(self, m: int, future: Any, asked: Sequence[Any] = ()) -> Any:
        """What a member gave; None where it is lost. asked : what all of them were asked together"""
        while True:
            try:
                return None if future is None else future.result(timeout=PULSE)
            except TimeoutError:
                lost = [j for j in range(self.n_members) if self._is_lost(j)]
                if m in lost:
                    return None
                if lost or any(map(_in_vain, asked)):
                    self._give_up()
            except (OSError, RuntimeError) as error:
                if isinstance(error, RuntimeError) and "Actor" not in str(error):
                    raise
                return None

    def _is_lost(self, m: int) -> bool:
        try:
            return not self.actors[m].call  # which raises an error where Dask knows of it
        except RuntimeError:
            return True

    def _count_loss(self) -> None:
        self._n_lost += 1
        if self._n_lost > MOST_LOST:
            raise HedgerowError(f"workers were lost {MOST_LOST} times in one training. {MORE_ROOM}")

    def _make_again(self, m: int, history: Sequence[Operation]) -> None:
        """Make a member anew on another worker, from the parts, and let it do over what it did."""
        while True:
            self._count_loss()
            log.warning("the worker %s was lost; its part of the data is made ready on another", self.places[m])
            self._met = False
            try:
                self.actors[m] = self._start(m).result()
            except OSError:
                continue
            if self._answer(m, self._ask(m, "catch_up", self.n_calls, list(history))) is not None:
                return

    def close(self) -> None:
        self.actors = []


class DaskSeat(Seat):
    """A seat that hands its parcels to the others by itself. number : among them

    What the driver sends and gets is pickled here: Dask would make a frame of every small array.
    What waits for others are coroutines, which hold no thread: two fits on one worker cannot wait for each other.
    """

    def __init__(self, number: int, make: Callable[..., Any], given: Sequence[Any], pieces: Sequence[Any]) -> None:
        with suppress(ImportError):
            from pyarrow import default_memory_pool

            default_memory_pool().release_unused()  # what reading took, and Arrow keeps
        super().__init__(make, *given, list(pieces))
        self.number, self.others, self.in_vain = number, list[Any](), False
        self.parcels: dict[tuple[int, int], Any] = {}  # by call and sender
        self._news = asyncio.Event()

    def meet(self, seats: Sequence[Any]) -> bool:
        """Who the others are, and this one, all as actors."""
        self.others, self.in_vain = list(seats), False
        self.parcels.clear()
        return True

    def call(self, n_before: int, operations: Any) -> Any:
        given = super().call(n_before, loads(operations))
        return None if given is None else dumps(given)

    async def swap(self, n_before: int, operations: bytes, then: str) -> bytes | None:
        """Do the operations, hand out the parcels that the last one gives, and what the member makes of those for it;
        None as in `call`, and nothing where one is lost."""
        from distributed import get_worker

        run = partial(asyncio.get_running_loop().run_in_executor, get_worker().executors["actor"])
        try:
            given = await run(super().call, n_before, loads(operations))
        except Exception:
            self._release()
            raise
        if given is None:
            return None
        wanted = [(n_before, m) for m in range(len(self.others))]
        parcels = {m: (*wanted[self.number], one) for m, one in enumerate(given[-1]) if m != self.number}
        self._delivery = asyncio.ensure_future(self._deliver(parcels))
        self.parcels[wanted[self.number]] = given[-1][self.number]
        while not self.in_vain and any(key not in self.parcels for key in wanted):
            self._news.clear()
            await self._news.wait()
        if self.in_vain:
            return b""
        found = await run(getattr(self.member, then), self.number, [self.parcels.pop(key) for key in wanted])
        return dumps(found) if await self._delivery else b""

    async def _deliver(self, parcels: dict[int, tuple[Any, ...]]) -> bool:
        """Hand parcels out; whether all have arrived. Where one has not, nobody waits any longer."""
        try:
            await asyncio.gather(*(self.others[m].take(*given) for m, given in parcels.items()))
        except (OSError, RuntimeError):
            await self.give_up()
            self._release()
            return False
        return True

    def _release(self) -> None:
        """Let no seat wait any longer. Where one is gone, the driver says so."""
        for seat in self.others:
            with suppress(OSError, RuntimeError):
                seat.give_up()

    async def take(self, n_before: int, m: int, parcel: Any) -> None:
        """Have a parcel from another."""
        self.parcels[n_before, m] = parcel
        self._news.set()

    async def give_up(self) -> None:
        """Wait for parcels no longer: one is lost."""
        self.in_vain = True
        self._news.set()


def _in_vain(future: Any) -> bool:
    """Whether a seat has answered that it cannot go on, or with an error."""
    try:
        return future is None or (future.done() and not future.result())
    except Exception:
        return True


def dumps(value: Any) -> bytes:
    """A message as one piece."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def check_name(names: Sequence[str], wanted: Sequence[str | None]) -> None:
    """Refuse names of columns that a frame does not have."""
    missing = next((name for name in wanted if name is not None and name not in names), None)
    if missing is not None:
        raise InputError(f"there is no column {missing!r}", hint=f"Columns are {shown(list(names), 20)}.")
