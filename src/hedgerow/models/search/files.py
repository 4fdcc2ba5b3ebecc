"""BeamSearchTagger as tensors and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.data.dataset import Column
from hedgerow.data.imputation import seen_schema
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.errors import ModelFileError
from hedgerow.estimators.schema_files import Tensors, count, pack_space, tensor, unpack_space
from hedgerow.legend import CODE, CodeArray
from hedgerow.linear.streams import Streams
from hedgerow.models.crf.linear_files import pack_index, unpack_index
from hedgerow.models.crf.tree_files import pack_binning, pack_trees, unpack_binning, unpack_trees
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.local.previous_labels import MAX_ORDER, column_names
from hedgerow.models.search.features import MAX_COUNTS, SearchLayout
from hedgerow.models.search.ranking import RankingTrees

_LABEL = -1  # the stream of the previous label
_FUTURE = "future."  # how the tensors of the finder of future features are called


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's weights or trees to the tensors; return its part of the header."""
    from hedgerow.estimators.files import pack_model

    pack_space(model.space_, tensors)
    header: dict[str, Any] = {"refitted": model.refitted_}
    if hasattr(model, "trees_"):
        pack_binning(model.trees_.binning_, tensors)
        pack_trees(model.trees_.ensemble_, tensors)
        header |= {"looks_back": model.trees_.order, "backward": model.trees_.backward}
    else:
        layout = model.layout_
        pack_index(tensors, "nodes", layout.nodes)
        tensors |= {"runs": layout.child, "weights": model.weights_}
        header |= {"looks_back": layout.order, "backward": layout.backward, "label_counts": layout.label_counts}
    if model.future_ is not None:
        header["future"], own = pack_model(model.future_)
        tensors |= {f"{_FUTURE}{name}": array for name, array in own.items()}
    return header


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    from hedgerow.estimators.files import unpack_model

    model.future_ = None
    if "future" in header:
        own = {name.removeprefix(_FUTURE): array for name, array in tensors.items() if name.startswith(_FUTURE)}
        model.future_ = unpack_model(header["future"], own)
        if not isinstance(model.future_, FutureFeatureMEMM) or model.future_.schema_ != seen_schema(model):
            raise ModelFileError("the future features are of other columns")
    order, backward = count(header, "looks_back", 0), header["backward"]
    if order > MAX_ORDER or type(backward) is not bool or type(header["refitted"]) is not bool:
        raise ModelFileError("what a labeling looks back at is not sound")
    model.space_, model.refitted_ = unpack_space(len(model.schema_.labels), tensors), header["refitted"]
    if "weights" in tensors:
        _unpack_weights(model, order, backward, header, tensors)
    else:
        _unpack_trees(model, order, backward, tensors)


def _unpack_weights(model: Any, order: int, backward: bool, header: Mapping[str, Any], tensors: Tensors) -> None:
    K, counts = len(model.schema_.labels), count(header, "label_counts", 0)
    if counts > MAX_COUNTS:
        raise ModelFileError(f"labels are counted up to {counts}")
    nodes = unpack_index(tensors, "nodes", Streams.of(model._input_schema()), K)
    _check_runs(tensors["runs"], K, order)
    model.layout_ = SearchLayout(nodes, tensors["runs"], order, counts, model.space_, backward)
    model.weights_ = tensor(tensors, "weights", np.float64, (model.layout_.n_weights,))
    if not np.isfinite(model.weights_).all():
        raise ModelFileError("a weight is not a number")


def _unpack_trees(model: Any, order: int, backward: bool, tensors: Tensors) -> None:
    schema, K = model._input_schema(), len(model.schema_.labels)
    vocabulary = Vocabulary([str(label) for label in schema.labels])
    added = [Column(name, "categorical", vocabulary=vocabulary) for name in column_names(order, backward=backward)]
    binning = unpack_binning(replace(schema, columns=schema.columns + tuple(added)), tensors)
    ensemble = unpack_trees(binning, K, 1, tensors, with_gaps=False)
    model.trees_ = RankingTrees(schema.classes, ensemble, binning, order, backward)
    if np.any(model.trees_.ensemble_.nodes[:, 0] == _LABEL):
        raise ModelFileError("a tree asks for the previous label by another way than its column")


def _check_runs(child: CodeArray, n_labels: int, order: int) -> None:
    """Refuse what is not a tree of runs, each node after its parent, and no deeper than the order."""
    if child.dtype != CODE or child.ndim != 2 or child.shape[1] != n_labels + 1 or not len(child):
        raise ModelFileError("the runs of labels do not fit the labels")
    parents, _ = np.nonzero(child >= 0)
    nodes = child[child >= 0]
    depth = np.zeros(len(child), dtype=int)
    sound = np.array_equal(np.sort(nodes), np.arange(1, len(child))) and bool(np.all(nodes > parents))
    if sound:
        for m, parent in sorted(zip(nodes.tolist(), parents.tolist())):
            depth[m] = depth[parent] + 1
    if not sound or depth.max() > order:
        raise ModelFileError("the runs of labels are no tree")
