"""A corpus that two models read: trees by one schema, and the linear chain below them by another."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.legend import IndexArray
from hedgerow.models.crf.linear import LinearCRF


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
    if linear is None or isinstance(dataset, PairedDataset):
        return dataset
    if linear.schema_ == dataset.schema:
        below = linear._dataset(dataset, None, None)
    elif isinstance(X, Dataset):
        hint = "Give the sequences themselves, or what encode() of this model made of them."
        raise InputError("the linear model below the trees was not trained on this Dataset's columns", hint=hint)
    else:
        below = linear._dataset(X, None, None)
    own = {field.name: getattr(dataset, field.name) for field in fields(dataset)}
    return PairedDataset(**own, below=below)


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


def potentials_below(linear: LinearCRF, dataset: Dataset, first: int, last: int) -> ChainPotentials:
    """What the linear chain makes of sequences first … last−1."""
    assert isinstance(dataset, PairedDataset)
    assert dataset.below is not None
    return linear._potentials(dataset.below, first, last)
