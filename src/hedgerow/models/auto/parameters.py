"""The parameters of AutoLabeler."""

from __future__ import annotations

from numbers import Integral
from typing import Annotated, Any

from hedgerow.data.dataset import Window
from hedgerow.declarations import Check, Count, Positive, declared
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import Columns, Constrained, Drawing, Running
from hedgerow.estimators.values import AUTO, OF_TREES, Scoring, check_features, check_scoring

# What may be tried: models that know the probability of each label.
KINDS = (
    "HMM", "LinearCRF", "MaxMarginMarkovNetwork", "MEMM", "RecurrentSlidingWindow", "SlidingWindow", "TreeCRF",
    "VirtualEvidence",
)  # fmt: skip


def check_cv(cv: Any) -> None:
    """Refuse what is no number of folds."""
    if isinstance(cv, bool) or not isinstance(cv, Integral) or cv < 0 or cv == 1:
        hint = "Give 2 or more, or 0, which tries nothing and averages the ⟦candidates⟧."
        raise InputError(f"⟦cv⟧ is {cv!r}", hint=hint)


def check_candidates(candidates: Any) -> None:
    """Refuse what cannot be tried."""
    if candidates is None:
        return
    if not isinstance(candidates, (list, tuple)):
        raise InputError(f"⟦candidates⟧ is {candidates!r}", hint="Give a list of models that are not fitted, or None.")
    for model in candidates:
        if type(model).__name__ not in KINDS:
            raise InputError(f"⟦candidates⟧ has {model!r}", hint=f"It may have {', '.join(KINDS)}.")
    if not candidates:
        raise InputError("⟦candidates⟧ is empty", hint="Give at least one model, or None for those that it knows.")


def check_missing(missing: Any) -> None:
    """Refuse a way of missing values that no model has."""
    if missing is not None and (not isinstance(missing, str) or missing not in OF_TREES):
        hint = f"Choose one of {', '.join(map(repr, (None, *OF_TREES)))}."
        raise InputError(f"⟦missing⟧ is {missing!r}", hint=hint)


@declared
class AutoParameters(Columns, Constrained, Drawing, Running):
    """The parameters of an AutoLabeler.

    Parameters
    ----------
    time_budget
        Seconds for the whole fit, the last training on all sequences among them; compiling kernels, once, comes on top.
        It ends earlier where nothing is left to try.
    n_trials
        How many models are tried at most, in place of a bound on seconds. The same data and `random_state` then give
        the same model on any machine, to the bit.
    window : "auto", int, pair or mapping
        Positions around t that are seen at t, as in LinearCRF; "auto" tries several.
    features : "auto" or list of str
        What is derived of numeric columns, as in TreeCRF; all models read the same, but an HMM, which reads none.
    candidates : list of models
        What is tried in place of the models that it knows, in this order. They are taken as they are but for the
        columns, the window, the features, the threads, the seed and the constraints, which are set here, and for the
        decoder and the number of trees, which held-out sequences tell.
    cv
        How many folds the sequences are cut into; each is predicted by models trained on the others. Sequences stay
        whole, and with `groups` those of one group stay together. One sequence, or two, are cut into blocks, with a gap
        between them that the given window does not cross. 0 tries nothing: the `candidates` are trained and averaged.
    max_models
        How many models may be averaged, where that helps on held-out sequences; 1 for none.
    scoring : str or callable
        What the models are ranked by: "accuracy", "label_f1", "span_f1", "sequence_accuracy", "log_likelihood" (of
        each label by itself), a scorer(estimator, X, y) that asks for `predict`, or a function f(y_true, y_pred).
        "auto" is "span_f1" where labels are spans (B-…, I-…, O) and every one is known, and "accuracy" elsewhere. Of
        models that do not differ by it, the one with the higher probability of the true labels wins.
    missing : {"learned", "weighting", "surrogate", "impute", "indicator"}
        What is done where a value is missing. By default trees take it for one more value ("learned"), and linear
        models fill numbers in and add a flag ("indicator").
    """

    time_budget: Positive = 60.0
    n_trials: Count | None = None
    window: Window | Any = AUTO
    features: Annotated[Any, Check(check_features)] = None
    candidates: Annotated[Any, Check(check_candidates)] = None
    cv: Annotated[int, Check(check_cv)] = 5
    max_models: Count = 3
    scoring: Annotated[Scoring, Check(check_scoring)] = AUTO
    missing: Annotated[Any, Check(check_missing)] = None
