"""MEMM: a maximum entropy Markov model, P(label | last labels, window), linear or of boosted trees."""

from __future__ import annotations

from typing import Any

from hedgerow.declarations import documented
from hedgerow.models.crf.linear import QUICK_ITERATIONS, LinearCRF
from hedgerow.models.crf.tree import QUICK, TreeCRF
from hedgerow.models.local.parameters import MEMMParameters
from hedgerow.models.local.training import LocalModel


@documented
class MEMM(MEMMParameters, LocalModel):
    """A maximum entropy Markov model: a classifier of each label, given the labels before it and the window.

    It is trained on the true labels before each position, one row per position, and so much faster than a CRF. The
    probabilities of the next label add up to 1 after every label: it cannot let a later position veto an earlier one
    (label bias, see docs/family.md), where a CRF can.

    Attributes
    ----------
    classes_ : array of labels, sorted
    estimator_ : the LinearCRF or TreeCRF, of order 0, that was fitted to rows (window, last labels)
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import MEMM
    >>> model = MEMM(window=1).fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """


def quick_memm(model: Any, order: int, *, trees: bool) -> MEMM:
    """What compares windows for a model that goes from left to right: no label tells it of what comes later."""
    classifier = TreeCRF(**QUICK) if trees else LinearCRF(max_iter=QUICK_ITERATIONS)
    missing = None if trees else getattr(model, "missing", None)
    return MEMM(order=min(1, order), estimator=classifier, missing=missing, n_jobs=model.n_jobs, random_state=0)
