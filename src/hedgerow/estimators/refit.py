"""Training again on all sequences, once those that were held out have told for how long."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger("hedgerow")


def listed(given: Any) -> Any:
    """A generator as a list, since it is gone through twice; anything else as it is."""
    return list(given) if hasattr(given, "__next__") else given


def fit_again(model: Any, fit: Callable[[], None], n_iter: str) -> None:
    """Let `fit` train a model anew, on all sequences; what its first training told of itself is kept.

    n_iter : for how long, in words, for who watches
    """
    first = dict(model.__dict__)
    if model.verbose:
        log.info("training again on all sequences, for %s", n_iter)
    fit()
    if model.outcome_ == "interrupted":  # the first model is whole, this one is not
        model.__dict__.update(first | {"outcome_": "interrupted"})
    else:
        model.history_, model.n_iter_, model.outcome_ = (first[name] for name in ("history_", "n_iter_", "outcome_"))
        model.refitted_ = True
