"""NETtalk: letters with phonemes and stress."""

from __future__ import annotations

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_nettalk

HEADER = "A header.\n" * 10
LINES = "aback\txb@k-\t0>1<<\t0\nad\t@d\t1<\t0 \nbe\tbi\t0\t\n"


def written(folder, lines):
    (folder / "nettalk.data").write_text(HEADER + lines)
    return folder


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("stress", [list("0>1<<"), ["1", "<"], [None, None]]),
        ("phoneme", [list("xb@k-"), ["@", "d"], ["b", "i"]]),
        ("both", [["x0", "b>", "@1", "k<", "-<"], ["@1", "d<"], [None, None]]),
    ],
)
def test_a_file(label, expected, tmp_path):
    X, y = load_nettalk(written(tmp_path, LINES), label=label)
    assert ["".join(word) for word in X] == ["aback", "ad", "be"]
    assert y == expected


@pytest.mark.parametrize("line", ["ad\t@d\n", "ad\t@\t1<\t0\n", "ad\t@d\t1\t0\n", "ad @d 1< 0\n"])
def test_lines_that_are_wrong(line, tmp_path):
    with pytest.raises(InputError, match="is not a word") as caught:
        load_nettalk(written(tmp_path, line))
    assert caught.value.line == 11


def test_a_label_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="label is 'tone'"):
        load_nettalk(written(tmp_path, LINES), label="tone")


@pytest.mark.data
def test_the_real_data(data_folder):
    X, y = load_nettalk()
    assert len(X) == 20_008
    unknown = ["".join(word) for word, labels in zip(X, y) if None in labels]
    assert unknown == ["gunpowder"]
    known = [labels for labels in y if None not in labels]
    assert sum(map(len, known)) == 146_934
    assert {label for labels in known for label in labels} == set("012<>")
    assert len({label for labels in load_nettalk(label="phoneme")[1] for label in labels}) == 51
    assert len({label for labels in load_nettalk(label="both")[1] for label in labels} - {None}) == 163
