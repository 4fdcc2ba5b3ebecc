"""LinearCRF: a linear-chain conditional random field, for any objective and by any trainer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.objectives import LABELWISE
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.data.imputation import Imputation, seen_schema
from hedgerow.errors import InputError
from hedgerow.estimators.base import ChainModel
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.histories import arc_names, observed_histories
from hedgerow.estimators.missing import OF_LINEAR, check_missing, fill, learn_missing, seen_part
from hedgerow.estimators.parameters import check_common, check_linear_parameters
from hedgerow.estimators.validation import Validation, encode_held_out, hold_out
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout, LinearChain
from hedgerow.linear.scorer import check_numbers
from hedgerow.models.crf.linear_layout import carry_over, lay_out, named_weights, weights_of
from hedgerow.models.crf.linear_training import LinearTraining, Plan, Trained
from hedgerow.models.crf.partial_fit import partial_fit


class LinearCRF(ChainModel):
    """A conditional random field with linear scores: what CRFsuite, CRF++ and Wapiti train.

    Parameters
    ----------
    window : int, pair or mapping, default 0
        Positions around t whose features score the label at t: 2 means t−2 … t+2, (1, 0) means t−1 and t, and a
        mapping gives each column its own ("*" for the others).
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    order : int, default 1
        How many labels before it a label may depend on. 0 scores each position by itself. From 2 on every run of up to
        order+1 labels that training shows has a weight, and one that it does not show is scored by the shorter runs
        inside it; the objective is then the log-likelihood, and the trainer one on the whole corpus.
    objective : str, default "auto"
        What is minimised: "log_likelihood", "pseudo_likelihood", "pointwise" (the likelihood of each label by itself),
        "labelwise" (a smooth count of wrong labels), "expected_accuracy", "margin", "slack_margin",
        "classification_error" (a smooth count of wrong labelings), "perceptron". "auto" is the log-likelihood, or what
        the trainer is for.
    trainer : str, default "auto"
        How: "lbfgs", "conjugate_gradient", "gradient_descent" on the whole corpus; "sgd", "annealed_sgd", "adagrad",
        "adam", "smd" (stochastic meta-descent) on a few sequences at a time; "averaged_perceptron"; "frank_wolfe" for
        the margin, which knows how far from the minimum it is. "auto" is "lbfgs" where the objective is smooth,
        "averaged_perceptron" for "perceptron", and for the margins "adagrad", or "frank_wolfe" where every label is
        known, l2 is above 0 and training begins at zero. L-BFGS takes objectives with kinks too, but may stop at one.
    l2, l1 : float, default 1.0 and 0.0
        The penalty l2·‖w‖² + l1·‖w‖₁ (CRFsuite's c2 and c1). L1 is for "lbfgs", and "averaged_perceptron" has no
        penalty at all. Objectives that count errors have smaller losses than the likelihood, and want a smaller one.
    max_iter : int, optional
        The most iterations of a stage, by default 500; of an online trainer the most passes, by default 50, and 200 of
        "frank_wolfe".
    tol : float, default 1e-5
        Training ends when the loss fell by less than this share in ten iterations, or is known to be nearer than
        this share to its minimum; of "frank_wolfe", whose bound is a loose one, a thousand times this share.
    batch_size : int, optional
        Sequences that an online trainer looks at before each step: by default 8, and 1 for "averaged_perceptron".
    gain : float or "auto", default "auto"
        The first step size of an online trainer; "auto" finds it on a few sequences.
    schedule : str, default "auto"
        Of "annealed_sgd": "averaged", or "inverse", the classic η₀/(1 + r·t). Of "smd": "averaged" (over the last
        pass), "plain", as published, or "annealed". "auto" is "averaged".
    meta_gain, gain_decay : float, default 0.1 and 1.0
        μ and λ of "smd".
    lazy : bool, default True
        Whether a step of "smd" moves only the weights that its batch touches, which is an approximation; without it a
        step costs as much as there are weights.
    sharpness : float or list of float, optional
        λ of the sigmoid that "labelwise" (default 5, then 15) and "classification_error" (default 1) count errors with;
        a list is a stage each, which begins with the weights of the one before.
    softness : float, optional
        A softmax with this inverse temperature in place of the best wrong label of "labelwise", or of the best wrong
        labeling of "classification_error".
    costs : mapping or list, optional
        What a wrong label costs, where it is not 1: {label: cost} or [(true, predicted, cost), …].
    start : {"auto", "zero", "log_likelihood", "counts"}, default "auto"
        Where weights start: at 0, at the solution for the log-likelihood (the default of objectives that are not
        convex), or at the counted weights of a hidden Markov model.
    min_frequency : float, default 0
        Features seen less often with a label get no weight for it, nor do transitions seen less often, where
        `transitions` is "observed"; from order 2 on these are runs of labels. A number other than 0 counts as seen
        once, whatever its size; 0 is not seen.
    missing : {"impute", "indicator"}, optional
        What is done where a value is missing. "impute" fills in the most common value, or the mean. "indicator" fills
        numbers in, and gives every column a column of flags that says where it is missing. By default numbers must be
        there, and a category that is missing adds nothing.
    fill_numbers : {"mean", "median"}, default "mean"
        What is filled in for a number.
    pairs : {"observed", "all"}, default "observed"
        Weights for the (feature, label) pairs seen in training, or for every label of every feature seen.
    transitions : {"all", "observed", "forbid_unseen"}, default "all"
        Transitions that have a weight; with "forbid_unseen" those not seen in training are impossible, and from order 2
        on every label that training does not show after the last `order` labels. Neighbours
        with label sets show every transition that the sets allow; an unlabelled position (None) shows none, and
        "forbid_unseen" is an error where it cannot be filled by the transitions seen elsewhere.
    transition_columns : list of column names, optional
        Columns whose values also score pairs of labels ("*" for the attributes). Costs K² scores a position.
    constraints : str or list of pairs, optional
        "iob1", "iob2" (or "bio"), "bioes": the legal order of such labels. Or (from, to) pairs of labels that are
        forbidden.
    decoder : {"auto", "viterbi", "posterior", "beam"}, default "auto"
        "posterior" gives each position its most probable label, "viterbi" the most probable labeling, and "beam" that
        which a search finds that keeps `beam_width` labels, or histories, at each position. "auto" is
        "posterior" for the objectives that count labels, "pointwise", "labelwise" and "expected_accuracy", where there
        are neither constraints nor forbidden transitions.
    beam_width : int, default 20
        What decoder "beam" keeps.
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
        Which sequences are held out, and in which order an online trainer sees them. A RandomState cannot be saved with
        the model; nor can a function as `metric`.
    verbose : int, default 0
        1 shows a progress bar on a terminal, and log lines (logger "hedgerow") elsewhere.

    Attributes
    ----------
    classes_ : array of labels, sorted
    n_iter_ : iterations of the last fit
    loss_ : the penalised loss at the weights kept; after `partial_fit` that of the last call on its way, taken for all
        sequences so far
    n_sequences_ : the sequences that it has learnt from, those of all calls of `partial_fit` included
    history_ : list of Step(iteration, loss, seconds, score, stage); `stage` names what was minimised, where training
        has several stages
    best_iteration_ : the iteration whose weights were kept; after a warm start that nothing beat, the number of
        iterations before this fit
    outcome_ : why training ended: "converged", "max_iter", "early_stopping", "interrupted" or "partial_fit"; "diverged"
        where an online trainer ended with a larger loss than it began with, "stuck" where none of the first steps of
        another made it smaller
    weights_ : all weights in one vector, read-only; to change weights, assign a new vector
    transition_weights_ : (K, K), [from, to]; from order 2 on there is `history_weights()` instead
    imputation_ : what is filled in for missing values, or None

    Examples
    --------
    >>> from hedgerow import LinearCRF
    >>> model = LinearCRF(window=1).fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    imputation_: Imputation | None

    def __init__(
        self,
        *,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        order: int = 1,
        objective: str = "auto",
        trainer: str = "auto",
        l2: float = 1.0,
        l1: float = 0.0,
        max_iter: int | None = None,
        tol: float = 1e-5,
        batch_size: int | None = None,
        gain: float | str = "auto",
        schedule: str = "auto",
        meta_gain: float = 0.1,
        gain_decay: float = 1.0,
        lazy: bool = True,
        sharpness: float | Iterable[float] | None = None,
        softness: float | None = None,
        costs: Mapping[Label, float] | Iterable[tuple[Label, Label, float]] | None = None,
        start: str = "auto",
        min_frequency: float = 0.0,
        missing: str | None = None,
        fill_numbers: str = "mean",
        pairs: str = "observed",
        transitions: str = "all",
        transition_columns: Iterable[str] | None = None,
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "auto",
        beam_width: int = 20,
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
        self.order = order
        self.objective = objective
        self.trainer = trainer
        self.l2 = l2
        self.l1 = l1
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.gain = gain
        self.schedule = schedule
        self.meta_gain = meta_gain
        self.gain_decay = gain_decay
        self.lazy = lazy
        self.sharpness = sharpness
        self.softness = softness
        self.costs = costs
        self.start = start
        self.min_frequency = min_frequency
        self.missing = missing
        self.fill_numbers = fill_numbers
        self.pairs = pairs
        self.transitions = transitions
        self.transition_columns = transition_columns
        self.constraints = constraints
        self.decoder = decoder
        self.beam_width = beam_width
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
        given = training_dataset(self, X, y, sample_weight)
        imputation = learn_missing(self, given, trees=False)
        dataset = fill(imputation, given)
        check_numbers(dataset, dataset.schema)
        held_out = encode_held_out(given.schema, X_val, y_val)
        if held_out is not None:
            held_out = fill(imputation, held_out)
            check_numbers(held_out, dataset.schema)
        longer = self.order > 1
        space = legal_space(dataset, self.constraints, forbid_unseen=self.transitions == "forbid_unseen" and not longer)
        seen: dict[str, Any] = {"transitions": self.transitions, "min_frequency": self.min_frequency}
        histories = observed_histories(dataset, space, int(self.order), **seen) if longer else None
        layout, statistics = lay_out(
            dataset,
            space,
            **seen,
            pairs=self.pairs,
            transition_columns=self.transition_columns,
            order=int(self.order),
            histories=histories,
        )
        warm = None
        if self.warm_start and hasattr(self, "weights_"):
            warm = carry_over(seen_schema(self), self.layout_, self.weights_, dataset.schema, layout)
        validation = None if held_out is None else Validation(self, layout, held_out)
        if validation is not None:  # a metric that cannot score y_val is found before any training
            validation(np.zeros(layout.n_weights) if warm is None else warm)
        plan = Plan.of(self, dataset, warm=warm is not None)
        training = LinearTraining(self, plan, dataset, layout, statistics, validation)
        trained = training.train(warm, None if warm is None else self.history_)
        self.imputation_ = imputation
        self._store(given, layout, trained)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> LinearCRF:
        """Learn from some more sequences: one pass of an online trainer over them.

        Values, attributes and labels that are new are added to the model; old weights stay. The sequences of all calls
        count as one corpus for the penalty. `trainer="auto"` is "adagrad" here. What needs all data at once is refused:
        `l1`, `min_frequency`, `early_stopping`, `missing` and the trainers of the whole corpus.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`, without a Dataset
        classes : labels that may come later, optional
        """
        if self.order != 1:
            raise InputError(f"partial_fit is for order 1, not {self.order}", hint="Use fit.")
        partial_fit(self, X, y, sample_weight, classes)
        return self

    def _check_parameters(self) -> Plan:
        check_linear_parameters(self)
        check_missing(self, OF_LINEAR)
        plan = Plan.of(self)
        check_common(self)
        return plan

    def _store(self, dataset: Dataset, layout: ChainLayout, trained: Trained) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        self.layout_ = layout
        self.weights_ = trained.weights
        self.weights_.flags.writeable = False  # potentials are kept between calls: a write would reach only a part
        self.metadata_ = {}
        self.history_ = trained.history
        self.n_iter_ = trained.n_iter
        self.best_iteration_ = trained.best.iteration
        self.loss_ = trained.best.loss
        self.n_sequences_ = dataset.n_sequences
        self.outcome_ = trained.outcome
        if what := trained.complaint(self.max_iter):
            warnings.warn(what, ConvergenceWarning, stacklevel=3)

    def _decoder_name(self) -> str:
        if self.decoder != "auto":
            return self.decoder
        free = self.constraints is None and self.transitions != "forbid_unseen"
        return "posterior" if free and Plan.of(self).objective in LABELWISE else "viterbi"

    def _prepare(self) -> None:
        if self.__dict__.get("_chain", (None,))[0] is not self.weights_:
            chain = LinearChain(self.layout_)
            chain.load(self.weights_)
            self._chain = (self.weights_, chain)

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        self._prepare()
        chain = self._chain[1]
        chunk = chain.compile(*seen_part(self, dataset, first, last))
        return chain.potentials(replace(chunk, first_sequence=first))

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if getattr(self, "imputation_", None) is None:
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
        if self.layout_.histories is not None:
            raise AttributeError(f"a chain of order {self.order} has history_weights(), not transition_weights_")
        return self.layout_.edge_table(self.layout_.split(self.weights_)[1])

    def history_weights(self) -> list[tuple[tuple[Label | None, ...], Label, float]]:
        """(labels before, label, weight) of every run of labels, the largest weights first; None is before the first
        label. A label after a history scores the sum of the weights of all runs that end there. From order 2 on."""
        check_is_fitted(self)
        if self.layout_.histories is None:
            raise InputError(f"order {self.order} has no histories", hint="See transition_weights_.")
        weights = self.layout_.split(self.weights_)[1]
        names = arc_names(self.schema_, self.layout_.histories)
        return [(*names[a], float(weights[a])) for a in np.argsort(-weights, kind="stable")]

    def feature_weights(self, label: Label | None = None) -> list[tuple[str, Label, float]]:
        """(feature, label, weight), the largest weights first; of one label where it is given."""
        check_is_fitted(self)
        return weights_of(label, self.schema_, named_weights(seen_schema(self), self.layout_, self.weights_))
