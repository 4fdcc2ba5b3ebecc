"""The sequences that the model gets most wrong, with what it takes to look at them: text, lines or images, the
probability of each label, and why it was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.estimators.why.explanation import Explanation
from hedgerow.legend import UNLABELLED, FloatArray, IndexArray
from hedgerow.report.page.scores import confused_pairs
from hedgerow.report.page.shown import View
from hedgerow.report.page.tested import Tested

_SURE = 20.0  # nats that one label costs at most
_LONG = 120  # positions of a text that is shown whole
_AROUND = 10  # positions that are shown on either side of an error of a longer one
_PARTS = 7  # features of an explanation
_EACH = 8  # explanations of a sequence of numbers, or of an image
_NEAR = 4  # pixels: of errors that lie nearer to each other, one is explained


class Cell(NamedTuple):
    """A position of a text. `true` is "" where it is not known; `why` is the mark of its explanation, or ""."""

    position: int
    text: str
    true: str
    predicted: str
    probability: float | None
    wrong: bool
    why: str


class Why(NamedTuple):
    """An explanation: `rows` are (text, log-odds, share of the largest)."""

    mark: str
    place: str
    title: str
    rows: list[tuple[str, float, float]]


@dataclass(frozen=True)
class Item:
    """A sequence, or an image.

    pieces : of a text, runs of cells; where it is long, those around errors
    lines : of numbers, column → values; with `places`, the positions that are explained
    """

    number: int
    n_places: int
    n_wrong: int
    confidence: float | None
    labels: list[str]
    pairs: list[tuple[str, str]]
    pieces: list[list[Cell]]
    lines: dict[str, FloatArray]
    places: list[tuple[int, str]]
    whys: list[Why]


def rank(tested: Tested) -> IndexArray:
    """Sequences, the worst first: by what their wrong labels cost, −log P(true label); without true labels by what the
    model expects to be wrong, without probabilities by the number of wrong labels."""
    if tested.probs is None:
        cost = tested.wrong.astype(np.float64)
    elif not tested.labelled.any():
        assert tested.confidence is not None
        cost = 1.0 - tested.confidence
    else:
        K = tested.probs.shape[1]
        known = tested.labelled & (tested.true < K)
        p = np.where(known, tested.probs[np.arange(len(known)), np.where(known, tested.true, 0)], 0.0)
        cost = np.where(tested.wrong, np.minimum(-np.log(np.maximum(p, np.exp(-_SURE))), _SURE), 0.0)
    total = np.bincount(tested.sequence, weights=cost, minlength=tested.n_sequences)
    order = np.argsort(-total, kind="stable")
    return order[total[order] > 0]


def chosen(tested: Tested, most: int, each: int = 2) -> list[int]:
    """The worst sequences; the last third of them are the worst of confusions that the others do not show."""
    order: list[int] = rank(tested).tolist()
    kept = order[: most - most // 3]
    seen: dict[tuple[str, str], int] = {}
    for i in (*kept, *order[len(kept) :]):
        pairs = set(confused_pairs(tested, _wrong_places(tested, i)))
        if i in kept or (len(kept) < most and any(seen.get(pair, 0) < each for pair in pairs)):
            kept += [i] * (i not in kept)
            for pair in pairs:
                seen[pair] = seen.get(pair, 0) + 1
    return kept + [i for i in order if i not in set(kept)][: most - len(kept)]


def items(tested: Tested, view: View, most: int, n_whys: int) -> Iterator[Item]:
    """The sequences to show. n_whys : the most explanations"""
    left = n_whys if hasattr(tested.model, "explain") else 0
    for i in chosen(tested, most):
        whys = list(_whys(tested, view, i, left))
        left -= len(whys)
        yield _item(tested, view, i, whys)


def _item(tested: Tested, view: View, i: int, whys: list[Why]) -> Item:
    begin, end = int(tested.offsets[i]), int(tested.offsets[i + 1])
    wrong = _wrong_places(tested, i)
    sure = None if tested.confidence is None else tested.confidence[wrong if len(wrong) else slice(begin, end)]
    marks = {int(why.place): why.mark for why in whys} if tested.shapes is None else {}
    involved = {name for pair in confused_pairs(tested, wrong) for name in pair}
    cells, lines = [], {}
    if tested.shapes is None and view.text is not None:
        cells = _cells(tested, view.tokens(tested, i), i, marks)
    elif tested.shapes is None:
        lines = view.lines(tested, i)
    return Item(
        i,
        end - begin,
        len(wrong),
        None if sure is None else float(sure.max() if len(wrong) else sure.min()),
        sorted(involved),
        sorted(set(confused_pairs(tested, wrong))),
        _pieces(cells),
        lines,
        sorted(marks.items()),
        whys,
    )


def _cells(tested: Tested, tokens: list[str], i: int, marks: dict[int, str]) -> list[Cell]:
    begin = int(tested.offsets[i])
    names = [*map(str, tested.labels), ""]
    rows = zip(tested.true[begin:].tolist(), tested.predicted[begin:].tolist(), tested.wrong[begin:].tolist())
    return [
        Cell(
            t,
            token,
            names[true] if true != UNLABELLED else "",
            names[predicted],
            None if tested.confidence is None else float(tested.confidence[begin + t]),
            wrong,
            marks.get(t, ""),
        )
        for t, (token, (true, predicted, wrong)) in enumerate(zip(tokens, rows))
    ]


def _pieces(cells: list[Cell]) -> list[list[Cell]]:
    """All cells, or of a long text those around errors."""
    if len(cells) <= _LONG:
        return [cells] if cells else []
    marked = [cell.position for cell in cells if cell.wrong or cell.why]
    near = {t for place in marked for t in range(place - _AROUND, place + _AROUND + 1)} or set(range(_LONG))
    pieces: list[list[Cell]] = []
    for cell in cells:
        if cell.position in near:
            if not pieces or pieces[-1][-1].position != cell.position - 1:
                pieces.append([])
            pieces[-1].append(cell)
    return pieces


def _wrong_places(tested: Tested, i: int) -> IndexArray:
    begin, end = int(tested.offsets[i]), int(tested.offsets[i + 1])
    return begin + np.flatnonzero(tested.wrong[begin:end])


# ------------------------------------------------------------------------------------------------ why


def _whys(tested: Tested, view: View, i: int, left: int) -> Iterator[Why]:
    """Explanations of the wrong labels of a sequence, else of the least sure one."""
    places = _explained_places(tested, view, i)[: max(left, 0)]
    if not places:
        return
    one = tested.X[i] if tested.shapes is not None else tested.dataset.take(np.array([i]))
    for t in places:
        found = _explained(tested, one, i, t)
        if found is not None:
            rows = found.rows(_PARTS)
            largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
            place = str(t) if tested.shapes is None else str(found.position)
            yield Why(f"w{i}-{t}", place, found.title, [(text, value, value / largest) for text, value in rows])


def _explained_places(tested: Tested, view: View, i: int) -> list[int]:
    """The positions of a sequence to explain."""
    begin, end = int(tested.offsets[i]), int(tested.offsets[i + 1])
    sure = np.zeros(end - begin) if tested.confidence is None else tested.confidence[begin:end]
    wrong: list[int] = (_wrong_places(tested, i) - begin).tolist()
    if not wrong:
        return [int(sure.argmin())]
    if tested.shapes is not None:
        return _apart(sorted(wrong, key=lambda t: -sure[t]), tested.shapes[i])
    if view.text is not None:
        return wrong
    runs = np.split(np.array(wrong), 1 + np.flatnonzero(np.diff(wrong) > 1))
    longest = sorted(runs, key=len, reverse=True)[:_EACH]
    return sorted(int(run[sure[run].argmax()]) for run in longest)


def _apart(places: list[int], shape: tuple[int, ...]) -> list[int]:
    kept: list[int] = []
    for t in places[:2000]:
        at = np.array(np.unravel_index(t, shape))
        if all(np.abs(at - np.unravel_index(u, shape)).max() >= _NEAR for u in kept):
            kept.append(t)
        if len(kept) == _EACH:
            break
    return kept


def _explained(tested: Tested, one: Any, i: int, t: int) -> Explanation | None:
    """The label that was given against the true one, where both are possible; else against the runner-up."""
    flat = int(tested.offsets[i]) + t
    place: Any = t
    if tested.shapes is not None:
        place = tuple(map(int, np.unravel_index(t, tested.shapes[i])))
    given, true = tested.labels[tested.predicted[flat]], int(tested.true[flat])
    choices: list[dict[str, Any]] = [{"label": given}, {}]
    if tested.wrong[flat] and true < len(tested.model.classes_):
        choices.insert(0, {"label": given, "against": tested.labels[true]})
    for asked in choices:
        try:
            found: Explanation = tested.model.explain(one, place, **asked)
            return found
        except InputError:  # a label is impossible there
            continue
    return None
