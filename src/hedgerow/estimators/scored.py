"""What an estimator can do once it makes potentials: decode, marginals, k-best, samples, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain import inference
from hedgerow.chain.decoding import find_decoder, tilted
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label, locate
from hedgerow.data.labels import allowed_labels, is_label
from hedgerow.data.plan import is_frame
from hedgerow.data.readers.columns import objects
from hedgerow.declarations import Count, Range, check_value
from hedgerow.errors import InputError, quoted
from hedgerow.estimators.base import ChainModel, cut, label_lists, label_names
from hedgerow.estimators.predictor import Lean, Predictor
from hedgerow.estimators.stream import Stream, window_reach
from hedgerow.estimators.values import random_generator
from hedgerow.estimators.why.explanation import Explanation, Part
from hedgerow.legend import CODE, AnyArray, BoolArray, CodeArray, FloatArray
from hedgerow.parallel import CHUNK_POSITIONS, Chunk, over_chunks
from hedgerow.training.memory import check_k_best_memory

Result = TypeVar("Result")


class ScoredChain(ChainModel):
    """An estimator that scores labels and moves, and so knows the probability of every labeling.

    A subclass gives `_potentials`. One that only searches, or that sums over hidden states, is not one of these.

    temperature_ : what scores are divided by where they become probabilities (`calibration.py`)
    tilt_ : (K,), logarithms of the weights of labels (`class_weight`), by which the probabilities of the labels of a
        position are multiplied: those of labelings are not. None where there are none
    """

    temperature_: float = 1.0
    tilt_: FloatArray | None = None

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        """The potentials of sequences first … last-1."""
        raise NotImplementedError

    def _tempered(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        """The potentials divided by the temperature: their exponentials are probabilities."""
        return self._potentials(dataset, first, last).scaled(1.0 / self.temperature_)

    def _label_probs(self, potentials: ChainPotentials) -> FloatArray:
        """(n, K): what `predict_proba` says of a chunk."""
        return tilted(inference.node_marginals(potentials), self.tilt_)

    def _node_probs(self, dataset: Dataset) -> FloatArray:
        """(N, K): what it says of a corpus."""
        parts = self._over_chunks(dataset, lambda potentials, _: self._label_probs(potentials))
        return _join(np.empty((0, dataset.n_labels)), parts)

    def predictor(self) -> Predictor:
        """What predicts one sequence after another, with as little work for each as there can be."""
        check_is_fitted(self)
        return Predictor(self)

    def stream(self, lag: int = 0) -> Stream:
        """What labels a sequence whose positions come one by one: `push` a position, and the probabilities of its label
        come out, given all that came so far; with a lag, so many positions later, those given them, too.

        lag : how many positions after its own may tell of a label. Windows that look ahead add to the delay
        """
        check_is_fitted(self)
        check_value("lag", lag, Annotated[int, Range(0)])
        if what := self._no_stream():
            raise InputError(what, hint="See docs/streaming.md for those that have one.")
        return Stream(self, int(lag))

    def _no_stream(self) -> str:
        """Why the labels of a position cannot be told before the end; "" where they can."""
        return ""

    def _reach(self) -> tuple[int, int]:
        """How many positions before and after a position its scores depend on."""
        return window_reach(self.schema_)

    def _knows_ends(self) -> bool:
        """Whether the last position of a sequence may have other scores than it had before it was that."""
        return True

    def _own_predictor(self) -> Predictor:
        made: Predictor | None = self.__dict__.get("_predictor")
        if made is None:
            made = self._predictor = Predictor(self)
        return made

    def _lean(self) -> Lean | None:
        """How one short sequence is scored without a chunk; None where the model knows no such way."""
        return None

    def explain(
        self,
        X: Any,
        position: int,
        label: Label | None = None,
        *,
        against: Label | None = None,
        known: Any = None,
        counterfactuals: bool = False,
    ) -> Explanation:
        """Why a position has its label: the log-odds of the label against another one, as a sum of parts.

        Parameters
        ----------
        X : one sequence; or, of a model that was fitted to a frame, a frame, which is cut as that was
        position : the number of its position, or of the frame's row, from 0; from the end where it is negative
        label : the label to explain; by default the most probable one
        against : what it is compared with; by default the most probable of the others
        known : what is known of the labels of the sequence, as in `predict`, for this one sequence
        counterfactuals : look for the smallest changes that turn the most probable label, too
        """
        from hedgerow.estimators.why.parts import explain_position

        row = position
        if self.plan_ is not None and is_frame(X):
            dataset, position = self._sequence_of_row(X, known, row)
        else:
            dataset = self._dataset(X if isinstance(X, Dataset) else [X], None if known is None else [known], None)
        model, dataset = self._explained(dataset)
        found = explain_position(model, dataset, position, label, against)
        if counterfactuals:
            from hedgerow.estimators.why.counterfactuals import turning_changes

            found = replace(found, changes=turning_changes(model, dataset, int(position) % dataset.n_positions))
        return found if row is position else replace(found, position=int(row))

    def _sequence_of_row(self, frame: Any, known: Any, row: Any) -> tuple[Dataset, int]:
        """The sequence of a frame that has a row, and the place of the row in it."""
        read = self._given(frame, known)
        if read.order is None:
            raise InputError("X is a frame with a sequence in each row", hint="Give one of the sequences.")
        n = len(read.order)
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or not -n <= row < n:
            raise InputError(f"⟦position⟧ is {row!r}", hint=f"The frame has rows 0 to {n - 1}.")
        dataset = self._dataset(read.X, read.y, None)
        flat = int(np.flatnonzero(read.order == row % n)[0])
        sequence, position = locate(dataset.offsets, flat)
        return dataset.take(np.array([sequence])), position

    def _explained(self, dataset: Dataset) -> tuple[ScoredChain, Dataset]:
        """The model whose label `explain` tells of, and a corpus as it reads it."""
        return self, dataset

    def _attribute(self, dataset: Dataset, t: int, around: CodeArray, a: int, b: int) -> Iterable[Part] | None:
        """What the features of position t of the one sequence of a dataset add to the score of label a less that of b,
        with the labels `around` (n,); None where a model cannot tell.

        Scores are those of `_potentials`, without a temperature; what the label before adds need not be among them.
        """
        return None

    def predict(self, X: Any, *, decoder: str | None = None, known: Any = None, lengths: Any = None) -> Any:
        labels = self._own_predictor().labels(X, decoder, known) if lengths is None else None
        if labels is not None:
            return objects([labels])
        return super().predict(X, decoder=decoder, known=known, lengths=lengths)

    predict.__doc__ = ChainModel.predict.__doc__

    def _decoding(self, decoder: str | None) -> Callable[[Dataset], list[CodeArray]]:
        name = self._decoder_name() if decoder is None else decoder
        # One temperature of all scores changes no comparison of labelings.
        decode, tempered = find_decoder(name, self.beam_width, self.tilt_), name == "posterior"
        return lambda dataset: self._over_chunks(dataset, lambda chunk, _: decode(chunk, None), tempered=tempered)

    def predict_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> Any:
        """The probability of each label at each position: a list of (T, K) arrays, columns as in `classes_`. Of a data
        frame, a frame with a row for each of its rows and a column for each label."""
        short = self._own_predictor().probs(X, known) if lengths is None else None
        if short is not None:
            return [short]
        read = self._given(X, known)
        dataset = self._dataset(read.X, read.y, lengths)
        return read.table(cut(self._node_probs(dataset), dataset.offsets), self.classes_)

    def predict_k_best(
        self, X: Any, k: int = 5, *, known: Any = None, lengths: Any = None
    ) -> list[list[tuple[list[Label], float]]]:
        """The k most probable labelings of each sequence, with their probabilities, the best first."""
        check_value("k", k, Count)
        dataset = self._dataset(X, known, lengths)
        k = self._plan_k_best(dataset, int(k))
        chunks = self._over_chunks(dataset, lambda potentials, _: inference.k_best(potentials, k))
        names = label_names(self.schema_)
        return [
            [(names[path].tolist(), float(p)) for path, p in zip(best.labels, best.probs)]
            for chunk in chunks
            for best in chunk
        ]

    def _plan_k_best(self, dataset: Dataset, k: int) -> int:
        """How many labelings to look for: no more than there are, nor than there is memory for."""
        longest, K = int(np.diff(dataset.offsets).max(initial=1)), dataset.n_labels
        k = min(k, K**longest) if longest * np.log2(K) < 62 else k
        check_k_best_memory(k, K, longest, dataset.n_positions)
        return k

    def sample(
        self, X: Any, n_samples: int = 1, *, random_state: Any = None, known: Any = None, lengths: Any = None
    ) -> list[AnyArray]:
        """Labelings drawn from the model: n_samples times what `predict` returns."""
        check_value("n_samples", n_samples, Count)
        generator = random_generator(random_state)
        dataset = self._dataset(X, known, lengths)
        uniforms = generator.random_sample((n_samples, dataset.n_positions))
        drawn = self._over_chunks(dataset, lambda potentials, rows: inference.sample(potentials, uniforms[:, rows]))
        flat = _join(np.empty((n_samples, 0), CODE), drawn, axis=1)
        return [label_lists(self.schema_, labels, dataset.offsets) for labels in flat]

    def entropy(self, X: Any, *, lengths: Any = None) -> FloatArray:
        """How uncertain the labeling of each sequence is: its entropy in nats, (S,)."""
        dataset = self._dataset(X, None, lengths)
        return _join(np.empty(0), self._over_chunks(dataset, lambda potentials, _: inference.entropy(potentials)))

    def log_probability(self, X: Any, y: Any, *, lengths: Any = None) -> FloatArray:
        """log P(y | x) of each sequence, (S,). None and sets in y leave the label open: their labelings are summed.

        It is −inf where the constraints forbid y.
        """
        if y is None:
            raise InputError("y is missing", hint="Give the labels whose probability you ask for.")
        return self._log_probability(self._dataset(X, y, lengths))

    def _log_probability(self, dataset: Dataset) -> FloatArray:
        """(S,): log P of the labels of a dataset, summed over those that are not known."""

        def work(potentials: ChainPotentials, rows: slice) -> FloatArray:
            return log_share(potentials, allowed_labels(dataset, rows))

        return _join(np.empty(0), self._over_chunks(replace(dataset, labels=None, allowed=None), work))

    def span_probability(
        self, X: Any, spans: Sequence[tuple[int, int, Sequence[Label]]], *, lengths: Any = None
    ) -> FloatArray:
        """The probability that given labels stand at given places: spans of (sequence, first position, labels)."""
        dataset = self._dataset(X, None, lengths)
        codes = self.schema_.label_codes
        if not isinstance(spans, (list, tuple)):
            raise InputError(f"spans are {quoted(spans)}", hint="Give a list of (sequence, first position, labels).")
        probs: FloatArray = np.empty(len(spans))
        scored, potentials = -1, None
        for j, span in enumerate(spans):
            i, begin, labels = checked_span(j, span)
            if not 0 <= i < dataset.n_sequences:
                raise InputError(f"span {j} is in sequence {i} of {dataset.n_sequences}")
            unknown = [label for label in labels if not is_label(label) or label not in codes]
            if unknown:
                raise InputError(f"the label {unknown[0]!r} is not one of those seen in training", sequence=i)
            if potentials is None or i != scored:  # spans of one sequence mostly come together
                scored, potentials = i, self._tempered(dataset, i, i + 1)
            wanted = np.array([codes[label] for label in labels])
            probs[j] = np.exp(inference.span_log_probability(potentials, 0, begin, wanted))
        return probs

    def _over_chunks(
        self, dataset: Dataset, function: Callable[[ChainPotentials, slice], Result], *, tempered: bool = True
    ) -> list[Result]:
        """function(potentials, rows) for every chunk of the dataset, in threads, results in order.

        `rows` are the flat positions of the chunk. Labels that the dataset has are forced.
        """
        make = self._tempered if tempered else self._potentials

        def work(chunk: Chunk) -> Result:
            potentials = make(dataset, chunk.first, chunk.last)
            mask = allowed_labels(dataset, chunk.rows)
            return function(potentials if mask is None else potentials.restrict(mask), chunk.rows)

        self._prepare()
        if dataset.n_sequences == 1:
            return [work(Chunk(0, 1, slice(0, dataset.n_positions), dataset.offsets))]
        return over_chunks(work, dataset.offsets, self.n_jobs, self._chunk_positions())

    def _prepare(self) -> None:
        """Build what `_potentials` needs, before several threads call it."""

    def _chunk_positions(self) -> int:
        """About how many positions to score at once."""
        return CHUNK_POSITIONS


def _join(nothing: AnyArray, parts: list[AnyArray], axis: int = 0) -> AnyArray:
    """What all chunks gave, end to end; `nothing` where there is no sequence and so no chunk."""
    return np.concatenate([nothing, *parts], axis=axis)


def log_share(whole: ChainPotentials, allowed: BoolArray | None) -> FloatArray:
    """log of the probability that every label is an allowed one, (s,): −inf where no legal labeling is allowed."""
    if allowed is None:
        return np.zeros(whole.n_sequences)
    part = whole.restrict(allowed)
    legal = np.flatnonzero(inference.legal_sequences(part))
    shares: FloatArray = np.full(whole.n_sequences, -np.inf)
    if len(legal):
        shares[legal] = inference.log_partition(part.take(legal)[0])
        shares[legal] -= inference.log_partition(whole)[legal]
    np.minimum(shares, 0.0, out=shares)
    return shares


def checked_span(j: int, span: Any) -> tuple[int, int, Sequence[Label]]:
    """(sequence, first position, labels), or an error for what is none."""
    whole = (int, np.integer)
    if isinstance(span, (tuple, list)) and len(span) == 3:
        i, begin, labels = span
        if isinstance(i, whole) and isinstance(begin, whole) and isinstance(labels, (list, tuple, np.ndarray)):
            return int(i), int(begin), list(labels)
    raise InputError(f"span {j} is {span!r}", hint="Give (sequence, first position, list of labels).")
