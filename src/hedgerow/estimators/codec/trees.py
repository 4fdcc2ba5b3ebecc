"""Bins and trees as files keep them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from hedgerow.data.dataset import Schema
from hedgerow.estimators.codec.arrays import Array, Ragged, pointers, scores
from hedgerow.estimators.codec.parts import Record, pack, unpack
from hedgerow.estimators.codec.steps import Check, Let, Scope, Step, refuse
from hedgerow.estimators.codec.values import count, flag
from hedgerow.legend import CODE, FIRST_VALUE, FLOAT, INDEX, MISSING, OUTSIDE, AnyArray, BoolArray, IndexArray
from hedgerow.trees.binning import ATTRIBUTES, Binning, split_columns, window_of
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.growing import Tree
from hedgerow.trees.nodes import (
    AT_MOST,
    AT_MOST_OR_SPECIAL,
    BIN,
    CODES,
    EQUAL,
    HAS,
    ITEMS,
    KIND,
    LABEL,
    LEAF,
    MAX_BINS,
    N_BINS,
    N_SPECIAL,
    ORDERED,
    RULE,
    STREAM,
    SUBSET,
    TRUE_CHILD,
)

# ------------------------------------------------------------------------------------------------ columns as bins


def _make_binning(scope: Scope) -> Binning:
    """The bins of the columns that the trees see, `scope["columns"]`."""
    schema: Schema = scope["columns"]
    dense, sparse = split_columns(schema)
    learnt = list(zip(scope["thresholds"], scope["item_source"], scope["item_cut"]))
    if not schema.n_attributes and sparse and len(learnt) > len(dense) and not len(learnt[len(dense)][2]):
        dense, sparse = dense + sparse, []  # a gathered column has no cuts; others have one for each item
    wide = [(one.column.name, one.column.n_codes, one.column.offsets) for one in sparse]
    if schema.n_attributes:
        wide.append((ATTRIBUTES, schema.n_attributes, schema.attribute_offsets))
    n = len(dense)
    if scope["C"] != n + len(wide) or not scope["C"]:
        refuse(f"there are bins of {scope['C']} columns, and trees can split on {n + len(wide)}")
    entries = [_dense_bins(one.column, *bins) for one, bins in zip(dense, learnt)]
    entries += [_items(*column, *bins) for column, bins in zip(wide, learnt[n:])]
    return Binning(*(tuple(part) for part in zip(*entries)))


def _dense_bins(column: Any, edges: AnyArray, source: AnyArray, cut: AnyArray) -> tuple[Any, ...]:
    window = window_of(column.offsets)
    numeric = column.kind == "numeric"
    sound = len(edges) + 1 + N_SPECIAL <= MAX_BINS and np.all(edges[1:] > edges[:-1]) and (numeric or not len(edges))
    gathered = column.kind != "numeric" and column.n_codes > MAX_BINS
    if gathered:
        sound &= source[:FIRST_VALUE].tolist() == [MISSING, OUTSIDE] and len(source) < MAX_BINS
        sound = sound and bool(np.all(source[1:] > source[:-1])) and int(source[-1]) < column.n_codes
    if not sound or (len(source) and not gathered) or len(cut):
        refuse(f"the bins of the column {column.name!r} are not sound")
    if gathered:
        return column.name, CODES, len(source) + 1, None, source, None, window
    if numeric:
        return column.name, ORDERED, len(edges) + 1 + N_SPECIAL, edges, None, None, window
    return column.name, CODES, column.n_codes, None, None, None, window


def _items(
    name: str, n_sources: int, offsets: tuple[int, ...], edges: AnyArray, source: AnyArray, cut: AnyArray
) -> tuple[Any, ...]:
    inside = not len(source) or int(source.max()) < n_sources
    if not inside or np.any(source[1:] < source[:-1]) or cut.shape != source.shape or len(edges):
        refuse(f"the items of the column {name!r} are not sound")
    return name, ITEMS, len(source), None, source, cut, window_of(offsets)


BINNING = Record(
    (
        Ragged("thresholds", "C", Array("thresholds", FLOAT, ("T",))),
        Ragged("item_source", "C", Array("item_source", CODE, ("I",), low=0)),
        Ragged("item_cut", "C", Array("item_cut", FLOAT, ("I",), nan=True)),
    ),
    _make_binning,
)


# ------------------------------------------------------------------------------------------------ trees


def check_counts(scope: Scope) -> None:
    """Every iteration has as many trees for each label, and no tree is without a node."""
    n_trees, step = scope["J"], 1 if scope["vectors"] else scope["n_labels"] * scope["trees_per_step"]
    if scope["vectors"] and scope["trees_per_step"] != 1:
        refuse("a step has more trees than one for all labels")
    if n_trees % step:
        refuse(f"{n_trees} trees do not fit {scope['n_labels']} labels with {scope['trees_per_step']} in a step")
    if np.any(scope["ptr"][1:] == scope["ptr"][:-1]):
        refuse("a tree has no node")


def _spread(of_trees: IndexArray, ptr: IndexArray) -> IndexArray:
    """What each tree has, for each of its nodes. Pointers were checked: they rise, and differences do not wrap."""
    return np.repeat(of_trees, np.diff(ptr))


def check_children(scope: Scope) -> None:
    """Every split leads to two later nodes of its tree, and every node but the first is a child exactly once."""
    nodes, ptr = scope["nodes"], scope["ptr"]
    first = _spread(ptr[:-1], ptr)
    split, children = nodes[:, STREAM] != LEAF, nodes[:, TRUE_CHILD:]
    place, size = np.arange(len(nodes)) - first, _spread(np.diff(ptr), ptr)
    inside = (children > place[:, None]) & (children < size[:, None])
    if not inside[split].all():
        refuse("a split of a tree leads nowhere")
    parents = np.bincount((first[:, None] + children)[split].ravel(), minlength=len(nodes))
    if not np.array_equal(parents, place > 0):
        refuse("a node of a tree is not the child of exactly one split")


def check_splits(scope: Scope) -> None:
    """Every split asks for a bin, an item or a set that its column has, by a rule of its column's kind."""
    nodes, ptr, streams = scope["nodes"], scope["ptr"], scope["binning"].streams
    stream, bin_, rule = nodes[:, STREAM], nodes[:, BIN], nodes[:, RULE]
    split = stream != LEAF
    if np.any(stream < LEAF) or np.any(stream >= streams.shape[1]):
        refuse("a tree splits on what is not there")
    if not scope["before"] and np.any(stream == LABEL):
        refuse("a tree splits on the previous label, which it does not see")
    inner = np.where(stream >= 0, stream, 0)
    ends = np.where(stream == LABEL, scope["before"] + 1, streams[N_BINS][inner])
    ends = np.where(rule == SUBSET, _spread(np.diff(scope["set_ptr"]), ptr), ends)
    kinds = np.where(stream == LABEL, CODES, streams[KIND][inner])
    if np.any(split & ((bin_ < 0) | (bin_ >= ends) | ~_fits(kinds, rule))):
        refuse("a split of a tree does not fit its column")


