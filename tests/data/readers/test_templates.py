"""Templates: a literal, position by position twin as oracle; parsing; errors by line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers.columns import objects
from hedgerow.data.readers.conll import read_conll
from hedgerow.data.readers.templates import Template, translate
from hedgerow.data.sequences import Item, Sequences
from hedgerow.errors import InputError

CHUNKING = """
U00:%x[-2,0]
U05:%x[-1,0]/%x[0,0]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]
B
"""


def literal(pattern: str, rows: list[tuple[str | None, ...]], t: int) -> str | None:
    """The value of a rule's text at one position, by plain substitution."""
    missing = False

    def value(match: re.Match[str]) -> str:
        nonlocal missing
        command, place, col = match[1], t + int(match[2]), int(match[3])
        if place < 0:
            return f"_B{place}"
        if place >= len(rows):
            return f"_B+{place - len(rows) + 1}"
        text = rows[place][col]
        if text is None:
            missing = True
            return ""
        found = re.search(match[4], text) if match[4] is not None else None
        if command in "tT":
            return "true" if found else "false"
        if command in "mM":
            text = found[0] if found else ""
        return text.lower() if command.isupper() else text

    result = re.sub(r'%([xXtTmM])\[(-?\d+),(\d+)(?:,"([^"]*)")?\]', value, pattern)
    return None if missing else result


def corpus(sequences: list[list[tuple[str | None, ...]]]) -> Sequences:
    flat = [row for rows in sequences for row in rows]
    columns = {str(j): objects([row[j] for row in flat]) for j in range(2)}
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in sequences])])
    return Sequences(columns, offsets, dict.fromkeys(columns, "categorical"))


# Regular expressions that read the same in Wapiti's syntax and in Python's.
command = st.builds(
    lambda name, row, col, regexp: f"%{name}[{row},{col}{regexp if name not in 'xX' else ''}]",
    st.sampled_from("xxxXtTmM"),
    st.integers(-3, 3),
    st.integers(0, 1),
    st.sampled_from([',"a"', ',"^A"', ',"b$"', ',"^.$"', ',"a?B"', ',"^ab"']),
)
pattern = st.lists(command | st.sampled_from(["/", "{}", "{0}", "|x"]), min_size=1, max_size=4).map("".join)
text = st.none() | st.text(alphabet="abAB{}", max_size=3)
sequences = st.lists(st.lists(st.tuples(text, text), min_size=1, max_size=4), min_size=1, max_size=4)


@given(st.lists(pattern, min_size=1, max_size=4), sequences)
def test_apply_equals_the_literal_twin(patterns: list[str], data: list[list[tuple[str | None, ...]]]) -> None:
    template = Template.parse("\n".join(f"U{i}:{pattern}" for i, pattern in enumerate(patterns)))
    X = template.apply(corpus(data))
    assert X.lengths.tolist() == [len(rows) for rows in data]
    for i, pattern in enumerate(patterns):
        assert X.kinds[f"U{i}"] == "categorical"
        expected = [literal(pattern, rows, t) for rows in data for t in range(len(rows))]
        assert X.columns[f"U{i}"].tolist() == expected


@given(sequences, st.data())
def test_apply_keeps_a_selection_in_its_order(data: list[list[tuple[str | None, ...]]], draw: Any) -> None:
    picked = draw.draw(st.lists(st.integers(0, len(data) - 1), min_size=1))
    template = Template.parse(CHUNKING)
    chosen = template.apply(corpus(data)[picked])
    whole = template.apply(corpus(data))
    assert list(chosen) == [whole[i] for i in picked]


def test_the_standard_shape() -> None:
    X, _ = read_conll(["is VBZ O", "the DT B", "", "a DT B"])
    made = Template.parse(CHUNKING).apply(X)
    assert made[0][1] == {"U00": "_B-1", "U05": "is/the", "U20": "_B-1/VBZ/DT"}
    assert made[1][0] == {"U00": "_B-2", "U05": "_B-1/a", "U20": "_B-2/_B-1/DT"}


def test_equal_values_share_one_string() -> None:
    X, _ = read_conll(["the DT O", "the DT O", "the DT O"])
    values = Template.parse("U:%x[0,0]/%x[0,1]").apply(X).columns["U"]
    assert values[0] is values[1] is values[2]


def test_what_the_lines_are_for() -> None:
    template = Template.parse("# c\nU1:%x[0,0]\n\nB2:%x[0,0]\n*3:%x[1,0]  # both\nB\nu4:bias")
    assert template.unigram_columns == ["U1", "*3", "u4"]
    assert template.bigram_columns == ["B2", "*3"]
    assert template.transitions
    X, _ = read_conll(["a O", "b O"])
    assert template.apply(X)[0] == [
        {"U1": "a", "B2": "a", "*3": "b", "u4": "bias"},
        {"U1": "b", "B2": "b", "*3": "_B+1", "u4": "bias"},
    ]
    assert not Template.parse("U1:%x[0,0]\nB2:%x[0,0]").transitions
    bare = Template.parse("*")
    assert (bare.unigram_columns, bare.bigram_columns, bare.transitions) == (["*"], [], True)


