"""hedgerow train: every format, the recipe that travels with the model, early stopping, what it prints."""

from __future__ import annotations

import json
import os
import re
import signal
from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as package
from hedgerow import LinearCRF, TreeCRF, load
from hedgerow.cli.train import train
from hedgerow.data.readers import read_conll, read_table
from hedgerow.estimators.facts import kept_iteration
from hedgerow.metrics import scorers, sequence_accuracy

from .conftest import N_POSITIONS, SENTENCES, conll, crfsuite, jsonl, planted_text, table

TABLE = ("--by", "sentence")


def write(folder, name, text):
    path = folder / name
    if path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        rows = [line.split(",") for line in text.splitlines()]
        columns = dict(zip(rows[0], map(list, zip(*rows[1:]))))
        columns["size"] = [int(size) for size in columns["size"]]
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), path)
    else:
        path.write_text(text)
    return path


CORPORA = [
    ("a.txt", conll(), ()),
    ("a.tsv", conll(separator="\t"), ("--format", "conll", "--separator", "\\t")),
    ("a.csv", table(), TABLE),
    ("a.tsv", table("\t"), TABLE),
    ("a.parquet", table(), TABLE),
    ("a.jsonl", jsonl("tokens"), ()),
    ("a.jsonl", jsonl("features"), ()),
    ("a.jsonl", jsonl("columns"), ()),
    ("a.crfsuite", crfsuite(), ()),
]
NAMES = ["conll", "conll-tabs", "csv", "tsv", "parquet", "tokens", "features", "columns", "crfsuite"]


@pytest.mark.parametrize(("name", "text", "options"), CORPORA, ids=NAMES)
def test_every_format_trains_tags_and_evaluates(hedgerow, folder, name, text, options):
    write(folder, name, text)
    done = hedgerow("train", name, "-o", "m.hedgerow", "--l2", "0.01", *options)
    assert done.code == 0, done.err
    facts = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert facts["sequences"] == str(len(SENTENCES))
    assert facts["positions"] == str(N_POSITIONS)
    assert facts["labels"] == "5: B-NP, B-PP, B-VP, I-NP, O"
    assert facts["file"] == "m.hedgerow"
    columns = [] if name.endswith(".crfsuite") else ["columns"]  # which has attributes alone
    names = ["sequences", "positions", *columns, "labels", "weights", "iterations", "loss", "seconds", "file"]
    assert list(facts) == names
    evaluated = hedgerow("eval", "m.hedgerow", name)
    assert "sequence accuracy 1.0000 (3 sequences)" in evaluated.out
    assert "processed 13 tokens with 9 phrases; found: 9 phrases; correct: 9." in evaluated.out
    tagged = hedgerow("tag", "m.hedgerow", name, "-o", f"tagged.{name}")
    assert (tagged.code, tagged.out, tagged.err) == (0, "", "")
    assert (folder / f"tagged.{name}").stat().st_size > (0 if "crfsuite" in name else len(text) / 2)


def test_the_model_is_that_of_python(hedgerow, folder):
    hedgerow("train", "train.txt", "-o", "m.hedgerow", "--columns", "word,pos,chunk", "--window", "1,0", "--l1", "0.1")
    X, y = read_conll("train.txt", columns=["word", "pos", "chunk"])
    expected = LinearCRF(window=(1, 0), l1=0.1).fit(X, y)
    model = package.load("m.hedgerow")
    assert np.array_equal(model.weights_, expected.weights_)
    assert model.schema_ == expected.schema_


def test_the_label_by_index_by_name_and_in_the_middle(hedgerow, folder):
    (folder / "middle.txt").write_text(conll((0, 2, 1)))
    for options in (("--label", "1"), ("--label", "-2"), ("--columns", "word,chunk,pos", "--label", "chunk")):
        assert hedgerow("train", "middle.txt", "-o", "m.hedgerow", "--model", "linear", *options).code == 0
        model = package.load("m.hedgerow")
        assert model.classes_.tolist() == ["B-NP", "B-PP", "B-VP", "I-NP", "O"]
        tagged = hedgerow("tag", "m.hedgerow", "-", stdin=conll((0, 1)))
        assert tagged.out.splitlines()[0] == "He PRP B-NP"


