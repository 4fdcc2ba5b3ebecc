"""LinearCRF as tensors and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.data.dataset import Schema
from hedgerow.data.imputation import seen_schema
from hedgerow.errors import ModelFileError
from hedgerow.estimators.history_files import pack_histories, unpack_histories
from hedgerow.estimators.schema_files import Tensors, count, pack_space, tensor, unpack_space, within
from hedgerow.legend import CODE, INDEX
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import WeightIndex
from hedgerow.linear.streams import Streams


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's weights and their layout to the tensors; return its part of the header."""
    pack_layout(model.layout_, tensors)
    tensors["weights"] = model.weights_
    return {"pair_columns": list(model.layout_.pair_columns), "n_sequences": model.n_sequences_}


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    model.layout_ = unpack_layout(seen_schema(model), header, tensors)
    model.weights_ = tensor(tensors, "weights", np.float64, (model.layout_.n_weights,))
    if not np.isfinite(model.weights_).all():
        raise ModelFileError("a weight is not a number")
    model.weights_.flags.writeable = False
    model.n_sequences_ = count(header, "n_sequences", 0)


def pack_layout(layout: ChainLayout, tensors: Tensors) -> None:
    """The layout of a chain's weights as tensors."""
    tensors |= {"arc_from": layout.arc_from, "arc_to": layout.arc_to}
    pack_space(layout.space, tensors)
    if layout.histories is not None:
        pack_histories(layout.histories, tensors)
    pack_index(tensors, "nodes", layout.nodes)
    if layout.pairs is not None:
        pack_index(tensors, "pairs", layout.pairs)


def unpack_layout(schema: Schema, header: Mapping[str, Any], tensors: Tensors) -> ChainLayout:
    K = len(schema.labels)
    space = unpack_space(K, tensors)
    arc_from, arc_to = (tensor(tensors, name, INDEX) for name in ("arc_from", "arc_to"))
    if len(arc_from) != len(arc_to) or not within(arc_from, K) or not within(arc_to, K):
        raise ModelFileError("the transitions do not fit the labels")
    nodes = unpack_index(tensors, "nodes", Streams.of(schema), K)
    pairs = None
    names = tuple(str(name) for name in header["pair_columns"])
    if "pairs.row_ptr" in tensors:
        pairs = unpack_index(tensors, "pairs", Streams.of(schema, set(names)), K * K)
    return ChainLayout(nodes, arc_from, arc_to, space, pairs, names, unpack_histories(K, tensors))


def pack_index(tensors: Tensors, name: str, index: WeightIndex) -> None:
    """Which weights there are, as tensors of this name."""
    tensors[f"{name}.row_ptr"], tensors[f"{name}.slot_label"] = index.row_ptr, index.slot_label


def unpack_index(tensors: Tensors, name: str, streams: Streams, n_outputs: int) -> WeightIndex:
    """What `pack_index` wrote: weights of these streams for so many labels, or pairs of labels."""
    row_ptr = tensor(tensors, f"{name}.row_ptr", INDEX, (streams.n_rows + 1,))
    slot_label = tensor(tensors, f"{name}.slot_label", CODE)
    sound = row_ptr[0] == 0 and row_ptr[-1] == len(slot_label) and np.all(np.diff(row_ptr) >= 0)
    if not sound or not within(slot_label, n_outputs):
        raise ModelFileError(f"the weights of the {name} do not fit their features")
    return WeightIndex(streams, n_outputs, row_ptr, slot_label)
