"""What `fit` is given, made ready for training: one way for every chain estimator.

A corpus is encoded once. Sequences are set aside before anything is learnt from the rest: values and attributes, means
and deviations, what stands in for missing values, transitions that are seen. Where a model is trained once more on all
sequences, all of that is learnt again, from all, and nothing is encoded a second time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label, Schema, Window
from hedgerow.data.derived import parse_features, with_features
from hedgerow.data.encoding import encode, learn_corpus
from hedgerow.data.imputation import Imputation, check_values, count_values, learn_imputation
from hedgerow.data.labels import counted, with_weights
from hedgerow.data.parts.corpus import SharedCorpus, learn_shared_imputation
from hedgerow.data.readers.arrays import split_lengths
from hedgerow.data.settling import Learnt, by_weight, narrow
from hedgerow.data.windows import windowed, with_window
from hedgerow.errors import HedgerowWarning, InputError, placed
from hedgerow.estimators.constraints import constrained_space, legal_space, repaired
from hedgerow.estimators.holding_out import (
    FEW_SEQUENCES,
    Fold,
    Pieces,
    choose_folds,
    code_sets,
    cut_blocks,
    cut_corpus,
    hide_blocks,
    how_many_folds,
    take_given,
    without_unseen_labels,
)
from hedgerow.estimators.kept import same_data
from hedgerow.estimators.values import FILLING, is_auto, same_window
from hedgerow.estimators.window_choice import choose_features, choose_window
from hedgerow.legend import IndexArray
from hedgerow.training.memory import check_pairs_memory
from hedgerow.trees.growing import LEARNED


@dataclass(frozen=True)
class Preparation:
    """How an estimator wants its data; most are named as its parameters are.

    quick : what makes a model to compare windows and features by, where they are "auto"
    forbid_unseen : whether transitions that training does not show are impossible
    splits : whether the model splits on columns: a missing category is one more category then, and to weights it says
        nothing without a flag
    needs_numbers : whether a number that is missing is refused
    holds_out : whether `validation_fraction` of the sequences are set aside, where none are given for that
    validation_folds : how many parts of them are set aside in turn
    blocks : whether labels of few sequences may be hidden for that, in blocks; else they are cut where none can be held
    cuts, unstopped : whether few sequences are cut in any case; what trains without held-out ones
    keeps_all : whether all sequences are wanted after that, too
    keeps_sources : whether another model reads what `fit` was given, too
    schema, imputation : of an earlier fit, where training goes on with its columns
    """

    columns: Mapping[str, str] | None = None
    window: Window | str = 0
    features: Any = None
    quick: Callable[[], Any] | None = None
    missing: str | None = None
    fill_numbers: str = "mean"
    constraints: str | Iterable[tuple[Label, Label]] | None = None
    repair: bool = False
    forbid_unseen: bool = False
    splits: bool = False
    needs_numbers: bool = False
    holds_out: bool = False
    validation_fraction: float = 0.1
    validation_folds: int | str = 1
    blocks: bool = False
    cuts: bool = False
    unstopped: str = "early_stopping=False"
    keeps_all: bool = False
    keeps_sources: bool = False
    random_state: Any = None
    verbose: int = 0
    schema: Schema | None = None
    imputation: Imputation | None = None


class Sources(NamedTuple):
    """What `fit` was given, as it was given: a second model encodes it in its own way."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    X_val: Any = None

    def training(self, ready: Prepared) -> Sources:
        """What was given of the sequences that train."""
        return Sources(*(take_given(given, ready.kept, ready.pieces) for given in self[:3]))

    def held_out(self, ready: Prepared) -> Any:
        """X of the sequences that are held out."""
        return self.X_val if ready.held is None else take_given(self.X, ready.held, ready.pieces)


def listed(given: Any) -> Any:
    """What can be read twice: a generator as a list, anything else as it is."""
    return list(given) if hasattr(given, "__next__") else given


@dataclass(frozen=True)
class Prepared:
    """A corpus that is ready for training.

    dataset, held_out : the sequences that train and those that stop training, if any, as the model sees them: what is
        missing is filled in where it is to be
    given, held_given : the same before that, as users give them
    imputation : what stands in for missing values, or None
    space : the legal moves
    kept, held : the numbers of both among all sequences, where the model itself set some aside; else None
    pieces : what was numbered, where sequences were cut into pieces; else None
    everything : all sequences as users give them, where the model set some aside and wants them all; else None
    other_folds : what makes the corpus ready with another part of it set aside, for each further fold
    sources : what `fit` was given, where that is wanted; else None
    """

    wanted: Preparation
    dataset: Dataset
    held_out: Dataset | None
    given: Dataset
    held_given: Dataset | None
    imputation: Imputation | None
    space: StateSpace
    kept: IndexArray | None = None
    held: IndexArray | None = None
    pieces: Pieces | None = None
    everything: Any = None
    other_folds: tuple[Callable[[], Prepared], ...] = ()
    sources: Sources | None = None

    def whole(self) -> Prepared:
        """The whole corpus made ready, with everything learnt from all of its sequences."""
        assert self.everything is not None
        return replace(make_ready(self.wanted, self.everything, None), sources=self.sources)


