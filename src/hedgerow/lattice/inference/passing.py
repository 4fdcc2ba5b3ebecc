"""Messages under way on one graph, on exponentials or in the log domain; the caller says when to stop.

On exponentials the bounds on the messages into a node, added up, must stay within a double. That is known before the
first message: the scores of an edge bound the ratio of the entries of its messages. Steeper scores go to the log
domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import NumbersError
from hedgerow.lattice import kernels
from hedgerow.lattice.inference.chains import Cover
from hedgerow.lattice.scores import Potentials
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

# Of the logarithm of a product of messages. The scores of an edge, which may span twice as much, come on top, and three
# times this must be within a double (708).
STEEP = 230.0
SLICE = 1 << 20  # nodes or edges of one call of a kernel, so that Ctrl-C is heard

ALL_SEND: AnyArray = np.empty((2, 0), dtype=np.uint8)

Answer = tuple[FloatArray, FloatArray, float]


def forward(n: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of slices of n nodes or edges."""
    return ((begin, min(begin + SLICE, n)) for begin in range(0, n, SLICE))


def backward(n: int) -> Iterator[tuple[int, int]]:
    """The same from the last one on; the end does not belong to a slice here either."""
    return ((last, max(last - SLICE, -1)) for last in range(n - 1, -1, -SLICE))


class Turn(NamedTuple):
    """What one call of a kernel is to send.

    low, high : (n,), node i sends along out[low[i]:high[i]]
    begin, end, step : of the nodes in their order
    into : (2M, K), the messages themselves, or those that take their place when all are made
    awake : (2, n), or (2, 0) where all nodes send; way, 0 or 1: its row
    quiet : a change that is no news
    damping, maximise : as in `Passing.sweep`
    """

    low: IndexArray
    high: IndexArray
    begin: int
    end: int
    step: int
    into: FloatArray
    awake: AnyArray
    way: int
    quiet: float
    damping: float
    maximise: bool


