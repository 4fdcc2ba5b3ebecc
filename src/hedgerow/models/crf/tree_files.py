"""TreeCRF as tensors and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.data.dataset import Schema
from hedgerow.data.imputation import seen_schema
from hedgerow.errors import ModelFileError
from hedgerow.estimators.history_files import pack_histories, unpack_histories
from hedgerow.estimators.missing import OF_TREES
from hedgerow.estimators.parameters import check_choice
from hedgerow.estimators.schema_files import Tensors, count, pack_space, tensor, unpack_space, within
from hedgerow.legend import CODE, INDEX, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.models.crf.tree_training import table_shape
from hedgerow.training.boosting.scores import Start
from hedgerow.trees.binning import ATTRIBUTES, CODES, ITEMS, MAX_BINS, ORDERED, Binning, split_columns, window_of
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.missing import LEARNED, SURROGATE, WEIGHTING

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = range(5)  # the rules of splits, as kernels number them
LABEL, LEAF = -1, -2
_OF_GAPS = ("shares", "surrogate_ptr", "surrogates", "surrogate_sets")  # of trees in which a missing value is none
_BELOW = "linear."  # how the tensors of the linear model below the trees are called


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's trees, bins and starting scores to the tensors; return its part of the header."""
    pack_space(model.space_, tensors)
    tensors["constant"] = model.constant_
    pack_binning(model.binning_, tensors)
    pack_trees(model.ensemble_, tensors)
    if model.edge_tables_ is not None:
        tensors["edge_tables"] = model.edge_tables_
    # What was fitted, which parameters no longer say once they are set anew.
    header: dict[str, Any] = {
        "trees_per_step": model.ensemble_.trees_per_step,
        "shared_edges": model.edge_tables_ is not None,
        "refitted": model.refitted_,
        "likelihood_iterations": model.likelihood_iterations_,
        "missing": model.missing_,
        "order": model.order_,
    }
    if model.histories_ is not None:
        pack_histories(model.histories_, tensors)
    if model.linear_ is not None:
        from hedgerow.estimators.files import pack_model

        header["linear"], below = pack_model(model.linear_)
        tensors |= {f"{_BELOW}{name}": array for name, array in below.items()}
    return header


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    K = len(model.schema_.labels)
    model.space_ = unpack_space(K, tensors)
    model.constant_ = _numbers(tensors, "constant", (K + 1, K))
    model.missing_ = header.get("missing", LEARNED)  # the first files did not have it
    check_choice("missing", model.missing_, OF_TREES)
    model.binning_ = unpack_binning(seen_schema(model), tensors)
    gaps = model.missing_ in (WEIGHTING, SURROGATE) and len(tensors["trees.nodes"]) > 0
    shared = _flag(header, "shared_edges", model.edges == "shared")
    model.order_, model.histories_ = count(header, "order", 1), unpack_histories(K, tensors)
    start = Start(model.space_, model.constant_, order=model.order_, histories=model.histories_)
    if (model.histories_ is None) == (shared and model.order_ > 1):
        raise ModelFileError(f"the histories do not fit order {model.order_}")
    table = None if shared else start.history_table
    n_before = K if table is None else table.n_histories
    model.ensemble_ = unpack_trees(
        model.binning_, K, header["trees_per_step"], tensors, with_gaps=gaps, n_before=n_before
    )
    model.edge_tables_ = None
    if shared:
        shape = (model.ensemble_.n_iterations, *table_shape(K, start))
        model.edge_tables_ = _numbers(tensors, "edge_tables", shape)
    model.linear_ = _unpack_below(model, header, tensors)
    if model.linear_ is not None and "start" not in header["parameters"]:
        model.start = model.linear_
    model.refitted_ = _flag(header, "refitted", False)
    model.likelihood_iterations_ = count(header, "likelihood_iterations", 0)


def _flag(header: Mapping[str, Any], name: str, default: bool) -> bool:
    """A flag of the header. The first files did not have it: then it is the default."""
    value = header.get(name, default)
    if type(value) is not bool:
        raise ModelFileError(f"{name} is {value!r}")
    return value


def _unpack_below(model: Any, header: Mapping[str, Any], tensors: Tensors) -> Any:
    """The linear model below the trees, or None."""
    if "linear" not in header:
        return None
    from hedgerow.estimators.files import unpack_model

    own = {name.removeprefix(_BELOW): array for name, array in tensors.items() if name.startswith(_BELOW)}
    if header["linear"]["kind"] != "LinearCRF":
        raise ModelFileError(f"the trees stand on a {header['linear']['kind']!r}")
    linear = unpack_model(header["linear"], own)
    if linear.schema_.labels != model.schema_.labels:
        raise ModelFileError("the linear model below the trees has other labels")
    if model.edge_tables_ is not None and linear.layout_.pairs is not None:
        raise ModelFileError("shared edges stand on a linear model with edges of each position")
    return linear


