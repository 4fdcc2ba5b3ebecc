"""The parameters of SlidingWindow, RecurrentSlidingWindow and MEMM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from hedgerow.declarations import Check, Range, declared
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import (
    BeamWidth,
    ClassWeighted,
    Constrained,
    Direction,
    Drawing,
    MinFrequency,
    MissingValues,
    Running,
    Transitions,
    Windowed,
)
from hedgerow.models.local.previous_labels import MAX_ORDER


@declared
class LocalParameters(Windowed, ClassWeighted, MinFrequency, MissingValues, Transitions, Constrained, Drawing, Running):
    """The parameters that all classifiers of positions have. How rows are learnt is set by the estimator's own.

    Parameters
    ----------
    class_weight : "balanced" or mapping of label to weight
        As in LinearCRF with a likelihood; every step of a search ("greedy", "beam") multiplies by the weights, too. A
        classifier of your own gets them as `sample_weight`.
    estimator : {"trees", "linear"}, TreeCRF, LinearCRF or a scikit-learn classifier
        What classifies a position: boosted trees or multinomial logistic regression, with the parameters of a TreeCRF
        or a LinearCRF: `estimator=TreeCRF(n_estimators=100)`; a name is the estimator as it comes. Or any classifier
        with `predict_proba`. The first two copy no window. A classifier of your own gets all windows as one matrix,
        sparse where there are categories or attributes, labels before a position as columns of 0 and 1, and cannot be
        saved in a model file. Columns, window, missing values, constraints, threads and seeds are this model's.
    missing : {"learned", "weighting", "surrogate", "impute", "indicator"}
        What is done where a value is missing, as in TreeCRF and LinearCRF. By default that is "learned" with trees, and
        others refuse missing numbers; they have "impute" and "indicator" alone.
    """

    estimator: Any = "trees"


@declared
class SlidingWindowParameters(LocalParameters):
    """The parameters of a SlidingWindow.

    Parameters
    ----------
    transitions
        With "forbid_unseen" no labeling has a transition that training does not show.
    constraints : str or list of pairs
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. Then the best legal labeling is found, and probabilities are those given that it is legal.
    decoder
        Without constraints all are the same: the most probable label of each position. "auto" is "viterbi" with
        constraints, which obeys them.
    """

    decoder: Literal["auto", "viterbi", "posterior"] = "auto"


def _check_conjoin(given: Any) -> None:
    """Refuse what does not name columns."""
    if given is None or given == "all":
        return
    listed = isinstance(given, Iterable) and not isinstance(given, str) and getattr(given, "ndim", 1) > 0
    if not listed or not all(isinstance(name, str) for name in given):
        raise InputError(f"⟦conjoin⟧ is {given!r}", hint="Give 'all', None, or a list of column names.")


@declared
class Conjoined:
    """What is conjoined with the last label.

    Parameters
    ----------
    conjoin : "all", list of column names or None
        Columns whose features "linear" also conjoins with the last label ("*" for the attributes), as in McCallum,
        Freitag and Pereira's model; None for no column.
    """

    conjoin: Annotated[str | Iterable[str] | None, Check(_check_conjoin)] = "all"


@declared
class RecurrentSlidingWindowParameters(Conjoined, BeamWidth, LocalParameters):
    """The parameters of a RecurrentSlidingWindow.

    Parameters
    ----------
    direction
        Which way it goes. It matters: where the end of a word decides, as in reading English aloud, right to left wins.
    order
        How many labels before a position, in its direction, it sees.
    training
        What it sees in training: the true labels, or labels that models trained on other folds predict. The second is
        what it will see later, errors and all; it trains `n_folds` models more.
    n_folds
        Folds of training="predicted".
    constraints : str or list of pairs
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. A search never goes where no legal label would be left.
    decoder
        "greedy" takes the most probable label of each position in turn; "beam" keeps `beam_width` labelings. The other
        two are exact, as in MEMM.
    """

    direction: Direction = "left_to_right"
    order: Annotated[int, Range(1, MAX_ORDER)] = 1
    training: Literal["teacher", "predicted"] = "teacher"
    n_folds: Annotated[int, Range(2)] = 5
    decoder: Literal["greedy", "beam", "viterbi", "posterior"] = "greedy"


@declared
class MEMMParameters(Conjoined, BeamWidth, LocalParameters):
    """The parameters of a MEMM.

    Parameters
    ----------
    order
        How many labels before a position it sees. Sums over all labelings (probabilities, Viterbi) take a score for
        every label after every history; where that is more than 100,000 per position, it is for beam and greedy search.
    estimator : {"linear", "trees"}, LinearCRF, TreeCRF or a scikit-learn classifier
        What classifies a position, as in SlidingWindow. A LinearCRF sees features, runs of the last labels, and
        features conjoined with the last label; a TreeCRF sees each of the last labels as a column.
    constraints : str or list of pairs
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. They count in prediction: what is legal after a label has its probabilities made to add up to 1.
    decoder
        "viterbi" gives the most probable labeling, "posterior" the most probable label of each position, "beam" the
        best labeling that a search with `beam_width` labelings finds, "greedy" takes label by label. "auto" is
        "posterior", "viterbi" where labels make spans (B-NP, I-NP) and where some transitions are forbidden, and "beam"
        where there are too many histories for either.
    """

    order: Annotated[int, Range(0, MAX_ORDER)] = 1
    estimator: Any = "linear"
    decoder: Literal["auto", "viterbi", "posterior", "beam", "greedy"] = "auto"