class Passing:
    """What the forms share. `messages` (2M, K) are probabilities or logs, with the largest entry 1 or 0. They are
    tree-reweighted where the weights of a cover of the graph are not all 1."""

    _largest = 0.0

    def __init__(self, potentials: Potentials, chains: Cover, start: FloatArray | None) -> None:
        self.potentials, (self.topology, self._rho) = potentials, chains
        shape = 2 * self.topology.n_edges, potentials.n_labels
        self.messages = np.full(shape, self._largest) if start is None else start
        self._fresh: FloatArray | None = None
        self._awake: AnyArray = np.ones((2, self.topology.n_nodes), dtype=np.uint8)
        self._product, self._fresh_row = np.empty((2, potentials.n_labels))

    @property
    def all_awake(self) -> bool:
        """Whether the next sweep sends every message."""
        return bool(self._awake.all())

    @property
    def awake(self) -> float:
        """The share of nodes that will send in the next sweep, since a message to them has changed."""
        return float(self._awake.any(axis=0).mean()) if self._awake.size else 0.0

    def wake(self) -> None:
        """Let every node send in the next sweep."""
        self._awake[:] = 1

    def sweep(self, damping: float, maximise: bool, quiet: float = 0.0) -> float:
        """Every message once, each from the newest ones: to nodes before, from the last node on, then to nodes after.

        A node that no message into it changed by more than `quiet` since it last sent has nothing to say, and sends
        nothing. Returns the largest change of a message.
        """
        top = self.topology
        how: tuple[Any, ...] = float(quiet), float(damping), bool(maximise)
        back = Turn(top.ptr[:-1], top.middle, 0, 0, -1, self.messages, self._awake, 0, *how)
        forth = Turn(top.middle, top.ptr[1:], 0, 0, 1, self.messages, self._awake, 1, *how)
        change = self._send_slices(back, backward(top.n_nodes))
        return max(change, self._send_slices(forth, forward(top.n_nodes)))

    def flood(self, damping: float, maximise: bool) -> float:
        """Every message once, all from the old ones; the largest change of a message."""
        top = self.topology
        if self._fresh is None:
            self._fresh = np.empty_like(self.messages)
        how: tuple[Any, ...] = 0.0, float(damping), bool(maximise)
        turn = Turn(top.ptr[:-1], top.ptr[1:], 0, 0, 1, self._fresh, ALL_SEND, 0, *how)
        change = self._send_slices(turn, forward(top.n_nodes))
        self.messages, self._fresh = self._fresh, self.messages
        return change

    def _send_slices(self, turn: Turn, slices: Iterable[tuple[int, int]]) -> float:
        """Send from slice after slice of the nodes; the largest change of a message."""
        return max([0.0, *(self._send(turn._replace(begin=begin, end=end)) for begin, end in slices)])

    def beliefs(self) -> Answer:
        """Node and edge probabilities, and the approximation of log Z."""
        top, K = self.topology, self.potentials.n_labels
        node_probs: FloatArray = np.empty((top.n_nodes, K))
        edge_probs: FloatArray = np.empty((top.n_edges, K, K))
        total = self._shift()
        for begin, end in forward(top.n_nodes):
            total += self._node_beliefs(node_probs, begin, end)
        for begin, end in forward(top.n_edges):
            total += self._edge_beliefs(node_probs, edge_probs, begin, end)
        return node_probs, edge_probs, total

    def node_probs(self) -> FloatArray:
        """Node probabilities alone; max-marginals, scaled to a sum of 1, where messages were maximised."""
        probs: FloatArray = np.empty((self.topology.n_nodes, self.potentials.n_labels))
        for begin, end in forward(len(probs)):
            self._node_beliefs(probs, begin, end)
        return probs

    def logs(self) -> FloatArray:
        """The logarithms of the messages, (2M, K): a copy."""
        return self.messages.copy()

    def put_logs(self, logs: FloatArray) -> None:
        """Go on from these logarithms, up to a constant of each message."""
        np.subtract(logs, logs.max(axis=1, keepdims=True), out=self.messages)

    def _shift(self) -> float:
        """What has to be added to the log Z that the messages give."""
        return 0.0

    def _send(self, turn: Turn) -> float:
        raise NotImplementedError

    def _node_beliefs(self, probs: FloatArray, begin: int, end: int) -> float:
        raise NotImplementedError

    def _edge_beliefs(self, node_probs: FloatArray, probs: FloatArray, begin: int, end: int) -> float:
        raise NotImplementedError


class ExpPassing(Passing):
    """Messages on exponentials: the scores of a node and of an edge less the largest of them."""

    _largest = 1.0

    def __init__(self, potentials: Potentials, chains: Cover, start: FloatArray | None) -> None:
        super().__init__(potentials, chains, start)
        rho = chains.weights if len(chains.weights) else np.ones(1)
        self._rho = rho[:1] if rho.min() == rho.max() else rho  # alike, as on most grids
        node_tops = potentials.node_scores.max(axis=1, keepdims=True)
        edge_tops = potentials.edge_scores.max(axis=(1, 2), keepdims=True)
        self._node_exp = np.exp(potentials.node_scores - node_tops)
        self._edge_exp = np.exp((potentials.edge_scores - edge_tops) / self._rho[:, None, None])
        n_shared = potentials.topology.n_edges if len(edge_tops) == 1 else 1
        self._tops = float(node_tops.sum()) + n_shared * float(edge_tops.sum())

    def logs(self) -> FloatArray:
        return np.log(self.messages)

    def put_logs(self, logs: FloatArray) -> None:
        logs = logs - logs.max(axis=1, keepdims=True)
        edges = np.log(self._edge_exp)  # which bound the ratio of two entries of a message, as in `steepness`
        least = -np.maximum(np.ptp(edges, axis=1), np.ptp(edges, axis=2)).max(axis=1)
        np.exp(np.maximum(logs, (least if len(least) == 1 else np.repeat(least, 2))[:, None]), out=self.messages)

    def _shift(self) -> float:
        return self._tops

    def _send(self, turn: Turn) -> float:
        top = self.topology
        graph = self._node_exp, self._edge_exp, self._rho, top.ends, top.ptr, top.out, top.order
        given = *graph, *turn[:5], self.messages, *turn[5:]
        if self.potentials.n_labels == 2:
            return float(kernels.messages.propagate_two(*given))
        return float(kernels.messages.propagate(*given, self._product, self._fresh_row))

    def _node_beliefs(self, probs: FloatArray, begin: int, end: int) -> float:
        given = self._node_exp, self._rho, self.topology.ptr, self.topology.out, self.messages
        return float(kernels.messages.node_beliefs(*given, probs, self._product, begin, end))

    def _edge_beliefs(self, node_probs: FloatArray, probs: FloatArray, begin: int, end: int) -> float:
        given = self._edge_exp, self._rho, self.topology.ends, self.messages
        return float(kernels.messages.edge_beliefs(*given, node_probs, probs, begin, end))


