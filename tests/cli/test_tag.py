"""hedgerow tag: the input comes back with one more column or field."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as package
from hedgerow import LinearCRF
from hedgerow.cli.tag import tag

from .conftest import SENTENCES, conll, crfsuite, jsonl, table

LABELS = [[row[2] for row in sentence] for sentence in SENTENCES]
FLAT = [label for sentence in LABELS for label in sentence]


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """A model that knows the corpus by heart."""
    from hedgerow.cli.train import train

    folder = tmp_path_factory.mktemp("exact")
    (folder / "train.txt").write_text(conll())
    train([str(folder / "train.txt")], str(folder / "m"), columns=["word", "pos", "chunk"], parameters={"l2": 0.01})
    return folder / "m"


def test_standard_input_to_standard_output(hedgerow, exact):
    text = conll((0, 1))
    for arguments in ((), ("-",)):
        done = hedgerow("tag", exact, *arguments, stdin=text)
        assert (done.code, done.err, done.out) == (0, "", conll())


def test_the_input_may_have_labels(hedgerow, exact, folder):
    done = hedgerow("tag", exact, "train.txt")
    assert done.out == conll((0, 1, 2, 2))


def test_blank_lines_and_documents_come_back_as_they_are(hedgerow, exact):
    done = hedgerow("tag", exact, stdin="-DOCSTART- -X-\n\n\nHe\tPRP\n")
    assert done.out == "-DOCSTART- -X-\n\n\nHe\tPRP\tB-NP\n"


def test_probabilities_are_those_of_the_predicted_labels(hedgerow, exact, folder):
    done = hedgerow("tag", exact, "train.txt", "--probabilities")
    rows = [line.split() for line in done.out.splitlines() if line]
    model = package.load(exact)
    X = [[{"word": word, "pos": pos} for word, pos, _ in sentence] for sentence in SENTENCES]
    probs = [row.max() for probs in model.predict_proba(X) for row in probs]
    assert [row[3] for row in rows] == FLAT
    assert [float(row[4]) for row in rows] == pytest.approx(probs, abs=5.1e-5)


def test_k_best_labelings_side_by_side(hedgerow, exact):
    text = "He PRP\nsleeps VBZ\n\nShe PRP\n"
    rows = [line.split() for line in hedgerow("tag", exact, "-k", 6, "-p", stdin=text).out.splitlines() if line]
    assert {len(row) for row in rows} == {2 + 12}
    best = package.load(exact).predict_k_best([[{"word": "He", "pos": "PRP"}, {"word": "sleeps", "pos": "VBZ"}]], 6)[0]
    assert [(rows[0][2 + 2 * j], rows[1][2 + 2 * j]) for j in range(6)] == [tuple(labels) for labels, _ in best]
    assert [float(rows[0][3 + 2 * j]) for j in range(6)] == pytest.approx([p for _, p in best], abs=5.1e-5)
    # One position has five labelings, and no sixth.
    assert rows[2][-2:] == ["_", "_"]
    assert "_" not in rows[2][:-2]


def test_the_decoder_is_passed_on(hedgerow, exact, monkeypatch):
    asked = []
    predict = LinearCRF.predict
    monkeypatch.setattr(LinearCRF, "predict", lambda self, X, decoder=None: asked.append(decoder) or predict(self, X))
    hedgerow("tag", exact, "--decoder", "posterior", stdin=conll((0, 1)))
    assert asked == ["posterior"]


def train_on(hedgerow, name, text, *options):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    assert hedgerow("train", name, "-o", "m", "--l2", "0.01", "-q", *options).code == 0


@pytest.mark.parametrize(("separator", "name"), [(",", "a.csv"), ("\t", "a.tsv")])
def test_tables_get_a_column(hedgerow, folder, separator, name):
    train_on(hedgerow, name, table(separator), "--by", "sentence")
    for with_label in (True, False):
        done = hedgerow("tag", "m", "-", "-p", stdin=table(separator, label=with_label))
        rows = list(csv.DictReader(io.StringIO(done.out), delimiter=separator))
        assert [row["predicted"] for row in rows] == FLAT
        assert [row["word"] for row in rows] == [word for sentence in SENTENCES for word, _, _ in sentence]
        assert all(0 < float(row["probability"]) <= 1 for row in rows)


def test_rows_of_a_table_keep_their_order(hedgerow, folder):
    train_on(hedgerow, "a.csv", table(), "--by", "sentence")
    header, *rows = table().splitlines()
    mixed = [row for t in range(5) for row in (rows[t : t + 1] + rows[5 + t : 6 + t] * (t < 3) + rows[8 + t : 9 + t])]
    done = hedgerow("tag", "m", stdin="\n".join([header, *mixed]) + "\n")
    assert sorted(mixed) == sorted(rows) != mixed
    assert done.out.splitlines()[1:] == [f"{row},{row.split(',')[-1]}" for row in mixed]


def test_parquet_goes_to_a_file_and_not_to_a_terminal(hedgerow, folder, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    train_on(hedgerow, "a.csv", table(), "--by", "sentence")
    rows = list(csv.DictReader(io.StringIO(table())))
    columns = {name: [row[name] for row in rows] for name in rows[0]} | {"size": [int(row["size"]) for row in rows]}
    parquet.write_table(pyarrow.table(columns), "a.parquet")
    assert hedgerow("tag", "m", "a.parquet", "-o", "b.parquet").code == 0
    assert parquet.read_table("b.parquet")["predicted"].to_pylist() == FLAT
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "Parquet is not for a terminal" in hedgerow("tag", "m", "a.parquet").complaint


@pytest.mark.parametrize("form", ["tokens", "features", "columns"])
def test_json_lines_get_a_field(hedgerow, folder, form):
    train_on(hedgerow, "a.jsonl", jsonl(form))
    for with_label in (True, False):
        text = jsonl(form, label=with_label)
        records = [json.loads(line) for line in hedgerow("tag", "m", stdin=text).out.splitlines()]
        assert [record.pop("predicted") for record in records] == LABELS
        assert records == [json.loads(line) for line in text.splitlines()]


def test_crfsuite_lines_hold_the_label_and_the_prediction(hedgerow, folder):
    train_on(hedgerow, "a.crfsuite", crfsuite())
    expected = "".join("".join(f"{label}\t{label}\n" for label in labels) + "\n" for labels in LABELS)
    assert hedgerow("tag", "m", stdin=crfsuite()).out == expected


def test_a_model_of_python_reads_json_lines_and_refuses_columns_it_cannot_name(hedgerow, folder):
    X = [[word for word, _, _ in sentence] for sentence in SENTENCES]
    LinearCRF(window=1, l2=0.01).fit(X, LABELS).save("python.hedgerow")
    (folder / "a.jsonl").write_text(jsonl(label=False))
    done = hedgerow("tag", "python.hedgerow", "a.jsonl")
    assert [json.loads(line)["predicted"] for line in done.out.splitlines()] == LABELS
    assert (
        "was not made by hedgerow train"
        in hedgerow("tag", "python.hedgerow", "train.txt", "--format", "conll").complaint
    )
    assert "Give --format" in hedgerow("tag", "python.hedgerow", "train.txt").complaint


def test_notes_of_someone_else_in_a_model(hedgerow, folder):
    model = LinearCRF().fit([["a"]], [["A"]])
    model.metadata_ = {"reader": {"format": "conll"}}
    model.save("odd.hedgerow")
    assert "does not say how its data is read" in hedgerow("tag", "odd.hedgerow", "train.txt").complaint


def test_the_function_behind_the_command(exact, folder):
    assert tag(str(exact), "train.txt").decode() == conll((0, 1, 2, 2))


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("states", [("off", "on"), (3, 7), (False, True)], ids=["text", "numbers", "flags"])
def test_a_model_fitted_to_a_frame_in_python_reads_tables_of_its_columns(states, format, hedgerow, folder, rng):
    on = (rng.random(120) < 0.3).cumsum() % 2
    columns = {
        "day": np.arange(120) // 12,
        "minute": np.tile(np.arange(12)[::-1], 10),
        "load": on + rng.normal(size=120),
    }
    frame = pd.DataFrame({**columns, "room": np.where(on, "a", "b"), "warm": rng.random(120) < 0.5})
    frame["state"] = [states[k] for k in on]
    model = LinearCRF(window=1).fit(frame, by="day", time="minute", label="state")
    model.save("python.hedgerow")
    getattr(frame.astype({"day": str}), f"to_{format}")(f"days.{format}", index=False)
    assert hedgerow("tag", "python.hedgerow", f"days.{format}", "-o", f"out.{format}").code == 0
    tagged = getattr(pd, f"read_{format}")(f"out.{format}")
    assert tagged["predicted"].tolist() == model.predict(frame).tolist()
    wanted = f"accuracy {model.score(frame):.4f}"
    assert wanted in hedgerow("eval", "python.hedgerow", f"days.{format}").out
    other = {3: "3.0", 7: "7.0", False: "false", True: "true"}  # as other programs write them
    frame.assign(state=[other.get(state, state) for state in frame["state"]]).to_csv("other.csv", index=False)
    assert wanted in hedgerow("eval", "python.hedgerow", "other.csv").out
    assert "there is no column 'day'" in hedgerow("tag", "python.hedgerow", "--format", "csv", stdin="x\n1\n").complaint


def test_bytes_that_are_no_text_are_to_be_converted(hedgerow, trained, folder):
    (folder / "latin.txt").write_bytes("café N\n".encode("latin-1"))
    complaint = hedgerow("tag", trained, "latin.txt").complaint
    assert complaint.endswith("byte 0xe9 is not utf-8 text. Convert the file to UTF-8.")  # there is no --encoding
