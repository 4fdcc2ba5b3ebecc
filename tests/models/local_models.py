"""Local models as tests write them: parameters of the model and of its estimator of rows side by side."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import clone

from hedgerow.models.local.training import NAMED


def local(kind: type[Any], **parameters: Any) -> Any:
    """A model; parameters that it does not have are its estimator's, where that has them."""
    return change(kind(), **parameters)


def change(model: Any, **parameters: Any) -> Any:
    """The model with other parameters, of its own or of its estimator of rows."""
    known = inspect.signature(type(model)).parameters
    model.set_params(**{name: value for name, value in parameters.items() if name in known})
    inner = {name: value for name, value in parameters.items() if name not in known}
    given = model.estimator
    if inner and (type(given) in NAMED.values() or given in NAMED):
        estimator = NAMED[given]() if isinstance(given, str) else clone(given)
        model.estimator = estimator.set_params(**{n: v for n, v in inner.items() if n in estimator.get_params()})
    return model
