"""Checks of the parameters of LatticeCRF, made before any work."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.estimators.parameters import check_choice, check_number, check_running, random_generator
from hedgerow.lattice.forms import FORMS
from hedgerow.lattice.inference.infer import METHODS, SCHEDULES, Inference, check_inference
from hedgerow.lattice.inference.search import SEARCHES
from hedgerow.lattice.inference.topology import grid_directions
from hedgerow.lattice.objectives import OBJECTIVES
from hedgerow.lattice.online import ONLINE
from hedgerow.trees.binning import MAX_VALUES

DECODERS = ("posterior", *SEARCHES)
TRAINERS = ("lbfgs", *ONLINE)


def check_parameters(model: Any) -> None:
    """One clear error for a value that cannot be meant."""
    _check_model(model)
    check_choice("directions", model.directions, ("tied", "separate"))
    _check_training(model)


def check_tree_parameters(model: Any) -> None:
    """The same for TreeLatticeCRF."""
    _check_model(model)
    check_number("n_estimators", model.n_estimators, low=1, whole=True)
    check_number("max_leaf_nodes", model.max_leaf_nodes, low=2, high=2**16 - 1, whole=True)
    check_number("max_bins", model.max_bins, low=2, high=MAX_VALUES, whole=True)
    check_number("learning_rate", model.learning_rate, low=0.0, high=10.0, strict=True)
    for name in ("l2_regularization", "min_samples_leaf"):
        check_number(name, getattr(model, name), low=0.0)
    check_number("max_features", model.max_features, low=0.0, strict=True)
    check_number("max_features", model.max_features, low=0.0, high=1.0)


def _check_model(model: Any) -> None:
    """What both estimators have."""
    _check_items(model)
    check_choice("form", model.form, FORMS)
    check_choice("objective", model.objective, OBJECTIVES)
    check_choice("inference", model.inference, METHODS)
    check_choice("schedule", model.schedule, SCHEDULES)
    check_choice("decoder", model.decoder, DECODERS)
    check_number("damping", model.damping, low=0.0, high=0.99)
    check_number("max_updates", model.max_updates, low=1, whole=True)
    check_number("inference_tol", model.inference_tol, low=0.0, high=1.0)
    check_number("tol", model.tol, low=0.0)
    check_number("n_iter_no_change", model.n_iter_no_change, low=1, whole=True)
    check_number("validation_fraction", model.validation_fraction, low=0.0, high=1.0, strict=True)
    check_inference(inference_of(model))
    random_generator(model.random_state)
    check_running(model)


def _check_items(model: Any) -> None:
    check_number("ndim", model.ndim, low=2, high=3, whole=True)
    if model.neighbours is not None:
        check_number("neighbours", model.neighbours, low=1, whole=True)
        grid_directions(model.ndim, model.neighbours)
    if model.unlabelled is not None and not isinstance(model.unlabelled, (str, int, np.integer)):
        hint = "Give the whole number or string that stands for no label in y."
        raise InputError(f"unlabelled is {model.unlabelled!r}", hint=hint)


def _check_training(model: Any) -> None:
    check_choice("trainer", model.trainer, TRAINERS)
    check_choice("start", model.start, ("logistic_regression", "zero"))
    check_number("edge_start", model.edge_start, low=-100.0, high=100.0)
    for name in ("l2", "meta_gain"):
        check_number(name, getattr(model, name), low=0.0)
    check_number("gain_decay", model.gain_decay, low=0.0, high=1.0)
    if model.gain != "auto":
        check_number("gain", model.gain, low=0.0, strict=True)
    if model.max_iter is not None:
        check_number("max_iter", model.max_iter, low=1, whole=True)
    check_number("batch_size", model.batch_size, low=1, whole=True)
    if model.objective == "margin" and model.trainer == "smd":
        hint = "Use 'sgd' or 'annealed_sgd' for the margin, whose slope jumps."
        raise InputError("smd needs an objective with a Hessian", hint=hint)


def inference_of(model: Any) -> Inference:
    """How the model infers."""
    own = model.schedule, float(model.damping), int(model.max_updates), float(model.inference_tol)
    return Inference(model.inference, *own)
