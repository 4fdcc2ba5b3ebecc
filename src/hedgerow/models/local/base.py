"""What SlidingWindow, RecurrentSlidingWindow and MEMM share: a classifier of positions that sees the last labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import seen_schema
from hedgerow.declarations import check_parameters
from hedgerow.errors import InputError
from hedgerow.estimators.base import ChainModel, allowed_labels
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.missing import OF_LINEAR, OF_TREES, check_missing, seen_part
from hedgerow.estimators.parameters import find_decoder
from hedgerow.estimators.validation import encode_held_out
from hedgerow.legend import CODE, AnyArray, CodeArray
from hedgerow.linear.scorer import check_numbers
from hedgerow.models.local.foreign import ForeignScores, check_classifier
from hedgerow.models.local.potentials import order_many, order_one, order_zero
from hedgerow.models.local.rows import LinearScores, Rows, Scorer, TreeScores
from hedgerow.models.local.search import Tabled, search
from hedgerow.models.local.training import Fitted, Seen, fit_local, metric_name, new_scorer, true_histories
from hedgerow.parallel import CHUNK_POSITIONS, MAX_LANES, Lanes, plan_chunks

SEARCHES = ("greedy", "beam")
KINDS = ("linear", "trees")
MAX_SCORES = 100_000  # of a position, in sums over all labelings
_CHUNK_SCORES = 4_000_000
_SEARCH_POSITIONS = 20_000  # trees are made ready once a step: the more sequences take it, the better


class LocalModel(ChainModel):
    """P(label | last labels, window), trained on rows, one a position. A subclass says which labels a row sees."""

    order_: int  # how many labels a position sees
    scorer_: Any
    imputation_: Any
    backward_: bool  # whether labels that a position sees are those after it
    best_iteration_: int
    outcome_: str

    def _order(self) -> int:
        """How many labels a position is to see."""
        raise NotImplementedError

    def _backward(self) -> bool:
        """Whether they are to be those after it."""
        return False

    def _scorer(self) -> Any:
        """ "linear", "trees", or a classifier of scikit-learn."""
        raise NotImplementedError

    def _training_histories(self, dataset: Dataset) -> CodeArray:
        """int32 (N, order): the labels that each row is trained with."""
        return true_histories(self, dataset)

    # -------------------------------------------------------------------------------------------- training

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        lengths: Any = None,
    ) -> Self:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens, of attribute lists; 2-D arrays; data frames), a generator of
            them, `Sequences`, or flat arrays with `lengths`; or a Dataset that `hedgerow.data.encoding.learn` made
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible. A position counts
            where the labels that it sees are known
        sample_weight : (S,) weights of the sequences, or a list of arrays of 0 (unlabelled) and 1
        X_val, y_val : held-out sequences; training stops when `metric` on them no longer rises
        lengths : the lengths of the sequences, where X and y are flat
        """
        self._check_parameters()
        _check_held_out(X_val, y_val)
        if X_val is not None and self._scorer() not in KINDS:
            raise InputError(f"⟦X_val⟧ has no meaning for a {type(self._scorer()).__name__}", hint="Leave it out.")
        X, y = cut_flat(X, y, lengths)
        warm = self._goes_on()
        kept = warm and self._scorer() == "trees"  # trees go on with the columns that they have
        dataset = training_dataset(self, X, y, sample_weight, self.schema_ if kept else None)
        held_out = encode_held_out(dataset.schema, X_val, y_val)
        space = legal_space(dataset, self.constraints, forbid_unseen=self.transitions == "forbid_unseen")
        corpus = Seen(dataset, self._training_histories(dataset))
        fitted, imputation = fit_local(self, corpus, held_out, warm=warm)
        self.imputation_, self.space_ = imputation, space
        self._store(dataset, fitted)
        return self

    def _goes_on(self) -> bool:
        """Whether this fit begins with what the previous one learnt."""
        if not self.warm_start or not hasattr(self, "scorer_"):
            return False
        if type(new_scorer(self)) is not type(self.scorer_) or (self.order_, self.backward_) != (
            self._order(),
            self._backward(),
        ):
            hint = "Leave both as they were, or set ⟦warm_start=False⟧."
            raise InputError("the previous fit was by another classifier, or saw other labels", hint=hint)
        return True

    def _store(self, dataset: Dataset, fitted: Fitted) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        self.scorer_, self.runs_ = fitted.scorer, fitted.runs
        self.order_, self.backward_ = self._order(), self._backward()
        self.metadata_ = {}
        own = fitted.scorer if self._scorer() in KINDS else None
        self.history_ = getattr(own, "history_", [])
        self.n_iter_ = getattr(own, "n_iter_", 1)
        self.best_iteration_ = getattr(own, "best_iteration_", 1)
        self.loss_ = getattr(own, "loss_", fitted.loss)
        self.outcome_ = getattr(own, "outcome_", "converged")
        self.refitted_ = getattr(own, "refitted_", False)

    def _check_parameters(self) -> None:
        check_parameters(self)
        kind = self._scorer()
        if isinstance(kind, str) and kind in KINDS:
            check_missing(self, OF_LINEAR if kind == "linear" else (None, *OF_TREES))
            new_scorer(self)._check_parameters()
            return
        check_classifier(self._scorer_parameter(), kind)
        check_missing(self, OF_LINEAR)
        for name in ("early_stopping", "warm_start"):
            if getattr(self, name) is True:
                what = f"⟦{name}=True⟧ has no meaning for a {type(kind).__name__}"
                raise InputError(what, hint=f"It is for {' and '.join(map(repr, KINDS))}.")

    def _scorer_parameter(self) -> str:
        """What the parameter for the classifier is called."""
        return "classifier"

    @property
    def n_parameters_(self) -> int:
        """How many numbers were learnt: weights, or leaves of trees; 0 of a classifier that is not ours."""
        if self.runs_ is not None:
            return len(self.scorer_.weights_)
        return int(self.scorer_.ensemble_.n_leaves) if hasattr(self.scorer_, "ensemble_") else 0

    def _holds_out(self) -> bool:
        if isinstance(self.early_stopping, str) and self.early_stopping == "auto":
            return isinstance(self._scorer(), str) and self._scorer() == "trees"
        return bool(self.early_stopping)

    def _metric(self) -> Any:
        return metric_name(self)

    # -------------------------------------------------------------------------------------------- potentials

    def _prepare(self) -> None:
        if self.__dict__.get("_ready", (None,))[0] is not self.scorer_:
            self._ready = (self.scorer_, self._scores())

    def _is_ours(self) -> bool:
        """Whether rows were fitted by a LinearCRF or a TreeCRF."""
        return self.runs_ is not None or hasattr(self.scorer_, "ensemble_")

    def _scores(self) -> Scorer:
        order, schema = self.order_, seen_schema(self)
        if self.runs_ is not None:
            return LinearScores(self.scorer_, self.runs_, schema)
        if hasattr(self.scorer_, "ensemble_"):
            return TreeScores(self.scorer_, order, backward=self.backward_)
        return ForeignScores(self.scorer_, len(schema.labels), order)

    def _rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        self._prepare()
        scorer: Scorer = self._ready[1]
        return scorer.rows(*seen_part(self, dataset, first, last))

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        order, offsets = self.order_, dataset.offsets[first : last + 1] - dataset.offsets[first]
        check_scores(len(self.classes_), order)
        rows = self._rows(dataset, first, last)
        if order == 0:
            return order_zero(rows, offsets, self.space_, first)
        if order == 1:
            return order_one(rows, offsets, self.space_, first, backward=self.backward_)
        return order_many(rows, offsets, self.space_, first, order, backward=self.backward_)

    def _chunk_positions(self) -> int:
        return max(1, min(CHUNK_POSITIONS, _CHUNK_SCORES // count_scores(len(self.classes_), self.order_)))

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if self.imputation_ is None and not hasattr(self.scorer_, "ensemble_"):
            check_numbers(dataset, self.schema_)
        return dataset

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_ready", None)
        return state

    # -------------------------------------------------------------------------------------------- prediction

    def _decoder_name(self) -> str:
        """The decoder of sums and searches over potentials; greedy and beam search have names of their own."""
        name = self._search_name()
        return "viterbi" if name == "greedy" else name

    def _search_name(self) -> str:
        """The decoder of `predict`, where none is asked for."""
        if self.decoder != "auto":
            return str(self.decoder)
        many = hasattr(self, "order_") and count_scores(len(self.classes_), self.order_) > MAX_SCORES
        return "beam" if many else "viterbi"

    def predict(self, X: Any, *, decoder: str | None = None, known: Any = None, lengths: Any = None) -> AnyArray:
        """The labels of each sequence.

        Parameters
        ----------
        X : sequences, as in `fit`
        decoder : "viterbi" (the most probable labeling), "posterior" (the most probable label at each position),
            "greedy" (label by label) or "beam" (keeps `beam_width` labelings); the estimator's own by default
        known : what is known of the labels, shaped like y: None where nothing is, a label where it is forced, a set
            of labels where one of them is
        lengths : the lengths of the sequences, where X is one flat array

        Returns
        -------
        array of S lists of labels, dtype object
        """
        check_is_fitted(self)
        name = self._search_name() if decoder is None else decoder
        if name != "greedy":
            find_decoder(name)
        dataset = self._dataset(X, known, lengths)
        return self._lists(self._codes(dataset, name), dataset.offsets)

    def _codes(self, dataset: Dataset, name: str) -> CodeArray:
        """int32 (N,): the labels that a decoder finds."""
        order, width = self.order_, int(self.beam_width)
        if name in SEARCHES and order:
            parts = self._searched(dataset, 1 if name == "greedy" else width)
        else:
            decode = find_decoder("viterbi" if name in SEARCHES else name, width)
            parts = self._over_chunks(dataset, lambda potentials, _: decode(potentials, None))
        return np.concatenate([np.empty(0, CODE), *parts])

    def _searched(self, dataset: Dataset, width: int) -> list[CodeArray]:
        """Labels by search, chunk by chunk."""
        order, K = self.order_, len(self.classes_)
        longest = int(np.diff(dataset.offsets).max(initial=1))
        # A classifier of the user's is asked once a step, or once a label: whatever is less.
        tabled = order == 1 and (self._is_ours() or longest >= K)
        stepped = self.runs_ is None and not tabled
        size = _SEARCH_POSITIONS if stepped else max(1, min(CHUNK_POSITIONS, _CHUNK_SCORES // (K * (K + 1))))
        plan = plan_chunks(dataset.offsets, size)
        parts: list[Any] = [None] * (len(plan) - 1)

        def work(lane: int, c: int) -> None:
            first, last = int(plan[c]), int(plan[c + 1])
            offsets = dataset.offsets[first : last + 1] - dataset.offsets[first]
            rows = self._rows(dataset, first, last)
            parts[c] = search(
                Tabled(rows, int(offsets[-1])) if tabled else rows,
                offsets,
                self.space_,
                order,
                width,
                backward=self.backward_,
                allowed=allowed_labels(dataset, slice(int(dataset.offsets[first]), int(dataset.offsets[last]))),
                first_sequence=first,
            )

        self._prepare()
        with Lanes(self.n_jobs, max(1, min(MAX_LANES, len(parts)))) as lanes:
            lanes.run(work, len(parts))
        return parts


def count_scores(n_labels: int, order: int) -> int:
    """The scores of a position: of every label after every history."""
    return n_labels * sum(n_labels**d for d in range(order + 1)) if order else 1


def check_scores(n_labels: int, order: int) -> None:
    """Refuse sums over more histories than a position can have scores for."""
    n = count_scores(n_labels, order)
    if order > 1 and n > MAX_SCORES:
        what = f"⟦order⟧ {order} of {n_labels} labels has {n:,} scores a position, too many for sums over all labelings"
        raise InputError(what, hint="Predict with ⟦decoder='beam'⟧ or 'greedy', or give a lower ⟦order⟧.")


def _check_held_out(X_val: Any, y_val: Any) -> None:
    """Refuse one of the two without the other."""
    if isinstance(X_val, Dataset):
        if y_val is not None or X_val.labels is None:
            raise InputError("a Dataset as ⟦X_val⟧ brings its own labels", hint="Make it with y, and leave y_val out.")
    elif (X_val is None) != (y_val is None):
        raise InputError("⟦X_val and y_val⟧ go together", hint="Give both, or neither.")
