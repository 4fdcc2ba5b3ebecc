"""What every estimator on graphs can do once it makes scores: label, probabilities, files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.declarations import check_choice
from hedgerow.errors import InputError, warn
from hedgerow.estimators.base import object_array
from hedgerow.estimators.parameters import random_generator
from hedgerow.lattice.corpus import (
    Corpus,
    Weights,
    encode_masks,
    labels_of_items,
    learn_labels,
    make_corpus,
    read_graphs,
    read_masks,
    read_weights,
    with_labels,
)
from hedgerow.lattice.graphs import Graph
from hedgerow.lattice.inference.infer import Beliefs
from hedgerow.lattice.inference.search import search
from hedgerow.lattice.parameters import DECODERS, check_graph_parameters, inference_of
from hedgerow.lattice.potentials import Potentials
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray
from hedgerow.parallel import MAX_LANES, Lanes

Result = TypeVar("Result")
Scores = Callable[[int], Potentials]  # the number of a graph of a corpus → its scores


class Problem(NamedTuple):
    """The items of `fit`: those to train on, and those held out, if any."""

    corpus: Corpus
    labels: tuple[Any, ...]
    held_out: Corpus | None


class LatticeModel(BaseEstimator):  # type: ignore[misc]
    """The common part of the estimators on graphs. A subclass gives `_scores` and the parameters below."""

    classes_: AnyArray
    n_features_: tuple[int, int]  # of nodes, and of edges before differences

    def _check_parameters(self) -> None:
        check_graph_parameters(self)

    def _scores(self, corpus: Corpus) -> Scores:
        """How to score the graphs of a corpus; threads may ask for several at once."""
        raise NotImplementedError

    def predict(self, X: Any, *, decoder: str | None = None) -> AnyArray:
        """The labels of each item: an array of S arrays, dtype object, each in the shape of its image.

        decoder : as the parameter of the estimator, which it stands in for
        """
        corpus = self._corpus(X)
        name = self.decoder if decoder is None else decoder
        check_choice("decoder", name, DECODERS)
        labels = self._decode(corpus, self._scores(corpus), name)
        return object_array(corpus.cut(self.classes_[labels]))

    def predict_proba(self, X: Any) -> list[FloatArray]:
        """The probability of each label at each node: a list of arrays (…, K), columns as in `classes_`."""
        corpus = self._corpus(X)
        found = self._infer(corpus, self._scores(corpus))
        return [own.node_probs.reshape(*shape, -1) for own, shape in zip(found, corpus.shapes)]

    def infer(self, X: Any) -> list[Beliefs]:
        """What inference gives for each item: probabilities of nodes (n, K) and edges (M, K, K), the approximation of
        log Z, and whether and how fast it came to rest."""
        corpus = self._corpus(X)
        return self._infer(corpus, self._scores(corpus), warn=False)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of nodes whose label is right, of those that have one in y; weights as in `fit`, or of nodes."""
        check_is_fitted(self)
        graphs = self._read(X)
        masks = read_masks(y, graphs, unlabelled=self.unlabelled)
        truth = encode_masks(masks, tuple(self.classes_.tolist()), unlabelled=self.unlabelled)
        weights = read_weights(sample_weight, graphs)
        corpus = with_labels(make_corpus(graphs, differences=self.differences), truth, weights)
        return accuracy(corpus, self._decode(corpus, self._scores(corpus), self.decoder))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `hedgerow.load` reads. The file is replaced at once, or not at all."""
        from hedgerow.estimators.files import save

        check_is_fitted(self)
        save(self, path)

    def _read(self, X: Any) -> list[Graph]:
        """The items of X, which fit the model."""
        graphs = read_graphs(X, neighbours=self.neighbours, ndim=self.ndim)
        if hasattr(self, "n_features_") and graphs:
            found = graphs[0].node_features.shape[1], graphs[0].edge_features.shape[1]
            for own, seen, word in zip(found, self.n_features_, ("features a node", "features an edge")):
                if own != seen:
                    raise InputError(f"X has {own} {word}, and training had {seen}")
        return graphs

    def _corpus(self, X: Any) -> Corpus:
        check_is_fitted(self)
        graphs = self._read(X)
        if not graphs:
            raise InputError("X has no items", hint="Give at least one image or graph.")
        return make_corpus(graphs, differences=self.differences)

    def _problem(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Problem:
        """The training items as arrays, and those held out."""
        graphs = read_graphs(X, neighbours=self.neighbours, ndim=self.ndim)
        if not graphs:
            raise InputError("X has no items", hint="Give at least one image or graph.")
        masks = read_masks(y, graphs, unlabelled=self.unlabelled)
        weights = read_weights(sample_weight, graphs)
        if isinstance(weights, list) and self.objective != "pseudo_likelihood":
            what = f"⟦sample_weight⟧ has a weight for each node, and the ⟦objective⟧ is {self.objective!r}"
            raise InputError(what, hint="Its loss is one number an item: weigh items, or use 'pseudo_likelihood'.")
        labels = learn_labels(masks, unlabelled=self.unlabelled)
        if (X_val is None) != (y_val is None):
            raise InputError("⟦X_val and y_val⟧ go together", hint="Give both, or neither.")
        train: list[int] = list(range(len(graphs)))
        if X_val is not None:
            others = read_graphs(X_val, neighbours=self.neighbours, ndim=self.ndim)
            if others:
                read_graphs([graphs[0], others[0]], neighbours=self.neighbours, ndim=self.ndim)  # as many features
            held_masks = read_masks(y_val, others, unlabelled=self.unlabelled, name="y_val")
        else:
            train, held = self._hold_out(masks) if self.early_stopping else (train, [])
            others, held_masks = [graphs[i] for i in held], [masks[i] for i in held]
        own = [graphs[i] for i in train]
        codes = encode_masks([masks[i] for i in train], labels, unlabelled=self.unlabelled)
        corpus = with_labels(make_corpus(own, differences=self.differences), codes, _some(weights, train))
        held_out = None
        if others:
            codes = encode_masks(held_masks, labels, unlabelled=self.unlabelled, name="y_val")
            held_out = with_labels(make_corpus(others, differences=self.differences), codes)
        return Problem(corpus, labels, held_out)

    def _hold_out(self, masks: list[AnyArray]) -> tuple[list[int], list[int]]:
        """The items that train, and those held out. An item with a label that no other has stays in training."""
        n = len(masks)
        order = random_generator(self.random_state).permutation(n).tolist()
        own = labels_of_items(masks, unlabelled=self.unlabelled)
        n_held = int(np.ceil(self.validation_fraction * n))
        train = order[n_held:]
        seen: set[Any] = set().union(*(own[i] for i in train))
        held = [i for i in order[:n_held] if own[i] <= seen]
        if not held or len(held) == n:
            raise InputError(
                f"of {n} items none can be held out", hint="Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧."
            )
        return sorted(set(range(n)) - set(held)), sorted(held)

    def _over_graphs(self, n_graphs: int, function: Callable[[int], Result]) -> list[Result]:
        """function(i) for every graph, in threads, results in order."""
        results: list[Any] = [None] * n_graphs

        def work(lane: int, i: int) -> None:
            results[i] = function(i)

        with Lanes(self.n_jobs, max(1, min(MAX_LANES, n_graphs))) as lanes:
            lanes.run(work, n_graphs)
        return results

    def _infer(self, corpus: Corpus, scores: Scores, *, warn: bool = True) -> list[Beliefs]:
        inference = inference_of(self)
        found = self._over_graphs(corpus.n_graphs, lambda i: inference(scores(i)))
        if warn:
            _warn_of_unrest([own.converged for own in found], self.inference)
        return found

    def _decode(self, corpus: Corpus, scores: Scores, name: str, *, warn: bool = True) -> CodeArray:
        """The labels of all nodes as codes, flat."""
        if name == "posterior":
            found = self._infer(corpus, scores, warn=warn)
            return np.concatenate([own.node_probs.argmax(axis=1) for own in found]).astype(CODE)
        inference = inference_of(self)
        if inference.method == "mean_field":  # it has no messages to maximise
            inference = type(inference)(max_updates=inference.max_updates, tol=inference.tol)
        best = self._over_graphs(corpus.n_graphs, lambda i: search(scores(i), name, inference))
        if warn:
            _warn_of_unrest([own.converged for own in best], self.inference)
        return np.concatenate([own.labels for own in best])


def advice(inference: str) -> str:
    """What to do where inference did not come to rest."""
    if inference == "loopy":
        return "raise ⟦max_updates⟧, or use ⟦inference='tree_reweighted'⟧ or 'mean_field'"
    return "raise ⟦max_updates⟧ or ⟦inference_tol⟧"


def _warn_of_unrest(converged: list[bool], inference: str) -> None:
    lost = converged.count(False)
    if lost:
        what = f"inference did not come to rest on {lost} of {len(converged)} items; {advice(inference)}"
        warn(what, ConvergenceWarning, stacklevel=4)


def _some(weights: Weights, items: list[int]) -> Weights:
    """The weights of some items."""
    return [weights[i] for i in items] if isinstance(weights, list) else None if weights is None else weights[items]


def accuracy(corpus: Corpus, predicted: CodeArray) -> float:
    """The share of labelled nodes that are right, as the corpus weighs them."""
    assert corpus.labels is not None
    known = corpus.labels >= 0
    if not known.any():
        raise InputError("y has no label at all", hint="At least one node must be labelled.")
    weights = corpus.spread_weights()
    each = np.ones(len(known)) if weights is None else weights[0]
    total = float(each[known].sum())
    if total == 0.0:
        raise InputError("all labelled nodes have the weight 0")
    return float(each[known & (corpus.labels == predicted)].sum()) / total
