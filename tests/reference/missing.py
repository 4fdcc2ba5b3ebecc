"""Values that are missing, five ways (thesis, chapter 4), with every row written out. Slow, literal.

Instance weighting: an example has a weight in a node; where the node's split has no value for it, it goes to both
sides, its weight shared as the weights of the examples with a value are. While a tree grows, a weight is a whole number
of parts, `whole` of them at the root, so that sums are exact; what the true side gets is rounded, and the false side
has the rest; a side that would get fewer than `few` parts gets none. Prediction rounds nothing. Surrogate splits: where
there is no value, other columns are asked, in the order of how well they predict the split; an example is always
whole. Both judge a split by the examples that have a value for it.

The three others change the data: a missing number or code is filled in (`impute`); or it is filled in and a column of
flags says so (`indicate`); or it stays a value of its own that goes to the side where it gains more ("learned"), which
is what `growing.grow` does.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.reference.growing import ITEMS, LABEL, ORDERED, Row, Rules, Split, candidates, goes_true, side_gain, totals

Part = tuple[Row, int]  # an example, and how many parts of it are in a node
Surrogate = tuple[int, frozenset[int]]  # a stream, and which of its bins go to the true side; LABEL: 1 is ⊥, 0 all else


@dataclass
class Gaps:
    """What is missing, and what is done about it.

    missing : of each stream, the bin or item that means "no value"; −1 where there is none
    whole : the parts of an example
    few : a side that would get fewer of them gets none
    n_surrogates : at most so many a split; 0 for instance weighting
    """

    missing: list[int]
    whole: int = 1
    few: int = 1
    n_surrogates: int = 0


@dataclass
class Node:
    """A leaf with its examples, or a split with two children.

    share : of what has no value, and no surrogate, so much goes to the true side
    """

    parts: list[Part]
    number: int = 0
    split: Split | None = None
    share: float = 0.0
    surrogates: list[Surrogate] = field(default_factory=list)
    true: Node | None = None
    false: Node | None = None
    best: tuple[float, Split] | None = None


def is_known(row: Row, stream: int, missing: list[int]) -> bool:
    """Whether a row has a value in a stream. A previous label is always known."""
    if stream == LABEL:
        return True
    x = row.bins[stream]
    return missing[stream] not in x if isinstance(x, frozenset) else x != missing[stream]


def weighed(parts: list[Part]) -> list[Row]:
    """Examples with target and weight times their parts."""
    return [replace(row, target=n * row.target, weight=n * row.weight) for row, n in parts]


# ------------------------------------------------------------------------------------------------ the split


def find_split(parts: list[Part], node: int, rules: Rules, gaps: Gaps) -> tuple[float, Split] | None:
    """The gain and the split with the largest gain, or None; of all features where those that may be used do not
    gain."""
    found = best_split(parts, node, rules, gaps)
    every = replace(rules, may_use=lambda node, stream, item: True)
    return best_split(parts, node, every, gaps) if found is None else found


def best_split(parts: list[Part], node: int, rules: Rules, gaps: Gaps) -> tuple[float, Split] | None:
    """As find_split, of the features that the node may use. A gain is that of the examples that have a value."""

    def base(rows: list[Row]) -> float:
        a, n = totals(rows)
        return a * a / (l2_regularization + n) * (1.0 + 1e-12) if l2_regularization + n > 0 else 0.0

    l2_regularization, least = rules.l2_regularization * gaps.whole, rules.least * gaps.whole
    of_all = best = base(weighed(parts))
    chosen = None
    for split in known_candidates(parts, node, rules, gaps):
        known = weighed([part for part in parts if is_known(part[0], split[0], gaps.missing)])
        left = [row for row in known if goes_true(row, split, rules.n_bins)]
        right = [row for row in known if not goes_true(row, split, rules.n_bins)]
        if totals(left)[1] >= least and totals(right)[1] >= least:
            score = side_gain(left, right, l2_regularization) + (of_all - base(known))
            if score > best:
                best, chosen = score, split
    return None if chosen is None else (best - of_all, chosen)


def known_candidates(parts: list[Part], node: int, rules: Rules, gaps: Gaps) -> list[Split]:
    """Every split there is but those on a missing value, in the order in which ties are decided."""
    found: list[Split] = []
    for stream in [*range(len(rules.kinds)), LABEL]:
        known = weighed([part for part in parts if is_known(part[0], stream, gaps.missing)])

        def may_use(node: int, other: int, item: int, stream: int = stream) -> bool:
            return other == stream and rules.may_use(node, other, item)

        own = candidates(
            known, node, replace(rules, l2_regularization=rules.l2_regularization * gaps.whole, may_use=may_use)
        )
        gone = gaps.missing[stream] if stream != LABEL else None
        is_value = stream == LABEL or rules.kinds[stream] != ORDERED  # and not a threshold
        found += [split for split in own if not (is_value and split[1] == gone)]
    return found


# ------------------------------------------------------------------------------------------------ surrogates


def surrogate_sets(stream: int, rows: list[tuple[Row, bool]], rules: Rules, missing: list[int]) -> list[frozenset[int]]:
    """The ways in which a stream may tell the side: sets of bins that go true. rows: examples and their side."""
    if stream == LABEL:
        return [frozenset([1]), frozenset([0])]
    n = rules.n_bins[stream]
    bins = frozenset(range(n)) - {missing[stream]}
    found: list[frozenset[int]] = []
    if rules.kinds[stream] == ORDERED:
        for x in range(n - 2):
            for low in (frozenset(range(x + 1)), frozenset([*range(x + 1), n - 1])):
                found += [low, bins - low]
    elif rules.subsets:
        majority = 2 * weight_of(rows, True) >= weight_of(rows, True) + weight_of(rows, False)

        def tends_true(x: int) -> bool:
            own = [(row, side) for row, side in rows if row.bins[stream] == x]
            true, false = weight_of(own, True), weight_of(own, False)
            return true > false or (true == false and majority)

        found.append(frozenset(x for x in bins if tends_true(x)))
    else:
        for x in sorted(bins):
            found += [frozenset([x]), bins - {x}]
    return found


def weight_of(rows: list[tuple[Row, bool]], side: bool) -> int:
    """The weight of the examples on one side."""
    return sum(row.weight for row, own in rows if own == side)


def asked(row: Row, stream: int, n_labels: int) -> int:
    """What a surrogate looks at: the bin of a stream, or whether ⊥ stands before the example."""
    if stream == LABEL:
        return int(row.previous == n_labels)
    x = row.bins[stream]
    assert isinstance(x, int)
    return x


def find_surrogates(parts: list[Part], split: Split, rules: Rules, gaps: Gaps) -> list[Surrogate]:
    """Other dense streams, and [previous label = ⊥], by the share of examples whose side they tell, where both have a
    value. One that tells no more than the larger side alone would is left out."""
    rated: list[tuple[float, Surrogate]] = []
    dense = [stream for stream, kind in enumerate(rules.kinds) if kind != ITEMS and stream != split[0]]
    for stream in [*dense, LABEL]:
        both = [
            (row, goes_true(row, split, rules.n_bins))
            for row in weighed([part for part in parts if is_known(part[0], split[0], gaps.missing)])
            if is_known(row, stream, gaps.missing)
        ]
        best, chosen = max(weight_of(both, True), weight_of(both, False)), None
        for true_bins in surrogate_sets(stream, both, rules, gaps.missing):
            agree = sum(row.weight for row, side in both if (asked(row, stream, rules.n_labels) in true_bins) == side)
            if agree > best:
                best, chosen = agree, true_bins
        if chosen is not None:
            rated.append((best / (weight_of(both, True) + weight_of(both, False)), (stream, chosen)))
    rated.sort(key=lambda one: -one[0])
    return [surrogate for _, surrogate in rated[: gaps.n_surrogates]]


# ------------------------------------------------------------------------------------------------ the tree


def sent_true(node: Node, row: Row, parts: int, rules: Rules, gaps: Gaps) -> int:
    """How many parts of an example go to the true side of a node's split."""
    assert node.split is not None
    if is_known(row, node.split[0], gaps.missing):
        return parts if goes_true(row, node.split, rules.n_bins) else 0
    for stream, true_bins in node.surrogates:
        if is_known(row, stream, gaps.missing):
            return parts if asked(row, stream, rules.n_labels) in true_bins else 0
    true = int(parts * node.share + 0.5)
    true = true if true >= gaps.few else 0
    return true if parts - true >= gaps.few else parts