# ------------------------------------------------------------------------------------------------ columns as bins


def pack_binning(binning: Binning, tensors: Tensors) -> None:
    """What is learnt of the bins; the rest follows from the schema."""
    for name, lists, dtype in (
        ("thresholds", binning.thresholds, np.float64),
        ("item_source", binning.item_source, CODE),
        ("item_cut", binning.item_cut, np.float64),
    ):
        filled = [np.empty(0, dtype) if one is None else one for one in lists]
        tensors[f"bins.{name}"] = np.concatenate(filled)
        tensors[f"bins.{name}_ptr"] = np.concatenate([[0], np.cumsum([len(one) for one in filled])]).astype(INDEX)


def unpack_binning(schema: Schema, tensors: Tensors) -> Binning:
    """The bins of a schema's columns, with what `pack_binning` wrote."""
    dense, sparse = split_columns(schema)
    n_columns = len(dense) + len(sparse) + (len(schema.attributes) > 0)
    thresholds = _runs(tensors, "bins.thresholds", np.float64, n_columns)
    sources = _runs(tensors, "bins.item_source", CODE, n_columns)
    cuts = _runs(tensors, "bins.item_cut", np.float64, n_columns)
    entries: list[tuple[Any, ...]] = []
    for (column, _, _), edges in zip(dense, thresholds):
        window = window_of(column.offsets)
        if column.kind != "numeric":
            entries.append((column.name, CODES, column.n_codes, None, None, None, window))
            continue
        if len(edges) + 3 > MAX_BINS or not np.isfinite(edges).all() or np.any(np.diff(edges) <= 0):
            raise ModelFileError(f"the bins of the column {column.name!r} are not sound")
        entries.append((column.name, ORDERED, len(edges) + 3, edges, None, None, window))
    wide = [(column.name, column.n_codes, column.offsets) for column, _, _ in sparse]
    if len(schema.attributes):
        wide.append((ATTRIBUTES, len(schema.attributes), schema.attribute_offsets))
    for (name, n_sources, offsets), source, cut in zip(wide, sources[len(dense) :], cuts[len(dense) :]):
        if not within(source, n_sources) or np.any(np.diff(source) < 0) or cut.shape != source.shape:
            raise ModelFileError(f"the items of the column {name!r} are not sound")
        entries.append((name, ITEMS, len(source), None, source, cut, window_of(offsets)))
    if not entries:
        raise ModelFileError("there is no column to split on")
    return Binning(*(tuple(part) for part in zip(*entries)))


def _runs(tensors: Tensors, name: str, dtype: Any, n: int) -> list[AnyArray]:
    """A tensor cut into n runs by its pointers."""
    values = tensor(tensors, name, dtype)
    return np.split(values, _pointers(tensors, f"{name}_ptr", n, len(values))[1:-1])


def _pointers(tensors: Tensors, name: str, n: int | None, end: int) -> IndexArray:
    """Rising numbers from 0 to `end`, n+1 of them."""
    ptr = tensor(tensors, name, INDEX, None if n is None else (n + 1,))
    if not len(ptr) or ptr[0] != 0 or ptr[-1] != end or np.any(ptr[1:] < ptr[:-1]):  # differences could wrap
        raise ModelFileError(f"{name} does not cut what it should")
    return ptr


# ------------------------------------------------------------------------------------------------ trees


def pack_trees(ensemble: Ensemble, tensors: Tensors) -> None:
    """The trees as tensors."""
    for name in ("ptr", "set_ptr", "nodes", "values", "gains", "counts", "sets"):
        tensors[f"trees.{name}"] = getattr(ensemble, name)
    if ensemble.shares is not None:
        for name in _OF_GAPS:
            tensors[f"trees.{name}"] = getattr(ensemble, name)