def prepare(
    wanted: Preparation,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    lengths: Any = None,
) -> Prepared:
    """Read, set sequences aside, learn from the others what an estimator has to know of its data, and fill gaps.

    X may be a Dataset that `learn` made. It is taken as it is, with its labels, its window and its values.
    """
    _check_held_out(X_val, y_val)
    kept, (X, y, sample_weight), lengths = that_count(X, y, sample_weight, lengths)
    with numbered(kept):
        return _prepare(wanted, X, y, sample_weight, X_val, y_val, lengths)


def that_count(
    X: Any, y: Any, sample_weight: Any, lengths: Any, *more: Any
) -> tuple[IndexArray | None, list[Any], Any]:
    """What `fit` was given, without the sequences of weight 0; the numbers of the others where there are such.

    more : what else is given for every sequence
    """
    if isinstance(X, Dataset) or sample_weight is None:
        return None, [X, y, sample_weight, *more], lengths
    X, y = cut_flat(X, y, lengths)
    kept, (sample_weight, X, y, *more) = counted(sample_weight, X, y, *more)  # type: ignore[assignment]
    return kept, [X, y, sample_weight, *more], None


@contextmanager
def numbered(kept: IndexArray | None) -> Iterator[None]:
    """Let errors name sequences by their numbers among all that were given."""
    try:
        yield
    except InputError as error:
        if kept is None or error.sequence is None or error.partition is not None or error.sequence >= len(kept):
            raise  # or it is a number within a partition
        raise placed(error, sequence=int(kept[error.sequence])) from None


def _prepare(wanted: Preparation, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, lengths: Any) -> Prepared:
    sources = None
    if wanted.keeps_sources:
        X, y, sample_weight, X_val = (listed(given) for given in (*cut_flat(X, y, lengths), sample_weight, X_val))
        lengths, sources = None, Sources(X, y, sample_weight, X_val)
    corpus, whole = read_corpus(wanted, X, y, sample_weight, lengths)
    if X_val is not None or not wanted.holds_out:
        ready = make_ready(wanted, whole, encode_held_out(whole.schema, X_val, y_val))
        if wanted.cuts and X_val is None and len(whole) < FEW_SEQUENCES:
            pieces, _, whole = cut_corpus(corpus, whole, wanted.constraints, wanted.validation_fraction)
            ready = replace(make_ready(wanted, whole, None), pieces=pieces)
        return replace(ready, sources=sources)
    makers = _fold_makers(wanted, corpus, whole, settled=isinstance(X, Dataset) or wanted.schema is not None)

    def make(maker: Callable[[], Prepared]) -> Prepared:
        return replace(maker(), everything=whole if wanted.keeps_all else None, sources=sources)

    return replace(make(makers[0]), other_folds=tuple(partial(make, maker) for maker in makers[1:]))


def _fold_makers(wanted: Preparation, corpus: Learnt, whole: Dataset, *, settled: bool) -> list[Callable[[], Prepared]]:
    """What makes the corpus ready, with one part of it after the other set aside. Held-out sequences count as one each.

    whole : the corpus with its weights; settled : whether its columns and values are given
    """
    fraction, pieces = wanted.validation_fraction, None
    what = "no sequence can be held out: there are too few, or too short ones, or each has labels of its own"
    nothing = InputError(what, hint=f"Set ⟦{wanted.unstopped}⟧, or give ⟦X_val and y_val⟧.")

    def hold_out(fold: Fold) -> Prepared:
        if blocks is not None:
            part, rest = hide_blocks(whole, blocks, fold.held)[0], hide_blocks(corpus.dataset, blocks, fold.held)[1]
            if not any(code_sets(part)):
                raise nothing
            return make_ready(wanted, part, replace(rest, weight_seq=None))
        # Weights of positions hide labels from training alone.
        part = whole.take(fold.kept)
        rest = without_unseen_labels(corpus.dataset.take(fold.held), part)
        if not settled:
            part, rest = narrow(corpus, fold.kept, part, rest)
        return replace(make_ready(wanted, part, replace(rest, weight_seq=None), *fold), pieces=pieces)

    n_folds = how_many_folds(wanted.validation_folds, len(whole), fraction)
    blocks = cut_blocks(whole.offsets, fraction) if len(whole) < FEW_SEQUENCES and wanted.blocks else None
    folds = choose_folds(code_sets(corpus.dataset, blocks), fraction, wanted.random_state, n_folds)
    if not folds and blocks is None:
        make_ready(wanted, whole, None)  # errors name places in whole sequences
        pieces, corpus, whole = cut_corpus(corpus, whole, wanted.constraints, fraction)
        folds = choose_folds(code_sets(corpus.dataset), fraction, wanted.random_state, n_folds)
    if not folds:
        raise nothing
    return [partial(hold_out, fold) for fold in folds]