def test_several_files_are_one_corpus(hedgerow, folder):
    pieces = conll().split("\n\n", maxsplit=1)
    for name, piece in zip(("a.txt", "b.txt"), pieces):
        (folder / name).write_text(piece + "\n")
    assert hedgerow("train", "a.txt", "b.txt", "-o", "two.hedgerow", "--model", "linear").code == 0
    assert hedgerow("train", "-", "-o", "one.hedgerow", "--model", "linear", stdin=conll()).code == 0
    two, one = package.load("two.hedgerow"), package.load("one.hedgerow")
    assert two.schema_ == one.schema_
    assert np.array_equal(two.weights_, one.weights_)


def test_files_that_do_not_fit_each_other(hedgerow, folder):
    (folder / "other.txt").write_text(conll((0, 1, 1, 2)))
    assert "other.txt: has 4 columns" in hedgerow("train", "train.txt", "other.txt", "-o", "m").complaint
    (folder / "a.jsonl").write_text(jsonl("columns"))
    (folder / "b.jsonl").write_text(jsonl("tokens"))
    assert "b.jsonl: has other columns" in hedgerow("train", "a.jsonl", "b.jsonl", "-o", "m").complaint


def test_kinds_of_a_table_travel_with_the_model(hedgerow, folder):
    rows = "s,code,label\n" + "".join(
        f"{i},{code},{'A' if code < 5 else 'B'}\n" for i in range(3) for code in (1, 7, 3)
    )
    (folder / "a.csv").write_text(rows)
    assert (
        hedgerow(
            "train", "a.csv", "-o", "m.hedgerow", "--model", "linear", "--by", "s", "--kinds", "code=categorical"
        ).code
        == 0
    )
    assert package.load("m.hedgerow").metadata_["reader"]["kinds"] == {"code": "categorical"}
    # A numeric column would refuse the x.
    tagged = hedgerow("tag", "m.hedgerow", "-", stdin="s,code\n1,1\n1,7\n1,x\n")
    assert tagged.out.splitlines()[:3] == ["s,code,predicted", "1,1,A", "1,7,B"]
    assert hedgerow("train", "a.csv", "-o", "m.hedgerow", "--model", "linear", "--by", "s").code == 0
    assert "'x' is not a number" in hedgerow("tag", "m.hedgerow", "-", stdin="s,code\n1,x\n").complaint


def test_columns_of_a_table_are_those_to_use(hedgerow, folder):
    (folder / "a.csv").write_text(table())
    assert (
        hedgerow(
            "train", "a.csv", "-o", "m.hedgerow", "--model", "linear", "--by", "sentence", "--columns", "pos,size"
        ).code
        == 0
    )
    model = package.load("m.hedgerow")
    assert model.metadata_["reader"]["columns"] == ["pos", "size"]
    assert {column.name for column in model.schema_.columns} >= {"pos", "size"}
    assert "word" not in {column.name for column in model.schema_.columns}


TEMPLATE = "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[0,1]/%x[1,1]\nB01:%x[0,1]\nB\n"


def test_a_template_is_applied_again_in_tag_and_eval(hedgerow, folder):
    (folder / "template").write_text(TEMPLATE)
    assert hedgerow("train", "train.txt", "-o", "m.hedgerow", "--template", "template", "--l2", "0.1").code == 0
    (folder / "template").unlink()
    model = package.load("m.hedgerow")
    assert {column.name for column in model.schema_.columns} == {"U00", "U01", "U02", "B01"}
    assert {column.offsets for column in model.schema_.columns} == {(0,)}
    assert list(model.transition_columns) == ["B01"]
    assert model.metadata_["reader"]["template"] == TEMPLATE.rstrip("\n")
    assert "sequence accuracy 1.0000" in hedgerow("eval", "m.hedgerow", "train.txt").out
    assert hedgerow("tag", "m.hedgerow", "train.txt").out.splitlines()[0] == "He PRP B-NP B-NP"
    columns = hedgerow("tag", "m.hedgerow", "--format", "jsonl", stdin=jsonl("columns", label=False))
    assert columns.code == 0
    assert "a template works on columns" in hedgerow("tag", "m.hedgerow", "--format", "jsonl", stdin=jsonl()).complaint


