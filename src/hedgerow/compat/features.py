"""Feature dicts as CRFsuite reads them: which attributes count as seen, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from hedgerow.data.dataset import Label
from hedgerow.models.linear_crf import LinearCRF

# CRFsuite takes an attribute of weight 0 (a False) as seen: it gets a weight for the label there, and so learns that a
# True speaks against that label. LinearCRF gives weights to what is not 0. A weight that is lost in every sum is not 0.
SEEN = 1e-100
# Weights of attributes that were never anything but 0. CRFsuite leaves them out of its model.
NOTHING = 1e-50

_NUMBERS = (bool, int, float, np.bool_, np.number)


def rows_of(sequence: Any) -> Any:
    """A sequence as LinearCRF takes it: python-crfsuite's ItemSequence is turned back to dicts."""
    return sequence.items() if type(sequence).__name__ == "ItemSequence" else sequence


def show_zeros(X: Iterable[Any], text_keys: set[str]) -> Iterator[Any]:
    """The sequences with zeros made visible; the keys of values that are str are added to `text_keys`."""
    for sequence in X:
        if any(isinstance(row, Mapping) for row in sequence):
            yield [_show(row, "", text_keys) if isinstance(row, Mapping) else row for row in sequence]
        else:
            yield sequence


def _show(row: Mapping[str, Any], prefix: str, text_keys: set[str]) -> Mapping[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, str):
            text_keys.add(f"{prefix}{key}" if prefix else key)
        elif isinstance(value, _NUMBERS):
            if value == 0:
                changed[key] = SEEN
        elif isinstance(value, Mapping):
            changed[key] = _show(value, f"{prefix}{key}:", text_keys)
    return {**row, **changed} if changed else row


def state_features(model: LinearCRF, text_keys: Iterable[str]) -> dict[tuple[str, Label], float]:
    """(attribute, label) → weight, attributes named as python-crfsuite does: "word:the" for {"word": "the"}."""
    keys = set(text_keys)
    found = {}
    for name, label, weight in model.feature_weights():
        if abs(weight) > NOTHING:
            found[_crfsuite_name(name, keys), label] = weight
    return found


def _crfsuite_name(name: str, text_keys: set[str]) -> str:
    """key=value, where the key is one of those with str values, as key:value."""
    at = name.find("=")
    while at >= 0:
        if name[:at] in text_keys:
            return f"{name[:at]}:{name[at + 1 :]}"
        at = name.find("=", at + 1)
    return name


def transition_features(model: LinearCRF) -> dict[tuple[Label, Label], float]:
    """(from, to) → weight."""
    labels, layout = model.schema_.labels, model.layout_
    weights = layout.split(model.weights_)[1]
    moves = zip(layout.arc_from.tolist(), layout.arc_to.tolist(), weights.tolist())
    return {(labels[u], labels[v]): weight for u, v, weight in moves if abs(weight) > NOTHING}
