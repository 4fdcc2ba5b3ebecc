"""SlidingWindow: every position is classified by itself, from the window around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hedgerow.data.dataset import Label, Window
from hedgerow.estimators.parameters import check_choice
from hedgerow.models.local.base import LocalModel
from hedgerow.trees.binning import MAX_VALUES


class SlidingWindow(LocalModel):
    """A classifier of positions: it sees the columns in a window, and no label but its own.

    Labels that hang together are not its strength. It is the yardstick for models that know of neighbouring labels, and
    the fastest of all.

    Parameters
    ----------
    classifier : {"trees", "linear"} or a scikit-learn classifier, default "trees"
        Boosted trees (those of TreeCRF), multinomial logistic regression (LinearCRF without transitions), or any
        classifier with `predict_proba`. The first two copy no window. A classifier of your own gets all windows as one
        matrix, sparse where there are categories or attributes, and cannot be saved in a model file.
    window : int, pair or mapping, default 0
        Positions around t that are seen: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a mapping gives each column its
        own ("*" for the others).
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    l2, l1, max_iter, tol, pairs : of "linear", as in LinearCRF
    n_estimators, max_leaf_nodes, l2_regularization, learning_rate, min_samples_leaf, max_features, max_bins, \
categorical, subsample, refit : of "trees", as in TreeCRF; `subsample` draws sequences
    min_frequency : float, default 0
        Rarer features get no weight, or are not split on.
    missing, fill_numbers : as in TreeCRF and LinearCRF; None is "learned" with trees, and refuses missing numbers
        elsewhere
    transitions : {"all", "forbid_unseen"}, default "all"
        With "forbid_unseen" no labeling has a transition that training does not show.
    constraints : str or list of pairs, optional
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden. Then the best legal labeling is found, and probabilities are those given that it is legal.
    decoder : {"auto", "viterbi", "posterior"}, default "auto"
        Without constraints all are the same: the most probable label of each position. "auto" is "viterbi" with
        constraints, which obeys them.
    early_stopping : bool or "auto", default "auto"
        Hold out `validation_fraction` of the sequences and stop when `metric` has not risen for `n_iter_no_change`
        iterations. "auto" does so with trees.
    metric : str or callable, default "auto"
        A name ("log_likelihood", "accuracy", "label_f1", "span_f1", "sequence_accuracy"), or f(y_true, y_pred) where
        greater is better; "auto" is the log-likelihood.
    warm_start : bool, default False
        Go on from the weights or the trees of the previous fit.
    n_jobs, random_state, verbose : as in LinearCRF

    Attributes
    ----------
    classes_ : array of labels, sorted
    scorer_ : the fitted LinearCRF (of order 0), TreeCRF (of order 0) or classifier
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import SlidingWindow
    >>> model = SlidingWindow(classifier="linear", window=1)
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        classifier: Any = "trees",
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
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
        decoder: str = "auto",
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
        self.window = window
        self.columns = columns
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
        return 0

    def _scorer(self) -> Any:
        return self.classifier

    def _search_name(self) -> str:
        if self.decoder != "auto":
            return self.decoder
        free = self.constraints is None and self.transitions == "all"
        return "posterior" if free else "viterbi"

    def _check_parameters(self) -> None:
        check_choice("decoder", self.decoder, ("auto", "viterbi", "posterior"))
        super()._check_parameters()
