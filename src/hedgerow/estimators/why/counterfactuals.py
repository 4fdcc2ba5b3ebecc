"""What would turn the label of a position: other values of its features, or a label that is given to a neighbour.

Values of a column are tried one at a time. Where none turns the label by itself, the one that helps most is kept and
the others are tried beside it, up to three. All trials of a step are one corpus: copies of the sequence, each with a
change. The number that turns the label is then looked for between the old one and the one that was tried.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain.inference import legal_sequences
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset
from hedgerow.data.derived import stored_numbers
from hedgerow.data.showing import code_text, number_text
from hedgerow.estimators.why.explanation import Change
from hedgerow.legend import FIRST_VALUE, INDEX, MISSING, BoolArray, FloatArray

_MOST_CHANGES = 3  # of features together
_MOST_VALUES = 60  # of a column that are tried, the first of its vocabulary
_MOST_POSITIONS = 200_000  # of the copies that are predicted at once
_STEPS = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])  # of a number, in deviations, either way
_BISECTIONS = 12
_SHOWN = 3  # of each kind


class _Trial(NamedTuple):
    """One value in place of another. column : None for an attribute that is taken away, `row` is its entry then"""

    column: Column | None
    row: int
    value: float
    text: str


def turning_changes(model: Any, dataset: Dataset, t: int) -> tuple[Change, ...]:
    """What would turn the label of position t of the one sequence of a dataset, the smallest change of each kind first:
    the fewest features, and the most probable label of a neighbour."""
    return (*_features(model, dataset, t), *_neighbours(model, dataset, t))


# ------------------------------------------------------------------------------------------------ neighbours


def _neighbours(model: Any, dataset: Dataset, t: int) -> list[Change]:
    """Labels of the positions beside t that turn its label if they are given, the most probable first."""
    potentials = model._over_chunks(dataset, lambda chunk, _: chunk)[0]
    probs, names, found = model._label_probs(potentials), model.schema_.labels, []
    old = int(probs[t].argmax())
    for beside in (t - 1, t + 1):
        if not 0 <= beside < len(probs):
            continue
        for v in np.flatnonzero(probs[beside] > 0.0).tolist():
            allowed: BoolArray = np.ones(probs.shape, dtype=bool)
            allowed[beside] = np.arange(probs.shape[1]) == v
            given = potentials.restrict(allowed)
            if not legal_sequences(given)[0]:
                continue
            after = model._label_probs(given)[t]
            if (new := int(after.argmax())) != old:
                side = "before" if beside < t else "after"
                change = Change("neighbour", f"the label {side} were {names[v]}", names[new], float(after[new]))
                found.append((float(probs[beside, v]), change))
    found.sort(key=lambda entry: -entry[0])
    return [change for _, change in found[:_SHOWN]]


# ------------------------------------------------------------------------------------------------ features


def _features(model: Any, dataset: Dataset, t: int) -> list[Change]:
    """Changes of as few features as there can be; none where a model reads the sequence in two ways."""
    if getattr(dataset, "below", None) is not None:
        return []
    base = _at(model, dataset, t)[0]
    old, current = int(base.argmax()), dataset
    kept: list[_Trial] = []
    while len(kept) < _MOST_CHANGES:
        changed = [one.column for one in kept if one.column is not None]  # an attribute that is gone is no trial
        trials = [trial for trial in _trials(current, t) if trial.column is None or trial.column not in changed]
        if not trials:
            return []
        size = max(1, _MOST_POSITIONS // dataset.n_positions)
        parts = [trials[first : first + size] for first in range(0, len(trials), size)]
        probs = np.concatenate([_at(model, _changed(current, t, part), t) for part in parts])
        turned = np.flatnonzero(probs.argmax(axis=1) != old)
        if len(turned):
            return _told(model, current, t, old, kept, trials, probs, turned)
        kept.append(trials[int(np.argmin(probs[:, old]))])
        current = _changed(current, t, kept[-1:])
    return []


def _told(
    model: Any, dataset: Dataset, t: int, old: int, kept: list[_Trial], trials: list[_Trial], probs: FloatArray,
    turned: Any,
) -> list[Change]:  # fmt: skip
    """The changes that turn the label, for each column the smallest, the surest first."""
    found: dict[str, tuple[_Trial, FloatArray]] = {}
    for i in turned.tolist():
        trial = trials[i]
        key = trial.text if trial.column is None else trial.column.name
        if key not in found:  # numbers are tried from near to far
            found[key] = trial, probs[i]
    names, changes = model.schema_.labels, []
    for trial, after in found.values():
        if trial.column is not None and trial.column.kind == "numeric":
            trial, after = _nearest(model, dataset, t, old, trial, after)
        what = " and ".join(one.text for one in (*kept, trial))
        changes.append(Change("features", f"if {what}", names[int(after.argmax())], float(after.max())))
    return sorted(changes, key=lambda change: -change.probability)[:_SHOWN]


def _nearest(
    model: Any, dataset: Dataset, t: int, old: int, trial: _Trial, after: FloatArray
) -> tuple[_Trial, FloatArray]:
    """The number nearest to what stands there that still turns the label, within a 4096th of the way."""
    near, far = float(dataset.numeric[trial.row, dataset.start[0] + t]), trial.value
    for _ in range(_BISECTIONS if np.isfinite(near) else 0):
        middle = trial._replace(value=(near + far) / 2)
        probs = _at(model, _changed(dataset, t, [middle]), t)[0]
        if int(probs.argmax()) != old:
            far, after = middle.value, probs
        else:
            near = middle.value
    assert trial.column is not None
    return trial._replace(value=far, text=f"{trial.column.name} were {number_text(far)}"), after


def _at(model: Any, dataset: Dataset, t: int) -> FloatArray:
    """(S, K): the probabilities of the labels at position t of every sequence."""
    return model._node_probs(dataset)[dataset.offsets[:-1] + t]  # type: ignore[no-any-return]


def _trials(dataset: Dataset, t: int) -> list[_Trial]:
    """Other values of each column at position t, and attributes without which it could be."""
    place, schema = int(dataset.start[0]) + t, dataset.schema
    trials: list[_Trial] = []
    for row, column in enumerate(schema.of("categorical", "boolean")):
        if column.name == OUTSIDE_COLUMN:
            continue
        codes = [*range(FIRST_VALUE, min(column.n_codes, FIRST_VALUE + _MOST_VALUES)), MISSING]
        for code in codes:
            if code != dataset.codes[row, place]:
                text = code_text(column, code)
                trials.append(_Trial(column, row, code, f"{column.name} were {text}"))
    for row, column in enumerate(stored_numbers(schema)):
        number = float(dataset.numeric[row, place])
        here = column.center if np.isnan(number) else number
        moved = (here + np.outer(_STEPS, [-1.0, 1.0]) * column.spread).ravel().tolist()
        trials.extend(_Trial(column, row, x, f"{column.name} were {number_text(x)}") for x in moved)
    entries = range(*dataset.attr_ptr[place : place + 2].tolist())
    names = schema.attributes.names() if len(entries) else []
    trials.extend(_Trial(None, entry, 0.0, f"it had not {names[dataset.attr_id[entry]]!r}") for entry in entries)
    return trials


def _changed(dataset: Dataset, t: int, trials: list[_Trial]) -> Dataset:
    """Copies of a sequence, each with one change at position t. Labels that are given stay."""
    n = len(trials)
    none: Any = np.zeros(n, dtype=INDEX)
    copies = dataset.cut(none, none, np.full(n, dataset.n_positions, dtype=INDEX))
    codes, numeric = copies.codes.copy(), copies.numeric.copy()
    kept: BoolArray = np.ones(len(copies.attr_id), dtype=bool)
    size = len(dataset.attr_id)
    for i, (trial, start) in enumerate(zip(trials, copies.start.tolist())):
        if trial.column is None:
            kept[i * size + trial.row] = False
        elif trial.column.kind == "numeric":
            numeric[trial.row, start + t] = trial.value
        else:
            codes[trial.row, start + t] = int(trial.value)
    running = np.concatenate([[0], np.cumsum(kept)]).astype(INDEX)
    values = None if copies.attr_val is None else copies.attr_val[kept]
    return replace(
        copies, codes=codes, numeric=numeric, attr_ptr=running[copies.attr_ptr], attr_id=copies.attr_id[kept],
        attr_val=values,
    )  # fmt: skip
