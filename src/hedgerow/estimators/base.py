"""What every chain estimator can do once it makes potentials: decode, marginals, k-best, probabilities, files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label, Schema
from hedgerow.data.encoding import encode
from hedgerow.data.labels import encode_labels
from hedgerow.declarations import Count, check_value
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import BEAM_WIDTH, find_decoder, random_generator
from hedgerow.legend import CODE, UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.parallel import CHUNK_POSITIONS, MAX_LANES, Lanes, plan_chunks

Result = TypeVar("Result")


class ChainModel(BaseEstimator):  # type: ignore[misc]
    """The common part of the chain estimators. A subclass gives `_potentials` and the parameters below.

    Every method that takes X also takes a Dataset made by `encode`, which saves encoding the same corpus twice.
    """

    beam_width: int = BEAM_WIDTH  # this and `order`: of estimators that have no such parameters
    order: int = 1
    schema_: Schema
    classes_: AnyArray
    imputation_: Any = None  # what is filled in for missing values; estimators that fill nothing in leave it
    metadata_: dict[str, Any]  # notes that JSON can hold, saved with the model; `hedgerow train` keeps its reader here

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        """The potentials of sequences first … last-1."""
        raise NotImplementedError

    def encode(self, X: Any, y: Any = None, *, lengths: Any = None) -> Dataset:
        """Encode a corpus once, to predict on it several times."""
        check_is_fitted(self)
        return encode(self.schema_, X, y, lengths=lengths, may_be_empty=True)

    def predict(self, X: Any, *, decoder: str | None = None, known: Any = None, lengths: Any = None) -> AnyArray:
        """The labels of each sequence.

        Parameters
        ----------
        X : sequences, as in `fit`
        decoder : "viterbi" (the most probable labeling), "posterior" (the most probable label at each position) or
            "beam" (a search that keeps `beam_width` states a position); the estimator's own by default
        known : what is known of the labels, shaped like y: None where nothing is, a label where it is forced, a set
            of labels where one of them is
        lengths : the lengths of the sequences, where X is one flat array

        Returns
        -------
        array of S lists of labels, dtype object
        """
        decode = find_decoder(self._decoder_name() if decoder is None else decoder, self.beam_width)
        dataset = self._dataset(X, known, lengths)
        labels = self._over_chunks(dataset, lambda potentials, _: decode(potentials, None))
        return self._lists(_joined(np.empty(0, CODE), labels), dataset.offsets)

    def predict_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> list[FloatArray]:
        """The probability of each label at each position: a list of (T, K) arrays, columns as in `classes_`."""
        from hedgerow.chain.inference import node_marginals

        dataset = self._dataset(X, known, lengths)
        probs = self._over_chunks(dataset, lambda potentials, _: node_marginals(potentials))
        flat = _joined(np.empty((0, dataset.n_labels)), probs)
        return [flat[begin:end] for begin, end in itertools.pairwise(dataset.offsets.tolist())]

    def predict_k_best(
        self, X: Any, k: int = 5, *, known: Any = None, lengths: Any = None
    ) -> list[list[tuple[list[Label], float]]]:
        """The k most probable labelings of each sequence, with their probabilities, the best first."""
        from hedgerow.chain.inference import k_best

        check_value("k", k, Count)
        dataset = self._dataset(X, known, lengths)
        found = self._over_chunks(dataset, lambda potentials, _: k_best(potentials, int(k)))
        names = label_names(self.schema_)
        return [
            [(names[path].tolist(), float(p)) for path, p in zip(best.labels, best.probs)]
            for chunk in found
            for best in chunk
        ]

    def sample(
        self, X: Any, n_samples: int = 1, *, random_state: Any = None, known: Any = None, lengths: Any = None
    ) -> list[AnyArray]:
        """Labelings drawn from the model: n_samples times what `predict` returns."""
        from hedgerow.chain.inference import sample

        check_value("n_samples", n_samples, Count)
        generator = random_generator(random_state)
        dataset = self._dataset(X, known, lengths)
        uniforms = generator.random_sample((n_samples, dataset.n_positions))
        drawn = self._over_chunks(dataset, lambda potentials, rows: sample(potentials, uniforms[:, rows]))
        flat = _joined(np.empty((n_samples, 0), CODE), drawn, axis=1)
        return [self._lists(labels, dataset.offsets) for labels in flat]

    def entropy(self, X: Any, *, lengths: Any = None) -> FloatArray:
        """How uncertain the labeling of each sequence is: its entropy in nats, (S,)."""
        from hedgerow.chain.inference import entropy

        dataset = self._dataset(X, None, lengths)
        return _joined(np.empty(0), self._over_chunks(dataset, lambda potentials, _: entropy(potentials)))

    def log_probability(self, X: Any, y: Any, *, lengths: Any = None) -> FloatArray:
        """log P(y | x) of each sequence, (S,). None and sets in y leave the label open: their labelings are summed.

        It is −inf where the constraints forbid y.
        """
        if y is None:
            raise InputError("y is missing", hint="Give the labels whose probability you ask for.")
        return self._log_probability(self._dataset(X, y, lengths))

    def _log_probability(self, dataset: Dataset) -> FloatArray:
        """log P of what the labels of a dataset leave open, (S,)."""

        def work(potentials: ChainPotentials, rows: slice) -> FloatArray:
            return log_share(potentials, allowed_labels(dataset, rows))

        return _joined(np.empty(0), self._over_chunks(replace(dataset, labels=None, allowed=None), work))

    def span_probability(
        self, X: Any, spans: Sequence[tuple[int, int, Sequence[Label]]], *, lengths: Any = None
    ) -> FloatArray:
        """The probability that given labels stand at given places: spans of (sequence, first position, labels)."""
        from hedgerow.chain.inference import span_log_probability

        dataset = self._dataset(X, None, lengths)
        codes = self.schema_.label_codes
        found: FloatArray = np.empty(len(spans))
        for j, span in enumerate(spans):
            i, begin, labels = checked_span(j, span)
            if not 0 <= i < dataset.n_sequences:
                raise InputError(f"span {j} is in sequence {i} of {dataset.n_sequences}")
            unknown = [label for label in labels if not is_label(label) or label not in codes]
            if unknown:
                raise InputError(f"the label {unknown[0]!r} is not one of those seen in training", sequence=i)
            potentials = self._potentials(dataset, i, i + 1)
            found[j] = np.exp(span_log_probability(potentials, 0, begin, np.array([codes[label] for label in labels])))
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """The share of positions whose label is right. Every label of y must be there, and seen in training."""
        from hedgerow.metrics import label_accuracy

        dataset = self._dataset(X, y, lengths)
        truth = self._lists(dataset.require_labels("scoring"), dataset.offsets)
        return float(label_accuracy(truth, self.predict(dataset), sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `hedgerow.load` reads. The file is replaced at once, or not at all."""
        from hedgerow.estimators.files import save

        check_is_fitted(self)
        save(self, path)

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        """X as a Dataset of this model, with what is known of its labels."""
        check_is_fitted(self)
        if not isinstance(X, Dataset):
            return encode(self.schema_, X, known, lengths=lengths, may_be_empty=True)
        if X.schema is not self.schema_ and X.schema != self.schema_:
            raise InputError("the Dataset was encoded for another model", hint="Use this model's encode().")
        if lengths is not None:
            raise InputError("a Dataset has its own lengths", hint="Leave ⟦lengths⟧ out.")
        labels = allowed = None
        if known is not None:
            labels, allowed = encode_labels(known, X.offsets, self.schema_.label_codes)
        return replace(X, labels=labels, allowed=allowed)

    def _over_chunks(self, dataset: Dataset, function: Callable[[ChainPotentials, slice], Result]) -> list[Result]:
        """function(potentials, rows) for every chunk of the dataset, in threads, results in order.

        `rows` are the flat positions of the chunk. Labels that the dataset has are forced.
        """
        plan = plan_chunks(dataset.offsets, self._chunk_positions())
        results: list[Any] = [None] * (len(plan) - 1)

        def work(lane: int, c: int) -> None:
            first, last = int(plan[c]), int(plan[c + 1])
            rows = slice(int(dataset.offsets[first]), int(dataset.offsets[last]))
            potentials = self._potentials(dataset, first, last)
            mask = allowed_labels(dataset, rows)
            results[c] = function(potentials if mask is None else potentials.restrict(mask), rows)

        self._prepare()
        with Lanes(self.n_jobs, max(1, min(MAX_LANES, len(results)))) as lanes:
            lanes.run(work, len(results))
        return results

    def _holds_out(self) -> bool:
        """Whether `fit` sets sequences aside for early stopping."""
        return bool(self.early_stopping)

    def _scoring(self) -> Any:
        """What counts on held-out sequences."""
        return self.scoring

    def _decoder_name(self) -> str:
        """The decoder of `predict`, where none is asked for."""
        return str(self.decoder)

    def _prepare(self) -> None:
        """What has to be built before threads ask for potentials."""

    def _chunk_positions(self) -> int:
        """How many positions the potentials of a chunk should have."""
        return CHUNK_POSITIONS

    def _lists(self, labels: AnyArray, offsets: IndexArray) -> AnyArray:
        """Label codes of all positions as an array of lists of labels."""
        return label_lists(self.schema_, labels, offsets)


