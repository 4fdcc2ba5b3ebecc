"""What a wrong label costs, as users give it."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.data.dataset import Label
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray

Costs = Mapping[Label, float] | Iterable[tuple[Label, Label, float]]

_HINT = "Give a mapping of label to cost, or a list of (true label, predicted label, cost)."


def check_costs(costs: Any) -> None:
    """Refuse what cannot be costs, whatever the labels are."""
    if costs is None:
        return
    for entry in _entries(costs):
        value = entry[-1]
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0.0 <= float(value) < np.inf:
            raise InputError(f"⟦costs⟧ has the cost {value!r}", hint="A cost is a number, 0 or above.")


def cost_table(costs: Any, labels: Sequence[Label]) -> FloatArray | None:
    """(K, K) [true, predicted], 1 where nothing else is said and 0 on the diagonal; None for costs of 1."""
    if costs is None:
        return None
    codes = {label: code for code, label in enumerate(labels)}
    table: FloatArray = 1.0 - np.eye(len(labels))
    for *named, cost in _entries(costs):
        for label in named:
            if label not in codes:
                known = ", ".join(map(repr, labels[:10]))
                raise InputError(
                    f"⟦costs⟧ names the label {label!r}, which training has not",
                    hint=f"Known: {known}. Labels to come are `classes` of partial_fit.",
                )
        if len(named) == 1:
            table[codes[named[0]]] = float(cost)
        else:
            table[codes[named[0]], codes[named[1]]] = float(cost)
    np.fill_diagonal(table, 0.0)
    return table


def _entries(costs: Any) -> list[tuple[Any, ...]]:
    """(label, cost) or (true, predicted, cost), as they are given."""
    if isinstance(costs, Mapping):
        return list(costs.items())
    if isinstance(costs, (str, bytes)) or not isinstance(costs, Sequence):
        raise InputError(f"⟦costs⟧ is {costs!r}", hint=_HINT)
    entries = [tuple(entry) if isinstance(entry, (tuple, list)) else (entry,) for entry in costs]
    for entry in entries:
        if len(entry) not in (2, 3):
            raise InputError(f"⟦costs⟧ holds {entry!r}", hint=_HINT)
    return entries
