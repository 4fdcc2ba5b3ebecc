"""Feature dicts as CRFsuite reads them: which attributes count as seen, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.data.dataset import Label
from hedgerow.models.linear_crf import LinearCRF

# CRFsuite takes an attribute of weight 0 (a False) as seen: it gets a weight for the label there, and so learns that a
# True speaks against that label. LinearCRF gives weights to what is not 0. A weight that is lost in every sum is not 0.
SEEN = 1e-100

_NUMBERS = (bool, int, float, np.bool_, np.number)


@dataclass
class Keys:
    """Keys of feature dicts, nested ones as "outer:inner": those with str values, and those with a number not 0."""

    texts: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, X: Iterable[Any]) -> Keys:
        keys = cls()
        for sequence in X:
            for row in sequence:
                if isinstance(row, Mapping):
                    keys._add(row, "")
        return keys

    def _add(self, row: Mapping[str, Any], prefix: str) -> None:
        for key, value in row.items():
            if isinstance(value, str):
                self.texts.add(f"{prefix}{key}" if prefix else key)
            elif isinstance(value, _NUMBERS):
                if value != 0:
                    self.numbers.add(f"{prefix}{key}" if prefix else key)
            elif isinstance(value, Mapping):
                self._add(value, f"{prefix}{key}:")


def rows_of(sequence: Any) -> Any:
    """A sequence as LinearCRF takes it: python-crfsuite's ItemSequence is turned back to dicts."""
    return sequence.items() if type(sequence).__name__ == "ItemSequence" else sequence


def show_zeros(X: Iterable[Any], keys: Keys) -> Iterator[Any]:
    """The sequences with zeros made visible, but for keys that are never anything else."""
    for sequence in X:
        if any(isinstance(row, Mapping) for row in sequence):
            yield [_show(row, "", keys.numbers) if isinstance(row, Mapping) else row for row in sequence]
        else:
            yield sequence


def _show(row: Mapping[str, Any], prefix: str, numbers: set[str]) -> Mapping[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, _NUMBERS):
            if value == 0 and (f"{prefix}{key}" if prefix else key) in numbers:
                changed[key] = SEEN
        elif isinstance(value, Mapping):
            changed[key] = _show(value, f"{prefix}{key}:", numbers)
    return {**row, **changed} if changed else row


def state_features(model: LinearCRF, texts: set[str]) -> dict[tuple[str, Label], float]:
    """(attribute, label) → weight, where it is not 0; {"word": "the"} is "word:the", as python-crfsuite has it."""
    found = model.feature_weights()
    return {(_crfsuite_name(name, texts), label): weight for name, label, weight in found if weight != 0.0}


def _crfsuite_name(name: str, texts: set[str]) -> str:
    """key=value as key:value, where the key is one of those with str values."""
    at = name.find("=")
    while at >= 0:
        if name[:at] in texts:
            return f"{name[:at]}:{name[at + 1 :]}"
        at = name.find("=", at + 1)
    return name


def transition_features(model: LinearCRF) -> dict[tuple[Label, Label], float]:
    """(from, to) → weight, where it is not 0."""
    labels, layout = model.schema_.labels, model.layout_
    weights = layout.split(model.weights_)[1]
    moves = zip(layout.arc_from.tolist(), layout.arc_to.tolist(), weights.tolist())
    return {(labels[u], labels[v]): weight for u, v, weight in moves if weight != 0.0}