@pytest.mark.parametrize(
    ("name", "line", "options", "window"),
    [
        ("a.txt", "{0} {1}\n", (), 1),
        ("a.txt", "{0} {1}\n", ("--window", "auto"), 1),
        ("a.txt", "{0} {1}\n", ("--template", "template"), 0),
        ("a.crfsuite", "{1}\tw={0}\n", (), 0),
        ("a.crfsuite", "{1}\tw={0}\n", ("--window", "2"), 2),
    ],
)
def test_ready_made_features_have_no_window_unless_asked(hedgerow, folder, name, line, options, window):
    """The label of a letter is the letter before it."""
    (folder / "template").write_text("U00:%x[0,0]\nB\n")
    rows = np.random.default_rng(0).choice(list("abc"), size=(40, 12)).tolist()
    lines = ("".join(map(line.format, row, [row[-1], *row])) for row in rows)
    write(folder, name, "\n".join(lines))
    hedgerow("train", name, "-o", "m.hedgerow", "--model", "linear", *options)
    assert package.load("m.hedgerow").window_ == window


def test_parameters_reach_the_model(hedgerow, folder):
    text = (
        "--l2 0.5 --l1 0.25 --max-iter 7 --min-frequency 2 --transitions observed --constraints iob2 --jobs 1 --order 2"
    )
    options = text.split()
    assert hedgerow("train", "train.txt", "-o", "m.hedgerow", *options).code == 0
    given = package.load("m.hedgerow").get_params()
    names = ("l2", "l1", "max_iter", "min_frequency", "transitions", "constraints", "n_jobs", "order")
    assert [given[name] for name in names] == [0.5, 0.25, 7, 2.0, "observed", "iob2", 1, 2]


def test_a_dev_file_stops_training_and_the_best_iteration_is_kept(hedgerow, folder):
    done = hedgerow(
        "train", "train.txt", "-o", "m.hedgerow", "--l2", "1e-6", "--dev", "train.txt", "--scoring", "span_f1"
    )
    facts = dict(line.rsplit(None, 1) for line in done.out.splitlines() if line.startswith("dev"))
    assert facts == {"dev span_f1": "1.0000"}
    model = package.load("m.hedgerow")
    assert model.outcome_ == "early_stopping"
    assert model.best_iteration_ == model.n_iter_ == 11  # the score is 1 from the first on; the last of equals is kept
    assert "iterations     11 (stopped early)" in done.out


def test_a_share_for_dev_and_its_seed(hedgerow, folder):
    (folder / "more.txt").write_text(conll() * 4)
    losses = []
    for seed in (0, 0, 1, 2, 3):
        assert hedgerow("train", "more.txt", "-o", "m.hedgerow", "--dev", "0.2", "--seed", seed).code == 0
        losses.append(package.load("m.hedgerow").loss_)
    assert losses[0] == losses[1]
    assert len(set(losses)) > 1


def test_held_out_sequences_are_not_counted_as_trained_on(hedgerow, folder):
    (folder / "more.txt").write_text(conll() * 4)
    held_out = "9 (and 3 held out)"
    out = hedgerow("train", "more.txt", "-o", "m.hedgerow", "--model", "linear", "--dev", "0.2").out
    assert out.splitlines()[0].split(maxsplit=1) == ["sequences", held_out]
    assert "trained on 9 sequences" in hedgerow("info", "m.hedgerow").out
    n_positions = int(out.splitlines()[1].split()[1])
    assert n_positions == package.load("m.hedgerow").metadata_["training"]["positions"]
    assert 9 * 3 <= n_positions <= 4 * N_POSITIONS - 3 * 3
    by_file = hedgerow("train", "more.txt", "-o", "m.hedgerow", "--model", "linear", "--dev", "train.txt").out
    assert by_file.splitlines()[0].split() == ["sequences", "12"]


def test_the_score_of_trees_says_of_which_training_it_is(hedgerow, folder):
    (folder / "a.csv").write_text(planted_text())
    options = ("train", "a.csv", "-o", "m", "--by", "sequence", "--model", "tree", "--trees", "40")
    again = "(before the last training, on all sequences)"
    own = hedgerow(*options).out.splitlines()
    assert package.load("m").refitted_
    assert own[0].split() == ["sequences", "60"]
    coarse = SimpleNamespace(
        n_iter_=34, best_iteration_=148
    )  # folds with longer steps, and a training with shorter ones
    assert kept_iteration(coarse) == ", then 148 on all sequences"
    assert [line.endswith(again) for line in own if line.startswith("dev")] == [True]
    by_file = hedgerow(*options, "--dev", "a.csv").out
    assert "dev log_likelihood" in by_file
    assert again not in by_file


