"""Chains of order n in plain Python, one sequence at a time. Slow, and meant to be read.

A history is a tuple of labels, oldest first, −1 for ⊥. `arcs` numbers the pairs of a history and a label that have a
score; `arc_scores` (A,) are those scores, node (T, K) those of the labels. A state is the last labels, as many as the
longest history has, whether training has seen them or not: nothing is merged, and nothing is subtracted.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np

from hedgerow.legend import AnyArray, CodeArray, FloatArray

History = tuple[int, ...]
Arcs = dict[tuple[History, int], int]
Messages = list[dict[History, float]]
START = -1


def seen_arcs(labels: AnyArray, offsets: AnyArray, order: int) -> Counter[tuple[History, int]]:
    """How often each label follows each history of up to `order` labels; −1 in labels is not known."""
    counts: Counter[tuple[History, int]] = Counter()
    for begin, end in itertools.pairwise(offsets):
        past: list[int | None] = [START]
        for label in labels[begin:end]:
            for length in range(min(order, len(past)) + 1):
                history = tuple(v for v in past[len(past) - length :] if v is not None)
                if label >= 0 and len(history) == length:
                    counts[history, int(label)] += 1
            past.append(int(label) if label >= 0 else None)
    return counts


def used_arc(arcs: Arcs, past: History, label: int) -> int | None:
    """The arc that a label takes: that of the longest history, ending the labels of `past`, which has one for it."""
    for length in range(len(past), -1, -1):
        arc = arcs.get((past[len(past) - length :], label))
        if arc is not None:
            return arc
    return None


def moves(
    node: FloatArray, arc_scores: FloatArray, arcs: Arcs, t: int, past: History
) -> list[tuple[int, int, float, History]]:
    """(label, arc, score, next state) of every label that is possible at position t after `past`."""
    longest = max(len(history) for history, _ in arcs)
    found = []
    for label in range(node.shape[1]):
        arc = used_arc(arcs, past, label)
        score = -np.inf if arc is None else float(arc_scores[arc] + node[t, label])
        if arc is not None and score > -np.inf:
            ahead = (*past, label)
            found.append((label, arc, score, ahead[max(0, len(ahead) - longest) :]))
    return found


def forward(node: FloatArray, arc_scores: FloatArray, arcs: Arcs) -> Messages:
    """log α after 0, 1 … T labels, of each state that is reached."""
    alpha: Messages = [{(START,): 0.0}]
    for t in range(len(node)):
        sums: defaultdict[History, float] = defaultdict(lambda: -np.inf)
        for past, value in alpha[t].items():
            for _, _, score, ahead in moves(node, arc_scores, arcs, t, past):
                sums[ahead] = float(np.logaddexp(sums[ahead], value + score))
        alpha.append(dict(sums))
    return alpha


def backward(node: FloatArray, arc_scores: FloatArray, arcs: Arcs) -> Messages:
    """log β after 0, 1 … T labels, of each state that is reached."""
    reached = forward(node, arc_scores, arcs)
    beta: Messages = [{} for _ in reached]
    beta[-1] = dict.fromkeys(reached[-1], 0.0)
    for t in range(len(node) - 1, -1, -1):
        for past in reached[t]:
            ways = [score + beta[t + 1][ahead] for _, _, score, ahead in moves(node, arc_scores, arcs, t, past)]
            beta[t][past] = float(np.logaddexp.reduce(ways, initial=-np.inf))
    return beta


def log_partition(node: FloatArray, arc_scores: FloatArray, arcs: Arcs) -> float:
    """log Z; −inf where no labeling is legal."""
    return float(np.logaddexp.reduce(list(forward(node, arc_scores, arcs)[-1].values()), initial=-np.inf))


def marginals(node: FloatArray, arc_scores: FloatArray, arcs: Arcs) -> tuple[FloatArray, FloatArray]:
    """P_t(v), (T, K), and Σ_t P_t(a), (A,)."""
    alpha, beta = forward(node, arc_scores, arcs), backward(node, arc_scores, arcs)
    log_z = log_partition(node, arc_scores, arcs)
    node_probs, arc_sums = np.zeros(node.shape), np.zeros(len(arc_scores))
    for t in range(len(node)):
        for past, value in alpha[t].items():
            for label, arc, score, ahead in moves(node, arc_scores, arcs, t, past):
                p = np.exp(value + score + beta[t + 1][ahead] - log_z)
                node_probs[t, label] += p
                arc_sums[arc] += p
    return node_probs, arc_sums


def score(node: FloatArray, arc_scores: FloatArray, arcs: Arcs, labels: AnyArray) -> float:
    """The score of a labeling; −inf where it is not legal."""
    total = 0.0
    for t, label in enumerate(labels):
        arc = used_arc(arcs, (START, *(int(v) for v in labels[:t])), int(label))
        total += -np.inf if arc is None else float(arc_scores[arc] + node[t, label])
    return total


def k_best(node: FloatArray, arc_scores: FloatArray, arcs: Arcs, k: int) -> tuple[CodeArray, FloatArray]:
    """The k best legal labelings and their scores, best first, by looking at all K^T."""
    every = np.array(list(itertools.product(range(node.shape[1]), repeat=len(node))), dtype=np.int32)
    scores = np.array([score(node, arc_scores, arcs, y) for y in every])
    order = np.argsort(-scores, kind="stable")[:k]
    order = order[scores[order] > -np.inf]
    return every[order], scores[order]


def beam(
    node: FloatArray, arc_scores: FloatArray, arcs: Arcs, width: int, histories: set[History]
) -> tuple[History, float]:
    """The best labeling, and its score, of a search that keeps the `width` best histories of each position.

    Labels that end in the same history are one: of them the best goes on.
    """
    kept: list[tuple[float, History, History]] = [(0.0, (START,), ())]  # score, history, labels
    for t in range(len(node)):
        best: dict[History, tuple[float, History, History]] = {}
        for value, past, labels in kept:
            for label, _, added, _ in moves(node, arc_scores, arcs, t, past):
                whole = (START, *labels, label)
                history = next(whole[cut:] for cut in range(len(whole) + 1) if whole[cut:] in histories)
                if history not in best or value + added > best[history][0]:
                    best[history] = (value + added, history, (*labels, label))
        kept = sorted(best.values(), key=lambda item: -item[0])[:width]
    return kept[0][2], kept[0][0]
