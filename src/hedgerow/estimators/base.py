"""What every chain estimator shares: how it reads sequences, predicts in chunks, scores, keeps a fit and is saved."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import IO, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import OUTSIDE_COLUMN, Dataset, Label, Schema
from hedgerow.data.encoding import encode
from hedgerow.data.labels import encode_labels
from hedgerow.data.plan import Given, Plan, lay_out
from hedgerow.data.readers.columns import objects
from hedgerow.data.readers.grouping import Names
from hedgerow.data.short import ShortCoder
from hedgerow.data.words import word_kind, word_window
from hedgerow.declarations import check_parameters
from hedgerow.errors import InputError, warn
from hedgerow.estimators.calibration import best_temperature, tempered_losses
from hedgerow.estimators.constraints import constrained_space
from hedgerow.estimators.facts import html_repr, report
from hedgerow.estimators.kept import Kept, keeping
from hedgerow.estimators.prepare import Preparation, Prepared, prepare
from hedgerow.estimators.values import BEAM_WIDTH, is_auto
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.metrics import label_accuracy
from hedgerow.metrics.spans import looks_like_spans
from hedgerow.training.ctrl_c import stages
from hedgerow.training.monitor import Step, Trained, say

# What a model keeps between predictions, and no copy or pickle of it has.
_MADE_READY = ("_chain", "_ready", "_coder", "_predictor", "_kept")


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """What every estimator has once it is fitted: how its training went, and how it is saved."""

    classes_: AnyArray
    history_: list[Step]
    n_iter_: int
    best_iteration_: int
    loss_: float
    outcome_: str
    report = report
    _html_repr = html_repr  # what notebooks show

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the model to a file that `hedgerow.load` reads. The file is replaced at once, or not at all, and keeps
        its mode; a pipe, a device, or a binary file that is open, is written to."""
        from hedgerow.estimators.files import save

        check_is_fitted(self)
        save(self, path)

    def _keep_training(self, trained: Trained[Any]) -> None:
        """Set the attributes that tell how training went."""
        self.history_, self.n_iter_, self.outcome_ = trained.history, trained.n_iter, trained.outcome
        self.best_iteration_, self.loss_ = trained.best.iteration, float(trained.best.loss)

    def _check_parameters(self) -> Any:
        """Refuse parameters that cannot be meant, each by itself and together."""
        check_parameters(self)

    def _check_kept(self) -> None:
        """Refuse a checkpoint where training cannot be kept in one."""