@pytest.mark.parametrize("model", ["linear", "tree"])
def test_an_interrupted_model_is_not_trained_on_what_it_held_out(hedgerow, folder, monkeypatch, model):
    (folder / "a.csv").write_text(planted_text())
    calls = iter(range(100))

    def metric(true, predicted):
        if next(calls) == 3:  # the first call is before training
            os.kill(os.getpid(), signal.SIGINT)
        return sequence_accuracy(true, predicted)

    monkeypatch.setitem(scorers.METRICS, "sequence_accuracy", metric)
    options = ("--by", "sequence", "--model", model, "--dev", "0.25", "--scoring", "sequence_accuracy", "-j", 1)
    done = hedgerow("train", "a.csv", "-o", "m", *options)
    assert done.code == 130
    assert "stopping after this iteration" in done.err
    assert done.out.splitlines()[0].split(maxsplit=1) == ["sequences", "45 (and 15 held out)"]
    assert "(interrupted" in done.out
    assert "last training" not in done.out
    assert "trained on 45 sequences" in hedgerow("info", "m").out


def test_a_missing_number_names_its_line(hedgerow, folder):
    text = planted_text().splitlines()
    sequence, letter, _, label = text[5].split(",")
    gap = [*text[:5], f"{sequence},{letter},,{label}", *text[6:]]
    (folder / "whole.csv").write_text("\n".join(text) + "\n")
    (folder / "gap.csv").write_text("\n".join(gap) + "\n")
    options = ("-o", "m", "--by", "sequence", "-q")
    linear = (*options, "--model", "linear")
    for extra in ((), ("--dev", "0.2")):
        complaint = hedgerow("train", "gap.csv", *linear, *extra).complaint
        assert complaint.startswith("gap.csv, line 6, sequence ")
        assert ", column 'size': a number is missing. Fill it" in complaint
    assert hedgerow("train", "whole.csv", "gap.csv", *linear).complaint.startswith("gap.csv, line 6")
    assert hedgerow("train", "whole.csv", *linear, "--dev", "gap.csv").complaint.startswith("gap.csv, line 6")
    assert hedgerow("train", "whole.csv", *linear).code == 0
    for command in ("tag", "eval"):
        assert hedgerow(command, "m", "gap.csv").complaint.startswith("gap.csv, line 6")
    assert hedgerow("train", "gap.csv", *options, "--model", "tree", "--trees", 3).code == 0
    assert hedgerow("tag", "m", "gap.csv").code == 0


@pytest.mark.parametrize(("model", "missing"), [("linear", "indicator"), ("tree", "weighting"), ("tree", "surrogate")])
def test_missing_numbers_may_be_dealt_with(hedgerow, folder, model, missing):
    text = planted_text().splitlines()
    gaps = [re.sub(r",[^,]*,(\w+)$", r",,\1", line) if i % 7 == 3 else line for i, line in enumerate(text)]
    (folder / "gap.csv").write_text("\n".join(gaps) + "\n")
    own = ("--trees", 3) if model == "tree" else ()
    done = hedgerow("train", "gap.csv", "-o", "m", "--by", "sequence", "-m", model, "--missing", missing, *own)
    assert done.code == 0, done.err
    assert load("m").missing == missing
    for command in ("tag", "eval"):
        assert hedgerow(command, "m", "gap.csv").code == 0
    shown = hedgerow("explain", "m", *(("--rules", 3) if model == "tree" else ())).out
    assert ("Where a value is missing" in shown) == (model == "tree")


def test_a_way_of_missing_values_that_the_model_has_not(hedgerow, folder):
    (folder / "whole.csv").write_text(planted_text())
    options = ("-o", "m", "--by", "sequence", "-q", "--model", "linear")
    complaint = hedgerow("train", "whole.csv", *options, "--missing", "weighting").complaint
    assert "LinearCRF has no --missing weighting, which is for trees" in complaint
    assert "--missing is 'forget'" in hedgerow("train", "whole.csv", *options, "--missing", "forget").complaint