def cut_flat(X: Any, y: Any, lengths: Any) -> tuple[Any, Any]:
    """X and y as one item per sequence, where they are flat arrays with lengths; X such that it can be read twice."""
    if lengths is None:
        return listed(X), y
    if isinstance(X, Dataset):
        raise InputError("a Dataset has its own lengths", hint="Leave ⟦lengths⟧ out.")
    return split_lengths(X, lengths, y)


def read_corpus(wanted: Preparation, X: Any, y: Any, sample_weight: Any, lengths: Any) -> tuple[Learnt, Dataset]:
    """All sequences, encoded, with all their labels; and the same with the weights they train with."""
    corpus = _read(wanted, X, y, sample_weight, lengths)
    check_pairs_memory(corpus.dataset.n_labels, corpus.dataset.n_positions)
    if wanted.repair and wanted.constraints is not None:
        space = constrained_space(corpus.dataset.schema, wanted.constraints)
        corpus = corpus._replace(dataset=repaired(corpus.dataset, space))
    same_data(corpus.dataset if sample_weight is None else with_weights(corpus.dataset, sample_weight))
    if wanted.schema is None and not isinstance(X, Dataset):
        corpus = with_choices(wanted, corpus, sample_weight)
    if sample_weight is None:
        return corpus, corpus.dataset
    whole = with_weights(corpus.dataset, sample_weight)
    if wanted.schema is None and not isinstance(X, Dataset):
        whole = replace(whole, schema=by_weight(whole))
    return corpus._replace(dataset=replace(corpus.dataset, schema=whole.schema)), whole


def with_choices(wanted: Preparation, corpus: Learnt, sample_weight: Any = None) -> Learnt:
    """A corpus that was read with the given window or none, with its features, and with what is "auto" chosen: the
    window, the features, and the window once more where there are features now, which see a part of what it did."""
    dataset, free = corpus.dataset, is_auto(wanted.features)
    if not free:
        dataset = with_features(dataset, parse_features(wanted.features))
    if (free or is_auto(wanted.window)) and wanted.needs_numbers and wanted.missing not in FILLING:
        dataset.require_numbers()  # where it is said of the whole corpus

    def choose(choice: Callable[..., Any]) -> Any:
        return choice(with_weights(dataset, sample_weight), wanted.quick, verbose=wanted.verbose)

    if is_auto(wanted.window):
        dataset = with_window(dataset, windowed(dataset.schema, choose(choose_window)))
    if free and (features := choose(choose_features)):
        dataset = with_features(dataset, features)
        if is_auto(wanted.window):
            dataset = with_window(dataset, windowed(dataset.schema, choose(choose_window)))
    return corpus._replace(dataset=dataset)


def _read(wanted: Preparation, X: Any, y: Any, sample_weight: Any, lengths: Any) -> Learnt:
    """All sequences, encoded: by the schema of an earlier fit where training goes on with it."""
    if isinstance(X, Dataset):
        if lengths is not None:
            raise InputError("a Dataset has its own lengths", hint="Leave ⟦lengths⟧ out.")
        _check_dataset(wanted, X, y, sample_weight)
        return Learnt(X, X.attr_id)
    if y is None:
        raise InputError("y is missing", hint="fit needs the labels of the training sequences.")
    if wanted.schema is None:
        window: Any = 0 if is_auto(wanted.window) else wanted.window
        return learn_corpus(X, y, columns=wanted.columns, window=window, lengths=lengths)
    with warnings.catch_warnings():
        warnings.simplefilter("error", HedgerowWarning)
        try:
            dataset = encode(wanted.schema, X, y, lengths=lengths)
        except HedgerowWarning as warning:  # nothing that the schema knows is in the data
            raise InputError(str(warning), hint="Set ⟦warm_start=False⟧ to begin anew.") from warning
    return Learnt(dataset, dataset.attr_id)


