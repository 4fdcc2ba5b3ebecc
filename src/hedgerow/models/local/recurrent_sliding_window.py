"""RecurrentSlidingWindow: positions are classified one after the other, from the window and the labels just given."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.declarations import documented
from hedgerow.estimators.prepare import Preparation, Prepared
from hedgerow.models.local.base import SeenLabels
from hedgerow.models.local.parameters import RecurrentSlidingWindowParameters
from hedgerow.models.local.training import LocalModel, predicted_histories


@documented
class RecurrentSlidingWindow(RecurrentSlidingWindowParameters, LocalModel):
    """A classifier that goes through a sequence, and sees the labels that it gave last beside the window.

    Attributes
    ----------
    classes_ : array of labels, sorted
    estimator_ : the LinearCRF or TreeCRF, of order 0, or the classifier that was fitted to rows (window, last labels)
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import RecurrentSlidingWindow
    >>> model = RecurrentSlidingWindow(estimator="linear", window=1, direction="right_to_left")
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def _preparation(self, **more: Any) -> Preparation:
        predicted = self.training == "predicted"  # every sequence has its fold, those held out too
        return super()._preparation(**({"keeps_all": True} if predicted else {}) | more)

    def _seen_labels(self, ready: Prepared) -> SeenLabels:
        if self.training == "teacher":
            return super()._seen_labels(ready)
        if ready.everything is None or ready.kept is None or ready.held is None:
            labels = super()._seen_labels(ready)
            return labels._replace(training=predicted_histories(self, ready.given))
        predicted, offsets = predicted_histories(self, ready.everything), ready.everything.offsets
        whole, first, lengths = ready.pieces or (slice(None), 0, np.diff(offsets))
        begin = offsets[:-1][whole] + first
        rows = [[begin[i] + np.arange(lengths[i]) for i in part] for part in (ready.kept, ready.held)]
        kept, held = (predicted[np.concatenate(part)] for part in rows)
        return SeenLabels(kept, held, predicted)
