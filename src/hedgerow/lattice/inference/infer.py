"""Probabilities on a graph: loopy belief propagation, its tree-reweighted form, and mean field.

All three give node and edge probabilities, an approximation of log Z whose derivatives by the scores they are, and
whether they converged. On a graph without a circle the first two are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from hedgerow.lattice import kernels
from hedgerow.lattice.inference.labelings import improve
from hedgerow.lattice.inference.passing import LogPassing, Passing, backward, checked, forward, in_logs, make_passing
from hedgerow.lattice.scores import Potentials
from hedgerow.legend import CodeArray, FloatArray
from hedgerow.training import kernels as training_kernels

METHODS = ("loopy", "tree_reweighted", "mean_field")
SCHEDULES = ("sequential", "parallel", "residual")
BLOCK = 1 << 14  # edges that are compared with their nodes at once
QUIET = 0.1  # of the tolerance: a smaller change of a message is no news to its receiver
PERIOD = 20  # updates after which it is asked whether messages swing
SWING = 0.01  # a smaller change of a message is no swing
STEP, MOST = 0.25, 0.75  # of the damping that messages which swing are given
CHECK = 10  # sweeps of tree-reweighted messages after which the bound is looked at
FEW, PATIENCE = 0.6, 100  # the share of nodes with news, and a number of sweeps, up to which these are plain
AGREE = 0.01  # what an edge and a node may say differently of a label where messages have converged
ROUNDING = 1e-13  # of a bound: what it may rise by without having risen
DEPTH = 5  # sweeps that an extrapolation remembers; more than that gains little
MEMORY = 1 << 28  # bytes of what is remembered; fewer sweeps are where messages are very many
RIDGE = 1e-10  # of the trace, on the diagonal: sweeps that go nearly the same way tell the same


@dataclass(frozen=True)
class Inference:
    """How to infer.

    method : "loopy", "tree_reweighted" or "mean_field"
    schedule : "sequential" (a sweep back and one forth, each message counts at once), "parallel" (all messages from
        the old ones) or "residual" (the message that would change most first); only "loopy" has a choice
    damping : the share of the old message that stays, from 0 to below 1; where messages swing it rises by itself; only
        for "loopy": the others converge without
    max_updates : the most updates of every message, on average; back and forth is one
    tol : messages, whose largest entry is 1, have converged when none would change by more without damping
    """

    method: str = "loopy"
    schedule: str = "sequential"
    damping: float = 0.0
    max_updates: int = 1000
    tol: float = 1e-6

    def __call__(self, potentials: Potentials, start: FloatArray | None = None) -> Beliefs:
        """The beliefs, from messages (or, for mean field, probabilities) of an earlier call where they are given."""
        if self.method == "mean_field":
            return _mean_field(potentials, self, start)
        beliefs = _infer(potentials, self, start)
        if beliefs.converged or start is not None or self.method == "tree_reweighted":
            return beliefs
        # Messages that linger have just lost a fixed point; those of nodes sure of their labels find another.
        labels = improve(potentials, beliefs.node_probs.argmax(axis=1)).labels
        other = _infer(potentials, self, self._decided(potentials, labels, beliefs.state))
        return other if other.converged else beliefs

    def _decided(self, potentials: Potentials, labels: CodeArray, like: FloatArray) -> FloatArray:
        """The messages of nodes that are sure of their labels (n,), in the form of other messages."""
        top, K = potentials.topology, potentials.n_labels
        tables = np.broadcast_to(potentials.edge_scores, (top.n_edges, K, K))
        each, (tail, head) = np.arange(top.n_edges), labels[top.ends].T
        messages = np.stack([tables[each, tail], tables[each, :, head]], axis=1).reshape(-1, K)
        messages -= messages.max(axis=1, keepdims=True)
        return messages if in_logs(like) else np.exp(messages)


class Beliefs(NamedTuple):
    """What inference gave.

    node_probs : (n, K)
    edge_probs : (M, K, K)
    log_partition : the approximation of log Z
    converged, n_updates, change : whether messages converged, after how many updates of each, and by how much the last
        update changed one at most
    state : messages or probabilities, where to start from next time
    """

    node_probs: FloatArray
    edge_probs: FloatArray
    log_partition: float
    converged: bool
    n_updates: int
    change: float
    state: FloatArray


class Report(NamedTuple):
    """How message passing ended."""

    converged: bool
    n_updates: int
    change: float


def propagate(
    potentials: Potentials, inference: Inference, start: FloatArray | None = None, *, maximise: bool = False
) -> tuple[Passing, Report]:
    """Messages, passed until they converge or max_updates are over; sums of products, or their maxima."""
    reweighted = inference.method == "tree_reweighted"
    residual = inference.schedule == "residual" and not potentials.topology.is_acyclic
    passing = make_passing(potentials, reweighted=reweighted, by_logs=residual, start=start)
    return passing, run(passing, inference, maximise=maximise)


def _infer(potentials: Potentials, inference: Inference, start: FloatArray | None) -> Beliefs:
    passing, report = propagate(potentials, inference, start)
    node_probs, edge_probs, log_partition = passing.beliefs()
    if not _agree(potentials, node_probs, edge_probs):
        report = report._replace(converged=False)
    return Beliefs(node_probs, edge_probs, log_partition, *report, passing.messages)


def _agree(potentials: Potentials, node_probs: FloatArray, edge_probs: FloatArray) -> bool:
    """Whether edges and nodes say the same of a label. Scores in the hundreds make messages so steep that they seem to
    converge, since no change of them is seen next to 1, while what they make of the nodes still changes."""
    ends = potentials.topology.ends
    for begin in range(0, len(ends), BLOCK):  # what is made here stays in the cache
        some, (tail, head) = edge_probs[begin : begin + BLOCK], ends[begin : begin + BLOCK].T
        for way, end in (("euv->eu", tail), ("euv->ev", head)):  # a sum over an axis of two takes five times as long
            gap = np.einsum(way, some)
            gap -= node_probs[end]
            if not np.abs(gap, out=gap).max() <= AGREE:
                return False
    return True


def run(passing: Passing, inference: Inference, *, maximise: bool = False) -> Report:
    """Pass messages until they converge, or max_updates are over. A graph without a circle takes one update."""
    if passing.topology.is_acyclic:
        passing.sweep(0.0, maximise)
        return Report(True, 1, 0.0)
    if inference.method == "tree_reweighted":
        if maximise:
            return _until_converged(_sweeps(passing, inference, maximise), inference, swings=False)
        return _descend(passing, inference)
    if inference.schedule == "residual":
        assert isinstance(passing, LogPassing)
        return _until_converged(_relaxation(passing, inference, maximise), inference)
    if inference.schedule == "parallel":
        return _until_converged(lambda damping: passing.flood(damping, maximise), inference)
    return _until_converged(_sweeps(passing, inference, maximise), inference)


Update = Callable[[float], float]  # damping → the largest change of a message


def _sweeps(passing: Passing, inference: Inference, maximise: bool) -> Update:
    """Sweeps in which only nodes with news send. What they call convergence is checked by one in which all do."""

    def update(damping: float) -> float:
        whole = passing.all_awake
        change = passing.sweep(damping, maximise, QUIET * inference.tol)
        if change > inference.tol * (1.0 - damping) or whole:
            return change
        passing.wake()
        return passing.sweep(damping, maximise, QUIET * inference.tol)

    return update


def _relaxation(passing: LogPassing, inference: Inference, maximise: bool) -> Update:
    """The residual schedule, in portions of as many updates as there are messages."""
    prepared = -1.0

    def update(damping: float) -> float:
        nonlocal prepared
        if damping != prepared:
            passing.prepare_relaxation(damping, maximise)
            prepared = damping
        return passing.relax(damping, maximise, inference.tol * (1.0 - damping))

    return update


def _until_converged(update: Update, inference: Inference, *, swings: bool = True) -> Report:
    """Updates until a message would change by `tol` at most; damping rises where they swing, if they can.

    Messages swing where, in PERIOD updates, the largest change has not become half of what it was before and is still
    large. A small change that falls slowly, or even rises, is on its way to another fixed point: damping would only
    slow it down.
    """
    damping, least, before = inference.damping, np.inf, np.inf
    change = np.inf
    for n_updates in range(1, inference.max_updates + 1):
        change = checked(update(damping)) / (1.0 - damping)
        if change <= inference.tol:
            return Report(True, n_updates, change)
        least = min(least, change)
        if swings and n_updates % PERIOD == 0:
            if least > max(SWING, 0.5 * before):
                damping = max(damping, min(damping + STEP, MOST))
            least, before = np.inf, least
    return Report(False, inference.max_updates, change)


def _descend(passing: Passing, inference: Inference) -> Report:
    """Sweeps of tree-reweighted messages until they converge. What they say of log Z is a bound, which falls at every
    sweep.

    Where few nodes have news, plain sweeps in which only these send are cheap. Else a sweep starts where the last ones
    point to, and then the bound may rise. So it is looked at after every CHECK sweeps: where it has risen these are
    undone, and the next ones start where the last one ended. The first of CHECK sweeps does so anyway: that alone would
    lead to the least bound there is, which is one of a convex function, be it slowly.
    """
    plain = _sweeps(passing, inference, False)
    extrapolate: Extrapolation | None = None
    least, trusting = np.inf, True
    good = start = passing.messages[:0]
    for n_updates in range(1, inference.max_updates + 1):
        change = checked(plain(0.0))
        if change <= inference.tol:
            return Report(True, n_updates, change)
        if extrapolate is None:
            if n_updates % CHECK == 0 and (passing.awake > FEW or n_updates >= PATIENCE):
                extrapolate, least = Extrapolation(passing.messages.size), passing.beliefs()[2]
                good = start = passing.logs()
                passing.wake()
            continue
        if n_updates % CHECK == 0 or n_updates == inference.max_updates:
            bound = passing.beliefs()[2]
            trusting = bound <= least + ROUNDING * abs(least)
            if trusting:
                least, good = bound, passing.logs()
            else:
                passing.put_logs(good)
            extrapolate.clear()
            start = good
        elif trusting:
            next_start = extrapolate(start.ravel(), passing.logs().ravel())
            passing.put_logs(next_start.reshape(start.shape))
            start = passing.logs()
        passing.wake()
    return Report(False, inference.max_updates, change)


class Extrapolation:
    """The start from which a sweep would move least, were its moves linear in its start: Anderson's extrapolation.

    With the move f = end − start of a sweep, and Δf, Δend the differences to the sweep before it:

        γ = argmin ‖f − Σ_k γ_k Δf_k‖²,   next start = end − Σ_k γ_k Δend_k.
    """

    def __init__(self, size: int) -> None:
        self._depth = min(DEPTH, MEMORY // max(1, 2 * 8 * size))
        self._moves, self._ends = np.empty((2, self._depth, size))
        self._products: FloatArray = np.zeros((self._depth, self._depth))
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._count = 0

    def clear(self) -> None:
        """Forget all sweeps."""
        self._last, self._count = None, 0

    def __call__(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """The next start, after a sweep from `start` to `end`, both flat."""
        if self._depth == 0:
            return end
        move = end - start
        if self._last is not None:
            self._remember(move - self._last[0], end - self._last[1])
        self._last = move, end
        n = min(self._count, self._depth)
        products = self._products[:n, :n]
        size = float(np.trace(products))
        if size == 0.0:
            return end
        along = np.array([training_kernels.vectors.dot(one, move) for one in self._moves[:n]])
        shares = np.linalg.solve(products + RIDGE * size * np.eye(n), along)
        start = end.copy()
        for share, step in zip(shares, self._ends[:n]):
            training_kernels.vectors.add_scaled(step, -float(share), start)
        return start

    def _remember(self, move: FloatArray, end: FloatArray) -> None:
        """Put these differences in the place of the oldest ones."""
        row = self._count % self._depth
        self._moves[row], self._ends[row] = move, end
        self._count += 1
        for other in range(min(self._count, self._depth)):
            product = training_kernels.vectors.dot(self._moves[row], self._moves[other])
            self._products[row, other] = self._products[other, row] = product


def _mean_field(potentials: Potentials, inference: Inference, start: FloatArray | None) -> Beliefs:
    top, nodes, edges = potentials.topology, potentials.node_scores, potentials.edge_scores
    probs = start.copy() if start is not None and start.shape == nodes.shape else softmax(nodes, axis=1)
    if start is not None:
        probs = np.where(np.isneginf(nodes), 0.0, probs)
    field = np.empty(potentials.n_labels)
    graph = nodes, edges, top.ends, top.ptr, top.out, top.order

    def update() -> float:
        change = 0.0
        for step, slices in ((1, forward(top.n_nodes)), (-1, backward(top.n_nodes))):
            for begin, end in slices:
                change = max(change, kernels.mean_field.settle(*graph, begin, end, step, probs, field))
        return change

    report = _until_converged(lambda damping: update(), inference, swings=False)
    edge_probs = probs[top.ends[:, 0], :, None] * probs[top.ends[:, 1], None, :]
    free_energy = float(kernels.mean_field.free_energy(nodes, edges, top.ends, probs))
    return Beliefs(probs, edge_probs, free_energy, *report, probs)
