"""HMM: a hidden Markov model of labels and of what is seen with them, by counting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.inference import log_partition
from hedgerow.chain.objectives import tilt_of
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import MAX_ORDER
from hedgerow.data.dataset import Column, Dataset
from hedgerow.data.derived import stored_numbers
from hedgerow.data.plan import lay_out
from hedgerow.data.readers.grouping import Names
from hedgerow.declarations import Count, NonNegative, Range, declared, documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.facts import describe_end
from hedgerow.estimators.kept import Kept, keeping
from hedgerow.estimators.parameters import ClassWeighted, Columns, Constrained, Running, Transitions
from hedgerow.estimators.prepare import prepare
from hedgerow.estimators.scored import ScoredChain
from hedgerow.estimators.values import AUTO, class_weights
from hedgerow.estimators.why.explanation import Part
from hedgerow.legend import FIRST_VALUE, CodeArray, FloatArray
from hedgerow.models.hmm.emissions import check_columns, check_values
from hedgerow.models.hmm.moves import make_moves
from hedgerow.models.hmm.training import HMMTraining, make_potentials
from hedgerow.training.monitor import Monitor


@declared
class HMMParameters(Columns, ClassWeighted, Transitions, Constrained, Running):
    """The parameters of an HMM.

    Parameters
    ----------
    order
        How many labels before a label it depends on: 0 to 16. Histories that training does not show back off to
        shorter ones.
    class_weight : "balanced" or mapping of label to weight
        What the probabilities of a position's labels are multiplied by, as in LinearCRF with a likelihood.
    smoothing
        So many observations are added to those of each label, spread as the column is over all labels together; and to
        those of each history, spread as those of the next shorter history are. With 0, what was not seen is impossible.
    max_iter
        The most iterations of expectation-maximisation.
    tol
        It ends when the loss fell by less than this share in ten iterations.
    decoder
        The most probable labeling, at each position the most probable label, or what a beam search finds. "auto" is
        "posterior", and "viterbi" where labels make spans (B-NP, I-NP) and where some transitions are forbidden.
    """

    order: Annotated[int, Range(0, MAX_ORDER)] = 1
    smoothing: NonNegative = 1.0
    max_iter: Count = 200
    tol: NonNegative = 1e-6
    decoder: Literal["auto", "viterbi", "posterior", "beam"] = "auto"


@documented
class HMM(HMMParameters, ScoredChain):
    """A hidden Markov model: each label is drawn given the labels before it, and what is seen given its label.

    Trained by counting, in one pass. Labels that are not known are filled in by expectation-maximisation: None in y, a
    set of labels, or a sequence without any label.

    Columns are independent given the label: a category or a flag is drawn from a table, a number from a normal
    distribution, and each attribute of a position from one table of all attributes (multinomial; its value is how
    often it was drawn). What is missing, and a value that training never saw, adds no factor. There is no window:
    a position is drawn from its own label alone.

    Attributes
    ----------
    classes_ : array of labels, sorted
    start_probs_ : (K,), the probability that a label comes first
    transition_probs_ : (K, K), [from, to]; of order 1 only
    loss_ : −log P of all that training knows, less what smoothing adds to it
    n_iter_, history_ : iterations of expectation-maximisation, 0 where every label is known
    outcome_ : "converged", "max_iter" or "interrupted"

    Examples
    --------
    >>> from hedgerow import HMM
    >>> model = HMM().fit([["walk", "shop", "clean"], ["clean", "clean"]], [["sun", "sun", "rain"], ["rain", "rain"]])
    >>> model.predict([["walk", "clean", "clean"]]).tolist()
    [['sun', 'rain', 'rain']]
    """

    window = 0

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
    ) -> HMM:
        """Count; and where labels are not known, maximise the likelihood of what is.

        Parameters
        ----------
        y : lists of labels; None is unlabelled, a set gives the labels that are possible. Some label must be known
        X, sample_weight, lengths, by, label, time, max_gap, time_columns, tokens, checkpoint, callbacks : as in
            `LinearCRF.fit`
        """
        self._check_parameters()
        read = lay_out(self, X, y, by, label, time, max_gap, time_columns, tokens, lengths)
        window: Any = AUTO if isinstance(X, Dataset) else 0  # one that has a window is refused below
        with keeping(self, checkpoint, callbacks):
            ready = prepare(self._preparation(window=window), read.X, read.y, sample_weight, lengths=lengths)
            check_columns(ready.given.schema)
            check_values(ready.dataset)
            moves = make_moves(ready.dataset, int(self.order), ready.space)
            training = HMMTraining(ready.dataset, moves, ready.space, float(self.smoothing))
            with Monitor(max_iter=int(self.max_iter), tol=float(self.tol), verbose=self.verbose) as monitor:
                parameters = training.run(monitor, self.n_jobs)
        self.tilt_ = tilt_of("log_likelihood", class_weights(self.class_weight, ready.dataset))
        trained = monitor.trained(parameters)
        self._keep(ready.given.schema, trained)
        self.plan_ = read.plan
        self.space_, self.moves_, self.parameters_ = ready.space, moves, parameters
        if what := describe_end(trained, self.max_iter, "the parameters so far are kept"):
            warn(what, ConvergenceWarning, stacklevel=2)
        return self

    def log_likelihood(self, X: Any, *, lengths: Any = None) -> FloatArray:
        """log P(x) of each sequence, (S,): the sum over all its labelings."""
        dataset = self._dataset(X, None, lengths)
        parts = self._over_chunks(dataset, lambda potentials, _: log_partition(potentials))
        return np.concatenate([np.empty(0), *parts])

    def value_probs(self, column: str) -> dict[Any, FloatArray]:
        """P(value | label) of a column of categories or flags: value → (K,), labels as in `classes_`."""
        check_is_fitted(self)
        columns = self.schema_.of("categorical", "boolean")
        j = _place(column, columns, "categories or flags")
        vocabulary = columns[j].vocabulary
        values: list[Any] = [False, True] if vocabulary is None else list(vocabulary.names())
        emissions = self.parameters_.emissions
        first = int(emissions.base[j]) + FIRST_VALUE
        return {value: np.exp(emissions.codes[first + i]) for i, value in enumerate(values)}

    def normal(self, column: str) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a column of numbers for each label, (K,) each."""
        check_is_fitted(self)
        d = _place(column, stored_numbers(self.schema_), "numbers")
        return self.parameters_.emissions.means[d].copy(), self.parameters_.emissions.variances[d].copy()

    @property
    def n_parameters_(self) -> int:
        """How many probabilities, means and variances there are."""
        moves, emissions = self.parameters_
        tables = (moves.rows, emissions.codes, emissions.attributes, emissions.means, emissions.variances)
        return sum(table.size for table in tables)

    @property
    def start_probs_(self) -> FloatArray:
        """(K,), the probability that a label comes first."""
        row = 0 if self.order == 1 else self.moves_.histories.start  # type: ignore[union-attr]
        probs: FloatArray = np.exp(self.parameters_.moves.rows[row])
        return probs

    @property
    def transition_probs_(self) -> FloatArray:
        """(K, K), [from, to]. A model of another order than 1 has no such table."""
        if self.order != 1:
            raise AttributeError(f"an HMM of order {self.order} has no table of transitions")
        return np.exp(self.parameters_.moves.rows[1:])

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        return make_potentials(self.parameters_, self.space_, dataset, first, last)

    def _attribute(self, dataset: Dataset, t: int, around: CodeArray, a: int, b: int) -> Iterable[Part]:
        parts = self.parameters_.emissions.parts(dataset, t, a, b)
        return [Part("feature", name, 0, value, score) for name, value, score in parts if score != 0.0]

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        check_values(dataset)
        return dataset


def _place(name: str, columns: list[Column], kind: str) -> int:
    """The place of the column of this name among those of a kind."""
    names = [column.name for column in columns]
    if name not in names:
        raise InputError(f"is not a column of {kind} of this model", column=name)
    return names.index(name)
