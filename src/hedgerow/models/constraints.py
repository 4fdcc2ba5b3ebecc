"""Constraints of an estimator as a StateSpace, and the check that the training labels obey them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hedgerow.data.dataset import Dataset, Label, locate
from hedgerow.errors import InputError
from hedgerow.structure.states import StateSpace


def legal_space(
    dataset: Dataset, constraints: str | Iterable[tuple[Label, Label]] | None, *, forbid_unseen: bool
) -> StateSpace:
    """The legal moves: what the constraints leave, less unseen transitions where they are forbidden."""
    assert dataset.labels is not None
    space = _constrained(dataset, constraints)
    check_gold(dataset, space)
    if forbid_unseen:
        seen = StateSpace.observed(dataset.labels, dataset.offsets, dataset.n_labels).transitions
        space = StateSpace(space.start, space.transitions & seen, space.end)
    return space


def _constrained(dataset: Dataset, constraints: str | Iterable[tuple[Label, Label]] | None) -> StateSpace:
    labels = dataset.schema.labels
    if constraints is None:
        return StateSpace.full(len(labels))
    if isinstance(constraints, str):
        return StateSpace.from_scheme([str(label) for label in labels], constraints)
    codes = dataset.schema.label_codes
    pairs = []
    for pair in constraints:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"constraints hold {pair!r}", hint="Give a scheme such as 'iob2', or (from, to) pairs.")
        unknown = [label for label in pair if label not in codes]
        if unknown:
            raise InputError(f"constraints name the label {unknown[0]!r}, which is not in y")
        pairs.append((codes[pair[0]], codes[pair[1]]))
    return StateSpace.full(len(labels)).forbid(pairs)


def check_gold(dataset: Dataset, space: StateSpace) -> None:
    """Refuse training labels that the constraints forbid, by name."""
    labels, names = dataset.labels, dataset.schema.labels
    assert labels is not None
    first, last = np.zeros((2, len(labels)), dtype=bool)
    first[dataset.offsets[:-1]] = True
    last[dataset.offsets[1:] - 1] = True
    known, before = labels >= 0, np.roll(labels, 1)
    bad_move = known & ~first & (before >= 0) & ~space.transitions[before, labels]
    bad_first = known & first & ~space.start[labels]
    bad_last = known & last & ~space.end[labels]
    bad = bad_move | bad_first | bad_last
    if not bad.any():
        return
    t = int(np.argmax(bad))
    if bad_move[t]:
        what = f"the labels go from {names[before[t]]!r} to {names[labels[t]]!r}"
    else:
        what = f"the label {names[labels[t]]!r} stands {'first' if bad_first[t] else 'last'}"
    sequence, position = locate(dataset.offsets, t)
    raise InputError(
        f"{what}, which the constraints forbid",
        hint="Mend the label, or drop the constraint.",
        sequence=sequence,
        position=position,
    )
