"""The parameters of LatticeCRF and TreeLatticeCRF, and which values of them go together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from hedgerow.declarations import Check, Count, NonNegative, OneOf, Range, check_parameters, declared
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import (
    ClassWeighted,
    Drawing,
    EarlyStopping,
    FeatureSampling,
    Penalty,
    Running,
    TreeGrowing,
    WarmStart,
)
from hedgerow.lattice.graphs import grid_directions
from hedgerow.lattice.inference.infer import METHODS, SCHEDULES, Inference
from hedgerow.lattice.inference.search import SEARCHES
from hedgerow.lattice.objectives import OBJECTIVES
from hedgerow.lattice.online import ONLINE
from hedgerow.lattice.scores import FORMS
from hedgerow.trainers import SMD, AnnealedSGD, Trainer, check_trainer, name_of

DECODERS = ("posterior", *SEARCHES)


_check_name = check_trainer("lbfgs", *ONLINE)


def _check_trainer(trainer: Any) -> None:
    _check_name(trainer)
    for kind, forms in ((AnnealedSGD, ("inverse", "published")), (SMD, ("plain",))):
        if isinstance(trainer, kind) and trainer.schedule not in ("auto", *forms):
            what = f"⟦trainer⟧ is {trainer!r}, and lattices have the schedule {' or '.join(map(repr, forms))} alone"
            raise InputError(what, hint="Leave schedule out.")


def _check_unlabelled(value: Any) -> None:
    if value is not None and not isinstance(value, (str, int, np.integer)):
        hint = "Give the whole number or string that stands for no label in y."
        raise InputError(f"⟦unlabelled⟧ is {value!r}", hint=hint)


@declared
class GraphParameters(ClassWeighted, EarlyStopping, WarmStart, Drawing, Running):
    """The parameters that both estimators on graphs have.

    Parameters
    ----------
    neighbours
        Of a pixel: 4 (default) or 8 in images, 6 (default) or 26 in volumes. Only for items that are images.
    ndim
        Axes of an image; 3 for volumes. One axis more has the channels.
    differences
        Whether |h_i − h_j| of the node features are edge features.
    form
        Edge weights for every pair of labels, not ordered ("symmetric") or ordered ("full"); or one for equal against
        different labels ("ising": + for equal, − for different; with two labels, nodes have ± one weight too).
    objective
        The likelihood is that of `inference`; the pseudo-likelihood needs none and is fast, but may oversmooth; the
        margin is that of the `decoder` where it is a search, else of "max_product".
    inference
        "tree_reweighted": a convex bound on log Z from above, which training can follow to its minimum. "loopy": loopy
        belief propagation, which is closer to log Z and faster on large images, but jumps where edges are strong.
        "mean_field": a bound from below. The two bounds get better as updates go on. The first two are exact on graphs
        without a circle.
    message_schedule
        The order of loopy messages: sweeps back and forth, all at once, or the one that would change most first.
    damping
        The share of an old loopy message that stays. Where messages swing it rises by itself: it is rarely needed.
    max_updates
        The most updates of every message.
    inference_tol
        The change of a message below which it has converged.
    decoder
        The most probable label of each node, or a search for the best labeling. "graph_cut" is exact for two labels
        whose edges favour equal ones, and needs PyMaxflow.
    unlabelled : label
        The value in y that stands for no label, such as 255. None in an array of objects always does.
    class_weight : "balanced" or mapping of label to weight
        As in LinearCRF: with a likelihood the probabilities of a node's labels are multiplied by the weights, and
        "posterior" takes the greatest; what a mistake costs the margin is multiplied by the weight of the true label.
    early_stopping
        Hold out `validation_fraction` of the items and stop when the share of right labels on them has not risen for
        `n_iter_no_change` iterations; the best one is kept. Items given to `fit` as X_val, y_val do the same.
    validation_fraction
        The share of the items that is held out.
    n_jobs : int
        Threads, which take whole items; −1 is all cores. The result is the same to the bit.
    """

    neighbours: Count | None = None
    ndim: Annotated[int, Range(2, 3)] = 2
    differences: bool = True
    form: Annotated[str, OneOf(tuple(FORMS))] = "symmetric"
    objective: Annotated[str, OneOf(tuple(OBJECTIVES))] = "log_likelihood"
    inference: Annotated[str, OneOf(METHODS)] = "tree_reweighted"
    message_schedule: Annotated[str, OneOf(SCHEDULES)] = "sequential"
    damping: Annotated[float, Range(0, 0.99)] = 0.0
    max_updates: Count = 1000
    inference_tol: Annotated[float, Range(0, 1)] = 1e-6
    decoder: Annotated[str, OneOf(DECODERS)] = "posterior"
    unlabelled: Annotated[Any, Check(_check_unlabelled)] = None


@declared
class LatticeParameters(Penalty, GraphParameters):
    """The parameters of a LatticeCRF.

    Parameters
    ----------
    l2
        The penalty l2·‖w‖².
    directions
        Whether horizontal, vertical and diagonal edges have the same weights.
    trainer : {"lbfgs", "sgd", "annealed_sgd", "smd"} or Trainer
        On all items at once, or on a few at a time. Settings are given by an object of `hedgerow.trainers`:
        SGD(gain=0.01, batch_size=4).
    standardize
        Whether features are divided by their spread (and those of nodes moved to mean 0) before they are weighted.
    start
        Where node weights start.
    edge_start
        Edge weights start with this for equal labels and its negative for different ones.
    max_iter
        The most iterations, by default 200; of an online trainer the most passes, by default 50.
    tol
        Training ends when the loss fell by less than this share in ten iterations.
    warm_start
        Start from the weights of the previous fit.
    random_state : int or RandomState
        Which items are held out, and in which order an online trainer sees them.
    """

    directions: Literal["tied", "separate"] = "tied"
    trainer: Annotated[str | Trainer, Check(_check_trainer)] = "lbfgs"
    standardize: bool = True
    start: Literal["logistic_regression", "zero"] = "logistic_regression"
    edge_start: Annotated[float, Range(-100, 100)] = 0.0
    max_iter: Count | None = None
    tol: NonNegative = 1e-5


@declared
class TreeLatticeParameters(TreeGrowing, FeatureSampling, GraphParameters):
    """The parameters of a TreeLatticeCRF.

    Parameters
    ----------
    inference
        As in LatticeCRF. Steps of boosting are short and never raise the loss: the jumps of "loopy" do no harm.
    learning_rate
        How far to go along the trees of an iteration. A step that raises the loss is halved.
    tol
        Training ends when the loss fell by less than this share in ten iterations.
    warm_start
        Keep the trees of the previous fit and add to them, up to `n_estimators` iterations in all.
    random_state : int or RandomState
        Which items are held out, and which features a node may split on.
    """

    inference: Annotated[str, OneOf(METHODS)] = "loopy"
    inference_tol: Annotated[float, Range(0, 1)] = 1e-5
    n_estimators: Count = 200
    max_leaf_nodes: Annotated[int, Range(2, 2**16 - 1)] = 16
    learning_rate: Annotated[float, Range(above=0, below=10)] = 0.5
    n_iter_no_change: Count = 20
    tol: NonNegative = 1e-4


def check_graph_parameters(model: Any) -> None:
    """One clear error for a value that cannot be meant, or for two that do not go together."""
    check_parameters(model)
    if model.neighbours is not None:
        grid_directions(model.ndim, model.neighbours)
    check_inference(inference_of(model))
    if model.objective == "margin" and name_of(getattr(model, "trainer", "")) == "smd":
        hint = "Use 'sgd' or 'annealed_sgd' for the margin, whose slope jumps."
        raise InputError("smd needs an objective with a Hessian", hint=hint)


def inference_of(model: Any) -> Inference:
    """The Inference that the parameters of a model describe."""
    how = model.message_schedule, float(model.damping), int(model.max_updates), float(model.inference_tol)
    return Inference(model.inference, *how)


def check_inference(inference: Inference) -> None:
    """Refuse a method and a schedule that do not go together."""
    if inference.method == "loopy":
        return
    name = f"⟦inference={inference.method!r}⟧"
    if inference.schedule != "sequential":
        hint = "Its updates are sequential; leave ⟦message_schedule⟧ out, or set ⟦inference='loopy'⟧."
        raise InputError(f"{name} has no ⟦message_schedule⟧ {inference.schedule!r}", hint=hint)
    if inference.damping != 0.0:
        hint = "It gets better at every update; leave ⟦damping⟧ at 0, or set ⟦inference='loopy'⟧."
        raise InputError(f"{name} has no ⟦damping⟧", hint=hint)
