"""BeamSearchTagger: learning as search optimisation, with features of everything that was labelled so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.imputation import fill, seen_schema
from hedgerow.data.labels import allowed_labels
from hedgerow.declarations import check_choice, check_parameters, documented
from hedgerow.errors import InputError
from hedgerow.estimators.base import StoppedChain
from hedgerow.estimators.prepare import Preparation, Prepared
from hedgerow.estimators.values import OF_LINEAR, check_missing
from hedgerow.legend import BoolArray, CodeArray, FloatArray
from hedgerow.models.crf.linear_layout import weights_of
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.future.training import more_features
from hedgerow.models.local.memm import MEMM, quick_memm
from hedgerow.models.search.features import Searcher, SearchLayout, lay_out_search, open_labels, row_weights
from hedgerow.models.search.parameters import SearchParameters
from hedgerow.models.search.ranking import RankingTrees, TableSearch, train_ranking
from hedgerow.models.search.training import said_scores, thermometer_schema, train, with_thermometers
from hedgerow.parallel import Chunk, over_chunks
from hedgerow.training.monitor import Trained

_CHUNK_POSITIONS = 5_000
MAX_PASSES = {"perceptron": 50, "trees": 300}
MAX_FEATURES, PATIENCE = 20, 3  # of the search's own errors: how many, and rounds in which they may not help


@documented
class BeamSearchTagger(SearchParameters, StoppedChain):
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
    layout_: SearchLayout
    weights_: FloatArray
    trees_: RankingTrees

    def _train(self, ready: Prepared, duration: Sequence[int] | None = None) -> list[int]:
        """Train and store. duration : the most passes of each round, where it is not `max_iter`; returned as kept"""
        finder = self._find_future_features(ready) if self.future_features else None
        most = MAX_PASSES[self.ranking] if self.max_iter is None else int(self.max_iter)
        passes = [self._learn(ready, finder, duration[0] if duration else most)]
        if finder is None or self.future_features != "errors":
            return passes
        best = len(passes), finder.scorer_, dict(self.__dict__)
        while len(passes) - best[0] < PATIENCE and self.outcome_ != "interrupted":
            if not self._look_ahead(ready, finder) or (duration is not None and len(passes) == len(duration)):
                break
            passes.append(self._learn(ready, finder, most if duration is None else duration[len(passes)]))
            if duration is not None or ready.held_out is None or _best_score(self.__dict__) > _best_score(best[2]):
                best = len(passes), finder.scorer_, dict(self.__dict__)
        n, finder.scorer_, kept = best
        self.__dict__.clear()
        self.__dict__.update(kept)
        return passes[:n]

    def _look_ahead(self, ready: Prepared, finder: FutureFeatureMEMM) -> bool:
        """Whether there are more patterns that tell where the search is wrong; the finder has them then."""
        trees = finder.scorer_
        said = self._search(with_thermometers(finder, ready.dataset), None, int(self.beam_width))
        finder.scorer_ = more_features(finder, trees, ready.dataset, said_scores(ready.dataset, said))
        return len(finder.scorer_.features) > len(trees.features)

    def _learn(self, ready: Prepared, finder: FutureFeatureMEMM | None, n_passes: int) -> int:
        """One training with the future features that there are, stored; how many passes were kept."""
        dataset = with_thermometers(finder, ready.dataset)
        held_out = None if ready.held_out is None else with_thermometers(finder, ready.held_out)
        trained: Trained[Any]
        if self.ranking == "trees":
            trained = train_ranking(self, ready.space, dataset, held_out, n_passes)
            learnt: dict[str, Any] = {"trees_": trained.learnt}
        else:
            layout = lay_out_search(self, dataset, ready.space)
            trained = train(self, layout, dataset, held_out, n_passes)
            learnt = {"layout_": layout, "weights_": trained.learnt}
        for name in ("layout_", "weights_", "trees_"):  # of a fit by the other ranking
            self.__dict__.pop(name, None)
        self.__dict__.update(learnt)
        self._keep(ready.given.schema, trained)
        self.imputation_, self.future_, self.space_, self.refitted_ = ready.imputation, finder, ready.space, False
        return self.best_iteration_ or n_passes

    def _complaint(self) -> str:
        if self.outcome_ != "interrupted":
            return ""
        return f"training was interrupted after {self.n_iter_} passes; the best weights so far are kept"

    def _preparation(self, **more: Any) -> Preparation:
        trees = self.ranking == "trees"
        return super()._preparation(splits=trees, needs_numbers=not trees, keeps_all=self.refit, **more)

    def _quick(self) -> MEMM:
        return quick_memm(self, self.order, trees=self.ranking == "trees")

    def _find_future_features(self, ready: Prepared) -> FutureFeatureMEMM:
        """Future features for a corpus, found with labels of the same order seen."""
        finder = FutureFeatureMEMM(
            order=int(self.order),
            bag=self.bag,
            direction=self.direction,
            window=ready.given.schema.window,
            class_weight=self.class_weight,
            early_stopping=ready.held_out is not None,
            min_frequency=max(1.0, float(self.min_frequency)),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        if self.future_features != "errors":
            return finder.fit(ready.dataset, X_val=ready.held_out)
        # Features come from the errors of the search; what is fitted here has bins and no feature.
        tol = finder.tol
        finder.set_params(order=0, n_estimators=1, early_stopping=False, tol=1e9, verbose=0)
        finder.set_params(max_future_features=MAX_FEATURES).fit(ready.dataset)
        finder.set_params(tol=tol, verbose=self.verbose)
        return finder

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_missing(self, OF_LINEAR)
        if self.scoring == "log_likelihood":
            raise InputError("⟦scoring⟧ is 'log_likelihood', and a search has no probabilities", hint="Use 'accuracy'.")

    # -------------------------------------------------------------------------------------------- prediction

    def _decoding(self, decoder: str | None) -> Callable[[Dataset], list[CodeArray]]:
        check_choice("decoder", "beam" if decoder is None else decoder, ("beam", "greedy"))
        width = 1 if decoder == "greedy" else int(self.beam_width)
        return lambda dataset: self._searched(dataset, width)

    def _searched(self, dataset: Dataset, width: int) -> list[CodeArray]:
        """Labels by a search of this width, chunk by chunk."""

        def work(chunk: Chunk) -> CodeArray:
            part = fill(self.imputation_, dataset.take(np.arange(chunk.first, chunk.last)))
            return self._search(with_thermometers(self.future_, part), allowed_labels(dataset, chunk.rows), width)

        return over_chunks(work, dataset.offsets, self.n_jobs, _CHUNK_POSITIONS)

    def _search(self, dataset: Dataset, allowed: BoolArray | None, width: int) -> CodeArray:
        if hasattr(self, "trees_"):
            trees = self.trees_
            search = TableSearch(self.space_, dataset, width, trees.order, backward=trees.backward, allowed=allowed)
            return search.search(trees.table(dataset))
        layout = self.layout_
        open_ = open_labels(self.space_, dataset, allowed, backward=layout.backward)
        return Searcher(layout, dataset, width).search_all(open_, self.weights_)

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if self.imputation_ is None and hasattr(self, "weights_"):
            dataset.require_numbers()
        return dataset

    def feature_weights(self, label: Label | None = None) -> list[tuple[str, Label, float]]:
        """(what is seen, label, weight), the largest weights first; of one label where it is given."""
        check_is_fitted(self)
        if not hasattr(self, "weights_"):
            raise InputError("⟦ranking='trees'⟧ has no weights", hint="The trees are in trees_.")
        seen = thermometer_schema(seen_schema(self), self.future_)
        return weights_of(label, self.schema_, row_weights(seen, self.layout_, self.weights_))

    @property
    def n_parameters_(self) -> int:
        """How many weights there are, or leaves of trees."""
        return len(self.weights_) if hasattr(self, "weights_") else self.trees_.ensemble_.n_leaves


def _best_score(state: Mapping[str, Any]) -> float:
    """The best held-out score of a fit, of which this is the state."""
    return max((step.score for step in state["history_"] if step.score is not None), default=-np.inf)
