"""What "auto" comes to, of `window` and `features`: held-out sequences compare them by a quick model of the same kind.

A corpus is encoded once, without a window. Some thousand positions of it are taken, of whole sequences or of pieces of
long ones, and a third of the sequences is held out. Some widths are within a standard error of the most accurate one;
of these, some are within one of that which gives the held-out labels the highest probability. The smallest of them is
taken. Nothing is drawn from `random_state`: the same corpus has the same window.

Features of numbers are compared under the window that there is, in the same way. None are taken unless some are better
by two standard errors.

Ctrl-C ends the comparison: the best so far is taken, training ends after its first iteration, and that model is kept.
The second one gives up. A deadline ends it, too.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.derived import stored_numbers, with_features
from hedgerow.data.parts.corpus import SharedCorpus, join
from hedgerow.data.settling import Learnt, narrow
from hedgerow.data.windows import windowed, with_window
from hedgerow.errors import HedgerowWarning, InputError, warn
from hedgerow.estimators.holding_out import FEW_SEQUENCES
from hedgerow.legend import INDEX, UNLABELLED, BoolArray, FloatArray, IndexArray
from hedgerow.training.callbacks import muted
from hedgerow.training.checkpoint import remembered
from hedgerow.training.ctrl_c import CtrlC, end_soon
from hedgerow.training.deadline import current_deadline
from hedgerow.training.monitor import ENDED_EARLY

log = logging.getLogger("hedgerow")

WIDTHS = (0, 1, 2, 4, 8)  # AutoLabeler goes on to 16 from here
FEWEST = 100  # labelled positions: of fewer nothing can be told
MOST = 6_000  # positions that a quick model trains on
SHORTEST, LONGEST = 20, 250  # positions of a piece
HELD_OUT = 1 / 3
FEW_PIECES = 12  # of fewer than FEW_SEQUENCES sequences, at least; then pieces are held out
SMALL = 0.02  # a share of the log-probability that is not worth a wider window
CLEAR = 2.0  # standard errors by which features must be better than none
MANY = 50  # numeric columns, of which no features are tried: there are many ways to see what goes on
_CHANGES, _SHORT = ("difference(1)", "difference(10)"), ("rolling_mean(5)", "rolling_std(5)")
_LONG = ("rolling_mean(25)", "rolling_std(25)")
FEATURES: tuple[tuple[str, ...], ...] = ((), _CHANGES, _SHORT, _LONG, (*_CHANGES, *_SHORT, *_LONG))
PATIENCE = 2  # widths in a row that are worse than the best before them end the comparison
_BESIDE = re.compile(r"(?<!\w)[-+]\d")  # "-1:word", "word[+1]"
_OF_TEMPLATE = re.compile(r"[UB]\d+")  # "U00"


def is_ready_made(schema: Schema) -> bool:
    """Whether somebody made the features, with their surroundings in them: attributes, keys that name neighbours, or
    the columns of a template."""
    names = [column.name for column in schema.columns]
    return schema.n_attributes > 0 or any(map(_BESIDE.search, names)) or all(map(_OF_TEMPLATE.fullmatch, names))


def choose_window(corpus: Dataset | SharedCorpus, make: Callable[[], Any], *, verbose: int = 0) -> int:
    """The width of the window for a labelled corpus.

    make : what makes a quick model that is not fitted
    """
    return 0 if is_ready_made(corpus.schema) else _choose(_compare, corpus, make, "windows", verbose)


def choose_features(corpus: Dataset, make: Callable[[], Any], *, verbose: int = 0) -> tuple[str, ...]:
    """The features of the numeric columns of a labelled corpus that has its window."""
    if not 0 < len(stored_numbers(corpus.schema)) <= MANY:
        return ()
    return FEATURES[_choose(_compare_features, corpus, make, "features", verbose)]


_CHOICES = frozenset((*WIDTHS, *range(len(FEATURES))))


def _choose(compare: Callable[..., int], corpus: Any, make: Callable[[], Any], what: str, verbose: int) -> int:
    """What a comparison of "windows" or "features" finds; 0 where nothing can be told."""
    parts = _train_and_held_out(corpus)
    if parts is None:
        return 0
    with CtrlC(f"no more {what} are compared, and training ends after its first iteration") as ctrl_c:
        ended = ctrl_c.pressed
        try:
            chosen = remembered(lambda: compare(make, *parts, ctrl_c), _CHOICES)
        except InputError as error:
            if error.parameter is not None:
                raise
            chosen, why = 0, f"for no quick model can compare {what}: {error}"  # the model will say what is wrong
        else:
            deadline = current_deadline()
            why = f"for comparing {what} was interrupted" if ctrl_c.pressed and not ended else ""
            why = f"for comparing {what} ran out of time" if deadline is not None and deadline.passed else why
    if ctrl_c.pressed:
        end_soon()
    name, value = ("window", str(chosen)) if what == "windows" else (what, ", ".join(FEATURES[chosen]) or "none")
    if why:
        warn(f"⟦{name}='auto'⟧ is {value}, {why}; set ⟦{name}⟧", HedgerowWarning, stacklevel=6)
    if verbose:
        log.info("%s: %s", name, value)
    return chosen


def _counted(corpus: Dataset) -> BoolArray:
    """(N,): the positions that train, with a label and a weight above 0."""
    assert corpus.labels is not None
    counted: BoolArray = corpus.labels != UNLABELLED
    if corpus.weight_seq is not None:
        counted &= np.repeat(corpus.weight_seq > 0.0, np.diff(corpus.offsets))
    return counted


def _compare(make: Callable[[], Any], train: Dataset, held: Dataset, ctrl_c: CtrlC) -> int:
    n_known = np.count_nonzero(held.labels != UNLABELLED)
    right: dict[int, FloatArray] = {}  # width → labels that are right, in each held-out piece
    log_probs: dict[int, FloatArray] = {}
    for n_tried, width in enumerate(WIDTHS, start=1):
        schema = windowed(train.schema, width)
        scores = (
            None if ctrl_c.pressed else _score(make(), with_window(train, schema), with_window(held, schema), ctrl_c)
        )
        if scores is None:
            break
        right[width], log_probs[width] = scores
        if right[width].sum() == n_known:  # no width is better; wider ones would only be surer
            return min(_near_best(right)[1])
        if n_tried > max(WIDTHS.index(_near_best(scores)[0]) for scores in (right, log_probs)) + PATIENCE:
            break
    if not right:
        return 0
    accurate = _near_best(right)[1]
    return min(_near_best({width: log_probs[width] for width in accurate}, SMALL)[1])


def _compare_features(make: Callable[[], Any], train: Dataset, held: Dataset, ctrl_c: CtrlC) -> int:
    """The index in FEATURES of those that do best on the held-out pieces."""
    right: dict[int, FloatArray] = {}
    log_probs: dict[int, FloatArray] = {}
    for which, features in enumerate(FEATURES):
        part = with_features(train, features)
        scores = None if ctrl_c.pressed else _score(make(), part, replace(held, schema=part.schema), ctrl_c)
        if scores is None:
            break
        right[which], log_probs[which] = scores
    which = 0
    for errors in (CLEAR, 1.0) if right else ():
        accurate = _near_best(right, errors=errors)[1]
        which = min(_near_best({which: log_probs[which] for which in accurate}, SMALL, errors)[1])
        if not which:
            break
    return which


def _near_best(scores: dict[int, FloatArray], share: float = 0.0, errors: float = 1.0) -> tuple[int, list[int]]:
    """The choice with the highest sum, and those that are not below it by more than this share of it, or so many
    standard errors of the difference."""
    best = max(scores, key=lambda width: float(scores[width].sum()))
    lost, least = {width: scores[best] - own for width, own in scores.items()}, share * abs(scores[best].sum())
    near = (width for width, own in lost.items() if own.sum() <= max(least, errors * np.sqrt(len(own)) * own.std()))
    return best, list(near)


def _score(model: Any, train: Dataset, held: Dataset, ctrl_c: CtrlC) -> tuple[FloatArray, FloatArray] | None:
    """How many labels are right in each held-out piece, and the log-probability of its labels; None if ended early."""
    with warnings.catch_warnings(), muted():
        warnings.simplefilter("ignore")  # it is not meant to converge
        stops = getattr(model, "estimator", model).early_stopping
        model.fit(train, X_val=held if stops else None)
    ctrl_c.pressed |= model.outcome_ == "interrupted"
    if model.outcome_ in ENDED_EARLY:
        return None
    labels = np.concatenate(model._decoding("posterior")(replace(held, labels=None, allowed=None)))
    right = np.add.reduceat((labels == held.labels).astype(np.float64), held.offsets[:-1])
    return right, model._log_probability(held)


def _train_and_held_out(corpus: Dataset | SharedCorpus) -> tuple[Dataset, Dataset] | None:
    """A part of a corpus to train on, and one to compare by; None where labels are few, or in one piece of it alone."""
    sizes = np.diff(corpus.offsets)
    few = len(sizes) < FEW_SEQUENCES
    longest = int(np.clip(corpus.n_positions // FEW_PIECES, SHORTEST, LONGEST)) if few else LONGEST
    sequence, first, last = _pieces(sizes, longest)
    parts = corpus.each(_n_counted, longest) if isinstance(corpus, SharedCorpus) else [_n_counted(corpus, longest)]
    labelled = (n_labelled := np.concatenate(parts)) > 0
    sequence, first, last = sequence[labelled], first[labelled], last[labelled]
    units, unit = np.unique(np.arange(len(sequence)) if few else sequence, return_inverse=True)
    if len(units) < 2 or n_labelled.sum() < FEWEST:
        return None
    rng = np.random.RandomState(0)
    held = np.isin(unit, rng.permutation(len(units))[: max(1, round(HELD_OUT * len(units)))])
    order = rng.permutation(len(sequence))

    def some(those: BoolArray, most: float) -> IndexArray:
        """As many pieces as have about so many positions, in order."""
        own = order[those[order]]
        lengths = (last - first)[own]
        return np.sort(own[np.cumsum(lengths) - lengths < most])

    kept, rest = some(~held, MOST), some(held, MOST * HELD_OUT / (1 - HELD_OUT))
    taken = np.sort(np.concatenate([kept, rest]))
    where = sequence[taken], first[taken].astype(INDEX), (last - first)[taken].astype(INDEX)
    cut = join(corpus.each_of(Dataset.cut, *where)) if isinstance(corpus, SharedCorpus) else corpus.cut(*where)
    inside, outside = np.searchsorted(taken, kept), np.searchsorted(taken, rest)
    return narrow(Learnt(cut, cut.attr_id), inside, cut.take(inside), cut.take(outside))


def _pieces(sizes: IndexArray, longest: int) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Sequences of these sizes, cut into pieces: of each its sequence, its first position there and its end."""
    n_pieces = -(-sizes // longest)
    sequence = np.repeat(np.arange(len(sizes)), n_pieces)
    place = np.arange(len(sequence)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    first, last = ((place + i) * sizes[sequence] // n_pieces[sequence] for i in (0, 1))
    return sequence, first, last


def _n_counted(dataset: Dataset, longest: int) -> IndexArray:
    """(pieces,): how many positions of each piece have a label and a weight above 0."""
    sequence, first, _ = _pieces(np.diff(dataset.offsets), longest)
    if not len(sequence):
        return np.zeros(0, dtype=INDEX)
    return np.add.reduceat(_counted(dataset), dataset.offsets[sequence] + first, dtype=INDEX)
