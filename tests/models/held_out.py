"""Which sequences an estimator holds out."""

from __future__ import annotations

from typing import Any

from hedgerow.data.encoding import learn
from hedgerow.estimators.holding_out import choose_folds, code_sets


def cut(model: Any, X: list[Any], y: list[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """X and y of the sequences that train, and those of the sequences that are held out."""
    fraction = model._preparation().validation_fraction  # its own, or that of its estimator of rows
    parts = choose_folds(code_sets(learn([["token"] * len(labels) for labels in y], y)), fraction, model.random_state)[
        0
    ]
    kept, held = ([[given[i] for i in part] for given in (X, y)] for part in parts)
    return kept[0], kept[1], held[0], held[1]
