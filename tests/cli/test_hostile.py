"""Inputs nobody expects end in one line on standard error and exit code 2; labels never steer a terminal."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hedgerow.errors import InputError, plain

from .conftest import conll

QUICK = ("--model", "linear", "--window", "0", "--dev", "0", "--quiet")


def refused(done, *words: str) -> None:
    for word in words:
        assert word in done.complaint
    assert len(done.err) < 2200


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("d.txt", "a b\r\rc d\r", "carriage returns"),
        ("d.csv", "s,label,w\r1,a,b\r", "carriage returns"),
        ("d.csv", "s,label,w\n1,a,b\n1,a,c\0\n", "line 3: has a NUL"),
        ("d.txt", "a b\n\0c d\n", "line 2: has a NUL"),
        ("d.jsonl", '{"tokens": ["a"], "tokens": ["b"], "labels": ["x"]}\n', "the key 'tokens' twice"),
        ("d.jsonl", '{"features": [{"a": 1, "a": 2}], "labels": ["x"]}\n', "line 1: has the key 'a' twice"),
        ("d.jsonl", '{"features": [{"a": -Infinity}], "labels": ["x"]}\n', "-Infinity"),
        ("d.jsonl", '{"tokens": ["a"], "labels": ["x"], "z": ' + "[" * 900 + "]" * 900 + "}\n", "more than 100 lists"),
        (
            "d.jsonl",
            '{"features": [' + '{"a":' * 900 + "1" + "}" * 900 + '], "labels": ["x"]}\n',
            "more than 100 lists",
        ),
        ("d.jsonl", '{"features": [' + '{"a":' * 90000 + "1" + "}" * 90000 + "]}\n", "not valid JSON"),
        ("d.txt", " ".join(["x"] * 300_000) + "\n", "300,000 columns"),
        ("d.csv", ",".join(map(str, range(300_000))) + "\n", "300,000 columns"),
    ],
)
def test_files(name, content, word, hedgerow, folder):
    (folder / name).write_bytes(content.encode())
    by = ("--by", "s") if name.endswith("csv") else ()
    refused(hedgerow("train", name, "-o", "m", *by, *QUICK), name, word)


def test_parquet_that_is_not_utf8(hedgerow, folder):
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    ends, text = (pyarrow.py_buffer(content) for content in (b"\0\0\0\0\2\0\0\0\4\0\0\0", b"\xff\xfeab"))
    words = pyarrow.StringArray.from_buffers(2, ends, text)
    pyarrow.parquet.write_table(pyarrow.table({"w": words, "label": ["a", "b"], "s": [1, 1]}), "d.parquet")
    refused(hedgerow("train", "d.parquet", "-o", "m", "--by", "s", *QUICK), "Invalid UTF8")


@pytest.mark.parametrize("value", ["-----1", "(" * 3000, "-" * 100_000 + "1", "9" * 5000, "[" * 300 + "]" * 300])
def test_settings(value, hedgerow, folder):
    refused(hedgerow("train", "train.txt", "-o", "m", *QUICK, "--set", f"l2={value}"), "--l2")


@pytest.mark.parametrize("window", ["100000000", "5000", "0,5000"])
def test_windows(window, hedgerow, folder):
    refused(hedgerow("train", "train.txt", "-o", "m", "--model", "linear", "--window", window, "--quiet"), "--window")


def test_many_labelings(hedgerow, folder, trained):
    refused(hedgerow("tag", trained, "train.txt", "-k", "100000"), "--k-best 100000")
    assert hedgerow("tag", trained, "train.txt", "-k", "1000").code == 0


def test_not_enough_memory(hedgerow, folder, trained, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr("hedgerow.cli.tag.load_chain", fail)
    refused(hedgerow("tag", trained, "train.txt"), "there is not enough memory for this: Unable to allocate 9 GiB")


@pytest.mark.skipif(os.name != "posix", reason="shells of others close nothing")
@pytest.mark.parametrize(
    ("redirection", "word"), [(">&-", b"standard output is closed"), ("<&-", b"standard input is closed")]
)
def test_closed_streams(redirection, word, trained):
    command = f'"{sys.executable}" -m hedgerow tag "{trained}" {redirection}'
    done = subprocess.run(command, shell=True, capture_output=True)
    assert (done.returncode, done.stderr) == (2, b"hedgerow: " + word + b"\n")


def test_labels_that_steer_terminals_or_are_very_long(hedgerow, folder):
    text = conll().replace("B-NP", "B-\x1b[31m").replace("B-VP", "B-" + "V" * 1_000_000)
    (folder / "train.txt").write_text(text)
    assert hedgerow("train", "train.txt", "-o", "m", *QUICK).code == 0
    (folder / "other.txt").write_text(text.replace("B-PP", "\x07" * 500))
    for command in (("info", "m"), ("eval", "m", "train.txt"), ("eval", "m", "other.txt"), ("explain", "m")):
        done = hedgerow(*command)
        assert done.code == 0
        shown = done.out + done.err
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "V" * 81 not in shown
        assert " " * 200 not in shown  # nor are tables as wide as such a label


def test_messages_are_short_and_plain():
    assert plain("a\x1b[0m\u202eb") == r"a\x1b[0m\u202eb"
    assert plain("x" * 99) == "x" * 79 + "…"
    long = str(InputError(f"the label {'y' * 10**6!r} stands beside {'z z ' * 10**5!r}", hint="Labels are text."))
    assert len(long) < 300
    assert long.endswith("Labels are text.")
