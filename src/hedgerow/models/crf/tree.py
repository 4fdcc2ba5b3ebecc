"""TreeCRF: a chain conditional random field whose scores are sums of regression trees, grown by gradient boosting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import Imputation
from hedgerow.declarations import check_parameters, documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.base import ChainModel
from hedgerow.estimators.constraints import without_forbidden
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.histories import without_unseen
from hedgerow.estimators.missing import OF_TREES, check_missing, fill, learn_missing
from hedgerow.estimators.parameters import LOG_LIKELIHOOD, check_metric
from hedgerow.estimators.validation import encode_held_out, hold_out
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.paired import pair
from hedgerow.models.crf.parameters import TreeParameters, check_tree_parameters
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
from hedgerow.trees.binning import Binning, bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.missing import SURROGATE, WEIGHTING

log = logging.getLogger("hedgerow")

PAPERS: dict[str, dict[str, Any]] = {
    "2004": {"l2_regularization": 0.0, "pseudo_likelihood_steps": 3},
    "2009": {"l2_regularization": 20.0, "pseudo_likelihood_steps": 0, "max_leaf_nodes": 100},
}


@documented
class TreeCRF(TreeParameters, ChainModel):
    """A conditional random field whose scores are sums of regression trees: the TreeCRF of Dietterich, Hao and
    Ashenfelter.

    In each iteration one tree a label is fitted to the functional gradient of the objective, over the columns in the
    window and the previous label.

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
        check_parameters(self)
        check_tree_parameters(self)
        check_missing(self, OF_TREES)

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
            warn(what, ConvergenceWarning, stacklevel=4)

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
