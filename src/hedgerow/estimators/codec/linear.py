"""Which weights of features there are, as files keep it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow.estimators.codec.arrays import Array, pointers
from hedgerow.estimators.codec.parts import Record
from hedgerow.estimators.codec.steps import Check, Let, Scope, refuse
from hedgerow.legend import CODE
from hedgerow.linear.index import WeightIndex
from hedgerow.linear.streams import Streams


def check_slots(scope: Scope) -> None:
    """The outputs of a row rise: no row has two weights for one output."""
    inner = np.ones(len(scope["slot_label"]), dtype=bool)
    begins = scope["row_ptr"][:-1]
    inner[begins[begins < len(inner)]] = False
    if np.any(inner[1:] & (scope["slot_label"][1:] <= scope["slot_label"][:-1])):
        refuse("a feature has two weights for one label")


def weight_index(streams: Callable[[Scope], Streams], n_outputs: Callable[[Scope], int]) -> Record:
    """The weights of the features of some streams, for so many outputs."""
    return Record(
        (
            Let("streams", streams),
            Let("R", lambda scope: scope["streams"].n_rows),
            Let("outputs", n_outputs),
            Array("slot_label", CODE, ("slots",), points_into="outputs"),
            pointers("row_ptr", "R", "slots"),
            Check(check_slots),
        ),
        lambda scope: WeightIndex(scope["streams"], scope["outputs"], scope["row_ptr"], scope["slot_label"]),
    )
