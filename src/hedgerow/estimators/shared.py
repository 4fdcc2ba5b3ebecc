"""A fit on a corpus whose parts lie elsewhere, made ready as `prepare` makes one of a Dataset; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from hedgerow.data.parts.corpus import Engine, SharedCorpus
from hedgerow.data.windows import windowed
from hedgerow.errors import InputError
from hedgerow.estimators.holding_out import FEW_SEQUENCES, Fold, choose_folds, code_sets, how_many_folds
from hedgerow.estimators.kept import same_data
from hedgerow.estimators.prepare import Preparation, Prepared, make_ready
from hedgerow.estimators.values import FILLING, LOG_LIKELIHOOD, is_auto
from hedgerow.estimators.window_choice import choose_window
from hedgerow.training.memory import check_pairs_memory


def read_shared(wanted: Preparation, engine: Engine) -> SharedCorpus:
    """All sequences, by the schema that is learnt from them, or that of an earlier fit; "auto" windows are chosen."""
    if wanted.schema is not None:
        whole = SharedCorpus.by(engine, wanted.schema)
    else:
        whole = SharedCorpus.of(engine, None, 0 if is_auto(wanted.window) else wanted.window)
    check_pairs_memory(whole.n_labels, whole.n_positions)
    same_data(whole)
    if wanted.schema is not None or not is_auto(wanted.window):
        return whole
    if wanted.needs_numbers and wanted.missing not in FILLING:
        whole.require_numbers()
    assert wanted.quick is not None
    return replace(whole, schema=windowed(whole.schema, choose_window(whole, wanted.quick, verbose=wanted.verbose)))


def prepare_shared(wanted: Preparation, whole: SharedCorpus, held: SharedCorpus | None = None) -> Prepared:
    """Set sequences aside, and learn from the others what an estimator has to know of its data. held : sequences that
    are given to stop training by"""
    if held is not None or not wanted.holds_out:
        same_data(held)
        return make_ready(wanted, whole, held)
    labels = [codes for part in whole.each(code_sets) for codes in part]
    n_folds = how_many_folds(wanted.validation_folds, len(whole), wanted.validation_fraction)

    def take(fold: Fold) -> Prepared:
        known = set().union(*(labels[i] for i in fold.kept))
        hidden = tuple(sorted(set().union(*(labels[i] for i in fold.held)) - known))
        part = whole.take(fold.kept)
        part = part if wanted.schema is not None else part.narrowed()
        rest = replace(whole.take(fold.held), schema=part.schema, hidden=hidden, weight_seq=None)
        return replace(make_ready(wanted, part, rest, *fold), everything=whole if wanted.keeps_all else None)

    folds = choose_folds(labels, wanted.validation_fraction, wanted.random_state, n_folds)
    if not folds or len(whole) < FEW_SEQUENCES:
        hint = "Set ⟦early_stopping=False⟧, or fit the ordinary estimator."
        raise InputError(f"{len(whole)} sequences are too few to hold some out from workers", hint=hint)
    makers: list[Callable[[], Prepared]] = [partial(take, fold) for fold in folds]
    return replace(makers[0](), other_folds=tuple(makers[1:]))


def check_shared(model: Any, only: dict[str, tuple[Any, ...]], scoring: Any) -> None:
    """Refuse parameters that workers cannot train by, before anything is read. only : the values that each may have;
    scoring : of held-out sequences, None where there are none"""
    for name, known in only.items():
        value = getattr(model, name)
        if not any(value is one or (type(value) is type(one) and value == one) for one in known):
            hint = f"Give {' or '.join(map(repr, known))}, or fit the ordinary {type(model).__name__}."
            raise InputError(f"⟦{name}={value!r}⟧ is not supported with Dask", hint=hint)
    if scoring not in (None, LOG_LIKELIHOOD, "accuracy"):
        hint = "Give 'log_likelihood' or 'accuracy', or set ⟦early_stopping=False⟧."
        raise InputError(f"⟦scoring={scoring!r}⟧ is not supported with Dask", hint=hint)
