"""The sections of a report as plain data: counts by hand, laws, and equality with the metrics."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from hedgerow import LinearCRF
from hedgerow.data.sequences import Item
from hedgerow.metrics import label_report, log_loss, span_report
from hedgerow.report.page.confidence import HANDED, confidence, span_probs
from hedgerow.report.page.data import facts
from hedgerow.report.page.report import _trained
from hedgerow.report.page.scores import MISSED, SPURIOUS, Draws, both_spans, f1_of, scores
from hedgerow.report.page.suspects import Next, Suspect, next_to_label, suspect_places, to_csv
from hedgerow.report.page.tested import judge
from hedgerow.report.page.worst import chosen, rank

from .made import judged, sensor_corpus, sensor_model, text_corpus, text_model

TRUE = [["B-X", "I-X", "O", "B-Y"], ["O", "B-X"], ["O", "O"]]
FOUND = [["B-X", "I-X", "O", "B-X"], ["B-Y", "O"], ["O", "O"]]


def headline(found, name):
    return next(one for one in found.headlines if one.name == name)


def test_scores_are_those_of_the_metrics():
    X, y = text_corpus()
    seen = judge(text_model(), X[40:], y[40:])
    found = scores(seen)
    predicted = text_model().predict(X[40:])
    by_label, by_span = label_report(y[40:], predicted), span_report(y[40:], predicted)
    assert headline(found, "labels right").value == pytest.approx(by_label.accuracy, rel=1e-12)
    assert headline(found, "macro F1").value == pytest.approx(by_label.macro.f1, rel=1e-12)
    assert headline(found, "span F1").value == pytest.approx(by_span.overall.f1, rel=1e-12)
    loss = log_loss(y[40:], text_model().predict_proba(X[40:]), text_model().classes_)
    assert headline(found, "log-loss").value == pytest.approx(loss, rel=1e-12)
    for row in found.labels:
        own = by_label.per_label[row.name]
        assert (row.precision, row.recall, row.f1, row.true) == pytest.approx(
            (own.precision, own.recall, own.f1, own.support), rel=1e-12
        )
    assert {row.name: row.f1 for row in found.parts} == pytest.approx(
        {name: own.f1 for name, own in by_span.per_type.items()}, rel=1e-12
    )


def test_confusions_of_spans_have_missed_and_spurious_ones():
    table = scores(judged(TRUE, FOUND, scheme="auto")).confusion
    counts = {(a, b): n for a, row in zip(table.rows, table.counts) for b, n in zip(table.columns, row) if n}
    assert counts == {("X", "X"): 1, ("Y", "X"): 1, ("X", MISSED): 1, (SPURIOUS, "Y"): 1}


def test_confusions_of_labels_are_all_counted_where_labels_are_many():
    names = [f"l{k:02}" for k in range(30)]
    true = [names, names[:5]]
    found = [[*names[1:], names[0]], names[:5]]
    table = scores(judged(true, found)).confusion
    assert sum(map(sum, table.counts)) == 35
    assert len(table.rows) == 21
    assert table.rows[-1] == "(others)"


def test_positions_without_a_label_count_nowhere():
    some = scores(judged([["a", None, "b"], [None]], [["a", "b", "a"], ["b"]]))
    assert headline(some, "labels right").value == 0.5
    assert headline(some, "sequences all right").note == "of 1"
    assert scores(judged([[None]], [["a"]])) is None


def test_sequences_with_gaps_are_left_out_of_spans():
    seen = judged([["B-X", None], ["B-X", "O"]], [["B-X", "O"], ["B-X", "O"]], scheme="auto")
    found = scores(seen)
    assert (found.parts[0].true, found.n_left_out) == (1, 1)


def test_segments_where_labels_come_in_runs():
    found = scores(judged([["a"] * 6 + ["b"] * 4], [["a"] * 5 + ["b"] * 5]))
    assert (found.parts_name, [(row.name, row.right) for row in found.parts]) == ("segment", [("a", 1), ("b", 1)])
    assert scores(judged([["a", "b", "a", "b"]], [["a", "b", "a", "b"]])).parts is None


def test_the_spread_of_a_share_is_that_of_the_binomial():
    """Of sequences of one label, which are drawn as single labels are."""
    rng = np.random.default_rng(1)
    right = rng.random(4000) < 0.8
    spread = Draws(4000).spread(np.stack([right, np.ones(4000)], axis=1), lambda sums: sums[..., 0] / sums[..., 1])
    assert spread == pytest.approx(1.96 * np.sqrt(0.8 * 0.2 / 4000), rel=0.1)
    assert Draws(1).spread(np.ones((1, 2)), lambda sums: sums[..., 0]) is None


def test_labels_of_one_sequence_are_not_drawn_apart():
    right = np.repeat([1.0, 0.0], 50)
    apart = Draws(100).spread(np.stack([right, np.ones(100)], axis=1), lambda sums: sums[..., 0] / sums[..., 1])
    together = Draws(4).spread(np.array([[25, 25], [25, 25], [0, 25], [0, 25]]), lambda s: s[..., 0] / s[..., 1])
    assert together > 3 * apart


def test_f1_of_nothing_is_zero():
    assert f1_of(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])).tolist() == [0.0, 1.0]


def sure(*rows):
    """Probabilities of two labels, by that of the first."""
    return [np.array([[p, 1 - p] for p in row]) for row in rows]


def test_errors_that_are_left():
    """Ten positions, the two least sure of which are wrong: one fifth of the work finds all."""
    probs = sure([0.9] * 8 + [0.6, 0.55])
    seen = judged([["a"] * 8 + ["b", "b"]], [["a"] * 10], probs, ["a", "b"])
    found = confidence(seen)
    left = dict(zip(HANDED, found.by_place))
    assert left[0.1].left == pytest.approx(0.5)
    assert left[0.2].left == pytest.approx(0.0)
    assert left[0.2].right == pytest.approx(1.0)
    assert left[0.1].right == pytest.approx(8 / 9)
    assert found.curves["positions"][0] == (0.0, 1.0)
    assert [n for _, _, n in found.labels.points] == [2, 8]


def test_spans_are_as_probable_as_the_model_says():
    X, y = text_corpus()
    found = confidence(judge(text_model(), X[40:], y[40:]))
    assert sum(n for _, _, n in found.spans.points) == span_report(y[40:], text_model().predict(X[40:])).overall.found


def test_without_probabilities_or_labels_there_is_no_confidence():
    assert confidence(judged([["a"]], [["a"]])) is None
    assert confidence(judged([[None]], [["a"]], sure([0.7]), ["a", "b"])) is None


def test_planted_errors_are_suspect():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 600)
    probs = np.full((600, 3), 0.1)
    probs[np.arange(600), true] = 0.8
    planted = rng.choice(600, 15, replace=False)
    labels = true.copy()
    labels[planted] = (true[planted] + 1) % 3
    places, better = suspect_places(labels.astype(np.int32), probs)
    assert set(places.tolist()) == set(planted.tolist())
    assert (better == true[places]).all()


def test_what_cannot_be_told_is_not_suspect():
    probs = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    places, _ = suspect_places(np.array([-1, 2, 1, 1], dtype=np.int32), probs)
    assert places.tolist() == []


def test_an_unsure_sequence_is_labelled_next():
    seen = judged([["a", "a"], ["a"]], [["a", "a"], ["a"]], sure([0.9, 0.9], [0.55]), ["a", "b"])
    first = next_to_label(seen, lambda *place: "w", 5)[0]
    assert (first.sequence, first.position) == (1, 0)
    assert first.margin == pytest.approx(0.1)
    assert first.entropy == pytest.approx(-(0.55 * np.log(0.55) + 0.45 * np.log(0.45)))


def test_lists_can_be_saved():
    rows = [Suspect(3, 1, 'a "b", c', "x", "=2+3", 0.9, 0.05), Suspect(4, 0, "-", "-1", "-1+1", 0.8, 0.1)]
    header, first, second = list(csv.reader(io.StringIO(to_csv(Suspect, rows))))
    assert header == list(Suspect._fields)
    assert first == ["3", "1", 'a "b", c', "x", "'=2+3", "0.9", "0.05"]
    assert second[2:5] == ["-", "-1", "'-1+1"]
    assert to_csv(Next, []).splitlines() == [",".join(Next._fields)]
    assert to_csv(Next, [Next(1, 2, 0.5, 0.25, 0, "")]).splitlines()[1] == "1,2,0.5,0.25,0,"


def test_the_worst_comes_first():
    """A label that is wrong for sure is worse than one that is wrong by a hair."""
    probs = sure([0.55, 0.9], [0.99, 0.9], [0.9, 0.9])
    seen = judged([["b", "a"], ["b", "a"], ["a", "a"]], [["a", "a"]] * 3, probs, ["a", "b"])
    assert rank(seen).tolist() == [1, 0]
    assert chosen(seen, 10) == [1, 0]
    assert rank(judged([[None], [None]], [["a"]] * 2, sure([0.9], [0.6]), ["a", "b"])).tolist() == [1, 0]


def test_a_rare_confusion_is_shown_too():
    true = [["b"]] * 30 + [["c"]]
    seen = judged(true, [["a"]] * 31, None, ["a", "b", "c"])
    assert 30 in chosen(seen, 9)


def test_columns_that_move_are_told():
    X, y = sensor_corpus()
    model = sensor_model()
    trained = _trained(model, X[:8], y[:8])
    moved = [[{**row, "pulse": row["pulse"] + 60} for row in sequence] for sequence in X[8:]]
    for corpus, expected in ((X[8:], set()), (moved, {"pulse"})):
        for given in (trained, None):
            found = facts(judge(model, corpus, y[8:]), given)
            assert {one.name for one in found.columns if one.moved} == expected
    missing = next(one for one in found.columns if one.name == "pulse").missing
    assert missing == pytest.approx(np.mean([np.isnan(row["pulse"]) for sequence in X[8:] for row in sequence]))


def test_values_that_are_new_and_values_that_are_missing():
    X, y = text_corpus()
    strange = [["never", None, *row[2:]] for row in X[40:]]
    found = facts(judge(text_model(), strange, y[40:]), None)
    n = sum(map(len, strange))
    assert (found.columns[0].missing, found.columns[0].unseen) == pytest.approx((20 / n, 20 / n))


def test_sequences_that_training_had():
    X, y = text_corpus()
    model = text_model()
    trained = _trained(model, X[:40], y[:40])
    odd = ["O" if label != "O" else "B-<b>" for label in y[1]]
    found = facts(judge(model, [*X[:2], *X[40:], X[40]], [y[0], odd, *y[40:], y[40]]), trained)
    assert found.shared >= 2
    assert found.at_odds >= 1
    assert found.repeated >= 2
    assert facts(judge(model, X[40:], y[40:]), None).shared is None


def test_new_values_are_told_apart():
    """A model reads all words that are new to it alike."""
    X, y = text_corpus()
    model = text_model()
    strange, labels = [["new1", "w1"], ["new2", "w1"], ["new3"], ["new3"]], [["O", "O"]] * 2 + [["O"]] * 2
    assert facts(judge(model, strange, labels), None).repeated == 2
    trained = _trained(model, [*X[:40], ["new2", "w1"], ["new4"]], [*y[:40], ["O", "O"], ["O"]])
    assert facts(judge(model, strange, labels), trained).shared == 1


def test_new_attributes_are_told_apart():
    rows = [[{"a", "b"}, {"c"}], [{"b"}, {"a", "c"}]]
    model = LinearCRF(n_jobs=1).fit([[sorted(p) for p in row] for row in rows], [["x", "y"]] * 2)
    found = facts(judge(model, [[["a", "new1"]], [["a", "new2"]], [["a"]], [["a"]]], [["x"]] * 4), None)
    assert found.repeated == 2


def test_numbers_of_whole_sequences_tell_them_apart():
    X = [Item([{"w": "a"}, {"w": "b"}], {"age": age}) for age in (1.0, 2.0, 3.0, 3.0)]
    y = [["x", "y"]] * 4
    model = LinearCRF(n_jobs=1).fit(X, y)
    assert len(model.encode(X).seq_numeric) == 1
    assert facts(judge(model, X, y), None).repeated == 2
    assert facts(judge(model, X, y), _trained(model, X[:1], y[:1])).shared == 1


def test_labels_that_training_never_saw():
    X, y = text_corpus()
    found = facts(judge(text_model(), X[40:], [["NEW", *row[1:]] for row in y[40:]]), None)
    assert next(row for row in found.labels if row.label == "NEW").note.startswith("never seen")


def test_spans_are_as_probable_as_asked_one_by_one():
    X, y = text_corpus()
    seen = judge(text_model(), X[40:], y[40:])
    _, found = both_spans(seen)
    asked = []
    for span in found:
        i = int(seen.sequence[span.start])
        labels = [seen.labels[k] for k in seen.predicted[span.start : span.end]]
        asked.append((i, span.start - int(seen.offsets[i]), labels))
    assert any(len(labels) > 1 for _, _, labels in asked)
    together = span_probs(seen, [(span.start, span.end) for span in found])
    assert together == pytest.approx(text_model().span_probability(X[40:], asked), rel=1e-9)
