"""RecurrentSlidingWindow: positions are classified one after the other, from the window and the labels just given."""

from __future__ import annotations

from typing import Any

from hedgerow.data.dataset import Dataset
from hedgerow.declarations import documented
from hedgerow.legend import CodeArray
from hedgerow.models.local.base import LocalModel
from hedgerow.models.local.parameters import RecurrentSlidingWindowParameters
from hedgerow.models.local.training import predicted_histories


@documented
class RecurrentSlidingWindow(RecurrentSlidingWindowParameters, LocalModel):
    """A classifier that goes through a sequence, and sees the labels that it gave last beside the window.

    Attributes
    ----------
    classes_ : array of labels, sorted
    scorer_ : the LinearCRF or TreeCRF, of order 0, or the classifier that was fitted to rows (window, last labels)
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import RecurrentSlidingWindow
    >>> model = RecurrentSlidingWindow(classifier="linear", window=1, direction="right_to_left")
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def _order(self) -> int:
        return int(self.history)

    def _backward(self) -> bool:
        return self.direction == "right_to_left"

    def _scorer(self) -> Any:
        return self.classifier

    def _training_histories(self, dataset: Dataset) -> CodeArray:
        if self.training == "teacher":
            return super()._training_histories(dataset)
        return predicted_histories(self, dataset, int(self.n_folds))
