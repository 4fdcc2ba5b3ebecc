"""The parameters of SlidingWindow, RecurrentSlidingWindow and MEMM."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from hedgerow.declarations import Check, Count, Range, declared
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import (
    BeamWidth,
    BoostedTrees,
    Constrained,
    Direction,
    Drawing,
    HeldOut,
    LinearFitting,
    MinFrequency,
    MissingValues,
    Penalty,
    Refitting,
    Running,
    Scoring,
    Transitions,
    WarmStart,
    Windowed,
    check_metric,
)
from hedgerow.models.local.previous_labels import MAX_ORDER


@declared
class LocalParameters(
    Windowed,
    Penalty,
    LinearFitting,
    BoostedTrees,
    MinFrequency,
    MissingValues,
    Transitions,
    Constrained,
    HeldOut,
    Refitting,
    Scoring,
    WarmStart,
    Drawing,
    Running,
):
    """The parameters that all classifiers of positions have.

    LinearFitting and Penalty are for "linear", BoostedTrees and Refitting for "trees".

    Parameters
    ----------
    missing : {"learned", "weighting", "surrogate", "impute", "indicator"}
        What is done where a value is missing, as in TreeCRF and LinearCRF. By default that is "learned" with trees, and
        others refuse missing numbers; they have "impute" and "indicator" alone.
    early_stopping
        Hold out `validation_fraction` of the sequences and stop when `metric` has not risen for `n_iter_no_change`
        iterations. "auto" does so with trees.
    metric : str or callable
        A name ("log_likelihood", "accuracy", "label_f1", "span_f1", "sequence_accuracy"), or f(y_true, y_pred) where
        greater is better; "auto" is the log-likelihood. Labels are predicted from the labels that training sees. A
        function cannot be saved with the model.
    warm_start
        Go on from the weights or the trees of the previous fit.
    """

    early_stopping: bool | Literal["auto"] = "auto"
    n_iter_no_change: Count = 20
    metric: Annotated[str | Callable[[Any, Any], float], Check(check_metric)] = "auto"


@declared
class SlidingWindowParameters(LocalParameters):
    """The parameters of a SlidingWindow.

    Parameters
    ----------
    classifier : {"trees", "linear"} or a scikit-learn classifier
        Boosted trees (those of TreeCRF), multinomial logistic regression (LinearCRF without transitions), or any
        classifier with `predict_proba`. The first two copy no window. A classifier of your own gets all windows as one
        matrix, sparse where there are categories or attributes, and cannot be saved in a model file. `l2`, `l1`,
        `max_iter`, `tol` and `pairs` are for "linear"; what trees look like and how they are boosted, and `refit`, are
        for "trees".
    transitions
        With "forbid_unseen" no labeling has a transition that training does not show.
    constraints : str or list of pairs
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. Then the best legal labeling is found, and probabilities are those given that it is legal.
    decoder
        Without constraints all are the same: the most probable label of each position. "auto" is "viterbi" with
        constraints, which obeys them.
    """

    classifier: Any = "trees"
    decoder: Literal["auto", "viterbi", "posterior"] = "auto"


def _check_conjoin(given: Any) -> None:
    """Refuse what does not name columns."""
    if given is None or given == "all":
        return
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
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
    classifier : {"trees", "linear"} or a scikit-learn classifier
        Boosted trees, logistic regression, or any classifier with `predict_proba`, as in SlidingWindow. Labels before a
        position are columns of 0 and 1 to a classifier of your own. `l2`, `l1`, `max_iter`, `tol` and `pairs` are for
        "linear"; what trees look like and how they are boosted, and `refit`, are for "trees".
    direction
        Which way it goes. It matters: where the end of a word decides, as in reading English aloud, right to left wins.
    history
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

    classifier: Any = "trees"
    direction: Direction = "left_to_right"
    history: Annotated[int, Range(1, MAX_ORDER)] = 1
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
    scorer
        "linear": logistic regression on features, on runs of the last labels, and on features conjoined with the last
        label. "trees": boosted trees that see each of the last labels as a column. `l2`, `l1`, `max_iter`, `tol` and
        `pairs` are for "linear"; what trees look like and how they are boosted, and `refit`, are for "trees".
    constraints : str or list of pairs
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. They count in prediction: what is legal after a label has its probabilities made to add up to 1.
    decoder
        "viterbi" gives the most probable labeling, "posterior" the most probable label of each position, "beam" the
        best labeling that a search with `beam_width` labelings finds, "greedy" takes label by label. "auto" is
        "viterbi", and "beam" where there are too many histories for it.
    """

    order: Annotated[int, Range(0, MAX_ORDER)] = 1
    scorer: Literal["linear", "trees"] = "linear"
    decoder: Literal["auto", "viterbi", "posterior", "beam", "greedy"] = "auto"
