"""Lines of papers, and the columns made of them."""

from __future__ import annotations

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import line_features, load_paper_lines

PAPER = (
    "<SectLabel_title> A Study of +L+ Hedges +L+ </SectLabel_title> "
    "<SectLabel_author> Ann Lee\tBo Ray +L+ </SectLabel_author>"
)


def written(folder, text):
    (folder / "sectLabel.tagged.txt").write_text(text)
    return folder


def test_a_file(tmp_path):
    lines, y = load_paper_lines(written(tmp_path, f"{PAPER}\n{PAPER}\n"))
    assert lines == [["A Study of", "Hedges", "Ann Lee\tBo Ray"]] * 2
    assert y == [["title", "title", "author"]] * 2


@pytest.mark.parametrize(
    "text",
    [
        "words " + PAPER,
        PAPER + " words",
        PAPER.replace("Hedges +L+", "Hedges"),
        PAPER.replace(" <SectLabel_author>", " words <SectLabel_author>"),
        "<SectLabel_title> </SectLabel_title>",
        "<SectLabel_title> A +L+ </SectLabel_author>",
    ],
)
def test_text_without_a_place_is_refused(text, tmp_path):
    with pytest.raises(InputError) as caught:
        load_paper_lines(written(tmp_path, f"{PAPER}\n{text}\n"))
    assert caught.value.line == 2


LINES = [
    "2.1 Related Work",
    "we show that this de-",
    "Figure 3: Accuracy of all methods.",
    "• first item",
    "[12] A. Smith and B. Jones. Trees. Proc. of ICML, pp. 12-19, 2004.",
    "ann@example.org",
    "P(y) = f(x) (3)",
    "17",
    "University of Somewhere",
    "KEYWORDS",
]
YES = {
    "starts with a subsection number": [0],
    "starts with a small letter": [1, 5],
    "ends with a hyphen": [1],
    "names a figure first": [2],
    "starts with a bullet": [3],
    "starts with a bracketed number": [4],
    "has initials": [4],
    "has a year": [4],
    "has a range of numbers": [4],
    "has a word of print": [4],
    "has an at sign": [5],
    "ends with a bracketed number": [6],
    "has an equals sign": [6],
    "is a number": [7],
    "has a word of a place": [8],
    "is in capitals": [9],
    "is in title case": [0, 4, 8],
    "ends with a full stop": [2, 4],
}


@pytest.mark.parametrize("name", YES)
def test_tests_of_a_line(name):
    column = line_features([LINES]).columns[name]
    assert [t for t, yes in enumerate(column) if yes] == YES[name]


def test_measures_and_words_of_a_line():
    X = line_features([["Table 12 of 3", "", "x\ty"], ["AB"]])
    columns = X.columns
    assert columns["characters"].tolist() == [13, 0, 3, 2]
    assert columns["words"].tolist() == [4, 0, 2, 1]
    assert columns["tabs"].tolist() == [0, 0, 1, 0]
    assert columns["share of digits"].tolist() == [3 / 13, 0, 0, 0]
    assert columns["share of capitals"].tolist() == [1 / 13, 0, 0, 1]
    assert columns["place in the document"].tolist() == [0, 0.5, 1, 0]
    assert columns["lines before"].tolist() == [0, 1, 2, 0]
    assert columns["lines after"].tolist() == [2, 1, 0, 0]
    assert columns["length for the document"].tolist() == [13 / 3, 0, 1, 1]
    assert columns["shape of the first word"].tolist() == ["Aa", "", "a", "A"]
    assert columns["first word"].tolist() == ["table", "", "other", "other"]
    assert columns["last character"].tolist() == ["", "", "", ""]
    assert X.lengths.tolist() == [3, 1]


def test_every_column_has_a_kind_and_columns_do_not_look_at_other_documents():
    X = line_features([LINES, LINES[:3]])
    assert set(X.kinds) == set(X.columns)
    assert line_features([LINES[:3]])[0] == X[1]


@pytest.mark.data
def test_the_real_data(data_folder):
    lines, y = load_paper_lines()
    assert len(lines) == 40
    assert sum(map(len, lines)) == 37_821
    assert [len(paper) for paper in lines] == [len(labels) for labels in y]
    assert len({label for labels in y for label in labels}) == 24
