"""hedgerow tag --stream: lines come back one by one, each with the label that the lines up to it tell."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys

import numpy as np
import pytest

from hedgerow import load
from hedgerow.cli.streaming import tag_lines
from hedgerow.cli.train import train

from .conftest import SENTENCES, conll, jsonl, table


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """By name, models that know the corpus by heart: of columns, with and without a window, and of CSV."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "train.txt").write_text(conll())
    (folder / "train.csv").write_text(table())
    columns = {"columns": ["word", "pos", "chunk"]}
    parameters = {"l2": 0.01}
    train([str(folder / "train.txt")], str(folder / "plain"), **columns, parameters=parameters | {"window": 0})
    train([str(folder / "train.txt")], str(folder / "ahead"), **columns, parameters=parameters | {"window": 2})
    train([str(folder / "train.csv")], str(folder / "table"), by=["sentence"], parameters=parameters | {"window": 0})
    return {name: folder / name for name in ("plain", "ahead", "table")}


def filtered(path, lag):
    """Label and probability of every position, by a stream in Python."""
    model, found = load(path), []
    for sentence in SENTENCES:
        stream = model.stream(lag)
        rows = [{"word": word, "pos": pos} for word, pos, _ in sentence]
        probs = np.concatenate([stream.extend(rows), stream.finish()])
        found += [(model.classes_[row.argmax()], round(float(row.max()), 4)) for row in probs]
    return found


@pytest.mark.parametrize(("name", "lag"), [("plain", 0), ("plain", 2), ("ahead", 0), ("ahead", 1), ("plain", 99)])
def test_columns(hedgerow, models, name, lag):
    done = hedgerow("tag", models[name], "--stream", "--lag", lag, "-p", stdin="-DOCSTART-\n\n" + conll((0, 1)))
    assert (done.code, done.err) == (0, "")
    rows = [line.split(" ") for line in done.out.splitlines() if line and line != "-DOCSTART-"]
    assert [(row[2], float(row[3])) for row in rows] == filtered(models[name], lag)
    bare = "".join(" ".join(line.split(" ")[:2]) + "\n" for line in done.out.splitlines())
    assert bare == "-DOCSTART-\n\n" + conll((0, 1))


def test_a_line_is_answered_before_the_next_one_comes(models):
    taken = []

    def lines():
        for line in conll((0, 1)).encode().splitlines(keepends=True):
            taken.append(line)
            yield line

    for n, content in enumerate(tag_lines(str(models["plain"]), "-", lines()), start=1):
        assert content.split()[:2] == taken[-1].split()
        assert n == len(taken)


def test_windows_that_look_ahead_hold_lines_back(models):
    lines = conll((0, 1)).encode().splitlines(keepends=True)
    stream = tag_lines(str(models["ahead"]), "-", iter(lines[:4]))
    assert [content.split()[0] for content in stream] == [line.split()[0] for line in lines[:4]]


@pytest.mark.parametrize("lag", [0, 3])
def test_tables(hedgerow, models, folder, lag):
    (folder / "new.csv").write_text(table(label=False))
    done = hedgerow("tag", models["table"], "new.csv", "--stream", "--lag", lag)
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[0] == ["sentence", "word", "pos", "size", "predicted"]
    model, expected = load(models["table"]), []
    for sentence in SENTENCES:
        stream = model.stream(lag)
        given = [{"word": word, "pos": pos, "size": float(len(word))} for word, pos, _ in sentence]
        probs = np.concatenate([stream.extend(given), stream.finish()])
        expected += model.classes_[probs.argmax(axis=1)].tolist()
    assert [row[-1] for row in rows[1:]] == expected
    assert [row[:-1] for row in rows] == list(csv.reader(io.StringIO(table(label=False))))


def test_a_pipe_is_answered_line_by_line(models):
    command = [sys.executable, "-m", "hedgerow", "tag", str(models["plain"]), "--stream"]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        for line in (b"He PRP\n", b"reckons VBZ\n", b"\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().startswith(line.rstrip())  # nothing more is sent before
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("plain", "--stream"), "He PRP\nreckons\n", "line 2"),
        (("plain", "--stream", "--decoder", "viterbi"), "", "--stream writes the most probable labels"),
        (("plain", "--stream", "--k-best", "2"), "", "--stream writes"),
        (("plain", "--stream", "-o", "there"), "", "--stream writes"),
        (("plain", "--lag", "2"), "", "--lag is for --stream"),
        (("plain", "--stream", "--lag", "-2"), "", "lag"),
        (("plain", "--stream", "--format", "jsonl"), jsonl(), "a line of the format jsonl wants whole sequences"),
        (("table", "--stream"), "sentence,word,pos,size\n0,a,b,many\n", "line 2"),
        (("table", "--stream"), "sentence,word,pos,size\n0,a,b\n", "expected 4 columns"),
        (("table", "--stream"), "word,pos,size\na,b,1\n", "there is no column 'sentence'"),
    ],
)
def test_what_is_refused(hedgerow, models, arguments, stdin, message):
    name, *rest = arguments
    done = hedgerow("tag", models[name], *rest, stdin=stdin)
    assert done.code != 0
    assert message in done.err


def test_a_table_may_begin_with_a_byte_order_mark(hedgerow, models):
    rows = "sentence,word,pos,size\n0,He,PRP,1\n"
    marked, plain = (hedgerow("tag", models["table"], "--stream", stdin=mark + rows).out for mark in ("\ufeff", ""))
    assert marked == plain


def test_a_model_without_a_stream(hedgerow, folder):
    (folder / "train.txt").write_text(conll())
    train([str(folder / "train.txt")], "iohmm", model="iohmm", parameters={"max_iter": 2, "window": 0})
    done = hedgerow("tag", "iohmm", "--stream", stdin=conll((0, 1)))
    assert done.code != 0
    assert "labels whole sequences" in done.err