def divide(node: Node, rules: Rules, gaps: Gaps, n_nodes: int) -> tuple[Node, Node]:
    """Split a node in two: the side that moves to the end of the leaves, and the one that keeps its place."""
    assert node.split is not None
    split = node.split
    known = weighed([part for part in node.parts if is_known(part[0], split[0], gaps.missing)])
    true_weight = totals([row for row in known if goes_true(row, split, rules.n_bins)])[1]
    if split[0] != LABEL:
        node.share = true_weight / totals(known)[1]
        if gaps.n_surrogates:
            node.share = 1.0 if 2 * true_weight >= totals(known)[1] else 0.0
            node.surrogates = find_surrogates(node.parts, split, rules, gaps)
    sides: tuple[list[Part], list[Part]] = [], []
    for row, parts in node.parts:
        true = sent_true(node, row, parts, rules, gaps)
        for side, own in zip(sides, (true, parts - true)):
            if own > 0:
                side.append((row, own))
    node.true, node.false = Node(sides[0], n_nodes), Node(sides[1], n_nodes + 1)
    if split[0] != LABEL and 2 * true_weight > totals(known)[1]:
        return node.false, node.true
    return node.true, node.false


def grow(rows: list[Row], rules: Rules, gaps: Gaps) -> tuple[Node, list[Node]]:
    """The tree, and its leaves in the order they came to be (the side that stays keeps its place)."""
    root = Node([(row, gaps.whole) for row in rows])
    root.best = find_split(root.parts, 0, rules, gaps)
    leaves, n_nodes = [root], 1
    while len(leaves) < rules.max_leaf_nodes:
        gains = [leaf.best[0] if leaf.best else 0.0 for leaf in leaves]
        i = gains.index(max(gains))
        chosen = leaves[i].best
        if chosen is None or gains[i] <= 0.0:
            break
        leaves[i].split = chosen[1]
        moved, kept = divide(leaves[i], rules, gaps, n_nodes)
        n_nodes += 2
        for child in (kept, moved):
            child.best = find_split(child.parts, child.number, rules, gaps)
        leaves[i] = kept
        leaves.append(moved)
    return root, leaves


