"""Tables in files: CSV, TSV and Parquet, read and written back with labels."""

from __future__ import annotations

import builtins
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers.table_files import label_table, read_table
from hedgerow.errors import InputError, MissingExtraError

CSV = 's,word,n,b,y\n1,"a, b",1.5,true,X\n2,c,,FALSE,Y\n1,,3,,\n'


def test_csv_columns_have_kinds_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(CSV)
    X, y = read_table(path, by="s", label="y")
    assert X.kinds == {"word": "categorical", "n": "numeric", "b": "boolean"}
    assert X.columns["word"].tolist() == ["a, b", None, "c"]
    np.testing.assert_array_equal(X.columns["n"], [1.5, 3, np.nan])
    assert X.columns["b"].tolist() == [True, None, False]
    assert y is not None
    assert y.tolist() == [["X", None], ["Y"]]


def test_tsv_knows_no_quotes() -> None:
    X, y = read_table(["s\tword\ty", '1\t"\tX', '1\ta"b\tY'], by="s", label="y", format="tsv")
    assert X.columns["word"].tolist() == ['"', 'a"b']
    assert y is not None
    assert y.tolist() == [["X", "Y"]]


def test_a_missing_number_is_kept_or_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(CSV)
    with pytest.raises(InputError, match=r"x\.csv, line 3, sequence 1, position 0, column 'n': a number is missing"):
        read_table(path, by="s", label="y", allow_missing=False)
    X, _ = read_table(path, by="s", label="y", columns=["word", "b"], allow_missing=False)  # categories may be missing
    assert X.columns["word"].tolist() == ["a, b", None, "c"]
    table = pa.table({"s": [1, 1], "n": [1.0, None]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet, sequence 0, position 1, column 'n': a number is missing"):
        read_table(tmp_path / "x.parquet", by="s", allow_missing=False)


def test_declared_kinds() -> None:
    lines = ["s,word,tags,flag,n", "1,1984,a b,true,1", "1,007,,false,2"]
    kinds: Any = {"word": "categorical", "tags": "attributes", "flag": "boolean", "n": "numeric"}
    X, _ = read_table(lines, by="s", format="csv", kinds=kinds)
    assert X.columns["word"].tolist() == ["1984", "007"]
    assert X.columns["tags"].tolist() == [["a", "b"], []]
    assert read_table(lines, by="s", format="csv")[0].kinds["word"] == "numeric"


@pytest.mark.parametrize(
    ("text", "options", "message", "line"),
    [
        ("", {}, "no header", None),
        ("s,n\n", {}, "no rows", None),
        ("s,s\n1,2\n", {}, "one name", 1),
        ("s,\n1,2\n", {}, "one name", 1),
        ("s,n\n1,2\n\n1\n", {}, "expected 2 columns, as in the header, and found 1", 4),
        ('s,n\n1,"2\n', {}, "not valid CSV", 2),
        ("s,n\n,2\n", {}, "row 0 has no value", 2),
        ("s,n\n1,2\n1,inf\n", {}, "infinite", 3),
        ("s,n\n1,2\n1,x\n", {"kinds": {"n": "numeric"}}, "'x' is not a number", 3),
        ("s,n\n1,1_2\n", {"kinds": {"n": "numeric"}}, "'1_2' is not a number", 2),
        ("s,n\n1,yes\n", {"kinds": {"n": "boolean"}}, "'yes' is not true or false", 2),
        ("s,n\n1,2\n", {"label": "y"}, "no column 'y'", None),
    ],
)
def test_input_errors(tmp_path: Path, text: str, options: dict[str, Any], message: str, line: int | None) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_table(path, by="s", **options)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_the_format_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot tell the format"):
        read_table(tmp_path / "x.dat", by="s")
    with pytest.raises(InputError, match="cannot tell the format"):
        read_table(["s,n"], by="s")
    with pytest.raises(InputError, match="not a format"):
        read_table(["s,n"], by="s", format="xml")  # type: ignore[arg-type]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"s": [1, 2, 1], "n": [1.0, None, 3.0], "y": ["X", "Y", None]}), path)
    X, y = read_table(path, by="s", label="y")
    np.testing.assert_array_equal(X.columns["n"], [1, 3, np.nan])
    assert y is not None
    assert y.tolist() == [["X", None], ["Y"]]
    label_table(path, [["A", "B"], ["C"]], tmp_path / "out.parquet", by="s")
    assert pq.read_table(tmp_path / "out.parquet")["predicted"].to_pylist() == ["A", "C", "B"]


@pytest.mark.parametrize("content", [b"", b"PAR1 not really PAR1", b"s,n\n1,2\n"])
def test_a_broken_parquet_file_is_an_input_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match="Parquet") as error:
        read_table(path, by="s")
    assert error.value.path == str(path)


def test_parquet_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_pyarrow(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(MissingExtraError, match=r"hedgerow\[parquet\]"):
        read_table("x.parquet", by="s")


def test_labels_go_back_to_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(CSV)
    label_table(path, [["A", "B"], ["C"]], tmp_path / "out.csv", by="s")
    lines = (tmp_path / "out.csv").read_text().split("\n")
    assert lines == ["s,word,n,b,y,predicted", '1,"a, b",1.5,true,X,A', "2,c,,FALSE,Y,C", "1,,3,,,B", ""]
    file = io.StringIO()
    label_table(["s\tw", '1\t"'], [[3]], file, by="s", format="tsv", name="tag")
    assert file.getvalue() == 's\tw\ttag\n1\t"\t3\n'
    with pytest.raises(InputError, match="3 rows where 2 labels"):
        label_table(path, [["A", "B"]], file, by="s")
    with pytest.raises(InputError, match="column 'y' already"):
        label_table(path, [["A", "B"], ["C"]], file, by="s", name="y")


@given(
    st.one_of(st.binary(), st.text(alphabet='s,n"\n\r\t1.ae').map(lambda text: ("s,n\n" + text).encode())),
    st.sampled_from(["csv", "tsv"]),
)
def test_any_bytes_give_a_result_or_an_input_error(content: bytes, format: Any) -> None:
    try:
        X, _ = read_table(io.BytesIO(content), by="s", format=format)
    except InputError:
        return
    assert X.lengths.min() > 0
