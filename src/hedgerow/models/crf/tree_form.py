"""What "auto" of the parameters of a TreeCRF comes to. docs/arena.md has what was compared, inside training parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.estimators.calibration import LOG_TEMPERATURES
from hedgerow.estimators.codec.arrays import Array
from hedgerow.estimators.values import LOG_LIKELIHOOD
from hedgerow.legend import FLOAT, INDEX, CodeArray, IndexArray
from hedgerow.models.crf.parameters import TreeParameters, against_vectors
from hedgerow.training.checkpoint import Maybe
from hedgerow.training.memory import check_joint_memory
from hedgerow.training.monitor import Trained
from hedgerow.trees.binning import Binning

FEW_LABELS = 6  # up to so many, trees that ask for the previous label are better than a table of transitions
COMPARED_LABELS = 12  # up to so many, held-out sequences decide between the two
WORDS, ATTRIBUTES = 200, 500  # of more values than so many most are rare, and weights say more of them than trees
FIRST_ITERATIONS = 30  # of those weights: trees learn what is left sooner than L-BFGS does
LEAST_GAIN = 0.01  # by this share of its score trees of joint edges have to be better than a table
HEAD_START = 10  # after so many long steps joint edges are given up where a table was better after as many
STEPS = {"newton": 0.1, "mean": 0.3}
# Where only the number of iterations is sought, steps are so many times longer, and each stands for so many of those on
# all sequences: there are more of them, and short steps overfit later.
PACE, LENGTH = 3, 4
SHRINKAGE, CURVED_SHRINKAGE = 20.0, 5.0  # λ, and that of curvatures, at most 1/4 of a position, which has one row
SHRINKAGE_ON_WORDS = 1.0  # where weights of words know most already, and leaves are small
# A higher order is taken where the labels alone are told by it with so many nats less, and by so much of them: those of
# handwritten words are (2.1 → 1.1 → 0.8 nats), and those of no other task of the arena (0.03 nats at most).
LEAST_NATS, LEAST_SHARE, HIGHEST = 0.1, 0.1, 3
LEAST_COUNTED, MOST_COUNTED, BLOCKS, MIXED = 1_000, 200_000, 25, 5.0
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
    """How long a training with one form of edges was, and how good. score : of held-out sequences; −inf without any,
    and where it fell behind a simpler form"""

    edges: str
    n_iterations: int
    n_likelihood: int
    score: float = -np.inf

    @classmethod
    def of(cls, form: Form, trained: Trained[Any]) -> Duration:
        score = -np.inf if trained.best.score is None or trained.outcome == "behind" else trained.best.score
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


def make_form(settings: TreeParameters, edges: str, *, stopped: bool, again: bool = False, words: bool = False) -> Form:
    """What the parameters say, with these edges. stopped : whether held-out sequences may end training; again : whether
    another on all sequences follows; words : whether trees stand on weights of words"""
    leaves, rate, shrinkage, most = (
        settings.leaves, settings.learning_rate, settings.l2_regularization, settings.n_estimators
    )  # fmt: skip
    if leaves == "auto":
        leaves = "newton" if settings.objective == LOG_LIKELIHOOD and shrinkage != 0 else "mean"
    coarse = again and (rate, most, leaves) == ("auto", "auto", "newton")
    if rate == "auto":
        rate = STEPS[leaves] * (PACE if coarse else 1)
    curved = leaves == "newton" and not (edges == "joint" and settings.order != 0)
    if shrinkage == "auto":
        shrinkage = SHRINKAGE if not curved else SHRINKAGE_ON_WORDS if words else CURVED_SHRINKAGE
    return Form(
        edges,
        leaves,
        rate if isinstance(rate, str) else float(rate),
        float(shrinkage),
        (N_ESTIMATORS_STOPPED if stopped else N_ESTIMATORS) if isinstance(most, str) else int(most),
        1 if settings.order == "auto" else int(settings.order),
        coarse,
    )


def has_words(settings: TreeParameters, schema: Schema) -> bool:
    """Whether `init` "auto" is a linear start: some column, or the attributes, have so many values that most are rare.

    Trees of other objectives do not begin near the likelihood's best, and bags need what none of their parts saw.
    """
    likely = settings.objective == LOG_LIKELIHOOD and settings.order in (1, "auto")
    if settings.init != "auto" or not likely or settings.n_bags:
        return False
    sizes = [len(column.vocabulary or ()) for column in schema.columns]
    return max(sizes, default=0) > WORDS or schema.n_attributes > ATTRIBUTES


def choose_order(settings: TreeParameters, corpus: Dataset | SharedCorpus) -> int:
    """The order where it is left open: higher than 1 where the labels alone, counted in four fifths of the sequences,
    make those of the others clearly more probable by it. Nothing is trained for that."""
    labels = corpus.labels if isinstance(corpus, Dataset) else None
    own = (
        settings.order == settings.edges == settings.init == "auto"
        and settings.objective == LOG_LIKELIHOOD
        and not settings.n_bags
    )
    if not own or labels is None or len(labels) < LEAST_COUNTED or has_words(settings, corpus.schema):
        return 1
    if settings.transitions != "all" or settings.pseudo_likelihood_steps or settings.constraints is not None:
        return 1
    losses = label_losses(labels[:MOST_COUNTED], corpus.offsets, corpus.n_labels, HIGHEST)
    gains = [before - loss > max(LEAST_NATS, LEAST_SHARE * before) for before, loss in pairwise(losses[1:])]
    return 1 + (gains + [False]).index(False)


def label_losses(labels: CodeArray, offsets: IndexArray, n_labels: int, most: int) -> list[float]:
    """Nats a label of every fifth sequence, or of blocks where these are few, by what is counted of the others, given
    0 … most labels before it. A count is mixed with what one label less says, as if that were seen so often."""
    places, sequence = np.arange(len(labels)), np.searchsorted(offsets, np.arange(len(labels)), side="right") - 1
    held_out = (sequence if sequence[-1] >= BLOCKS - 1 else places * BLOCKS // len(labels)) % 5 == 4
    learnt, asked = (labels >= 0) & ~held_out, (labels >= 0) & held_out
    context, codes = np.zeros(len(labels), INDEX), labels.astype(INDEX) + 2
    probs, losses = np.full(len(labels), 1.0 / n_labels), []
    for n in range(most + 1):
        if n:
            before = np.where(places - offsets[sequence] >= n, np.roll(codes, n), 0)
            context = np.unique(context * (n_labels + 2) + before, return_inverse=True)[1]
        runs = np.unique(context * (n_labels + 2) + codes, return_inverse=True)[1]
        n_seen, n_runs = (np.bincount(ids, weights=learnt)[ids] for ids in (context, runs))
        probs = (n_runs + MIXED * probs) / (n_seen + MIXED)
        losses.append(float(-np.log(probs[asked]).mean()) if asked.any() else 0.0)
    return losses


def edges_to_try(settings: TreeParameters, n_labels: int, n_positions: int, *, compared: bool) -> tuple[str, ...]:
    """The forms of edges that `edges` leaves open, the simpler one first. compared : whether there are held-out
    sequences to choose by."""
    if settings.edges != "auto":
        return (settings.edges,)
    most = COMPARED_LABELS if compared else FEW_LABELS
    if settings.multi_strategy == "multi_output_tree" or settings.order not in (1, "auto") or n_labels > most:
        return ("shared",)
    try:
        check_joint_memory(n_positions, n_labels)
    except InputError:
        return ("shared",)
    return ("shared", "joint") if compared else ("joint",)


def takes_vectors(settings: TreeParameters, form: Form, binning: Binning, n_labels: int) -> bool:
    """Whether an iteration has one tree for all labels."""
    dense = binning.n_dense == len(binning.names)
    wanted = _wants_vectors(settings, n_labels, joint=form.joint)
    if wanted and not dense and settings.multi_strategy != "auto":
        name = binning.names[binning.n_dense]
        what = f"⟦multi_strategy='multi_output_tree'⟧: the column {name!r} has too many values"
        raise InputError(what, hint="Use 'one_output_per_tree', or 'auto', for attributes.")
    return wanted and dense


def gathers(settings: TreeParameters, ways: Sequence[str], schema: Schema) -> bool:
    """Whether rare values of a column share a bin, for trees for all labels need bins."""
    return not schema.n_attributes and _wants_vectors(settings, len(schema.labels), joint="joint" in ways)


def _wants_vectors(settings: TreeParameters, n_labels: int, *, joint: bool) -> bool:
    if joint or settings.multi_strategy == "one_output_per_tree" or against_vectors(settings):
        return False
    return settings.multi_strategy == "multi_output_tree" or n_labels > FEW_LABELS
