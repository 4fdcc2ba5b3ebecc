"""Best-first regression trees with every row written out (thesis, Table 3.1 with equation 3.1). Slow, literal.

A row is (values of the streams, previous label, target), the target a whole number of fixed-point units. The previous
label K is ⊥. Splits, their order and the gain are those of the kernel; how they are found is not.
"""

from __future__ import annotations

from dataclasses import dataclass

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL = 0, 1, 2
CODES, ORDERED = 0, 1
LABEL, LEAF = -1, -2


@dataclass
class Row:
    """One example: position, bins of the streams there, previous label, target."""

    position: int
    bins: list[int]
    previous: int
    target: int


@dataclass
class Node:
    """A leaf with its rows, or a split with two children."""

    rows: list[Row]
    split: tuple[int, int, int] | None = None
    true: Node | None = None
    false: Node | None = None
    best: tuple[float, tuple[int, int, int]] | None = None


def goes_true(row: Row, split: tuple[int, int, int], n_bins: list[int]) -> bool:
    """Whether a row is on the true side of a split (stream, bin, rule)."""
    stream, value, rule = split
    if stream == LABEL:
        return row.previous == value
    x = row.bins[stream]
    if rule == EQUAL:
        return x == value
    return x <= value or (rule == AT_MOST_OR_SPECIAL and x >= n_bins[stream] - 2)


def squared_sum(rows: list[Row], shrinkage: float) -> float:
    """A²/(λ+n): what a leaf lowers the squared error by."""
    total = float(sum(row.target for row in rows))
    return total * total / (shrinkage + len(rows))


def side_gain(left: list[Row], right: list[Row], shrinkage: float) -> float:
    """A_L²/(λ+n_L) + A_R²/(λ+n_R), over one common denominator as the kernel has it, so that ties are the same."""
    a, r = float(sum(row.target for row in left)), float(sum(row.target for row in right))
    d_left, d_right = shrinkage + len(left), shrinkage + len(right)
    return (a * a * d_right + r * r * d_left) / (d_left * d_right)


def candidates(kinds: list[int], n_bins: list[int], n_labels: int) -> list[tuple[int, int, int]]:
    """Every split there is, in the order in which ties are decided."""
    found = []
    for stream, (kind, n) in enumerate(zip(kinds, n_bins)):
        if kind == CODES:
            found += [(stream, value, EQUAL) for value in range(n)]
        else:
            found += [(stream, value, rule) for value in range(n - 2) for rule in (AT_MOST, AT_MOST_OR_SPECIAL)]
    return found + [(LABEL, label, EQUAL) for label in range(n_labels + 1)]


def find_split(
    rows: list[Row], kinds: list[int], n_bins: list[int], n_labels: int, shrinkage: float
) -> tuple[float, tuple[int, int, int]] | None:
    """The gain and the split with the largest gain, or None where no split gains."""
    base = squared_sum(rows, shrinkage) * (1.0 + 1e-12)
    best, chosen = base, None
    for split in candidates(kinds, n_bins, n_labels):
        left = [row for row in rows if goes_true(row, split, n_bins)]
        right = [row for row in rows if not goes_true(row, split, n_bins)]
        if left and right:
            gain = side_gain(left, right, shrinkage)
            if gain > best:
                best, chosen = gain, split
    return None if chosen is None else (best - base, chosen)


def grow(
    rows: list[Row], kinds: list[int], n_bins: list[int], n_labels: int, max_leaves: int, shrinkage: float
) -> tuple[Node, list[Node]]:
    """The tree, and its leaves in the order they came to be (the side that stays keeps its place)."""
    root = Node(rows)
    root.best = find_split(rows, kinds, n_bins, n_labels, shrinkage)
    leaves = [root]
    while len(leaves) < max_leaves:
        gains = [leaf.best[0] if leaf.best else 0.0 for leaf in leaves]
        i = gains.index(max(gains))
        chosen = leaves[i].best
        if chosen is None or gains[i] <= 0.0:
            break
        node, split = leaves[i], chosen[1]
        node.split = split
        node.true = Node([row for row in node.rows if goes_true(row, split, n_bins)])
        node.false = Node([row for row in node.rows if not goes_true(row, split, n_bins)])
        moved, kept = node.true, node.false
        if split[0] != LABEL and 2 * len(moved.rows) > len(node.rows):
            moved, kept = kept, moved
        for child in (kept, moved):
            child.best = find_split(child.rows, kinds, n_bins, n_labels, shrinkage)
        leaves[i] = kept
        leaves.append(moved)
    return root, leaves