def _fits(kinds: IndexArray, rule: IndexArray) -> BoolArray:
    """Whether a rule is one of those that a column of this kind is split by."""
    codes = (kinds == CODES) & ((rule == EQUAL) | (rule == SUBSET))
    ordered = (kinds == ORDERED) & ((rule == AT_MOST) | (rule == AT_MOST_OR_SPECIAL))
    fits: BoolArray = codes | ordered | ((kinds == ITEMS) & (rule == HAS))
    return fits


def check_surrogates(scope: Scope) -> None:
    """A surrogate is of a split of its tree, in the order of nodes, and asks a dense stream or the previous label."""
    if scope["shares"] is None:
        return
    nodes, ptr, begins = scope["nodes"], scope["ptr"], scope["surrogate_ptr"]
    node, stream = scope["surrogates"][:, 0], scope["surrogates"][:, 1]
    sizes = _spread(np.diff(ptr), begins)
    place = _spread(ptr[:-1], begins) + np.clip(node, 0, sizes - 1)
    inside = (node >= 0) & (node < sizes) & (nodes[place, 0] >= 0)
    inside[1:] &= (node[1:] >= node[:-1]) | np.isin(np.arange(1, len(node)), begins)
    dense = scope["binning"].streams[KIND] != ITEMS
    if not inside.all() or np.any((stream < LABEL) | (stream >= len(dense))) or not dense[stream[stream >= 0]].all():
        refuse("a surrogate of a split is not sound")


