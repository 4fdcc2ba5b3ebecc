"""The names of sklearn_crfsuite.metrics."""

from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.metrics.flat import *  # noqa: F403
from hedgerow.metrics.flat import __all__ as __all__


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:  # type: ignore[no-redef]
    """The share of sequences with every label right; 0 where there are none. As in sklearn-crfsuite a sequence of
    another length is wrong, where `hedgerow.metrics` refuses it."""
    true, predicted = list(y_true), list(y_pred)
    if len(true) != len(predicted):
        raise InputError(f"y_true has {len(true)} sequences and y_pred has {len(predicted)}")
    return float(np.mean([list(a) == list(b) for a, b in zip(true, predicted)])) if true else 0.0
