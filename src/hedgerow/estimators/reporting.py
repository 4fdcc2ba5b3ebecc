"""The report of a model: a method of all estimators, made by a layer above them."""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.utils.validation import check_is_fitted


def report(self: Any, X: Any, y: Any = None, **options: Any) -> Any:
    """How good the model is on X and its labels y, where it errs and why, whether its confidence holds, and what it has
    learnt: `save("report.html")` writes a page, and a notebook shows it. Options are those of
    `hedgerow.report.make_report`, such as X_train and y_train."""
    check_is_fitted(self)
    return importlib.import_module("hedgerow.report.page").make_report(self, X, y, **options)
