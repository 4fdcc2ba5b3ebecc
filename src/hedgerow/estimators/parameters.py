"""The parameters that several estimators have, each declared and described once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from hedgerow.data.dataset import Label, Window
from hedgerow.data.imputation import MIDDLES
from hedgerow.declarations import Check, Count, NonNegative, OneOf, Range, Share, declared
from hedgerow.estimators.values import (
    AUTO,
    BEAM_WIDTH,
    ClassWeight,
    Costs,
    Scoring,
    check_class_weight,
    check_costs,
    check_features,
    check_scoring,
    random_generator,
)
from hedgerow.trees.binning import MAX_VALUES

Direction = Literal["left_to_right", "right_to_left"]


# ------------------------------------------------------------------------------------------------ of every estimator


@declared
class Running:
    """How an estimator runs.

    Parameters
    ----------
    n_jobs : int
        Threads; −1 is all cores. The result is the same to the bit.
    verbose : int
        1 shows a progress bar on a terminal, and log lines elsewhere (logger "hedgerow", level INFO, which Python shows
        only where logging is set up).
    """

    n_jobs: Count | Annotated[int, Range(most=-1)] | None = None
    verbose: Annotated[int, Range(0)] | bool = 0


@declared
class Drawing:
    """Where random numbers come from.

    Parameters
    ----------
    random_state : int or RandomState
        Which sequences are held out, and every other draw. A RandomState cannot be saved with the model.
    """

    random_state: Annotated[Any, Check(random_generator)] = None


@declared
class EarlyStopping:
    """Whether held-out sequences end training.

    Parameters
    ----------
    early_stopping
        Hold out `validation_fraction` of the sequences and stop when `scoring` has not risen for `n_iter_no_change`
        iterations; the best iteration is kept. Sequences given to `fit` as X_val, y_val do the same.
    validation_fraction
        The share of the sequences that is held out.
    n_iter_no_change
        How many iterations without a better score end training.
    """

    early_stopping: bool = False
    validation_fraction: Annotated[float, Range(above=0, below=1)] = 0.1
    n_iter_no_change: Count = 10


@declared
class Calibrated:
    """Whether probabilities are made to hold.

    Parameters
    ----------
    calibrate
        Where sequences are held out, divide all scores by the temperature with which the probabilities of their labels
        are best (`temperature_`). The most probable labeling stays the same; labels that are taken one by one may
        change. Nothing is done where none are held out.
    """

    calibrate: bool = True


@declared
class Scored:
    """What counts on held-out sequences.

    Parameters
    ----------
    scoring : str or callable
        A name ("accuracy", "label_f1", "span_f1", "sequence_accuracy", "log_likelihood"); a scorer(estimator, X, y),
        such as `make_scorer` of hedgerow.metrics or of scikit-learn makes, which may ask the estimator for `predict`;
        or a function f(y_true, y_pred). Greater is better. Functions get None in y where a position is unlabelled or
        has a set, and cannot be saved with the model.
    """

    scoring: Annotated[Scoring, Check(check_scoring)] = "accuracy"


@declared
class Refitting:
    """What is done with held-out sequences afterwards.

    Parameters
    ----------
    refit
        When the model itself held sequences out, train once more, on all of them, for as many iterations as were best.
        Not where training goes on from an earlier fit (`warm_start`).
    """

    refit: bool = True


@declared
class WarmStart:
    """Where training begins.

    Parameters
    ----------
    warm_start
        Go on from what the previous fit learnt.
    """

    warm_start: bool = False


# ------------------------------------------------------------------------------------------------ of sequences


@declared
class Columns:
    """What the columns of the input are.

    Parameters
    ----------
    columns : mapping of column name to kind
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    """

    columns: Mapping[str, str] | None = None


@declared
class Windowed(Columns):
    """What a position sees of the input.

    Parameters
    ----------
    window : "auto", int, pair or mapping
        Positions around t that are seen at t: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a mapping gives each
        column its own ("*" for the others). "auto" is a width from 0 to 8 that held-out sequences ask for, found by
        a quick model; and 0 where features are ready-made: lists of attributes, rare keys, keys that name
        neighbours ("-1:word"). `window_` tells which it is.
    features : "auto" or list of str
        What is derived of every numeric column and seen beside it, in the same window: "lag(5)", "difference(3)",
        "rolling_mean(10)", "rolling_std(10)", "rolling_min(10)", "rolling_max(10)". They look back alone: the last 10
        positions are t−9 … t. "auto" takes differences, or rolling means and deviations of 5 or 25 positions, or all
        of these, where held-out sequences are clearly better with them than without. `features_` tells which. Of words:
        "ner", "pos" or "chunk" makes the features that suit the task, with a window each where `window` is "auto".
    """

    window: Window | str = AUTO
    features: Annotated[Any, Check(check_features)] = None


@declared
class MissingValues:
    """What is done where a value is missing.

    Parameters
    ----------
    missing
        What is done where a value is missing. "impute" fills in the most common value, or the mean. "indicator" fills
        numbers in, and gives every column a column of flags that says where it is missing. By default numbers must be
        there, and a category that is missing adds nothing.
    fill_numbers
        What "impute" and "indicator" fill in for a number.
    """

    missing: Any = None  # which ways there are depends on the model: see `check_missing`
    fill_numbers: Annotated[str, OneOf(MIDDLES)] = "mean"


@declared
class Transitions:
    """Which labels may follow each other, by the training sequences.

    Parameters
    ----------
    transitions
        With "forbid_unseen", transitions not seen in training are impossible.
    """

    transitions: Literal["all", "forbid_unseen"] = "all"


@declared
class Constrained:
    """Which labels may follow each other, by their meaning.

    Parameters
    ----------
    constraints : str or list of pairs
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden.
    """

    constraints: str | Iterable[tuple[Label, Label]] | None = None


@declared
class BeamWidth:
    """How wide a search is.

    Parameters
    ----------
    beam_width
        How many labelings, or states of a position, a search with decoder "beam" keeps.
    """

    beam_width: Count = BEAM_WIDTH


@declared
class MinFrequency:
    """What is too rare to count.

    Parameters
    ----------
    min_frequency
        Rarer features get no weight, or are not split on.
    """

    min_frequency: NonNegative = 0.0


@declared
class ErrorCosts:
    """Details of an objective.

    Parameters
    ----------
    softness
        A softmax with this inverse temperature in place of the best wrong label of "labelwise", or of the best wrong
        labeling of "classification_error".
    costs : mapping or list
        What a wrong label costs, where it is not 1: {label: cost} or [(true, predicted, cost), …].
    """

    softness: Annotated[float, Range(above=0)] | None = None
    costs: Annotated[Costs | None, Check(check_costs)] = None


@declared
class ClassWeighted:
    """What labels count.

    Parameters
    ----------
    class_weight : "balanced" or mapping of label to weight
        What the positions of a label count, where it is not 1. "balanced" gives rare labels more: n / (labels · n of
        the label). With a likelihood nothing changes in training: the probabilities of a position's labels are
        multiplied by the weights and made to add up to 1, and "posterior" takes the greatest; whole labelings
        ("viterbi", "beam", k-best, samples) know no weights. In other objectives the loss of a position, or the cost of
        a mistake there, is multiplied by the weight of its true label; those that compare whole labelings have none.
    """

    class_weight: Annotated[ClassWeight | None, Check(check_class_weight)] = None


# ------------------------------------------------------------------------------------------------ of weights and trees


@declared
class Penalty:
    """How weights are kept small.

    Parameters
    ----------
    l2
        The penalty l2·‖w‖² (CRFsuite's c2).
    """

    l2: NonNegative = 1.0


@declared
class LinearFitting:
    """How the weights of a linear model are found.

    Parameters
    ----------
    l1
        The penalty l1·‖w‖₁ (CRFsuite's c1), by L-BFGS alone.
    max_iter
        The most iterations, by default 500.
    tol
        Training ends when the loss fell by less than this share in ten iterations.
    pairs
        Weights for the (feature, label) pairs seen in training, or for every label of every feature seen.
    """

    l1: NonNegative = 0.0
    max_iter: Count | None = None
    tol: NonNegative = 1e-5
    pairs: Literal["observed", "all"] = "observed"


@declared
class TreeShape:
    """What a tree looks like.

    Parameters
    ----------
    max_leaf_nodes
        The most leaves of a tree. Trees grow best first.
    l2_regularization
        λ: the value of a leaf is Σ(−gradient) / (rows + λ).
    """

    max_leaf_nodes: Annotated[int, Range(2, 2**16 - 1)] = 32
    l2_regularization: NonNegative = 20.0


@declared
class TreeGrowing(TreeShape):
    """How many trees are grown, and on what.

    Parameters
    ----------
    n_estimators
        The most iterations.
    min_samples_leaf
        The least rows of a leaf.
    max_bins
        The most bins of a numeric column.
    """

    n_estimators: Count = 500
    min_samples_leaf: NonNegative = 1.0
    max_bins: Annotated[int, Range(2, MAX_VALUES)] = MAX_VALUES


@declared
class FeatureSampling:
    """Which features a node of a tree may split on.

    Parameters
    ----------
    max_features
        The share of the features, drawn anew, that a node may split on.
    """

    max_features: Share = 1.0


@declared
class CategorySplits:
    """How trees split on categories.

    Parameters
    ----------
    categorical
        Whether a split takes any set of values, or of previous labels, out of a node, or one, as in the papers. With
        joint edges and dozens of labels one is better: some set of them fits the training sequences alone.
    """

    categorical: Literal["subset", "one_against_rest"] = "subset"


@declared
class BoostedTrees(TreeGrowing, FeatureSampling, CategorySplits):
    """How trees are boosted.

    Parameters
    ----------
    learning_rate
        What the values of leaves are multiplied with; 1 is the papers'. "line_search" finds one step for all labels in
        each iteration. Steps above 1, found steps and Newton's are shortened until the loss does not rise.
    subsample
        The share of the sequences that a tree is fitted to, drawn for each.
    """

    learning_rate: Annotated[float, Range(above=0, most=10)] | Literal["line_search"] = 0.3
    subsample: Share = 1.0
