"""TreeCRF: a chain conditional random field whose scores are sums of regression trees, grown by gradient boosting."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.data.imputation import Imputation
from hedgerow.errors import InputError
from hedgerow.estimators.base import ChainModel
from hedgerow.estimators.constraints import without_forbidden
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.histories import without_unseen
from hedgerow.estimators.missing import OF_TREES, check_missing, fill, learn_missing
from hedgerow.estimators.parameters import (
    LOG_LIKELIHOOD,
    check_choice,
    check_common,
    check_metric,
    check_tree_objective,
    check_tree_order,
    check_tree_parameters,
)
from hedgerow.estimators.validation import encode_held_out, hold_out
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.paired import pair
from hedgerow.models.crf.tree_stages import chunk_positions
from hedgerow.models.crf.tree_training import (
    Trained,
    Training,
    check_goes_on,
    find_start,
    joint_edges,
    linear_below,
    make_start,
    table_shape,
)
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.boosting.chain import Iteration
from hedgerow.training.boosting.scores import Start
from hedgerow.training.memory import check_joint_memory
from hedgerow.trees.binning import MAX_VALUES, Binning, bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.missing import SURROGATE, WEIGHTING

log = logging.getLogger("hedgerow")

PAPERS: dict[str, dict[str, Any]] = {
    "2004": {"l2_regularization": 0.0, "pseudo_likelihood_steps": 3},
    "2009": {"l2_regularization": 20.0, "pseudo_likelihood_steps": 0, "max_leaf_nodes": 100},
}


class TreeCRF(ChainModel):
    """A conditional random field whose scores are sums of regression trees: the TreeCRF of Dietterich, Hao and
    Ashenfelter.

    In each iteration one tree a label is fitted to the functional gradient of the objective, over the columns in the
    window and the previous label.

    Parameters
    ----------
    objective : str, default "log_likelihood"
        What is minimised: "log_likelihood", "pseudo_likelihood", "pointwise" (the likelihood of each label by itself),
        "labelwise" (a smooth count of wrong labels), "expected_accuracy", "margin", "slack_margin" or
        "classification_error" (a smooth count of wrong labelings).
    n_estimators : int, default 500
        The most iterations.
    max_leaf_nodes : int, default 32
        The most leaves of a tree. Trees grow best first.
    l2_regularization : float, default 20.0
        λ: the value of a leaf is Σ(−gradient) / (rows + λ).
    learning_rate : float or "line_search", default 0.3
        What the values are multiplied with; 1 is the papers'. "line_search" finds one step for all labels in each
        iteration. Steps above 1, found steps and Newton's are halved until the loss does not rise.
    window : int, pair or mapping, default 0
        Positions around t whose columns trees may split on: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a mapping
        gives each column its own ("*" for the others).
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    edges : {"joint", "shared"}, default "joint"
        "joint" trees split on the previous label too, which costs K² scores a position. "shared" trees score
        positions, and one boosted table scores transitions: for very many labels.
    leaves : {"mean", "newton"}, default "mean"
        "newton" divides by Σp(1−p) + λ instead of rows + λ: longer steps, which rare labels among very many need.
    order : int, default 1
        How many labels before it a label may depend on. 0 scores each position by itself. From 2 on trees of joint
        edges ask for each of the last `order` labels, which is for few labels; shared edges have a weight for every run
        of up to order+1 labels that training shows. The objective is then the log-likelihood.
    start : {"zero", "constant"} or LinearCRF, default "zero"
        The scores before any tree: none, the best constant table of transitions, or those of a linear model, to which
        trees add interactions. A LinearCRF that is not fitted is fitted to the training sequences first.
    pseudo_likelihood_steps : int, default 0
        So many first iterations follow the gradient of the pseudo-likelihood. Every label must then be known.
    likelihood_steps : int or "auto", default "auto"
        So many iterations follow the likelihood before the objective takes over. "auto" is none where the objective is
        convex, and elsewhere as many as are best on held-out sequences, or half of all where there are none.
    sharpness : float, optional
        λ of the sigmoid that "labelwise" (default 15) and "classification_error" (default 1) count errors with.
    softness : float, optional
        A softmax with this inverse temperature in place of the best wrong label of "labelwise", or of the best wrong
        labeling of "classification_error".
    costs : mapping or list, optional
        What a wrong label costs, where it is not 1: {label: cost} or [(true, predicted, cost), …].
    min_samples_leaf : float, default 1
        The least rows of a leaf; with Newton's leaves the least Σp(1−p).
    max_features : float, default 1.0
        The share of the features, drawn anew, that a node may split on.
    max_bins : int, default 253
        The most bins of a numeric column.
    min_frequency : float, default 1
        Attributes, and values of columns with very many, that are rarer are not split on.
    missing : {"learned", "weighting", "surrogate", "impute", "indicator"}, default "learned"
        What is done where a value is missing. "learned" takes it for one more value: a number goes to the side that
        gains more, a category is one more category. "weighting": the row goes to both sides of a split, in shares.
        "surrogate": the columns that predict the split best tell its side. "impute" fills in the most common value, or
        the mean. "indicator" fills numbers in and adds a flag that says so; a category is one more category.
    fill_numbers : {"mean", "median"}, default "mean"
        What "impute" and "indicator" fill in for a number.
    categorical : {"subset", "one_against_rest"}, default "subset"
        Whether a split takes any set of values, or of previous labels, out of a node, or one, as in the papers. With
        joint edges and dozens of labels one is better: some set of them fits the training sequences alone.
    subsample : float, default 1.0
        The share of sequences, or of positions (`subsample_by`), that a tree is fitted to, drawn for each.
    subsample_by : {"sequences", "positions"}, default "sequences"
    trim : float, default 0.0
        Influence trimming: rows with the smallest gradients, which make up at most this share of their sum, are left
        out of the fitting of a tree.
    trees_per_step : int, default 1
        Trees a label and iteration, averaged; they differ where max_features or subsample is below 1.
    n_bags : int, default 0
        Train so many ensembles, each on a bootstrap sample of the sequences, and average them. The sequences left out
        of a sample stop its training.
    transitions : {"all", "forbid_unseen"}, default "all"
        With "forbid_unseen" transitions not seen in training are impossible.
    constraints : str or list of pairs, optional
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden.
    decoder : {"auto", "posterior", "viterbi", "beam"}, default "auto"
        "posterior" gives each position its most probable label, which is right most often; "viterbi" gives the most
        probable labeling, which hangs together and obeys the constraints. "auto" is "viterbi" where there are
        constraints or forbidden transitions, and "posterior" elsewhere.
    early_stopping : bool, default True
        Hold out `validation_fraction` of the sequences and stop when `metric` has not risen for `n_iter_no_change`
        iterations; the best iteration is kept. Sequences given to `fit` as X_val, y_val do the same.
    refit : bool, default True
        When the model itself held sequences out, train once more, on all of them, for as many iterations as were best.
        Not where training goes on from an earlier fit (`warm_start`).
    metric : str or callable, default "auto"
        A name ("log_likelihood", "accuracy", "label_f1", "span_f1", "sequence_accuracy"), or f(y_true, y_pred) where
        greater is better. "auto" is the log-likelihood where it or the pseudo-likelihood is the objective, and the
        accuracy elsewhere.
    warm_start : bool, default False
        Keep the trees of the previous fit and add to them, up to `n_estimators` iterations in all. The data must have
        the same columns and labels.
    n_jobs : int, optional
        Threads; −1 is all cores. The result is the same to the bit.
    random_state : int, RandomState or None
        Which sequences are held out, and every other draw. A RandomState cannot be saved with the model; nor can a
        function as `metric`.
    verbose : int, default 0
        1 shows a progress bar on a terminal, and log lines elsewhere (logger "hedgerow", level INFO, which Python shows
        only where logging is set up).

    Attributes
    ----------
    classes_ : array of labels, sorted
    ensemble_ : the trees
    binning_ : how columns become bins
    imputation_ : what is filled in for missing values, or None
    missing_ : the way of missing values that it was fitted with
    space_ : the legal moves
    constant_ : (K+1, K) [from, to], ⊥ last: the scores before any tree
    linear_ : the LinearCRF below the trees, or None
    edge_tables_ : (iterations, K, K) [from, to], what each iteration added to shared edges; None for joint ones. From
        order 2 on (iterations, A), the weights of the arcs of `histories_`
    n_iter_ : iterations of the last fit
    best_iteration_ : the number of iterations that are kept, likelihood_iterations_ : how many of them follow the
        likelihood before the objective
    loss_ : the loss of the training sequences with them
    history_ : list of Step(iteration, loss, seconds, score); that of one bag after the other, where there are bags, and
        of the training that was stopped, where there was another on all sequences
    outcome_ : why training ended: "n_estimators", "early_stopping" or "interrupted"
    refitted_ : whether the trees are those of a last training on all sequences (`refit`)

    Examples
    --------
    >>> from hedgerow import TreeCRF
    >>> model = TreeCRF(window=1, early_stopping=False, n_estimators=20, l2_regularization=1.0)
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    imputation_: Imputation | None
    best_iteration_: int
    likelihood_iterations_: int
    outcome_: str
    refitted_: bool

    def __init__(
        self,
        *,
        objective: str = "log_likelihood",
        n_estimators: int = 500,
        max_leaf_nodes: int = 32,
        l2_regularization: float = 20.0,
        learning_rate: float | str = 0.3,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        edges: str = "joint",
        order: int = 1,
        leaves: str = "mean",
        start: str | LinearCRF = "zero",
        pseudo_likelihood_steps: int = 0,
        likelihood_steps: int | str = "auto",
        sharpness: float | None = None,
        softness: float | None = None,
        costs: Mapping[Label, float] | Iterable[tuple[Label, Label, float]] | None = None,
        min_samples_leaf: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = MAX_VALUES,
        min_frequency: float = 1.0,
        missing: str = "learned",
        fill_numbers: str = "mean",
        categorical: str = "subset",
        subsample: float = 1.0,
        subsample_by: str = "sequences",
        trim: float = 0.0,
        trees_per_step: int = 1,
        n_bags: int = 0,
        transitions: str = "all",
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "auto",
        beam_width: int = 20,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        refit: bool = True,
        metric: str | Callable[[Any, Any], float] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.objective = objective
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.l2_regularization = l2_regularization
        self.learning_rate = learning_rate
        self.window = window
        self.columns = columns
        self.edges = edges
        self.order = order
        self.leaves = leaves
        self.start = start
        self.pseudo_likelihood_steps = pseudo_likelihood_steps
        self.likelihood_steps = likelihood_steps
        self.sharpness = sharpness
        self.softness = softness
        self.costs = costs
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.min_frequency = min_frequency
        self.missing = missing
        self.fill_numbers = fill_numbers
        self.categorical = categorical
        self.subsample = subsample
        self.subsample_by = subsample_by
        self.trim = trim
        self.trees_per_step = trees_per_step
        self.n_bags = n_bags
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

    @classmethod
    def paper(cls, version: str, **parameters: Any) -> TreeCRF:
        """The algorithm as a paper prints it, with step 1 and without early stopping.

        "2004" (Dietterich, Ashenfelter and Bulatov): three steps by the pseudo-likelihood and no λ; `max_leaf_nodes` is
        for you to tune. "2009" (Hao's thesis): λ, which is `l2_regularization`, and at most 100 leaves. Other
        parameters may be given, and those named here may be changed.
        """
        if version not in PAPERS:
            raise InputError(f"there is no paper {version!r}", hint=f"Known: {', '.join(map(repr, PAPERS))}.")
        defaults: dict[str, Any] = {
            "learning_rate": 1.0,
            "categorical": "one_against_rest",
            "early_stopping": False,
            "n_estimators": 100,
        }
        return cls(**defaults | PAPERS[version] | parameters)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        lengths: Any = None,
    ) -> TreeCRF:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens; 2-D arrays; data frames), a generator of them, `Sequences`,
            or flat arrays with `lengths`; or a Dataset that `hedgerow.data.encoding.learn` made, which saves encoding
            a corpus twice and brings its own labels, weights, window and columns
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible
        sample_weight : (S,) weights of the sequences, which count as so many rows, or a list of arrays of 0
            (unlabelled) and 1
        X_val, y_val : held-out sequences; training stops when `metric` on them no longer rises. X_val may be a
            Dataset with labels, encoded by the schema of the training Dataset; y_val is then left out
        lengths : the lengths of the sequences, where X and y are flat
        """
        self._check_parameters()
        X, y = cut_flat(X, y, lengths)
        everything = _listed(X), _listed(y), _listed(sample_weight)
        warm = self._goes_on()
        again = self.refit and self._holds_out() and X_val is None and not warm
        self._fit_once(*hold_out(self, *everything, X_val, y_val), warm=warm)
        if again and self.outcome_ != "interrupted" and self.best_iteration_ > 0:
            self._fit_again(*everything)
        return self

    def _fit_once(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
        *,
        warm: bool = False,
        n: tuple[int, int] | None = None,
    ) -> None:
        """Encode, train, store; `n` iterations, of which so many for the likelihood, or at most n_estimators."""
        linear = self.linear_ if warm else linear_below(self.start, X, y, sample_weight)
        dataset = pair(linear, training_dataset(self, X, y, sample_weight, self.schema_ if warm else None), X)
        held_out = encode_held_out(dataset.schema, X_val, y_val)
        if held_out is not None:
            held_out = pair(linear, held_out, X_val)
        start = find_start(self, dataset, linear, self._start() if warm else None)
        imputation = self.imputation_ if warm else learn_missing(self, dataset)
        seen = fill(imputation, dataset)
        if held_out is not None:
            held_out = fill(imputation, without_unseen(without_forbidden(held_out, start.space), start.histories))
        binning = self.binning_ if warm else self._learn_binning(seen)
        training = Training(self, binning, start, dataset.schema.labels)
        if self.n_bags:
            trained = training.train_bags(seen, held_out)
        else:
            kept = self._iterations() if warm else []
            trained = training.train(seen, held_out, kept, self.history_[: len(kept)] if warm else None, *n or ())
        self.imputation_, self.missing_ = imputation, self.missing
        self._store(dataset, linear, binning, start, trained)

    def _learn_binning(self, dataset: Dataset) -> Binning:
        gaps = self.missing in (WEIGHTING, SURROGATE)
        return learn_binning(dataset, int(self.max_bins), self.min_frequency, keep_missing=gaps)

    def _fit_again(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Train on all sequences for as many iterations as were best; what stopped the first training is kept."""
        stopped = dict(self.__dict__)
        if self.verbose:
            log.info("training again on all sequences, for %d iterations", self.best_iteration_)
        self._fit_once(X, y, sample_weight, None, None, n=(self.best_iteration_, self.likelihood_iterations_))
        if self.outcome_ == "interrupted":  # the first model is whole, this one is not
            self.__dict__.update(stopped | {"outcome_": "interrupted"})
        else:
            self.history_, self.n_iter_, self.outcome_ = (stopped[name] for name in ("history_", "n_iter_", "outcome_"))
            self.refitted_ = True

    def _check_parameters(self) -> None:
        check_common(self)
        check_tree_parameters(self)
        check_tree_objective(self)
        check_tree_order(self)
        check_missing(self, OF_TREES)
        if not isinstance(self.start, LinearCRF):
            check_choice("start", self.start, ("zero", "constant"))

    def _decoder_name(self) -> str:
        if self.decoder != "auto":
            return self.decoder
        free = self.constraints is None and self.transitions == "all"
        return "posterior" if free else "viterbi"

    def _metric(self) -> Any:
        if self.metric != "auto":
            return self.metric
        return LOG_LIKELIHOOD if self.objective in ("log_likelihood", "pseudo_likelihood") else "accuracy"

    def _holds_out(self) -> bool:
        return self.early_stopping and not self.n_bags

    def _goes_on(self) -> bool:
        """Whether this fit adds to the trees of the previous one."""
        if not self.warm_start or not hasattr(self, "ensemble_"):
            return False
        check_goes_on(self)
        return True

    def _store(
        self, dataset: Dataset, linear: LinearCRF | None, binning: Binning, start: Start, trained: Trained
    ) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        self.linear_ = linear
        self.binning_ = binning
        self.space_ = start.space
        self.constant_ = start.constant
        self.order_, self.histories_ = start.order, start.histories
        trees = [tree for one in trained.iterations for tree in one.trees]
        self.ensemble_ = Ensemble.of(dataset.n_labels, trees, int(self.trees_per_step))
        tables = [one.table for one in trained.iterations if one.table is not None]
        shape = table_shape(dataset.n_labels, start)
        self.edge_tables_ = None if joint_edges(self) else np.array(tables).reshape(len(tables), *shape)
        self.metadata_ = {}
        self.history_ = trained.history
        self.n_iter_ = trained.n_iter
        self.best_iteration_ = len(trained.iterations)
        self.likelihood_iterations_ = trained.n_likelihood
        self.loss_ = trained.loss
        self.refitted_ = False
        self.outcome_ = "n_estimators" if trained.outcome == "max_iter" else trained.outcome
        if trained.outcome == "interrupted":
            what = f"training was interrupted after {trained.n_iter} iterations; the best of them are kept"
            warnings.warn(what, ConvergenceWarning, stacklevel=4)

    def encode(self, X: Any, y: Any = None, *, lengths: Any = None) -> Dataset:
        """Encode a corpus once, to predict on it several times."""
        X, y = cut_flat(X, y, lengths)
        X = _listed(X)
        return pair(getattr(self, "linear_", None), super().encode(X, y), X)

    def staged_score(
        self, X: Any, y: Any, metric: str | Callable[[Any, Any], float] | None = None, *, lengths: Any = None
    ) -> Iterator[float]:
        """The score after each iteration: by `metric`, the estimator's own where it is None.

        Where there are bags, their parts of the average are added one after the other.
        """
        dataset = self._dataset(X, y, lengths)
        dataset = fill(self.imputation_, dataset)
        if metric is not None:
            check_metric(metric)
        iterations = self._iterations()
        training = Training(self, self.binning_, self._start(), self.schema_.labels)
        with Lanes(self.n_jobs, MAX_LANES) as lanes:
            stages = training.stages(dataset, iterations, lanes, metric, joint=self.edge_tables_ is None)
            for i in range(len(iterations)):
                yield stages.score(i + 1)

    def _iterations(self) -> list[Iteration]:
        """What each iteration added."""
        trees, tables = self.ensemble_.trees(), self.edge_tables_
        size = len(self.classes_) * self.ensemble_.trees_per_step
        return [
            Iteration(trees[i * size : (i + 1) * size], None if tables is None else tables[i])
            for i in range(self.ensemble_.n_iterations)
        ]

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        X, known = cut_flat(X, known, lengths)
        X = _listed(X)
        return pair(getattr(self, "linear_", None), super()._dataset(X, known, None), X)

    def _prepare(self) -> None:
        if self.__dict__.get("_ready", (None,))[0] is not self.ensemble_:
            table = None if self.edge_tables_ is None else self.edge_tables_.sum(axis=0)
            start = self._start()
            self._ready = (self.ensemble_, self.ensemble_.trees(), table, start)

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        self._prepare()
        _, trees, table, start = self._ready
        part = fill(self.imputation_, dataset.take(np.arange(first, last)))
        data = bin_dataset(self.binning_, part, postings=False)
        if table is None:
            histories = start.history_table
            check_joint_memory(part.n_positions, part.n_labels, None if histories is None else histories.n_histories)
        scores = start.scores(part, 0, last - first, joint=table is None)
        scores.first_sequence = first
        scores.add(start.seen_by_trees(data, joint=table is None), trees)
        if table is not None:
            scores.add_table(table)
        return scores.potentials()

    def _start(self) -> Start:
        """F₀, as it was fitted."""
        return make_start(self.space_, self.constant_, self.linear_, self.order_, self.histories_)

    def _chunk_positions(self) -> int:
        table = self._start().history_table if self.edge_tables_ is None else None
        n_before = len(self.classes_) if table is None else table.n_histories
        return chunk_positions(len(self.classes_), joint=self.edge_tables_ is None, n_before=n_before)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_ready", None)
        return state


def _listed(X: Any) -> Any:
    """X, where it can be read twice."""
    return X if hasattr(X, "__len__") or not hasattr(X, "__next__") else list(X)
