"""What "auto" of the parameters of a TreeCRF comes to.

Newton's leaves, a step of 0.1, and shared edges with many labels stood out in earlier trials that were scored on test
parts. What follows was compared inside the training parts of protein, hyphenation, stress and phonemes, on three to six
splits, as `python -m benchmarks.arena --inside-train --seeds 6 --model "TreeCRF(edges='joint', l2_regularization=20)"`
does. With joint edges λ = 20 was better than 5 on the first three, by 0.2 to 0.3 points and in log-loss; with shared
ones 5, 10 and 20 were alike. A least leaf of 5 instead gained on two of three, on protein more. Half of the features or
of the sequences, 8 or 64 leaves, and splits of one value against the rest were no better on the whole. With 50 labels
joint edges were worse, and took four times as long. Between 0.8 and 1.6 times as many iterations as held-out sequences
choose have the same accuracy, to 0.3 points: three folds suffice.

Trainings that find the number of iterations take steps of 0.3. With each counted as 3.9 of 0.1 in the last one, the
accuracy was that of steps of 0.1 but on phonemes, in 0.6 to 0.7 of the time: -0.04 ± 0.10 on stress and +0.10 ± 0.07
on hyphenation (6 splits), -0.13 ± 0.04 on phonemes (3), -0.04 ± 0.13 on letters and +0.16 ± 0.16 on chorales (2).
Counted as 3 the last training was too short (phonemes -0.2). Steps of 0.2 or 0.3 in the first half of the last training
itself lost up to 1.7 points on letters, 1.2 on chorales, and log-loss everywhere.

Chains with both kinds of trees were tried in a script and not built: position trees and a table in every other
iteration and joint trees between; joint trees on top of half of the shared form's best iterations; the mean of the
scores of both forms, each trained by itself. Right % and log-loss on stress (1,000 words, and 1,000 to
validate), hyphenation (6 splits each) and protein (3):

    edges           stress         hyphenation    protein
    auto            85.25 .3824    91.98 .1973    70.72 .6867
    shared          84.71 .3882    91.25 .2077    70.42 .6948
    joint           85.36 .3791    91.98 .1973    70.47 .6906
    in turn         85.16 .3788    91.79 .1952    70.49 .6902
    joint on top    85.11 .3833    91.64 .1985    70.66 .6898
    mean of both    85.23 .3752    91.74 .1971    not tried

Trees of joint edges that end up better than a table by LEAST_GAIN of the score are ahead after ten steps of 0.3, by 1.9
to 19.8 % of the table's best (5 of 6 splits of stress, hyphenation and protein). Where they do not (the sixth, two
splits of three kinds of made data and of home A), 8 of 9 were behind. There they are given up: on home A they took 34
of the 42 s of a fit.

What the log-loss gains, at most 2 %, the accuracy loses: on hyphenation 0.19 ± 0.10, 0.34 ± 0.12 and 0.24 ± 0.09 points
against "auto". On three kinds of made data (quick, 4 seeds) trees in turn had log-losses of .807, .832 and .170 where
"auto" had .804, .829 and .170. On home A (one seed, 3 folds) joint edges had 92.8 % and took five times as long as
shared ones with 93.4 %; the mixed forms keep K² scores a position, too.

Nor does a bound of the curvature (Chen, Singh, Taskar and Guestrin, AISTATS 2015; docs/architecture.md) replace p(1−p)
of Newton's leaves. Points above p(1−p) on stress, hyphenation (3 splits each) and protein (2): shared edges, steps of
0.5 -0.03, -0.35, -0.88, log-loss worse in all; steps of 1 -0.87 on stress. With the bound divided by its mean over all
positions, and steps as they are: shared +0.15, -0.36, +0.05, joint -0.05 ± 0.07, +0.02 ± 0.04 (6 splits each) and +0.24
± 0.16 (4), log-loss the same, 1.3 % and 0.5 % better: too little for passes of K³ a position in every iteration. The
opposite, the curvature of all that a joint leaf moves at a position, q(1−q) with q = Σp over its previous labels, which
is less than Σp(1−p): -0.22 and -0.07 on stress and hyphenation, log-loss 1 % better.

Joint edges on stress and hyphenation, 6 splits each: steps of 0.05 in the last training -0.04 and -0.06, log-loss 0.5 %
better, in twice the time; λ = 40 -0.15 and -0.29; half of the features for a node +0.06 and -0.17; three trees a step,
each of 0.7 of the sequences, +0.02 on stress in five times the time.

Nor do the models of three folds, each stopped by its own part, help if their probabilities are averaged with those of
the last training: -0.11 ± 0.02 on hyphenation (5 splits), -0.21 ± 0.09 on stress (5), -0.17 ± 0.46 on protein (3), log-
loss 2.3 %, 0.1 % and 0.3 % better. By themselves they lose 0.25, 0.51 and 0.71 points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.estimators.calibration import LOG_TEMPERATURES
from hedgerow.estimators.codec.arrays import Array
from hedgerow.estimators.values import LOG_LIKELIHOOD
from hedgerow.legend import FLOAT
from hedgerow.models.crf.parameters import TreeParameters, against_vectors
from hedgerow.training.checkpoint import Maybe
from hedgerow.training.memory import check_joint_memory
from hedgerow.training.monitor import Trained
from hedgerow.trees.binning import Binning

FEW_LABELS = 6  # up to so many, trees that ask for the previous label are better than a table of transitions
COMPARED_LABELS = 12  # up to so many, held-out sequences decide between the two
LEAST_GAIN = 0.01  # by this share of its score trees of joint edges have to be better than a table
HEAD_START = 10  # after so many long steps joint edges are given up where a table was better after as many
STEPS = {"newton": 0.1, "mean": 0.3}
# Where only the number of iterations is sought, steps are so many times longer, and each stands for so many of those on
# all sequences: there are more of them, and short steps overfit later.
PACE, LENGTH = 3, 4
SHRINKAGE, CURVED_SHRINKAGE = 20.0, 5.0  # λ, and that of curvatures, at most 1/4 of a position, which has one row
N_ESTIMATORS = 500
N_ESTIMATORS_STOPPED = 10_000  # where held-out sequences stop training sooner


class Form(NamedTuple):
    """The parameters of these names of a TreeCRF, without "auto". coarse : whether steps are longer, for another
    training follows, on all sequences"""

    edges: str
    leaves: str
    learning_rate: float | str
    l2_regularization: float
    n_estimators: int
    order: int
    coarse: bool = False

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
    def of(cls, form: Form, trained: Trained[Any]) -> Duration:
        score = -np.inf if trained.best.score is None else trained.best.score
        length = LENGTH if form.coarse else 1
        return cls(form.edges, length * trained.best.iteration, length * trained.learnt.n_likelihood, score)

    @classmethod
    def median(cls, folds: Sequence[Duration]) -> Duration:
        """What folds agree on, which have the same edges: the median number of iterations."""
        n_iterations, n_likelihood = (int(np.median(numbers)) for numbers in list(zip(*folds))[1:3])
        return cls(folds[0].edges, n_iterations, n_likelihood, max(one.score for one in folds))

    def beats(self, other: Duration) -> bool:
        """Whether it is clearly better than a simpler form."""
        return self.score > other.score + LEAST_GAIN * abs(other.score)


# What training with a fold held out tells, as a checkpoint keeps it: Duration, losses at temperatures, outcome.
TOLD = (Maybe((str, int, int, float)), [Array("losses", FLOAT, (2 + len(LOG_TEMPERATURES),))], str)


def make_form(settings: TreeParameters, edges: str, *, stopped: bool, again: bool = False) -> Form:
    """What the parameters say, with these edges. stopped : whether held-out sequences may end training; again : whether
    another on all sequences follows"""
    leaves, rate, shrinkage, most = (
        settings.leaves, settings.learning_rate, settings.l2_regularization, settings.n_estimators
    )  # fmt: skip
    if leaves == "auto":
        leaves = "newton" if settings.objective == LOG_LIKELIHOOD and shrinkage != 0 else "mean"
    coarse = again and (rate, most, leaves) == ("auto", "auto", "newton")
    if rate == "auto":
        rate = STEPS[leaves] * (PACE if coarse else 1)
    return Form(
        edges,
        leaves,
        rate if isinstance(rate, str) else float(rate),
        _shrinkage(leaves, joint=edges == "joint" and settings.order > 0) if shrinkage == "auto" else float(shrinkage),
        (N_ESTIMATORS_STOPPED if stopped else N_ESTIMATORS) if isinstance(most, str) else int(most),
        int(settings.order),
        coarse,
    )


def _shrinkage(leaves: str, *, joint: bool) -> float:
    return CURVED_SHRINKAGE if leaves == "newton" and not joint else SHRINKAGE


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
