"""MEMM: a maximum entropy Markov model, P(label | last labels, window), linear or of boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hedgerow.data.dataset import Label, Window
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import check_choice, check_number
from hedgerow.models.local.base import KINDS, LocalModel
from hedgerow.models.local.previous_labels import MAX_ORDER
from hedgerow.trees.binning import MAX_VALUES


class MEMM(LocalModel):
    """A maximum entropy Markov model: a classifier of each label, given the labels before it and the window.

    It is trained on the true labels before each position, one row a position, and so much faster than a CRF. The
    probabilities of the next label add up to 1 after every label: it cannot let a later position veto an earlier one
    (label bias, see docs/family.md), where a CRF can.

    Parameters
    ----------
    order : int, default 1
        How many labels before a position it sees. Sums over all labelings (probabilities, Viterbi) take a score for
        every label after every history; where that is more than 100,000 a position, it is for beam and greedy search.
    scorer : {"linear", "trees"}, default "linear"
        "linear": logistic regression on features, on runs of the last labels, and on features conjoined with the last
        label. "trees": boosted trees that see each of the last labels as a column.
    window : int, pair or mapping, default 0
        Positions around t that are seen: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a mapping gives each column its
        own ("*" for the others).
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    conjoin : "all", list of column names or None, default "all"
        Columns whose features a linear scorer also conjoins with the last label ("*" for the attributes), as in
        McCallum, Freitag and Pereira's model; None for no column.
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
        forbidden. They count in prediction: what is legal after a label has its probabilities made to add up to 1.
    decoder : {"auto", "viterbi", "posterior", "beam", "greedy"}, default "auto"
        "viterbi" gives the most probable labeling, "posterior" the most probable label of each position, "beam" the
        best labeling that a search with `beam_width` labelings finds, "greedy" takes label by label. "auto" is
        "viterbi", and "beam" where there are too many histories for it.
    beam_width : int, default 20
    early_stopping : bool or "auto", default "auto"
        Hold out `validation_fraction` of the sequences and stop when `metric` has not risen for `n_iter_no_change`
        iterations. "auto" does so with trees.
    metric : str or callable, default "auto"
        A name ("log_likelihood", "accuracy", "label_f1", "span_f1", "sequence_accuracy"), or f(y_true, y_pred) where
        greater is better; "auto" is the log-likelihood. Labels are predicted from the true labels before them here.
    warm_start : bool, default False
        Go on from the weights or the trees of the previous fit.
    n_jobs, random_state, verbose : as in LinearCRF

    Attributes
    ----------
    classes_ : array of labels, sorted
    scorer_ : the LinearCRF or TreeCRF, of order 0, that was fitted to rows (window, last labels)
    n_iter_, best_iteration_, loss_, history_, outcome_ : how its training went

    Examples
    --------
    >>> from hedgerow import MEMM
    >>> model = MEMM(window=1).fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        order: int = 1,
        scorer: str = "linear",
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
        decoder: str = "auto",
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
        self.order = order
        self.scorer = scorer
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
        return int(self.order)

    def _scorer(self) -> Any:
        return self.scorer

    def _check_parameters(self) -> None:
        check_number("order", self.order, low=0, high=MAX_ORDER, whole=True)
        check_choice("scorer", self.scorer, KINDS)
        check_choice("decoder", self.decoder, ("auto", "viterbi", "posterior", "beam", "greedy"))
        check_conjoin(self.conjoin)
        super()._check_parameters()


def check_conjoin(given: Any) -> None:
    """Refuse what does not name columns."""
    if given is None or given == "all":
        return
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        raise InputError(f"conjoin is {given!r}", hint="Give 'all', None, or a list of column names.")