def test_a_name_on_several_lines_is_a_bag() -> None:
    X, _ = read_conll(["a O", "b O"])
    made = Template.parse("U:%x[-1,0]\nU:%x[1,0]").apply(X)
    assert made.kinds == {"U": "attributes"}
    assert made.columns["U"].tolist() == [["_B-1", "b"], ["a", "_B+1"]]


def test_constants_stay() -> None:
    columns = {"w": objects(["a", "b"])}
    kinds: Any = {"w": "categorical", "language": "categorical"}
    X = Sequences(columns, np.array([0, 2]), kinds, {"language": objects(["en"])})
    item = Template.parse("U:%x[0,0]").apply(X)[0]
    assert isinstance(item, Item)
    assert item.positions[1] == {"U": "b"}
    assert item.features == {"language": "en"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X01:%x[0,0]", "starts with U, B or \\*"),
        (" U01:%x[0,0]", "starts with U, B or \\*"),
        ("U01:%x[0,0", "brackets"),
        ("U01:%x[0;0]", "brackets"),
        ("U01:%x[a,0]", "brackets"),
        ("U01:%x[0,-1]", "brackets"),
        ("U01:%y[0,0]", "unknown command '%y'"),
        ("U01:100%", "unknown command"),
        ("U01:%x[@1,0]", "@ or \\*"),
        ("U01:%x[*1,0]", "@ or \\*"),
        ("U01:%t[0,0]", "needs a regular expression"),
        ('U01:%x[0,0,"a"]', "takes no regular expression"),
        ('U01:%t[0,0,"*"]', "nothing to repeat"),
        ('U01:%t[0,0,"a**"]', "nothing to repeat"),
        ("U01:%x[12345678,0]", "too far"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "template"
    path.write_text(f"# first\nU00:%x[0,0]\n{line}\n")
    with pytest.raises(InputError, match=message) as error:
        Template.read(path)
    assert (error.value.path, error.value.line) == (str(path), 3)


def test_a_column_that_is_not_there_is_named_before_any_work() -> None:
    X, _ = read_conll(["a b O"])
    with pytest.raises(InputError, match="asks for column 2; there are 2") as error:
        Template.parse("U0:%x[0,0]\nU1:%x[0,2]").apply(X)
    assert error.value.line == 2
    numbers = Sequences({"n": np.zeros(1)}, np.array([0, 1]), {"n": "numeric"})
    with pytest.raises(InputError, match="'n', which is numeric"):
        Template.parse("U0:%x[0,0]").apply(numbers)


def test_a_template_without_rules_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no rules"):
        Template.parse("# nothing\n\n")


@pytest.mark.parametrize(
    ("regexp", "value", "found"),
    [
        (r"^\u", "Abc", "A"),
        (r"\u\l*$", "aBcd", "Bcd"),
        (r"\d*", "12", ""),
        (r"^\d*$", "12", "12"),
        (r"\D", "12a", "a"),
        (r"\p", "a-b", "-"),
        (r"\P", "-]", None),
        (r"\w\S\s", "ab ", "ab "),
        (r"a.c", "xa\nc", "a\nc"),
        (r"a+b", "aab", None),
        (r"a+b", "a+b", "a+b"),
        (r"\*\?\"", '*?"', '*?"'),
        (r"a$b^", "a$b^", "a$b^"),
        ("b$", "b\n", None),
        ("ab?c", "ac", "ac"),
        ("é", "né", "é"),
        ("\\", "a\\", "\\"),
    ],
)
def test_regular_expressions_of_wapiti(regexp: str, value: str, found: str | None) -> None:
    match = re.search(translate(regexp), value)
    assert (match[0] if match else None) == found


def test_text_gives_the_same_template_again() -> None:
    assert Template.parse(Template.parse(CHUNKING).text).rules == Template.parse(CHUNKING).rules


@given(st.text(alphabet='UB*%xXtm[],-+012:"#\\/ab \n@') | st.text())
def test_any_text_gives_a_template_or_an_input_error(content: str) -> None:
    try:
        template = Template.parse(content)
        made = template.apply(corpus([[("a", "b"), (None, "")], [("A", "B")]]))
    except InputError:
        return
    assert set(made.columns) == {*template.unigram_columns, *template.bigram_columns}
    assert made.lengths.tolist() == [2, 1]
