"""Checks of parameters, made before any work: one clear error for a value that cannot be meant."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.chain.objectives import BOOSTED, COSTLY, NAMES
from hedgerow.chain.structure.histories import MAX_ORDER
from hedgerow.data.dataset import Window, window_offsets
from hedgerow.errors import InputError
from hedgerow.estimators.costs import check_costs
from hedgerow.parallel import count_threads
from hedgerow.trees.binning import MAX_VALUES

if TYPE_CHECKING:
    from hedgerow.chain.decoding import Decoder

TREE_OBJECTIVES = (*(name for name in NAMES if name != "perceptron"), *BOOSTED)  # a sum of trees has no average
BEAM_WIDTH = 20
LOG_LIKELIHOOD = "log_likelihood"  # the one metric that reads probabilities, not labels


def check_number(
    name: str,
    value: Any,
    *,
    low: float,
    high: float = np.inf,
    whole: bool = False,
    strict: bool = False,
) -> None:
    """Refuse what is not a number (a whole one) from low to high; with `strict` the bounds are refused too."""
    kind = numbers.Integral if whole else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_)) and _is_finite(value)
    inside = good and ((low < value < high) if strict else (low <= value <= high))
    if not inside:
        signs = (">", "<") if strict else ("≥", "≤")
        bounds = " and ".join(f"{sign} {bound}" for sign, bound in zip(signs, (low, high)) if np.isfinite(bound))
        raise InputError(
            f"{name} is {value!r}", hint=f"Give a {'whole ' if whole else ''}number {bounds}".strip() + "."
        )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(map(repr, choices))}.")


def check_common(model: Any) -> None:
    """Check the parameters that all chain estimators have."""
    check_number("n_iter_no_change", model.n_iter_no_change, low=1, whole=True)
    check_number("validation_fraction", model.validation_fraction, low=0.0, high=1.0, strict=True)
    check_number("beam_width", model.beam_width, low=1, whole=True)
    find_decoder(model._decoder_name())
    check_metric(model._metric())
    random_generator(model.random_state)
    check_running(model)


def check_running(model: Any) -> None:
    """Check how many threads an estimator has, and how much it tells."""
    if model.n_jobs is not None:
        check_number("n_jobs", model.n_jobs, low=-np.inf, whole=True)
        count_threads(model.n_jobs)
    if not isinstance(model.verbose, (bool, np.bool_)):
        check_number("verbose", model.verbose, low=0, whole=True)


def check_linear_parameters(model: Any) -> None:
    """Check the parameters of LinearCRF that are its own, each by itself."""
    for name in ("l1", "l2", "tol", "min_frequency", "meta_gain"):
        check_number(name, getattr(model, name), low=0.0)
    check_number("gain_decay", model.gain_decay, low=0.0, high=1.0)
    for name in ("max_iter", "batch_size"):
        if getattr(model, name) is not None:
            check_number(name, getattr(model, name), low=1, whole=True)
    if model.gain != "auto":
        check_number("gain", model.gain, low=0.0, strict=True)
    if not isinstance(model.lazy, (bool, np.bool_)):
        raise InputError(f"lazy is {model.lazy!r}", hint="Give True or False.")
    if model.softness is not None:
        check_number("softness", model.softness, low=0.0, strict=True)
    check_costs(model.costs)
    check_choice("pairs", model.pairs, ("observed", "all"))
    check_choice("transitions", model.transitions, ("all", "observed", "forbid_unseen"))


def check_tree_parameters(model: Any) -> None:
    """Check the parameters of TreeCRF that are its own."""
    for name in ("n_estimators", "trees_per_step"):
        check_number(name, getattr(model, name), low=1, whole=True)
    for name in ("pseudo_likelihood_steps", "n_bags"):
        check_number(name, getattr(model, name), low=0, whole=True)
    check_number("max_leaf_nodes", model.max_leaf_nodes, low=2, high=2**16 - 1, whole=True)
    check_number("max_bins", model.max_bins, low=2, high=MAX_VALUES, whole=True)
    for name in ("l2_regularization", "min_samples_leaf", "min_frequency"):
        check_number(name, getattr(model, name), low=0.0)
    for name in ("max_features", "subsample"):
        check_number(name, getattr(model, name), low=0.0, high=1.0)
        check_number(name, getattr(model, name), low=0.0, high=np.inf, strict=True)
    check_number("trim", model.trim, low=0.0, high=0.999)
    if not isinstance(model.learning_rate, str):
        check_number("learning_rate", model.learning_rate, low=0.0, strict=True)
        check_number("learning_rate", model.learning_rate, low=0.0, high=10.0)
    else:
        if model.learning_rate != "line_search":
            raise InputError(f"learning_rate is {model.learning_rate!r}", hint="Give a number, or 'line_search'.")
    check_choice("edges", model.edges, ("joint", "shared"))
    check_choice("leaves", model.leaves, ("mean", "newton"))
    check_choice("categorical", model.categorical, ("one_against_rest", "subset"))
    check_choice("subsample_by", model.subsample_by, ("sequences", "positions"))
    check_choice("transitions", model.transitions, ("all", "forbid_unseen"))
    if model.leaves == "newton" and model.l2_regularization == 0:
        raise InputError(
            "leaves='newton' with l2_regularization=0 has no bound", hint="Give a value above 0, such as 1."
        )
    if model.n_bags and model.warm_start:
        raise InputError("bags cannot be gone on with", hint="Set warm_start=False, or n_bags=0.")


def check_tree_objective(model: Any) -> None:
    """Check the objective of a TreeCRF and what belongs to it."""
    check_choice("objective", model.objective, TREE_OBJECTIVES)
    if model.likelihood_steps != "auto":
        check_number("likelihood_steps", model.likelihood_steps, low=0, whole=True)
    for name in ("sharpness", "softness"):
        if getattr(model, name) is not None:
            if model.objective not in ("labelwise", "classification_error"):
                hint = "'labelwise' and 'classification_error' have; leave it None elsewhere."
                raise InputError(f"objective {model.objective!r} has no {name}", hint=hint)
            check_number(name, getattr(model, name), low=0.0, strict=True)
    check_costs(model.costs)
    if model.costs is not None and model.objective not in COSTLY:
        hint = f"{', '.join(map(repr, sorted(COSTLY)))} have."
        raise InputError(f"objective {model.objective!r} has no costs", hint=hint)
    if model.leaves == "newton" and model.objective != "log_likelihood":
        raise InputError("leaves='newton' is for objective='log_likelihood'", hint="Use leaves='mean'.")


def check_tree_order(model: Any) -> None:
    """Check the order of a TreeCRF and what goes with it."""
    check_number("order", model.order, low=0, high=MAX_ORDER, whole=True)
    if model.order == 1:
        return
    if not isinstance(model.start, str) or model.start != "zero":
        raise InputError(f"start is for order 1, and order is {model.order}", hint="Leave start as it is, 'zero'.")
    if model.order > 1:
        if model.objective != LOG_LIKELIHOOD:
            what = f"objective={model.objective!r} is not there for order={model.order}"
            raise InputError(what, hint="Use 'log_likelihood'; order 1 and 0 have them all.")
        if model.pseudo_likelihood_steps:
            what = f"pseudo_likelihood_steps are for order 1, and order is {model.order}"
            raise InputError(what, hint="Set them to 0.")
        if model.edges == "joint" and model.missing in ("weighting", "surrogate"):
            what = f"missing={model.missing!r} is not there for joint edges of order {model.order}"
            raise InputError(what, hint="Use edges='shared', or missing='learned'.")


def check_metric(metric: Any) -> None:
    """Refuse what early stopping cannot score by."""
    from hedgerow.metrics import get_metric

    if not (isinstance(metric, str) and metric == LOG_LIKELIHOOD):
        get_metric(metric, also=(LOG_LIKELIHOOD,))


def find_decoder(name: Any, beam_width: int = BEAM_WIDTH) -> Decoder:
    """The decoder of that name; `beam_width` is for "beam"."""
    from hedgerow.chain.decoding import DECODERS, decoder

    if not isinstance(name, str):
        raise InputError(f"decoder is {name!r}", hint=f"Choose one of {', '.join(map(repr, DECODERS))}.")
    return decoder(name, int(beam_width))


def random_generator(random_state: Any) -> np.random.RandomState:
    """The generator that None, a seed or a RandomState stands for."""
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        hint = "Give None, a whole number from 0 to 2**32 - 1, or a numpy.random.RandomState."
        raise InputError(f"random_state is {random_state!r}", hint=hint) from error


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # a whole number that no float holds
        return False


def same_window(one: Window, other: Window) -> bool:
    """Whether two windows mean the same: 1 and (1, 1) do."""
    names = {"*"}.union(*(window for window in (one, other) if isinstance(window, Mapping)))
    return all(window_offsets(one, name) == window_offsets(other, name) for name in names)
