"""How the log-odds of two labels at a position become a sum of parts.

For labels a and b at position t of a chain, let y' be the labels that the model thinks most probable elsewhere. Then

    log P(y_t = a) / P(y_t = b) = [score of (y', a) − score of (y', b)] + rest,

and in the first bracket only the scores of t and of the few positions after it differ that see its label: features of t
and the label before it, and the labels after it. The rest is what the messages say beyond that: y' is not certain. All
forms of edges, of every order, have `position_scores`, so that this holds for all of them alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from hedgerow.chain.decoding import posterior
from hedgerow.chain.inference import k_best, log_partition
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label
from hedgerow.errors import InputError, shown
from hedgerow.estimators.why.explanation import Explanation, Kind, Part
from hedgerow.legend import AnyArray, BoolArray, FloatArray

_NOTHING = 1e-12  # a part that is only rounding
_CANDIDATES = 20  # labelings that are tried for the labels around


def explain_position(
    model: Any, dataset: Dataset, position: Any, label: Label | None, against: Label | None
) -> Explanation:
    """Why a position of the one sequence of a dataset has a label, rather than another."""
    t = _checked_position(dataset, position)
    potentials = model._over_chunks(dataset, lambda chunk, _: chunk)[0]
    probs = model._label_probs(potentials)[t]
    a, b = chosen_labels(model.schema_.labels, probs, t, label, against)
    # From sums over all labelings, which do not underflow as probabilities do.
    log_a, log_b = (float(log_partition(_with_label(potentials, t, k))[0]) for k in (a, b))
    log_odds = log_a - log_b
    parts = list(_parts(model, dataset, potentials, t, a, b, log_odds))
    if model.tilt_ is not None and (tilt := float(model.tilt_[a] - model.tilt_[b])):
        parts.append(Part("base", "weights of the labels", None, "", tilt))
        log_odds += tilt
    parts.sort(key=lambda part: -abs(part.log_odds))
    names = model.schema_.labels
    return Explanation(t, names[a], names[b], float(probs[a]), float(probs[b]), log_odds, tuple(parts))


def _checked_position(dataset: Dataset, position: Any) -> int:
    n = dataset.n_positions
    if dataset.n_sequences != 1:
        hint = "Give X[i], and its number of the position."
        raise InputError(f"explain takes one sequence, and these are {dataset.n_sequences}", hint=hint)
    if isinstance(position, bool) or not isinstance(position, (int, np.integer)) or not -n <= position < n:
        raise InputError(f"⟦position⟧ is {position!r}", hint=f"The sequence has positions 0 to {n - 1}.")
    return int(position) % n


def chosen_labels(
    labels: tuple[Label, ...], probs: FloatArray, t: int, label: Label | None, against: Label | None
) -> tuple[int, int]:
    """The codes of the label and of the other one: by default the most probable, and the best of the others."""
    codes = {name: k for k, name in enumerate(labels)}
    for given, what in ((label, "label"), (against, "against")):
        if given is not None and given not in codes:
            hint = f"Known: {shown(labels)}."
            raise InputError(f"⟦{what}⟧ is {given!r}, which is not one of the labels of training", hint=hint)
    if len(probs) < 2:
        raise InputError("the model has one label alone", hint="There is nothing to explain.")
    ranked = np.argsort(-probs, kind="stable").tolist()
    b = codes[against] if against is not None else None
    a = codes[label] if label is not None else next(k for k in ranked if k != b)
    b = next(k for k in ranked if k != a) if b is None else b
    if a == b:
        raise InputError("⟦label⟧ and ⟦against⟧ are the same", hint="Give two labels.")
    impossible = [k for k in (a, b) if probs[k] == 0.0]
    if impossible:
        what = f"the label {labels[impossible[0]]!r} is impossible here"
        raise InputError(what, hint="Compare two labels that are possible.", position=t)
    return a, b


def _with_label(potentials: ChainPotentials, t: int, *labels: int) -> ChainPotentials:
    """The potentials where position t has one of these labels."""
    allowed: BoolArray = np.ones(potentials.node_scores.shape, dtype=bool)
    allowed[t] = False
    allowed[t, list(labels)] = True
    return potentials.restrict(allowed)


def _parts(
    model: Any, dataset: Dataset, potentials: ChainPotentials, t: int, a: int, b: int, log_odds: float
) -> Iterator[Part]:
    """The parts, in no order."""
    around = _labels_around(potentials, t, a, b)
    if around is None:
        yield Part("rest", "the input, and the labels around: none allow both labels", None, "", log_odds)
        return
    own, after = _pinned(potentials, around, t, a, b)
    share = 1.0 / model.temperature_
    told = model._attribute(dataset, t, around, a, b)
    features = [part._replace(log_odds=share * part.log_odds) for part in told or ()]
    yield from _merged(features)
    explained = sum(part.log_odds for part in features)
    # From right to left, features are scored with the labels after the position, where there are some.
    backward = getattr(model, "backward_", False) and t + 1 < len(around)
    left, right = (own, after - explained) if backward else (own - explained, after)
    names, order = model.schema_.labels, int(getattr(model, "order_", model.order))
    texts = _before_text(names, around, t, order), _after_text(names, around, t, order)
    if told is None:  # the input is among what is left
        texts = (texts[0], f"the input, and {texts[1]}") if backward else (f"the input, and {texts[0]}", texts[1])
    rest = log_odds - own - after
    around_it: tuple[tuple[Kind, str, float], ...] = (
        ("before", texts[0], left), ("after", texts[1], right), ("rest", "the labels around are not certain", rest)
    )  # fmt: skip
    yield from (Part(kind, text, None, "", value) for kind, text, value in around_it if abs(value) > _NOTHING)


def _merged(parts: list[Part]) -> list[Part]:
    """The parts, those of one feature as one: trees and the linear model below them may read the same."""
    sums: dict[Part, float] = defaultdict(float)
    for part in parts:
        sums[part._replace(log_odds=0.0)] += part.log_odds
    return [part._replace(log_odds=value) for part, value in sums.items()]


def _labels_around(potentials: ChainPotentials, t: int, a: int, b: int) -> AnyArray | None:
    """The most probable labels (n,) around position t with which both labels are possible; None where none were found.

    Tried are the most probable label of each position, and the best labelings that have one of the two at t.
    """

    def fits(labels: AnyArray) -> bool:
        return all(np.isfinite(_scores_with(potentials, labels, t, k)).all() for k in (a, b))

    labels = posterior(potentials)
    if fits(labels):
        return labels
    others: list[AnyArray] = list(k_best(_with_label(potentials, t, a, b), _CANDIDATES)[0].labels)
    return next(filter(fits, others), None)


def _scores_with(potentials: ChainPotentials, labels: AnyArray, t: int, k: int) -> FloatArray:
    """What each position adds to the score of a labeling, with label k at position t."""
    changed = labels.copy()
    changed[t] = k
    return potentials.edges.position_scores(potentials, changed)


def _pinned(potentials: ChainPotentials, labels: AnyArray, t: int, a: int, b: int) -> tuple[float, float]:
    """With the labels around held fixed, by how much position t, and those after it, score a higher than b."""
    difference = _scores_with(potentials, labels, t, a) - _scores_with(potentials, labels, t, b)
    return float(difference[t]), float(difference[t + 1 :].sum())


def _before_text(names: Any, labels: AnyArray, t: int, order: int) -> str:
    if order == 0:
        return "whatever the input"
    if t == 0:
        return "the start of the sequence"
    seen = [str(names[k]) for k in labels[max(0, t - max(1, order)) : t]]
    return f"the label{'s' * (len(seen) > 1)} before: {' '.join(seen)}"


def _after_text(names: Any, labels: AnyArray, t: int, order: int) -> str:
    seen = [str(names[k]) for k in labels[t + 1 : t + 1 + max(1, order)]]
    return f"the label{'s' * (len(seen) > 1)} after: {' '.join(seen)}" if seen else "the end of the sequence"
