"""IOHMM: hidden states that move, and give labels, as the input says (Bengio and Frasconi 1996)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.decoding import tilted
from hedgerow.chain.inference import best_labelings, log_partition, node_marginals
from hedgerow.chain.inference import sample as sample_states
from hedgerow.chain.objectives import tilt_of
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.plan import lay_out
from hedgerow.data.readers.grouping import Names
from hedgerow.declarations import Count, NonNegative, check_value, declared, documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.base import ChainModel, cut, label_lists
from hedgerow.estimators.facts import describe_end
from hedgerow.estimators.kept import Kept, keeping
from hedgerow.estimators.parameters import ClassWeighted, Drawing, Penalty, Running, Windowed
from hedgerow.estimators.prepare import prepare
from hedgerow.estimators.scored import checked_span
from hedgerow.estimators.values import class_weights, random_generator
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray
from hedgerow.models.iohmm.training import IOTraining, StateChain, label_shares, predicted_chain
from hedgerow.models.local.memm import MEMM, quick_memm
from hedgerow.parallel import Chunk, Lanes, count_lanes, over_chunks
from hedgerow.training.ctrl_c import stages
from hedgerow.training.monitor import Monitor

Decoder = Literal["posterior", "viterbi"]
Result = TypeVar("Result")


@declared
class IOHMMParameters(Penalty, Windowed, ClassWeighted, Drawing, Running):
    """The parameters of an IOHMM.

    Parameters
    ----------
    n_states
        Hidden states; by default as many as labels.
    l2
        The penalty l2·‖w‖² on all weights.
    class_weight : "balanced" or mapping of label to weight
        What the probabilities of a position's labels are multiplied by, as in LinearCRF with a likelihood.
    max_iter
        The most iterations of expectation-maximisation.
    tol
        A start ends when the loss fell by less than this share in ten iterations.
    n_init
        How many starts; that with the smallest loss is kept.
    decoder
        "posterior" gives each position its most probable label, "viterbi" the labels of the most probable states and
        labels together.
    random_state : int or RandomState
        What the starts draw.
    """

    n_states: Count | None = None
    l2: NonNegative = 0.1
    max_iter: Count = 200
    tol: NonNegative = 1e-4
    n_init: Count = 1
    decoder: Decoder = "posterior"


@documented
class IOHMM(IOHMMParameters, ChainModel):
    """An input/output hidden Markov model: hidden states between the input and the labels.

        P(y | x) = Σ_s P(s_1 | x_1) Π_t P(s_t | s_{t−1}, x_t) Π_t P(y_t | s_t, x_t)

    Every factor is a softmax that is linear in the features at its position. The states can remember what labels do
    not show. Transitions are normalised one by one, so that what comes later cannot change what a state was (label
    bias): P(label at t) depends on the input up to t alone, and the window.

    Trained by expectation-maximisation; the loss is not convex, and the best of `n_init` starts is kept.

    Given the input, labels depend on each other through states that are summed over. The probability of each label, and
    of given labels together, is exact; so are samples. The most probable labeling cannot be found in reasonable time:
    "viterbi" gives the labels of the most probable states and labels together, and there is no k-best and no entropy.

    Attributes
    ----------
    classes_ : array of labels, sorted
    n_states_ : hidden states
    tilt_ : (K,), logarithms of the weights of labels, where there are some, as in LinearCRF
    loss_ : −log P(y | x) of the training labels, and the penalty
    n_iter_, history_, outcome_, best_iteration_ : of the start that was kept

    Examples
    --------
    >>> from hedgerow import IOHMM
    >>> X = [["on", "x", "x", "off", "x"], ["off", "x", "on", "x"]] * 10
    >>> y = [["c", "1", "1", "c", "0"], ["c", "0", "c", "1"]] * 10
    >>> model = IOHMM(n_states=4, random_state=0).fit(X, y)
    >>> model.predict([["on", "x", "x", "x", "off", "x"]]).tolist()
    [['c', '1', '1', '1', 'c', '0']]
    """

    tilt_: FloatArray | None = None

    @stages()
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        lengths: Any = None,
        by: Names = None,
        label: str | None = None,
        time: str | None = None,
        max_gap: Any = None,
        time_columns: Any = None,
        tokens: str | None = None,
        checkpoint: Kept = None,
        callbacks: Any = None,
    ) -> IOHMM:
        """Train on labelled sequences. The parameters are as in `LinearCRF.fit`."""
        self._check_parameters()
        read = lay_out(self, X, y, by, label, time, max_gap, time_columns, tokens, lengths)
        with keeping(self, checkpoint, callbacks):
            ready = prepare(self._preparation(needs_numbers=True), read.X, read.y, sample_weight, lengths=lengths)
            dataset = ready.dataset
            n_states = dataset.n_labels if self.n_states is None else int(self.n_states)
            weights = class_weights(self.class_weight, dataset)
            training = IOTraining(dataset, n_states, float(self.l2))
            seeds = random_generator(self.random_state).randint(2**31 - 1, size=int(self.n_init))
            options: dict[str, Any] = {"max_iter": int(self.max_iter), "tol": float(self.tol), "verbose": self.verbose}
            n_weights = training.moves.n_weights + training.outputs.n_weights
            with Lanes(self.n_jobs, count_lanes(n_weights, len(training.chunks))) as lanes:
                generators = [np.random.RandomState(seed) for seed in seeds]
                trained = training.run(generators, [Monitor(**options) for _ in seeds], lanes)
            self._keep(ready.given.schema, trained)
            self.plan_ = read.plan
            self.n_states_ = n_states
            self.regressions_ = (training.moves, training.outputs)
            self.parameters_ = trained.learnt
            self.tilt_ = tilt_of("log_likelihood", weights)
        what = describe_end(trained, self.max_iter)
        if trained.outcome == "interrupted":  # not after `n_iter_`, which is that of the start that was kept
            what = "training was interrupted; the best weights so far are kept"
        if what:
            warn(what, ConvergenceWarning, stacklevel=3)  # `stages` is one
        return self

    def _quick(self) -> MEMM:
        return quick_memm(self, 1, trees=False)

    def _decoding(self, decoder: str | None) -> Callable[[Dataset], list[CodeArray]]:
        name = self.decoder if decoder is None else decoder
        check_value("decoder", name, Decoder)
        return lambda dataset: self._over_states(
            dataset, lambda chain, _: _best_path(chain) if name == "viterbi" else _most_probable(chain, self.tilt_)
        )

    def predict_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> Any:
        """The probability of each label at each position: a list of (T, K) arrays, columns as in `classes_`. Of a data
        frame, a frame with a row for each of its rows and a column for each label."""
        read = self._given(X, known)
        dataset = self._dataset(read.X, read.y, lengths)
        parts = self._over_states(dataset, lambda chain, _: tilted(_label_probs(chain), self.tilt_))
        found = cut(np.concatenate([np.empty((0, dataset.n_labels)), *parts]), dataset.offsets)
        return read.table(found, self.classes_)

    def state_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> list[FloatArray]:
        """The probability of each hidden state at each position: a list of (T, n_states) arrays."""
        dataset = self._dataset(X, known, lengths)
        parts = self._over_states(dataset, lambda chain, _: node_marginals(chain.potentials))
        return cut(np.concatenate([np.empty((0, self.n_states_)), *parts]), dataset.offsets)

    def sample(
        self, X: Any, n_samples: int = 1, *, random_state: Any = None, known: Any = None, lengths: Any = None
    ) -> list[AnyArray]:
        """Labelings drawn from the model: n_samples times what `predict` returns."""
        check_value("n_samples", n_samples, Count)
        generator = random_generator(random_state)
        dataset = self._dataset(X, known, lengths)
        uniforms = generator.random_sample((2, n_samples, dataset.n_positions))
        drawn = self._over_states(dataset, lambda chain, rows: _draw(chain, *uniforms[:, :, rows]))
        flat = np.concatenate([np.empty((n_samples, 0), CODE), *drawn], axis=1)
        return [label_lists(self.schema_, labels, dataset.offsets) for labels in flat]

    def span_probability(
        self, X: Any, spans: Sequence[tuple[int, int, Sequence[Label]]], *, lengths: Any = None
    ) -> FloatArray:
        """The probability that given labels stand at given places: spans of (sequence, first position, labels)."""
        dataset = self._dataset(X, None, lengths)
        sizes = np.diff(dataset.offsets)
        probs: FloatArray = np.empty(len(spans))
        for j, span in enumerate(spans):
            i, begin, labels = checked_span(j, span)
            if not 0 <= i < len(dataset) or not 0 <= begin <= begin + len(labels) <= sizes[i]:
                raise InputError(f"span {j} is {span!r}, which is not inside the {len(dataset)} sequences")
            y = [[None] * begin + list(labels) + [None] * int(sizes[i] - begin - len(labels))]
            one = self._dataset(dataset.take(np.array([i])), y, None)
            probs[j] = np.exp(self._log_probability(one)[0])
        return probs

    def log_probability(self, X: Any, y: Any, *, lengths: Any = None) -> FloatArray:
        """log P(y | x) of each sequence, (S,). None and sets in y leave the label open: their labelings are summed."""
        if y is None:
            raise InputError("y is missing", hint="Give the labels whose probability you ask for.")
        return self._log_probability(self._dataset(X, y, lengths))

    @property
    def n_parameters_(self) -> int:
        """How many weights there are."""
        return sum(len(weights) for weights in self.parameters_)

    def _log_probability(self, dataset: Dataset) -> FloatArray:
        parts = self._over_states(dataset, lambda chain, _: log_partition(chain.potentials))
        logs: FloatArray = np.minimum(np.concatenate([np.empty(0), *parts]), 0.0)
        return logs

    def _over_states(self, dataset: Dataset, function: Callable[[StateChain, slice], Result]) -> list[Result]:
        """function(chain, rows) for every chunk of the dataset, in threads, results in order.

        `rows` are the flat positions of the chunk. Labels that the dataset has are known.
        """
        check_is_fitted(self)
        moves, outputs = (one.loaded(weights) for one, weights in zip(self.regressions_, self.parameters_))

        def work(chunk: Chunk) -> Result:
            return function(predicted_chain(moves, outputs, dataset, chunk), chunk.rows)

        return over_chunks(work, dataset.offsets, self.n_jobs)

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        dataset.require_numbers()
        return dataset


def _label_probs(chain: StateChain) -> FloatArray:
    """(m, K), Σ_j P(s_t = j) · P(label | j)."""
    states = node_marginals(chain.potentials)
    probs: FloatArray = np.einsum("tj,tjk->tk", states, label_shares(chain), optimize=False)
    return probs


def _most_probable(chain: StateChain, tilt: FloatArray | None) -> CodeArray:
    labels: CodeArray = np.argmax(tilted(_label_probs(chain), tilt), axis=1).astype(CODE)
    return labels


def _best_path(chain: StateChain) -> CodeArray:
    """The labels of the best states and labels together: of each state only its best label can be part of it."""
    potentials = chain.potentials
    nodes = (
        potentials.node_scores
        + chain.label_logs.max(axis=2)
        - np.where(np.isfinite(chain.evidence), chain.evidence, 0.0)
    )
    best = ChainPotentials(nodes, potentials.offsets, potentials.edges, potentials.sequence_base)
    states = best_labelings(best)[0]
    labels: CodeArray = chain.label_logs.argmax(axis=2)[np.arange(len(states)), states].astype(CODE)
    return labels


def _draw(chain: StateChain, state_uniforms: FloatArray, label_uniforms: FloatArray) -> CodeArray:
    """(samples, m): states by what is known, then a label for each."""
    states = sample_states(chain.potentials, state_uniforms)
    cumulated = np.cumsum(label_shares(chain), axis=2)
    drawn = np.empty(states.shape, dtype=CODE)
    for labels, path, uniforms in zip(drawn, states, label_uniforms):
        steps = cumulated[np.arange(len(path)), path]
        labels[:] = (steps <= (uniforms * steps[:, -1])[:, None]).sum(axis=1)
    return drawn
