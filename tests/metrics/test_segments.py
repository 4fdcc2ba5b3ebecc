"""Segments: against literal versions of the definitions, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.metrics import boundary_f1, segment_edit_score, segment_f1, segment_report, segments

LABELS = st.lists(st.sampled_from("abc"), min_size=1, max_size=14)
PAIRS = st.lists(
    st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.lists(st.sampled_from("abc"), min_size=n, max_size=n)] * 2)),
    min_size=1,
    max_size=4,
)


def runs(labels):
    found, begin = [], 0
    for t in range(1, len(labels) + 1):
        if t == len(labels) or labels[t] != labels[begin]:
            found.append((labels[begin], begin, t))
            begin = t
    return found


def literal_f1(pairs, overlap, background=None):
    """Lea and others (2017): each predicted segment, in order, by its best overlap with a true one of its label."""
    right = n_true = n_found = 0
    for true, predicted in pairs:
        gold = [run for run in runs(true) if run[0] != background]
        taken = set()
        own = [run for run in runs(predicted) if run[0] != background]
        for label, start, end in own:
            shares = [
                len({*range(start, end)} & {*range(b, e)}) / len({*range(start, end)} | {*range(b, e)}) * (k == label)
                for k, b, e in gold
            ]
            best = int(np.argmax(shares)) if shares else -1
            if best >= 0 and shares[best] >= overlap and best not in taken:
                taken.add(best)
                right += 1
        n_true, n_found = n_true + len(gold), n_found + len(own)
    return 2 * right / (n_true + n_found) if n_true + n_found else 1.0


def distance(a, b):
    """Levenshtein's, by its recursion."""
    if not a or not b:
        return len(a) + len(b)
    return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))


@given(PAIRS, st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]), st.sampled_from([None, "a"]))
def test_f1_at_an_overlap(pairs, overlap, background):
    true, predicted = zip(*pairs)
    found = segment_f1(true, predicted, overlap=overlap, background=background)
    assert found == pytest.approx(literal_f1(pairs, overlap, background), abs=1e-12)


@given(st.lists(st.tuples(*[st.lists(st.sampled_from("abc"), min_size=6, max_size=6)] * 2), min_size=1, max_size=3))
def test_edit_score(pairs):
    wanted = []
    for pair in pairs:
        a, b = ([run[0] for run in runs(labels)] for labels in pair)
        wanted.append(1 - distance(a, b) / max(len(a), len(b)))
    assert segment_edit_score(*zip(*pairs)) == pytest.approx(np.mean(wanted), abs=1e-12)


@given(PAIRS, st.integers(0, 4))
def test_boundaries_match_as_many_as_can(pairs, tolerance):
    """From left to right is the largest matching there is: all matchings are tried."""

    def most(true, found):
        if not true or not found:
            return 0
        return max(
            most(true[1:], found),
            *(
                1 + most(true[1:], found[:j] + found[j + 1 :])
                for j, x in enumerate(found)
                if abs(x - true[0]) <= tolerance
            ),
            0,
        )

    right = n = 0
    for pair in pairs:
        ends = [[t for t in range(1, len(labels)) if labels[t] != labels[t - 1]][:6] for labels in pair]
        right, n = right + most(*ends), n + sum(map(len, ends))
    short = all(len(runs(labels)) <= 7 for pair in pairs for labels in pair)
    if short:
        assert boundary_f1(*zip(*pairs), tolerance=tolerance) == pytest.approx(2 * right / n if n else 1.0)


@given(LABELS)
def test_the_truth_is_perfect(labels):
    report = segment_report([labels], [labels])
    assert (report.edit, report.boundary_f1, *report.f1.values()) == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert report.true == report.found == len(runs(labels))


def test_by_hand():
    true, predicted = [list("aaaabbbbcc")], [list("aabbbbbbcc")]
    assert segments(true[0]) == [("a", 0, 4), ("b", 4, 8), ("c", 8, 10)]
    assert segments(true[0], background="b") == [("a", 0, 4), ("c", 8, 10)]
    assert boundary_f1(true, predicted) == 0.5
    assert boundary_f1(true, predicted, tolerance=2) == 1.0
    assert segment_f1(true, predicted, overlap=0.5) == 1.0
    assert segment_f1(true, predicted, overlap=0.6) == pytest.approx(4 / 6)
    assert "F1 at overlap 25 %  1.0000" in str(segment_report(true, predicted))
    assert segment_report(true, predicted, tolerance=2).to_dict()["tolerance"] == 2


def test_unknown_labels_cut_segments():
    assert segment_report([["a", None, "a", "b"]], [["a", "a", "a", "b"]]).true == 3
    assert segment_f1([["a", None, "a", "b"]], [["a", "c", "a", "b"]]) == 1.0


def test_the_edge_of_a_gap_is_no_boundary():
    assert boundary_f1([[*"AA", None, *"AAAABB"]], [["A"] * 9]) == 0.0


@pytest.mark.parametrize("more", [{"overlap": 0.0}, {"overlap": 1.5}])
def test_no_overlap(more):
    with pytest.raises(InputError, match="overlap is"):
        segment_f1([["a"]], [["a"]], **more)


@pytest.mark.parametrize("tolerance", [-1, 0.5, True])
def test_no_tolerance(tolerance):
    with pytest.raises(InputError, match="tolerance is"):
        boundary_f1([["a"]], [["a"]], tolerance=tolerance)


def test_many_segments_take_no_time():
    labels = list(itertools.islice(itertools.cycle("ab"), 20_000))
    assert segment_f1([labels], [labels]) == 1.0
