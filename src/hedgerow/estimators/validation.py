"""Held-out sequences: which they are, and the score on them after each iteration."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.chain.inference import log_probability
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.encoding import encode
from hedgerow.data.sequences import take_sequences
from hedgerow.errors import InputError
from hedgerow.estimators.base import allowed_labels, label_lists, log_share
from hedgerow.estimators.parameters import BEAM_WIDTH, LOG_LIKELIHOOD, find_decoder, random_generator
from hedgerow.legend import AnyArray, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout


def hold_out(model: Any, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Set sequences aside for early stopping, unless they are given or not asked for. A Dataset is cut as lists are.

    A sequence with a label that no other has stays in training: a label that is never trained cannot be scored.
    """
    if isinstance(X_val, Dataset):
        if y_val is not None or X_val.labels is None:
            raise InputError("a Dataset as ⟦X_val⟧ brings its own labels", hint="Make it with y, and leave y_val out.")
        return X, y, sample_weight, X_val, None
    if (X_val is None) != (y_val is None):
        raise InputError("⟦X_val and y_val⟧ go together", hint="Give both, or neither.")
    if X_val is not None or not model._holds_out():
        return X, y, sample_weight, X_val, y_val
    if isinstance(X, Dataset):
        if X.labels is None or y is not None or sample_weight is not None:
            return X, y, sample_weight, None, None  # refused in a moment
        kept, held = choose_held_out(model, X)
        return X.take(kept), None, None, X.take(held), None
    if y is None:
        raise InputError("y is missing", hint="fit needs the labels of the training sequences.")
    X, y, sample_weight = (_sized(given) for given in (X, y, sample_weight))
    n = len(X)
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None and len(given) != n:
            raise InputError(f"X has {n} sequences and {name} has {len(given)}")
    kept, held = _choose(model, list(y))
    weight = None if sample_weight is None else take_sequences(sample_weight, kept)
    cut = [take_sequences(given, chosen) for chosen in (kept, held) for given in (X, y)]
    return cut[0], cut[1], weight, cut[2], cut[3]


def choose_held_out(model: Any, dataset: Dataset) -> tuple[IndexArray, IndexArray]:
    """The numbers of the sequences of a labelled Dataset that train, and of those that are held out."""
    assert dataset.labels is not None
    return _choose(model, [own[own >= 0] for own in np.split(dataset.labels, dataset.offsets[1:-1])])


def _choose(model: Any, y: list[Any]) -> tuple[IndexArray, IndexArray]:
    """The numbers of the sequences that train, and of those that are held out; y has the labels of each."""
    n = len(y)
    order = random_generator(model.random_state).permutation(n)
    n_held = int(np.ceil(model.validation_fraction * n))
    held = _spared(y, np.sort(order[:n_held]), np.sort(order[n_held:]))
    if len(held) in (0, n):
        raise InputError(
            f"of {n} sequences none can be held out",
            hint="Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧.",
        )
    return np.setdiff1d(np.arange(n), held), held


def _sized(given: Any) -> Any:
    return given if given is None or hasattr(given, "__len__") else list(given)


def _spared(y: list[Any], held: Any, kept: Any) -> Any:
    """The held-out sequences whose labels all stand in training too."""
    trained = set().union(*(_labels(y[i]) for i in kept))
    return np.array([i for i in held if _labels(y[i]) <= trained], dtype=np.int64)


def _labels(labels: Any) -> set[Any]:
    """The labels of a sequence, those in sets too. What cannot be a label is left for the encoder to refuse."""
    found: set[Any] = set()
    for label in labels if isinstance(labels, Iterable) else ():
        if isinstance(label, (set, frozenset)):
            found |= label
        elif label.__hash__ is not None and label is not None:
            found.add(label)
    return found


def encode_held_out(schema: Schema, X_val: Any, y_val: Any) -> Dataset | None:
    """The held-out sequences by the schema of the training ones; None where there are none."""
    if not isinstance(X_val, Dataset):
        return None if X_val is None else encode(schema, X_val, y_val)
    if X_val.schema != schema:
        raise InputError(
            "⟦X_val⟧ is a Dataset with another schema than the training data",
            hint="Make it with hedgerow.data.encoding.encode(dataset.schema, X_val, y_val).",
        )
    return X_val


class Measure:
    """How good potentials are on held-out sequences, chunk by chunk: greater is better.

    Positions without a label do not count. `parts` are what `chunk` gave for all chunks, in order.
    """

    def __init__(self, held_out: Dataset, metric: Any, decoder: str, beam_width: int = BEAM_WIDTH) -> None:
        from hedgerow.metrics import get_metric

        assert held_out.labels is not None
        self.held_out = held_out
        self.name = metric
        self.metric = None if metric == LOG_LIKELIHOOD else get_metric(metric)
        self.decode = find_decoder(decoder, beam_width)
        self.known = held_out.labels >= 0
        self.truth = label_lists(held_out.schema, held_out.labels, held_out.offsets)

    def chunk(self, potentials: ChainPotentials, rows: slice) -> AnyArray:
        """What the chunk with these flat positions adds: labels (n,), or log-probabilities (s,)."""
        if self.metric is None:
            if self.known[rows].all():
                assert self.held_out.labels is not None
                return log_probability(potentials, self.held_out.labels[rows])
            return log_share(potentials, allowed_labels(self.held_out, rows))
        return self.decode(potentials, None)

    def total(self, parts: list[AnyArray]) -> float:
        values = np.concatenate(parts)
        if self.metric is None:
            score = float(values.sum())
        elif self.name == "accuracy" and self.known.any():  # as the metric says, without lists of names
            score = float((values == self.held_out.labels)[self.known].mean())
        else:
            score = self._by_metric(label_lists(self.held_out.schema, values, self.held_out.offsets))
        if np.isnan(score):
            raise InputError(f"the metric {self.name!r} gave {score} on the held-out sequences")
        return score

    def _by_metric(self, predicted: AnyArray) -> float:
        assert self.metric is not None
        try:
            return float(self.metric(self.truth, predicted))
        except InputError as error:
            raise InputError(f"the metric {self.name!r} cannot score ⟦y_val⟧: {error}") from error


class Validation:
    """Weights in, score on the held-out sequences out."""

    def __init__(self, model: Any, layout: ChainLayout, held_out: Dataset) -> None:
        self.probe = copy.copy(model)
        self.probe.schema_, self.probe.classes_ = held_out.schema, held_out.schema.classes
        self.probe.layout_ = layout
        self.probe.imputation_ = None  # what was missing is filled in already
        self.unlabelled = replace(held_out, labels=None, allowed=None)
        self.measure = Measure(held_out, model._metric(), model._decoder_name(), model.beam_width)

    def __call__(self, weights: FloatArray) -> float:
        self.probe.weights_ = weights
        return self.measure.total(self.probe._over_chunks(self.unlabelled, self.measure.chunk))
