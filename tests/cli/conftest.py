"""A small corpus in every format, and the command run in this process."""

from __future__ import annotations

import io
import json
import random
import sys
from dataclasses import dataclass

import pytest

from hedgerow.cli.main import run

SENTENCES = [
    [tuple(token.split("/")) for token in sentence.split()]
    for sentence in (
        "He/PRP/B-NP reckons/VBZ/B-VP the/DT/B-NP deficit/NN/I-NP ././O",
        "She/PRP/B-NP sleeps/VBZ/B-VP ././O",
        "The/DT/B-NP cat/NN/I-NP sleeps/VBZ/B-VP in/IN/B-PP sun/NN/B-NP",
    )
]
N_POSITIONS = 13


def conll(columns=(0, 1, 2), separator=" "):
    lines = (separator.join(row[c] for c in columns) for sentence in SENTENCES for row in (*sentence, [""] * 3))
    return "".join(f"{line.strip()}\n" for line in lines)


def table(separator=",", label=True):
    rows = [["sentence", "word", "pos", "size", "label"]]
    for i, sentence in enumerate(SENTENCES):
        rows += [[str(i), word, pos, str(len(word)), chunk] for word, pos, chunk in sentence]
    return "".join(separator.join(row if label else row[:-1]) + "\n" for row in rows)


def jsonl(form="tokens", label=True):
    lines = []
    for sentence in SENTENCES:
        words, tags, chunks = zip(*sentence)
        record = {
            "tokens": {"tokens": words},
            "features": {"features": [{"word": w, "pos": p, "bias": 1.0} for w, p in zip(words, tags)]},
            "columns": {"columns": {"word": words, "pos": tags}},
        }[form]
        lines.append(json.dumps(record | ({"labels": chunks} if label else {})))
    return "".join(f"{line}\n" for line in lines)


def crfsuite():
    return "".join(
        "".join(f"{chunk}\tw={word}\tp={pos}\n" for word, pos, chunk in sentence) + "\n" for sentence in SENTENCES
    )


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def complaint(self):
        """The one line of a user error."""
        assert (self.code, self.out, self.err.count("\n")) == (2, "", 1), self
        assert self.err.startswith("hedgerow: ")
        return self.err.removeprefix("hedgerow: ").rstrip("\n")


@pytest.fixture
def hedgerow(capsys, monkeypatch):
    """Run the command: hedgerow("train", …, stdin="text")."""

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder with the corpus in it, as train.txt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(conll())
    return tmp_path


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The path of a model of train.txt, with named columns."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "train.txt").write_text(conll())
    arguments = [
        "train",
        folder / "train.txt",
        "-o",
        folder / "m.hedgerow",
        "--columns",
        "word,pos,chunk",
        "--window",
        "2",
        "-q",
        "-m",
        "linear",
    ]
    assert run([str(argument) for argument in arguments]) == 0
    return folder / "m.hedgerow"


def planted_text(n_sequences=60, seed=3):
    """Letters and numbers whose label follows from the letter, the number before it and the label before it."""
    draws = random.Random(seed)
    lines = ["sequence,letter,size,label"]
    for i in range(n_sequences):
        label, size = "C", 0
        for _ in range(draws.randint(3, 8)):
            letter = draws.choice("uvw")
            label = "A" if letter == "u" and size > 2 else "B" if label == "A" or letter == "v" else "C"
            size = draws.randint(0, 5)
            lines.append(f"{i},{letter},{size},{label}")
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    """The path of a tree model of such letters and numbers."""
    folder = tmp_path_factory.mktemp("planted")
    (folder / "planted.csv").write_text(planted_text())
    arguments = ["train", folder / "planted.csv", "-o", folder / "t.hedgerow", "--model", "tree", "--by", "sequence"]
    text = "--window 1 --trees 8 --leaves 6 --l2-regularization 2 --dev 0 -q"
    options = text.split()
    assert run([str(argument) for argument in (*arguments, *options)]) == 0
    return folder / "t.hedgerow"
