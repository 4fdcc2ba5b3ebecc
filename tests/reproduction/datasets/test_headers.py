"""Lines of the heads of papers."""

from __future__ import annotations

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_header_lines

HEAD = (
    "<title> A Study of +L+ Hedges +L+ </title> <author> Ann Lee </author> +L+ "
    "<affiliation> A House of Learning, </affiliation> <address> Town +L+ </address> <page> +PAGE+ </page>"
)


def written(folder, text):
    (folder / "tagged_headers.txt").write_text(text)
    return folder


def test_a_file(tmp_path):
    """A line may end outside a part, and has the label of the longest part it has."""
    lines, y = load_header_lines(written(tmp_path, f"{HEAD}\n\n{HEAD} 1 <date> May +L+ </date>\n"))
    assert lines[0] == ["A Study of", "Hedges", "Ann Lee", "A House of Learning, Town"]
    assert y[0] == ["title", "title", "author", "affiliation"]
    assert (lines[1], y[1]) == ([*lines[0], "May"], [*y[0], "date"])


def test_a_mark_within_a_part_is_text(tmp_path):
    lines, y = load_header_lines(written(tmp_path, "<author> Ann </sep>, Bo +L+ </author>\n"))
    assert (len(lines[0]), y) == (1, [["author"]])


@pytest.mark.parametrize("head", ["<title> A +L+ </author>", "<title> A +L+"])
def test_a_part_that_does_not_end(head, tmp_path):
    with pytest.raises(InputError, match="does not end") as caught:
        load_header_lines(written(tmp_path, f"{HEAD}\n{head}\n"))
    assert caught.value.line == 2


@pytest.mark.data
def test_the_real_file(data_folder):
    lines, y = load_header_lines()
    assert (len(lines), sum(map(len, lines))) == (935, 18_631)
    assert [len(row) for row in lines] == [len(row) for row in y]
    assert len({label for row in y for label in row}) == 14
