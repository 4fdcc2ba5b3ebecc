"""IOHMM: hidden states that move, and give labels, as the input says (Bengio and Frasconi 1996)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.inference import best_labelings, log_partition, node_marginals
from hedgerow.chain.inference import sample as sample_states
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.errors import InputError
from hedgerow.estimators.base import ChainModel, allowed_labels, checked_span
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.parameters import check_choice, check_number, check_running, random_generator
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray
from hedgerow.linear.scorer import check_numbers
from hedgerow.models.iohmm.training import IOTraining, StateChain, label_shares, predicted_chain
from hedgerow.parallel import MAX_LANES, Lanes, count_lanes, plan_chunks
from hedgerow.training.monitor import Monitor

Result = TypeVar("Result")


class IOHMM(ChainModel):
    """An input/output hidden Markov model: hidden states between the input and the labels.

        P(y | x) = Σ_s P(s_1 | x_1) Π_t P(s_t | s_{t−1}, x_t) Π_t P(y_t | s_t, x_t)

    Every factor is a softmax that is linear in the features at its position. The states can remember what labels do
    not show. Transitions are normalised one by one, so that what comes later cannot change what a state was (label
    bias): P(label at t) depends on the input up to t alone, and the window.

    Trained by expectation-maximisation; the loss is not convex, and the best of `n_init` starts is kept.

    Given the input, labels depend on each other through states that are summed over. The probability of each label, and
    of given labels together, is exact; so are samples. The most probable labeling is not to be had in reasonable time:
    "viterbi" gives the labels of the most probable states and labels together, and k-best and entropy are refused.

    Parameters
    ----------
    n_states : int, optional
        Hidden states; by default as many as labels.
    window : int, pair or mapping, default 0
        Positions around t whose features count at t, as in LinearCRF.
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    l2 : float, default 0.1
        The penalty l2·‖w‖² on all weights.
    max_iter : int, default 200
        The most iterations of expectation-maximisation.
    tol : float, default 1e-4
        A start ends when the loss fell by less than this share in ten iterations.
    n_init : int, default 1
        How many starts; that with the smallest loss is kept.
    decoder : {"posterior", "viterbi"}, default "posterior"
    n_jobs : int, optional
        Threads; −1 is all cores. The result is the same to the bit.
    random_state : int, RandomState or None
        What the starts draw.
    verbose : int, default 0
        1 shows a progress bar on a terminal, and log lines (logger "hedgerow") elsewhere.

    Attributes
    ----------
    classes_ : array of labels, sorted
    n_states_ : hidden states
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

    early_stopping = False
    metric = "accuracy"

    def __init__(
        self,
        *,
        n_states: int | None = None,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        l2: float = 0.1,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_init: int = 1,
        decoder: str = "posterior",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.window = window
        self.columns = columns
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None) -> IOHMM:
        """Train on labelled sequences. X, y, sample_weight and lengths are as in `LinearCRF.fit`."""
        self._check_parameters()
        X, y = cut_flat(X, y, lengths)
        dataset = training_dataset(self, X, y, sample_weight)
        check_numbers(dataset, dataset.schema)
        n_states = dataset.n_labels if self.n_states is None else int(self.n_states)
        training = IOTraining(dataset, n_states, float(self.l2))
        generator = random_generator(self.random_state)
        seeds = generator.randint(2**31 - 1, size=int(self.n_init))
        options: dict[str, Any] = {"max_iter": int(self.max_iter), "tol": float(self.tol), "verbose": self.verbose}
        n_weights = training.moves.n_weights + training.outputs.n_weights
        with Lanes(self.n_jobs, count_lanes(n_weights, len(training.plan) - 1)) as lanes:
            generators = [np.random.RandomState(seed) for seed in seeds]
            trained = training.run(generators, [Monitor(**options) for _ in seeds], lanes)
        self.schema_, self.classes_ = dataset.schema, dataset.schema.classes
        self.n_states_ = n_states
        self.regressions_ = (training.moves, training.outputs)
        self.parameters_ = trained.weights
        self.metadata_ = {}
        self.history_, self.n_iter_, self.outcome_ = trained.history, len(trained.history), trained.outcome
        self.best_iteration_, self.loss_ = trained.kept.iteration, trained.kept.loss
        if self.outcome_ == "interrupted":
            what = "training was interrupted; the best weights so far are kept"
            warnings.warn(what, ConvergenceWarning, stacklevel=2)
        elif self.outcome_ == "max_iter":
            what = (
                f"training stopped after max_iter={self.max_iter} iterations before it converged; raise max_iter or tol"
            )
            warnings.warn(what, ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any, *, decoder: str | None = None, known: Any = None, lengths: Any = None) -> AnyArray:
        """The labels of each sequence.

        Parameters
        ----------
        X : sequences, as in `fit`
        decoder : "posterior" (the most probable label at each position) or "viterbi" (the labels of the most probable
            states and labels together); the estimator's own by default
        known : what is known of the labels, shaped like y: None, a label, or a set of labels
        lengths : the lengths of the sequences, where X is one flat array
        """
        name = self.decoder if decoder is None else decoder
        _check_decoder(name)
        dataset = self._dataset(X, known, lengths)
        labels = self._over_states(dataset, _best_path if name == "viterbi" else _most_probable)
        return self._lists(np.concatenate([np.empty(0, CODE), *labels]), dataset.offsets)

    def predict_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> list[FloatArray]:
        """The probability of each label at each position: a list of (T, K) arrays, columns as in `classes_`."""
        dataset = self._dataset(X, known, lengths)
        flat = np.concatenate([np.empty((0, dataset.n_labels)), *self._over_states(dataset, _label_probs)])
        return [flat[begin:end] for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:])]

    def state_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> list[FloatArray]:
        """The probability of each hidden state at each position: a list of (T, n_states) arrays."""
        dataset = self._dataset(X, known, lengths)
        parts = self._over_states(dataset, lambda chain: node_marginals(chain.potentials))
        flat = np.concatenate([np.empty((0, self.n_states_)), *parts])
        return [flat[begin:end] for begin, end in zip(dataset.offsets[:-1], dataset.offsets[1:])]

    def sample(
        self, X: Any, n_samples: int = 1, *, random_state: Any = None, known: Any = None, lengths: Any = None
    ) -> list[AnyArray]:
        """Labelings drawn from the model: n_samples times what `predict` returns."""
        check_number("n_samples", n_samples, low=1, whole=True)
        generator = random_generator(random_state)
        dataset = self._dataset(X, known, lengths)
        uniforms = generator.random_sample((2, n_samples, dataset.n_positions))
        plan = plan_chunks(dataset.offsets)
        begins = iter(dataset.offsets[plan[:-1]].tolist())

        def draw(chain: StateChain) -> CodeArray:
            begin = next(begins)
            own = uniforms[:, :, begin : begin + chain.potentials.n_positions]
            return _draw(chain, own[0], own[1])

        drawn = self._over_states(dataset, draw, n_jobs=None)
        flat = np.concatenate([np.empty((n_samples, 0), CODE), *drawn], axis=1)
        return [self._lists(labels, dataset.offsets) for labels in flat]

    def span_probability(
        self, X: Any, spans: Sequence[tuple[int, int, Sequence[Label]]], *, lengths: Any = None
    ) -> FloatArray:
        """The probability that given labels stand at given places: spans of (sequence, first position, labels)."""
        dataset = self._dataset(X, None, lengths)
        sizes = np.diff(dataset.offsets)
        found: FloatArray = np.empty(len(spans))
        for j, span in enumerate(spans):
            i, begin, labels = checked_span(j, span)
            if not 0 <= i < len(dataset) or not 0 <= begin <= begin + len(labels) <= sizes[i]:
                raise InputError(f"span {j} is {span!r}, which is not inside the {len(dataset)} sequences")
            y = [[None] * begin + list(labels) + [None] * int(sizes[i] - begin - len(labels))]
            one = self._dataset(dataset.take(np.array([i])), y, None)
            found[j] = np.exp(self._log_probability(one)[0])
        return found

    def predict_k_best(self, X: Any, k: int = 5, *, known: Any = None, lengths: Any = None) -> NoReturn:
        """Refused: many state sequences share a labeling."""
        raise InputError(
            "an IOHMM has no list of best labelings: many sequences of states share one",
            hint="Use sample(), which is exact, or predict_proba().",
        )

    def entropy(self, X: Any, *, lengths: Any = None) -> NoReturn:
        """Refused: many state sequences share a labeling."""
        raise InputError(
            "the entropy over labelings of an IOHMM cannot be summed up: many sequences of states share one",
            hint="Use the mean of −log_probability of samples.",
        )

    @property
    def n_parameters_(self) -> int:
        """How many weights there are."""
        return sum(len(own) for own in self.parameters_)

    def _log_probability(self, dataset: Dataset) -> FloatArray:
        parts = self._over_states(dataset, lambda chain: log_partition(chain.potentials))
        logs: FloatArray = np.minimum(np.concatenate([np.empty(0), *parts]), 0.0)
        return logs

    def _check_parameters(self) -> None:
        if self.n_states is not None:
            check_number("n_states", self.n_states, low=1, whole=True)
        check_number("l2", self.l2, low=0.0)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0.0)
        check_number("n_init", self.n_init, low=1, whole=True)
        _check_decoder(self.decoder)
        random_generator(self.random_state)
        check_running(self)

    def _over_states(
        self, dataset: Dataset, function: Callable[[StateChain], Result], n_jobs: Any = "own"
    ) -> list[Result]:
        """function(chain) for every chunk of the dataset, results in order. Labels that the dataset has are known."""
        check_is_fitted(self)
        moves, outputs = (own.loaded(weights) for own, weights in zip(self.regressions_, self.parameters_))
        plan = plan_chunks(dataset.offsets)
        results: list[Any] = [None] * (len(plan) - 1)

        def work(lane: int, c: int) -> None:
            first, last = int(plan[c]), int(plan[c + 1])
            mask = allowed_labels(dataset, slice(int(dataset.offsets[first]), int(dataset.offsets[last])))
            results[c] = function(predicted_chain(moves, outputs, dataset, first, last, mask))

        with Lanes(self.n_jobs if n_jobs == "own" else n_jobs, max(1, min(MAX_LANES, len(results)))) as lanes:
            lanes.run(work, len(results))
        return results

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        raise InputError("an IOHMM has no scores of labels, but of states", hint="Use its own methods.")

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        check_numbers(dataset, self.schema_)
        return dataset