def leaf_value(leaf: Node, l2_regularization: float, whole: int) -> float:
    """Σ w·target / (λ + Σ w) over the examples of a leaf, of weights w; 0 where nothing is in it."""
    a, n = totals(weighed(leaf.parts))
    return a / whole / (l2_regularization + n / whole) if l2_regularization + n > 0 else 0.0


def predict(node: Node, row: Row, rules: Rules, gaps: Gaps) -> float:
    """ŷ = (n_left·ŷ_left + n_right·ŷ_right) / (n_left + n_right), where neither split nor surrogate has a value."""
    if node.split is None:
        return leaf_value(node, rules.l2_regularization, gaps.whole)
    assert node.true is not None
    assert node.false is not None
    share = node.share
    if is_known(row, node.split[0], gaps.missing):
        share = float(goes_true(row, node.split, rules.n_bins))
    else:
        told = [asked(row, s, rules.n_labels) in way for s, way in node.surrogates if is_known(row, s, gaps.missing)]
        share = float(told[0]) if told else share
    if share in (0.0, 1.0):
        return predict(node.true if share == 1.0 else node.false, row, rules, gaps)
    left, right = (predict(child, row, rules, gaps) for child in (node.true, node.false))
    return share * left + (1.0 - share) * right


# ------------------------------------------------------------------------------------------------ changed data


def most_common(values: Sequence[int], missing: int) -> int:
    """The code that stands most often, the lowest of those that do; `missing` where there is no other."""
    counts = Counter(x for x in values if x != missing)
    return min(counts, key=lambda x: (-counts[x], x)) if counts else missing


def middle(values: Sequence[float], by: str) -> float:
    """The mean or the median of the numbers there are; NaN where there is none."""
    known = [x for x in values if x == x]
    if not known:
        return float("nan")
    return statistics.fmean(known) if by == "mean" else statistics.median(known)


def impute_codes(values: Sequence[int], missing: int, fill: int) -> list[int]:
    """Codes with `fill` where one is missing."""
    return [fill if x == missing else x for x in values]


def impute_numbers(values: Sequence[float], fill: float) -> list[float]:
    """Numbers with `fill` where one is missing."""
    return [x if x == x else fill for x in values]


def indicate(values: Sequence[float]) -> list[bool]:
    """The column of flags: whether a number is missing."""
    return [x != x for x in values]
