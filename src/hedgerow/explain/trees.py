"""One tree of a model: where it stands in the ensemble, and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InputError, plain
from hedgerow.explain.fields import signed
from hedgerow.explain.splits import Splits, explained, has_newton_leaves, label_code, require_trees
from hedgerow.trees.nodes import FALSE_CHILD, LEAF, STREAM, TRUE_CHILD

_INDENT = "    "
_WIDEST = 72  # leaves stand in a line under each other up to this column


@dataclass(frozen=True)
class Branch:
    """A node of a tree in words. A split has `text` and the places of its children; a leaf has a value.

    without : what tells the way of rows that have no value for the split, one after the other; nothing where that is
        one more value
    """

    text: str
    true: int
    false: int
    value: float
    rows: float
    without: tuple[str, ...] = ()

    @property
    def is_leaf(self) -> bool:
        return self.true < 0


def branches(model: Any, iteration: int, label: Any, member: int = 1, most: int = 6) -> list[Branch]:
    """The nodes of one tree, the root first. Parameters as in `tree_text`; `most` values of a set are written out."""
    model = explained(model)
    splits = Splits(model, most)
    tree = find_tree(model, iteration, label, member)
    result = []
    for i, (node, value, rows) in enumerate(zip(tree.nodes.tolist(), tree.values.tolist(), tree.counts.tolist())):
        if node[STREAM] == LEAF:
            shown = rows if tree.shares is None else round(rows, 1)  # shares of rows add up to any number
            result.append(Branch("", -1, -1, value, shown))
        else:
            text, without = splits.text(*splits.ask(node, tree.sets)), splits.without_value(tree, i)
            result.append(Branch(text, node[TRUE_CHILD], node[FALSE_CHILD], 0.0, rows, without))
    return result


def find_tree(model: Any, iteration: int, label: Any, member: int = 1) -> Any:
    """The tree of an iteration and a label, both as users count: iterations and members from 1."""
    require_trees(model)
    ensemble, k = model.ensemble_, label_code(model, label)
    if not 1 <= iteration <= ensemble.n_iterations:
        hint = f"The model has the iterations 1 to {ensemble.n_iterations}."
        raise InputError(f"there is no iteration {iteration}", hint=hint)
    if not 1 <= member <= ensemble.trees_per_step:
        raise InputError(f"there is no tree {member} of a step", hint=f"A step has {ensemble.trees_per_step}.")
    return ensemble.label_tree((iteration - 1) * ensemble.trees_per_step + member - 1, k)


def tree_text(model: Any, iteration: int, label: Any, member: int = 1) -> str:
    """One tree as text: one condition per line, and behind it what its rows add to the score of the label.

    Parameters
    ----------
    model : a fitted TreeCRF, or any object with its schema_, classes_, binning_ and ensemble_; or an AutoLabeler
    iteration : from 1, as in `history_`
    label : one of `classes_`
    member : which of the trees of one step, from 1, where the model has several

    A row is a position with one previous label, and counts as one; with Newton's leaves, which TreeCRF has by default,
    it counts p(1−p), and the sum of that is shown, over all labels where one tree is for all. With missing="weighting"
    and "surrogate" a condition says in brackets what becomes of rows without a value: how many of them go the way of
    those where it holds, or what is asked instead.
    """
    nodes, newton = branches(model, iteration, label, member), has_newton_leaves(explained(model))
    root = nodes[0]
    n_leaves = sum(branch.is_leaf for branch in nodes)
    head = f"iteration {iteration}, label {plain(label)}: {_count(n_leaves, 'leaf', 'leaves')}, {_rows(root, newton)}"
    lines = [("always", root)] if root.is_leaf else _conditions(nodes)
    width = min(_WIDEST, max(len(text) for text, leaf in lines if leaf is not None))
    wide = max(len(signed(leaf.value, 4)) for _, leaf in lines if leaf is not None)
    body = [
        text if leaf is None else f"{text:<{width}}  {signed(leaf.value, 4):>{wide}}  {_rows(leaf, newton)}"
        for text, leaf in lines
    ]
    return "\n".join([head, *body])


def _conditions(nodes: list[Branch]) -> list[tuple[str, Branch | None]]:
    """Lines of text, each with the leaf that it leads to, if it does. A false side that splits again is an `elif`,
    so that trees that take one value after the other stay flat. Not recursive: a tree may be deep."""
    lines: list[tuple[str, Branch | None]] = []
    ahead: list[tuple[str, Branch | None] | tuple[int, int, str]] = [(0, 0, "if")]
    while ahead:
        task = ahead.pop()
        if len(task) == 2:
            lines.append(task)
            continue
        node, depth, word = task
        branch, pad = nodes[node], _INDENT * depth
        yes, no = nodes[branch.true], nodes[branch.false]
        ahead.append((f"{pad}else:", no) if no.is_leaf else (branch.false, depth, "elif"))
        if not yes.is_leaf:
            ahead.append((branch.true, depth + 1, "if"))
        without = f" (missing: {', else '.join(branch.without)})" if branch.without else ""
        lines.append((f"{pad}{word} {branch.text}{without}:", yes if yes.is_leaf else None))
    return lines


def _rows(branch: Branch, newton: bool) -> str:
    return f"{branch.rows:,.4g} p(1−p)" if newton else _count(branch.rows, "row", "rows")


def _count(number: float, one: str, many: str) -> str:
    return f"{number:,.10g} {one if number == 1 else many}"