def _check_decoder(name: Any) -> None:
    check_choice("decoder", name, ("posterior", "viterbi"))


def _label_probs(chain: StateChain) -> FloatArray:
    """(m, K), Σ_j P(s_t = j) · P(label | j)."""
    states = node_marginals(chain.potentials)
    probs: FloatArray = np.einsum("tj,tjk->tk", states, label_shares(chain), optimize=False)
    return probs


def _most_probable(chain: StateChain) -> CodeArray:
    labels: CodeArray = np.argmax(_label_probs(chain), axis=1).astype(CODE)
    return labels


def _best_path(chain: StateChain) -> CodeArray:
    """The labels of the best states and labels together: of each state only its best label can be part of it."""
    own = chain.potentials
    nodes = own.node_scores + chain.label_logs.max(axis=2) - np.where(np.isfinite(chain.evidence), chain.evidence, 0.0)
    best = ChainPotentials(nodes, own.offsets, own.edges, own.sequence_base)
    states = best_labelings(best)[0]
    labels: CodeArray = chain.label_logs.argmax(axis=2)[np.arange(len(states)), states].astype(CODE)
    return labels


def _draw(chain: StateChain, state_uniforms: FloatArray, label_uniforms: FloatArray) -> CodeArray:
    """(samples, m): states by what is known, then a label for each."""
    states = sample_states(chain.potentials, state_uniforms)
    cumulated = np.cumsum(label_shares(chain), axis=2)
    drawn = np.empty(states.shape, dtype=CODE)
    for own, path, uniforms in zip(drawn, states, label_uniforms):
        steps = cumulated[np.arange(len(path)), path]
        own[:] = (steps <= (uniforms * steps[:, -1])[:, None]).sum(axis=1)
    return drawn