def _joined(nothing: AnyArray, parts: list[AnyArray], axis: int = 0) -> AnyArray:
    """What all chunks gave, end to end; `nothing` where there is no sequence and so no chunk."""
    return np.concatenate([nothing, *parts], axis=axis)


def label_names(schema: Schema) -> AnyArray:
    """The labels by their codes; UNLABELLED, the last, is None."""
    return object_array([*schema.labels, None])


def label_lists(schema: Schema, labels: AnyArray, offsets: IndexArray) -> AnyArray:
    """Label codes of all positions as an array of lists of labels."""
    flat = label_names(schema)[labels].tolist()
    ends = offsets.tolist()
    return object_array(flat[begin:end] for begin, end in itertools.pairwise(ends))


def object_array(items: Iterable[Any]) -> AnyArray:
    """A 1-D object array, filled slot by slot: np.array would make lists of one length a 2-D array."""
    listed = list(items)
    array = np.empty(len(listed), dtype=object)
    for i, item in enumerate(listed):
        array[i] = item
    return array


def log_share(whole: ChainPotentials, allowed: BoolArray | None) -> FloatArray:
    """log of the probability that every label is an allowed one, (s,): −inf where no legal labeling is allowed."""
    from hedgerow.chain.inference import legal_sequences, log_partition

    if allowed is None:
        return np.zeros(whole.n_sequences)
    part = whole.restrict(allowed)
    legal = np.flatnonzero(legal_sequences(part))
    shares: FloatArray = np.full(whole.n_sequences, -np.inf)
    if len(legal):
        shares[legal] = log_partition(part.take(legal)[0])
        shares[legal] -= log_partition(whole)[legal]
    np.minimum(shares, 0.0, out=shares)
    return shares


def allowed_labels(dataset: Dataset, rows: slice) -> BoolArray | None:
    """The labels that are possible at some positions, (n, K); None where any is."""
    if dataset.labels is None:
        return None
    labels = dataset.labels[rows]
    known = labels != UNLABELLED
    if dataset.allowed is not None:
        mask = dataset.allowed[rows].copy()
    elif known.any():
        mask = np.ones((len(labels), dataset.n_labels), dtype=bool)
    else:
        return None
    mask[known] = np.arange(dataset.n_labels) == labels[known, None]
    return mask


def is_label(value: Any) -> bool:
    """Whether a value is of a type that labels have."""
    return isinstance(value, (str, int, np.integer))


def checked_span(j: int, span: Any) -> tuple[int, int, Sequence[Label]]:
    """(sequence, first position, labels), or an error for what is none."""
    whole = (int, np.integer)
    if isinstance(span, (tuple, list)) and len(span) == 3:
        i, begin, labels = span
        if isinstance(i, whole) and isinstance(begin, whole) and isinstance(labels, (list, tuple, np.ndarray)):
            return int(i), int(begin), list(labels)
    raise InputError(f"span {j} is {span!r}", hint="Give (sequence, first position, list of labels).")
