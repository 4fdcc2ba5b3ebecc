"""BeamSearchTagger: learning as search optimisation, with features of everything that was labelled so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label, Schema
from hedgerow.data.imputation import seen_schema
from hedgerow.declarations import check_choice, check_parameters, documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.base import ChainModel, allowed_labels
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.missing import OF_LINEAR, check_missing, fill, learn_missing
from hedgerow.estimators.refit import fit_again, listed
from hedgerow.estimators.validation import encode_held_out, hold_out
from hedgerow.legend import CODE, AnyArray, BoolArray, CodeArray, FloatArray
from hedgerow.linear.scorer import check_numbers
from hedgerow.models.crf.linear_layout import weights_of
from hedgerow.models.search.features import Searcher, SearchLayout, lay_out_search, open_labels, row_weights
from hedgerow.models.search.parameters import SearchParameters
from hedgerow.models.search.ranked import NotThere
from hedgerow.models.search.ranking import RankingTrees, TableSearch, train_ranking
from hedgerow.models.search.training import (
    Trained,
    find_future_features,
    thermometer_schema,
    train,
    with_thermometers,
)
from hedgerow.parallel import MAX_LANES, Lanes, plan_chunks

_CHUNK_POSITIONS = 5_000
MAX_PASSES = {"perceptron": 50, "trees": 300}


@documented
class BeamSearchTagger(SearchParameters, ChainModel):
    """A tagger that learns to search: labels are given one after the other, and a beam keeps the best labelings so far.

    Nothing is summed over labelings, so a label may depend on all labels before it. Where the search goes wrong in
    training, the weights move: towards the truth, and away from what was better in the beam. So they are fitted to the
    beam that prediction uses. It gives labels, and no probabilities.

    Attributes
    ----------
    classes_ : array of labels, sorted
    weights_ : averaged weights, in the order of `layout_`; of "perceptron"
    trees_ : the trees; of "trees"
    future_ : the FutureFeatureMEMM that found future features, or None
    n_iter_, best_iteration_, history_, outcome_ : how training went; the loss of a pass, and `loss_` of the one that
        was kept, is how far above the truth wrong labelings were
    refitted_ : whether the weights are those of a last training on all sequences

    Examples
    --------
    >>> from hedgerow import BeamSearchTagger
    >>> X, y = [["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]]
    >>> model = BeamSearchTagger(window=1, early_stopping=False).fit(X, y)
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    decoder: str = "beam"
    schema_: Schema
    layout_: SearchLayout
    weights_: FloatArray
    trees_: RankingTrees
    refitted_: bool
    best_iteration_: int
    outcome_: str

    predict_proba: Any = NotThere()
    predict_k_best: Any = NotThere()
    sample: Any = NotThere()
    entropy: Any = NotThere()
    log_probability: Any = NotThere()
    span_probability: Any = NotThere()

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        lengths: Any = None,
    ) -> BeamSearchTagger:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens, of attribute lists; 2-D arrays; data frames), a generator of
            them, `Sequences`, or flat arrays with `lengths`; or a Dataset that `hedgerow.data.encoding.learn` made
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible: of the labelings that
            fit, the one that the search finds is taken for the truth
        sample_weight : (S,) weights of the sequences, the size of their steps, or a list of arrays of 0 (unlabelled)
            and 1
        X_val, y_val : held-out sequences; training stops when `metric` on them no longer rises
        lengths : the lengths of the sequences, where X and y are flat
        """
        self._check_parameters()
        X, y = cut_flat(X, y, lengths)
        everything = listed(X), listed(y), listed(sample_weight)
        again = self.refit and self._holds_out() and X_val is None
        self._fit_once(*hold_out(self, *everything, X_val, y_val))
        if again and self.outcome_ != "interrupted":
            n = self.best_iteration_
            fit_again(self, lambda: self._fit_once(*everything, None, None, n), f"{n} passes")
        if self.outcome_ == "interrupted":
            what = f"training was interrupted after {self.n_iter_} passes; the best weights so far are kept"
            warn(what, ConvergenceWarning, stacklevel=2)
        return self

    def _fit_once(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, n_passes: int | None = None
    ) -> None:
        """Encode, train, store."""
        given = training_dataset(self, X, y, sample_weight)
        imputation = learn_missing(self, given, trees=self.ranking == "trees")
        dataset = fill(imputation, given)
        held_out = encode_held_out(given.schema, X_val, y_val)
        held_out = None if held_out is None else fill(imputation, held_out)
        for own in (dataset, held_out):
            if own is not None and self.ranking == "perceptron":
                check_numbers(own, dataset.schema)
        space = legal_space(dataset, self.constraints, forbid_unseen=self.transitions == "forbid_unseen")
        finder = find_future_features(self, dataset, held_out) if self.future_features else None
        dataset = with_thermometers(finder, dataset)
        held_out = None if held_out is None else with_thermometers(finder, held_out)
        most = MAX_PASSES[self.ranking] if self.max_iter is None else int(self.max_iter)
        layout = None
        if self.ranking == "trees":
            trained = train_ranking(self, space, dataset, held_out, n_passes or most)
        else:
            layout = self._lay_out(dataset, space)
            trained = train(self, layout, dataset, held_out, n_passes or most)
        self.imputation_, self.future_, self.space_ = imputation, finder, space
        self._store(given, layout, trained)

    def _lay_out(self, dataset: Dataset, space: StateSpace) -> SearchLayout:
        return lay_out_search(
            dataset,
            space,
            order=int(self.order),
            label_counts=int(self.label_counts),
            pairs=self.pairs,
            min_frequency=self.min_frequency,
            backward=self.direction == "right_to_left",
        )

    def _store(self, dataset: Dataset, layout: SearchLayout | None, trained: Trained) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        for name in ("layout_", "weights_", "trees_"):  # of a fit by the other ranking
            self.__dict__.pop(name, None)
        if layout is None:
            self.trees_ = trained.learnt
        else:
            self.layout_, self.weights_ = layout, trained.learnt
        self.metadata_ = {}
        self.history_ = trained.history
        self.n_iter_ = trained.n_iter
        self.best_iteration_ = trained.best.iteration
        self.loss_ = float(trained.best.loss)
        self.outcome_ = trained.outcome
        self.refitted_ = False

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_missing(self, OF_LINEAR)
        if self.metric == "log_likelihood":
            raise InputError(
                "⟦metric⟧ is 'log_likelihood', and a search knows no probabilities", hint="Use 'accuracy'."
            )

    # -------------------------------------------------------------------------------------------- prediction

    def predict(self, X: Any, *, decoder: str | None = None, known: Any = None, lengths: Any = None) -> AnyArray:
        """The labels of each sequence.

        Parameters
        ----------
        X : sequences, as in `fit`
        decoder : "beam", the default, or "greedy", a beam of one labeling
        known : what is known of the labels, shaped like y: None where nothing is, a label where it is forced, a set
            of labels where one of them is
        lengths : the lengths of the sequences, where X is one flat array

        Returns
        -------
        array of S lists of labels, dtype object
        """
        check_choice("decoder", "beam" if decoder is None else decoder, ("beam", "greedy"))
        dataset = self._dataset(X, known, lengths)
        return self._lists(self._codes(dataset, 1 if decoder == "greedy" else int(self.beam_width)), dataset.offsets)

    def _codes(self, dataset: Dataset, width: int) -> CodeArray:
        """int32 (N,): the labels that a search of this width finds."""
        allowed = allowed_labels(dataset, slice(0, dataset.n_positions))
        plan = plan_chunks(dataset.offsets, _CHUNK_POSITIONS)
        parts: list[Any] = [np.empty(0, CODE)] * (len(plan) - 1)

        def work(lane: int, c: int) -> None:
            first, last = int(plan[c]), int(plan[c + 1])
            part = with_thermometers(self.future_, fill(self.imputation_, dataset.take(np.arange(first, last))))
            own = None if allowed is None else allowed[dataset.offsets[first] : dataset.offsets[last]]
            parts[c] = self._search(part, own, width)

        with Lanes(self.n_jobs, max(1, min(MAX_LANES, len(parts)))) as lanes:
            lanes.run(work, len(parts))
        found: CodeArray = np.concatenate([np.empty(0, CODE), *parts])
        return found

    def _search(self, dataset: Dataset, allowed: BoolArray | None, width: int) -> CodeArray:
        if hasattr(self, "trees_"):
            own = self.trees_
            search = TableSearch(self.space_, dataset, width, own.order, backward=own.backward, allowed=allowed)
            return search.search(own.table(dataset))
        layout = self.layout_
        open_ = open_labels(self.space_, dataset, allowed, backward=layout.backward)
        return Searcher(layout, dataset, width).search_all(open_, self.weights_)

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if self.imputation_ is None and hasattr(self, "weights_"):
            check_numbers(dataset, self.schema_)
        return dataset

    def _input_schema(self) -> Schema:
        """The columns that weights see: those of the data, flags, and future features."""
        schema = seen_schema(self)
        if self.future_ is None:
            return schema
        return thermometer_schema(schema, self.future_.n_features_, int(self.future_.feature_bins))

    def feature_weights(self, label: Label | None = None) -> list[tuple[str, Label, float]]:
        """(what is seen, label, weight), the largest weights first; of one label where it is given."""
        check_is_fitted(self)
        if not hasattr(self, "weights_"):
            raise InputError("⟦ranking='trees'⟧ has no weights", hint="The trees are in trees_.")
        return weights_of(label, self.schema_, row_weights(self._input_schema(), self.layout_, self.weights_))

    @property
    def n_parameters_(self) -> int:
        """How many weights there are, or leaves of trees."""
        return len(self.weights_) if hasattr(self, "weights_") else self.trees_.ensemble_.n_leaves