def test_lines_go_to_standard_error_and_quiet_prints_nothing(hedgerow, folder):
    loud, quiet = (
        hedgerow("train", "train.txt", "-o", "m.hedgerow", "--model", "linear", *options)
        for options in ((), ("--quiet",))
    )
    lines = [line for line in loud.err.splitlines() if not line.startswith("compiling")]  # on a fresh install
    assert lines[0].startswith("iteration 1  loss ")
    assert "iteration" not in loud.out.splitlines()[0]
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_a_run_that_does_not_converge_says_so_without_a_warning(hedgerow, folder):
    done = hedgerow("train", "train.txt", "-o", "m.hedgerow", "--max-iter", "1")
    assert done.code == 0
    assert "1 (stopped by --max-iter before it converged)" in done.out
    assert "Warning" not in done.err


def test_the_function_behind_the_command(folder):
    model = train(["train.txt"], "m.hedgerow", columns=["word", "pos", "chunk"], parameters={"l2": 0.1})
    assert model.l2 == 0.1
    assert model.metadata_["training"]["positions"] == N_POSITIONS
    assert package.load("m.hedgerow").metadata_ == model.metadata_


@pytest.mark.parametrize(("name", "text", "options"), CORPORA, ids=NAMES)
def test_trees_train_tag_and_evaluate_every_format(hedgerow, folder, name, text, options):
    write(folder, name, text)
    settings = ("--model", "tree", "--trees", "25", "--leaves", "8", "--l2-regularization", "0.1", "--dev", "0")
    settings = (*settings, "--learning-rate", "0.3", "--set", "min_samples_leaf=0.01")
    done = hedgerow("train", name, "-o", "m.hedgerow", *settings, *options)
    assert done.code == 0, done.err
    facts = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    columns = [] if name.endswith(".crfsuite") else ["columns"]
    names = ["sequences", "positions", *columns, "labels", "trees", "leaves", "iterations", "loss", "seconds", "file"]
    assert list(facts) == names
    assert (facts["trees"], facts["iterations"]) == ("125", "25 (as many as --trees)")
    assert int(facts["leaves"].replace(",", "")) == package.load("m.hedgerow").ensemble_.n_leaves
    assert "sequence accuracy 1.0000 (3 sequences)" in hedgerow("eval", "m.hedgerow", name).out
    tagged = hedgerow("tag", "m.hedgerow", name, "-o", f"tagged.{name}")
    assert (tagged.code, tagged.out, tagged.err) == (0, "", "")


def test_the_tree_model_is_that_of_python(hedgerow, folder):
    (folder / "a.csv").write_text(planted_text())
    text = "--model tree --trees 6 --leaves 5 --l2-regularization 3 --learning-rate 0.5 --window 1,0 --seed 4 -j 1"
    options = text.split()
    assert hedgerow("train", "a.csv", "-o", "m", "--by", "sequence", *options).code == 0
    X, y = read_table("a.csv", "sequence", "label")
    expected = TreeCRF(
        n_estimators=6, max_leaf_nodes=5, l2_regularization=3, learning_rate=0.5, window=(1, 0), random_state=4
    ).fit(X, y)
    model = package.load("m")
    assert np.array_equal(model.ensemble_.nodes, expected.ensemble_.nodes)
    assert np.array_equal(model.ensemble_.values, expected.ensemble_.values)
    assert model.early_stopping
    assert model.metadata_["training"]["score"] is not None  # a share was held out


def test_trees_of_a_template(hedgerow, folder):
    (folder / "template").write_text(TEMPLATE)
    text = "--model tree --template template --dev 0 --trees 9"
    options = text.split()
    assert hedgerow("train", "train.txt", "-o", "m", *options).code == 0
    assert {column.name for column in package.load("m").schema_.columns} == {"U00", "U01", "U02", "B01"}
    assert hedgerow("tag", "m", "train.txt").out.splitlines()[0].startswith("He PRP B-NP ")


def test_trees_stop_by_a_file_a_share_or_not_at_all(hedgerow, folder):
    (folder / "a.csv").write_text(planted_text())
    train_options = ("train", "a.csv", "-o", "m", "--by", "sequence", "--model", "tree", "--trees", "60")
    by_file = hedgerow(*train_options, "--dev", "a.csv", "--scoring", "sequence_accuracy").out
    assert package.load("m").scoring == "sequence_accuracy"
    assert "dev sequence_accuracy" in by_file
    own = hedgerow(*train_options, "--scoring", "accuracy").out
    assert (package.load("m").validation_fraction, "dev accuracy" in own) == (0.1, True)
    assert "dev log_likelihood" in hedgerow(*train_options, "--dev", "0.3").out
    assert package.load("m").validation_fraction == 0.3
    none = hedgerow(*train_options, "--dev", "0").out
    assert "60 (as many as --trees)" in none
    assert "dev" not in none


