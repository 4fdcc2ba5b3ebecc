"""The parameters of BeamSearchTagger."""

from __future__ import annotations

from typing import Annotated, Literal

from hedgerow.declarations import Count, OneOf, Range, declared
from hedgerow.estimators.parameters import (
    BeamWidth,
    ClassWeighted,
    Constrained,
    Direction,
    Drawing,
    EarlyStopping,
    MinFrequency,
    MissingValues,
    Refitting,
    Running,
    Scored,
    Transitions,
    TreeShape,
    Windowed,
)
from hedgerow.models.local.previous_labels import MAX_ORDER
from hedgerow.models.search.features import MAX_COUNTS
from hedgerow.models.search.training import UPDATES


@declared
class SearchParameters(
    BeamWidth,
    Windowed,
    TreeShape,
    MinFrequency,
    MissingValues,
    Transitions,
    Constrained,
    ClassWeighted,
    EarlyStopping,
    Refitting,
    Scored,
    Drawing,
    Running,
):
    """The parameters of a BeamSearchTagger.

    Parameters
    ----------
    beam_width
        How many labelings are kept.
    ranking
        What scores the next label. "perceptron": weights of features, averaged. "trees": boosted trees over the window
        and the last labels, one per label and pass, fitted to what competes with the truth in the beam; for few labels,
        since every label after every history has a score.
    update
        Where the weights move in a sequence that is labelled wrong. "early": where the truth falls out of the beam, and
        the rest is left (Collins and Roark 2004). "beam": there, away from all that the beam holds, and the search
        goes on from the truth (LaSO, Daumé and Marcu 2005). "max_violation": where the best labeling is farthest above
        the truth (Huang, Fayong and Guo 2012). "full": at the end, which is the structured perceptron; it is sound
        where the beam holds every labeling that matters.
    order
        How many labels back a label looks: at each of them, and at the last 2, 3, … together as far as training shows
        such runs.
    label_counts
        Whether each label came before, anywhere in the sequence: how often is told apart up to this number. 0 does not
        look. Of "perceptron".
    future_features
        True: first train a FutureFeatureMEMM, and give the patterns that it finds ahead as input, as thermometers.
        "errors": train, look ahead for patterns that tell where the search itself was wrong on the training sequences,
        and train again with them, round after round, until held-out sequences are labelled no better; without such,
        until nothing is found.
    bag
        How far ahead future features look; None is to the end.
    direction
        Which way labels are given.
    max_iter
        The most passes over the sequences: by default 50, and 300 with trees.
    pairs
        Weights of "perceptron" for the (feature, label) pairs seen in training, or for every label of every feature
        seen.
    max_leaf_nodes
        The most leaves of a tree of "trees".
    l2_regularization
        λ of "trees": the value of a leaf is Σ(−gradient) / (rows + λ).
    learning_rate
        What the values of the leaves of "trees" are multiplied with.
    class_weight : "balanced" or mapping of label to weight
        What a label counts, where it is not 1: what a position adds to an update, or to the trees of a pass, is
        multiplied by the weight of its true label. "balanced" is n / (labels · n of the label).
    missing : {"impute", "indicator"}
        As in LinearCRF; with trees the default takes no value for one more value.
    scoring : str or callable
        A name ("accuracy", "label_f1", "span_f1", "sequence_accuracy"), a scorer(estimator, X, y) or a function
        f(y_true, y_pred), as in LinearCRF.
    n_jobs : int
        Threads of prediction; −1 is all cores. The result is the same to the bit.
    """

    beam_width: Count = 5
    ranking: Literal["perceptron", "trees"] = "perceptron"
    update: Annotated[str, OneOf(UPDATES)] = "max_violation"
    order: Annotated[int, Range(0, MAX_ORDER)] = 2
    label_counts: Annotated[int, Range(0, MAX_COUNTS)] = 1
    future_features: bool | Literal["errors"] = False
    bag: Count | None = 6
    direction: Direction = "left_to_right"
    max_iter: Count | None = None
    pairs: Literal["observed", "all"] = "observed"
    learning_rate: Annotated[float, Range(above=0, below=10)] = 1.0
    early_stopping: bool = True
