"""`hedgerow report`: the page, the lists, and what is refused before any work."""

from __future__ import annotations

import html
import shlex

import pytest
from PIL import Image

from hedgerow.datasets import make_shapes

from .conftest import SENTENCES, conll, table


def test_the_page_and_the_lists(hedgerow, folder, trained):
    done = hedgerow("report", trained, "train.txt", "-o", "r.html", "--train", "train.txt", "--suspects", "s.csv",
                    "--next", "n.csv", "--title", "Chunks")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert "span F1" in done.out
    assert "r.html" in done.out
    assert {"sequences all right", "log-loss", "page"} <= {
        line[:20].rstrip() for line in done.out.splitlines()
    }  # a table
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "<title>Chunks</title>" in page
    assert "--train train.txt --suspects s.csv" in page
    assert f"{len(SENTENCES)} of {len(SENTENCES)} sequences are in the training data, too" in page
    assert "SHA-256" in page
    assert (folder / "s.csv").read_text().startswith("sequence,position,")
    assert len((folder / "n.csv").read_text().splitlines()) == 1 + len(SENTENCES)


def test_the_page_has_the_command_as_it_was_typed(hedgerow, folder, trained):
    options = ("--shown", "0", "--title", "It's two words", "--scheme", "iob2", "-q")
    assert hedgerow("report", trained, "./train.txt", "-o", "r.html", *options).code == 0
    page = html.unescape((folder / "r.html").read_text(encoding="utf-8"))
    assert shlex.join(["hedgerow", "report", str(trained), "./train.txt", "-o", "r.html", *options]) in page


def test_without_labels(hedgerow, folder, trained):
    (folder / "new.txt").write_text(conll((0, 1)))
    assert "--unlabelled" in hedgerow("report", trained, "new.txt", "-o", "r.html").complaint
    done = hedgerow("report", trained, "new.txt", "-o", "r.html", "--unlabelled")
    assert (done.code, done.out.split()) == (0, ["page", "r.html"])
    assert "no true labels" in (folder / "r.html").read_text()


def test_a_table_of_numbers_and_words(hedgerow, folder):
    (folder / "t.csv").write_text(table())
    assert hedgerow("train", "t.csv", "--by", "sentence", "-o", "m", "-q", "-m", "linear").code == 0
    done = hedgerow("report", "m", "t.csv", "-o", "r.html", "-q")
    assert (done.code, done.out) == (0, "")
    assert "reckons" in (folder / "r.html").read_text()


def test_standard_output(hedgerow, folder, trained):
    done = hedgerow("report", trained, "-", "-o", "-", stdin=conll())
    assert done.out.startswith("<!doctype html>")
    assert "span F1" in done.err


@pytest.mark.parametrize(
    ("out", "more", "what"),
    [
        ("train.txt", (), "train.txt: would be replaced"),
        ("r.html", ("--suspects", "r.html"), "r.html: would be replaced"),
        ("r.html", ("--next", "train.txt"), "train.txt: would be replaced"),
        ("gone/r.html", (), "folder 'gone' does not exist"),
        ("r.html", ("--train", "gone.txt"), "gone.txt: No such file"),
        ("r.html", ("--cv", "40"), "--cv is 40"),
    ],
)
def test_refusals(hedgerow, folder, trained, out, more, what):
    before = (folder / "train.txt").read_text()
    assert what in hedgerow("report", trained, "train.txt", "-o", out, *more).complaint
    assert (folder / "train.txt").read_text() == before
    assert not (folder / "r.html").exists()


def test_the_model_is_not_replaced(hedgerow, folder, trained):
    assert "would be replaced" in hedgerow("report", trained, "train.txt", "-o", trained).complaint


def test_images(hedgerow, folder):
    images, masks = make_shapes(3, size=12, noise=0.5, random_state=0)
    for name, pictures in (("images", images), ("masks", masks)):
        (folder / name).mkdir()
        for i, pixels in enumerate(pictures):
            bytes_ = (64 * (pixels + 1.5)).clip(0, 255) if name == "images" else pixels
            Image.fromarray(bytes_.astype("uint8")).save(folder / name / f"{i}.png")
    assert hedgerow("lattice", "train", "images", "masks", "-o", "m", "-q").code == 0
    done = hedgerow("lattice", "report", "m", "images", "masks", "-o", "r.html", "--shown", "2")
    assert (done.code, "labels right" in done.out) == (0, True)
    assert "data:image/png" in (folder / "r.html").read_text()
    assert "hedgerow lattice report m images masks -o r.html --shown 2" in (folder / "r.html").read_text()
    assert "lattice" in hedgerow("report", "m", "train.txt", "-o", "r.html").complaint