def test_parameters_reach_the_tree_model(hedgerow, folder):
    text = "--edges shared --learning-rate line_search --min-frequency 2 --transitions forbid_unseen --dev 0 --order 2"
    options = text.split()
    assert hedgerow("train", "train.txt", "-o", "m", "--model", "tree", "--trees", "2", *options).code == 0
    given = package.load("m").get_params()
    names = ("edges", "learning_rate", "min_frequency", "transitions", "n_estimators", "early_stopping", "order")
    assert [given[name] for name in names] == ["shared", "line_search", 2.0, "forbid_unseen", 2, False, 2]


def test_a_linear_model_may_say_that_it_holds_out_none(hedgerow, folder):
    hedgerow("train", "train.txt", "-o", "m", "--dev", "0")
    assert not package.load("m").early_stopping


@pytest.mark.parametrize(
    ("model", "options", "estimator"),
    [
        ("hmm", ("--order", "2", "--set", "smoothing=0.5", "--set", "class_weight=balanced"), "HMM"),
        ("iohmm", ("--l2", "0.01", "--set", "n_states=6"), "IOHMM"),
        ("m3n", ("--l2", "0.01", "--window", "1"), "MaxMarginMarkovNetwork"),
    ],
)
def test_the_rest_of_the_family(hedgerow, folder, model, options, estimator):
    done = hedgerow("train", "train.txt", "-o", "m.hedgerow", "--model", model, *options)
    assert done.code == 0, done.err
    assert "sequences      3" in done.out
    loaded = package.load("m.hedgerow")
    assert type(loaded).__name__ == estimator
    if model == "hmm":
        assert (loaded.order, loaded.smoothing) == (2, 0.5)
    assert hedgerow("tag", "m.hedgerow", "train.txt", "-p").code == 0
    assert "label" in hedgerow("info", "m.hedgerow").out
    assert "accuracy" in hedgerow("eval", "m.hedgerow", "train.txt").out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("--model hmm --window 2", "--window is for --model linear, tree"),
        ("--model hmm --dev 0.1", "--dev is for --model linear, tree"),
        ("--model hmm --l2 1", "--l2 is for --model linear"),
        ("--model hmm --set smoothing=-1", "smoothing is -1"),
        ("--model linear --set class_weight=often", "class_weight is 'often'"),
        ("--model hmm --set odd=1", "hmm has no parameter 'odd'. It has order, smoothing"),
        ("--model hmm --set smoothing", "'smoothing' is not a parameter and a value"),
        ("--model iohmm --constraints iob2", "--constraints is for --model linear, tree"),
        ("--model iohmm --set n_states=0", "n_states is 0"),
        ("--model m3n --objective margin", "--objective is for --model linear or tree"),
    ],
)
def test_options_of_other_models_are_refused(hedgerow, folder, arguments, what):
    done = hedgerow("train", "train.txt", "-o", "m.hedgerow", *arguments.split())
    assert what in done.complaint


def test_features_of_numbers_are_derived_and_those_that_are_not_known_are_refused(hedgerow, folder):
    write(folder, "a.csv", planted_text())
    base = ("train", "a.csv", "-o", "m.hedgerow", "--by", "sequence", "--model", "tree", "--trees", 5, "--dev", 0)
    assert hedgerow(*base, "--features", "lag, rolling_mean(3)").code == 0
    assert load("m.hedgerow").features_ == ("lag(1)", "rolling_mean(3)")
    assert "features lag(1), rolling_mean(3)\n" in hedgerow("info", "m.hedgerow").out
    assert hedgerow(*base, "--features", "auto").code == 0
    assert load("m.hedgerow").features == "auto"
    refused = hedgerow(*base, "--features", "rolling_meen(3)")
    assert refused.code != 0
    assert "--features has 'rolling_meen(3)'. Did you mean 'rolling_mean'?" in refused.err
    words = hedgerow("train", "train.txt", "-o", "m.hedgerow", "--model", "linear", "--features", "lag")
    assert "--features are of numeric columns, and the data has none" in words.err


