"""Chains of higher order: which histories training shows, how often, what they are called, and how their weights pass
to another chain."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.edges import HistoryEdges
from hedgerow.chain.inference import legal_sequences
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import NOTHING, START, Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label, Schema
from hedgerow.data.labels import allowed_labels
from hedgerow.estimators.constraints import check_open, only_possible
from hedgerow.legend import FloatArray
from hedgerow.training.boosting.arc_steps import count_arcs

Names = tuple[tuple[Label | None, ...], Label]


def observed_histories(
    dataset: Dataset, space: StateSpace, order: int, *, transitions: str, min_frequency: float = 0.0
) -> Histories:
    """The histories of a labelled dataset. A position whose label is not known, or is a set, shows none.

    transitions : as in LinearCRF; with "observed", arcs seen less often than min_frequency are left out
    """
    assert dataset.labels is not None
    forbidden = transitions == "forbid_unseen"
    least = max(1, int(np.ceil(min_frequency))) if transitions == "observed" else 1
    histories = Histories.observed(
        dataset.labels,
        dataset.offsets,
        dataset.n_labels,
        order,
        unseen="forbidden" if forbidden else "back_off",
        space=space,
        min_count=least,
    )
    if forbidden:
        edges = HistoryEdges.from_scores(histories, np.zeros(histories.n_arcs))
        check_open(dataset, space, edges, "Only labels that all are known show a history.")
    return histories


def without_unseen(held_out: Dataset, histories: Histories) -> Dataset:
    """The held-out sequences whose labels are possible; the others would score −inf whatever the model is."""
    if (histories.back_off >= 0).any():  # unseen labels back off
        return held_out
    mask = allowed_labels(held_out, slice(0, held_out.n_positions))
    if mask is None:
        return held_out
    edges = HistoryEdges.from_scores(histories, np.zeros(histories.n_arcs))
    potentials = ChainPotentials(np.where(mask, 0.0, -np.inf), held_out.offsets, edges)
    return only_possible(held_out, np.flatnonzero(legal_sequences(potentials)), "use ⟦transitions='all'⟧")


def history_frequency(dataset: Dataset, histories: Histories) -> FloatArray:
    """(A,): how often the history of each arc is seen, at least 1."""
    counts = count_arcs(dataset, histories)
    seen = np.bincount(histories.arc_state, weights=counts, minlength=histories.n_states)
    return np.maximum(seen, 1.0)[histories.arc_state]


def arc_names(schema: Schema, histories: Histories) -> list[Names]:
    """(labels of the history, label) of each arc, oldest label first; None is ⊥, before the first label."""
    names: list[Label | None] = [*schema.labels, None]  # START, −1, is the last
    assert START == -1
    tuples = [tuple(names[v] for v in row if v != NOTHING) for row in histories.labels.tolist()]
    return [(tuples[s], schema.labels[v]) for s, v in zip(histories.arc_state.tolist(), histories.arc_label.tolist())]


def carry_histories(
    old_schema: Schema, old: Histories, old_weights: FloatArray, new_schema: Schema, new: Histories
) -> FloatArray:
    """(A,): the weights of old arcs for new ones of the same name; 0 for those that are new."""
    known = dict(zip(arc_names(old_schema, old), old_weights.tolist()))
    return np.array([known.get(name, 0.0) for name in arc_names(new_schema, new)])
