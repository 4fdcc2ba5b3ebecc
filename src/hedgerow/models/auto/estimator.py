"""AutoLabeler: one estimator that tries the others and keeps the best, or an average of the best."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.data.derived import with_features
from hedgerow.data.plan import lay_out
from hedgerow.data.readers.grouping import Names
from hedgerow.data.settling import Learnt
from hedgerow.data.windows import windowed, with_window
from hedgerow.data.words import word_kind
from hedgerow.declarations import documented
from hedgerow.errors import HedgerowError, InputError, warn
from hedgerow.estimators.base import cut
from hedgerow.estimators.facts import model_sizes
from hedgerow.estimators.holding_out import Fold
from hedgerow.estimators.kept import Kept, keeping, refuse_checkpoint
from hedgerow.estimators.prepare import Preparation, encode_held_out, numbered, read_corpus, that_count
from hedgerow.estimators.scored import ScoredChain
from hedgerow.estimators.stream import AverageStream, window_reach
from hedgerow.estimators.values import is_auto, random_generator
from hedgerow.estimators.window_choice import choose_features, choose_window
from hedgerow.legend import CODE, CodeArray
from hedgerow.models.auto.candidates import (
    Traits,
    changed_parameters,
    cost,
    first_guesses,
    first_window,
    in_python,
    set_up,
)
from hedgerow.models.auto.combined import average, choose_members, mean_probs, seen_by
from hedgerow.models.auto.folds import FoldedCorpus, cut_pieces, make_folds, number_groups
from hedgerow.models.auto.judging import POSTERIOR, Judge, find_doubt, find_temperature, softened
from hedgerow.models.auto.leaderboard import Leaderboard, make_leaderboard
from hedgerow.models.auto.parameters import AutoParameters
from hedgerow.models.auto.search import LOOKING, Search
from hedgerow.models.auto.trials import INTERRUPTED, OUT_OF_TIME, Trial, Tries, without_temperature
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.training.ctrl_c import stages
from hedgerow.training.deadline import Deadline
from hedgerow.training.monitor import say

Result = TypeVar("Result")


def _clock() -> float:
    from hedgerow.jit import clock

    return clock()


@documented
class AutoLabeler(AutoParameters, ScoredChain):
    """Finds the model: a linear CRF, a CRF of boosted trees, trees on a linear CRF, a MEMM or an HMM, with its window,
    order, penalties and decoder.

    Models are tried by cross-validation, the best first guess first: all of them briefly where the corpus is large, the
    better ones on a fold, the best on all folds, and then what is near the best. The result, trained on all sequences,
    is the best model, or an average of the best few where that is clearly better on held-out sequences. Ctrl-C ends the
    search and keeps the best so far.

    What an average has no answer to (whole labelings: `predict_k_best`, `sample`, `log_probability`,
    `span_probability`, `entropy`, "viterbi"; and `explain`) is answered by `best_estimator_`, without `temperature_`
    and `doubt_`: these are of `predict_proba` alone. `predict` gives the same labels with them and without.

    Attributes
    ----------
    classes_ : array of labels, sorted
    best_estimator_ : the best model, trained on all sequences
    estimators_ : the models whose probabilities are averaged, the best first; often that one alone
    best_params_ : the settings of the best model that are not the default
    best_score_ : its score on held-out sequences; NaN where nothing was tried
    leaderboard_ : what was tried, the best first, a dict each; `print` shows a table
    chosen_ : the line of Python that trains the same again; its probabilities are those before the temperature
    temperature_ : what the logarithms of probabilities are divided by, as held-out sequences say; 1 where none are
    doubt_ : the share of `predict_proba` that all labels that are possible get alike, as held-out sequences say; 0
        where none are
    n_iter_ : how many models were tried, best_iteration_ : which of them was the best
    loss_ : −log of the probability that the best gives to a true label of held-out sequences, on average
    outcome_ : why the search ended: "time_budget", "n_trials", "exhausted" (nothing near the best is left to try),
        "interrupted" or "candidates" (nothing was to be tried)

    Examples
    --------
    >>> from hedgerow import AutoLabeler
    >>> from hedgerow.datasets import make_sequences
    >>> X, y = make_sequences(20, mean_length=5, random_state=0)
    >>> model = AutoLabeler(n_trials=3, random_state=0).fit(X, y)
    >>> len(model.leaderboard_)
    3
    """

    best_estimator_: ScoredChain
    estimators_: list[Any]
    best_score_: float
    leaderboard_: Leaderboard
    chosen_: str
    temperature_: float
    doubt_: float

    # -------------------------------------------------------------------------------------------- training

    @stages()
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        groups: Any = None,
        lengths: Any = None,
        by: Names = None,
        label: str | None = None,
        time: str | None = None,
        max_gap: Any = None,
        time_columns: Any = None,
        tokens: str | None = None,
        checkpoint: Kept = None,
        callbacks: Any = None,
    ) -> AutoLabeler:
        """Find the best model and train it on all sequences.

        Parameters
        ----------
        X, y, sample_weight, lengths, by, label, time, max_gap, time_columns, tokens : as in `LinearCRF.fit`
        X_val, y_val : held-out sequences to choose by, in place of cross-validation; nothing is trained on them
        groups : (S,), such as the speaker of each sequence; sequences of one group are held out together
        checkpoint : as in `LinearCRF.fit`, with `n_trials`: what a time allows is never the same
        callbacks : as in `LinearCRF.fit`; told of the trainings of all trials
        """
        self._check_parameters()
        if word_kind(self.features) is not None:
            what = f"⟦features={self.features!r}⟧ are of words, and AutoLabeler looks for windows of plain columns"
            raise InputError(what, hint="Use LinearCRF or TreeCRF, or give X as hedgerow.features.word_features(X).")
        read = lay_out(self, X, y, by, label, time, max_gap, time_columns, tokens, lengths)
        with keeping(self, checkpoint, callbacks):
            self._fit(read.X, read.y, sample_weight, *read.also(X_val, y_val), groups, lengths)
        self.plan_ = read.plan
        if self.outcome_ == INTERRUPTED:
            what = f"the search was interrupted after {self.n_iter_} models; the best of them is kept"
            warn(what, ConvergenceWarning, stacklevel=3)  # `stages` is one
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, groups: Any, lengths: Any) -> None:
        deadline = Deadline(math.inf if self.n_trials is not None else float(self.time_budget), _clock)
        rng = random_generator(self.random_state)
        drawn = int(rng.randint(2**31 - 1))
        seed = int(self.random_state) if isinstance(self.random_state, (int, np.integer)) else drawn
        given = not is_auto(self.window)
        features = None if is_auto(self.features) else self.features
        wanted = Preparation(columns=self.columns, window=self.window if given else 0, features=features)
        kept, (X, y, sample_weight, groups), lengths = that_count(X, y, sample_weight, lengths, groups)
        with numbered(kept):
            learnt, weighted = read_corpus(wanted, X, y, sample_weight, lengths)
        if is_auto(self.features) and not isinstance(X, Dataset):
            with deadline.within(LOOKING * deadline.left).applied():
                learnt, weighted = _with_own_features(learnt, weighted, self.window)
        traits = Traits.of(learnt.dataset)
        given = given or isinstance(X, Dataset)
        window = learnt.dataset.schema.window if isinstance(X, Dataset) else first_window(traits, self.window)
        models = first_guesses(traits) if self.candidates is None else list(self.candidates)
        judge = Judge(self.scoring, learnt.dataset, constrained=self.constraints is not None)
        whole = _Whole(weighted, deadline, self)
        if self.cv == 0:
            if self.candidates is None:
                raise InputError("⟦cv=0⟧ tries nothing", hint="Give the ⟦candidates⟧ that are to be averaged.")
            windows = [window if given else _own_window(model, weighted) for model in models]
            made = [set_up(model, self, traits, own, seed) for model, own in zip(models, windows)]
            self._keep_models([whole.train(model) for model in made], judge, "candidates")
            return
        held = encode_held_out(learnt.dataset.schema, X_val, y_val)
        if held is not None and groups is not None:
            raise InputError("⟦groups⟧ are for cross-validation, and ⟦X_val⟧ is given", hint="Leave one of them out.")
        folds, pieces = self._folds(learnt.dataset, held, groups, rng)
        corpus = FoldedCorpus(learnt, weighted, pieces, folds, given=held, own_schema=isinstance(X, Dataset))
        free = not given and traits.has_columns
        search = Search(Tries(corpus, judge), self, traits, deadline, seed=seed, free=free)
        search.run(models, window)
        self._finish(search, whole, models, window)

    def _folds(
        self, dataset: Dataset, held: Dataset | None, groups: Any, rng: np.random.RandomState
    ) -> tuple[list[Fold], Any]:
        """What is held out, and of which pieces."""
        codes = None if groups is None else number_groups(groups, len(dataset))
        gap = max(2, *window_reach(dataset.schema))
        pieces = cut_pieces(dataset, self.cv, gap, whole=held is not None or groups is not None)
        if held is not None:
            everything = np.arange(len(dataset))
            return [Fold(everything, np.empty(0, dtype=everything.dtype))], pieces
        parts = dataset.cut(*pieces)
        return make_folds(parts, self.cv, codes, rng), pieces

    def _finish(self, search: Search, whole: _Whole, models: list[Any], window: Window) -> None:
        """Train the best on all sequences and keep it, with what the search found."""
        tries, leader = search.tries, search.leader
        if leader is None:
            members: list[Trial] = []
            cheapest = sorted(models, key=cost)
            fitted = [whole.first(set_up(model, self, search.traits, window, search.seed) for model in cheapest)]
        else:
            alone = search.outcome == INTERRUPTED
            members = [leader] if alone else choose_members(tries, leader, search.trials, int(self.max_models))
            members = [trial for i, trial in enumerate(members) if i == 0 or whole.has_time(trial, tries)]
            fitted = [whole.train(_ready(tries, trial)) for trial in members]
        self._keep_models(fitted, tries.judge, search.outcome)
        self.leaderboard_ = make_leaderboard(search, members)
        self.n_iter_ = len(search.trials)
        if leader is not None:
            folds = tuple(sorted(leader.answers))
            self.best_iteration_ = leader.number
            self.best_score_ = float(tries.stages(leader, folds)[0])
            self.loss_ = -float(tries.log_probs(leader, folds)[0])
            if folds:
                said = tries.truths(folds), average(members, folds)
                self.temperature_ = find_temperature(*said)
                self.doubt_ = find_doubt(*said, self.temperature_)

    def _keep_models(self, fitted: list[Any], judge: Judge, outcome: str) -> None:
        best = fitted[0]
        self.estimators_, self.best_estimator_ = fitted, best
        self.schema_, self.classes_ = best.schema_, best.schema_.classes
        self.best_params_ = changed_parameters(best)
        self.leaderboard_, self.metadata_, self.history_ = Leaderboard(), {}, []
        self.n_iter_ = self.best_iteration_ = 0
        self.loss_, self.best_score_, self.outcome_ = 0.0, math.nan, outcome
        self.temperature_, self.doubt_ = 1.0, 0.0
        self.scoring_ = judge.name
        self.chosen_ = self._line()

    def _line(self) -> str:
        """The line of Python that trains the same again."""
        lines = [in_python(model, ("n_jobs",)) for model in self.estimators_]
        if len(lines) == 1:
            return f"{lines[0]}.fit(X, y)"
        seeds = [model.random_state for model in self.estimators_ if hasattr(model, "random_state")]
        same = {"columns": None if self.columns is None else dict(self.columns), "random_state": (seeds or [None])[0]}
        same |= {"features": list(self.schema_.features) or None}
        more = "".join(f", {name}={value!r}" for name, value in same.items() if value is not None)
        return f"AutoLabeler(candidates=[{', '.join(lines)}], cv=0{more}).fit(X, y)"

    def _check_kept(self) -> None:
        if self.n_trials is None and self.cv != 0:
            refuse_checkpoint("⟦time_budget⟧", "Give ⟦n_trials⟧: what a time allows is never the same.")
        for model in self.candidates or ():
            model._check_kept()

    # -------------------------------------------------------------------------------------------- prediction

    def predict_proba(self, X: Any, *, known: Any = None, lengths: Any = None) -> Any:
        """The probability of each label at each position: a list of (T, K) arrays, columns as in `classes_`. Of a data
        frame, a frame with a row for each of its rows and a column for each label."""
        read = self._given(X, known)
        dataset = self._dataset(read.X, read.y, lengths)
        flat = softened(mean_probs(self.estimators_, dataset), self.temperature_, self.doubt_)
        return read.table(cut(flat, dataset.offsets), self.classes_)

    def _decoding(self, decoder: str | None) -> Callable[[Dataset], list[CodeArray]]:
        if len(self.estimators_) > 1 and decoder in (None, POSTERIOR):
            return lambda dataset: [mean_probs(self.estimators_, dataset).argmax(axis=1).astype(CODE)]
        decode = self.best_estimator_._decoding(decoder)
        return lambda dataset: decode(seen_by(self.best_estimator_, dataset))

    def _decoder_name(self, labels: Sequence[Label] | None = None) -> str:
        return POSTERIOR if len(self.estimators_) > 1 else str(self.best_estimator_._decoder_name())

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        return self.best_estimator_._potentials(seen_by(self.best_estimator_, dataset), first, last)

    def _tempered(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        return self.best_estimator_._tempered(seen_by(self.best_estimator_, dataset), first, last)

    def _over_chunks(
        self, dataset: Dataset, function: Callable[[ChainPotentials, slice], Result], *, tempered: bool = True
    ) -> list[Result]:
        return self.best_estimator_._over_chunks(seen_by(self.best_estimator_, dataset), function, tempered=tempered)

    def _explained(self, dataset: Dataset) -> tuple[ScoredChain, Dataset]:
        return self.best_estimator_, seen_by(self.best_estimator_, dataset)

    def stream(self, lag: int = 0) -> AverageStream:  # type: ignore[override]
        """As that of a single model: the mean of what the streams of all models tell."""
        check_is_fitted(self)
        streams = [model.stream(lag) for model in self.estimators_]
        return AverageStream(streams, partial(softened, temperature=self.temperature_, doubt=self.doubt_))

    def _scoring(self) -> Any:
        return self.scoring_

    @property
    def n_parameters_(self) -> int:
        """How many numbers were learnt: weights, leaves of trees, probabilities."""
        return sum([*model_sizes(model).values()][-1] for model in self.estimators_)  # leaves come after trees


class _Whole:
    """Trains models on all sequences, within the time that is left."""

    def __init__(self, dataset: Dataset, deadline: Deadline, given: AutoLabeler) -> None:
        self.dataset, self.deadline, self.given = dataset, deadline, given

    def train(self, model: Any) -> Any:
        """Train a model on all sequences. What was reserved for it may have been too little: it has some grace."""
        window = model.window if "window" in model.get_params(deep=False) else 0
        dataset = with_window(self.dataset, windowed(self.dataset.schema, window))
        grace = 0.2 * float(self.given.time_budget)
        if self.given.verbose:
            say("training on all sequences: %s", in_python(model, ("n_jobs", "random_state")))
        with warnings.catch_warnings(), self.deadline.within(self.deadline.left + grace).applied():
            warnings.filterwarnings("ignore", message="training was interrupted")
            model.fit(dataset)
        if model.outcome_ == OUT_OF_TIME:  # as long as it was trained, so that it can be trained like this again
            _set_length(model)
        return model

    def first(self, models: Any) -> Any:
        """The first of some models that can be trained."""
        error: HedgerowError | None = None
        for model in models:
            try:
                return self.train(model)
            except HedgerowError as refused:
                error = error or refused
        assert error is not None
        raise error

    def has_time(self, trial: Trial, tries: Tries) -> bool:
        """Whether there is time to train one more model of an average."""
        return trial.longest * tries.corpus.share(0) <= self.deadline.left


def _ready(tries: Tries, trial: Trial) -> Any:
    """The model of a trial as it is trained on all sequences: with its decoder, and as long as was best; longer where
    the time ran out before it was at its best."""
    model = tries.sized(trial, more=2.0 if trial.cut else 1.0)
    decoder = tries.decoder(trial)
    usual = model._decoder_name(tries.corpus.whole.schema.labels)
    return without_temperature(model if usual == decoder else model.set_params(decoder=decoder))


def _set_length(model: Any) -> None:
    of_rows = getattr(model, "estimator", model)
    if hasattr(of_rows, "n_estimators"):
        of_rows.set_params(n_estimators=max(1, int(model.best_iteration_)))
    elif hasattr(of_rows, "max_iter"):
        of_rows.set_params(max_iter=max(1, int(model.n_iter_)))


def _with_own_features(learnt: Learnt, weighted: Dataset, window: Any) -> tuple[Learnt, Dataset]:
    """A corpus with the features that trees ask for under the first window."""
    first = first_window(Traits.of(learnt.dataset), window)
    features = choose_features(with_window(weighted, windowed(weighted.schema, first)), TreeCRF()._quick)
    made = with_features(weighted, features)
    return learnt._replace(dataset=replace(learnt.dataset, schema=made.schema)), made


def _own_window(model: Any, dataset: Dataset) -> Window:
    """The window that a model has, or chooses, by itself."""
    own = getattr(model, "window", 0)
    return choose_window(dataset, model._quick) if is_auto(own) else own
