"""hedgerow compare: models by name with settings, folds or a test file, every form of output, bad flags."""

from __future__ import annotations

import csv
import html
import io
import json
from dataclasses import replace

import pytest

from hedgerow.cli.compare import compare, read_models
from hedgerow.report import compare as compare_models

from .conftest import conll

COMMON = ("--columns", "word,pos,chunk", "-q", "-j", "1")


@pytest.fixture
def corpus(folder):
    (folder / "more.txt").write_text(conll() * 4)
    return folder


def test_folds(hedgerow, corpus):
    done = hedgerow("compare", "more.txt", "--models", "hmm,crf:l2=0.1", "--folds", "3", *COMMON)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split()[:6] == ["model", "accuracy", "macro", "F1", "span", "F1"]
    assert {line.split()[0] for line in lines[1:3]} == {"hmm", "crf:l2=0.1"}
    assert "12 sequences, 52 labels, in 3 folds" in done.out
    again = hedgerow("compare", "more.txt", "--models", "hmm,crf:l2=0.1", "--folds", "3", "--csv", *COMMON)
    rows = list(csv.DictReader(io.StringIO(again.out)))
    assert {row["name"] for row in rows} == {"hmm", "crf:l2=0.1"}
    assert float(rows[0]["accuracy"]) == pytest.approx(float(lines[1].split()[1]), abs=1e-4)


def test_progress_is_said_elsewhere(hedgerow, corpus):
    done = hedgerow("compare", "more.txt", "-m", "hmm", "--folds", "2", "--columns", "word,pos,chunk")
    assert "hmm: 2 of 2 done" in done.err
    assert "hmm: 2 of 2 done" not in done.out


def test_a_test_file_and_every_output(hedgerow, corpus):
    files = ("--test", "train.txt", "--html", "a.html", "--plot", "a.png", "--json")
    done = hedgerow("compare", "more.txt", "-m", "hmm,m3n", *files, *COMMON)
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert record["folds"] == 1
    assert record["n_sequences"] == 3
    assert record["entries"][0]["span_f1"] is not None
    page = (corpus / "a.html").read_text()
    assert "<table" in page
    assert "--test train.txt --html a.html" in page
    assert (corpus / "a.png").stat().st_size > 5000
    words = " ".join(("hedgerow compare more.txt -m hmm,m3n", *files, *COMMON))
    assert words in html.unescape(page)


def test_models_of_every_kind(hedgerow, corpus):
    names = "sw:estimator=linear,memm:max_iter=5,iohmm:max_iter=2"
    done = hedgerow("compare", "more.txt", "-m", names, "--test", "train.txt", *COMMON)
    assert done.code == 0, done.err
    assert "left out" not in done.out
    assert all(name in done.out for name in names.split(","))


def test_the_function_is_that_of_python(corpus):
    from hedgerow import HMM
    from hedgerow.data.readers import read_conll

    X, y = read_conll("more.txt", columns=["word", "pos", "chunk"])
    ours = compare(["more.txt"], ["hmm:smoothing=0.5"], folds=2, columns=["word", "pos", "chunk"], seed=4)
    theirs = compare_models({"hmm": HMM(smoothing=0.5)}, X, y, cv=2, random_state=4)
    assert ours.best.accuracy == theirs.best.accuracy


def test_settings():
    assert read_models(["crf", " hmm:order=2:smoothing=0.5"]) == {
        "crf": ("linear", {}),
        "hmm:order=2:smoothing=0.5": ("hmm", {"order": 2, "smoothing": 0.5}),
    }


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("more.txt -m odd", "--models names 'odd', which is not a model. Choose among crf, linear"),
        ("more.txt -m hmm,hmm", "--models names 'hmm' twice"),
        ("more.txt -m hmm:odd=1", "hmm has no parameter 'odd'"),
        ("more.txt -m hmm:smoothing=-1", "smoothing is -1"),
        ("more.txt -m hmm:order", "'order' is not a parameter and a value"),
        ("more.txt -m hmm --folds 99", "--folds is 99. Give 2 to 12"),
        ("more.txt -m hmm --folds 2 --test train.txt", "--folds is not supported with --test"),
        ("more.txt -m hmm --json --csv", "--json and --csv are two forms"),
        ("more.txt -m hmm --html odd/a.html", "the folder 'odd' does not exist"),
        ("more.txt -m hmm --html more.txt", "more.txt: would be replaced"),
        ("more.txt -m hmm --html ./more.txt", "more.txt: would be replaced"),
        ("more.txt -m hmm --test train.txt --plot train.txt", "train.txt: would be replaced"),
        ("more.txt -m hmm --template train.txt --html train.txt", "train.txt: would be replaced"),
        ("more.txt -m hmm --html a.png --plot a.png", "a.png: would be replaced"),
        ("more.txt -m hmm --plot a.odd", "no picture format 'odd'"),
        ("more.txt -m hmm --scheme odd", "--scheme is 'odd'"),
        ("more.txt -m hmm --test odd.txt", "odd.txt: No such file"),
        ("odd.txt -m hmm", "odd.txt: No such file"),
        ("more.txt", "Missing option '--models'"),
        ("more.txt -m hmm --window odd", "--window is 'odd'"),
    ],
)
def test_refusals(hedgerow, corpus, arguments, what):
    before = (corpus / "more.txt").read_text()
    done = hedgerow("compare", *arguments.split(), "-q")
    assert (corpus / "more.txt").read_text() == before
    assert done.code == 2
    assert what in done.err
    assert done.err.count("\n") == 1


def test_ctrl_c_prints_what_is_finished(hedgerow, corpus, monkeypatch):
    def interrupted(models, X, y, **options):
        return replace(compare_models({"hmm": models["hmm"]}, X, y, **options), interrupted=True)

    monkeypatch.setattr("hedgerow.report.compare", interrupted)
    done = hedgerow("compare", "more.txt", "-m", "hmm,crf", "--folds", "2", *COMMON)
    assert done.code == 130
    assert done.out.splitlines()[1].startswith("hmm")
    assert "interrupted" in done.out


def test_groups_stay_together(hedgerow, folder):
    """By a column of the table: a model that knows the words of a group by heart is not tested on them."""
    rows = ["speaker,sentence,word,tag"]
    for i in range(12):
        rows += [f"s{i // 3},{i},w{i // 3}{t},{'A' if t else 'B'}" for t in range(3)]
    (folder / "g.csv").write_text("\n".join(rows) + "\n")
    options = ("g.csv", "--models", "hmm", "--by", "sentence", "--label", "tag", "--folds", "4", "--csv", "-q")
    asked = [hedgerow("compare", *options, *more).out for more in ((), ("--groups", "speaker"))]
    mixed, apart = (list(csv.DictReader(io.StringIO(out))) for out in asked)
    assert float(apart[0]["log_loss"]) > float(mixed[0]["log_loss"])
    wrong = hedgerow("compare", *options, "--groups", "word")
    assert (wrong.code, "has more values than one" in wrong.complaint) == (2, True)
    both = hedgerow("compare", *options[:7], "--test", "g.csv", "--groups", "speaker")
    assert "--groups is not supported with --test" in both.complaint
