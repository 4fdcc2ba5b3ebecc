"""What a model does where a value of the input is missing: which ways it knows, and what it learns for them.

Two ways fill the data before a model sees it ("impute", "indicator"). The others leave gaps to the trees: "learned"
takes no value for one more value, and "weighting" and "surrogate" are of `trees/missing.py`. An estimator keeps its
`schema_`, the columns that users give, and `imputation_`; what it scores has the columns of `seen_schema`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import Imputation, check_values, learn_imputation
from hedgerow.errors import InputError
from hedgerow.trees.missing import LEARNED, SURROGATE, WEIGHTING

FILLING = ("impute", "indicator")
OF_TREES = (LEARNED, WEIGHTING, SURROGATE, *FILLING)
OF_LINEAR = (None, *FILLING)


def check_missing(model: Any, ways: tuple[str | None, ...]) -> None:
    """Refuse a `missing` that is not one of these ways, and a `fill_numbers` that it has no use for."""
    known = isinstance(model.missing, (str, type(None))) and model.missing in ways
    if not known and isinstance(model.missing, str) and model.missing in OF_TREES:
        what = f"a {type(model).__name__} has no ⟦missing={model.missing!r}⟧, which is for trees"
        raise InputError(what, hint=f"Choose one of {', '.join(map(repr, ways))}.")
    if not known:
        raise InputError(f"⟦missing⟧ is {model.missing!r}", hint=f"Choose one of {', '.join(map(repr, ways))}.")
    if model.fill_numbers != "mean" and model.missing not in FILLING:
        what = f"⟦fill_numbers={model.fill_numbers!r}⟧ goes with ⟦missing='impute'⟧ or 'indicator'"
        raise InputError(what, hint=f"With ⟦missing={model.missing!r}⟧ no number is filled in.")


def learn_missing(model: Any, dataset: Dataset, *, trees: bool = True) -> Imputation | None:
    """What stands in for missing values, learnt from the training corpus; None where nothing does.

    A column without any value is refused, but where no value is one more value ("learned"). `trees`: the model splits
    on columns, so that a missing category is one more category; to weights it says nothing without a flag.
    """
    if model.missing in (None, LEARNED):
        return None
    check_values(dataset)
    if model.missing not in FILLING:
        return None
    own = model.missing == "indicator"
    return learn_imputation(dataset, numbers=model.fill_numbers, flags=own, codes=not own, flag_codes=not trees)


def fill(imputation: Imputation | None, dataset: Dataset) -> Dataset:
    """The corpus as the model sees it."""
    return dataset if imputation is None else imputation.apply(dataset)


def seen_part(model: Any, dataset: Dataset, first: int, last: int) -> tuple[Dataset, int, int]:
    """Sequences first … last−1 as the model sees them: a corpus, and where they begin and end in it."""
    imputation = getattr(model, "imputation_", None)
    if imputation is None:
        return dataset, first, last
    return imputation.apply(dataset.take(np.arange(first, last))), 0, last - first


def way_of_trees(missing: str) -> str:
    """What trees do about the gaps that are left: nothing of their own where these were filled."""
    return LEARNED if missing in FILLING else missing