def _check_dataset(wanted: Preparation, dataset: Dataset, y: Any, sample_weight: Any) -> None:
    """Refuse a Dataset that is not for training, or not for this estimator."""
    if dataset.labels is None:
        raise InputError("the Dataset has no labels", hint="Make it with hedgerow.data.encoding.learn(X, y).")
    if y is not None or sample_weight is not None:
        raise InputError("a Dataset brings its own labels and weights", hint="Give them to learn().")
    schema = dataset.schema
    if wanted.schema is not None and schema != wanted.schema:
        hint = "Make it with this model's encode(X, y)."
        raise InputError("the Dataset has another schema than the model whose training is continued", hint=hint)
    if not same_window(wanted.window, schema.window):
        what = f"⟦window⟧ is {wanted.window!r} and the Dataset was made with {schema.window!r}"
        raise InputError(what, hint="Give the window to learn(), and leave it out here.")
    wants_features = wanted.features is not None and not is_auto(wanted.features)
    if wants_features and set(parse_features(wanted.features)) != set(schema.features):
        what = f"⟦features⟧ is {wanted.features!r} and the Dataset was made with {list(schema.features)}"
        raise InputError(what, hint="Give the features to learn(), and leave them out here.")
    if wanted.columns is not None and dict(wanted.columns) != dict(schema.declared):
        what = f"⟦columns⟧ is {wanted.columns!r} and the Dataset was made with {dict(schema.declared)!r}"
        raise InputError(what, hint="Give the columns to learn(), and leave them out here.")


def _check_held_out(X_val: Any, y_val: Any) -> None:
    """Refuse held-out sequences without labels, and labels without sequences."""
    if isinstance(X_val, Dataset):
        if y_val is not None or X_val.labels is None:
            raise InputError("a Dataset as ⟦X_val⟧ brings its own labels", hint="Make it with y, and leave y_val out.")
    elif (X_val is None) != (y_val is None):
        raise InputError("⟦X_val and y_val⟧ go together", hint="Give both, or neither.")


def encode_held_out(schema: Schema, X_val: Any, y_val: Any) -> Dataset | None:
    """The sequences that are given to stop training by, by the schema of the training ones."""
    _check_held_out(X_val, y_val)
    if X_val is None:
        return None
    held_out = X_val if isinstance(X_val, Dataset) else encode(schema, X_val, y_val)
    if held_out.schema != schema:
        hint = "Make it with hedgerow.data.encoding.encode(dataset.schema, X_val, y_val)."
        raise InputError("⟦X_val⟧ is a Dataset with another schema than the training data", hint=hint)
    same_data(held_out)
    return replace(held_out, weight_seq=None)


def make_ready(wanted: Preparation, given: Any, held_given: Any, kept: Any = None, held: Any = None) -> Prepared:
    """Learn from the training sequences what stands in for missing values and which moves are legal. Both are Datasets,
    or both are shared. kept, held : the numbers of both among all sequences, by which errors name them"""
    imputation = wanted.imputation if wanted.schema is not None else learn_missing(wanted, given)
    dataset, held_out = (_filled(imputation, corpus) for corpus in (given, held_given))
    with numbered(kept):
        if wanted.needs_numbers:
            dataset.require_numbers()
        space = legal_space(given, wanted.constraints, forbid_unseen=wanted.forbid_unseen)
    if wanted.needs_numbers and held_out is not None:
        with numbered(held):
            held_out.require_numbers()
    return Prepared(wanted, dataset, held_out, given, held_given, imputation, space, kept=kept, held=held)


def _filled(imputation: Imputation | None, corpus: Any) -> Any:
    if corpus is None or imputation is None:
        return corpus
    return corpus.fill(imputation) if isinstance(corpus, SharedCorpus) else imputation.apply(corpus)


def learn_missing(wanted: Preparation, dataset: Dataset | SharedCorpus) -> Imputation | None:
    """What stands in for missing values, learnt from training sequences; None where nothing does.

    A column without any value is refused, but where no value is one more value ("learned").
    """
    if wanted.missing in (None, LEARNED):
        return None
    if isinstance(dataset, SharedCorpus):
        return learn_shared_imputation(dataset, wanted.fill_numbers)
    check_values(dataset, count_values(dataset))
    if wanted.missing not in FILLING:
        return None
    flags = wanted.missing == "indicator"
    return learn_imputation(
        dataset, numbers=wanted.fill_numbers, flags=flags, codes=not flags, flag_codes=not wanted.splits
    )
