"""Training of a BeamSearchTagger: passes over the corpus, and the future features that it may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema
from hedgerow.estimators.validation import Measure
from hedgerow.estimators.values import class_weights, random_generator
from hedgerow.legend import CODE, FIRST_VALUE, UNLABELLED, CodeArray, FloatArray
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.local.previous_labels import add_columns, append_codes
from hedgerow.models.search.features import Searcher, SearchLayout, good_labels, open_labels
from hedgerow.training.checkpoint import restore, restoring, state_of
from hedgerow.training.monitor import Monitor, Trained

if TYPE_CHECKING:
    from hedgerow.models.search.parameters import SearchParameters

UPDATES = ("early", "beam", "max_violation", "full")  # in the order of the kernel's numbers


def monitor_passes(settings: SearchParameters, n_passes: int, validate: Callable[..., float] | None) -> Monitor:
    """A Monitor for passes over a corpus; how the loss falls says little, so it does not end training."""
    return Monitor(
        max_iter=n_passes,
        tol=0.0,
        validate=validate,
        n_iter_no_change=int(settings.n_iter_no_change),
        verbose=settings.verbose,
        plateau=False,
    )


class Passes:
    """The averaged perceptron on a corpus, by passes."""

    KEPT: ClassVar[tuple[str, ...]] = ("x", "total", "n_seen", "at_rest")

    def __init__(self, settings: SearchParameters, layout: SearchLayout, dataset: Dataset) -> None:
        self.dataset, self.update = dataset, UPDATES.index(settings.update)
        self.seed = int(random_generator(settings.random_state).randint(2**31 - 1))
        self.open = open_labels(layout.space, dataset, None, backward=layout.backward)
        self.good, self.partial = good_labels(layout, dataset)
        self.searcher = Searcher(layout, dataset, int(settings.beam_width))
        self.label_weights = class_weights(settings.class_weight, dataset)
        self.x: FloatArray = np.zeros(layout.n_weights)
        self.total: FloatArray = np.zeros(layout.n_weights)
        self.n_seen = 0
        self.at_rest = False  # the last pass found nothing to mend, so no other will

    def run(self, number: int, monitor: Monitor) -> float:
        """A pass in an order of its own: the loss. Ctrl-C ends it early.

        At rest only the average goes on, towards the weights that label everything right.
        """
        if self.at_rest:
            self.n_seen += self.dataset.n_sequences
            return 0.0
        order = np.random.default_rng([self.seed, number]).permutation(self.dataset.n_sequences)
        loss, n_updates = 0.0, 0
        for block in self.searcher.blocks(order):
            how = self.open, self.good, self.partial, self.update, self.x, self.total, self.n_seen, self.label_weights
            added, fixed = self.searcher.learn(block, *how)
            loss, n_updates, self.n_seen = loss + added, n_updates + fixed, self.n_seen + len(block)
            if monitor.interrupted:
                return loss
        self.at_rest = n_updates == 0
        return loss

    def weights(self) -> FloatArray:
        """The average of the weights after every sequence so far."""
        return self.x - self.total / max(self.n_seen, 1)


class SearchValidation:
    """Weights in, score on the held-out sequences out."""

    def __init__(self, settings: SearchParameters, layout: SearchLayout, held_out: Dataset) -> None:
        self.measure = Measure(held_out, settings.scoring, "beam")
        self.searcher = Searcher(layout, held_out, int(settings.beam_width))
        self.open = open_labels(layout.space, held_out, None, backward=layout.backward)

    def __call__(self, weights: FloatArray) -> float:
        return self.measure.total([self.searcher.search_all(self.open, weights)])


def train(
    settings: SearchParameters, layout: SearchLayout, dataset: Dataset, held_out: Dataset | None, n_passes: int
) -> Trained[FloatArray]:
    """Passes until the held-out score no longer rises, or there were `n_passes` of them."""
    passes = Passes(settings, layout, dataset)
    validation = None if held_out is None else SearchValidation(settings, layout, held_out)
    if validation is not None:
        validation(passes.weights())  # a metric that cannot score y_val is found before any training
    with monitor_passes(settings, n_passes, validation) as monitor:
        saved = monitor.resume()
        if saved is None:
            done = monitor.begin(np.nan)
        else:
            with restoring():
                restore(passes, passes.KEPT, saved)
            weights, done = passes.weights(), monitor.done
        while not done:
            loss = passes.run(monitor.n_iter, monitor)
            weights = passes.weights()
            done = monitor.step(loss, weights, state=lambda ended: state_of(passes, passes.KEPT))
        if passes.at_rest and monitor.outcome == "max_iter":
            monitor.finish("converged")
    return monitor.trained(monitor.weights(weights))


# ------------------------------------------------------------------------------------------------ future features


def said_scores(dataset: Dataset, said: CodeArray) -> FloatArray:
    """(K, N): the log-probability of each label where a search said `said` (N,), by how often it was true there, each
    counted once more. What a feature gains above these is what the search did not know."""
    assert dataset.labels is not None
    K, known = dataset.n_labels, dataset.labels != UNLABELLED
    cells = said[known].astype(np.int64) * K + dataset.labels[known]
    counts = 1.0 + np.bincount(cells, minlength=K * K).reshape(K, K)
    scores: FloatArray = np.log(counts / counts.sum(axis=1, keepdims=True))[said].T
    return np.ascontiguousarray(scores)


def thermometer_schema(schema: Schema, finder: FutureFeatureMEMM | None) -> Schema:
    """The columns of a corpus and, after them, whether Q of each future feature, if any, is at least 1/n_bins, …"""
    if finder is None:
        return schema
    n_bins = int(finder.feature_bins)
    names = [f"(future {j + 1} ≥ {i}/{n_bins})" for j in range(finder.n_features_) for i in range(1, n_bins)]
    return add_columns(schema, [Column(name, "boolean") for name in names], "a future feature")


def with_thermometers(finder: FutureFeatureMEMM | None, dataset: Dataset) -> Dataset:
    """The corpus with the future features as columns; as it is where there is no finder."""
    if finder is None:
        return dataset
    n_features, n_bins = finder.n_features_, int(finder.feature_bins)
    probs = finder.scorer_.bag_probs(replace(dataset, labels=None, allowed=None, weight_seq=None))[:n_features]
    edges = np.arange(1, n_bins) / n_bins
    high = probs[:, None, :] >= edges[:, None]
    codes = FIRST_VALUE + high.reshape(n_features * len(edges), dataset.n_positions)
    return append_codes(dataset, thermometer_schema(dataset.schema, finder), codes.astype(CODE))
