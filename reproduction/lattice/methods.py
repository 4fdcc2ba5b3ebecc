"""Who is compared on images, and how: section 5 of Vishwanathan et al. 2006.

Logistic regression looks at each node alone. The likelihood by loopy belief propagation (LBP) or by mean field (MF),
and the pseudo-likelihood (PL), are each trained by L-BFGS, SGD, annealed SGD and stochastic meta-descent (SMD), online
with the gain of five that ends at the smallest training loss, and with the gain that the trainer finds itself. Scores
are y·θᵀh and y_i·y_j·θᵀh with y = ±1; node weights start from a logistic regression, edge weights at 0.5; messages have
at most 200 parallel updates; a node has its most probable label. New are trees in the place of θᵀh, and the likelihood
by the convex bound of tree-reweighted messages (TRW), hedgerow's default.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.lattice.graphs import Graph, graph
from hedgerow.lattice.model import LatticeCRF
from hedgerow.lattice.scores import Design
from hedgerow.lattice.training import GraphEvaluation
from hedgerow.lattice.tree_model import TreeLatticeCRF
from hedgerow.legend import AnyArray
from hedgerow.parallel import Lanes
from hedgerow.trainers import make_trainer
from reproduction.settings import Settings

L2 = 0.5  # 1 / (2σ²) with σ = 1
MOST_UPDATES = 200
TOLERANCE = 1e-3  # a change of messages below which they are at rest: labels hardly change after it
CRITERIA: dict[str, dict[str, Any]] = {
    "LBP": {"inference": "loopy", "message_schedule": "parallel"},
    "MF": {"inference": "mean_field"},
    "PL": {"objective": "pseudo_likelihood", "inference": "loopy", "message_schedule": "parallel"},
    "TRW": {"inference": "tree_reweighted"},
}
GAINS = {"LBP": 1e-4, "MF": 1e-3, "PL": 0.04}  # which the paper calls as high as possible
TRAINERS = {"L-BFGS": "lbfgs", "SGD": "sgd", "annealed": "annealed_sgd", "SMD": "smd"}
SMALLER, N_GAINS = 8, 5  # the paper's gain, and so many times smaller ones: so many in all

Gain = float | Literal["auto"] | None


@dataclass(frozen=True)
class Method:
    """One who is compared.

    criterion : a key of CRITERIA
    trainer : a key of TRAINERS; trees have none
    edges : whether neighbours matter
    view : which features it sees, a key of `Images.views`; "" for those of the paper
    auto : whether an online trainer is as it comes, and finds its gain itself
    """

    name: str
    criterion: str = "LBP"
    trainer: str = "L-BFGS"
    trees: bool = False
    edges: bool = True
    view: str = ""
    auto: bool = False

    @property
    def gain(self) -> float | None:
        """The paper's gain, where the trainer has one."""
        return None if self.trees or self.trainer == "L-BFGS" else GAINS[self.criterion]

    @property
    def gains(self) -> tuple[Gain, ...]:
        """Those that are tried."""
        if self.auto:
            return ("auto",)
        return (None,) if self.gain is None else tuple(self.gain / SMALLER**k for k in range(N_GAINS))


ALONE = Method("logistic regression", edges=False)
TRAINED = tuple(Method(f"{own}, {trainer}", own, trainer) for own in GAINS for trainer in TRAINERS)
AUTO = tuple(replace(own, name=f"{own.name}, auto", auto=True) for own in TRAINED if own.gain is not None)
BASE = TRAINED[0]  # whom the others are tested against: the likelihood by LBP, trained by L-BFGS
CONVEX = Method("TRW, L-BFGS", "TRW")
TREES = (
    Method("trees alone", trees=True, edges=False, view="trees"),
    Method("trees, LBP", trees=True, view="trees"),
    Method("trees, PL", "PL", trees=True, view="trees"),
)


class Images(NamedTuple):
    """Graphs of images with their labels, to train on and to test on.

    views : other features of the same images by name: graphs to train on, graphs to test on
    """

    X: list[Graph]
    y: list[AnyArray]
    X_test: list[Graph]
    y_test: list[AnyArray]
    views: dict[str, tuple[list[Graph], list[Graph]]]

    def seen_by(self, method: Method) -> tuple[list[Graph], list[Graph]]:
        """The graphs that a method sees, to train on and to test on."""
        X, X_test = self.views.get(method.view, (self.X, self.X_test))
        if not method.edges:
            return [without_edges(own) for own in X], [without_edges(own) for own in X_test]
        return X, X_test


@dataclass(frozen=True)
class Task:
    """Images to label.

    name : "made shapes"
    load : the images of a seed
    n_passes, batch_size : of online trainers
    options, tree_options : of the estimators, beside what all tasks have
    others : further methods
    """

    name: str
    load: Callable[[Settings, int], Images]
    n_passes: int
    batch_size: int
    options: dict[str, Any] = field(default_factory=dict)
    tree_options: dict[str, Any] = field(default_factory=dict)
    others: tuple[Method, ...] = ()

    @property
    def methods(self) -> tuple[Method, ...]:
        """Everybody who is compared."""
        return (ALONE, *TRAINED, *AUTO, CONVEX, *TREES, *self.others)


