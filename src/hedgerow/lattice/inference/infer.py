"""Probabilities on a graph: loopy belief propagation, its tree-reweighted form, and mean field.

All three give node and edge probabilities, an approximation of log Z whose derivatives by the scores they are, and
whether they came to rest. On a graph without a circle the first two are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.lattice.inference.extrapolation import Extrapolation
from hedgerow.lattice.inference.labelings import improve
from hedgerow.lattice.inference.passing import Passing, in_logs, make_passing
from hedgerow.lattice.potentials import Potentials
from hedgerow.legend import CodeArray, FloatArray

METHODS = ("loopy", "tree_reweighted", "mean_field")
SCHEDULES = ("sequential", "parallel", "residual")
BLOCK = 1 << 14  # edges that are compared with their nodes at once
SLICE = 1 << 20  # nodes of one call of a kernel, so that Ctrl-C is heard
QUIET = 0.1  # of the tolerance: a smaller change of a message is no news to its receiver
PERIOD = 20  # updates after which it is asked whether messages swing
SWING = 0.01  # a smaller change of a message is no swing
STEP, MOST = 0.25, 0.75  # of the damping that messages which swing are given
CHECK = 10  # sweeps of tree-reweighted messages after which the bound is looked at
FEW, PATIENCE = 0.6, 100  # the share of nodes with news, and a number of sweeps, up to which these are plain
AGREE = 0.01  # what an edge and a node may say differently of a label at rest
ROUNDING = 1e-13  # of a bound: what it may rise by without having risen


@dataclass(frozen=True)
class Inference:
    """How to infer.

    method : "loopy", "tree_reweighted" or "mean_field"
    schedule : "sequential" (a sweep back and one forth, each message counts at once), "parallel" (all messages from
        the old ones) or "residual" (the message that would change most first); only "loopy" has a choice
    damping : the share of the old message that stays, from 0 to below 1; where messages swing it rises by itself; only
        for "loopy": the others come to rest without
    max_updates : the most updates of every message, on average; back and forth is one
    tol : messages, whose largest entry is 1, are at rest when none would change by more without damping
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
        found = _propagate(potentials, self, start)
        if found.converged or start is not None or self.method == "tree_reweighted":
            return found
        # Messages that linger have just lost a place of rest; those of nodes sure of their labels find another.
        labels = improve(potentials, found.node_probs.argmax(axis=1)).labels
        other = _propagate(potentials, self, self._decided(potentials, labels, found.state))
        return other if other.converged else found

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
    converged, n_updates, change : whether messages came to rest, after how many updates of each, and by how much the
        last update changed one at most
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


def _propagate(potentials: Potentials, inference: Inference, start: FloatArray | None) -> Beliefs:
    reweighted = inference.method == "tree_reweighted"
    residual = inference.schedule == "residual" and not potentials.topology.is_acyclic
    passing = make_passing(potentials, reweighted=reweighted, by_logs=residual, start=start)
    report = run(passing, inference)
    node_probs, edge_probs, log_partition = passing.beliefs()
    if not _agree(potentials, node_probs, edge_probs):
        report = report._replace(converged=False)
    return Beliefs(node_probs, edge_probs, log_partition, *report, passing.messages)


def _agree(potentials: Potentials, node_probs: FloatArray, edge_probs: FloatArray) -> bool:
    """Whether edges and nodes say the same of a label. Scores in the hundreds make messages so steep that they seem to
    rest, since no change of them is seen next to 1, while what they make of the nodes still changes."""
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
    """Pass messages until they are at rest, or max_updates are over. A graph without a circle takes one update."""
    if passing.topology.is_acyclic:
        passing.sweep(0.0, maximise)
        return Report(True, 1, 0.0)
    if inference.method == "tree_reweighted":
        if maximise:
            return _until_rest(_sweeps(passing, inference, maximise), inference, swings=False)
        return _descend(passing, inference)
    if inference.schedule == "residual":
        return _until_rest(_relaxation(passing, inference, maximise), inference)
    if inference.schedule == "parallel":
        return _until_rest(lambda damping: passing.flood(damping, maximise), inference)
    return _until_rest(_sweeps(passing, inference, maximise), inference)


Update = Callable[[float], float]  # damping → the largest change of a message


def _sweeps(passing: Passing, inference: Inference, maximise: bool) -> Update:
    """Sweeps in which only nodes with news send. What they call rest is checked by one in which all do."""

    def update(damping: float) -> float:
        whole = passing.all_awake
        change = passing.sweep(damping, maximise, QUIET * inference.tol)
        if change > inference.tol * (1.0 - damping) or whole:
            return change
        passing.wake()
        return passing.sweep(damping, maximise, QUIET * inference.tol)

    return update


def _relaxation(passing: Passing, inference: Inference, maximise: bool) -> Update:
    """The residual schedule, in portions of as many updates as there are messages."""
    prepared = -1.0

    def update(damping: float) -> float:
        nonlocal prepared
        if damping != prepared:
            passing.prepare_relaxation(damping, maximise)
            prepared = damping
        return passing.relax(damping, maximise, inference.tol * (1.0 - damping))

    return update


