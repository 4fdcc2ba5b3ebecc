"""Shapley values of a tree by their definition: all sets of inputs, one after the other."""

from __future__ import annotations

from itertools import combinations
from math import factorial

from hedgerow.trees.nodes import FALSE_CHILD, LEAF, STREAM, TRUE_CHILD


def expected(row, tree, values, known, node=0):
    """What a tree gives where only some inputs are known: others go both ways, as training rows did."""
    if tree.nodes[node, STREAM] == LEAF:
        return float(values[node])
    true, false = int(tree.nodes[node, TRUE_CHILD]), int(tree.nodes[node, FALSE_CHILD])
    if row.asked(tree.nodes[node]) in known:
        share = row.share(tree, node)
    else:
        share = tree.counts[true] / (tree.counts[true] + tree.counts[false])
    sides = ((true, share), (false, 1.0 - share))
    return sum(part * expected(row, tree, values, known, child) for child, part in sides if part > 0.0)


def shapley_values(row, tree, values):
    """The mean of the tree, and what each input adds on average over all orders in which they become known."""
    inputs = sorted({row.asked(node) for node in tree.nodes if node[STREAM] != LEAF})
    found = {}
    for asked in inputs:
        others, total = [one for one in inputs if one != asked], 0.0
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size) / factorial(len(inputs))
            for known in combinations(others, size):
                with_it = expected(row, tree, values, {*known, asked})
                total += weight * (with_it - expected(row, tree, values, set(known)))
        found[asked] = total
    return expected(row, tree, values, set()), found