class ChainModel(FittedModel):
    """The common part of the chain estimators. A subclass gives `fit`, `_decoding` and the parameters below.
    Every method that takes X also takes a Dataset made by `encode`, which saves encoding the same corpus twice.
    """

    beam_width: int = BEAM_WIDTH  # this and `order`: of estimators that have no such parameters
    order: Any = 1
    schema_: Schema
    imputation_: Any = None  # what is filled in for missing values; estimators that fill nothing in leave it
    plan_: Plan | None = None  # how the frame that it was fitted to was cut
    metadata_: dict[str, Any]  # notes that JSON can hold, saved with the model; `hedgerow train` keeps its reader here

    def encode(self, X: Any, y: Any = None, *, lengths: Any = None) -> Dataset:
        """Encode a corpus once, to predict on it several times."""
        check_is_fitted(self)
        return self._encoded(*self._given(X, y)[:2], lengths)

    def _encoded(self, X: Any, y: Any, lengths: Any) -> Dataset:
        short = self._short_dataset(X, y) if lengths is None else None
        return encode(self.schema_, X, y, lengths=lengths, may_be_empty=True) if short is None else short

    def _given(self, X: Any, y: Any) -> Given:
        """What a method was given, as sequences: one frame is cut as that of `fit` was."""
        return Given(X, y) if self.plan_ is None else self.plan_.read(X, y)

    def _short_dataset(self, X: Any, y: Any) -> Dataset | None:
        """The Dataset of one short sequence; None where X is something else."""
        if self.plan_ is not None and self.plan_.words is not None:
            return None
        coder: ShortCoder | None = self.__dict__.get("_coder")
        if coder is None or coder.schema is not self.schema_:
            coder = self._coder = ShortCoder(self.schema_)
        return coder.encode(X, y)

    def predict(self, X: Any, *, decoder: str | None = None, known: Any = None, lengths: Any = None) -> Any:
        """The labels of each sequence.

        Parameters
        ----------
        X : sequences, as in `fit`; or one data frame, where the model was fitted to one
        decoder : one of those that the parameter `decoder` describes; the estimator's own by default. "viterbi" (the
            most probable labeling; of an IOHMM the labels of the most probable states and labels together),
            "posterior" (the most probable label at each position), "beam" (a search that keeps `beam_width` states a
            position) or "greedy" (label by label; of local models and of a BeamSearchTagger)
        known : what is known of the labels, shaped like y: None where nothing is, a label where it is forced, a set
            of labels where one of them is
        lengths : the lengths of the sequences, where X is one flat array

        Returns
        -------
        array of S lists of labels, dtype object; of a data frame a Series, a label for each of its rows in their order
        """
        check_is_fitted(self)
        decode, read = self._decoding(decoder), self._given(X, known)
        dataset = self._dataset(read.X, read.y, lengths)
        codes = np.concatenate([np.empty(0, CODE), *decode(dataset)])
        return read.labels(label_lists(self.schema_, codes, dataset.offsets))

    def _decoding(self, decoder: str | None) -> Callable[[Dataset], list[CodeArray]]:
        """How the labels of a dataset are found, chunk by chunk: by a decoder, or by the estimator's own."""
        raise NotImplementedError

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """The share of positions whose label is right. Every label of y must be there, and seen in training. A data
        frame may bring its labels in the column that `fit` was told of."""
        if self.plan_ is not None:
            X, y = self.plan_.read(X, y, labelled=True)[:2]
        dataset = self._dataset(X, y, lengths)
        truth = label_lists(self.schema_, dataset.require_labels("scoring"), dataset.offsets)
        return float(label_accuracy(truth, self.predict(dataset), sample_weight))

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        """X as a Dataset of this model, with what is known of its labels."""
        if not hasattr(self, "schema_"):  # which is soon asked
            check_is_fitted(self)
        if not isinstance(X, Dataset):
            return self._encoded(*self._given(X, known)[:2], lengths)
        if X.schema is not self.schema_ and X.schema != self.schema_:
            raise InputError("the Dataset was encoded for another model", hint="Use this model's encode().")
        if lengths is not None:
            raise InputError("a Dataset has its own lengths", hint="Leave ⟦lengths⟧ out.")
        labels = allowed = None
        if known is not None:
            labels, allowed = encode_labels(known, X.offsets, self.schema_.label_codes)
        return replace(X, labels=labels, allowed=allowed)

    def _preparation(self, **more: Any) -> Preparation:
        """How `fit` wants its data: the parameters that say so, and what else the estimator has to say."""
        stops = bool(getattr(self, "early_stopping", False))
        forbids = getattr(self, "transitions", "all") == "forbid_unseen"
        derived = {"holds_out": stops, "forbid_unseen": forbids, "quick": self._quick}
        known = [field.name for field in fields(Preparation) if hasattr(self, field.name)]
        words = word_kind(getattr(self, "features", None))
        if words is not None and is_auto(self.window):
            derived["window"] = word_window(words)
        if self._constrained_later():
            derived["constraints"] = None
        return Preparation(**{name: getattr(self, name) for name in known} | derived | more)

    def _constrained_later(self) -> bool:
        """Whether constraints hold at prediction alone."""
        later = getattr(self, "constraints_at", "training") == "prediction" and self.constraints is not None
        if later and self.order not in (0, 1, "auto"):
            raise InputError("⟦constraints_at='prediction'⟧ is for ⟦order⟧ 1", hint="Leave it out, or lower the order.")
        return later

    def _restrict(self, space: StateSpace) -> None:
        """Forbid all transitions of a fitted model but those that a space allows."""
        raise NotImplementedError

    def _quick(self) -> Any:
        """A model near this one that trains in no time: windows and features are compared by it."""
        raise NotImplementedError

    @property
    def window_(self) -> Any:
        """What a position sees of the input: the `window`, or what "auto" came to."""
        return self.schema_.window

    @property
    def features_(self) -> tuple[str, ...]:
        """What is derived of numeric columns and of words: the `features`, or what "auto" came to."""
        words = None if self.plan_ is None else self.plan_.words
        return self.schema_.features if words is None else (words, *self.schema_.features)

    @property
    def feature_names_in_(self) -> AnyArray:
        """The columns that were read, where they have names: in the order of the frame that `fit` was given, or sorted.
        As in scikit-learn, a model of arrays has none."""
        if self.plan_ is not None and self.plan_.columns is not None:
            return objects(self.plan_.columns)
        names = [one.name for one in self.schema_.columns if one.derived is None and one.name != OUTSIDE_COLUMN]
        if not names or set(names) in ({str(j) for j in range(len(names))}, {"token"}):
            raise AttributeError("the model was not fitted to columns with names")
        return objects(names)

    def _keep(self, schema: Schema, trained: Trained[Any]) -> None:
        """Set the schema, the classes, and the attributes that tell how training went."""
        self.schema_, self.classes_, self.metadata_ = schema, schema.classes, {}
        self._keep_training(trained)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _MADE_READY}

    def _decoder_name(self, labels: Sequence[Label] | None = None) -> str:
        """The decoder of `predict`, where none is asked for. labels : those of the corpus, before they are kept

        "auto" is what is right most often where labels count one by one, and the most probable labeling where labels
        make spans, where some moves are not legal, and where the objective compares whole labelings.
        """
        if self.decoder != "auto":
            return str(self.decoder)
        whole = self.constraints is not None or self.transitions == "forbid_unseen" or self._compares_labelings()
        known = labels or (self.schema_.labels if hasattr(self, "schema_") else ())
        spans = self.order != 0 and looks_like_spans(known)  # where positions are by themselves, both are the same
        return "viterbi" if whole or spans else "posterior"

    def _compares_labelings(self) -> bool:
        """Whether the scores of a model are of use to compare whole labelings alone."""
        return False


