"""What "auto" of the parameters of a TreeCRF comes to.

Newton's leaves with a step of 0.1 and λ = 5 were the better of two settings in earlier trials that were scored on test
parts. They were then compared with variants on one split of the training parts of up to nine data sets; five seeds, and
the bounds on the number of labels, are still to be checked that way (docs/arena.md, `--inside-train`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.estimators.values import LOG_LIKELIHOOD
from hedgerow.models.crf.parameters import TreeParameters, against_vectors
from hedgerow.training.memory import check_joint_memory
from hedgerow.training.monitor import Trained
from hedgerow.trees.binning import Binning

FEW_LABELS = 6  # up to so many, trees that ask for the previous label are better than a table of transitions
COMPARED_LABELS = 12  # up to so many, held-out sequences decide between the two
STEPS = {"newton": 0.1, "mean": 0.3}
SHRINKAGE = {"newton": 5.0, "mean": 20.0}  # λ: of curvatures, which are at most 1/4, and of rows
N_ESTIMATORS = 500
N_ESTIMATORS_STOPPED = 10_000  # where held-out sequences stop training sooner


class Form(NamedTuple):
    """The parameters of these names of a TreeCRF, without "auto"."""

    edges: str
    leaves: str
    learning_rate: float | str
    l2_regularization: float
    n_estimators: int
    order: int

    @property
    def joint(self) -> bool:
        """Whether trees score labels after those before them; at order 0 none does."""
        return self.edges == "joint" and self.order > 0

    @property
    def guarded(self) -> bool:
        """Whether steps may be longer than the paper's."""
        return self.leaves == "newton" or (not isinstance(self.learning_rate, str) and self.learning_rate > 1.0)


class Duration(NamedTuple):
    """How long a training with one form of edges was, and how good. score : of held-out sequences; −inf without any"""

    edges: str
    n_iterations: int
    n_likelihood: int
    score: float = -np.inf

    @classmethod
    def of(cls, edges: str, trained: Trained[Any]) -> Duration:
        score = -np.inf if trained.best.score is None else trained.best.score
        return cls(edges, trained.best.iteration, trained.learnt.n_likelihood, score)

    @classmethod
    def median(cls, folds: Sequence[Sequence[Duration]]) -> Duration:
        """What folds agree on: the edges with the best sum of scores, for the median number of iterations."""
        ways = list(zip(*folds))
        best = max(ways, key=lambda way: sum(one.score for one in way))
        n_iterations = int(np.median([one.n_iterations for one in best]))
        n_likelihood = int(np.median([one.n_likelihood for one in best]))
        return cls(best[0].edges, n_iterations, n_likelihood, max(one.score for one in best))


def make_form(settings: TreeParameters, edges: str, *, stopped: bool) -> Form:
    """What the parameters say, with these edges. stopped : whether held-out sequences may end training"""
    leaves, rate, shrinkage, most = (
        settings.leaves, settings.learning_rate, settings.l2_regularization, settings.n_estimators
    )  # fmt: skip
    if leaves == "auto":
        leaves = "newton" if settings.objective == LOG_LIKELIHOOD and shrinkage != 0 else "mean"
    if rate == "auto":
        rate = STEPS[leaves]
    return Form(
        edges,
        leaves,
        rate if isinstance(rate, str) else float(rate),
        SHRINKAGE[leaves] if isinstance(shrinkage, str) else float(shrinkage),
        (N_ESTIMATORS_STOPPED if stopped else N_ESTIMATORS) if isinstance(most, str) else int(most),
        int(settings.order),
    )


def edges_to_try(settings: TreeParameters, n_labels: int, n_positions: int, *, compared: bool) -> tuple[str, ...]:
    """The forms of edges that `edges` leaves open, the simpler one first. compared : whether there are held-out
    sequences to choose by."""
    if settings.edges != "auto":
        return (settings.edges,)
    if settings.multi_strategy == "multi_output_tree":
        return ("shared",)
    if settings.order != 1 or n_labels > (COMPARED_LABELS if compared else FEW_LABELS):
        return ("shared",)
    try:
        check_joint_memory(n_positions, n_labels)
    except InputError:
        return ("shared",)
    return ("shared", "joint") if compared else ("joint",)


def takes_vectors(settings: TreeParameters, form: Form, binning: Binning, n_labels: int) -> bool:
    """Whether an iteration has one tree for all labels."""
    if form.joint or settings.multi_strategy == "one_output_per_tree" or against_vectors(settings):
        return False
    dense = binning.n_dense == len(binning.names)
    if settings.multi_strategy == "auto":
        return dense and n_labels > COMPARED_LABELS
    if not dense:
        what = (
            f"⟦multi_strategy='multi_output_tree'⟧: the column {binning.names[binning.n_dense]!r} has too many values"
        )
        raise InputError(what, hint="Use 'one_output_per_tree', or 'auto', for attributes and for over 256 values.")
    return True
