"""SlidingWindow: every position is classified by itself, from the window around it."""

from __future__ import annotations

from hedgerow.declarations import documented
from hedgerow.models.local.parameters import SlidingWindowParameters
from hedgerow.models.local.training import LocalModel


@documented
class SlidingWindow(SlidingWindowParameters, LocalModel):
    """A classifier of positions: it sees the columns in a window, and no label but its own.

    Labels that hang together are not its strength. It is the yardstick for models that know of neighbouring labels, and
    the fastest of all.

    Attributes
    ----------
    classes_ : array of labels, sorted
    estimator_ : the fitted LinearCRF (of order 0), TreeCRF (of order 0) or classifier
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import SlidingWindow
    >>> model = SlidingWindow(estimator="linear", window=1)
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    order = 0
