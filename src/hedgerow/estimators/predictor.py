"""One short sequence after another: the labels and probabilities that `predict` and `predict_proba` give, at once.

What makes a model fast here is its `Lean`: node scores of one sequence by a call or two, and edges that are the same
table everywhere. A model without one, and a sequence that is too long or out of the ordinary, goes the way of corpora,
which gives the same labels and probabilities to the bit; `Predictor._short` is where that is decided.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hedgerow.chain.decoding import tilted
from hedgerow.chain.edges import PositionEdges, SharedEdges
from hedgerow.chain.potentials import Edges
from hedgerow.chain.short import ShortChain
from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.short import SHORT
from hedgerow.legend import FloatArray

if TYPE_CHECKING:
    from hedgerow.estimators.scored import ScoredChain


Found = TypeVar("Found")


class Lean(NamedTuple):
    """Potentials of one sequence, without a chunk.

    score : writes the node scores of some positions of a corpus of one sequence: (m, K) from position i on
    edges : those of all positions; None where `scored_edges` gives those that lead to one position, which streams ask
        for: it writes its node scores, too, and is told whether it is the first of its sequence
    start, end : (K,), what the first and the last position have beside, or None
    """

    score: Callable[[Dataset, FloatArray, int], None] | None
    edges: SharedEdges | None
    start: FloatArray | None
    end: FloatArray | None
    scored_edges: Callable[[Dataset, FloatArray, int, bool], PositionEdges] | None = None


class Ready(NamedTuple):
    """A Lean, and what makes probabilities of its scores: tempered edges, and the share that scores have then."""

    lean: Lean
    edges: SharedEdges | None
    share: float

    def score(
        self, dataset: Dataset, scores: FloatArray, i: int, *, first: bool, last: bool, tempered: bool = True
    ) -> SharedEdges:
        """Write the scores (m, K) from position i on, which begin a sequence (`first`) and end it (`last`), or not."""
        lean = self.lean
        assert lean.score is not None
        assert lean.edges is not None
        assert self.edges is not None
        lean.score(dataset, scores, i)
        self._finish(scores, first=first, last=last, tempered=tempered)
        return self.edges if tempered else lean.edges

    def score_one(self, dataset: Dataset, scores: FloatArray, i: int, *, first: bool, last: bool) -> Edges:
        """As `score`, of one position (1, K); the edges that lead to it."""
        scored_edges = self.lean.scored_edges
        if scored_edges is None:
            return self.score(dataset, scores, i, first=first, last=last)
        edges = scored_edges(dataset, scores, i, first)
        self._finish(scores, first=first, last=last, tempered=True)
        return edges if self.share == 1.0 else edges.scaled(self.share)

    def _finish(self, scores: FloatArray, *, first: bool, last: bool, tempered: bool) -> None:
        lean = self.lean
        if first and lean.start is not None:
            scores[0] += lean.start
        if last and lean.end is not None:
            scores[-1] += lean.end
        if tempered and self.share != 1.0:
            scores *= self.share


def make_ready(model: ScoredChain) -> Ready | None:
    """The Lean of a fitted model with its tempered edges; None where the model has no Lean."""
    lean, share = model._lean(), 1.0 / model.temperature_
    if lean is None:
        return None
    edges = lean.edges if share == 1.0 or lean.edges is None else lean.edges.scaled(share)
    return Ready(lean, edges, share)


# What a prediction depends on. A model that has another of these than it had is made ready anew.
_LEARNT = ("schema_", "weights_", "ensemble_", "temperature_", "tilt_", "imputation_")
_ASKED = ("decoder", "constraints", "transitions", "objective")


def learnt(model: ScoredChain) -> tuple[Any, ...]:
    """The fitted attributes that a prediction depends on. Another fit replaces them."""
    return tuple(map(model.__dict__.get, _LEARNT))


def is_learnt(model: ScoredChain, before: tuple[Any, ...]) -> bool:
    """Whether a model still has the fitted attributes that `learnt` gave before."""
    return len(before) == len(_LEARNT) and all(map(is_, map(model.__dict__.get, _LEARNT), before))


class Predictor:
    """Predicts one sequence at a time, by a fitted model; made by `model.predictor()`.

    What is made from a model once, and buffers for each thread, are kept with the model: any number of threads may
    share it. The model may be fitted anew; the next prediction is then by what it learnt.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return Predictor, (self._model,)

    def __init__(self, model: ScoredChain) -> None:
        self._model = model
        self._threads = threading.local()
        self._learnt: tuple[Any, ...] = ()
        self._asked: tuple[Any, ...] = ()
        self._ready: Ready | None = None

    def predict(self, x: Any, *, decoder: str | None = None, known: Any = None) -> list[Label]:
        """The labels of one sequence. known : what is known of its labels, as in `predict`"""
        labels: list[Label] = self._model.predict([x], decoder=decoder, known=None if known is None else [known])[0]
        return labels

    def predict_proba(self, x: Any, *, known: Any = None) -> FloatArray:
        """The probability of each label at each position of one sequence, (T, K), columns as in `classes_`."""
        probs: FloatArray = self._model.predict_proba([x], known=None if known is None else [known])[0]
        return probs

    def labels(self, X: Any, decoder: str | None, known: Any) -> list[Label] | None:
        """The labels of a corpus of one short sequence; None where this is not the way."""
        model, dataset = self._model, self._short(X, known)
        if dataset is None:
            return None
        name = self._decoder_name() if decoder is None else decoder
        if name == "posterior":
            probs = self._probs(dataset)
            codes = None if probs is None else probs.argmax(axis=1).tolist()
        elif name == "viterbi":
            codes = self._scored(dataset, tempered=False, find=ShortChain.best_labels)
        else:
            return None
        return None if codes is None else list(map(model.schema_.labels.__getitem__, codes))

    def probs(self, X: Any, known: Any) -> FloatArray | None:
        """The probabilities of a corpus of one short sequence; None where this is not the way."""
        dataset = self._short(X, known)
        probs = None if dataset is None else self._probs(dataset)
        return None if probs is None else probs.copy()

    def _short(self, X: Any, known: Any) -> Dataset | None:
        """The one short sequence that X is, where the model has a Lean and all labels are open."""
        model = self._model
        if not is_learnt(model, self._learnt):
            self._asked, self._learnt = (), learnt(model)
            self._ready = make_ready(model) if self._learnt[0] is not None else None
        if self._ready is None or self._ready.edges is None or known is not None:
            return None
        return model._short_dataset(X, None)

    def _decoder_name(self) -> str:
        asked = tuple(getattr(self._model, name, None) for name in _ASKED)
        if not self._asked or not all(map(is_, asked, self._asked[0])):
            self._asked = asked, self._model._decoder_name()
        name: str = self._asked[1]
        return name

    def _probs(self, dataset: Dataset) -> FloatArray | None:
        probs = self._scored(dataset, tempered=True, find=ShortChain.node_probs)
        return None if probs is None else tilted(probs, self._model.tilt_)

    def _scored(
        self, dataset: Dataset, *, tempered: bool, find: Callable[[ShortChain, SharedEdges, int], Found]
    ) -> Found:
        """What a chain of this thread finds for the scores of a sequence."""
        assert self._ready is not None
        chain: ShortChain | None = getattr(self._threads, "chain", None)
        if chain is None or chain.n_labels != dataset.n_labels:
            chain = self._threads.chain = ShortChain(dataset.n_labels, SHORT)
        scores = chain.scores(dataset.n_positions)
        edges = self._ready.score(dataset, scores, 0, first=True, last=True, tempered=tempered)
        return find(chain, edges, dataset.n_positions)
