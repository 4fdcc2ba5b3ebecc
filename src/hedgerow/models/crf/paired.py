"""Trees that stand on a linear chain: its model, and a corpus that two models read, each by its own schema."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.estimators.histories import observed_histories
from hedgerow.estimators.kept import keeping
from hedgerow.estimators.prepare import Prepared, make_ready
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.parameters import TreeParameters
from hedgerow.models.crf.tree_form import FEW_LABELS, FIRST_ITERATIONS, edges_to_try, has_words
from hedgerow.training.boosting.constant import best_constant, best_history_constant
from hedgerow.training.boosting.scores import Start
from hedgerow.training.ctrl_c import end_soon


def linear_below(model: TreeParameters, ready: Prepared, words: bool | None = None) -> LinearCRF | None:
    """The linear model that the trees stand on, if any; one that is not fitted yet is fitted to the training sequences.
    words : whether ⟦init="auto"⟧ comes to one, where that is known"""
    if isinstance(model.init, str):
        words = has_words(model, ready.given.schema) if words is None else words
        return _below_words(model, ready.given) if words else None
    fitted = hasattr(model.init, "weights_")
    fresh: LinearCRF = copy.deepcopy(model.init) if fitted else clone(model.init)  # `init` may be fitted anew later
    if fitted:
        return fresh
    assert ready.sources is not None
    return fresh.fit(*ready.sources.training(ready)[:3])


def _below_words(model: TreeParameters, given: Dataset | SharedCorpus) -> LinearCRF:
    """A linear model of the columns and the window of the trees. It need not converge, and a number may be missing
    where none was in training."""
    gaps = "indicator" if any(column.kind == "numeric" for column in given.schema.columns) else None
    below = LinearCRF(missing=gaps, max_iter=FIRST_ITERATIONS, n_jobs=model.n_jobs)
    with warnings.catch_warnings(), keeping(below, None):
        warnings.simplefilter("ignore", ConvergenceWarning)
        below._train_all(make_ready(below._preparation(), given, None))
    if below.outcome_ == "interrupted":
        end_soon()
    return below._finish(None)


@dataclass(frozen=True, eq=False)
class PairedDataset(Dataset):
    """A Dataset, and the same sequences as the linear chain encodes them. Labels and weights are those of the first."""

    below: Dataset | None = None

    def take(self, sequences: IndexArray) -> PairedDataset:
        assert self.below is not None
        taken = super().take(sequences)
        assert isinstance(taken, PairedDataset)
        return replace(taken, below=self.below.take(sequences))


def pair(linear: LinearCRF | None, dataset: Dataset, X: Any) -> Dataset:
    """The dataset with what the linear chain, if there is one, reads of X; X may be the dataset itself."""
    return _beside(linear, dataset, dataset, X)


def pair_all(linear: LinearCRF, ready: Prepared) -> tuple[Dataset, Dataset | None]:
    """The same of the sequences that train, and of those that are held out, as trees see them."""
    sources = ready.sources
    dataset = _beside(linear, ready.dataset, ready.given, sources.training(ready).X if sources else ready.given)
    if ready.held_out is None or ready.held_given is None:
        return dataset, None
    given = sources.held_out(ready) if sources else ready.held_given
    return dataset, _beside(linear, ready.held_out, ready.held_given, given)


def beside_held_out(linear: LinearCRF | None, ready: Prepared, given: Dataset | None) -> Dataset | None:
    """The same of held-out sequences, as users give them."""
    if linear is None or given is None:
        return given
    return _beside(linear, given, given, ready.sources.held_out(ready) if ready.sources else given)


def _beside(linear: LinearCRF | None, dataset: Dataset, given: Dataset, X: Any) -> Dataset:
    """A corpus, with gaps filled or not, beside what the linear chain reads of it. given : with its gaps"""
    if linear is None or isinstance(dataset, (PairedDataset, SharedCorpus)):
        return dataset  # parts are paired where they lie
    if linear.schema_ == given.schema:
        below = linear._dataset(given, None, None)
    elif isinstance(X, Dataset):
        hint = "Give the sequences themselves, or what encode() of this model made of them."
        raise InputError("the linear model below the trees was not trained on this Dataset's columns", hint=hint)
    else:
        below = linear._dataset(X, None, None)
    values = {field.name: getattr(dataset, field.name) for field in fields(dataset) if field.init}
    return PairedDataset(**values, below=below)


def check_below(linear: LinearCRF, dataset: Dataset, *, joint: bool) -> None:
    """Refuse a linear model that trees with these edges cannot stand on."""
    if linear.schema_.labels != dataset.schema.labels:
        hint = "Train it on the same labels."
        raise InputError("the linear model below the trees has other labels than y", hint=hint)
    if linear.layout_.histories is not None:
        hint = "Use a linear model of ⟦order⟧ 1 or 0."
        raise InputError(f"trees cannot stand on a linear model of order {linear.order}", hint=hint)
    if not joint and linear.layout_.pairs is not None:
        hint = "Use ⟦edges='joint'⟧, or a linear model without ⟦transition_columns⟧."
        raise InputError("⟦edges='shared'⟧ cannot stand on a linear model with edges of each position", hint=hint)


def ways_to_try(model: TreeParameters, ready: Prepared, linear: LinearCRF | None) -> tuple[str, ...]:
    """The forms of edges to train, on a linear model or not, the simpler one first."""
    dataset = ready.dataset
    if model.edges == "auto" and linear is not None and linear.layout_.pairs is not None:
        ways: tuple[str, ...] = ("joint",)  # a table cannot stand on edges of each position
    elif model.edges == model.init == "auto" and linear is not None:
        ways = ("shared",)
    else:
        compared = ready.held_out is not None and not model.n_bags
        ways = edges_to_try(model, dataset.n_labels, dataset.n_positions, compared=compared)
    if linear is not None:
        check_below(linear, dataset, joint="shared" not in ways and model.order != 0)
    return ways


def doubts_words(model: TreeParameters, ready: Prepared) -> bool:
    """Whether trees that ask for the previous label are tried beside those on weights of words. With few labels they
    are better where values are runs of letters or of bases; elsewhere they are soon given up."""
    n_labels, n_positions = ready.dataset.n_labels, ready.dataset.n_positions
    few = model.init == "auto" and n_labels <= FEW_LABELS and ready.held_out is not None
    return few and edges_to_try(model, n_labels, n_positions, compared=True) == ("shared", "joint")


def potentials_below(linear: LinearCRF, dataset: Dataset, first: int, last: int) -> ChainPotentials:
    """What the linear chain makes of sequences first … last−1."""
    below = dataset.below if isinstance(dataset, PairedDataset) else linear._dataset(dataset, None, None)
    assert below is not None
    return linear._potentials(below, first, last)


def reach_of_both(own: tuple[int, int], linear: LinearCRF | None) -> tuple[int, int]:
    """How far trees, or the linear chain below them, look back and ahead."""
    below = (0, 0) if linear is None else linear._reach()
    return max(own[0], below[0]), max(own[1], below[1])


def make_start(
    space: StateSpace,
    constant: FloatArray,
    linear: LinearCRF | None,
    order: int = 1,
    histories: Histories | None = None,
    history_constant: FloatArray | None = None,
) -> Start:
    """F₀ of a model."""
    if linear is None:
        return Start(space, constant, order=order, histories=histories, history_constant=history_constant)
    linear._prepare()
    return Start(space.intersect(linear.layout_.space), constant, partial(potentials_below, linear))


def find_start(model: TreeParameters, dataset: Dataset, space: StateSpace, linear: LinearCRF | None) -> Start:
    """F₀ of order 1 or 0."""
    K = dataset.n_labels
    constant = best_constant(dataset, space) if model.init == "constant" else np.zeros((K + 1, K))
    return make_start(space, constant, linear, int(model.order))


def find_history_start(
    model: TreeParameters, dataset: Dataset, space: StateSpace, linear: LinearCRF | None, *, shared: bool
) -> Start:
    """The same of order 2 and more, and the histories that shared edges have weights for. There is no linear model."""
    K, order, constant = dataset.n_labels, int(model.order), None
    histories = observed_histories(dataset, space, order, transitions=model.transitions) if shared else None
    if model.init == "constant":
        structure = HistoryTable.full(K, order) if histories is None else histories
        constant = best_history_constant(dataset, space, structure)
    return make_start(space, np.zeros((K + 1, K)), linear, order, histories, constant)
