"""The bounded search finds what Python's engine finds, and ends where that does not."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers import read_conll
from hedgerow.data.readers.expansion import bounded_search, searcher
from hedgerow.data.readers.templates import Template, translate

PIECES = st.sampled_from(["a", "b", ".", r"\u", r"\l", r"\D", r"\.", "[", "-", r"\*"])
EXPRESSIONS = st.lists(st.tuples(PIECES, st.sampled_from(["", "", "*", "?"])), min_size=1, max_size=6).map(
    lambda parts: "".join(piece + mark for piece, mark in parts)
)
ANCHORS = st.sampled_from([("", ""), ("^", ""), ("", "$"), ("^", "$")])


@given(EXPRESSIONS, ANCHORS, st.text("abAB0.-[]*\n", max_size=8))
def test_it_finds_what_the_engine_finds(expression, anchors, text):
    pattern = translate(anchors[0] + expression + anchors[1])
    found = re.search(pattern, text)
    assert bounded_search(pattern, text) == (found.span() if found else None)


@pytest.mark.parametrize(
    "expression", [".*.*.*.*.*.*.*.*x", "a*a*a*a*a*a*a*b$", "^" + "a?" * 99 + "a" * 99 + "b", "a*b"]
)
def test_catastrophes_end(expression):
    began = time.process_time()
    assert searcher(translate(expression))("a" * 3000) is None
    assert time.process_time() - began < 10


def test_a_template_uses_it(monkeypatch):
    monkeypatch.setattr("hedgerow.data.readers.expansion.MOST_WAYS", 1)
    X, _ = read_conll(["Abc x", "dEf y", ""])
    made = Template.parse('U1:%m[0,0,"\\u\\l*$"]\nU2:%t[0,0,"^\\u"]').apply(X)
    assert made.columns["U1"].tolist() == ["Abc", "Ef"]
    assert made.columns["U2"].tolist() == ["true", "false"]