def ensemble(
    n_labels: Callable[[Scope], int] = lambda scope: int(scope["K"]),
    before: Callable[[Scope], int] = lambda scope: 0,
    *,
    gaps: bool = False,
    vectors: bool = False,
) -> Record:
    """Trees over the bins `scope["binning"]`.

    n_labels : for how many labels each iteration has trees
    before : how many previous labels, or histories, they tell apart; 0 where they see none
    gaps : whether they may take a missing value for none
    vectors : whether a tree may be for all labels
    """
    steps: tuple[Step, ...] = (
        Let("n_labels", n_labels),
        Let("before", before),
        Let("width", lambda scope: max(256, scope["before"] + 1, scope["n_labels"] + 1)),
        count("trees_per_step", low=1),
        flag("vectors", of=lambda trees: trees.vectors or None, optional=True)
        if vectors
        else Let("vectors", lambda scope: None),
        Array("nodes", INDEX, ("N", 5)),
        pointers("ptr", "J", "N"),
        Check(check_counts),
        Array("sets", np.uint8, ("B", "width")),
        pointers("set_ptr", "J", "B"),
        scores("values", _value_shape),
        Array("gains", FLOAT, ("N",)),
        Array("counts", FLOAT, ("N",)),
        Check(check_children),
        Check(check_splits),
    )
    return Record((*steps, *_GAPS) if gaps else steps, _make_ensemble)


def _value_shape(scope: Scope) -> tuple[int, ...]:
    n = scope.size("N")
    return (n, scope["n_labels"]) if scope["vectors"] else (n,)


def _there(scope: Scope) -> bool:
    return scope["shares"] is not None


_GAPS = (
    Array("shares", FLOAT, ("N",), low=0.0, high=1.0, optional=True),
    Array("surrogates", INDEX, ("Q", 2), when=_there),
    Array("surrogate_sets", np.uint8, ("Q", MAX_BINS // 8), when=_there),
    pointers("surrogate_ptr", "J", "Q", when=_there),
    Check(check_surrogates),
)


def _make_ensemble(scope: Scope) -> Ensemble:
    names = [field.name for field in fields(Ensemble)]
    return Ensemble(**{name: scope[name] for name in names if name in scope})


# ------------------------------------------------------------------------------------------------ in checkpoints

_TREES = ensemble(before=lambda scope: int(scope["n_before"]), gaps=True, vectors=True)


def plain_trees(n_labels: int, trees: Sequence[Tree]) -> list[Any]:
    """Trees as few large arrays, as many for each label: nothing where there are none."""
    return list(pack(_TREES, Ensemble.of(n_labels, trees))) if trees else []


def trees_of(plain: Any, n_labels: int, binning: Any, n_before: int = 0) -> list[Tree]:
    """What `plain_trees` was made of, checked as in a model file.

    binning : what they split on, or whatever has its `streams`; n_before : as `before` of `ensemble`
    """
    if not plain:
        return []
    header, tensors = plain
    known = {"K": n_labels, "binning": binning, "n_before": n_before}
    made: Ensemble = unpack(_TREES, header, tensors, n_bytes=sum(one.nbytes for one in tensors.values()), **known)
    return made.trees()
