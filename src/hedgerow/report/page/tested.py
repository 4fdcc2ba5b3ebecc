"""What a model says of sequences, or of images, beside what is true: the one thing that all parts of a report read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.metrics.spans import looks_like_spans


@dataclass(frozen=True, eq=False)
class Tested:
    """S sequences (or images) of N positions (or pixels), flat, with offsets (S+1,).

    labels : of the model, in the order of `classes_`; behind them those that only the truth has
    true, predicted : (N,) places in `labels`; UNLABELLED where a true label is not known
    probs : (N, K) of the model's labels; None of a model that has none
    dataset : the items as the model reads them
    shapes : of images; None of sequences
    scheme : how spans are written; None where labels are not those of spans
    """

    model: Any
    X: Any
    labels: tuple[Any, ...]
    offsets: IndexArray
    true: CodeArray
    predicted: CodeArray
    probs: FloatArray | None
    dataset: Any
    shapes: tuple[tuple[int, ...], ...] | None = None
    scheme: Any = None

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> IndexArray:
        return np.diff(self.offsets)

    @cached_property
    def sequence(self) -> IndexArray:
        """(N,) the sequence of each position."""
        return np.repeat(np.arange(self.n_sequences), self.lengths)

    @cached_property
    def labelled(self) -> BoolArray:
        return np.not_equal(self.true, UNLABELLED)

    @cached_property
    def wrong(self) -> BoolArray:
        wrong: BoolArray = self.labelled & (self.true != self.predicted)
        return wrong

    @cached_property
    def confidence(self) -> FloatArray | None:
        """(N,) the probability of the label that was given."""
        if self.probs is None:
            return None
        return np.minimum(self.probs[np.arange(len(self.predicted)), self.predicted], 1.0)

    @cached_property
    def known(self) -> IndexArray:
        """The sequences that have a true label at every position, and a position."""
        n_known = np.bincount(self.sequence[self.labelled], minlength=self.n_sequences)
        return np.flatnonzero((n_known == self.lengths) & (self.lengths > 0))

    def labelings(self, sequences: Iterable[int]) -> tuple[list[list[Any]], list[list[Any]]]:
        """The true and the predicted labels of some sequences, as metrics take them; None where one is not known."""
        names = (*self.labels, None)
        parts = [slice(self.offsets[i], self.offsets[i + 1]) for i in sequences]
        both = (self.true, self.predicted)
        true, predicted = ([[names[k] for k in codes[part].tolist()] for part in parts] for codes in both)
        return true, predicted

    @property
    def words(self) -> dict[str, str]:
        """The words for items and their parts: "sequences" and "positions", or "images" and "pixels"."""
        if self.shapes is None:
            return {"item": "sequence", "items": "sequences", "place": "position", "places": "positions"}
        return {"item": "image", "items": "images", "place": "pixel", "places": "pixels"}


def judge(model: Any, X: Any, y: Any, scheme: str | None = None) -> Tested:
    """Let a model label what it is to be judged by.

    X, y : as `score` takes them; y may be None, or have None or sets of labels where the label is not known
    scheme : how spans are written; by default it is told from the labels
    """
    return _tested_lattice(model, X, y) if hasattr(model, "neighbours") else _tested_chain(model, X, y, scheme)


def _tested_chain(model: Any, X: Any, y: Any, scheme: str | None) -> Tested:
    X, y = sequences_of(model, X, y)
    dataset = model.encode(X)
    offsets = dataset.offsets
    if not dataset.n_positions:
        raise InputError("there is nothing to report on: X has no positions")
    predicted = [label for labels in model.predict(dataset) for label in labels]
    probs = np.concatenate(list(model.predict_proba(dataset))) if hasattr(model, "predict_proba") else None
    true = flat_labels(y, offsets)
    labels, (coded, given) = _coded(model.classes_.tolist(), true, predicted)
    if scheme is None and looks_like_spans(labels):
        scheme = "auto"
    return Tested(model, X, labels, offsets, coded, given, probs, dataset, None, scheme)


def sequences_of(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Sequences that can be looked at one by one, and their labels: a frame is cut as that of `fit` was."""
    from hedgerow.data.plan import is_frame

    if isinstance(X, Dataset):
        raise InputError("X is a Dataset", hint="Give the sequences: a report shows them as they were.")
    if model.plan_ is not None and (is_frame(X) or model.plan_.tokens is not None):
        plain = replace(model.plan_, words=None)
        names = next((getattr(X, name) for name in ("columns", "column_names") if hasattr(X, name)), None)
        labelled = y is None and model.plan_.label is not None and (names is None or model.plan_.label in list(names))
        X, y = plain.read(X, y, labelled=labelled)[:2]
    if not hasattr(X, "__getitem__"):
        X = list(X)
    return X, y


def flat_labels(y: Any, offsets: IndexArray, names: tuple[str, str] = ("X", "y")) -> list[Any]:
    """All labels, flat; None where one is not known. names : what an error calls the sequences and their labels"""
    X_name, y_name = names
    if y is None:
        return [None] * int(offsets[-1])
    rows = [list(row) for row in y]
    if len(rows) != len(offsets) - 1:
        raise InputError(f"{X_name} has {len(offsets) - 1} sequences and {y_name} has {len(rows)}")
    for i, (row, (begin, end)) in enumerate(zip(rows, pairwise(offsets.tolist()))):
        if len(row) != end - begin:
            what = f"{X_name} has {end - begin} positions and {y_name} has {len(row)} labels"
            raise InputError(what, sequence=i)
    return [None if isinstance(label, (set, frozenset)) else label for label in chain.from_iterable(rows)]


def _coded(classes: list[Any], *labelings: list[Any]) -> tuple[tuple[Any, ...], list[CodeArray]]:
    """All labels, those of the model first; and each labeling as int32 codes, places among them."""
    place: dict[Any, int] = {None: UNLABELLED} | {label: k for k, label in enumerate(classes)}
    for label in chain.from_iterable(labelings):
        place.setdefault(label, len(place) - 1)
    codes = [np.fromiter(map(place.__getitem__, labels), CODE, len(labels)) for labels in labelings]
    return tuple(label for label in place if label is not None), codes


def labelled_images(model: Any, X: Any, y: Any) -> tuple[Any, IndexArray, list[Any]]:
    """Images as a model reads them, where each begins, and all labels, flat: those of y, or None."""
    from hedgerow.lattice.dataset import make_dataset, read_masks

    graphs = model._read(X)
    dataset = make_dataset(graphs, differences=model.differences)
    offsets = np.concatenate([[0], np.cumsum(dataset.sizes)]).astype(INDEX)
    if y is None:
        return dataset, offsets, [None] * int(offsets[-1])
    return dataset, offsets, list(chain.from_iterable(mask.tolist() for mask in read_masks(y, graphs)))


def _tested_lattice(model: Any, X: Any, y: Any) -> Tested:
    X = X if hasattr(X, "__getitem__") else list(X)
    dataset, offsets, labelled = labelled_images(model, X, y)
    true = [None if label == model.unlabelled else label for label in labelled]
    flat: AnyArray = np.concatenate([np.asarray(labels).ravel() for labels in model.predict(X)])
    probs = np.concatenate([p.reshape(-1, p.shape[-1]) for p in model.predict_proba(X)])
    labels, (coded, given) = _coded(model.classes_.tolist(), true, flat.tolist())
    return Tested(model, X, labels, offsets, coded, given, probs, dataset, dataset.shapes)
