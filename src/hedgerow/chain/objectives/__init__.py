"""Objectives: potentials and true labels in, a loss and its gradient with respect to the potentials out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.chain.objectives.classification_error import ClassificationError
from hedgerow.chain.objectives.labelwise import ExpectedAccuracy, Labelwise, pointwise
from hedgerow.chain.objectives.log_likelihood import log_likelihood, log_likelihood_curvature
from hedgerow.chain.objectives.margins import Margin, SlackMargin, perceptron
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood, pseudo_likelihood_curvature
from hedgerow.chain.objectives.result import Curvature, Curved, LossAndGradient, Objective
from hedgerow.chain.objectives.virtual_evidence import virtual_evidence
from hedgerow.chain.objectives.weighted import LabelWeighted
from hedgerow.chain.potentials import Truth
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, FloatArray

__all__ = [
    "BOOSTED", "CONVEX", "CURVATURES", "LABELWISE", "NAMES", "OF_LABELINGS", "SMOOTH", "Curved", "LossAndGradient",
    "Objective", "Truth", "log_likelihood", "make_objective", "perceptron", "pointwise", "pseudo_likelihood",
    "virtual_evidence",
]  # fmt: skip

NAMES = (
    "log_likelihood", "pseudo_likelihood", "pointwise", "expected_accuracy", "labelwise", "margin", "slack_margin",
    "perceptron", "classification_error",
)  # fmt: skip
# For boosting alone: what it follows is not the gradient of the value.
BOOSTED = ("virtual_evidence",)
# Sums over the labels one by one: the labeling that they ask for is the one of posterior decoding.
LABELWISE = frozenset({"pointwise", "expected_accuracy", "labelwise"})
# Without kinks where they are smallest: L-BFGS and conjugate gradient can take them.
SMOOTH = frozenset({"log_likelihood", "pseudo_likelihood", "classification_error"}) | LABELWISE
# In the scores, where every label is known.
CONVEX = frozenset({"log_likelihood", "pseudo_likelihood", "margin", "slack_margin", "perceptron"})
COSTLY = frozenset({"expected_accuracy", "margin", "slack_margin"})
# What they compare are labelings: their scores are no probabilities of labels.
OF_LABELINGS = frozenset({"margin", "slack_margin", "perceptron", "classification_error"})
SOFTENED = frozenset({"labelwise", "classification_error"})
TILTED = frozenset({"log_likelihood", "pseudo_likelihood"})  # labels have no weights in them: see `tilt_of`
WEIGHTED = TILTED | COSTLY | LABELWISE | frozenset(BOOSTED)  # the others compare whole labelings

# The objectives with a Hessian, and what multiplies a direction with it.
CURVATURES: dict[Callable[..., LossAndGradient], Curvature] = {
    log_likelihood: log_likelihood_curvature,
    pseudo_likelihood: pseudo_likelihood_curvature,
}


def tilt_of(name: str, label_weights: FloatArray | None) -> FloatArray | None:
    """(K,): the logarithms of what the probabilities of labels are multiplied by, where weights of labels are no part
    of this objective; None where there are none, or all are the same."""
    if label_weights is None or name not in TILTED or np.ptp(label_weights) == 0.0:
        return None
    return np.log(label_weights)


def check_weighted(name: str, given: Any) -> None:
    """Refuse an objective in which labels cannot have weights, or not these."""
    if name not in WEIGHTED:
        what = f"⟦class_weight⟧ is not for ⟦objective={name!r}⟧, which compares whole labelings"
        raise InputError(what, hint=f"Use one of {', '.join(sorted(WEIGHTED - set(BOOSTED)))}.")
    if name == "slack_margin" and isinstance(given, str):
        what = f"⟦class_weight={given!r}⟧ is not for ⟦objective='slack_margin'⟧, whose costs are whole numbers"
        raise InputError(what, hint="Give a mapping of label to whole number, or use ⟦objective='margin'⟧.")


def make_objective(
    name: str,
    *,
    n_labels: int,
    sharpness: float = 15.0,
    softness: float | None = None,
    costs: Any = None,
    label_weights: FloatArray | None = None,
) -> Objective:
    """The objective of that name.

    Parameters
    ----------
    sharpness : λ of the smoothed step of "labelwise" and "classification_error"
    softness : None, or the inverse temperature of the soft maximum over wrong answers that replaces the maximum
    costs : (K, K) [true, predicted], optional
        What a wrong label costs, for "expected_accuracy", "margin" and "slack_margin" (there in whole numbers); 1 where
        not given.
    label_weights : (K,), optional
        What each label counts: nothing in a likelihood (`TILTED`), in others as `weighted.py` has it.
    """
    if label_weights is not None:
        check_weighted(name, label_weights)
        given: dict[str, Any] = {"n_labels": n_labels, "sharpness": sharpness, "softness": softness}
        if name in COSTLY:
            return make_objective(name, **given, costs=label_weights[:, None] * _cost_table(costs, n_labels))
        plain = make_objective(name, **given, costs=costs)
        return plain if name in TILTED else LabelWeighted(plain, label_weights)
    if name not in (*NAMES, *BOOSTED):
        raise InputError(f"⟦objective={name!r}⟧ is not available", hint=f"Choose one of {', '.join(NAMES)}")
    if not sharpness > 0.0:
        raise InputError(f"sharpness={sharpness!r} is not a number above 0")
    if softness is not None and not softness > 0.0:
        raise InputError(f"softness={softness!r} is not a number above 0", hint="None is the maximum itself")
    if softness is not None and name not in SOFTENED:
        raise InputError(f"⟦softness⟧ is for {' and '.join(sorted(SOFTENED))}, not for {name}", hint="Leave it None")
    if costs is not None and name not in COSTLY:
        raise InputError(f"⟦costs⟧ are for {', '.join(sorted(COSTLY))}, not for {name}", hint="Leave ⟦costs⟧ None")
    if name in SOFTENED:
        return (Labelwise if name == "labelwise" else ClassificationError)(float(sharpness), softness)
    if name in COSTLY:
        makers: dict[str, Callable[[FloatArray], Objective]] = {
            "expected_accuracy": ExpectedAccuracy,
            "margin": Margin,
            "slack_margin": SlackMargin,
        }
        return makers[name](_cost_table(costs, n_labels))
    functions: dict[str, Objective] = {
        "log_likelihood": log_likelihood,
        "pseudo_likelihood": pseudo_likelihood,
        "pointwise": pointwise,
        "perceptron": perceptron,
        "virtual_evidence": virtual_evidence,
    }
    return functions[name]


def _cost_table(costs: Any, n_labels: int) -> FloatArray:
    """(K, K) [true, predicted]; 1 off the diagonal where no costs are given."""
    if costs is None:
        return 1.0 - np.eye(n_labels)
    table = np.array(costs, dtype=FLOAT)
    if table.shape != (n_labels, n_labels):
        raise InputError(f"costs of shape {table.shape} do not fit {n_labels} labels")
    if not (np.isfinite(table) & (table >= 0.0)).all() or np.diag(table).any():
        raise InputError("costs must be numbers of 0 or more, and 0 where the predicted label is the true one")
    return table
