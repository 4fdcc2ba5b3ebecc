"""Best-first regression trees with a value for each label, every place written out. Slow, literal.

A place has the bins of its streams, and for each label a target and a weight, whole numbers. Splits, their order and
the gain are those of the kernel; how they are found is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

CODES, ORDERED = 0, 1
EQUAL, AT_MOST, AT_MOST_OR_SPECIAL = 0, 1, 2

Split = tuple[int, int, int]  # stream, bin, rule


@dataclass
class Place:
    """What stands in the window of a place, and its target and weight of every label."""

    bins: list[int]
    targets: list[int]
    weights: list[int]


@dataclass
class Rules:
    """Kinds and bins of streams, the most leaves, λ, the least weight of a leaf over all labels, and what nodes may
    split on: (node, stream) → bool."""

    kinds: list[int]
    n_bins: list[int]
    max_leaf_nodes: int
    l2_regularization: float
    least: int = 1
    may_use: Callable[[int, int], bool] = field(default=lambda node, stream: True)


@dataclass
class Node:
    """A leaf, or a split with two children. `number` counts nodes as they come to be, true side first."""

    places: list[Place]
    number: int = 0
    split: Split | None = None
    gain: float = 0.0
    true: Node | None = None
    false: Node | None = None
    best: tuple[float, Split] | None = None


def sums(places: list[Place], n_labels: int) -> list[tuple[float, int]]:
    """(Σ target, Σ weight) of each label."""
    return [(float(sum(p.targets[k] for p in places)), sum(p.weights[k] for p in places)) for k in range(n_labels)]


def goes_true(place: Place, split: Split, n_bins: list[int]) -> bool:
    stream, value, rule = split
    x = place.bins[stream]
    return x == value if rule == EQUAL else x <= value or (rule == AT_MOST_OR_SPECIAL and x >= n_bins[stream] - 2)


def score(left: list[tuple[float, int]], right: list[tuple[float, int]], l2_regularization: float) -> float:
    """Σ over labels of A_L²/(λ+n_L) + A_R²/(λ+n_R), every fourth label in a sum of its own, as the kernel adds them."""
    four = [0.0] * 4
    for k, ((a, n), (r, m)) in enumerate(zip(left, right)):
        d_left, d_right = l2_regularization + n, l2_regularization + m
        four[k % 4] += (a * a * d_right + r * r * d_left) / (d_left * d_right)
    return (four[0] + four[1]) + (four[2] + four[3])


def best_split(places: list[Place], node: int, rules: Rules) -> tuple[float, Split] | None:
    """The gain and the first split with the largest gain, of the streams that the node may use."""
    K = len(places[0].targets)
    base = sum(a * a / (rules.l2_regularization + n) for a, n in sums(places, K)) * (1.0 + 1e-12)
    best, chosen = base, None
    for stream, (kind, n_bins) in enumerate(zip(rules.kinds, rules.n_bins)):
        if not rules.may_use(node, stream):
            continue
        splits = [(stream, x, EQUAL) for x in range(n_bins)]
        if kind == ORDERED:
            splits = [(stream, x, rule) for x in range(n_bins - 2) for rule in (AT_MOST, AT_MOST_OR_SPECIAL)]
        for split in splits:
            left = sums([p for p in places if goes_true(p, split, rules.n_bins)], K)
            right = sums([p for p in places if not goes_true(p, split, rules.n_bins)], K)
            if min(sum(n for _, n in left), sum(n for _, n in right)) >= rules.least:
                gain = score(left, right, rules.l2_regularization)
                if gain > best:
                    best, chosen = gain, split
    return None if chosen is None else (best - base, chosen)


def find_split(places: list[Place], node: int, rules: Rules) -> tuple[float, Split] | None:
    """As best_split; of all streams where none of those gains."""
    found = best_split(places, node, rules)
    return best_split(places, node, replace(rules, may_use=lambda node, stream: True)) if found is None else found


def grow(places: list[Place], rules: Rules) -> tuple[Node, list[Node]]:
    """The tree, and its leaves in the order they came to be (the true side of a split is the new one)."""
    root = Node(places, best=find_split(places, 0, rules))
    leaves, n_nodes = [root], 1
    while len(leaves) < rules.max_leaf_nodes:
        gains = [leaf.best[0] if leaf.best else 0.0 for leaf in leaves]
        i = gains.index(max(gains))
        node = leaves[i]
        if node.best is None:
            break
        node.gain, node.split = node.best
        sides: list[list[Place]] = [[], []]
        for place in node.places:
            sides[goes_true(place, node.split, rules.n_bins)].append(place)
        node.true, node.false = Node(sides[True], n_nodes), Node(sides[False], n_nodes + 1)
        n_nodes += 2
        for child in (node.true, node.false):
            child.best = find_split(child.places, child.number, rules)
        leaves[i] = node.false
        leaves.append(node.true)
    return root, leaves
