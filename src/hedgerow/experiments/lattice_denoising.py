"""Binary images with noise, as in section 5.1 of Vishwanathan et al. 2006: who is compared, and on what.

Shapes of 64×64 pixels, 40 to train and 10 to test. A node has the features [1, s], an edge [1, |s_i − s_j|], and scores
are y·θᵀh and y_i·y_j·θᵀh with y = ±1. Node weights start from a logistic regression, edge weights at 0.5. At most 200
parallel updates of messages; a pixel has its most probable label. The paper drew its shapes by hand; ours are made.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from hedgerow.datasets.shapes import make_shapes
from hedgerow.errors import InputError
from hedgerow.experiments.settings import Settings
from hedgerow.lattice.model import LatticeCRF
from hedgerow.lattice.tree_model import TreeLatticeCRF
from hedgerow.legend import AnyArray, FloatArray

NOISE = 1.0
N_TRAIN, N_TEST, SIZE = 40, 10, 64
L2 = 0.5  # 1 / (2σ²) with σ = 1
N_PASSES = 20
ALONE, TREES = "logistic regression", "trees, LBP"
# The criteria, and the gain that the paper calls as high as possible for each.
CRITERIA: dict[str, dict[str, Any]] = {
    "LBP": {"inference": "loopy", "schedule": "parallel", "gain": 1e-4},
    "MF": {"inference": "mean_field", "gain": 1e-3},
    "PL": {"objective": "pseudo_likelihood", "schedule": "parallel", "gain": 0.04},
}
TRAINERS = {"L-BFGS": "lbfgs", "SGD": "sgd", "annealed": "annealed_sgd", "SMD": "smd"}
SMALLER = 8  # times smaller a gain is tried where the paper's is too large


class Images(NamedTuple):
    """Noisy images and their masks: to train on, and to test on."""

    X: list[FloatArray]
    y: list[AnyArray]
    X_test: list[FloatArray]
    y_test: list[AnyArray]


class Run(NamedTuple):
    """One training: the loss and the share of wrong test pixels after each pass, and the seconds it took.

    gain : of an online trainer, which may be smaller than the paper's
    at_rest : whether inference came to rest on all training images at the end
    """

    method: str
    losses: list[float]
    errors: list[float]
    seconds: float
    gain: float | None
    at_rest: bool

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


def load_images(settings: Settings, seed: int) -> Images:
    """The images of a seed; a few small ones where it has to be quick."""
    n_train, n_test, size = (4, 2, 16) if settings.quick else (N_TRAIN, N_TEST, SIZE)
    X, y = make_shapes(n_train + n_test, size=size, noise=NOISE, random_state=seed)
    return Images(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def methods() -> list[str]:
    """Everybody who is compared, by name."""
    return [ALONE, *(f"{criterion}, {trainer}" for criterion in CRITERIA for trainer in TRAINERS), TREES]


def make_model(method: str, settings: Settings, seed: int, gain: float | None = None) -> Any:
    """An estimator that is not fitted yet."""
    own: dict[str, Any] = {"form": "ising", "random_state": seed, "n_iter_no_change": 10**6}
    if method == TREES:
        own |= {"schedule": "parallel", "inference_tol": 1e-3, "n_estimators": 3 if settings.quick else 60}
        return TreeLatticeCRF(**own)
    criterion, trainer = method.split(", ")
    own |= CRITERIA[criterion] | {"standardize": False, "l2": L2, "edge_start": 0.5, "trainer": TRAINERS[trainer]}
    if trainer != "L-BFGS":
        first = own["gain"] if gain is None else gain
        own |= {"gain": first, "meta_gain": 10.0 * first, "gain_decay": 0.9, "batch_size": 1, "tol": 0.0}
        own["max_iter"] = N_PASSES
    if settings.quick:
        own |= {"max_iter": 3, "max_updates": 20}
    return LatticeCRF(**own)


def first_gain(method: str) -> float | None:
    """The paper's gain, where the trainer has one."""
    if method in (ALONE, TREES) or method.endswith("L-BFGS"):
        return None
    return float(CRITERIA[method.split(", ")[0]]["gain"])


def run_method(method: str, images: Images, settings: Settings, seed: int) -> Run:
    """Train, and follow loss and test error by passes. A gain with which training diverges is made smaller."""
    gain, began = first_gain(method), time.process_time()
    if method == ALONE:
        wrong = pixel_errors(images)
        return Run(method, [], [wrong], time.process_time() - began, None, True)
    while True:
        model = make_model(method, settings, seed, gain)
        try:
            with without_warnings():
                model.fit(images.X, images.y, X_val=images.X_test, y_val=images.y_test)
            if gain is None or model.outcome_ != "diverged":
                break
        except InputError:
            if gain is None or gain < 1e-9:
                raise
        assert gain is not None
        gain /= SMALLER
    errors = [100.0 * (1.0 - float(step.score or 0.0)) for step in model.history_]
    losses = [step.loss for step in model.history_]
    return Run(method, losses, errors, time.process_time() - began, gain, model.converged_)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Training that has not converged is part of what is shown: `at_rest`, and the curves."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def pixel_errors(images: Images) -> float:
    """The share of test pixels that a logistic regression of the pixel alone gets wrong, in %."""
    wrong = [labels != mask for labels, mask in zip(alone(images), images.y_test)]
    return 100.0 * float(np.mean(wrong))


def alone(images: Images) -> list[AnyArray]:
    """The labels of the test pixels, each by its own number: a lattice without edges."""

    def nodes(image: FloatArray) -> tuple[FloatArray, AnyArray]:
        return image.reshape(-1, 1), np.empty((0, 2), dtype=np.int64)

    model = LatticeCRF(form="ising", standardize=False, l2=L2)
    model.fit([nodes(image) for image in images.X], [mask.ravel() for mask in images.y])
    found = model.predict([nodes(image) for image in images.X_test])
    return [labels.reshape(image.shape) for labels, image in zip(found, images.X_test)]
