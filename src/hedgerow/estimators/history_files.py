"""Histories as tensors and back."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.structure.histories import MAX_ORDER, NOTHING, Histories
from hedgerow.errors import ModelFileError
from hedgerow.estimators.schema_files import Tensors, tensor
from hedgerow.legend import CODE, INDEX

_ARRAYS = ("back_off", "arc_state", "arc_label", "arc_next")


def pack_histories(histories: Histories, tensors: Tensors) -> None:
    """What `Histories.linked` takes, as tensors; order and the state of the start in one."""
    tensors["histories.order_start"] = np.array([histories.order, histories.start], dtype=INDEX)
    tensors |= {f"histories.{name}": getattr(histories, name) for name in ("labels", *_ARRAYS, "legal")}


def unpack_histories(n_labels: int, tensors: Tensors) -> Histories | None:
    """The histories that a file has, None where it has none. What does not fit together is an error."""
    if "histories.order_start" not in tensors:
        return None
    order, start = tensor(tensors, "histories.order_start", INDEX, (2,)).tolist()
    arrays = {name: tensor(tensors, f"histories.{name}", CODE) for name in _ARRAYS}
    labels = tensors["histories.labels"]
    legal = tensor(tensors, "histories.legal", np.bool_)
    sound = labels.dtype == CODE and labels.ndim == 2 and 0 <= order <= MAX_ORDER
    if not sound or not ((labels >= NOTHING) & (labels < n_labels)).all():
        raise ModelFileError("the histories do not fit the labels")
    return Histories.linked(n_labels, order, start, labels, legal=legal, **arrays)