class Run(NamedTuple):
    """One training, and how its labels of the test images are.

    losses : after each pass
    errors : wrong test nodes after each pass, in %; none where they were not followed
    wrong : wrong nodes of each test image at the end, in %
    gain : of an online trainer, which may be smaller than the paper's
    at_rest : whether inference came to rest on all training images at the end
    loss : of the training images at the end, with the penalty; None of trees
    """

    losses: list[float]
    errors: list[float]
    wrong: list[float]
    seconds: float
    gain: Gain
    at_rest: bool
    outcome: str
    loss: float | None

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


def make_model(task: Task, method: Method, settings: Settings, seed: int, gain: Gain = None) -> Any:
    """An estimator that is not fitted yet."""
    own = CRITERIA[method.criterion] | {
        "form": "ising",
        "max_updates": MOST_UPDATES,
        "inference_tol": TOLERANCE,
        "random_state": seed,
    }
    if method.trees:
        own |= {"early_stopping": True, "n_estimators": 100} | task.tree_options
        return TreeLatticeCRF(**own | ({"n_estimators": 3} if settings.quick else {}))
    own |= {"l2": L2, "edge_start": 0.5, "trainer": TRAINERS[method.trainer]} | task.options
    if gain is not None:
        chosen: dict[str, Any] = {"gain": gain, "batch_size": task.batch_size}
        if method.trainer == "SMD" and gain != "auto":
            chosen |= {"meta_gain": 10.0 * gain, "gain_decay": 0.9}
        own |= {"trainer": make_trainer(TRAINERS[method.trainer], chosen), "tol": 0.0, "max_iter": task.n_passes}
    if settings.quick:
        own |= {"max_iter": 3, "max_updates": 20}
    return LatticeCRF(**own)


def without_edges(own: Graph) -> Graph:
    """The nodes of a graph alone."""
    features = np.empty((0, own.edge_features.shape[1]))
    return graph(own.node_features, np.empty((0, 2), dtype=np.int64), features)


def train(task: Task, method: Method, images: Images, settings: Settings, seed: int) -> tuple[Any, Gain, float]:
    """The trained model, the gain it was trained with, and the CPU seconds of that training.

    Of all gains that are tried, the one with which the loss of the training images ends smallest is taken.
    """
    X, _ = images.seen_by(method)
    y = _flat(images.y)
    found: list[tuple[float, tuple[Any, Gain, float]]] = []
    for gain in method.gains:
        began = time.process_time()
        model = make_model(task, method, settings, seed, gain)
        try:
            with without_warnings():
                model.fit(X, y)
        except InputError:  # the weights went beyond all bounds
            if gain is None:
                raise
            continue
        seconds = time.process_time() - began
        loss = 0.0 if len(method.gains) == 1 else training_loss(model, X, y)
        found.append((loss, (model, gain, seconds)))
    if not found:
        raise InputError(f"{method.name} diverges with all gains that were tried")
    return min(found, key=lambda own: own[0])[1]


def training_loss(model: LatticeCRF, X: list[Graph], y: list[AnyArray]) -> float:
    """The loss that a model was trained to make small, at its weights. Its history has another one where training was
    online: the sum of the losses of batches, each at the weights of before its step."""
    data = model._training_graphs(X, y, None, None, None)
    with Lanes(1, 1) as lanes:
        loss, _ = GraphEvaluation(Design(model.layout_, model.scaling_, data.train), model._objective(data), lanes)(
            model.weights_
        )
    return loss + model.l2 * float(model.weights_ @ model.weights_)


def label(method: Method, model: Any, images: Images) -> list[AnyArray]:
    """The labels of the test images, each in the shape of its mask.

    As in the paper, belief propagation labels whatever a model was trained by; only TRW labels by itself.
    """
    labeller = model if method.criterion == "TRW" else copy.copy(model).set_params(**CRITERIA["LBP"])
    with without_warnings():
        found = labeller.predict(images.seen_by(method)[1])
    return [labels.reshape(mask.shape) for labels, mask in zip(found, images.y_test)]


def run_method(task: Task, method: Method, images: Images, settings: Settings, seed: int, *, follow: bool) -> Run:
    """Train and test; with `follow` also read off the test error after each pass."""
    model, gain, seconds = train(task, method, images, settings, seed)
    wrong = [100.0 * float((own != mask).mean()) for own, mask in zip(label(method, model, images), images.y_test)]
    errors = follow_errors(task, method, images, settings, seed, gain) if follow else []
    losses = [step.loss for step in model.history_]
    loss = None if method.trees else training_loss(model, images.seen_by(method)[0], _flat(images.y))
    return Run(losses, errors, wrong, seconds, gain, bool(model.converged_), str(model.outcome_), loss)


def follow_errors(task: Task, method: Method, images: Images, settings: Settings, seed: int, gain: Gain) -> list[float]:
    """Wrong test nodes after each pass of the same training once more, in %.

    This one keeps the weights that are best on the very test images: so nothing but the curve is taken from it. Mean
    field labels by itself here.
    """
    X, X_test = images.seen_by(method)
    model = make_model(task, method, settings, seed, gain).set_params(n_iter_no_change=10**6)
    with without_warnings():
        model.fit(X, _flat(images.y), X_val=X_test, y_val=_flat(images.y_test))
    return [100.0 * (1.0 - float(step.score or 0.0)) for step in model.history_]


def _flat(masks: list[AnyArray]) -> list[AnyArray]:
    return [mask.ravel() for mask in masks]


@contextmanager
def without_warnings() -> Iterator[None]:
    """Training that has not converged is part of what is shown: `at_rest`, and the curves."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