def unpack_trees(
    binning: Binning,
    n_labels: int,
    trees_per_step: Any,
    tensors: Tensors,
    *,
    with_gaps: bool,
    n_before: int | None = None,
) -> Ensemble:
    """The trees that `pack_trees` wrote, after they were checked against the bins.

    n_before : how many previous labels, or histories, they tell apart; by default as many as labels
    """
    n_before = n_labels if n_before is None else n_before
    nodes, sets = tensors["trees.nodes"], tensors["trees.sets"]
    if nodes.dtype != INDEX or nodes.ndim != 2 or nodes.shape[1] != 5:
        raise ModelFileError(f"trees.nodes is {nodes.dtype} of shape {nodes.shape}")
    if sets.dtype != np.uint8 or sets.ndim != 2 or sets.shape[1] != max(256, n_before + 1):
        raise ModelFileError(f"trees.sets is {sets.dtype} of shape {sets.shape}")
    if type(trees_per_step) is not int or trees_per_step < 1:
        raise ModelFileError(f"trees_per_step is {trees_per_step!r}")
    ptr = _pointers(tensors, "trees.ptr", None, len(nodes))
    n_trees = len(ptr) - 1
    if n_trees % (n_labels * trees_per_step) or np.any(ptr[1:] <= ptr[:-1]):
        raise ModelFileError(f"{n_trees} trees do not fit {n_labels} labels with {trees_per_step} in a step")
    set_ptr = _pointers(tensors, "trees.set_ptr", n_trees, len(sets))
    own = {name: _numbers(tensors, f"trees.{name}", (len(nodes),)) for name in ("values", "gains", "counts")}
    _check_nodes(binning, n_before, nodes, ptr, set_ptr)
    gaps = _unpack_gaps(binning, nodes, ptr, tensors) if with_gaps else {}
    return Ensemble(
        n_labels, trees_per_step, ptr, set_ptr, nodes, own["values"], own["gains"], own["counts"], sets, **gaps
    )


def _unpack_gaps(binning: Binning, nodes: IndexArray, ptr: IndexArray, tensors: Tensors) -> dict[str, Any]:
    """Shares and surrogates of trees in which a missing value is none."""
    shares = _numbers(tensors, "trees.shares", (len(nodes),))
    if np.any((shares < 0.0) | (shares > 1.0)):
        raise ModelFileError("trees.shares holds what is not a share")
    n = len(tensors["trees.surrogates"])
    surrogates = tensor(tensors, "trees.surrogates", INDEX, (n, 2))
    sets = tensor(tensors, "trees.surrogate_sets", np.uint8, (n, MAX_BINS // 8))
    own = _pointers(tensors, "trees.surrogate_ptr", len(ptr) - 1, n)
    sizes = np.repeat(np.diff(ptr), np.diff(own))
    split = np.repeat(ptr[:-1], np.diff(own)) + np.clip(surrogates[:, 0], 0, sizes - 1)
    node, stream = surrogates[:, 0], surrogates[:, 1]
    inside = (node >= 0) & (node < sizes) & (nodes[split, 0] >= 0)
    inside[1:] &= (np.diff(node) >= 0) | np.isin(np.arange(1, n), own)  # in each tree by node
    dense = binning.streams[4] != ITEMS
    if not inside.all() or np.any((stream < LABEL) | (stream >= len(dense))) or not dense[stream[stream >= 0]].all():
        raise ModelFileError("a surrogate of a split is not sound")
    return {"shares": shares, "surrogate_ptr": own, "surrogates": surrogates, "surrogate_sets": sets}


def _check_nodes(binning: Binning, n_before: int, nodes: IndexArray, ptr: IndexArray, set_ptr: IndexArray) -> None:
    """Refuse trees that a walk could not follow: every split leads to later nodes of its tree, by what is there."""
    sizes = np.repeat(np.diff(ptr), np.diff(ptr))
    place = np.arange(len(nodes)) - np.repeat(ptr[:-1], np.diff(ptr))
    n_sets = np.repeat(np.diff(set_ptr), np.diff(ptr))
    stream, bin_, rule = nodes[:, 0], nodes[:, 1], nodes[:, 2]
    split = stream != LEAF
    if np.any(stream[split] < LABEL) or np.any(stream >= binning.streams.shape[1]):
        raise ModelFileError("a tree splits on what is not there")
    children = nodes[:, 3:]
    lost = (children <= place[:, None]) | (children >= sizes[:, None])
    if np.any(lost[split]):
        raise ModelFileError("a split of a tree leads nowhere")
    inner = np.where(stream >= 0, stream, 0)
    ends = np.where(stream == LABEL, n_before + 1, binning.streams[3][inner])
    ends = np.where(rule == SUBSET, n_sets, ends)
    kinds = np.where(stream == LABEL, CODES, binning.streams[4][inner])
    if np.any(split & ((bin_ < 0) | (bin_ >= ends) | ~_fits(kinds, rule))):
        raise ModelFileError("a split of a tree does not fit its column")


def _fits(kinds: IndexArray, rule: IndexArray) -> BoolArray:
    """Whether a rule is one of those that a column of this kind is split by."""
    codes = (kinds == CODES) & ((rule == EQUAL) | (rule == SUBSET))
    ordered = (kinds == ORDERED) & ((rule == AT_MOST) | (rule == AT_MOST_OR_SPECIAL))
    found: BoolArray = codes | ordered | ((kinds == ITEMS) & (rule == HAS))
    return found


def _numbers(tensors: Tensors, name: str, shape: tuple[int, ...]) -> FloatArray:
    values = tensor(tensors, name, np.float64, shape)
    if not np.isfinite(values).all():
        raise ModelFileError(f"{name} holds what is not a number")
    return values
