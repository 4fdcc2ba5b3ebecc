"""What a model does where a value of the input is missing: which ways it knows, and what it learns for them.

Two ways fill the data before a model sees it ("impute", "indicator"). The others leave gaps to the trees: "learned"
takes no value for one more value, and "weighting" and "surrogate" are of `trees/missing.py`. An estimator keeps its
`schema_`, the columns that users give, and `imputation_`; what it scores has the columns of `seen_schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.imputation import Imputation, check_values, learn_imputation
from hedgerow.errors import InputError, ModelFileError
from hedgerow.legend import FIRST_VALUE
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


# ------------------------------------------------------------------------------------------------ files


def pack_imputation(model: Any) -> dict[str, Any]:
    """The part of a file's header that says what stands in for missing values; nothing where nothing does."""
    own = getattr(model, "imputation_", None)
    if own is None:
        return {}
    return {"imputation": {"codes": dict(own.codes), "numbers": dict(own.numbers), "flags": list(own.flags)}}


def unpack_imputation(schema: Schema, header: Mapping[str, Any]) -> Imputation | None:
    """What `pack_imputation` wrote, after it was checked against the columns."""
    if "imputation" not in header:
        return None
    codes, numbers, flags = (header["imputation"][name] for name in ("codes", "numbers", "flags"))
    coded = {column.name: column for column in schema.columns if column.kind != "numeric"}
    measured = {column.name for column in schema.columns if column.kind == "numeric"}
    sound = (
        all(name in coded and type(x) is int and FIRST_VALUE <= x < coded[name].n_codes for name, x in codes.items())
        and all(name in measured and type(x) is float and np.isfinite(x) for name, x in numbers.items())
        and [c.name for c in _in_order(schema) if c.name in flags] == flags
    )
    if not sound:
        raise ModelFileError("what stands in for missing values does not fit the columns")
    return Imputation(codes, numbers, tuple(flags))


def _in_order(schema: Schema) -> list[Any]:
    """Columns as they are stored: codes before numbers, and those of whole sequences after both."""
    kinds: tuple[tuple[Any, ...], ...] = (("categorical", "boolean"), ("numeric",))
    return [column for constant in (False, True) for own in kinds for column in schema.of(*own, constant=constant)]
