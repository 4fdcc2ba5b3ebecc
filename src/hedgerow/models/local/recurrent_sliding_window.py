"""RecurrentSlidingWindow: positions are classified one after the other, from the window and the labels just given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.estimators.parameters import check_choice, check_number
from hedgerow.legend import CodeArray
from hedgerow.models.local.base import LocalModel
from hedgerow.models.local.memm import check_conjoin
from hedgerow.models.local.previous_labels import MAX_ORDER
from hedgerow.models.local.training import predicted_histories
from hedgerow.trees.binning import MAX_VALUES

DIRECTIONS = ("left_to_right", "right_to_left")


class RecurrentSlidingWindow(LocalModel):
    """A classifier that goes through a sequence, and sees the labels that it gave last beside the window.

    Parameters
    ----------
    classifier : {"trees", "linear"} or a scikit-learn classifier, default "trees"
        Boosted trees, logistic regression, or any classifier with `predict_proba`, as in SlidingWindow. Labels before a
        position are columns of 0 and 1 to a classifier of your own.
    direction : {"left_to_right", "right_to_left"}, default "left_to_right"
        Which way it goes. It matters: where the end of a word decides, as in reading English aloud, right to left wins.
    history : int, default 1
        How many labels before a position, in its direction, it sees.
    training : {"teacher", "predicted"}, default "teacher"
        What it sees in training: the true labels, or labels that models trained on other folds predict. The second is
        what it will see later, errors and all; it trains `n_folds` models more.
    n_folds : int, default 5
    window : int, pair or mapping, default 0
        Positions around t that are seen: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a mapping gives each column its
        own ("*" for the others).
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    conjoin : "all", list of column names or None, default "all"
        Columns whose features "linear" also conjoins with the last label ("*" for the attributes).
    l2, l1, max_iter, tol, pairs : of "linear", as in LinearCRF
    n_estimators, max_leaf_nodes, l2_regularization, learning_rate, min_samples_leaf, max_features, max_bins, \
categorical, subsample, refit : of "trees", as in TreeCRF; `subsample` draws sequences
    min_frequency : float, default 0
        Rarer features get no weight, or are not split on.
    missing, fill_numbers : as in TreeCRF and LinearCRF; None is "learned" with trees, and refuses missing numbers
        elsewhere
    transitions : {"all", "forbid_unseen"}, default "all"
        With "forbid_unseen" transitions not seen in training are impossible.
    constraints : str or list of pairs, optional
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. A search never goes where no legal label would be left.
    decoder : {"greedy", "beam", "viterbi", "posterior"}, default "greedy"
        "greedy" takes the most probable label of each position in turn; "beam" keeps `beam_width` labelings. The other
        two are exact, as in MEMM.
    beam_width : int, default 20
    early_stopping : bool or "auto", default "auto"
        Hold out `validation_fraction` of the sequences and stop when `metric` has not risen for `n_iter_no_change`
        iterations. "auto" does so with trees.
    metric : str or callable, default "auto"
        A name ("log_likelihood", "accuracy", "label_f1", "span_f1", "sequence_accuracy"), or f(y_true, y_pred) where
        greater is better; "auto" is the log-likelihood. Labels are predicted from those that training sees here.
    warm_start : bool, default False
        Go on from the weights or the trees of the previous fit.
    n_jobs, random_state, verbose : as in LinearCRF

    Attributes
    ----------
    classes_ : array of labels, sorted
    scorer_ : the LinearCRF or TreeCRF, of order 0, or the classifier that was fitted to rows (window, last labels)
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import RecurrentSlidingWindow
    >>> model = RecurrentSlidingWindow(classifier="linear", window=1, direction="right_to_left")
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        classifier: Any = "trees",
        direction: str = "left_to_right",
        history: int = 1,
        training: str = "teacher",
        n_folds: int = 5,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        conjoin: str | Iterable[str] | None = "all",
        l2: float = 1.0,
        l1: float = 0.0,
        max_iter: int | None = None,
        tol: float = 1e-5,
        pairs: str = "observed",
        n_estimators: int = 500,
        max_leaf_nodes: int = 32,
        l2_regularization: float = 20.0,
        learning_rate: float | str = 0.3,
        min_samples_leaf: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = MAX_VALUES,
        categorical: str = "subset",
        subsample: float = 1.0,
        min_frequency: float = 0.0,
        missing: str | None = None,
        fill_numbers: str = "mean",
        transitions: str = "all",
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "greedy",
        beam_width: int = 20,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        refit: bool = True,
        metric: str | Callable[[Any, Any], float] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.direction = direction
        self.history = history
        self.training = training
        self.n_folds = n_folds
        self.window = window
        self.columns = columns
        self.conjoin = conjoin
        self.l2 = l2
        self.l1 = l1
        self.max_iter = max_iter
        self.tol = tol
        self.pairs = pairs
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.l2_regularization = l2_regularization
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical = categorical
        self.subsample = subsample
        self.min_frequency = min_frequency
        self.missing = missing
        self.fill_numbers = fill_numbers
        self.transitions = transitions
        self.constraints = constraints
        self.decoder = decoder
        self.beam_width = beam_width
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.refit = refit
        self.metric = metric
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _order(self) -> int:
        return int(self.history)

    def _backward(self) -> bool:
        return self.direction == "right_to_left"

    def _scorer(self) -> Any:
        return self.classifier

    def _training_histories(self, dataset: Dataset) -> CodeArray:
        if self.training == "teacher":
            return super()._training_histories(dataset)
        return predicted_histories(self, dataset, int(self.n_folds))

    def _check_parameters(self) -> None:
        check_choice("direction", self.direction, DIRECTIONS)
        check_number("history", self.history, low=1, high=MAX_ORDER, whole=True)
        check_choice("training", self.training, ("teacher", "predicted"))
        check_number("n_folds", self.n_folds, low=2, whole=True)
        check_choice("decoder", self.decoder, ("greedy", "beam", "viterbi", "posterior"))
        check_conjoin(self.conjoin)
        super()._check_parameters()
