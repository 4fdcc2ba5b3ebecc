"""A fit on a corpus whose parts lie elsewhere, made ready as `prepare` makes one of a Dataset; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.estimators.holding_out import FEW_SEQUENCES, Fold, choose_folds, code_sets, how_many_folds
from hedgerow.estimators.prepare import Preparation, Prepared, make_ready
from hedgerow.estimators.values import LOG_LIKELIHOOD


def prepare_shared(wanted: Preparation, whole: SharedCorpus) -> Prepared:
    """Set sequences aside, and learn from the others what an estimator has to know of its data."""
    if not wanted.holds_out:
        return make_ready(wanted, whole, None)
    if len(whole) < FEW_SEQUENCES:
        hint = "Set ⟦early_stopping=False⟧, or fit the ordinary estimator."
        raise InputError(f"{len(whole)} sequences are too few to hold some out from workers", hint=hint)
    labels = [codes for part in whole.each(code_sets) for codes in part]
    n_folds = how_many_folds(wanted.validation_folds, len(whole), wanted.validation_fraction)

    def take(fold: Fold) -> Prepared:
        known = set().union(*(labels[i] for i in fold.kept))
        hidden = tuple(sorted(set().union(*(labels[i] for i in fold.held)) - known))
        part = whole.take(fold.kept).narrowed()
        rest = replace(whole.take(fold.held), schema=part.schema, hidden=hidden)
        everything = whole if wanted.keeps_all else None
        return replace(make_ready(wanted, part, rest), kept=fold.kept, held=fold.held, everything=everything)

    folds = choose_folds(labels, wanted.validation_fraction, wanted.random_state, n_folds)
    makers: list[Callable[[], Prepared]] = [partial(take, fold) for fold in folds]
    return replace(makers[0](), other_folds=tuple(makers[1:]))


def check_shared(model: Any, only: dict[str, tuple[Any, ...]], scoring: Any) -> None:
    """Refuse parameters that workers cannot train by, before anything is read. only : the values that each may have"""
    for name, known in only.items():
        value = getattr(model, name)
        if not any(value is one or (type(value) is type(one) and value == one) for one in known):
            hint = f"Give {' or '.join(map(repr, known))}, or fit the ordinary {type(model).__name__}."
            raise InputError(f"⟦{name}={value!r}⟧ is not supported with Dask", hint=hint)
    if isinstance(model.window, str):
        hint = "Give a number, such as that which a fit to some of the sequences finds: its window_."
        raise InputError(f"⟦window={model.window!r}⟧ is not supported with Dask", hint=hint)
    if model.early_stopping and scoring not in (LOG_LIKELIHOOD, "accuracy"):
        hint = "Give 'log_likelihood' or 'accuracy', or set ⟦early_stopping=False⟧."
        raise InputError(f"⟦scoring={scoring!r}⟧ is not supported with Dask", hint=hint)
