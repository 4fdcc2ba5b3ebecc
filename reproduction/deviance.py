"""Analysis of deviance: is one method right more often than another, whichever training set it had?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import InputError, MissingExtraError
from reproduction.published import Coefficient
from reproduction.settings import LEVEL


def analyse_deviance(
    right: Mapping[str, Sequence[int]], n_labels: Sequence[int], baseline: str
) -> dict[str, tuple[Coefficient, float]]:
    """log odds(right) = Σ δ_method + Σ σ_training set, a logistic regression without a constant (Hao 2009, 4.4).

    Parameters
    ----------
    right : of each method, the labels that it had right with each training set
    n_labels : how many labels there were, for each training set
    baseline : the method against which δ of all others is counted

    Returns δ of every other method, whether it differs from 0, and the p-value of that, by which every label of every
    damaged test set is a draw of its own.
    """
    counts = {method: [[n] for n in own] for method, own in right.items()}
    return _fit(counts, [[n] for n in n_labels], baseline, {})


def analyse_clustered(
    right: Mapping[str, Sequence[Sequence[int]]], lengths: Sequence[int], baseline: str
) -> dict[str, tuple[Coefficient, float]]:
    """The same δ, with errors that are clustered by test sequence: its labels, in all damaged copies of it and by all
    methods, may be right or wrong together (Liang and Zeger 1986).

    Parameters
    ----------
    right : of each method, for each training set, the labels of each test sequence that it had right
    lengths : how many labels of each sequence there were
    """
    n_sets = len(next(iter(right.values()), ()))
    clusters = np.tile(np.arange(len(lengths)), len(right) * n_sets)
    return _fit(right, [lengths] * n_sets, baseline, {"cov_type": "cluster", "cov_kwds": {"groups": clusters}})


def _fit(
    right: Mapping[str, Sequence[Sequence[int]]],
    n_labels: Sequence[Sequence[int]],
    baseline: str,
    errors: Mapping[str, Any],
) -> dict[str, tuple[Coefficient, float]]:
    """Of counts by method, training set and cluster."""
    if baseline not in right or len(right) < 2:
        raise InputError(f"the baseline is {baseline!r}", hint=f"Give two methods, and one of {', '.join(right)}.")
    api = _require_statsmodels()
    others = [method for method in right if method != baseline]
    counts, design = [], []
    for method, own in right.items():
        for s, row in enumerate(own):
            indicators = [*(float(method == other) for other in others), *(float(s == r) for r in range(len(own)))]
            for n_right, n in zip(row, n_labels[s], strict=True):
                counts.append((n_right, n - n_right))
                design.append(indicators)
    fitted = api.GLM(np.array(counts), np.array(design), family=api.families.Binomial()).fit(**errors)
    return {
        other: (Coefficient(float(value), bool(p < LEVEL)), float(p))
        for other, value, p in zip(others, fitted.params, fitted.pvalues)
    }


def _require_statsmodels() -> Any:
    try:
        import statsmodels.api
    except ImportError as error:
        raise MissingExtraError("statsmodels", "experiments", "The analysis of deviance") from error
    return statsmodels.api
