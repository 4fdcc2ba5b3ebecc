"""The parameters of FutureFeatureMEMM."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from hedgerow.declarations import Count, NonNegative, Positive, Range, Share, declared
from hedgerow.estimators.parameters import (
    BeamWidth,
    Calibrated,
    CategorySplits,
    ClassWeighted,
    Constrained,
    Direction,
    Drawing,
    EarlyStopping,
    MinFrequency,
    MissingValues,
    Refitting,
    Running,
    Transitions,
    TreeGrowing,
    Windowed,
)
from hedgerow.models.local.previous_labels import MAX_ORDER
from hedgerow.trees.binning import MAX_VALUES


@declared
class FutureParameters(
    TreeGrowing,
    CategorySplits,
    ClassWeighted,
    Windowed,
    MinFrequency,
    MissingValues,
    Transitions,
    Constrained,
    BeamWidth,
    EarlyStopping,
    Calibrated,
    Refitting,
    Drawing,
    Running,
):
    """The parameters of a FutureFeatureMEMM.

    Parameters
    ----------
    order
        How many labels before a position it sees; 0 is a sliding window with future features.
    bag
        How many positions ahead a future feature looks at; None: all to the end of the sequence.
    max_future_features
        The most future features. With more than two labels each label that gains has one in every round.
    direction
        From right to left it sees the labels after a position, and features look at positions before it.
    window : "auto", int, pair or mapping
        Positions around t whose columns trees may split on, those of features too, as in TreeCRF. A window that sees
        what decides leaves less for features to find.
    class_weight : "balanced" or mapping of label to weight
        What the loss of a position is multiplied by, by its true label, where it is not 1. "balanced" gives rare labels
        more: n / (labels · n of the label).
    n_estimators
        The most iterations of a round, before and after each search for features: one tree per label each, or one in
        all where there are two labels.
    max_leaf_nodes
        The most leaves of a tree, of a feature's too.
    l2_regularization
        λ: the value of a leaf is Σ residuals / (rows + λ). A position is as many rows of a feature as it lies in bags.
    learning_rate
        The share of α, the best step of a tree, that is taken; 1 is the thesis' training. Where labels are noisy a
        share is better; those of features are always taken whole.
    feature_steps
        The most trees of a future feature.
    feature_bins
        The probability that a bag is positive is cut into so many bins, and trees ask whether it is above one of them.
    initial_score
        G₀, the score of a position before any tree of a feature: a negative one says that few have the pattern.
    max_step
        Upper end of the search for α, the step of a tree.
    max_weight
        Upper end of the search for η, the weight of a feature.
    min_frequency
        Attributes, and values of columns with very many, that are rarer are not split on.
    missing : {"learned", "weighting", "surrogate", "impute", "indicator"}
        What is done where a value is missing, as in TreeCRF.
    decoder
        As in MEMM: "viterbi" gives the most probable labeling, "posterior" the most probable label of each position,
        "beam" the best labeling that a search with `beam_width` labelings finds, "greedy" takes label by label. "auto"
        is "posterior", "viterbi" where labels make spans (B-NP, I-NP) and where some transitions are forbidden, and
        "beam" where there are too many histories for either.
    early_stopping
        Hold out `validation_fraction` of the sequences. Their likelihood then says when trees, or a feature, no longer
        help; otherwise that of the training sequences does. Sequences given to `fit` as X_val, y_val do the same.
    refit
        When the model itself held sequences out, train once more, on all of them, in as many rounds and for as many
        iterations each as were kept; features are looked for anew.
    n_iter_no_change
        Trees are added until the likelihood has not risen by the share `tol` for so many iterations.
    tol
        A feature, too, must raise the likelihood by this share.
    n_jobs : int
        Threads of prediction; −1 is all cores. The result is the same to the bit.
    random_state : int or RandomState
        Which sequences are held out.
    """

    order: Annotated[int, Range(0, MAX_ORDER)] = 1
    bag: Count | None = 6
    max_future_features: Count = 10
    direction: Direction = "left_to_right"
    n_estimators: Count = 300
    max_leaf_nodes: Annotated[int, Range(2, 2**16 - 1)] = 10
    learning_rate: Share = 0.3
    feature_steps: Count = 10
    feature_bins: Annotated[int, Range(2, MAX_VALUES)] = 20
    initial_score: Annotated[float, Range(-30, 30)] = -5.0
    max_step: Positive = 40.0
    max_weight: Positive = 40.0
    min_frequency: NonNegative = 1.0
    missing: Any = "learned"
    decoder: Literal["auto", "viterbi", "posterior", "beam", "greedy"] = "auto"
    early_stopping: bool = True
    n_iter_no_change: Count = 5
    tol: NonNegative = 1e-3
