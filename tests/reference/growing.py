"""Best-first regression trees with every row written out (thesis, Table 3.1 with equation 3.1). Slow, literal.

A row is (values of the streams, previous label, target, weight), the target a whole number of fixed-point units. The
previous label K is ⊥. Splits, their order and the gain are those of the kernel; how they are found is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = 0, 1, 2, 3, 4
CODES, ORDERED, ITEMS = 0, 1, 2
LABEL, LEAF = -1, -2

Split = tuple[int, int | frozenset[int], int]


@dataclass
class Row:
    """One example: position, bins of the streams (a set of items where they are sparse), previous label, target."""

    position: int
    bins: list[int | frozenset[int]]
    previous: int
    target: int
    weight: int = 1


@dataclass
class Node:
    """A leaf with its rows, or a split with two children. `number` counts nodes as they come to be, true side first."""

    rows: list[Row]
    number: int = 0
    split: Split | None = None
    true: Node | None = None
    false: Node | None = None
    best: tuple[float, Split] | None = None


@dataclass
class Rules:
    """How trees grow: streams' kinds and bins, labels, λ, the least weight of a leaf, and whether codes split in sets.

    questions : sets of previous labels, which are then histories; splits on them are by these sets alone
    may_use : (node number, stream or LABEL, item) → whether a node may split on it; item is −1 but for sparse streams
    """

    kinds: list[int]
    n_bins: list[int]
    n_labels: int
    max_leaf_nodes: int
    l2_regularization: float
    least: int = 1
    subsets: bool = False
    questions: list[frozenset[int]] = field(default_factory=list)
    may_use: Callable[[int, int, int], bool] = field(default=lambda node, stream, item: True)


def goes_true(row: Row, split: Split, n_bins: list[int]) -> bool:
    """Whether a row is on the true side of a split (stream, bin or set, rule)."""
    stream, value, rule = split
    x = row.previous if stream == LABEL else row.bins[stream]
    if isinstance(x, frozenset):
        return value in x
    if isinstance(value, frozenset):
        return x in value
    if rule == EQUAL:
        return x == value
    return x <= value or (rule == AT_MOST_OR_SPECIAL and x >= n_bins[stream] - 2)


def totals(rows: list[Row]) -> tuple[float, int]:
    """The targets and the weights of some rows."""
    return float(sum(row.target for row in rows)), sum(row.weight for row in rows)


def side_gain(left: list[Row], right: list[Row], l2_regularization: float) -> float:
    """A_L²/(λ+n_L) + A_R²/(λ+n_R), over one common denominator as the kernel has it, so that ties are the same."""
    (a, n_left), (r, n_right) = totals(left), totals(right)
    d_left, d_right = l2_regularization + n_left, l2_regularization + n_right
    return (a * a * d_right + r * r * d_left) / (d_left * d_right)


def prefixes(rows: list[Row], stream: int, rules: Rules) -> list[Split]:
    """The subsets to try: values with rows, ordered by Σ target/(n+λ), each prefix but the whole."""
    of: dict[int, list[Row]] = {}
    for row in rows:
        x = row.previous if stream == LABEL else row.bins[stream]
        assert isinstance(x, int)
        of.setdefault(x, []).append(row)

    def ratio(x: int) -> float:
        a, n = totals(of[x])
        return a / (rules.l2_regularization + n)

    order = sorted(sorted(of), key=ratio)
    return [(stream, frozenset(order[: j + 1]), SUBSET) for j in range(len(order) - 1)]


def candidates(rows: list[Row], node: int, rules: Rules) -> list[Split]:
    """Every split there is, in the order in which ties are decided."""
    found: list[Split] = []
    for stream, (kind, n) in enumerate(zip(rules.kinds, rules.n_bins)):
        if kind == ITEMS:
            found += [(stream, item, HAS) for item in range(n) if rules.may_use(node, stream, item)]
        elif not rules.may_use(node, stream, -1):
            continue
        elif kind == ORDERED:
            found += [(stream, value, rule) for value in range(n - 2) for rule in (AT_MOST, AT_MOST_OR_SPECIAL)]
        elif rules.subsets:
            found += prefixes(rows, stream, rules)
        else:
            found += [(stream, value, EQUAL) for value in range(n)]
    if rules.questions:
        found += [(LABEL, chosen, SUBSET) for chosen in rules.questions]
    elif rules.may_use(node, LABEL, -1):
        one_each: list[Split] = [(LABEL, label, EQUAL) for label in range(rules.n_labels + 1)]
        found += prefixes(rows, LABEL, rules) if rules.subsets else one_each
    return found


def find_split(rows: list[Row], node: int, rules: Rules) -> tuple[float, Split] | None:
    """The gain and the split with the largest gain, or None where no split gains.

    Where none of the features that the node may use gains, it may use all.
    """
    found = best_split(rows, node, rules)
    return best_split(rows, node, replace(rules, may_use=lambda node, stream, item: True)) if found is None else found


def best_split(rows: list[Row], node: int, rules: Rules) -> tuple[float, Split] | None:
    """As find_split, of the features that the node may use."""
    a, n = totals(rows)
    base = a * a / (rules.l2_regularization + n) * (1.0 + 1e-12)
    best, chosen = base, None
    for split in candidates(rows, node, rules):
        left = [row for row in rows if goes_true(row, split, rules.n_bins)]
        right = [row for row in rows if not goes_true(row, split, rules.n_bins)]
        if totals(left)[1] >= rules.least and totals(right)[1] >= rules.least:
            gain = side_gain(left, right, rules.l2_regularization)
            if gain > best:
                best, chosen = gain, split
    return None if chosen is None else (best - base, chosen)


def grow(rows: list[Row], rules: Rules) -> tuple[Node, list[Node]]:
    """The tree, and its leaves in the order they came to be (the side that stays keeps its place)."""
    root = Node(rows)
    root.best = find_split(rows, 0, rules)
    leaves, n_nodes = [root], 1
    while len(leaves) < rules.max_leaf_nodes:
        gains = [leaf.best[0] if leaf.best else 0.0 for leaf in leaves]
        i = gains.index(max(gains))
        chosen = leaves[i].best
        if chosen is None or gains[i] <= 0.0:
            break
        node, split = leaves[i], chosen[1]
        node.split = split
        node.true = Node([row for row in node.rows if goes_true(row, split, rules.n_bins)], n_nodes)
        node.false = Node([row for row in node.rows if not goes_true(row, split, rules.n_bins)], n_nodes + 1)
        n_nodes += 2
        moved, kept = node.true, node.false
        if split[0] != LABEL and 2 * totals(moved.rows)[1] > totals(node.rows)[1]:
            moved, kept = kept, moved
        for child in (kept, moved):
            child.best = find_split(child.rows, child.number, rules)
        leaves[i] = kept
        leaves.append(moved)
    return root, leaves
