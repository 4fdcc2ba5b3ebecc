"""What is wrong with spans, as nervaluate counts it."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.metrics import span_errors, span_f1, spans

WAYS = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}


def made(rng, n=25, length=14):
    """Labels with spans of two types, and others that differ here and there."""
    true, predicted = [], []
    for _ in range(n):
        rows = []
        for _ in range(2):
            row = []
            while len(row) < length:
                size, kind = int(rng.integers(1, 4)), rng.choice(["A", "B", ""])
                row += ["O"] * size if not kind else [f"B-{kind}", *[f"I-{kind}"] * (size - 1)]
            rows.append(row[:length])
        true.append(rows[0])
        cut = int(rng.integers(0, length))
        mixed = rows[0][:cut] + rows[1][cut:]
        if mixed[cut].startswith("I-"):
            mixed[cut] = "B-" + mixed[cut][2:]
        for t in range(cut + 1, length):  # no span begins with I, which the two read differently
            if mixed[t].startswith("I-") and mixed[t - 1][1:] != mixed[t][1:]:
                mixed[t] = "B-" + mixed[t][2:]
        predicted.append(mixed)
    return true, predicted


def one_to_one(true, predicted):
    """The sequences in which no span overlaps two: there is one way to pair them."""
    kept = []
    for a, b in zip(true, predicted):
        gold, found = spans(a), spans(b)
        beside = [
            sum(x.start < y.end and y.start < x.end for x in others)
            for own, others in ((gold, found), (found, gold))
            for y in own
        ]
        if max(beside, default=0) < 2:
            kept.append((a, b))
    return zip(*kept)


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_nervaluate(seed):
    nervaluate = pytest.importorskip("nervaluate")
    true, predicted = map(list, one_to_one(*made(np.random.default_rng(seed), 200)))
    assert len(true) > 15
    evaluator = nervaluate.Evaluator(true, predicted, tags=["A", "B"], loader="list")
    results = evaluator.evaluate()["overall"]
    found = span_errors(true, predicted)
    for way, theirs in WAYS.items():
        own = getattr(found, way)
        counts = own.correct, own.incorrect, own.partial, own.missed, own.spurious
        wanted = results[theirs]
        assert counts == tuple(
            getattr(wanted, name) for name in ("correct", "incorrect", "partial", "missed", "spurious")
        )
        assert own.precision == pytest.approx(wanted.precision)
        assert own.recall == pytest.approx(wanted.recall)
        assert own.f1 == pytest.approx(wanted.f1)


def test_every_span_counts_once(rng):
    true, predicted = made(rng)
    found = span_errors(true, predicted)
    for way in WAYS:
        own = getattr(found, way)
        assert own.correct + own.incorrect + own.partial + own.missed == sum(len(spans(row)) for row in true)
        assert own.correct + own.incorrect + own.partial + own.spurious == sum(len(spans(row)) for row in predicted)


def test_strict_is_the_f1_of_spans(rng):
    true, predicted = made(rng)
    assert span_errors(true, predicted).strict.f1 == pytest.approx(span_f1(true, predicted))


def test_by_hand():
    found = span_errors([["B-A", "I-A", "O", "B-B", "O", "B-A"]], [["B-A", "O", "O", "B-A", "B-B", "O"]])
    assert (found.strict.correct, found.strict.incorrect, found.strict.missed, found.strict.spurious) == (0, 2, 1, 1)
    assert (found.partial.correct, found.partial.partial) == (1, 1)
    assert (found.type.correct, found.type.incorrect) == (1, 1)
    assert str(found).splitlines()[1].startswith("strict ")
    assert found.to_dict()["exact"]["correct"] == 1


def test_nothing_found():
    empty = span_errors([["O"]], [["O"]]).strict
    assert (empty.precision, empty.recall, empty.f1) == (0.0, 0.0, 0.0)