def recording(n=60):
    """One machine, rows in any order."""
    rows = [f"2024-05-01T{i // 60:02d}:{i % 60:02d}:00,{i % 7}.5,{'on' if i % 7 > 3 else 'off'}" for i in range(n)]
    return "at,pulse,state\n" + "\n".join([*rows[n // 2 :], *rows[: n // 2]]) + "\n"


def test_a_table_with_times_trains_and_is_tagged_in_its_own_order(hedgerow, folder):
    (folder / "one.csv").write_text(recording())
    options = ("-m", "linear", "--label", "state", "--time", "at", "--max-gap", "5min", "--time-columns", "elapsed")
    done = hedgerow("train", "one.csv", "-o", "m", *options)
    assert done.code == 0, done.err
    assert "columns        elapsed of at (numeric), pulse (numeric)" in done.out
    lines = hedgerow("tag", "m", "one.csv").out.splitlines()
    assert lines[0] == "at,pulse,state,predicted"
    assert lines[1].startswith("2024-05-01T00:30:00,2.5,off,")
    assert sum(line.split(",")[2] == line.split(",")[3] for line in lines[1:]) >= 55
    import pandas as pd

    frame = pd.read_csv(folder / "one.csv")  # Python cuts frames as the command line cut the file
    assert load("m").predict(frame).tolist() == [line.split(",")[3] for line in lines[1:]]
    assert "which ask for the row before" in hedgerow("tag", "m", "one.csv", "--stream").complaint
    complaint = hedgerow("train", "one.csv", "-o", "m", "--label", "state", "--time", "60").complaint
    assert "--time names a column. Seconds to look for a model are --time-budget" in complaint
    doubled = recording() + recording().splitlines()[1] + "\n"
    (folder / "two.csv").write_text(doubled)
    complaint = hedgerow("train", "two.csv", "-o", "m", *options).complaint
    assert "rows 0 and 60 of one sequence (lines 2 and 62) have the time 2024-05-01T00:30:00" in complaint
    assert "--by machine" in complaint


def test_a_bad_cell_is_named_with_its_line(hedgerow, folder):
    (folder / "bad.csv").write_text(recording().replace(",3.5,", ",3.S,", 1))
    options = ("-o", "m", "-m", "linear", "--label", "state", "--time", "at", "-q")
    complaint = hedgerow("train", "bad.csv", *options).complaint
    assert "bad.csv, line 3, sequence 0, position 31, column 'pulse': '3.S' is not a number, as 59 other" in complaint
    assert hedgerow("train", "bad.csv", *options, "--kinds", "pulse=categorical").code == 0


def test_an_encoding_is_kept_for_later_files(hedgerow, folder):
    text = "".join(f"{word} {tag}\n" for word, tag in [("café", "N"), ("naïf", "A"), ("là", "D")] * 3) + "\n"
    (folder / "latin.txt").write_bytes((text * 4).encode("latin-1"))
    complaint = hedgerow("train", "latin.txt", "-o", "m", "-m", "linear").complaint
    assert "latin.txt, line 1: byte 0xe9 is not utf-8 text" in complaint
    assert complaint.endswith("Convert the file to UTF-8, or say what it is: --encoding latin-1.")
    assert hedgerow("train", "latin.txt", "-o", "m", "-m", "linear", "--encoding", "latin-1").code == 0
    assert hedgerow("tag", "m", "latin.txt", "-o", "out.txt").code == 0
    assert (folder / "out.txt").read_bytes().startswith("café N N\n".encode("latin-1"))
    assert '"accuracy": 1.0' in hedgerow("eval", "m", "latin.txt", "--json").out


@pytest.mark.filterwarnings("default")
def test_a_column_that_hardly_repeats_is_left_out_by_columns(hedgerow, folder):
    rows = [f"{i // 10},{i % 3},note {i},{'ab'[i % 2]}" for i in range(200)]
    (folder / "notes.csv").write_text("\n".join(["day,size,note,label", *rows]))
    train = ("train", "notes.csv", "-o", "m", "-m", "linear", "--by", "day")
    assert "it tells little; leave it out: --columns names those to keep\n" in hedgerow(*train).err
    assert "keep" not in hedgerow(*train, "--columns", "size").err


def test_features_of_words_and_labels_of_another_key(hedgerow, folder):
    rows = [{"tokens": ["Ada", "met", "Bob"], "ner_tags": [1, 0, -100]}, {"tokens": ["He", "met"], "ner_tags": [0, 0]}]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 5))
    done = hedgerow("train", "a.jsonl", "-o", "m", "--label", "ner_tags", "--features", "ner")
    assert done.code == 0, done.err
    assert "--features ner is for one model, so this is --model linear" in done.err
    model = load("m")
    assert model.features_ == ("ner",)
    assert model.classes_.tolist() == [0, 1]
    assert [json.loads(line)["predicted"] for line in hedgerow("tag", "m", "a.jsonl").out.splitlines()][1] == [0, 0]
    assert hedgerow("train", "train.txt", "-o", "m", "--features", "chunk", "--columns", "word,pos,chunk").code == 0
    assert load("m").window_["lower"] == 2


@pytest.mark.filterwarnings("ignore:1 label of 1 sequence broke the constraints")
def test_labels_that_break_constraints_are_named_with_file_and_line(hedgerow, folder):
    (folder / "good.txt").write_text("a B-X\nb I-X\n\nc O\n")
    (folder / "bad.txt").write_text("a O\n\nc O\nd I-X\n")
    options = ("-o", "m", "-q", "-m", "linear", "--constraints", "iob2")
    complaint = hedgerow("train", "good.txt", "bad.txt", *options).complaint
    assert "bad.txt, line 4: the labels go from 'O' to 'I-X', which the constraints forbid" in complaint
    assert hedgerow("train", "good.txt", "bad.txt", *options, "--set", "repair=True").code == 0
    (folder / "bad.csv").write_text("s,w,label\n1,a,O\n2,b,B-X\n1,c,I-X\n2,d,I-X\n")
    complaint = hedgerow("train", "bad.csv", *options, "--by", "s").complaint
    assert "bad.csv, line 4: the labels go from 'O' to 'I-X'" in complaint
    (folder / "bad.jsonl").write_text(
        '{"tokens": ["a", "b"], "labels": ["B-X", "I-X"]}\n\n{"tokens": ["a"], "labels": ["I-X"]}\n'
    )
    assert "bad.jsonl, line 3: the label 'I-X' stands first" in hedgerow("train", "bad.jsonl", *options).complaint


def test_labels_that_are_measurements(hedgerow, folder, rng):
    rows = [f"{i // 20},{k},{x:.3f}" for i, (k, x) in enumerate(zip(rng.integers(2, size=100), rng.normal(size=100)))]
    (folder / "a.csv").write_text("\n".join(["day,state,load", *rows]))
    complaint = hedgerow("train", "a.csv", "-o", "m", "--model", "linear", "--by", "day", "--label", "load").complaint
    assert "a.csv, column 'load': the labels are " in complaint
    assert "these are measurements. Labels are classes: name another column with --label" in complaint
    assert hedgerow("train", "a.csv", "-o", "m", "--model", "linear", "--by", "day", "--label", "state").code == 0
    complaint = hedgerow("train", "a.csv", "-o", "m", "--by", "day", "--label", "day").complaint
    assert "--by names 'day', the column of labels" in complaint
    numbers = [*map(str, range(30)), "nan", "inf"]  # classes that have numbers for names
    (folder / "b.csv").write_text("\n".join(["x,label", *(f"{i},{number}" for i, number in enumerate(numbers * 2))]))
    assert hedgerow("train", "b.csv", "-o", "m", "--model", "hmm").code == 0


def test_rows_that_nothing_tells_apart_are_one_sequence_and_that_is_said(hedgerow, folder, rng):
    (folder / "a.csv").write_text(
        "\n".join(["load,label", *(f"{x:.3f},{k}" for k, x in enumerate(rng.normal(size=9)))])
    )
    options = ("train", "a.csv", "-o", "m", "--model", "linear", "--window", "0")
    said = hedgerow(*options).out.splitlines()[0].split(maxsplit=1)
    assert said == ["sequences", "1 (all rows; --by COLUMN tells sequences apart)"]


def test_a_file_whose_columns_are_separated_by_something_else(hedgerow, folder):
    (folder / "a.csv").write_text("load;state\n1;a\n2;b\n")
    complaint = hedgerow("train", "a.csv", "-o", "m", "--label", "state").complaint
    assert "there is no column 'state'. Columns are 'load;state'. Name the one with the labels by --label." in complaint
    assert "separated by commas in CSV files" in complaint
