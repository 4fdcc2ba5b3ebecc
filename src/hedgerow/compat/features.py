"""What a model learnt, as CRFsuite's users know it: dicts of state features and of transition features."""

from __future__ import annotations

from typing import Any

from hedgerow.data.dataset import Label
from hedgerow.models.crf.linear import LinearCRF


def rows_of(sequence: Any) -> Any:
    """A sequence as LinearCRF takes it: python-crfsuite's ItemSequence is turned back to dicts."""
    return sequence.items() if type(sequence).__name__ == "ItemSequence" else sequence


def state_features(model: LinearCRF) -> dict[tuple[str, Label], float]:
    """(attribute, label) → weight, where it is not 0."""
    return {(name, label): weight for name, label, weight in model.feature_weights() if weight != 0.0}


def transition_features(model: LinearCRF) -> dict[tuple[Label, Label], float]:
    """(from, to) → weight, where it is not 0."""
    labels, layout = model.schema_.labels, model.layout_
    weights = layout.split(model.weights_)[1]
    moves = zip(layout.arc_from.tolist(), layout.arc_to.tolist(), weights.tolist())
    return {(labels[u], labels[v]): weight for u, v, weight in moves if weight != 0.0}