class LogPassing(Passing):
    """Messages in the log domain."""

    def _send(self, turn: Turn) -> float:
        top, scores = self.topology, self.potentials
        graph = scores.node_scores, scores.edge_scores, self._rho, top.ends, top.ptr, top.out, top.order
        given = *graph, *turn[:5], self.messages, *turn[5:], self._product, self._fresh_row
        return float(kernels.log_messages.propagate(*given))

    def prepare_relaxation(self, damping: float, maximise: bool) -> None:
        """Make every message that would come next, and a heap of them with the one that changes most first."""
        self.flood(damping, maximise)
        assert self._fresh is not None
        self._pending, self.messages = self.messages, self._fresh
        self._fresh = None
        self._urgency = np.abs(np.exp(self._pending) - np.exp(self.messages)).max(axis=1, initial=0.0)
        self._heap = np.argsort(-self._urgency, kind="stable").astype(INDEX)
        self._place = np.empty_like(self._heap)
        self._place[self._heap] = np.arange(len(self._heap))

    def relax(self, damping: float, maximise: bool, tol: float) -> float:
        """As many updates as there are messages; the largest change that is left to make."""
        top, scores = self.topology, self.potentials
        left = 0.0
        for begin, end in forward(len(self.messages)):
            left = kernels.log_messages.relax(
                scores.node_scores, scores.edge_scores, self._rho, top.ends, top.ptr, top.out, self.messages,
                self._pending, self._urgency, self._heap, self._place, self._product, float(damping), bool(maximise),
                end - begin, float(tol),
            )  # fmt: skip
        return left

    def _node_beliefs(self, probs: FloatArray, begin: int, end: int) -> float:
        given = self.potentials.node_scores, self._rho, self.topology.ptr, self.topology.out, self.messages
        return float(kernels.log_messages.node_beliefs(*given, probs, self._product, begin, end))

    def _edge_beliefs(self, node_probs: FloatArray, probs: FloatArray, begin: int, end: int) -> float:
        given = self.potentials.edge_scores, self._rho, self.topology.ends, self.messages
        return float(kernels.log_messages.edge_beliefs(*given, node_probs, probs, begin, end))


def make_passing(
    potentials: Potentials, *, reweighted: bool = False, by_logs: bool = False, start: FloatArray | None = None
) -> Passing:
    """Messages that say nothing yet, or those of an earlier call, in the form that the scores ask for."""
    top, edges = potentials.topology, potentials.edge_scores
    # How far, at any node, the logarithms of its messages can be apart in all.
    steepness = float(kernels.messages.steepness(edges, top.ptr, top.out, np.empty(len(edges))))
    chains = top.chains if reweighted else Cover(top, np.ones(top.n_edges))
    logs = by_logs or steepness > STEEP * chains.weights.min(initial=1.0)
    if start is not None:
        fits = start.shape == (2 * top.n_edges, potentials.n_labels) and in_logs(start) == logs
        start = start.copy() if fits else None
    return (LogPassing if logs else ExpPassing)(potentials, chains, start)


def in_logs(messages: FloatArray) -> bool:
    """Whether messages are logarithms: on exponentials the largest entry is 1."""
    return messages.size == 0 or bool(messages.max() <= 0.0)


def checked(change: float) -> float:
    """The largest change of a message; an error where that is not finite."""
    if not np.isfinite(change):
        raise NumbersError("the messages are not numbers: the scores are too large")
    return change