def _until_rest(update: Update, inference: Inference, *, swings: bool = True) -> Report:
    """Updates until a message would change by `tol` at most; damping rises where they swing, if they can.

    Messages swing where, in PERIOD updates, the largest change has not become half of what it was before and is still
    large. A small change that falls slowly, or even rises, is on its way to another place of rest: damping would only
    slow it down.
    """
    damping, least, before = inference.damping, np.inf, np.inf
    change = np.inf
    for n_updates in range(1, inference.max_updates + 1):
        change = _checked(update(damping)) / (1.0 - damping)
        if change <= inference.tol:
            return Report(True, n_updates, change)
        least = min(least, change)
        if swings and n_updates % PERIOD == 0:
            if least > max(SWING, 0.5 * before):
                damping = max(damping, min(damping + STEP, MOST))
            least, before = np.inf, least
    return Report(False, inference.max_updates, change)


def _checked(change: float) -> float:
    if not np.isfinite(change):
        raise FloatingPointError("the messages are not numbers: the scores are too large")
    return change


def _descend(passing: Passing, inference: Inference) -> Report:
    """Sweeps of tree-reweighted messages until rest. What they say of log Z is a bound, which falls at every sweep.

    Where few nodes have news, plain sweeps in which only these send are cheap. Else a sweep starts where the last ones
    point to, and then the bound may rise. So it is looked at after every CHECK sweeps: where it has risen these are
    undone, and the next ones start where the last one ended. The first of CHECK sweeps does so anyway: that alone would
    lead to the least bound there is, which is one of a convex function, be it slowly.
    """
    plain = _sweeps(passing, inference, False)
    extrapolate: Extrapolation | None = None
    least, trusting = np.inf, True
    good = start = passing.messages
    for n_updates in range(1, inference.max_updates + 1):
        change = _checked(plain(0.0))
        if change <= inference.tol:
            return Report(True, n_updates, change)
        if extrapolate is None:
            if n_updates % CHECK == 0 and (passing.awake > FEW or n_updates >= PATIENCE):
                extrapolate, least = Extrapolation(passing.messages.size), passing.beliefs()[2]
                good = start = passing.messages.copy()
                passing.wake()
            continue
        if n_updates % CHECK == 0 or n_updates == inference.max_updates:
            bound = passing.beliefs()[2]
            trusting = bound <= least + ROUNDING * abs(least)
            if trusting:
                least, good = bound, passing.messages.copy()
            else:
                passing.messages[:] = good
            extrapolate.clear()
            start = good
        elif trusting:
            end = passing.messages.copy()
            passing.messages[:] = extrapolate(start.ravel(), end.ravel()).reshape(end.shape)
            passing.messages -= passing.messages.max(axis=1, keepdims=True)
            start = passing.messages.copy()
        passing.wake()
    return Report(False, inference.max_updates, change)


def _mean_field(potentials: Potentials, inference: Inference, start: FloatArray | None) -> Beliefs:
    from hedgerow.lattice import kernels

    own = kernels.mean_field
    top, nodes, edges = potentials.topology, potentials.node_scores, potentials.edge_scores
    probs = start.copy() if start is not None and start.shape == nodes.shape else _softmax(nodes)
    if start is not None:
        probs = np.where(np.isneginf(nodes), 0.0, probs)
    field = np.empty(potentials.n_labels)
    graph = nodes, edges, top.ends, top.ptr, top.out, top.order

    def update() -> float:
        change = 0.0
        for begin in range(0, top.n_nodes, SLICE):
            change = max(change, own.settle(*graph, begin, min(begin + SLICE, top.n_nodes), 1, probs, field))
        for last in range(top.n_nodes - 1, -1, -SLICE):
            change = max(change, own.settle(*graph, last, max(last - SLICE, -1), -1, probs, field))
        return change

    report = _until_rest(lambda damping: update(), inference, swings=False)
    edge_probs = probs[top.ends[:, 0], :, None] * probs[top.ends[:, 1], None, :]
    return Beliefs(probs, edge_probs, float(own.free_energy(nodes, edges, top.ends, probs)), *report, probs)


def _softmax(scores: FloatArray) -> FloatArray:
    exps: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
    exps /= exps.sum(axis=1, keepdims=True)
    return exps


def check_inference(inference: Inference) -> None:
    """Refuse a method and a schedule that do not go together."""
    if inference.method == "loopy":
        return
    name = f"⟦inference={inference.method!r}⟧"
    if inference.schedule != "sequential":
        hint = "Its updates are sequential; leave ⟦schedule⟧ out, or set ⟦inference='loopy'⟧."
        raise InputError(f"{name} has no ⟦schedule⟧ {inference.schedule!r}", hint=hint)
    if inference.damping != 0.0:
        hint = "It gets better at every update; leave ⟦damping⟧ at 0, or set ⟦inference='loopy'⟧."
        raise InputError(f"{name} has no ⟦damping⟧", hint=hint)
