"""LinearCRF: a linear-chain conditional random field trained by penalised maximum likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray
from hedgerow.models.base import ChainModel
from hedgerow.models.constraints import legal_space
from hedgerow.models.corpus import cut_flat, training_dataset
from hedgerow.models.layout import Statistics, carry_over, lay_out, named_weights
from hedgerow.models.parameters import check_choice, check_common, check_number
from hedgerow.models.validation import Validation, encode_held_out, hold_out
from hedgerow.objectives.log_likelihood import log_likelihood
from hedgerow.parallel import Lanes, count_lanes, plan_chunks
from hedgerow.potentials import ChainPotentials
from hedgerow.scorers.chain import ChainLayout, LinearChain
from hedgerow.scorers.linear import check_numbers
from hedgerow.trainers.evaluation import Evaluation
from hedgerow.trainers.lbfgs import curvature_scale, lbfgs
from hedgerow.trainers.monitor import Monitor


class LinearCRF(ChainModel):
    """A conditional random field with linear scores: what CRFsuite, CRF++ and Wapiti train.

    Parameters
    ----------
    window : int, pair or mapping, default 0
        Positions around t whose features score the label at t: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a
        mapping gives each column its own ("*" for the others).
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    l2, l1 : float, default 1.0 and 0.0
        The penalty l2·‖w‖² + l1·‖w‖₁ (CRFsuite's c2 and c1).
    max_iter : int, default 500
    tol : float, default 1e-5
        Training ends when the loss fell by less than this share in ten iterations, or is known to be nearer than
        this share to its minimum.
    min_frequency : float, default 0
        Features seen less often with a label get no weight for it, nor do transitions seen less often, where
        `transitions` is "observed". A number other than 0 counts as seen once, whatever its size; 0 is not seen.
    pairs : {"observed", "all"}, default "observed"
        Weights for the (feature, label) pairs seen in training, or for every label of every feature seen.
    transitions : {"all", "observed", "forbid_unseen"}, default "all"
        Transitions that have a weight; with "forbid_unseen" those not seen in training are impossible. Neighbours
        with label sets show every transition that the sets allow; an unlabelled position (None) shows none, and
        "forbid_unseen" is an error where it cannot be filled by the transitions seen elsewhere.
    transition_columns : list of column names, optional
        Columns whose values also score pairs of labels ("*" for the attributes). Costs K² scores a position.
    constraints : str or list of pairs, optional
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden.
    decoder : {"viterbi", "posterior"}, default "viterbi"
    early_stopping : bool, default False
        Hold out `validation_fraction` of the sequences and stop when `metric` has not risen for `n_iter_no_change`
        iterations; the best iteration is kept. Sequences given to `fit` as X_val, y_val do the same. With
        `warm_start` the starting weights are scored too, and may be the best.
    metric : str or callable, default "accuracy"
        A name ("accuracy", "label_f1", "span_f1", "sequence_accuracy", "log_likelihood"), or f(y_true, y_pred) where
        greater is better. The function gets None in y_true where a position is unlabelled or has a set.
    warm_start : bool, default False
        Start from the weights of the previous fit; features are matched by name.
    n_jobs : int, optional
        Threads; −1 is all cores. The result is the same to the bit.
    random_state : int, RandomState or None
        Which sequences are held out. A RandomState cannot be saved with the model; nor can a function as `metric`.
    verbose : int, default 0
        1 shows a progress bar on a terminal, and log lines (logger "hedgerow") elsewhere.

    Attributes
    ----------
    classes_ : array of labels, sorted
    n_iter_ : iterations of the last fit
    loss_ : the penalised loss at the weights kept
    history_ : list of Step(iteration, loss, seconds, score)
    best_iteration_ : the iteration whose weights were kept; after a warm start that nothing beat, the number of
        iterations before this fit
    outcome_ : why training ended: "converged", "max_iter", "early_stopping" or "interrupted"
    weights_ : all weights in one vector, read-only; to change weights, assign a new vector
    transition_weights_ : (K, K), [from, to]

    Examples
    --------
    >>> from hedgerow import LinearCRF
    >>> model = LinearCRF(window=1).fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        l2: float = 1.0,
        l1: float = 0.0,
        max_iter: int = 500,
        tol: float = 1e-5,
        min_frequency: float = 0.0,
        pairs: str = "observed",
        transitions: str = "all",
        transition_columns: Iterable[str] | None = None,
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "viterbi",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        metric: str | Callable[[Any, Any], float] = "accuracy",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.window = window
        self.columns = columns
        self.l2 = l2
        self.l1 = l1
        self.max_iter = max_iter
        self.tol = tol
        self.min_frequency = min_frequency
        self.pairs = pairs
        self.transitions = transitions
        self.transition_columns = transition_columns
        self.constraints = constraints
        self.decoder = decoder
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.metric = metric
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        lengths: Any = None,
    ) -> LinearCRF:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens, of attribute lists; 2-D arrays; data frames), a generator of
            them, `Sequences`, or flat arrays with `lengths`; or a Dataset that `hedgerow.data.encoding.learn` made,
            which saves encoding a corpus twice and brings its own labels, weights, window and columns
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible
        sample_weight : (S,) weights of the sequences, or a list of arrays of 0 (unlabelled) and 1
        X_val, y_val : held-out sequences; training stops when `metric` on them no longer rises. X_val may be a
            Dataset with labels, encoded by the schema of the training Dataset; y_val is then left out
        lengths : the lengths of the sequences, where X and y are flat
        """
        self._check_parameters()
        X, y = cut_flat(X, y, lengths)
        X, y, sample_weight, X_val, y_val = hold_out(self, X, y, sample_weight, X_val, y_val)
        dataset = training_dataset(self, X, y, sample_weight)
        check_numbers(dataset, dataset.schema)
        held_out = encode_held_out(dataset.schema, X_val, y_val)
        if held_out is not None:
            check_numbers(held_out, dataset.schema)
        space = legal_space(dataset, self.constraints, forbid_unseen=self.transitions == "forbid_unseen")
        layout, statistics = lay_out(
            dataset,
            space,
            transitions=self.transitions,
            pairs=self.pairs,
            min_frequency=self.min_frequency,
            transition_columns=self.transition_columns,
        )
        self._train(dataset, held_out, layout, statistics)
        return self

    def _check_parameters(self) -> None:
        check_number("l1", self.l1, low=0.0)
        check_number("l2", self.l2, low=0.0)
        check_number("tol", self.tol, low=0.0)
        check_number("min_frequency", self.min_frequency, low=0.0)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_choice("pairs", self.pairs, ("observed", "all"))
        check_choice("transitions", self.transitions, ("all", "observed", "forbid_unseen"))
        check_common(self)

    def _train(self, dataset: Dataset, held_out: Dataset | None, layout: ChainLayout, statistics: Statistics) -> None:
        warm = self.warm_start and hasattr(self, "weights_")
        start: FloatArray = np.zeros(layout.n_weights)
        if warm:
            start = carry_over(self.schema_, self.layout_, self.weights_, dataset.schema, layout)
        l1, l2 = float(self.l1), float(self.l2)  # a float32 would round the loss
        scale = curvature_scale(statistics.frequency, statistics.square, layout.n_labels, l2)
        n_chunks = len(plan_chunks(dataset.offsets)) - 1
        validation = None if held_out is None else Validation(self, layout, held_out)
        if validation is not None:
            validation(start)  # a metric that cannot score y_val is found before any training
        with (
            Lanes(self.n_jobs, count_lanes(layout.n_weights, n_chunks)) as lanes,
            Monitor(
                max_iter=self.max_iter,
                tol=self.tol,
                validate=validation,
                n_iter_no_change=self.n_iter_no_change,
                verbose=self.verbose,
                previous=self.history_ if warm else None,
            ) as monitor,
        ):
            evaluation = Evaluation(LinearChain(layout), dataset, log_likelihood, lanes)
            weights = lbfgs(evaluation, start, monitor, l1=l1, l2=l2, scale=scale)
        self._store(dataset, layout, weights, monitor)

    def _store(self, dataset: Dataset, layout: ChainLayout, weights: FloatArray, monitor: Monitor) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        self.layout_ = layout
        self.weights_ = weights
        self.weights_.flags.writeable = False  # potentials are kept between calls: a write would reach only a part
        self.metadata_ = {}
        self.history_ = monitor.history
        self.n_iter_ = monitor.n_iter
        self.best_iteration_ = monitor.kept.iteration
        self.loss_ = monitor.kept.loss
        self.outcome_ = monitor.outcome
        if monitor.outcome in ("max_iter", "interrupted"):
            what = (
                f"training stopped after max_iter={self.max_iter} iterations before it converged; raise max_iter or tol"
                if monitor.outcome == "max_iter"
                else f"training was interrupted after {monitor.n_iter} iterations; the best weights so far are kept"
            )
            warnings.warn(what, ConvergenceWarning, stacklevel=4)

    def _prepare(self) -> None:
        if self.__dict__.get("_chain", (None,))[0] is not self.weights_:
            chain = LinearChain(self.layout_)
            chain.load(self.weights_)
            self._chain = (self.weights_, chain)

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        self._prepare()
        chain = self._chain[1]
        return chain.potentials(chain.compile(dataset, first, last))

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        check_numbers(dataset, self.schema_)
        return dataset

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_chain", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "weights_" in state:
            self.weights_.flags.writeable = False  # a copy or a pickle of an array can be written to

    @property
    def transition_weights_(self) -> FloatArray:
        """(K, K), [from, to]: 0 where a transition has no weight, −inf where it is forbidden."""
        return self.layout_.edge_table(self.layout_.split(self.weights_)[1])

    def feature_weights(self, label: Label | None = None) -> list[tuple[str, Label, float]]:
        """(feature, label, weight), the largest weights first; of one label where it is given."""
        check_is_fitted(self)
        if label is not None and label not in self.schema_.labels:
            known = ", ".join(map(repr, self.schema_.labels[:10])) + (", …" if len(self.schema_.labels) > 10 else "")
            raise InputError(f"the label {label!r} is not one of those seen in training", hint=f"Known: {known}.")
        found = named_weights(self.schema_, self.layout_, self.weights_)
        return [entry for entry in found if label is None or entry[1] == label]
