"""Spans against a literal conlleval, against its published output, and against seqeval."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.metrics import span_f1, span_report, spans

from . import conlleval

TYPES = ["NP", "VP", "A-B", ""]
PREFIXES = {"iob1": "BI", "iob2": "BI", "iobes": "BIES"}
TO_BILOU = str.maketrans("ES", "LU")


def tag(prefix: str, kind: str) -> str:
    return f"{prefix}-{kind}" if kind else prefix


def any_labels(prefixes: str) -> st.SearchStrategy[str]:
    """Labels in any order, so most sequences are illegal."""
    return st.sampled_from(["O", *(tag(prefix, kind) for prefix in prefixes for kind in TYPES)])


def encode(pieces: list[tuple[str | None, int]], scheme: str) -> list[str]:
    """The legal labels of consecutive pieces (type or None for outside, length)."""
    labels: list[str] = []
    for i, (kind, length) in enumerate(pieces):
        if kind is None:
            labels += ["O"] * length
            continue
        prefixes = ["B"] + ["I"] * (length - 1)
        if scheme == "iob1" and not (i and pieces[i - 1][0] == kind):
            prefixes[0] = "I"
        if scheme == "iobes":
            prefixes = ["S"] if length == 1 else [*prefixes[:-1], "E"]
        labels += [tag(prefix, kind) for prefix in prefixes]
    return labels


pieces = st.lists(st.tuples(st.sampled_from([None, *TYPES]), st.integers(1, 4)), min_size=1, max_size=8)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, list[list[str]], list[list[str]]]:
    """A scheme and two labelings of the same sentences; the second often agrees with the first."""
    scheme = draw(st.sampled_from(list(PREFIXES)))
    label = any_labels(PREFIXES[scheme])
    true = draw(st.lists(st.lists(label, min_size=1, max_size=10), min_size=1, max_size=4))
    predicted = [[draw(st.one_of(st.just(t), label)) for t in sentence] for sentence in true]
    return scheme, true, predicted


@given(pairs())
def test_report_is_what_conlleval_prints(pair: tuple[str, list[list[str]], list[list[str]]]) -> None:
    scheme, true, predicted = pair
    report = span_report(true, predicted, scheme)
    oracle = conlleval.Evaluation(true, predicted)
    assert str(report) == oracle.text()
    assert {k: s.true for k, s in report.per_type.items() if s.true} == dict(+oracle.true)
    assert {k: s.found for k, s in report.per_type.items() if s.found} == dict(+oracle.found)
    assert {k: s.correct for k, s in report.per_type.items() if s.correct} == dict(+oracle.correct)


@given(st.sampled_from(list(PREFIXES)).flatmap(lambda s: st.lists(any_labels(PREFIXES[s]), max_size=20)))
def test_spans_are_the_chunks_of_conlleval(labels: list[str]) -> None:
    assert spans(labels) == conlleval.chunks(labels)


@given(pieces, st.sampled_from(list(PREFIXES)))
def test_legal_labels_give_back_their_spans(parts: list[tuple[str | None, int]], scheme: str) -> None:
    ends = np.cumsum([length for _, length in parts]).tolist()
    expected = [(kind, end - n, end) for (kind, n), end in zip(parts, ends) if kind is not None]
    assert spans(encode(parts, scheme), scheme) == expected


@given(st.lists(any_labels("BIES"), max_size=20))
def test_bilou_is_iobes_with_other_letters(labels: list[str]) -> None:
    bilou = [label[0].translate(TO_BILOU) + label[1:] for label in labels]
    assert spans(bilou, "bilou") == spans(labels, "iobes")


@given(pairs())
def test_f1_is_that_of_seqeval(pair: tuple[str, list[list[str]], list[list[str]]]) -> None:
    _, true, predicted = pair
    # seqeval calls the empty type "_" and splits types differently; the types here are plain.
    true, predicted = (
        [[label if len(label) == 1 else label.replace("A-B", "AB") for label in s] for s in y]
        for y in (true, predicted)
    )
    expected = pytest.importorskip("seqeval.metrics").f1_score(true, predicted, zero_division=0)
    np.testing.assert_allclose(span_f1(true, predicted), expected, rtol=0, atol=1e-12)


# The example on conlleval's own page: 961 tokens, and for each type the spans (true, found, correct).
PUBLISHED = {"ADJP": (6, 1, 0), "ADVP": (8, 11, 5), "NP": (262, 317, 206), "PP": (90, 107, 89)}
PUBLISHED |= {"SBAR": (6, 3, 2), "VP": (87, 100, 69)}
PUBLISHED_TEXT = """\
processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.
accuracy:  73.36%; precision:  68.83%; recall:  80.83%; FB1:  74.35
             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
             ADVP: precision:  45.45%; recall:  62.50%; FB1:  52.63  11
               NP: precision:  64.98%; recall:  78.63%; FB1:  71.16  317
               PP: precision:  83.18%; recall:  98.89%; FB1:  90.36  107
             SBAR: precision:  66.67%; recall:  33.33%; FB1:  44.44  3
               VP: precision:  69.00%; recall:  79.31%; FB1:  73.80  100"""


def test_published_example() -> None:
    # The counts are the published ones; the sentences are made, so the token accuracy is ours: (371 + 334) / 961.
    true, predicted = [], []
    for kind, (n_true, n_found, n_correct) in PUBLISHED.items():
        for n, labels in (
            (n_correct, (f"B-{kind}", f"B-{kind}")),
            (n_true - n_correct, (f"B-{kind}", "O")),
            (n_found - n_correct, ("O", f"B-{kind}")),
        ):
            true += [[labels[0]]] * n
            predicted += [[labels[1]]] * n
    padding = 961 - len(true)
    true += [["O"] * padding]
    predicted += [["O"] * padding]
    assert str(span_report(true, predicted, "iob2")) == PUBLISHED_TEXT


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("B-NP I-NP O B-NP B-NP", [("NP", 0, 2), ("NP", 3, 4), ("NP", 4, 5)]),
        ("O I-NP I-NP I-VP", [("NP", 1, 3), ("VP", 3, 4)]),  # I after O, and a type that changes
        ("I-NP B-NP I-NP", [("NP", 0, 1), ("NP", 1, 3)]),  # IOB1
        ("B-NP I-VP I-VP", [("NP", 0, 1), ("VP", 1, 3)]),
        ("B-NP E-NP E-NP S-NP I-NP", [("NP", 0, 2), ("NP", 2, 3), ("NP", 3, 4), ("NP", 4, 5)]),
        ("B-NP I-NP S-NP B-NP O", [("NP", 0, 2), ("NP", 2, 3), ("NP", 3, 4)]),
        ("U-PER B-PER L-PER", [("PER", 0, 1), ("PER", 1, 3)]),
        ("B-A-B I-A-B I-A", [("A-B", 0, 2), ("A", 2, 3)]),  # the first hyphen cuts
        ("B I O I", [("", 0, 2), ("", 3, 4)]),
        ("", []),
    ],
)
def test_spans_by_hand(labels: str, expected: list[tuple[str, int, int]]) -> None:
    assert spans(labels.split()) == expected


def test_report_by_hand() -> None:
    true = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O"]]
    predicted = [["B-PER", "I-PER", "O", "B-ORG"], ["B-ORG", "I-ORG"]]
    report = span_report(true, predicted)
    assert (report.overall.true, report.overall.found, report.overall.correct) == (3, 3, 1)
    assert report.overall.f1 == span_f1(true, predicted) == pytest.approx(1 / 3)
    assert list(report.per_type) == ["LOC", "ORG", "PER"]
    assert report.per_type["PER"].f1 == 1.0
    assert report.per_type["ORG"].precision == 0.0
    assert report.per_type["LOC"].found == 0
    assert report.accuracy == pytest.approx(4 / 6)
    as_dict = report.to_dict()
    ratios = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert as_dict["per_type"]["LOC"] == ratios | {"true": 1, "found": 0, "correct": 0}
    assert as_dict["accuracy"] == report.accuracy


def test_a_span_ends_with_its_sequence() -> None:
    assert span_report([["B-X"], [], ["I-X"]], [["B-X"], [], ["I-X"]]).overall.true == 2
    assert span_report([["B-X", "I-X"]], [["B-X", "I-X"]]).overall.true == 1


def test_no_spans_score_zero() -> None:
    assert span_f1([["O", "O"]], [["O", "O"]]) == 0.0


@pytest.mark.parametrize(
    ("scheme", "label"),
    [("iob1", "S-X"), ("iob2", "E-X"), ("iobes", "U-X"), ("bilou", "S-X"), ("auto", "noun"), ("auto", "X-Y")],
)
def test_a_label_outside_the_scheme_is_an_error(scheme: str, label: str) -> None:
    with pytest.raises(InputError, match=f"sequence 1, position 2: '{label}' is not a span label"):
        span_report([["O"], ["O", "O", "O"]], [["O"], ["O", "O", label]], scheme)


def test_errors_of_use() -> None:
    with pytest.raises(InputError, match="scheme is 'bmes'"):
        spans(["O"], "bmes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sequence 0, position 1: the true label is missing"):
        span_f1([["O", None]], [["O", "O"]])
    with pytest.raises(InputError, match="holds 'BIO' where a list"):
        spans("BIO")
    with pytest.raises(InputError, match="1 is not a span label"):
        spans([1])


def test_long_sequences_are_quick(rng: np.random.Generator) -> None:
    labels = np.array(["O", "B-NP", "I-NP", "B-VP", "I-VP"])
    true, predicted = (labels[rng.integers(5, size=100_000)].tolist() for _ in range(2))
    begin = time.perf_counter()
    report = span_report([true], [predicted])
    assert time.perf_counter() - begin < 1.0  # 0.03 s; a Python loop over positions takes longer than this
    assert report.overall.true == len(spans(true))