class StoppedChain(ChainModel):
    """An estimator whose training held-out sequences may stop. A subclass gives `_train`."""

    refitted_: bool
    _unit = "iterations"

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
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
    ) -> Self:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens, of attribute lists; 2-D arrays; data frames), a generator of
            them, `Sequences`, or flat arrays with `lengths`; or one data frame, a row a position; or a Dataset that
            `hedgerow.data.encoding.learn` made, which saves encoding a corpus twice and brings its own labels,
            weights, window and columns
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible. Where positions see
            labels, one counts where those that it sees are known; where a search is trained, the best labeling that
            fits is taken for the truth
        sample_weight : (S,) weights of the sequences, which count as so many of them, 0 as none, or a list of arrays
            of 0 (unlabelled) and 1
        X_val, y_val : held-out sequences; training stops when `scoring` on them no longer rises. X_val may be a
            Dataset with labels, encoded by the schema of the training Dataset; y_val is then left out
        lengths : the lengths of the sequences, where X and y are flat
        by, label, time, max_gap, time_columns : of one data frame, as in `hedgerow.sequences`: the columns that tell
            sequences apart (left out: one recording), that of the labels (or y has a label a row), and that of times,
            by which rows are sorted and cut at gaps. The model keeps them: `predict` and `score` cut frames alike
        tokens : the column of lists of tokens, where X is a dataset of Hugging Face, a dict of lists or a frame with a
            sequence a row; `label` is that of the lists of labels. Of Docs of spaCy, `label` is "ents", "tag", "pos" …
        checkpoint : a file, or a `hedgerow.Checkpoint`, from which training goes on when it was killed, to the same
            bits; the data and the parameters must be the same
        callbacks : functions that are told of each iteration (`Step`: iteration, loss, seconds, score, stage) of every
            training of this fit; one that returns True ends it as Ctrl-C does, with the best model so far
        """
        self._check_parameters()
        read = lay_out(self, X, y, by, label, time, max_gap, time_columns, tokens, lengths)
        with stages(), keeping(self, checkpoint, callbacks):
            ready = prepare(self._preparation(), read.X, read.y, sample_weight, *read.also(X_val, y_val), lengths)
            self._train_all(ready)
        self._kept = ready.kept if ready.pieces is None else None  # whole sequences that trained, for who counts them
        return self._finish(read.plan)

    def _train_all(self, ready: Prepared) -> None:
        """Train with each fold held out, and then on all sequences, where that is wanted."""
        self._losses: list[FloatArray] = []
        duration = self._train(ready)
        self._note_losses(ready)
        if ready.everything is not None and self.outcome_ != "interrupted" and duration is not None:
            duration = self._agree(ready, duration)
            if self.outcome_ != "interrupted":
                self._train_again(ready.whole(), duration)

    def _finish(self, plan: Plan | None) -> Self:
        self.plan_ = plan
        if self._constrained_later():
            self._restrict(constrained_space(self.schema_, self.constraints))
            for name in _MADE_READY:
                self.__dict__.pop(name, None)
        losses = self.__dict__.pop("_losses")
        if losses or "temperature_" in self.__dict__:  # of an earlier fit
            self.temperature_ = best_temperature(losses)
        if what := self._complaint():
            warn(what, ConvergenceWarning, stacklevel=3)
        if getattr(self, "tilt_", None) is not None and self._decoder_name() == "viterbi":
            what = "⟦class_weight⟧ changes probabilities of labels, and no labeling that ⟦decoder='viterbi'⟧ finds"
            warn(f"{what}; use ⟦decoder='posterior'⟧, or ⟦objective='margin'⟧", stacklevel=3)
        return self

    def _note_losses(self, ready: Prepared) -> None:
        """Note what the sequences that stopped training lose at every temperature."""
        if (held_out := self._calibrated_on(ready)) is not None:
            self._losses.append(tempered_losses(self, held_out, ready.given))

    def _calibrated_on(self, ready: Prepared) -> Dataset | None:
        """The held-out sequences that the temperature is fitted to, if any, as users give them."""
        return ready.held_given if getattr(self, "calibrate", False) else None

    def _train(self, ready: Prepared, duration: Any = None) -> Any:
        """Train and keep what was learnt.

        duration : how long an earlier training was; this one is to be as long
        Returns how long it was, for a training on all sequences; None where there is to be none.
        """
        raise NotImplementedError

    def _agree(self, ready: Prepared, duration: Any) -> Any:  # by what the other folds say, too
        return duration

    def _train_fold(self, fold: Callable[[], Prepared], **known: Any) -> list[Any]:
        """Train with another part held out: how long that was, what is lost at every temperature, and why it ended."""
        self._losses = []
        duration = self._train(part := fold(), **known)
        self._note_losses(part)
        return [duration, self._losses, self.outcome_]

    def _train_again(self, whole: Prepared, duration: Any) -> None:
        """Train on all sequences, for as long as was best; how the training went that was stopped is kept."""
        first = dict(self.__dict__)
        if self.verbose:
            say("training again on all sequences")
        self._train(whole, duration)
        if self.outcome_ == "interrupted":  # the first model is whole, this one is not
            self.__dict__.update(first | {"outcome_": "interrupted"})
        else:
            self.history_, self.n_iter_, self.outcome_ = (first[name] for name in ("history_", "n_iter_", "outcome_"))
            self.refitted_ = True

    def _complaint(self) -> str:
        """What is to be said of how training ended; nothing where it ended well."""
        if self.outcome_ != "interrupted":
            return ""
        return f"training was interrupted after {self.n_iter_} {self._unit}; the best of them are kept"

    def _scoring(self) -> Any:  # what counts on held-out sequences
        return self.scoring


def label_names(schema: Schema) -> AnyArray:
    """Object array (K+1,), to be indexed by label codes; UNLABELLED, −1, gives None."""
    return objects([*schema.labels, None])


def label_lists(schema: Schema, labels: AnyArray, offsets: IndexArray) -> AnyArray:
    """Label codes (N,) as an object array of S lists of labels."""
    return objects(cut(label_names(schema)[labels].tolist(), offsets))


def cut(flat: Any, offsets: IndexArray) -> list[Any]:
    """The slices of a flat array (N, …) or list that belong to each of the S sequences."""
    return [flat[begin:end] for begin, end in itertools.pairwise(offsets.tolist())]
